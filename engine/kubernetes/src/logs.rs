//! Follows the log of one run of a container, whatever happens to the connection.
//!
//! Each line comes with its time, so a read that goes on after an interruption tells every line once. A container
//! that was started again has another id, and another read.

mod lines;

use std::time::Duration;

use futures_util::io::AsyncReadExt;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use kube::Api;
use kube::api::LogParams;
use tokio::time::{sleep, timeout};

use crate::backoff::{self, Backoff, LONGEST_WAIT};
use crate::pods::normal_id;
use crate::{Cluster, KubernetesError};
use lines::Lines;

/// After how much silence a log is read anew: it may come on a connection that died.
const SILENCE: Duration = Duration::from_secs(15);
/// How long that grows for a container that has nothing to say.
const LONG_SILENCE: Duration = Duration::from_mins(1);
/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(10);

/// The log of one run of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerLog {
    /// Where the pod is.
    pub namespace: String,
    /// The pod.
    pub pod: String,
    /// The container.
    pub container: String,
    /// Which run of it, as in [`PodContainer::id`](crate::PodContainer).
    pub container_id: String,
    /// From when on; nothing for all of it.
    pub since: Option<Timestamp>,
}

/// What is left of the run of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Run {
    /// It goes on.
    Running,
    /// It is the last one, and ended.
    Ended,
    /// Another one runs now.
    Previous,
    /// Nothing.
    Gone,
}

/// How a read of a log came to its end.
enum End {
    Done,
    Silent,
    Failed(KubernetesError),
}

/// Reads a log to its end, and answers when the run of the container is over and all of it was read.
///
/// `write` gets one line at a time, with its end. `trouble` gets the words of an error, once until the log can be read again.
pub async fn read_log(
    cluster: Cluster,
    of: ContainerLog,
    write: impl Fn(&str) + Send,
    trouble: impl Fn(&str) + Send,
) {
    let api: Api<Pod> = Api::namespaced(cluster.client().clone(), &of.namespace);
    let mut lines = Lines::new(of.since);
    let mut backoff = Backoff::new(Duration::from_millis(500), LONGEST_WAIT);
    let mut silence = SILENCE;
    let mut said = None;
    loop {
        let end = match run(&cluster, &api, &of).await {
            Ok(Run::Gone) => return,
            Ok(run) => {
                let before = lines.n_told();
                let source = Source { cluster: &cluster, api: &api, of: &of, run };
                let end = read(source, silence, &mut lines, &write).await;
                let is_new = lines.n_told() > before;
                silence = if is_new { SILENCE } else { (silence * 2).min(LONG_SILENCE) };
                match end {
                    End::Done if run != Run::Running => return,
                    end => end,
                }
            }
            Err(error) => End::Failed(error),
        };
        match end {
            End::Silent => {}
            End::Done => {
                (said, silence) = (None, SILENCE);
                backoff.reset();
                sleep(Duration::from_secs(1)).await;
            }
            End::Failed(error) => {
                if said.as_ref() != Some(&error) {
                    trouble(&error.to_string());
                    said = Some(error);
                }
                sleep(backoff::next(&mut backoff)).await;
            }
        }
    }
}

/// What became of the run of the container.
async fn run(cluster: &Cluster, api: &Api<Pod>, of: &ContainerLog) -> Result<Run, KubernetesError> {
    let Some(pod) = cluster.answered(ANSWER, api.get_opt(&of.pod)).await? else {
        return Ok(Run::Gone);
    };
    let status = pod.status.unwrap_or_default();
    let groups = [
        status.init_container_statuses,
        status.container_statuses,
        status.ephemeral_container_statuses,
    ];
    let mut containers = groups.into_iter().flatten().flatten();
    let found = containers.find(|it| it.name == of.container);
    Ok(found.map_or(Run::Gone, |it| run_of(&it, &of.container_id)))
}

fn run_of(status: &ContainerStatus, id: &str) -> Run {
    let is_it = |told: Option<&String>| told.and_then(|it| normal_id(it)).as_deref() == Some(id);
    let state = status.state.clone().unwrap_or_default();
    let last = status.last_state.clone().unwrap_or_default().terminated;
    if is_it(status.container_id.as_ref()) && state.running.is_some() {
        return Run::Running;
    }
    if state.terminated.is_some_and(|it| is_it(it.container_id.as_ref())) {
        return Run::Ended;
    }
    if last.is_some_and(|it| is_it(it.container_id.as_ref())) {
        // While the next one waits for its start, the last one is still the current one.
        return if state.running.is_some() { Run::Previous } else { Run::Ended };
    }
    if is_it(status.container_id.as_ref()) { Run::Ended } else { Run::Gone }
}

/// What is read.
#[derive(Clone, Copy)]
struct Source<'a> {
    cluster: &'a Cluster,
    api: &'a Api<Pod>,
    of: &'a ContainerLog,
    run: Run,
}

async fn read(
    source: Source<'_>,
    silence: Duration,
    lines: &mut Lines,
    write: &impl Fn(&str),
) -> End {
    let Source { cluster, api, of, run } = source;
    let params = LogParams {
        container: Some(of.container.clone()),
        follow: run == Run::Running,
        previous: run == Run::Previous,
        since_time: lines.resume(),
        timestamps: true,
        ..LogParams::default()
    };
    let stream = match cluster.answered(ANSWER, api.log_stream(&of.pod, &params)).await {
        Ok(stream) => stream,
        // The log of an earlier run may be gone by now.
        Err(KubernetesError::Refused(_)) if run != Run::Running => return End::Done,
        Err(error) => return End::Failed(error),
    };
    let mut stream = std::pin::pin!(stream);
    let mut chunk = vec![0; 32 * 1024];
    let mut distrusts = cluster.distrusts();
    let end = loop {
        let read = tokio::select! {
            read = timeout(silence, stream.read(&mut chunk)) => read,
            Ok(()) = distrusts.changed() => return End::Silent,
        };
        match read {
            Ok(Ok(0)) => break End::Done,
            Ok(Ok(n)) => emit(write, &lines.feed(&chunk[..n])),
            Ok(Err(error)) => return End::Failed(KubernetesError::Unreachable(error.to_string())),
            Err(_) => return End::Silent,
        }
    };
    match lines.end() {
        Ok(rest) => emit(write, &rest),
        Err(error) => return End::Failed(KubernetesError::Request(error.to_string())),
    }
    end
}

fn emit(write: &impl Fn(&str), text: &str) {
    text.split_inclusive('\n').for_each(write);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_of_a_container_is_known_by_its_id() {
        let status = |text: serde_json::Value| -> ContainerStatus {
            let mut status = serde_json::json!({
                "name": "c", "image": "i", "imageID": "", "ready": false, "restartCount": 0,
            });
            for (key, value) in text.as_object().unwrap() {
                status[key] = value.clone();
            }
            serde_json::from_value(status).unwrap()
        };
        let running = serde_json::json!({"running": {}});
        let ended =
            serde_json::json!({"terminated": {"exitCode": 1, "containerID": "containerd://a"}});
        let waiting = serde_json::json!({"waiting": {"reason": "CrashLoopBackOff"}});
        for (id, state, last, expected) in [
            ("containerd://a", &running, None, Run::Running),
            ("containerd://b", &running, Some(&ended), Run::Previous),
            ("containerd://b", &running, None, Run::Gone),
            ("containerd://a", &ended, None, Run::Ended),
            ("containerd://a", &waiting, Some(&ended), Run::Ended),
        ] {
            let mut text = serde_json::json!({"containerID": id, "state": state});
            if let Some(last) = last {
                text["lastState"] = last.clone();
            }
            assert_eq!(run_of(&status(text.clone()), "a"), expected, "{text}");
        }
    }
}

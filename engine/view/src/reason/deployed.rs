//! Why pods and containers are not well: what the kubelet and Docker say of them.

use engine_core::resource::{Resource, Workload};
use engine_model::{
    container::Container,
    pod::{Pod, PodContainer},
};

use super::{Reason, State, first_line, last_line};

/// What a container says of itself when it ended without a special reason.
const PLAIN_ENDS: [&str; 3] = ["", "Error", "Completed"];

/// How lines of the log begin that tell what happened to an object.
const EVENT: &str = "[event: ";

/// What kept Compose from bringing a service up, if its update failed because of that. Its command would hide that.
pub(super) fn not_brought_up(resource: &Resource, error: &str) -> Option<String> {
    let applied = resource.service.as_ref()?.applied.as_ref()?.error.as_ref()?;
    let how = error.strip_prefix("command [").filter(|_| applied.text == error)?;
    let (_, how) = how.split_once("failed.\nerror: ")?;
    let says = Some(applied.last_line.as_str()).filter(|it| !it.is_empty());
    let says = says.map_or(String::new(), |it| format!(": {it}"));
    Some(format!("docker compose failed: {}{says}", first_line(how)))
}

/// What is deployed is down.
pub(super) fn failed(resource: &Resource) -> Reason {
    let name = &*resource.name;
    if let Some(pod) = resource.workload.as_ref().and_then(Workload::newest_pod) {
        let since = resource.pod.as_ref().and_then(|it| it.broken_since);
        return of_pod(name, State::Failed, pod, resource.runtime_error.as_deref())
            .since(since.or(resource.last_success));
    }
    if let Some(container) = resource.container() {
        return of_container(name, State::Failed, container)
            .since(container.finished.or(resource.last_success));
    }
    let error = resource.runtime_error.as_deref().unwrap_or("unknown error");
    Reason::new(name, State::Failed, first_line(error)).since(resource.last_success)
}

/// What is deployed is not ready; nothing if nothing is known to be deployed.
pub(super) fn not_ready(resource: &Resource) -> Option<Reason> {
    let (name, since) = (&*resource.name, resource.last_success);
    if let Some(pod) = resource.workload.as_ref().and_then(Workload::newest_pod) {
        let reason = of_pod(name, State::NotReady, pod, warning(resource));
        return Some(reason.since(Some(pod.created)));
    }
    if resource.kubernetes_target().is_some() {
        let says = warning(resource).and_then(|it| it.split_once("] "));
        let says = says.map_or(String::new(), |(_, it)| format!(": {it}"));
        let headline = format!("waiting for its pod to be created{says}");
        return Some(Reason::new(name, State::NotReady, headline).since(since));
    }
    let container = resource.container()?;
    Some(of_container(name, State::NotReady, container).since(since))
}

fn of_container(resource: &str, state: State, container: &Container) -> Reason {
    let Container { name, status, error, exit_code, health, health_output, .. } = container;
    if !error.is_empty() {
        return Reason::new(resource, state, format!("container {name}: {}", first_line(error)));
    }
    if *exit_code != 0 {
        let headline = format!("container {name} exited with status {exit_code}");
        return Reason::new(resource, state, headline);
    }
    let health = health.as_deref().unwrap_or(status);
    match health_output.as_deref().map(last_line).filter(|it| !it.is_empty()) {
        Some(says) => Reason::new(resource, state, format!("container {name} is {health}: {says}")),
        None => Reason::new(resource, state, format!("container {name} is {health}")),
    }
}

/// What the kubelet says about a pod, and what else is known of its resource.
fn of_pod(resource: &str, state: State, pod: &Pod, known: Option<&str>) -> Reason {
    let condition = |kind: &str, status: &str| {
        let mut conditions = pod.conditions.iter().filter(|it| it.kind == kind);
        conditions.find(|it| it.status == status && !it.message.is_empty())
    };
    let condition =
        condition("DisruptionTarget", "True").or_else(|| condition("PodScheduled", "False"));
    // What the cluster warned of may be about an earlier pod.
    let known = known.and_then(|it| match it.split_once("] ") {
        Some((object, says)) if it.starts_with(EVENT) => {
            object.ends_with(&pod.name).then_some(says)
        }
        _ => Some(it),
    });
    let says = condition
        .map(|it| it.message.clone())
        .or_else(|| pod.init_containers.iter().chain(&pod.containers).find_map(end))
        .or_else(|| pod.errors.first().cloned())
        .or_else(|| known.map(str::to_owned));
    let is = if state == State::NotReady && pod.status == "Running" {
        format!("pod {} is running, but not ready", pod.name)
    } else {
        format!("pod {}: {}", pod.name, pod.status)
    };
    let headline = match says.as_deref().map(first_line) {
        Some(says) if says.contains(&pod.status) && !is.contains("not ready") => {
            format!("pod {}: {says}", pod.name)
        }
        Some(says) => format!("{is}: {says}"),
        None => is,
    };
    let mut reason = Reason::new(resource, state, headline);
    for error in pod.errors.iter().filter(|it| says.as_ref() != Some(it)) {
        reason = reason.detail(error.as_str());
    }
    match pod.restarts() {
        0 => reason,
        1 => reason.detail("restarted once"),
        n => reason.detail(format!("restarted {n} times")),
    }
}

/// How a container ended that is down.
fn end(container: &PodContainer) -> Option<String> {
    let (code, why) = container.last_end.as_ref().filter(|it| it.0 != 0)?;
    let why = if PLAIN_ENDS.contains(&&**why) { String::new() } else { format!(" ({why})") };
    let text = format!("container {} exited with status {code}{why}", container.name);
    container.state.is_error().then_some(text)
}

/// What the cluster warned of last, as a line of the log.
fn warning(resource: &Resource) -> Option<&str> {
    resource.workload.as_ref()?.last_warning.as_deref()
}

#[cfg(test)]
mod tests {
    use engine_model::pod::{ContainerState, PodCondition};
    use expect_test::{Expect, expect};

    use super::*;

    fn container(state: ContainerState, last_end: Option<(i32, &str)>) -> PodContainer {
        let last_end = last_end.map(|(code, why)| (code, why.to_owned()));
        PodContainer { name: "main".to_owned(), state, last_end, ..PodContainer::default() }
    }

    fn waiting(reason: &str) -> ContainerState {
        ContainerState::Waiting { reason: reason.to_owned() }
    }

    fn pod(status: &str, container: PodContainer, errors: &[&str]) -> Pod {
        Pod {
            name: "web-1".to_owned(),
            status: status.to_owned(),
            containers: vec![container],
            errors: errors.iter().map(|it| (*it).to_owned()).collect(),
            ..Pod::default()
        }
    }

    fn with_condition(pod: Pod, kind: &str, status: &str, message: &str) -> Pod {
        let (kind, status, message) = (kind.to_owned(), status.to_owned(), message.to_owned());
        let condition = PodCondition { kind, status, message, ..PodCondition::default() };
        Pod { conditions: vec![condition], ..pod }
    }

    fn check(pods: &[(State, Pod, Option<&str>)], expected: &Expect) {
        let lines = pods.iter().map(|(state, pod, known)| {
            let reason = of_pod("web", *state, pod, *known);
            let detail = reason.detail.iter().map(|it| format!("  {it}\n"));
            format!("{}\n{}", reason.headline, detail.collect::<String>())
        });
        expected.assert_eq(&lines.collect::<String>());
    }

    #[test]
    fn a_pod_that_is_down_says_how_its_container_ended_or_why_it_cannot_start() {
        let back_off = "back-off 10s restarting failed container=main pod=web-1_ns(u)";
        let mut crashing = pod(
            "CrashLoopBackOff",
            container(waiting("CrashLoopBackOff"), Some((3, "Error"))),
            &[back_off],
        );
        crashing.containers[0].restarts = 2;
        let oom = container(waiting("CrashLoopBackOff"), Some((137, "OOMKilled")));
        let pull = "Back-off pulling image \"localhost:1/no\"";
        let evicted = with_condition(
            pod("Evicted", PodContainer::default(), &[]),
            "DisruptionTarget",
            "True",
            "The node was low on resource: memory.",
        );
        let failed = pod("Error", PodContainer::default(), &[]);
        check(
            &[
                (State::Failed, crashing, Some("Pod web-1 in error state")),
                (State::Failed, pod("CrashLoopBackOff", oom, &[]), None),
                (
                    State::Failed,
                    pod("ImagePullBackOff", container(waiting("ImagePullBackOff"), None), &[pull]),
                    None,
                ),
                (State::Failed, evicted, None),
                (State::Failed, failed, Some("Pod \"web-1\" failed")),
            ],
            &expect![[r#"
                pod web-1: CrashLoopBackOff: container main exited with status 3
                  back-off 10s restarting failed container=main pod=web-1_ns(u)
                  restarted 2 times
                pod web-1: CrashLoopBackOff: container main exited with status 137 (OOMKilled)
                pod web-1: ImagePullBackOff: Back-off pulling image "localhost:1/no"
                pod web-1: Evicted: The node was low on resource: memory.
                pod web-1: Error: Pod "web-1" failed
            "#]],
        );
    }

    #[test]
    fn a_pod_that_is_not_ready_says_what_its_probe_or_the_scheduler_says() {
        let running = || container(ContainerState::Running { started: None }, Some((1, "Error")));
        let nowhere = with_condition(
            pod("Pending", PodContainer::default(), &[]),
            "PodScheduled",
            "False",
            "0/1 nodes are available",
        );
        check(
            &[
                (State::NotReady, pod("Running", running(), &[]), None),
                (
                    State::NotReady,
                    pod("Running", running(), &[]),
                    Some("[event: pod ns/web-1] Readiness probe failed: HTTP probe failed"),
                ),
                (
                    State::NotReady,
                    pod("Running", running(), &[]),
                    Some("[event: pod ns/web-0] Readiness probe failed: HTTP probe failed"),
                ),
                (State::NotReady, nowhere, None),
                (State::NotReady, pod("ContainerCreating", PodContainer::default(), &[]), None),
            ],
            &expect![[r#"
                pod web-1 is running, but not ready
                pod web-1 is running, but not ready: Readiness probe failed: HTTP probe failed
                pod web-1 is running, but not ready
                pod web-1: Pending: 0/1 nodes are available
                pod web-1: ContainerCreating
            "#]],
        );
    }

    #[test]
    fn a_container_says_how_it_ended_or_what_its_health_check_says() {
        let base = Container {
            name: "web-1".to_owned(),
            status: "running".to_owned(),
            ..Container::default()
        };
        let sick = Container {
            health: Some("unhealthy".to_owned()),
            health_output: Some("no\nthe disk is on fire\n".to_owned()),
            ..base.clone()
        };
        let lines = [
            Container { exit_code: 3, ..base.clone() },
            Container { error: "no such file\n".to_owned(), exit_code: 127, ..base.clone() },
            sick,
            Container { status: "created".to_owned(), ..base },
        ];
        let lines = lines.map(|it| of_container("web", State::Failed, &it).headline + "\n");
        expect![[r#"
            container web-1 exited with status 3
            container web-1: no such file
            container web-1 is unhealthy: the disk is on fire
            container web-1 is created
        "#]]
        .assert_eq(&lines.concat());
    }
}

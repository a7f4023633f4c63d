//! Reads logs of containers.

use std::time::Duration;

use engine_core::resource::{
    ResourceName,
    workload::{LogSource, WorkloadEvent, pod_span},
};
use engine_kubernetes::ContainerLog;
use tokio::sync::watch;

use super::{KubernetesDriver, Report, Seen};
use crate::{
    logs::Level,
    tasks::{TaskKey, Tasks},
};

/// What is on its way when a pod is gone may still arrive for so long.
const LAST_LINES: Duration = Duration::from_secs(2);

impl<M: From<Report> + Send + 'static> KubernetesDriver<M> {
    pub(super) fn read_log(
        &mut self,
        resource: ResourceName,
        source: LogSource,
        is_marked: bool,
        tasks: &mut Tasks<M>,
    ) {
        let Some(cluster) = self.cluster().cloned() else { return };
        let LogSource { namespace, pod, container, container_id } = source;
        let log = self.logs.writer(&resource, &pod_span(&resource, &pod));
        let mark = if is_marked { format!("[{container}] ") } else { String::new() };
        let write = {
            let log = log.clone();
            move |text: &str| {
                let end = if text.ends_with('\n') { "" } else { "\n" };
                log.write(Level::Info, &format!("{mark}{text}{end}"));
            }
        };
        let (wanted, mut is_wanted) = watch::channel(());
        self.readers.insert((resource.clone(), container_id.clone()), wanted);
        let (report, key) = (self.reporter(), TaskKey::ReadLog(resource.clone()));
        let tell = {
            let container_id = container_id.clone();
            move |error: Option<String>| {
                let container_id = container_id.clone();
                let event = WorkloadEvent::LogRead { container_id, error };
                report(Seen::Workload(resource.clone(), event));
            }
        };
        let since = self.since();
        let of = ContainerLog { namespace, pod: pod.clone(), container, container_id, since };
        let (lost, end) = (tell.clone(), self.end());
        let work = async move {
            let trouble = |error: &str| {
                log.info(&format!("Error streaming {pod} logs: {error}"));
                tell(Some(error.to_owned()));
            };
            let is_gone = async move {
                while is_wanted.changed().await.is_ok() {}
                tokio::time::sleep(LAST_LINES).await;
            };
            tokio::select! {
                () = engine_kubernetes::read_log(cluster, of, write, trouble) => tell(None),
                () = is_gone => {}
            }
        };
        tasks.spawn(key, work, move |result| {
            if let Err(error) = result {
                lost(Some(error.to_string()));
            }
            end
        });
    }
}

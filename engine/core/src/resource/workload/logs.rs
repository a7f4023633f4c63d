//! Which logs of pods are read: one reader for each run of a container.

use engine_model::pod::{ContainerState, Pod, PodContainer};

use super::Workload;
use crate::resource::Resource;

/// The reader of one run of a container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogReader {
    /// The pod.
    pub pod: String,
    /// Whether it has read all.
    pub has_ended: bool,
    /// What keeps it from reading; may be empty.
    pub error: String,
}

/// Where a log comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSource {
    /// Where the pod is.
    pub namespace: String,
    /// The pod.
    pub pod: String,
    /// The container.
    pub container: String,
    /// Which run of it.
    pub container_id: String,
}

impl Workload {
    /// Logs that can be read and are not, each with whether its lines name the container.
    pub(crate) fn unread_logs(&self, ignored: &[&str]) -> Vec<(LogSource, bool)> {
        let is_wanted = |it: &&PodContainer| !ignored.contains(&it.name.as_str());
        let unread = |it: &(&PodContainer, bool)| can_be_read(it.0) && !self.is_read(it.0);
        let of_pod = |pod: &Pod| {
            let n_containers = pod.containers.iter().filter(is_wanted).count();
            let init = pod.init_containers.iter().filter(is_wanted).map(|it| (it, true));
            let others = pod.containers.iter().filter(is_wanted).map(|it| (it, n_containers > 1));
            let unread = init.chain(others).filter(unread);
            unread.map(|(it, is_marked)| (source(pod, it), is_marked)).collect::<Vec<_>>()
        };
        self.pods.iter().flat_map(of_pod).collect()
    }

    /// Forgets the readers of pods that are gone; answers the runs of containers.
    pub(crate) fn drop_readers(&mut self) -> Vec<String> {
        let pods = &self.pods;
        let gone = self.readers.extract_if(.., |_, it| !pods.iter().any(|pod| pod.name == it.pod));
        gone.map(|(id, _)| id).collect()
    }

    fn is_read(&self, container: &PodContainer) -> bool {
        self.readers.contains_key(&container.id)
    }
}

impl Resource {
    /// Containers whose logs nobody wants to read.
    pub fn ignored_containers(&self) -> &[&'static str] {
        let target = self.kubernetes_target();
        let template = target.and_then(|it| it.pod_log_stream_template_spec.as_ref());
        template.map(|it| it.ignore_containers.as_slice()).unwrap_or_default()
    }

    /// The name of the object for the log of a pod.
    pub fn log_stream_name(&self, pod: &Pod) -> String {
        format!("{}-{}-{}", self.name, pod.namespace, pod.name)
    }
}

fn can_be_read(container: &PodContainer) -> bool {
    let has_run = matches!(
        container.state,
        ContainerState::Running { .. } | ContainerState::Terminated { .. }
    );
    has_run && !container.id.is_empty()
}

fn source(pod: &Pod, container: &PodContainer) -> LogSource {
    LogSource {
        namespace: pod.namespace.clone(),
        pod: pod.name.clone(),
        container: container.name.clone(),
        container_id: container.id.clone(),
    }
}

//! The logs of pods: one reader for each run of a container, and the objects that tell of them.

use std::{collections::HashMap, time::Duration};

use engine_core::resource::ResourceName;
use engine_kubernetes::{ContainerLog, ContainerState, Pod, PodContainer};
use engine_model::PodLogStreamTemplate;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::{Message, Runtime, clock, declare, kubernetes::Seen, names};
use crate::{api::kind, logs::Level};

/// What is on its way when a pod is gone may still arrive for so long.
const LAST_LINES: Duration = Duration::from_secs(2);

/// The log readers of a resource.
#[derive(Debug, Default)]
pub(super) struct Streams {
    /// By the container's id, which changes with each run.
    readers: HashMap<String, Reader>,
}

/// The reader of one run of a container.
#[derive(Debug)]
struct Reader {
    pod: String,
    has_ended: bool,
    error: String,
    /// Dropping it ends the reading, after a while.
    _wanted: watch::Sender<()>,
}

/// Something about a log.
#[derive(Debug)]
pub(super) struct LogSeen {
    resource: ResourceName,
    container_id: String,
    /// What keeps it from being read; nothing if it was read to its end.
    error: Option<String>,
}

impl Runtime {
    /// Reads the logs of all containers that run or have run.
    pub(super) fn stream_logs(&mut self, resource: &ResourceName) {
        let Some(workload) = self.workload(resource) else { return };
        let pods = workload.pods.clone();
        let ignored = self.ignored_containers(resource);
        for pod in &pods {
            let wanted = |it: &&PodContainer| !ignored.contains(&it.name.as_str());
            let n_containers = pod.containers.iter().filter(wanted).count();
            let init = pod.init_containers.iter().filter(wanted).map(|it| (it, true));
            let others = pod.containers.iter().filter(wanted).map(|it| (it, n_containers > 1));
            for (container, is_marked) in init.chain(others) {
                self.read_container(resource, pod, container, is_marked);
            }
        }
        let workload = self.workload_mut(resource);
        workload.streams.readers.retain(|_, it| pods.iter().any(|pod| pod.name == it.pod));
        self.show_streams(resource, &pods, &ignored);
    }

    fn ignored_containers(&self, resource: &str) -> Vec<&'static str> {
        self.log_template(resource).map(|it| it.ignore_containers.clone()).unwrap_or_default()
    }

    fn log_template(&self, resource: &str) -> Option<&PodLogStreamTemplate> {
        self.kubernetes_target(resource)?.pod_log_stream_template_spec.as_ref()
    }

    fn read_container(
        &mut self,
        resource: &ResourceName,
        pod: &Pod,
        container: &PodContainer,
        is_marked: bool,
    ) {
        let has_run = matches!(
            container.state,
            ContainerState::Running { .. } | ContainerState::Terminated { .. }
        );
        let is_known = |it: &Self| {
            it.workload(resource).is_some_and(|it| it.streams.readers.contains_key(&container.id))
        };
        if container.id.is_empty() || !has_run || is_known(self) {
            return;
        }
        let Some(cluster) = self.cluster().cloned() else { return };
        let since = Timestamp::try_from(clock::to_system(self.settings.started)).ok();
        let of = ContainerLog {
            namespace: pod.namespace.clone(),
            pod: pod.name.clone(),
            container: container.name.clone(),
            container_id: container.id.clone(),
            since,
        };
        let (wanted, mut is_wanted) = watch::channel(());
        let reader = Reader {
            pod: pod.name.clone(),
            has_ended: false,
            error: String::new(),
            _wanted: wanted,
        };
        self.workload_mut(resource).streams.readers.insert(container.id.clone(), reader);
        let log = self.logs.writer(resource, &names::pod_span(resource, &pod.name));
        let mark = if is_marked { format!("[{}] ", container.name) } else { String::new() };
        let write = {
            let log = log.clone();
            move |text: &str| {
                let end = if text.ends_with('\n') { "" } else { "\n" };
                log.write(Level::Info, &format!("{mark}{text}{end}"));
            }
        };
        let (messages, resource, container_id) =
            (self.messages.clone(), resource.clone(), container.id.clone());
        let id = self.link_id();
        let tell = move |error: Option<String>| {
            let (resource, container_id) = (resource.clone(), container_id.clone());
            let seen = Seen::Log(LogSeen { resource, container_id, error });
            let _ = messages.send(Message::Kubernetes(id, seen));
        };
        let name = pod.name.clone();
        self.kubernetes.workloads.tasks.spawn(async move {
            let trouble = |error: &str| {
                log.info(&format!("Error streaming {name} logs: {error}"));
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
        });
        while self.kubernetes.workloads.tasks.try_join_next().is_some() {}
    }

    /// Something became known of a log.
    pub(super) fn log_seen(&mut self, seen: LogSeen) {
        let Some(workload) = self.kubernetes.workloads.known.get_mut(&seen.resource) else {
            return;
        };
        let Some(reader) = workload.streams.readers.get_mut(&seen.container_id) else { return };
        reader.has_ended = seen.error.is_none();
        reader.error = seen.error.unwrap_or_default();
        let pods = workload.pods.clone();
        let ignored = self.ignored_containers(&seen.resource);
        self.show_streams(&seen.resource, &pods, &ignored);
    }

    /// The objects that tell which logs are read.
    fn show_streams(&self, resource: &ResourceName, pods: &[Pod], ignored: &[&str]) {
        let Some(workload) = self.workload(resource) else { return };
        let name_of = |pod: &Pod| format!("{resource}-{}-{}", pod.namespace, pod.name);
        for object in self.store.list(kind::POD_LOG_STREAM) {
            let owner = object.annotations().get(declare::RESOURCE).cloned();
            let is_ours = owner.as_deref() == Some(&**resource);
            if is_ours && !pods.iter().any(|it| name_of(it) == object.name()) {
                self.store.remove(kind::POD_LOG_STREAM, object.name());
            }
        }
        for pod in pods {
            let name = name_of(pod);
            let span = names::pod_span(resource, &pod.name);
            let meta = self.owned_meta(resource, &span, kind::KUBERNETES_DISCOVERY);
            let mut spec =
                json!({"pod": pod.name, "namespace": pod.namespace, "cluster": names::KUBERNETES});
            if let Some(template) = self.log_template(resource) {
                spec["sinceTime"] = json!(template.since_time);
                if !template.ignore_containers.is_empty() {
                    spec["ignoreContainers"] = json!(template.ignore_containers);
                }
            }
            self.store.put(kind::POD_LOG_STREAM, &name, &meta, &spec);
            let all = pod.init_containers.iter().chain(&pod.containers);
            let statuses: Vec<Value> = all
                .filter(|it| !ignored.contains(&it.name.as_str()))
                .map(|it| status(it, workload.streams.readers.get(&it.id)))
                .collect();
            let status = if statuses.is_empty() {
                json!({})
            } else {
                json!({"containerStatuses": statuses})
            };
            self.store.set_status(kind::POD_LOG_STREAM, &name, &status);
        }
    }
}

fn status(container: &PodContainer, reader: Option<&Reader>) -> Value {
    let mut status = json!({"name": container.name});
    match reader {
        Some(reader) if reader.has_ended => status["terminated"] = json!(true),
        Some(reader) if !reader.error.is_empty() => status["error"] = json!(reader.error),
        Some(_) => status["active"] = json!(true),
        None => {}
    }
    status
}

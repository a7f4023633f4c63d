//! Pods of resources: how they do, what is said about them, and what that means for the resource.

use std::sync::Arc;

use engine_core::{
    Event,
    resource::{PodPhase, PodSummary, ResourceName},
    status::RuntimeStatus,
};
use engine_kubernetes::{Pod, PodCondition, PodContainer, Seen};
use engine_model::PodReadiness;
use serde_json::{Value, json};

use super::{Runtime, clock, names, workloads::Workload};

impl Runtime {
    /// Something became known of what was deployed.
    pub(super) fn take_tracked(&mut self, seen: Seen) {
        match seen {
            Seen::Pods { resource, pods } => self.pods_seen(&resource, pods),
            Seen::Event { resource, message, .. } => {
                if self.takes_part(&resource) {
                    self.logs.writer(&resource, &format!("events:{resource}")).info(&message);
                }
            }
            Seen::Services { resource, links } => {
                let name: ResourceName = resource.as_str().into();
                if self.workload(&name).is_some_and(|it| it.has_deployed && it.links != links) {
                    self.workload_mut(&name).links = links;
                    self.dirty.insert(name);
                }
            }
            Seen::Warning(message) => self.logs.writer("", "").warn(&message),
        }
    }

    fn pods_seen(&mut self, resource: &str, pods: Vec<Pod>) {
        let Some(known) = self.scheduler.resource(resource).filter(|it| !it.is_disabled()) else {
            return;
        };
        let resource = Arc::clone(&known.name);
        let Some(workload) = self.kubernetes.workloads.known.get_mut(&resource) else { return };
        let old = std::mem::replace(&mut workload.pods, pods);
        self.tell_restarts(&resource, &old);
        self.tell_evictions(&resource, &old);
        self.show_discovery(&resource);
        self.stream_logs(&resource);
        self.forward_ports(&resource);
        self.tell_rollout(&resource);
        self.observe_pods(&resource);
        self.live_containers_changed(&resource);
    }

    /// Says which containers were started again.
    fn tell_restarts(&self, resource: &str, old: &[Pod]) {
        let Some(workload) = self.workload(resource) else { return };
        for pod in &workload.pods {
            let Some(before) = old.iter().find(|it| it.uid == pod.uid) else { continue };
            let init = restarted(&before.init_containers, &pod.init_containers);
            for container in init.chain(restarted(&before.containers, &pod.containers)) {
                let log = self.logs.writer(resource, &names::pod_span(resource, &pod.name));
                let (pod, container) = (&pod.name, &container.name);
                log.warn(&format!(
                    "Detected container restart. Pod: {pod}. Container: {container}."
                ));
            }
        }
    }

    /// Says which pods have to go for the sake of others.
    fn tell_evictions(&self, resource: &str, old: &[Pod]) {
        let Some(workload) = self.workload(resource) else { return };
        for pod in &workload.pods {
            let before = old.iter().find(|it| it.uid == pod.uid).and_then(eviction);
            if let Some(why) = eviction(pod).filter(|it| before.as_ref() != Some(it)) {
                let log = self.logs.writer(resource, &names::pod_span(resource, &pod.name));
                log.warn(&format!("Pod {} was evicted: {why}", pod.name));
            }
        }
    }

    /// Tells the scheduler how the pods of a resource do.
    pub(super) fn observe_pods(&mut self, resource: &ResourceName) {
        let Some(target) = self.kubernetes_target(resource) else { return };
        let Some(workload) = self.workload(resource) else { return };
        let pod = workload.newest_pod();
        let status = runtime_status(workload, pod, target.pod_readiness);
        let error = pod.filter(|_| status == RuntimeStatus::Error).map(runtime_error);
        let is_satisfied = status == RuntimeStatus::Ok;
        let (resource, pod) = (Arc::clone(resource), pod.map(summary));
        self.step(Event::RuntimeObserved { resource, status, is_satisfied, error, pod });
    }

    /// Updates of pods that are there now have begun.
    pub(super) fn pods_updating(&mut self, resource: &ResourceName) {
        let now = clock::now();
        if let Some(workload) = self.kubernetes.workloads.known.get_mut(resource) {
            let names: Vec<String> =
                workload.current_pods().iter().map(|it| it.name.clone()).collect();
            workload.update_starts.extend(names.into_iter().map(|it| (it, now)));
        }
    }

    /// What a resource shows of its newest pod.
    pub(super) fn pod_info(&self, resource: &str) -> Value {
        let workload = self.workload(resource);
        let pod = workload.and_then(Workload::newest_pod);
        let mut info = json!({"podCreationTime": null, "podUpdateStartTime": null});
        if let Some(pod) = pod {
            let created = clock::of_system(pod.created.into());
            info["podName"] = json!(pod.name);
            info["podCreationTime"] = json!(clock::seconds(created));
            let updated = workload.and_then(|it| it.update_starts.get(&pod.name));
            if let Some(updated) = updated {
                info["podUpdateStartTime"] = json!(clock::seconds(*updated));
            }
            info["podStatus"] = json!(pod.status);
            if !pod.errors.is_empty() {
                info["podStatusMessage"] = json!(pod.errors.join("\n"));
            }
            if pod.all_ready() {
                info["allContainersReady"] = json!(true);
            }
            if pod.restarts() != 0 {
                info["podRestarts"] = json!(pod.restarts());
            }
            info["spanID"] = json!(names::pod_span(resource, &pod.name));
        }
        let objects = workload.map(|it| it.objects.as_slice()).unwrap_or_default();
        if !objects.is_empty() {
            info["displayNames"] = json!(builtins::kubernetes::names::deployed_names(objects));
        }
        info
    }
}

/// Containers of a pod that run more often than before.
fn restarted<'a>(
    before: &'a [PodContainer],
    now: &'a [PodContainer],
) -> impl Iterator<Item = &'a PodContainer> {
    let is_restarted = |(old, new): &(&PodContainer, &PodContainer)| {
        old.name == new.name && new.restarts > old.restarts
    };
    before.iter().zip(now).filter(is_restarted).map(|(_, new)| new)
}

/// Why a pod has to go although nobody who works on it wants that, if that is so.
fn eviction(pod: &Pod) -> Option<String> {
    let is_it = |it: &&PodCondition| it.kind == "DisruptionTarget" && it.status == "True";
    if let Some(told) = pod.conditions.iter().find(is_it) {
        return Some(format!("{} ({})", told.message, told.reason));
    }
    (pod.status == "Evicted").then(|| pod.errors.join("; "))
}

/// How a resource does, by what it waits for and its newest pod.
fn runtime_status(
    workload: &Workload,
    pod: Option<&Pod>,
    readiness: PodReadiness,
) -> RuntimeStatus {
    if !workload.has_deployed {
        return RuntimeStatus::Pending;
    }
    if readiness == PodReadiness::Ignore || workload.has_complete_job {
        return RuntimeStatus::Ok;
    }
    let Some(pod) = pod else { return RuntimeStatus::Pending };
    let is_job = readiness == PodReadiness::Succeeded;
    match phase(pod) {
        PodPhase::Running if pod.all_ready() && !is_job => RuntimeStatus::Ok,
        PodPhase::Succeeded => RuntimeStatus::Ok,
        PodPhase::Failed => RuntimeStatus::Error,
        PodPhase::Pending if broken_container(pod).is_some() => RuntimeStatus::Error,
        PodPhase::Running | PodPhase::Pending => RuntimeStatus::Pending,
    }
}

/// Why a pod is in a state of error, in Tilt's words.
fn runtime_error(pod: &Pod) -> String {
    if phase(pod) == PodPhase::Failed {
        return match pod.errors.as_slice() {
            [] => format!("Pod \"{}\" failed", pod.name),
            errors => errors.join("; "),
        };
    }
    match broken_container(pod) {
        Some(container) => format!(
            "Pod {} in error state due to container {}: {}",
            pod.name, container.name, pod.status
        ),
        None => "unknown error".to_owned(),
    }
}

fn broken_container(pod: &Pod) -> Option<&PodContainer> {
    pod.init_containers.iter().chain(&pod.containers).find(|it| it.state.is_error())
}

fn phase(pod: &Pod) -> PodPhase {
    match pod.phase.as_str() {
        "Running" => PodPhase::Running,
        "Succeeded" => PodPhase::Succeeded,
        "Failed" => PodPhase::Failed,
        _ => PodPhase::Pending,
    }
}

fn summary(pod: &Pod) -> PodSummary {
    let phase = phase(pod);
    let is_broken = phase == PodPhase::Pending && broken_container(pod).is_some();
    PodSummary {
        phase,
        status: pod.status.clone(),
        broken_since: is_broken.then(|| clock::of_system(pod.created.into())),
    }
}

#[cfg(test)]
mod tests {
    use engine_kubernetes::ContainerState;

    use super::*;

    fn pod(phase: &str, container: ContainerState, is_ready: bool) -> Pod {
        let container = PodContainer {
            name: "c".into(),
            state: container,
            is_ready,
            ..PodContainer::default()
        };
        Pod {
            name: "p".into(),
            phase: phase.into(),
            status: "Why".into(),
            containers: vec![container],
            ..Pod::default()
        }
    }

    fn crashed() -> ContainerState {
        ContainerState::Waiting { reason: "CrashLoopBackOff".into() }
    }

    #[test]
    fn the_newest_pod_decides_how_a_resource_does() {
        use RuntimeStatus::{Error, Ok, Pending};
        let running = || ContainerState::Running { started: None };
        let deployed = Workload { has_deployed: true, ..Workload::default() };
        for (pod, readiness, want) in [
            (None, PodReadiness::Wait, Pending),
            (None, PodReadiness::Ignore, Ok),
            (Some(pod("Running", running(), true)), PodReadiness::Wait, Ok),
            (Some(pod("Running", running(), false)), PodReadiness::Wait, Pending),
            (Some(pod("Running", running(), true)), PodReadiness::Succeeded, Pending),
            // A crash of a pod that runs is waited for.
            (Some(pod("Running", crashed(), false)), PodReadiness::Wait, Pending),
            (Some(pod("Pending", crashed(), false)), PodReadiness::Wait, Error),
            (Some(pod("Succeeded", running(), false)), PodReadiness::Succeeded, Ok),
            (Some(pod("Failed", running(), false)), PodReadiness::Wait, Error),
        ] {
            assert_eq!(runtime_status(&deployed, pod.as_ref(), readiness), want, "{pod:?}");
        }
        let nothing = Workload::default();
        assert_eq!(runtime_status(&nothing, None, PodReadiness::Ignore), Pending);
        let done = Workload { has_complete_job: true, ..deployed };
        assert_eq!(runtime_status(&done, None, PodReadiness::Succeeded), Ok);
    }

    #[test]
    fn a_pod_that_is_evicted_says_by_whom() {
        let mut evicted = pod("Running", crashed(), true);
        assert_eq!(eviction(&evicted), None);
        evicted.conditions.push(PodCondition {
            kind: "DisruptionTarget".into(),
            status: "True".into(),
            reason: "EvictionByEvictionAPI".into(),
            message: "Eviction API: evicting".into(),
            ..PodCondition::default()
        });
        let why = "Eviction API: evicting (EvictionByEvictionAPI)";
        assert_eq!(eviction(&evicted).as_deref(), Some(why));
    }

    #[test]
    fn errors_name_the_container_that_keeps_a_pod_from_running() {
        assert_eq!(
            runtime_error(&pod("Pending", crashed(), false)),
            "Pod p in error state due to container c: Why"
        );
        let failed = pod("Failed", ContainerState::Unknown, false);
        assert_eq!(runtime_error(&failed), "Pod \"p\" failed");
        let told = Pod { errors: vec!["a".into(), "b".into()], ..failed };
        assert_eq!(runtime_error(&told), "a; b");
    }
}

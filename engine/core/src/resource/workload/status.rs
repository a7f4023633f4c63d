//! How a resource does, by what it waits for and its newest pod; restarts and evictions of pods.

use engine_model::{
    PodReadiness,
    pod::{Pod, PodCondition, PodContainer},
};

use super::{LogLine, Workload, line, pod_span};
use crate::{
    effect::LineKind,
    resource::{PodPhase, PodSummary, ResourceName},
    status::RuntimeStatus,
};

impl Workload {
    /// How the resource does, what is wrong if something is, and its newest pod.
    pub(crate) fn observed(
        &self,
        readiness: PodReadiness,
    ) -> (RuntimeStatus, Option<String>, Option<PodSummary>) {
        let pod = self.newest_pod();
        let status = self.runtime_status(pod, readiness);
        let error = pod.filter(|_| status == RuntimeStatus::Error).map(runtime_error);
        (status, error, pod.map(summary))
    }

    fn runtime_status(&self, pod: Option<&Pod>, readiness: PodReadiness) -> RuntimeStatus {
        if !self.has_deployed {
            return RuntimeStatus::Pending;
        }
        if readiness == PodReadiness::Ignore || self.has_complete_job {
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

    /// Says which containers were started again, and which pods have to go for the sake of others.
    pub(crate) fn pod_lines(&self, resource: &ResourceName, old: &[Pod]) -> Vec<LogLine> {
        let before = |pod: &Pod| old.iter().find(|it| it.uid == pod.uid);
        let warn = |pod: &Pod, text: String| {
            line(resource, pod_span(resource, &pod.name), LineKind::Warn, text)
        };
        let mut lines = Vec::new();
        for (pod, before) in self.pods.iter().filter_map(|it| Some((it, before(it)?))) {
            let init = restarted(&before.init_containers, &pod.init_containers);
            for container in init.chain(restarted(&before.containers, &pod.containers)) {
                let (name, container) = (&pod.name, &container.name);
                let text =
                    format!("Detected container restart. Pod: {name}. Container: {container}.");
                lines.push(warn(pod, text));
            }
        }
        for pod in &self.pods {
            let before = before(pod).and_then(eviction);
            if let Some(why) = eviction(pod).filter(|it| before.as_ref() != Some(it)) {
                lines.push(warn(pod, format!("Pod {} was evicted: {why}", pod.name)));
            }
        }
        lines
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
    if let Some(condition) = pod.conditions.iter().find(is_it) {
        return Some(format!("{} ({})", condition.message, condition.reason));
    }
    (pod.status == "Evicted").then(|| pod.errors.join("; "))
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
    PodSummary { phase, status: pod.status.clone(), broken_since: is_broken.then_some(pod.created) }
}

#[cfg(test)]
mod tests {
    use engine_model::pod::ContainerState;

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
            assert_eq!(deployed.runtime_status(pod.as_ref(), readiness), want, "{pod:?}");
        }
        let nothing = Workload::default();
        assert_eq!(nothing.runtime_status(None, PodReadiness::Ignore), Pending);
        let done = Workload { has_complete_job: true, ..deployed };
        assert_eq!(done.runtime_status(None, PodReadiness::Succeeded), Ok);
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

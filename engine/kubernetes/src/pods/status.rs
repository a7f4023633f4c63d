//! What `kubectl get pods` says of a pod in one word, and what went wrong in it.

use engine_model::pod::ERROR_REASONS;
use k8s_openapi::api::core::v1::{ContainerState, ContainerStateTerminated, ContainerStatus, Pod};

/// The STATUS column.
pub(super) fn text(pod: &Pod) -> String {
    let status = pod.status.as_ref();
    let phase = status.and_then(|it| it.phase.clone()).unwrap_or_default();
    let told = status.and_then(|it| it.reason.clone()).unwrap_or_default();
    let mut reason = if told.is_empty() { phase.clone() } else { told.clone() };
    if condition(pod, "PodScheduled").is_some_and(|it| it.1 == "SchedulingGated") {
        "SchedulingGated".clone_into(&mut reason);
    }
    let initializing = initializing(pod);
    if let Some(word) = &initializing {
        reason.clone_from(word);
    }
    if initializing.is_none() || condition(pod, "Initialized").is_some_and(|it| it.0 == "True") {
        reason = of_containers(pod, reason);
    }
    if pod.metadata.deletion_timestamp.is_some() {
        if told == "NodeLost" {
            return "Unknown".to_owned();
        }
        if phase != "Succeeded" && phase != "Failed" {
            return "Terminating".to_owned();
        }
    }
    reason
}

/// The first container that is not fine says it; one that is ready lets a pod with completed ones still run.
fn of_containers(pod: &Pod, mut reason: String) -> String {
    let mut has_running = false;
    for container in statuses(pod).iter().rev() {
        let state = state(container);
        let waiting = state.waiting.as_ref().and_then(|it| it.reason.as_deref());
        if let Some(waiting) = waiting.filter(|it| !it.is_empty()) {
            waiting.clone_into(&mut reason);
        } else if let Some(ended) = &state.terminated {
            reason = end(ended);
        } else if container.ready && state.running.is_some() {
            has_running = true;
        }
    }
    if reason == "Completed" && has_running {
        let is_ready = condition(pod, "Ready").is_some_and(|it| it.0 == "True");
        return if is_ready { "Running" } else { "NotReady" }.to_owned();
    }
    reason
}

/// What holds up the preparation of a pod, if anything does.
fn initializing(pod: &Pod) -> Option<String> {
    let n_init = pod.spec.as_ref().and_then(|it| it.init_containers.as_ref()).map_or(0, Vec::len);
    for (index, container) in init_statuses(pod).iter().enumerate() {
        if is_prepared(pod, container) {
            continue;
        }
        let state = state(container);
        if let Some(ended) = &state.terminated {
            return Some(format!("Init:{}", end(ended)));
        }
        let waiting = state.waiting.as_ref().and_then(|it| it.reason.as_deref());
        let waiting = waiting.filter(|it| !it.is_empty() && *it != "PodInitializing");
        return Some(match waiting {
            Some(reason) => format!("Init:{reason}"),
            None => format!("Init:{index}/{n_init}"),
        });
    }
    None
}

/// Whether an init container did its part: it ended well, or it is a sidecar that has started.
fn is_prepared(pod: &Pod, container: &ContainerStatus) -> bool {
    if state(container).terminated.is_some_and(|it| it.exit_code == 0) {
        return true;
    }
    let specs = pod.spec.as_ref().and_then(|it| it.init_containers.as_ref()).into_iter().flatten();
    let mut sidecars = specs.filter(|it| it.restart_policy.as_deref() == Some("Always"));
    container.started == Some(true) && sidecars.any(|it| it.name == container.name)
}

fn end(ended: &ContainerStateTerminated) -> String {
    match (ended.reason.as_deref(), ended.signal) {
        (Some(reason), _) if !reason.is_empty() => reason.to_owned(),
        (_, Some(signal)) if signal != 0 => format!("Signal:{signal}"),
        _ => format!("ExitCode:{}", ended.exit_code),
    }
}

/// What went wrong in a pod, in the words of its containers.
pub(super) fn errors(pod: &Pod) -> Vec<String> {
    let init = init_statuses(pod);
    let is_initializing = init.iter().any(|it| !is_prepared(pod, it));
    let init = if is_initializing { init } else { &[] };
    init.iter().chain(statuses(pod).iter().rev()).flat_map(errors_of).collect()
}

fn errors_of(container: &ContainerStatus) -> Vec<String> {
    let state = state(container);
    let message = |ended: Option<&ContainerStateTerminated>| {
        let ended = ended.filter(|it| it.exit_code != 0)?;
        ended.message.clone().filter(|it| !it.is_empty())
    };
    let Some(waiting) = &state.waiting else {
        return message(state.terminated.as_ref()).into_iter().collect();
    };
    // Why it cannot start is often told by how it ended the last time, and when it is tried again by the wait itself.
    let last = container.last_state.as_ref().and_then(|it| it.terminated.as_ref());
    let is_error = waiting.reason.as_deref().is_some_and(|it| ERROR_REASONS.contains(&it));
    let why = waiting.message.clone().filter(|it| is_error && !it.is_empty());
    message(last).into_iter().chain(why).collect()
}

fn condition<'a>(pod: &'a Pod, kind: &str) -> Option<(&'a str, &'a str)> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let found = conditions.iter().find(|it| it.type_ == kind)?;
    Some((&found.status, found.reason.as_deref().unwrap_or_default()))
}

fn statuses(pod: &Pod) -> &[ContainerStatus] {
    pod.status.as_ref().and_then(|it| it.container_statuses.as_deref()).unwrap_or_default()
}

fn init_statuses(pod: &Pod) -> &[ContainerStatus] {
    pod.status.as_ref().and_then(|it| it.init_container_statuses.as_deref()).unwrap_or_default()
}

fn state(container: &ContainerStatus) -> ContainerState {
    container.state.clone().unwrap_or_default()
}

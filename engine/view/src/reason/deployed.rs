//! Why pods and containers are not well: what the kubelet and Docker say of them.

use engine_core::resource::{Resource, Workload};
use engine_model::{
    container::Container,
    pod::{Pod, PodContainer},
};

use super::{Reason, State, first_line, last_line};

/// What a container says of itself when it ended without a special reason.
const PLAIN_ENDS: [&str; 3] = ["", "Error", "Completed"];

/// What is deployed is down.
pub(super) fn failed(resource: &Resource) -> Reason {
    let name = &*resource.name;
    if let Some(pod) = resource.workload.as_ref().and_then(Workload::newest_pod) {
        let since = resource.pod.as_ref().and_then(|it| it.broken_since);
        return of_pod(resource, State::Failed, pod).since(since.or(resource.last_success));
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
        return Some(of_pod(resource, State::NotReady, pod).since(Some(pod.created)));
    }
    if resource.kubernetes_target().is_some() {
        let says = warning(resource).map_or(String::new(), |(_, it)| format!(": {it}"));
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

/// What the kubelet says about a pod.
fn of_pod(resource: &Resource, state: State, pod: &Pod) -> Reason {
    let condition = |kind: &str, status: &str| {
        let mut conditions = pod.conditions.iter().filter(|it| it.kind == kind);
        conditions.find(|it| it.status == status && !it.message.is_empty())
    };
    let condition =
        condition("DisruptionTarget", "True").or_else(|| condition("PodScheduled", "False"));
    let warned = warning(resource).filter(|(object, _)| object.ends_with(&pod.name));
    let error = resource.runtime_error.as_deref().filter(|_| state == State::Failed);
    let says = condition
        .map(|it| it.message.clone())
        .or_else(|| pod.init_containers.iter().chain(&pod.containers).find_map(end))
        .or_else(|| pod.errors.first().cloned())
        .or_else(|| warned.map(|it| it.1.to_owned()))
        .or_else(|| error.map(str::to_owned));
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
    let mut reason = Reason::new(&resource.name, state, headline);
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

/// What the cluster warned of last: the object, and the words.
fn warning(resource: &Resource) -> Option<(&str, &str)> {
    let text = resource.workload.as_ref()?.last_warning.as_deref()?;
    text.strip_prefix("[event: ")?.split_once("] ")
}

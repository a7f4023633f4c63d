//! Names of API objects and log spans.

pub(super) use builtins::golang::label::sanitize_name as sanitized;

/// The object of a resource's update command.
pub(super) fn update_cmd(resource: &str) -> String {
    sanitized(&format!("{resource}:update"))
}

/// The object of a run of a server.
pub(super) fn serve_cmd(resource: &str, id: u64) -> String {
    format!("{resource}-serve-{id}")
}

/// What a local resource watches.
pub(super) fn local_target(resource: &str) -> String {
    format!("local:{resource}")
}

/// What a Tiltfile watches.
pub(super) fn config_target(tiltfile: &str) -> String {
    format!("configs:{tiltfile}")
}

/// The Tiltfile that watches something.
pub(super) fn tiltfile_of(target: &str) -> Option<&str> {
    target.strip_prefix("configs:")
}

/// The switch of a resource.
pub(super) fn switch(resource: &str) -> String {
    format!("{resource}-disable")
}

/// The button that stops an update.
pub(super) fn stop_button(resource: &str) -> String {
    format!("{resource}-stopbuild")
}

/// The cluster that Compose services are in.
pub(super) const DOCKER: &str = "docker";

/// Where the objects of a Compose service write.
pub(super) fn compose_object_span(resource: &str) -> String {
    format!("dockercompose:{resource}")
}

/// The log of a Compose service.
pub(super) fn compose_span(resource: &str) -> String {
    format!("dc:{resource}")
}

/// The log of one run of a Tiltfile.
pub(super) fn tiltfile_span(tiltfile: &str, n: u64) -> String {
    format!("tiltfile:{tiltfile}:{n}")
}

/// The cluster that Kubernetes resources are in.
pub(super) const KUBERNETES: &str = "default";

/// Where the objects of what is applied to a cluster write.
pub(super) fn apply_span(resource: &str) -> String {
    format!("kubernetesapply:{resource}")
}

/// The log of a pod.
pub(super) fn pod_span(resource: &str, pod: &str) -> String {
    format!("pod:{resource}:{pod}")
}

/// What a custom deploy watches.
pub(super) fn apply_target(resource: &str) -> String {
    format!("k8s:{resource}")
}

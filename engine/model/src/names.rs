//! Names of API objects, targets and log spans.

use std::sync::Arc;

/// The object of a run of a server.
#[must_use]
pub fn serve_cmd(resource: &str, id: u64) -> String {
    format!("{resource}-serve-{id}")
}

/// What a local resource watches.
#[must_use]
pub fn local_target(resource: &str) -> String {
    format!("local:{resource}")
}

/// What an image watches.
#[must_use]
pub fn image_target(image: &str) -> Arc<str> {
    format!("image:{image}").into()
}

/// What a Tiltfile watches.
#[must_use]
pub fn config_target(tiltfile: &str) -> String {
    format!("configs:{tiltfile}")
}

/// The switch of a resource.
#[must_use]
pub fn switch(resource: &str) -> String {
    format!("{resource}-disable")
}

/// The button that stops an update.
#[must_use]
pub fn stop_button(resource: &str) -> String {
    format!("{resource}-stopbuild")
}

/// The cluster that Compose services are in.
pub const DOCKER: &str = "docker";

/// Where the objects of a Compose service write.
#[must_use]
pub fn compose_object_span(resource: &str) -> String {
    format!("dockercompose:{resource}")
}

/// The log of a Compose service.
#[must_use]
pub fn compose_span(resource: &str) -> String {
    format!("dc:{resource}")
}

/// The log of one run of a Tiltfile.
#[must_use]
pub fn tiltfile_span(tiltfile: &str, n: u64) -> String {
    format!("tiltfile:{tiltfile}:{n}")
}

/// The cluster that Kubernetes resources are in.
pub const KUBERNETES: &str = "default";

/// Where the objects of what is applied to a cluster write.
#[must_use]
pub fn apply_span(resource: &str) -> String {
    format!("kubernetesapply:{resource}")
}

/// The log of a pod.
#[must_use]
pub fn pod_span(resource: &str, pod: &str) -> String {
    format!("pod:{resource}:{pod}")
}

/// What a custom deploy watches.
#[must_use]
pub fn apply_target(resource: &str) -> String {
    format!("k8s:{resource}")
}

/// The log of one update.
#[must_use]
pub fn build_span(n: u64) -> String {
    format!("build:{n}")
}

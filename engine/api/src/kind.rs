//! The fields of each kind of object.

use engine_model::Kind;

use super::schema::{Type, docker, kubernetes, local, ui};

/// The fields of a kind of object.
pub trait KindSchema {
    /// The fields of the spec; config maps have data instead.
    fn spec(self) -> Option<&'static Type>;

    /// The fields of the status.
    fn status(self) -> Option<&'static Type>;

    /// The status of an object of which nothing is known yet, as JSON; nothing for config maps.
    fn zero_status(self) -> Option<String>;
}

impl KindSchema for Kind {
    fn spec(self) -> Option<&'static Type> {
        types(self).map(|(spec, _)| spec)
    }

    fn status(self) -> Option<&'static Type> {
        types(self).map(|(_, status)| status)
    }

    fn zero_status(self) -> Option<String> {
        self.status().map(|it| it.zero().to_string())
    }
}

fn types(kind: Kind) -> Option<(&'static Type, &'static Type)> {
    Some(match kind {
        Kind::Cluster => (&kubernetes::CLUSTER_SPEC, &kubernetes::CLUSTER_STATUS),
        Kind::CmdImage => (&docker::CMD_IMAGE_SPEC, &docker::CMD_IMAGE_STATUS),
        Kind::Cmd => (&local::CMD_SPEC, &local::CMD_STATUS),
        Kind::ConfigMap => return None,
        Kind::DockerComposeLogStream => {
            (&docker::DOCKER_COMPOSE_LOG_STREAM_SPEC, &docker::DOCKER_COMPOSE_LOG_STREAM_STATUS)
        }
        Kind::DockerComposeService => {
            (&docker::DOCKER_COMPOSE_SERVICE_SPEC, &docker::DOCKER_COMPOSE_SERVICE_STATUS)
        }
        Kind::DockerImage => (&docker::DOCKER_IMAGE_SPEC, &docker::DOCKER_IMAGE_STATUS),
        Kind::ExtensionRepo => (&local::EXTENSION_REPO_SPEC, &local::EXTENSION_REPO_STATUS),
        Kind::Extension => (&local::EXTENSION_SPEC, &local::EXTENSION_STATUS),
        Kind::FileWatch => (&local::FILE_WATCH_SPEC, &local::FILE_WATCH_STATUS),
        Kind::ImageMap => (&docker::IMAGE_MAP_SPEC, &docker::IMAGE_MAP_STATUS),
        Kind::KubernetesApply => {
            (&kubernetes::KUBERNETES_APPLY_SPEC, &kubernetes::KUBERNETES_APPLY_STATUS)
        }
        Kind::KubernetesDiscovery => {
            (&kubernetes::KUBERNETES_DISCOVERY_SPEC, &kubernetes::KUBERNETES_DISCOVERY_STATUS)
        }
        Kind::LiveUpdate => (&docker::LIVE_UPDATE_SPEC, &docker::LIVE_UPDATE_STATUS),
        Kind::PodLogStream => {
            (&kubernetes::POD_LOG_STREAM_SPEC, &kubernetes::POD_LOG_STREAM_STATUS)
        }
        Kind::PortForward => (&kubernetes::PORT_FORWARD_SPEC, &kubernetes::PORT_FORWARD_STATUS),
        Kind::Session => (&local::SESSION_SPEC, &local::SESSION_STATUS),
        Kind::Tiltfile => (&local::TILTFILE_SPEC, &local::TILTFILE_STATUS),
        Kind::ToggleButton => (&ui::TOGGLE_BUTTON_SPEC, &ui::TOGGLE_BUTTON_STATUS),
        Kind::UiButton => (&ui::UI_BUTTON_SPEC, &ui::UI_BUTTON_STATUS),
        Kind::UiResource => (&ui::UI_RESOURCE_SPEC, &ui::UI_RESOURCE_STATUS),
        Kind::UiSession => (&ui::UI_SESSION_SPEC, &ui::UI_SESSION_STATUS),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_a_status_has_fields() {
        for kind in Kind::ALL {
            assert_eq!(kind.status().is_some(), kind.has_status(), "{kind:?}");
        }
    }
}

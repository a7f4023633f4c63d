//! What is known of a container of Docker, and which Compose service it belongs to.

use std::collections::HashMap;

use crate::Time;

/// Containers that Compose made are labeled with their project, their service, and whether they run one command only.
pub const PROJECT_LABEL: &str = "com.docker.compose.project";
/// See [`PROJECT_LABEL`].
pub const SERVICE_LABEL: &str = "com.docker.compose.service";
/// See [`PROJECT_LABEL`].
pub const ONE_OFF_LABEL: &str = "com.docker.compose.oneoff";

/// A container in detail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Container {
    /// The container's ID.
    pub id: String,
    /// Its name, without the slash.
    pub name: String,
    /// The image as it was named when the container was made.
    pub image: String,
    /// The image's digest.
    pub image_id: String,
    /// Such as `running` or `exited`.
    pub status: String,
    /// Whether it runs.
    pub is_running: bool,
    /// Whether its root cannot be written to.
    pub is_read_only: bool,
    /// Where volumes are that can be written to.
    pub volumes: Vec<String>,
    /// Whether it has a terminal, so that its output is one stream.
    pub has_tty: bool,
    /// Such as `healthy`, if somebody checks.
    pub health: Option<String>,
    /// What the health check printed last, if it fails.
    pub health_output: Option<String>,
    /// How its process ended last.
    pub exit_code: i64,
    /// Why it could not be started.
    pub error: String,
    /// When it was made.
    pub created: Option<Time>,
    /// When its process was started last.
    pub started: Option<Time>,
    /// When its process ended last.
    pub finished: Option<Time>,
    /// How often it was started again.
    pub restarts: i64,
    /// As whom its process runs; empty for root.
    pub user: String,
    /// Its labels.
    pub labels: HashMap<String, String>,
    /// Ports of this machine that lead into it.
    pub ports: Vec<Port>,
}

impl Container {
    /// The project and the service that it runs for; nothing for one that runs a single command.
    pub fn service(&self) -> Option<(&str, &str)> {
        let label = |name: &str| self.labels.get(name).map(String::as_str);
        let is_one_off = label(ONE_OFF_LABEL) == Some("True");
        let service = (label(PROJECT_LABEL)?, label(SERVICE_LABEL)?);
        (!is_one_off).then_some(service)
    }

    /// Bound ports, in the order in which they are shown.
    pub fn bindings(&self) -> Vec<&Port> {
        let mut ports: Vec<&Port> = self.ports.iter().filter(|it| it.host_port != 0).collect();
        ports.sort_by_key(|it| (it.host_port, &it.host_ip));
        ports
    }
}

/// A port of this machine that leads into a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Port {
    /// In the container, such as `80/tcp`.
    pub container: String,
    /// The address on this machine.
    pub host_ip: String,
    /// The port on this machine.
    pub host_port: u16,
}

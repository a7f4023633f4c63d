//! Processes on this machine as a resource.

use serde::{Deserialize, Serialize};

use crate::{Cmd, IgnoreDef, Link};

/// The local side of a resource.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct LocalTarget {
    /// The command each update runs.
    pub update_cmd_spec: Option<CmdSpec>,
    /// The resource's name.
    pub name: String,
    /// The server that runs between updates.
    pub serve_cmd: Cmd,
    /// Links shown in the UI.
    pub links: Option<Vec<Link>>,
    /// Absolute paths whose changes cause an update.
    pub deps: Option<Vec<String>>,
    /// Files whose changes do not matter.
    pub file_watch_ignores: Option<Vec<IgnoreDef>>,
    /// Whether it may update while others do.
    pub allow_parallel: bool,
    /// How the server says that it is ready.
    pub readiness_probe: Option<Probe>,
    /// Filled in when the engine runs.
    pub serve_cmd_disable_source: Option<()>,
}

/// A command of the API.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CmdSpec {
    /// The program and its arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Where it runs.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub dir: String,
    /// `KEY=VALUE` pairs, sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
}

/// How a server says that it is ready.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Probe {
    /// By the exit code of a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exec: Option<ExecAction>,
    /// By the status of an HTTP answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_get: Option<HttpGetAction>,
    /// By accepting a connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_socket: Option<TcpSocketAction>,
    /// Seconds before the first try.
    #[serde(skip_serializing_if = "is_zero")]
    pub initial_delay_seconds: i32,
    /// Seconds a try may take.
    #[serde(skip_serializing_if = "is_zero")]
    pub timeout_seconds: i32,
    /// Seconds between tries.
    #[serde(skip_serializing_if = "is_zero")]
    pub period_seconds: i32,
    /// Successes in a row that count.
    #[serde(skip_serializing_if = "is_zero")]
    pub success_threshold: i32,
    /// Failures in a row that count.
    #[serde(skip_serializing_if = "is_zero")]
    pub failure_threshold: i32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(value: &i32) -> bool {
    *value == 0
}

/// Ready when a command succeeds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExecAction {
    /// The command.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
}

/// Ready when an HTTP request is answered well.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HttpGetAction {
    /// The path.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The port.
    pub port: i32,
    /// The host; this machine by default.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// `HTTP` or `HTTPS`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub scheme: String,
    /// Headers of the request; Tiltfiles cannot set them, objects of the API can.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub http_headers: Vec<HttpHeader>,
}

/// A header of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HttpHeader {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// Ready when a connection is accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TcpSocketAction {
    /// The port.
    pub port: i32,
    /// The host; this machine by default.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub host: String,
}

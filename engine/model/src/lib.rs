//! Plain data: what a Tiltfile evaluates to, and the contract between its evaluation and its execution.
//!
//! Types serialize as Tilt's `alpha tiltfile-result` prints them; `null` and missing fields are as there.
//! Nothing here reads the world, holds a handle or makes a decision.

pub mod annotation;
pub mod backoff;
pub mod compose;
pub mod container;
pub mod image;
pub mod kubernetes;
pub mod link;
pub mod load;
pub mod local;
pub mod manifest;
pub mod names;
pub mod object;
pub mod path;
pub mod pod;
pub mod report;
pub mod settings;
pub mod spec;
pub mod target;
pub mod time;

mod json;

use serde::{Deserialize, Serialize};

pub use backoff::Backoff;
pub use compose::{ComposeProject, ComposeSpec, ComposeTarget};
pub use container::{Container, Port};
pub use image::{
    BuildDetails, ComposeBuild, ContainerNameSelector, CustomBuild, DockerBuild, ImageTarget,
    LiveUpdateExec, LiveUpdateSelector, LiveUpdateSpec, LiveUpdateSync, OverrideArgs,
    OverrideCommand, Present,
};
pub use json::{GoDuration, Nanoseconds};
pub use kubernetes::{
    ApplyCmd, DiscoveryTemplate, Forward, ImageLocator, ImageObject, KubernetesTarget,
    LabelSelector, ObjectSelectorSpec, PodLogStreamTemplate, PodReadiness, PortForwardTemplate,
    RestartOn,
};
pub use link::{Link, Url};
pub use load::{Load, LoadedRepo, ObjectSet, Secret};
pub use local::{
    CmdSpec, ExecAction, HttpGetAction, HttpHeader, LocalTarget, Probe, TcpSocketAction,
};
pub use manifest::{DeployTarget, Manifest, TriggerMode};
pub use names::{ImageName, LiveUpdateName, ResourceName};
pub use object::{Kind, ObjectId};
pub use path::FilePath;
pub use report::{Caller, Excerpt, Place, Report};
pub use settings::{
    CiSettings, DockerPruneSettings, Hashes, IgnorePatterns, LocalRegistry, RegistryHosting,
    TelemetrySettings, UpdateSettings, VersionSettings, WatchSettings,
};
pub use spec::{Spec, SpecChange, WatchTarget};
pub use target::TargetId;
pub use time::Time;

serde_json::derived_to_json!(
    CiSettings,
    CmdSpec,
    ComposeProject,
    ComposeSpec,
    CustomBuild,
    DockerBuild,
    Forward,
    IgnoreDef,
    KubernetesTarget,
    LabelSelector,
    LiveUpdateSpec,
    LocalRegistry,
    Manifest,
    OverrideArgs,
    OverrideCommand,
    PodLogStreamTemplate,
    PortForwardTemplate,
    Probe,
    RegistryHosting,
    TriggerMode,
);

/// A command that runs on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Cmd {
    /// The program and its arguments; `None` when there is no command.
    pub argv: Option<Vec<String>>,
    /// The absolute directory it runs in.
    pub dir: String,
    /// `KEY=VALUE` pairs added to the environment, sorted.
    pub env: Option<Vec<String>>,
    /// Whether the command itself is kept out of the log.
    pub echo_off: bool,
}

impl Cmd {
    /// Whether there is nothing to run.
    pub fn is_empty(&self) -> bool {
        self.argv.as_ref().is_none_or(Vec::is_empty)
    }
}

/// Files that do not count as inputs: everything under `base_path`, or what the patterns match there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct IgnoreDef {
    /// The absolute path the patterns are relative to.
    pub base_path: String,
    /// Patterns in dockerignore syntax; with none, all of `base_path` is ignored.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<String>,
}

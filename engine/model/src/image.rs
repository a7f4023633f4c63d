//! Images: how they are found in deployments, built, and updated in place.

use serde::Serialize;

use crate::{IgnoreDef, TargetId};

/// An image of a resource.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct ImageTarget {
    /// The reference as declared, in its familiar form.
    #[serde(rename = "selector")]
    pub selector: String,
    /// Whether the tag counts in matching.
    #[serde(rename = "matchExact", skip_serializing_if = "std::ops::Not::not")]
    pub match_exact: bool,
    /// Whether values of environment variables are searched as well.
    #[serde(rename = "matchInEnvVars", skip_serializing_if = "std::ops::Not::not")]
    pub match_in_env_vars: bool,
    /// Replaces the container's command.
    #[serde(rename = "overrideCommand", skip_serializing_if = "Option::is_none")]
    pub override_command: Option<OverrideCommand>,
    /// Replaces the container's arguments.
    #[serde(rename = "overrideArgs", skip_serializing_if = "Option::is_none")]
    pub override_args: Option<OverrideArgs>,
    /// Name of the live update object, or empty.
    pub live_update_name: String,
    /// How running containers are updated.
    pub live_update_spec: LiveUpdateSpec,
    /// Whether there is a live update at all.
    pub live_update_reconciler: bool,
    /// Name of the docker build object, or empty.
    pub docker_image_name: String,
    /// Name of the custom build object, or empty.
    pub cmd_image_name: String,
    /// How it is built.
    pub build_details: BuildDetails,
    /// Whether it is only live-updated, never built or injected.
    pub is_live_update_only: bool,
    /// Files whose changes do not matter.
    pub file_watch_ignores: Option<Vec<IgnoreDef>>,
    /// The name of its image map object.
    #[serde(skip)]
    pub image_map_name: String,
}

impl ImageTarget {
    /// Names of the image maps that it is built from.
    pub fn image_maps(&self) -> &[String] {
        match &self.build_details {
            BuildDetails::Docker(build) => &build.image_maps,
            BuildDetails::Custom(build) => &build.image_maps,
            BuildDetails::Compose(_) => &[],
        }
    }

    /// What its file watch is called.
    pub fn id(&self) -> TargetId {
        TargetId::Image(self.image_map_name.as_str().into())
    }

    /// It and all images that it is built from, of those in `all`.
    pub fn with_bases<'a>(&'a self, all: &'a [Self]) -> Vec<&'a Self> {
        let mut found = vec![self];
        let mut next = 0;
        while let Some(image) = found.get(next) {
            let bases = all.iter().filter(|it| image.image_maps().contains(&it.image_map_name));
            let new: Vec<&Self> = bases
                .filter(|it| !found.iter().any(|known| known.selector == it.selector))
                .collect();
            found.extend(new);
            next += 1;
        }
        found
    }
}

/// A replaced container command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OverrideCommand {
    /// The new command.
    pub command: Vec<String>,
}

/// Replaced container arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OverrideArgs {
    /// The new arguments; `None` replaces them by nothing.
    pub args: Option<Vec<String>>,
}

/// How running containers are updated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LiveUpdateSpec {
    /// What the local paths are relative to.
    pub base_path: String,
    /// Which containers it concerns.
    pub selector: LiveUpdateSelector,
    /// Changes here cause a full build.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop_paths: Vec<String>,
    /// Files to copy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub syncs: Vec<LiveUpdateSync>,
    /// Commands to run in the container.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub execs: Vec<LiveUpdateExec>,
    /// `always` if the container restarts after each update.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart: Option<&'static str>,
    /// Whether all files are synced when a container starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_sync: Option<Present>,
}

/// A marker that prints as an empty object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Present {}

/// Which containers a live update concerns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LiveUpdateSelector {
    /// Set when a container is chosen by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<ContainerNameSelector>,
}

/// A container chosen by its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerNameSelector {
    /// Filled in when the engine runs.
    pub discovery_name: String,
    /// The container's name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub container_name: String,
}

/// One `sync` step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LiveUpdateSync {
    /// Relative to the base path.
    pub local_path: String,
    /// Absolute, in the container.
    pub container_path: String,
}

/// One `run` step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LiveUpdateExec {
    /// The command.
    pub args: Option<Vec<String>>,
    /// It runs only if one of these changed; `None` means always.
    pub trigger_paths: Option<Vec<String>>,
    /// Whether the command is kept out of the log.
    pub echo_off: bool,
}

/// How an image is built.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum BuildDetails {
    /// By a Docker engine.
    Docker(Box<DockerBuild>),
    /// By a command.
    Custom(Box<CustomBuild>),
    /// By Docker Compose.
    Compose(ComposeBuild),
}

/// An image built by a Docker engine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DockerBuild {
    /// Filled in when the engine runs.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The Dockerfile's text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub dockerfile_contents: String,
    /// The absolute context directory.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub context: String,
    /// What is left out of the context.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub context_ignores: Vec<IgnoreDef>,
    /// Build arguments: `KEY=VALUE`, or `KEY` alone to take it from the environment.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The stage to stop at.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// SSH agents to expose.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ssh_agent_configs: Vec<String>,
    /// Secrets to expose.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// Network mode of RUN instructions.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub network: String,
    /// Whether base images are pulled anew.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pull: bool,
    /// Images whose layers may be reused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cache_from: Vec<String>,
    /// The platform to build for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub platform: String,
    /// More tags for the result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extra_tags: Vec<String>,
    /// Names of the images it is built from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub image_maps: Vec<String>,
    /// Lines for /etc/hosts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extra_hosts: Vec<String>,
}

/// An image built by a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomBuild {
    /// Filled in when the engine runs.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The command.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Where it runs.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub dir: String,
    /// `KEY=VALUE` pairs, sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// Names of the images it needs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub image_maps: Vec<String>,
    /// Where the command leaves the image.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub output_mode: &'static str,
    /// The tag the command gives, if it is fixed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub output_tag: String,
    /// The file the command writes the reference to.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub outputs_image_ref_to: String,
    /// Absolute paths whose changes cause a build.
    #[serde(rename = "Deps")]
    pub deps: Option<Vec<String>>,
}

/// An image built by Docker Compose.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct ComposeBuild {
    /// The service that has the build section.
    pub service: String,
    /// Its context: a path or a URL.
    pub context: String,
}

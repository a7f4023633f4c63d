//! Why declarations cannot be assembled, in Tilt's words.

use engine_formats::{
    docker::{ignore::IgnoreError, reference::ReferenceError},
    golang::{os_error::PathError, quote::quote},
    kubernetes::images::ImageError,
    yaml,
};

use crate::{declarations::NameTaken, diagnostic::Place};

/// Why a resource or its images make no manifest.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AssemblyError {
    /// Nobody can tell whether the object is a workload.
    #[error("finding images in {object}: {why}")]
    FindImages { object: String, why: Box<ImageError<ReferenceError>> },
    /// The images of an object that belongs to a resource.
    #[error("finding image in {kind}/{name}: {why}")]
    FindImage { kind: String, name: String, why: Box<ImageError<ReferenceError>> },
    #[error("error making resource for workload {workload}: {why}")]
    Workload { workload: String, why: NameTaken },
    #[error(transparent)]
    NameTaken(#[from] NameTaken),
    #[error(
        "{position}: k8s_resource specified to rename {} to {}: {why}",
        quote(.from),
        quote(.to)
    )]
    Rename { position: Place, from: String, to: String, why: NameTaken },
    #[error("getting image build info for {resource}: {why}")]
    ImageBuilds { resource: String, why: TargetError },
    #[error("creating K8s deploy target for {resource}: {why}")]
    DeployTarget { resource: String, why: yaml::Error },
    #[error("docker_build/custom_build.entrypoint not supported for Docker Compose resources")]
    ComposeEntrypoint,
}

/// Why an image build makes no target.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TargetError {
    /// The image needs itself.
    #[error("Image dependency cycle: {0}")]
    Cycle(String),
    #[error("reading dockerignore for {image}: {why}")]
    IgnoreFile { image: String, why: IgnoreFileError },
}

/// Why an ignore file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IgnoreFileError {
    #[error(transparent)]
    File(#[from] PathError),
    #[error(transparent)]
    Pattern(#[from] IgnoreError),
}

/// What a manifest lacks.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Incomplete {
    #[error("[Validate] Image {} missing build path", quote(.0))]
    BuildPath(String),
    #[error("[Validate] CustomBuild command must not be empty")]
    BuildCommand,
    #[error("[Validate] K8s resources {} missing YAML", quote(.0))]
    Yaml(String),
    #[error("[Validate] LocalTarget cmd missing workdir")]
    CmdDir,
    #[error("[Validate] LocalTarget serve_cmd missing workdir")]
    ServeCmdDir,
}

//! Why an image could not be built or delivered, in the words that its update ends with.

use std::io;

use engine_docker::{CredentialsError, DockerError, PushError};
use engine_formats::{
    docker::{dockerfile::DockerfileError, reference::ReferenceError, registry::RegistryError},
    golang::os_error::errno_text,
};
use engine_helper::carried;

/// Why an image could not be built or delivered.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// Compose builds this image.
    #[error("Compose builds its images itself")]
    BuiltByCompose,
    /// The Docker engine refused something, or is not there.
    #[error(transparent)]
    Docker(#[from] DockerError),
    /// The Docker engine did not build it.
    #[error("ImageBuild: {0}")]
    Build(#[source] DockerError),
    /// An image that it is built from was not built.
    #[error("missing image dependency: {0}")]
    MissingBase(String),
    /// Its Dockerfile cannot be read.
    #[error(transparent)]
    Dockerfile(#[from] DockerfileError),
    /// Its Dockerfile does not use an image that it is said to be built from.
    #[error("Could not inject image {base:?} into Dockerfile of image {image:?}")]
    UnusedBase {
        /// The image that is not used.
        base: String,
        /// The image that is built.
        image: String,
    },
    /// This engine has no helper for these nodes.
    #[error("{}", carried::how_to_build(.0))]
    NoHelper(String),
    /// The folder with the helper cannot be made.
    #[error("restart helper: {0}")]
    HelperFolder(#[source] io::Error),
    /// A name is malformed.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// The name in the Tiltfile is malformed.
    #[error("validating image: parsing image map spec ({selector}): {source}")]
    Selector {
        /// The name.
        selector: String,
        /// What is wrong with it.
        source: ReferenceError,
    },
    /// A registry cannot have an image of this name.
    #[error(
        "applying image {selector} to registry {host}: validating new RefSet with configuration ref {selector:?}: \
         {source}"
    )]
    Registry {
        /// The name in the Tiltfile.
        selector: String,
        /// The registry.
        host: String,
        /// What is wrong.
        source: Box<RegistryError>,
    },
    /// A name cannot have this tag.
    #[error("tagging {what} {name} as {tag}: {source}")]
    BadTag {
        /// Which of its names.
        what: &'static str,
        /// The name.
        name: String,
        /// The tag.
        tag: String,
        /// What is wrong with it.
        source: ReferenceError,
    },
    /// The digest of an image makes no tag.
    #[error("digest too short: {0}")]
    ShortDigest(String),
    /// A built image could not be tagged.
    #[error("docker tag: TagImage: {0}")]
    Tag(#[source] Box<Self>),
    /// A built image could not be tagged for Compose.
    #[error("Error response from daemon: {0}")]
    TagForCompose(#[source] DockerError),
    /// The cluster cannot have the name that a command chose.
    #[error("Error converting image ref for cluster: {0}")]
    ClusterName(#[source] ReferenceError),
    /// A custom build could not name its image.
    #[error("custom_build: {0}")]
    CustomName(#[source] Box<Self>),
    /// The command of a custom build failed.
    #[error("Custom build {command:?} failed: {reason}")]
    CustomCommand {
        /// The command.
        command: String,
        /// How it ended.
        reason: String,
    },
    /// The command did not write the name of its image.
    #[error(
        "Could not find image ref in output. Your custom_build script should have written to {path}: open {path}: {}",
        errno_text(source)
    )]
    NoOutput {
        /// Where it had to write.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// The command wrote a malformed name.
    #[error("Output image ref in file {path} was invalid: {source}")]
    BadOutput {
        /// Where it wrote.
        path: String,
        /// What is wrong with the name.
        source: ReferenceError,
    },
    /// The command wrote a name without a tag.
    #[error(
        "Output image ref in file {path} was invalid: Expected reference {name:?} to contain a tag"
    )]
    UntaggedOutput {
        /// Where it wrote.
        path: String,
        /// What it wrote.
        name: String,
    },
    /// The command left no image in the Docker engine.
    #[error(
        "Could not find image in Docker\nDid your custom_build script properly tag the image?\nIf your custom_build \
         doesn't use Docker, you might need to use skips_local_docker=True, see \
         https://docs.tilt.dev/custom_build.html\n: Error response from daemon: {0}"
    )]
    NotInDocker(String),
    /// The registry refused it.
    #[error("docker push: {0}")]
    Refused(#[source] PushError),
    /// There are no credentials for the registry.
    #[error("docker push: PushImage#ImagePush: ImagePush: authenticate: {0}")]
    Authenticate(#[source] CredentialsError),
    /// The Docker engine did not push it.
    #[error("docker push: PushImage#ImagePush: {0}")]
    Push(#[source] DockerError),
    /// Nodes that are containers did not take it.
    #[error("Error loading image to {cluster}: {source}")]
    Import {
        /// What made the nodes.
        cluster: &'static str,
        /// What went wrong.
        source: DockerError,
    },
    /// The command of kind did not load it.
    #[error("Error loading image to KIND: {0}")]
    Load(String),
}

//! What is known of images: how their builds do, and the names under which they are used.

use engine_model::Time;

/// The build of an image for a resource, the last one if none goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageBuild {
    /// When it began.
    pub started: Time,
    /// How it ended.
    pub end: Option<ImageBuildEnd>,
}

/// How the build of an image ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageBuildEnd {
    /// When.
    pub at: Time,
    /// The name of the image with a tag for its content, or what went wrong.
    pub result: Result<String, BuildError>,
    /// The steps of the build, also of one that failed.
    pub stages: Vec<BuildStage>,
}

/// What went wrong with a build, in words without secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError(pub String);

/// A step of a build.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BuildStage {
    /// Its name.
    pub name: String,
    /// Whether its result was there already.
    pub is_cached: bool,
    /// When it began.
    pub started: Option<Time>,
    /// When it ended.
    pub finished: Option<Time>,
    /// What went wrong.
    pub error: Option<String>,
}

/// The names of an image that was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageNames {
    /// Its name with a tag for its content.
    pub tagged: String,
    /// The name that other images and commands on this machine use.
    pub local: String,
    /// The name that deployments use.
    pub deployed: String,
    /// When the build began: it has all changes from before.
    pub started: Time,
}

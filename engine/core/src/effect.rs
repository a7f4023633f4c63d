//! What a step leads to, as data: work to do, objects to publish, and lines for the log.

use std::collections::BTreeSet;

use engine_model::ObjectId;

use crate::{resource::ResourceName, world::Action};

/// Everything that a step leads to. The loop writes the lines, starts the work, and publishes what changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Effects {
    /// Work to start or stop, in order.
    pub actions: Vec<Action>,
    /// Objects that may look different now.
    pub changed: BTreeSet<ObjectId>,
    /// What the log says about it, in order; the lines come before the work.
    pub lines: Vec<LogLine>,
}

/// A line for the log of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// The resource; empty for the engine itself.
    pub resource: ResourceName,
    /// The span within its log, such as `build:3`.
    pub span: String,
    /// How it is marked.
    pub kind: LineKind,
    /// The text, without the line break at its end.
    pub text: String,
}

/// How a line of the log is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// The first line of an update.
    BuildEvent,
    /// Only for those who look for a cause.
    Debug,
    /// Normal.
    Info,
    /// A warning.
    Warn,
    /// An error.
    Error,
    /// A step of something longer; the next line of the same step replaces it.
    Progress(&'static str),
}

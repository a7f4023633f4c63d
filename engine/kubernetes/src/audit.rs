//! Tells of every write to a cluster: what, to which object, why, and how it ended.

use std::sync::Arc;

use crate::{Cluster, KubernetesError, ObjectKey};

/// Who is told of writes.
pub type Sink = Arc<dyn Fn(Write) + Send + Sync>;

/// One write to a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// What was done.
    pub verb: Verb,
    /// The object.
    pub object: ObjectKey,
    /// Why.
    pub cause: String,
    /// How it ended.
    pub outcome: WriteOutcome,
}

/// What a write does to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Makes it.
    Create,
    /// Changes some of its fields.
    Patch,
    /// Applies it on the server's side.
    Apply,
    /// Replaces it as a whole.
    Replace,
    /// Deletes it.
    Delete,
}

impl Verb {
    /// The verb as the API server calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Patch => "patch",
            Self::Apply => "apply",
            Self::Replace => "update",
            Self::Delete => "delete",
        }
    }
}

/// How a write ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// The server has done it.
    Done,
    /// The server refused, or could not be reached.
    Failed(String),
    /// It was given up before an answer came; the server may have done it.
    Unknown,
}

/// A write that is under way. Dropping it tells that its end is not known.
pub(crate) struct Pending {
    sink: Option<Sink>,
    write: Option<Write>,
}

impl Pending {
    pub(crate) fn new(cluster: &Cluster, verb: Verb, object: &ObjectKey, cause: &str) -> Self {
        let (object, cause) = (object.clone(), cause.to_owned());
        let write = Write { verb, object, cause, outcome: WriteOutcome::Unknown };
        Self { sink: cluster.sink.clone(), write: Some(write) }
    }

    pub(crate) fn ended<T>(mut self, result: &Result<T, KubernetesError>) {
        if let Some(write) = &mut self.write {
            write.outcome = match result {
                Ok(_) => WriteOutcome::Done,
                Err(error) => WriteOutcome::Failed(error.to_string()),
            };
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let (Some(sink), Some(write)) = (&self.sink, self.write.take()) {
            sink(write);
        }
    }
}

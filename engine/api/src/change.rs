//! The stream of changes to objects, for watchers.

use std::sync::Arc;

use tokio::sync::broadcast::{
    self,
    error::{RecvError, TryRecvError},
};

use super::{Kind, object::Object};

/// The maximum number of changes per batch.
const BATCH: usize = 512;

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It is new.
    Added,
    /// It has other content.
    Modified,
    /// It is gone.
    Deleted,
}

/// A change of an object.
#[derive(Clone, Debug)]
pub struct Change {
    /// What.
    pub event: Event,
    /// The object as it is now, or as it was before it went.
    pub object: Arc<Object>,
    /// The version of the write; that of a deletion is newer than the object's own.
    pub version: u64,
    /// Whether a client did it, and not the engine.
    pub by_client: bool,
}

impl Change {
    /// The kind of the object.
    pub fn kind(&self) -> Kind {
        self.object.kind()
    }

    /// The name of the object.
    pub fn name(&self) -> &str {
        self.object.name()
    }
}

/// Some changes were missed; list the objects again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too slow for the changes of objects")]
pub struct Lagged;

/// Changes from some point on, in order.
#[derive(Debug)]
pub struct Changes {
    receiver: broadcast::Receiver<Change>,
}

impl Changes {
    pub(super) fn new(receiver: broadcast::Receiver<Change>) -> Self {
        Self { receiver }
    }

    /// Waits for changes; never empty. Safe to cancel: nothing is lost.
    ///
    /// # Errors
    /// If some were missed; the next call goes on with those that come after this one.
    pub async fn next(&mut self) -> Result<Vec<Change>, Lagged> {
        let first = match self.receiver.recv().await {
            Ok(change) => change,
            Err(RecvError::Lagged(_)) => return Err(self.skip()),
            // Without a store nothing will ever change again.
            Err(RecvError::Closed) => std::future::pending().await,
        };
        let mut changes = vec![first];
        while changes.len() < BATCH {
            match self.receiver.try_recv() {
                Ok(change) => changes.push(change),
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
                // What was collected so far is worth nothing once everything is listed again.
                Err(TryRecvError::Lagged(_)) => return Err(self.skip()),
            }
        }
        Ok(changes)
    }

    fn skip(&mut self) -> Lagged {
        self.receiver = self.receiver.resubscribe();
        Lagged
    }
}

//! Where the servers get log lines from.

use crate::logs::{self, Checkpoint, LogStore};

/// The log, as the servers see it.
#[derive(Clone, Debug)]
pub struct Logs(LogStore);

impl Logs {
    /// The log of an engine.
    pub fn new(store: LogStore) -> Self {
        Self(store)
    }

    /// Writes the lines from a checkpoint on as a `logList`, and tells where the next begin; nothing if there are none.
    pub fn write_list(&self, from: u64, out: &mut Vec<u8>) -> Option<u64> {
        logs::view_log_list(&self.0, Checkpoint(from), out).map(|it| it.0)
    }

    /// Waits until there are lines after a checkpoint.
    pub async fn changed(&self, from: u64) {
        // The lines themselves are read when they are sent.
        let _ = self.0.reader(Checkpoint(from)).next().await;
    }

    /// The store itself.
    pub fn store(&self) -> &LogStore {
        &self.0
    }
}

impl Default for Logs {
    fn default() -> Self {
        Self(LogStore::new(&logs::Options::default()))
    }
}

//! Batches between the watcher and its reader. The watcher never waits: what the reader has not taken yet is merged,
//! so that no more waits than files have changed.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use engine_model::TargetId;
use tokio::sync::Notify;

use super::{Batch, BatchKind};

/// A queue of batches: where the watcher puts them, and where the reader takes them. Those of one target keep their
/// order.
pub fn queue() -> (Sink, Batches) {
    let shared = Arc::new(Shared::default());
    (Sink(Arc::clone(&shared)), Batches(shared))
}

/// Where the watcher puts batches. The reader learns that it is gone.
#[derive(Debug)]
pub struct Sink(Arc<Shared>);

/// Where the reader takes batches.
#[derive(Debug)]
pub struct Batches(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    news: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    /// Targets with batches, each once, in the order in which they are taken.
    targets: VecDeque<TargetId>,
    batches: HashMap<TargetId, VecDeque<Merged>>,
    /// Whether the watcher or the reader is gone.
    is_closed: bool,
}

/// A batch, and the files in it once there was another to merge with it.
#[derive(Debug)]
struct Merged {
    batch: Batch,
    files: HashSet<PathBuf>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        self.lock().is_closed = true;
        self.news.notify_one();
    }
}

impl Sink {
    /// Adds a batch.
    pub(super) fn send(&self, batch: Batch) {
        self.0.lock().add(batch);
        self.0.news.notify_one();
    }

    /// Whether nobody takes batches any more.
    pub(super) fn is_closed(&self) -> bool {
        self.0.lock().is_closed
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Batches {
    /// The next batch; nothing when the watcher is gone and all were taken.
    pub async fn recv(&mut self) -> Option<Batch> {
        loop {
            let (batch, is_closed) = {
                let mut waiting = self.0.lock();
                (waiting.take(), waiting.is_closed)
            };
            if batch.is_some() || is_closed {
                return batch;
            }
            self.0.news.notified().await;
        }
    }

    /// The next batch, if there is one.
    pub fn try_recv(&mut self) -> Option<Batch> {
        self.0.lock().take()
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Waiting {
    fn add(&mut self, batch: Batch) {
        let waiting = self.batches.entry(batch.target.clone()).or_default();
        if waiting.is_empty() {
            self.targets.push_back(batch.target.clone());
        }
        // What was told early is told again with the burst, which is here.
        let is_changed = matches!(batch.kind, BatchKind::Changed { .. });
        let is_early = |it: &mut Merged| matches!(it.batch.kind, BatchKind::Early { .. });
        if is_changed {
            waiting.pop_back_if(is_early);
        }
        let rest = match waiting.back_mut() {
            Some(last) => last.merge(batch),
            None => Some(batch),
        };
        waiting.extend(rest.map(|batch| Merged { batch, files: HashSet::new() }));
    }

    fn take(&mut self) -> Option<Batch> {
        let target = self.targets.pop_front()?;
        let waiting = self.batches.get_mut(&target)?;
        let taken = waiting.pop_front()?.batch;
        if waiting.is_empty() {
            self.batches.remove(&target);
        } else {
            self.targets.push_back(target);
        }
        Some(taken)
    }
}

impl Merged {
    /// Takes in the next batch of the same target; hands it back if it has to wait for its own turn.
    fn merge(&mut self, next: Batch) -> Option<Batch> {
        use BatchKind::{Changed, Early, Failed, Recovered, Started};
        match (&mut self.batch.kind, next.kind) {
            (
                Changed { files, during_update },
                Changed { files: more, during_update: is_during_update },
            ) => {
                *during_update &= is_during_update;
                add_files(files, &mut self.files, more);
            }
            (Early { files }, Early { files: more }) => add_files(files, &mut self.files, more),
            (Started, Started) | (Recovered, Recovered) => {}
            (Failed { message }, Failed { message: newer }) => *message = newer,
            (_, kind) => return Some(Batch { kind, ..next }),
        }
        self.batch.at = next.at;
        None
    }
}

/// Adds files to those that are known, each once.
fn add_files(files: &mut Vec<PathBuf>, known: &mut HashSet<PathBuf>, more: Vec<PathBuf>) {
    if known.is_empty() {
        known.extend(files.iter().cloned());
    }
    files.extend(more.into_iter().filter(|it| known.insert(it.clone())));
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    fn batch(target: &str, kind: BatchKind) -> Batch {
        Batch { target: TargetId::Object(target.into()), at: SystemTime::UNIX_EPOCH, kind }
    }

    fn changed(files: &[&str], during_update: bool) -> BatchKind {
        BatchKind::Changed { files: files.iter().map(PathBuf::from).collect(), during_update }
    }

    fn early(files: &[&str]) -> BatchKind {
        BatchKind::Early { files: files.iter().map(PathBuf::from).collect() }
    }

    fn all(batches: &mut Batches) -> Vec<(String, BatchKind)> {
        std::iter::from_fn(|| batches.try_recv())
            .map(|it| (it.target.to_string(), it.kind))
            .collect()
    }

    #[test]
    fn changes_that_nobody_has_taken_are_merged_by_target() {
        let (sink, mut batches) = queue();
        for n in 0..1000 {
            let kind = changed(&["same", &n.to_string()], n > 0);
            sink.send(Batch { at: SystemTime::now(), ..batch("a", kind) });
            sink.send(batch("b", changed(&["x"], true)));
        }
        let first = batches.try_recv().expect("something has changed");
        let BatchKind::Changed { files, during_update } = &first.kind else { panic!("{first:?}") };
        assert_eq!(files.len(), 1001);
        assert_eq!(files[..3], ["same", "0", "1"].map(PathBuf::from));
        assert!(!during_update, "not all of them changed during an update");
        assert!(first.at > SystemTime::UNIX_EPOCH, "it is as late as the last of them");
        assert_eq!(all(&mut batches), [("b".to_owned(), changed(&["x"], true))]);
        sink.send(batch("a", changed(&["0"], true)));
        assert_eq!(all(&mut batches), [("a".to_owned(), changed(&["0"], true))]);
    }

    #[test]
    fn what_else_there_is_to_tell_of_a_target_keeps_its_order() {
        let failed = |it: &str| BatchKind::Failed { message: it.to_owned() };
        let (sink, mut batches) = queue();
        let sent = [
            BatchKind::Started,
            changed(&["a"], false),
            early(&["b"]),
            early(&["c", "b"]),
            changed(&["b", "c"], false),
            failed("one"),
            failed("two"),
            changed(&["d"], false),
            BatchKind::Recovered,
            early(&["e"]),
        ];
        for kind in sent {
            sink.send(batch("a", kind));
        }
        let got: Vec<_> = all(&mut batches).into_iter().map(|(_, kind)| kind).collect();
        let expected = [
            BatchKind::Started,
            changed(&["a", "b", "c"], false),
            failed("two"),
            changed(&["d"], false),
            BatchKind::Recovered,
            early(&["e"]),
        ];
        assert_eq!(got, expected);
    }

    #[tokio::test]
    async fn each_side_learns_that_the_other_is_gone() {
        let (sink, mut batches) = queue();
        sink.send(batch("a", BatchKind::Started));
        drop(sink);
        assert_eq!(batches.recv().await, Some(batch("a", BatchKind::Started)));
        assert_eq!(batches.recv().await, None);
        let (sink, batches) = queue();
        assert!(!sink.is_closed());
        drop(batches);
        assert!(sink.is_closed());
    }
}

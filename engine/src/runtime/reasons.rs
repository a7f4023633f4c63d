//! The reasons of all resources, as the loop last published them, for whoever shows them.

use std::{collections::BTreeMap, sync::Arc};

use engine_view::reason::{self, Reason, State};
use serde_json::json;
use tokio::sync::watch;

/// How many resources are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Up to date and ready.
    pub ok: usize,
    /// Not yet.
    pub pending: usize,
    /// Failed.
    pub failed: usize,
}

/// The reasons by resource, as they were published.
#[derive(Clone, Debug, Default)]
pub struct ReasonTable(BTreeMap<Arc<str>, Arc<Reason>>);

impl ReasonTable {
    /// All reasons with their root causes, sorted by name.
    pub fn all(&self) -> Vec<Reason> {
        self.0.keys().filter_map(|it| self.find(it)).collect()
    }

    /// The reason of one resource, with its root cause.
    pub fn find(&self, name: &str) -> Option<Reason> {
        reason::resolve(name, &|it| self.0.get(it).cloned())
    }

    /// What differs from an earlier table, without root causes: a change of one resource is no change of those that
    /// wait for it. Nothing stands for the reason of a resource that is gone.
    pub fn since<'a>(
        &'a self,
        earlier: &'a Self,
    ) -> impl Iterator<Item = (&'a str, Option<&'a Reason>)> {
        let changed = self.0.iter().filter(|(name, it)| earlier.0.get(*name) != Some(*it));
        let gone = earlier.0.keys().filter(|it| !self.0.contains_key(*it));
        changed.map(|(name, it)| (&**name, Some(&**it))).chain(gone.map(|it| (&**it, None)))
    }

    /// Reasons that need attention or patience, failures first, without their root causes.
    pub fn open(&self) -> Vec<&Reason> {
        let mut open: Vec<&Reason> =
            self.0.values().map(|it| &**it).filter(|it| it.state.is_open()).collect();
        open.sort_by_key(|it| it.state);
        open
    }

    /// How many resources are in which state. A Tiltfile counts only if it failed.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for reason in self.0.values() {
            match reason.state {
                State::Failed => counts.failed += 1,
                _ if reason.is_tiltfile => {}
                State::Ok => counts.ok += 1,
                State::Waiting | State::Updating | State::NotReady => counts.pending += 1,
                State::Idle | State::Disabled => {}
            }
        }
        counts
    }
}

impl FromIterator<Reason> for ReasonTable {
    fn from_iter<I: IntoIterator<Item = Reason>>(reasons: I) -> Self {
        Self(reasons.into_iter().map(|it| (it.resource.as_str().into(), Arc::new(it))).collect())
    }
}

/// Where the loop publishes reasons; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Reasons(Arc<watch::Sender<ReasonTable>>);

impl Reasons {
    /// The reasons of now.
    pub fn table(&self) -> ReasonTable {
        self.0.borrow().clone()
    }

    /// The reasons for a reader that has not seen any.
    pub fn unseen(&self) -> UnseenReasons {
        UnseenReasons { published: self.subscribe(), seen: ReasonTable::default() }
    }

    /// The reasons as they change.
    pub fn subscribe(&self) -> watch::Receiver<ReasonTable> {
        self.0.subscribe()
    }

    /// Publishes what is known of some resources now; those without a reason are gone.
    pub(crate) fn publish(&self, changes: impl IntoIterator<Item = (String, Option<Reason>)>) {
        self.0.send_if_modified(|table| {
            let mut is_modified = false;
            for (name, reason) in changes {
                is_modified |= match reason {
                    None => table.0.remove(&*name).is_some(),
                    Some(reason) if table.0.get(&*name).is_some_and(|it| **it == reason) => false,
                    Some(reason) => {
                        table.0.insert(name.into(), Arc::new(reason));
                        true
                    }
                };
            }
            is_modified
        });
    }
}

/// The reasons as one reader has seen them.
#[derive(Debug)]
pub struct UnseenReasons {
    published: watch::Receiver<ReasonTable>,
    seen: ReasonTable,
}

impl UnseenReasons {
    /// Waits until there is something that was not seen.
    pub async fn changed(&mut self) {
        if self.published.changed().await.is_err() {
            // Nothing is published any more.
            std::future::pending::<()>().await;
        }
    }

    /// What was not seen, as JSON. What is gone has no state.
    pub fn take(&mut self) -> Vec<String> {
        let now = self.published.borrow_and_update().clone();
        let shown = now.since(&self.seen).map(|(name, reason)| match reason {
            Some(reason) => json!(reason).to_string(),
            None => json!({"resource": name, "state": null}).to_string(),
        });
        let shown = shown.collect();
        self.seen = now;
        shown
    }

    /// Forgets what was seen.
    pub fn forget(&mut self) {
        self.seen = ReasonTable::default();
    }
}

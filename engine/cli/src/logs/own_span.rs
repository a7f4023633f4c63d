//! Which segments are about updates that somebody has asked for, and not about those before them.

use std::collections::HashSet;

/// What spans of updates begin with.
const UPDATES: [&str; 2] = ["build:", "tiltfile:"];

/// The updates that begin after a point in time.
#[derive(Debug, Clone, Default)]
pub(crate) struct OwnSpan {
    /// Lines before this are about something else, in microseconds since 1970.
    pub(super) since: u64,
    /// The spans of the updates that had begun before.
    older: HashSet<String>,
    /// The resources whose own updates have begun.
    begun: HashSet<String>,
}

impl OwnSpan {
    /// The updates that begin after a time (in microseconds since 1970), when these had begun before.
    pub(crate) fn new(since: u64, older: impl Iterator<Item = String>) -> Self {
        Self { since, older: older.collect(), begun: HashSet::new() }
    }

    /// Whether a segment belongs to an own update, or comes after its beginning.
    pub(super) fn admits(&mut self, resource: &str, span: &str) -> bool {
        if self.begun.contains(resource) {
            return true;
        }
        let is_own = UPDATES.iter().any(|it| span.starts_with(it)) && !self.older.contains(span);
        if is_own {
            self.begun.insert(resource.to_owned());
        }
        is_own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_earlier_updates_and_servers_are_left_out() {
        let mut own = OwnSpan::new(0, ["build:1", "build:2"].map(str::to_owned).into_iter());
        let admitted = [
            ("web", "build:2"),
            ("web", "cmd:web:update"),
            ("web", "localserve:1"),
            ("web", "build:3"),
            ("web", "cmd:web:update"),
            ("db", "cmd:db:update"),
            ("db", "build:4"),
        ]
        .map(|(resource, span)| own.admits(resource, span));
        assert_eq!(admitted, [false, false, false, true, true, false, true]);
    }
}

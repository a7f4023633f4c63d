//! How long a command that was asked to end may take, and what is said meanwhile.

use std::time::Duration;

use tokio::time::Instant;

/// What happens while a command takes its time to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notice {
    /// It has until the end of the grace.
    Waiting,
    /// It still has some time.
    StillWaiting,
    /// It is killed.
    TimeIsUp,
}

const NOTICES: [(Duration, Notice); 3] = [
    (Duration::from_millis(1500), Notice::Waiting),
    (Duration::from_secs(10), Notice::StillWaiting),
    (Duration::from_secs(30), Notice::TimeIsUp),
];

impl Notice {
    /// What the log says.
    pub(super) fn text(self, pid: i32) -> String {
        match self {
            Self::Waiting => format!("Waiting 30s for process to exit... (pid: {pid})"),
            Self::StillWaiting => format!("Still waiting on exit... (pid: {pid})"),
            Self::TimeIsUp => format!("Time is up! Sending {pid} a kill signal"),
        }
    }
}

/// Where a command is on its way to its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeline {
    since: Instant,
    n_given: usize,
}

impl Timeline {
    pub(super) fn new(since: Instant) -> Self {
        Self { since, n_given: 0 }
    }

    /// What comes next, and when; nothing after the last notice.
    pub(super) fn next(&self) -> Option<(Instant, Notice)> {
        NOTICES.get(self.n_given).map(|(after, notice)| (self.since + *after, *notice))
    }

    /// The notice was given.
    pub(super) fn advance(&mut self) {
        self.n_given += 1;
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_stop_takes_up_to_thirty_seconds() {
        let since = Instant::now();
        let mut timeline = Timeline::new(since);
        let mut text = String::new();
        while let Some((at, notice)) = timeline.next() {
            text.push_str(&format!("{:?}: {}\n", at - since, notice.text(42)));
            timeline.advance();
        }
        expect![[r#"
            1.5s: Waiting 30s for process to exit... (pid: 42)
            10s: Still waiting on exit... (pid: 42)
            30s: Time is up! Sending 42 a kill signal
        "#]]
        .assert_eq(&text);
    }
}

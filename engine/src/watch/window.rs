//! Decides how long a batch of changes waits for more. Time is an argument; nothing here sleeps.
//!
//! Tilt waits 200 ms after every event. Most edits are one save of one file, which needs almost
//! no wait; a checkout, a formatter or a code generator needs a long one. The window starts short
//! and grows with the pauses and the age of the burst, so that a burst of any length ends up in few
//! batches.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

/// The wait after an isolated save: an editor's events of one save follow each other within a
/// fraction of a millisecond, so two milliseconds are ample and cannot be felt.
const QUIET: Duration = Duration::from_millis(2);

/// The wait while a file is gone: some editors remove a file before they write it anew, and
/// nobody waits for the effect of a removal.
const QUIET_AFTER_REMOVAL: Duration = Duration::from_millis(10);

/// The longest wait while only few files change, so that saving again and again stays quick.
const QUIET_FEW: Duration = Duration::from_millis(10);

/// The longest wait while many files change: longer than the pauses of `git checkout`, shorter
/// than what Tilt always waits.
const QUIET_MANY: Duration = Duration::from_millis(150);

/// More files than an editor touches in one save (the file, a backup, a probe, a swap file).
const FEW: usize = 4;

/// A burst has ended when nothing was seen for so long; it is longer than every wait.
const CALM: Duration = Duration::from_millis(200);

/// How long a file that is being written may hold back a batch until its writer closes it.
const UNCLOSED: Duration = Duration::from_millis(50);

/// The longest a change waits in all, for directories that are never quiet.
const LONGEST: Duration = Duration::from_secs(2);

/// What happened to a file, as far as waiting is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    /// It changed, and that is all.
    Changed,
    /// Somebody writes to it and has not closed it yet.
    Writing,
    /// The same, and it may be the target's own update, whose end has to be waited for anyway.
    WritingInUpdate,
    /// Its writer closed it.
    Closed,
    /// It is gone, perhaps only to be replaced.
    Removed,
}

/// The wait of one target's batch.
#[derive(Debug, Default)]
pub(super) struct QuietWindow {
    batch: Option<Open>,
    burst: Option<Burst>,
}

/// A batch that waits for more.
#[derive(Debug)]
struct Open {
    since: Instant,
    has_removal: bool,
    /// Files that are being written, and how long each may hold back the batch.
    unclosed: HashMap<u64, Instant>,
}

/// Events without a long pause between them; a burst can outlast a batch.
#[derive(Debug)]
struct Burst {
    since: Instant,
    last: Instant,
    /// The longest time between two events since it became clear that many files change.
    pause: Duration,
    /// The first few different files.
    files: Vec<u64>,
}

impl QuietWindow {
    /// Takes note of an event; `file` tells files apart.
    pub(super) fn seen(&mut self, now: Instant, file: u64, step: Activity) {
        let burst = match &mut self.burst {
            Some(burst) if now.saturating_duration_since(burst.last) < CALM => burst,
            ended => ended.insert(Burst {
                since: now,
                last: now,
                pause: Duration::ZERO,
                files: Vec::new(),
            }),
        };
        let pause = now.saturating_duration_since(burst.last);
        burst.last = burst.last.max(now);
        if burst.files.len() <= FEW && !burst.files.contains(&file) {
            burst.files.push(file);
        }
        if burst.has_many() {
            burst.pause = burst.pause.max(pause);
        }

        let batch = self.batch.get_or_insert_with(|| Open {
            since: now,
            has_removal: false,
            unclosed: HashMap::new(),
        });
        match step {
            Activity::Changed => {}
            Activity::Writing => {
                batch.unclosed.entry(file).or_insert(now + UNCLOSED);
            }
            Activity::WritingInUpdate => {
                batch.unclosed.entry(file).or_insert(now + LONGEST);
            }
            Activity::Closed => {
                batch.unclosed.remove(&file);
            }
            Activity::Removed => {
                batch.has_removal = true;
                batch.unclosed.remove(&file);
            }
        }
    }

    /// When the batch has waited long enough, or `None` if there is no batch.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let (batch, burst) = (self.batch.as_ref()?, self.burst.as_ref()?);
        let quiet = burst.last + quiet(burst, batch.has_removal);
        let closed = batch.unclosed.values().min().copied();
        Some(closed.map_or(quiet, |closed| closed.max(quiet)).min(batch.since + LONGEST))
    }

    /// Whether many files change.
    pub(super) fn is_burst(&self) -> bool {
        self.batch.is_some() && self.burst.as_ref().is_some_and(Burst::has_many)
    }

    /// Whether somebody still writes to a file.
    pub(super) fn is_unclosed(&self, file: u64) -> bool {
        self.batch.as_ref().is_some_and(|it| it.unclosed.contains_key(&file))
    }

    /// Ends the batch; the burst goes on.
    pub(super) fn close(&mut self) {
        self.batch = None;
    }
}

impl Burst {
    fn has_many(&self) -> bool {
        self.files.len() > FEW
    }
}

/// The wait is always in proportion to what came before: to the age of the burst, and to the pauses in it if many
/// files change, which also tell how busy the machine is.
fn quiet(burst: &Burst, has_removal: bool) -> Duration {
    let shortest = if has_removal { QUIET_AFTER_REMOVAL } else { QUIET };
    let age = burst.last.saturating_duration_since(burst.since);
    if burst.has_many() {
        (age / 8).max(burst.pause * 4).clamp(QUIET_FEW, QUIET_MANY)
    } else {
        (age / 2).clamp(shortest, QUIET_FEW)
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;

    /// Runs events `(milliseconds, file, step)` and tells when batches close and how many events
    /// they hold.
    fn run(events: &[(u64, u64, Activity)]) -> Vec<(u64, usize)> {
        let start = Instant::now();
        let millis = |at: Instant| u64::try_from((at - start).as_millis()).unwrap();
        let mut window = QuietWindow::default();
        let (mut batches, mut n_events) = (Vec::new(), 0);
        for &(at, file, step) in events {
            let now = start + Duration::from_millis(at);
            if let Some(deadline) = window.deadline().filter(|&deadline| deadline <= now) {
                batches.push((millis(deadline), std::mem::take(&mut n_events)));
                window.close();
            }
            window.seen(now, file, step);
            n_events += 1;
        }
        batches.extend(window.deadline().map(|deadline| (millis(deadline), n_events)));
        batches
    }

    fn check(events: &[(u64, u64, Activity)], expected: &Expect) {
        let mut text = String::new();
        for (at, n_events) in run(events) {
            writeln!(text, "{at} ms: {n_events} events").unwrap();
        }
        expected.assert_eq(&text);
    }

    #[test]
    fn an_isolated_save_waits_two_milliseconds() {
        check(
            &[(0, 1, Activity::Writing), (0, 1, Activity::Closed), (500, 1, Activity::Changed)],
            &expect![[r#"
                2 ms: 2 events
                502 ms: 1 events
            "#]],
        );
    }

    #[test]
    fn a_file_being_written_is_waited_for_but_not_forever() {
        let closed = [(0, 1, Activity::Writing), (30, 1, Activity::Closed)];
        check(
            &closed,
            &expect![[r#"
            40 ms: 2 events
        "#]],
        );
        check(
            &[(0, 1, Activity::Writing)],
            &expect![[r#"
            50 ms: 1 events
        "#]],
        );
    }

    #[test]
    fn a_file_that_an_update_has_emptied_is_waited_for_until_it_is_filled() {
        let filled = [(0, 1, Activity::WritingInUpdate), (300, 1, Activity::Closed)];
        check(
            &filled,
            &expect![[r#"
            302 ms: 2 events
        "#]],
        );
        check(
            &[(0, 1, Activity::WritingInUpdate)],
            &expect![[r#"
            2000 ms: 1 events
        "#]],
        );
    }

    #[test]
    fn a_removed_file_gets_time_to_come_back() {
        check(
            &[(0, 1, Activity::Removed), (8, 1, Activity::Changed)],
            &expect![[r#"
            18 ms: 2 events
        "#]],
        );
    }

    #[test]
    fn saving_one_file_again_and_again_stays_quick() {
        let saves: Vec<_> = (0..5).map(|i| (i * 25, 1, Activity::Changed)).collect();
        check(
            &saves,
            &expect![[r#"
            2 ms: 1 events
            35 ms: 1 events
            60 ms: 1 events
            85 ms: 1 events
            110 ms: 1 events
        "#]],
        );
    }

    #[test]
    fn a_formatter_that_takes_its_time_gives_few_batches() {
        let files: Vec<_> = (0..100).map(|i| (i * 20, i, Activity::Changed)).collect();
        check(
            &files,
            &expect![[r#"
            2 ms: 1 events
            30 ms: 1 events
            50 ms: 1 events
            70 ms: 1 events
            2080 ms: 96 events
        "#]],
        );
    }

    #[test]
    fn a_checkout_is_one_batch() {
        let files: Vec<_> = (0..1000).map(|i| (i / 2, i, Activity::Changed)).collect();
        check(
            &files,
            &expect![[r#"
            561 ms: 1000 events
        "#]],
        );
    }

    #[test]
    fn a_file_that_never_rests_is_still_reported() {
        let writes: Vec<_> = (0..5000).map(|i| (i, 1, Activity::Writing)).collect();
        check(
            &writes,
            &expect![[r#"
            2000 ms: 2000 events
            4000 ms: 2000 events
            5009 ms: 1000 events
        "#]],
        );
    }

    proptest! {
        #[test]
        fn no_change_waits_longer_than_two_seconds_and_none_is_lost(
            pauses in proptest::collection::vec((0u64..300, 0u64..8, 0usize..4), 1..200)
        ) {
            let steps = [Activity::Changed, Activity::Writing, Activity::Closed, Activity::Removed];
            let mut at = 0;
            let events: Vec<_> = pauses
                .into_iter()
                .map(|(pause, file, step)| { at += pause; (at, file, steps[step]) })
                .collect();
            let batches = run(&events);
            let mut next = 0;
            for (closed, n_events) in batches {
                let (first, last) = (events[next].0, events[next + n_events - 1].0);
                prop_assert!(closed > last);
                prop_assert!(closed <= first + 2000);
                next += n_events;
            }
            prop_assert_eq!(next, events.len());
        }
    }
}

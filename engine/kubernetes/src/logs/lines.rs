//! Makes lines of what is read of a log, and tells none of them twice after an interruption.

use std::collections::HashMap;

use jiff::{RoundMode, Timestamp, TimestampRound, Unit};

/// How long a line may get before a part of it is told.
const LONG_LINE: usize = 1 << 16;
/// How many lines of one second are remembered one by one.
const MANY: usize = 1 << 16;
/// What a kubelet writes into the log when it cannot follow it.
const CANNOT_FOLLOW: &str = "failed to create fsnotify watcher: too many open files";
const ADVICE: &str = "Consider adjusting inotify limits: https://kind.sigs.k8s.io/docs/user/known-issues/#pod-errors-due-to-too-many-open-files";

/// The kubelet cannot follow the log.
#[derive(Debug, thiserror::Error)]
#[error("{CANNOT_FOLLOW}. {ADVICE}")]
pub(super) struct CannotFollow;

/// The lines of a log, each of which comes with its time.
#[derive(Debug)]
pub(super) struct Lines {
    since: Option<Timestamp>,
    /// The time of the newest line.
    last: Option<Timestamp>,
    /// How many lines of the second of the newest line were told, by their times.
    told: HashMap<Timestamp, u32>,
    /// The lines of that second that will come again.
    again: HashMap<Timestamp, u32>,
    /// Lines up to here come again; only used if there are too many to remember.
    again_until: Option<Timestamp>,
    /// The beginning of a line.
    open: Vec<u8>,
    /// A part of the open line was told.
    is_part_told: bool,
    n_told: u64,
}

impl Lines {
    /// A log from some time on.
    pub(super) fn new(since: Option<Timestamp>) -> Self {
        Self {
            since,
            last: None,
            told: HashMap::new(),
            again: HashMap::new(),
            again_until: None,
            open: Vec::new(),
            is_part_told: false,
            n_told: 0,
        }
    }

    /// How many lines were told.
    pub(super) fn n_told(&self) -> u64 {
        self.n_told
    }

    /// A read begins; the answer is from when on. Servers know only whole seconds, so lines may come again.
    pub(super) fn resume(&mut self) -> Option<Timestamp> {
        self.open.clear();
        self.is_part_told = false;
        let Some(last) = self.last else { return self.since.map(second) };
        if self.told.len() >= MANY {
            self.again_until = Some(last);
        }
        self.again.clone_from(&self.told);
        Some(second(last))
    }

    /// More was read; the answer is what there is to tell.
    pub(super) fn feed(&mut self, mut chunk: &[u8]) -> String {
        let mut text = String::new();
        while let Some(end) = chunk.iter().position(|it| *it == b'\n') {
            self.open.extend_from_slice(&chunk[..end]);
            chunk = &chunk[end + 1..];
            let line = std::mem::take(&mut self.open);
            self.close(&line, &mut text);
            // The buffer is used again.
            self.open = line;
            self.open.clear();
        }
        self.open.extend_from_slice(chunk);
        if self.open.len() > LONG_LINE {
            let part = std::mem::take(&mut self.open);
            if let Some(told) = self.admit(&part) {
                text.push_str(&String::from_utf8_lossy(told));
            }
            self.is_part_told = true;
        }
        text
    }

    /// The read came to its end; the answer is what is left, with the end of line that is missing.
    pub(super) fn end(&mut self) -> Result<String, CannotFollow> {
        let line = std::mem::take(&mut self.open);
        if line.ends_with(CANNOT_FOLLOW.as_bytes()) {
            return Err(CannotFollow);
        }
        let mut text = String::new();
        if !line.is_empty() || self.is_part_told {
            self.close(&line, &mut text);
        }
        Ok(text)
    }

    /// A line is complete.
    fn close(&mut self, line: &[u8], text: &mut String) {
        let is_part_told = std::mem::take(&mut self.is_part_told);
        let told = if is_part_told { Some(line) } else { self.admit(line) };
        if let Some(told) = told {
            text.push_str(&String::from_utf8_lossy(told));
            text.push('\n');
        }
    }

    /// A line without its time, unless it was told before.
    fn admit<'a>(&mut self, line: &'a [u8]) -> Option<&'a [u8]> {
        let Some((time, rest)) = stamped(line) else { return Some(line) };
        if let Some(n_left) = self.again.get_mut(&time)
            && *n_left > 0
        {
            *n_left -= 1;
            return None;
        }
        if self.again_until.is_some_and(|it| time <= it) || self.since.is_some_and(|it| time < it) {
            return None;
        }
        self.remember(time);
        self.n_told += 1;
        Some(rest)
    }

    fn remember(&mut self, time: Timestamp) {
        match self.last {
            Some(last) if second(last) > second(time) => return,
            Some(last) if second(last) == second(time) => self.last = Some(last.max(time)),
            _ => {
                self.told.clear();
                self.last = Some(time);
            }
        }
        if self.told.len() < MANY {
            *self.told.entry(time).or_default() += 1;
        }
    }
}

/// The time at the beginning of a line, and the rest of it.
fn stamped(line: &[u8]) -> Option<(Timestamp, &[u8])> {
    let end = line.iter().take(40).position(|it| *it == b' ')?;
    let time = std::str::from_utf8(&line[..end]).ok()?.parse().ok()?;
    Some((time, &line[end + 1..]))
}

/// The second in which a moment is.
fn second(time: Timestamp) -> Timestamp {
    let floor = TimestampRound::new().smallest(Unit::Second).mode(RoundMode::Floor);
    time.round(floor).unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "2024-01-01T00:00:01.100000000Z a\n";
    const B: &str = "2024-01-01T00:00:01.200000000Z b\n";
    const B2: &str = "2024-01-01T00:00:01.200000000Z b2\n";
    const C: &str = "2024-01-01T00:00:02.300000000Z c\n";
    /// Written by another stream of the container, so that it comes after a line with a later time.
    const LATE: &str = "2024-01-01T00:00:01.150000000Z late\n";

    /// Each read gets a list of chunks; a read that ends with `!` was interrupted.
    fn told(reads: &[&[&str]]) -> String {
        let mut lines = Lines::new(None);
        let mut text = String::new();
        for chunks in reads {
            lines.resume();
            for chunk in chunks.iter().filter(|it| **it != "!") {
                text.push_str(&lines.feed(chunk.as_bytes()));
            }
            if chunks.last() != Some(&"!") {
                text.push_str(&lines.end().unwrap_or_else(|it| it.to_string()));
            }
        }
        text
    }

    #[test]
    fn every_line_is_told_once_through_interruptions() {
        for (reads, expected) in [
            (&[&[A, B][..]][..], "a\nb\n"),
            (&[&[A, B, "!"], &[A, B, C]], "a\nb\nc\n"),
            // Two lines of one moment, of which only one was read.
            (&[&[A, B, "!"], &[A, B, B2]], "a\nb\nb2\n"),
            (&[&[A, B, "!"], &[A, B, LATE, C]], "a\nb\nlate\nc\n"),
            (&[&[A, B, C, "!"], &[C, "!"], &[C]], "a\nb\nc\n"),
            // A part of a line is read again, whole.
            (&[&[A, "2024-01-01T00:00:01.2", "!"], &[A, B]], "a\nb\n"),
            (&[&[A, "2024-01-01T00:00:01.200000000Z b", "!"], &[A, B]], "a\nb\n"),
        ] {
            assert_eq!(told(reads), expected, "{reads:?}");
        }
    }

    #[test]
    fn a_missing_end_of_line_is_added() {
        assert_eq!(told(&[&["2024-01-01T00:00:01Z pro", "mpt"]]), "prompt\n");
        assert_eq!(told(&[&["2024-01-01T00:00:01Z \n"]]), "\n");
    }

    #[test]
    fn text_without_a_time_is_told_as_it_is() {
        assert_eq!(
            told(&[&["unable to retrieve container logs"]]),
            "unable to retrieve container logs\n"
        );
    }

    #[test]
    fn a_kubelet_that_cannot_follow_is_an_error_with_advice() {
        let said = told(&[&[A, CANNOT_FOLLOW]]);
        assert!(said.contains("Consider adjusting inotify limits"), "{said}");
    }

    #[test]
    fn reads_begin_at_whole_seconds_and_leave_out_what_was_before() {
        let since: Timestamp = "2024-01-01T00:00:01.15Z".parse().unwrap();
        let mut lines = Lines::new(Some(since));
        assert_eq!(lines.resume().unwrap().to_string(), "2024-01-01T00:00:01Z");
        assert_eq!(lines.feed(format!("{A}{B}").as_bytes()), "b\n");
    }

    #[test]
    fn a_line_without_an_end_does_not_fill_the_memory() {
        let mut lines = Lines::new(None);
        lines.resume();
        let mut text = lines.feed(b"2024-01-01T00:00:01Z ");
        for _ in 0..40 {
            text.push_str(&lines.feed(&vec![b'x'; 1 << 16]));
            assert!(lines.open.len() <= LONG_LINE + (1 << 16));
        }
        text.push_str(&lines.feed(b"\n"));
        text.push_str(&lines.feed(B.as_bytes()));
        assert_eq!(text.len(), 40 * (1 << 16) + 1 + 2);
        assert!(text.ends_with("x\nb\n"));
    }

    #[test]
    fn a_flood_within_a_second_is_remembered_by_its_last_time() {
        let mut lines = Lines::new(None);
        lines.resume();
        let line = |it: usize| format!("2024-01-01T00:00:01.{it:09}Z {it}");
        let mut flood = (0..MANY + 10).map(line).collect::<Vec<_>>().join("\n");
        flood.push('\n');
        lines.feed(flood.as_bytes());
        lines.resume();
        assert_eq!(lines.feed(flood.as_bytes()), "");
        assert_eq!(lines.feed(C.as_bytes()), "c\n");
    }
}

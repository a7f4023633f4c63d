//! Shows the log on a terminal while it is written. A terminal that is slow, or stopped, holds up nobody.

use std::{
    io::{self, Write},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use engine_api::log::{Filter, Formatter, Lines, Style};
use tokio::sync::oneshot;

use super::{
    Checkpoint, LogStore, Segment,
    reader::{Reader, SegmentBatch},
};

/// How long output is gathered after some was written: a flood of lines wakes us 200 times a second, not 50,000.
const PAUSE: Duration = Duration::from_millis(5);

/// While lines keep getting lost, that is told at most this often.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// A thread that prints the log.
#[derive(Debug)]
pub struct TerminalStream {
    store: LogStore,
    stop: oneshot::Sender<()>,
    done: mpsc::Receiver<Checkpoint>,
}

impl TerminalStream {
    /// Prints everything from a place on.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start(
        store: &LogStore,
        from: Checkpoint,
        filter: Filter,
        style: Style,
        out: impl Write + Send + 'static,
    ) -> io::Result<Self> {
        let (stop, stopped) = oneshot::channel();
        let (ended, done) = mpsc::channel();
        let printer = Terminal {
            store: store.clone(),
            reader: store.reader(from).skipping(filter.resources.iter().cloned(), filter.since),
            formatter: Formatter::new(!filter.is_one_resource(), style),
            lines: Lines::new(filter),
            text: String::new(),
            missing: Missing::default(),
            out,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        thread::Builder::new().name("terminal".to_owned()).spawn(move || {
            // A terminal that is gone needs no more text.
            if let Ok(end) = runtime.block_on(printer.run(stopped)) {
                let _ = ended.send(end);
            }
        })?;
        Ok(Self { store: store.clone(), stop, done })
    }

    /// Prints the rest and ends an unfinished line; says where the log goes on, unless that took longer than this.
    pub fn finish(self, patience: Duration) -> Option<Checkpoint> {
        self.store.flush();
        let _ = self.stop.send(());
        self.done.recv_timeout(patience).ok()
    }
}

struct Terminal<W> {
    store: LogStore,
    reader: Reader,
    lines: Lines,
    formatter: Formatter,
    text: String,
    missing: Missing,
    out: W,
}

/// Lines that were lost before they could be printed.
#[derive(Default)]
struct Missing {
    /// Those that were not told of yet.
    n_lines: u64,
    told: Option<Instant>,
}

impl Missing {
    /// Adds lines; says how many to tell of now, if any.
    fn add(&mut self, n_lines: u64, now: Instant) -> Option<u64> {
        self.n_lines += n_lines;
        let is_soon = self.told.is_some_and(|it| now < it + TELL_EVERY);
        // In a flood every batch has lost some; once one has not, the flood is over.
        if n_lines > 0 && is_soon { None } else { self.take(now) }
    }

    /// All lines that were not told of yet.
    fn take(&mut self, now: Instant) -> Option<u64> {
        let n_lines = std::mem::take(&mut self.n_lines);
        (n_lines > 0).then(|| {
            self.told = Some(now);
            n_lines
        })
    }
}

impl<W: Write> Terminal<W> {
    async fn run(mut self, mut stopped: oneshot::Receiver<()>) -> io::Result<Checkpoint> {
        loop {
            tokio::select! {
                batch = self.reader.next() => self.print(&batch),
                _ = &mut stopped => break,
            }
            while let Some(batch) = self.reader.try_next() {
                self.print(&batch);
                self.flush()?;
            }
            self.flush()?;
            if tokio::time::timeout(PAUSE, &mut stopped).await.is_ok() {
                break;
            }
        }
        while let Some(batch) = self.reader.try_next() {
            self.print(&batch);
            self.flush()?;
        }
        self.formatter.finish(&mut self.text);
        let missing = self.missing.take(Instant::now());
        self.tell_missing(missing);
        self.flush()?;
        Ok(self.reader.checkpoint())
    }

    fn print(&mut self, batch: &SegmentBatch) {
        let missing = batch.gap.as_ref().map_or(0, |it| it.of(self.lines.filter()));
        let missing = self.missing.add(missing, Instant::now());
        self.tell_missing(missing);
        let mut rest = batch.segments.as_slice();
        let first = rest.first().map_or(u64::MAX, |it| it.index);
        for note in self.store.notes_from(first) {
            let (before, after) = rest.split_at(rest.partition_point(|it| it.index <= note.after));
            let Some(noted) = before.last().filter(|it| it.index == note.after) else { continue };
            self.print_segments(before);
            if self.lines.filter().matches(noted) {
                self.formatter.finish(&mut self.text);
                self.text.push_str(&note.text);
            }
            rest = after;
        }
        self.print_segments(rest);
    }

    fn print_segments(&mut self, segments: &[Segment]) {
        let lines = self.lines.next(segments);
        self.formatter.write(&lines, &mut self.text);
    }

    fn tell_missing(&mut self, missing: Option<u64>) {
        if let Some(missing) = missing {
            self.formatter.finish(&mut self.text);
            self.text.push_str(&format!("[{missing} older lines were dropped]\n"));
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.text.is_empty() {
            return Ok(());
        }
        self.out.write_all(self.text.as_bytes())?;
        self.text.clear();
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_told_of_once_a_second_and_when_it_ends() {
        let (mut missing, start) = (Missing::default(), Instant::now());
        let mut add = |n_lines, millis| missing.add(n_lines, start + Duration::from_millis(millis));
        assert_eq!(add(0, 0), None);
        assert_eq!(add(10, 5), Some(10));
        assert_eq!([add(3, 10), add(4, 15), add(5, 900)], [None; 3]);
        assert_eq!(add(1, 1_005), Some(13));
        assert_eq!(add(2, 1_010), None);
        assert_eq!(add(0, 1_015), Some(2));
        assert_eq!(add(0, 1_020), None);
        assert_eq!(add(7, 1_025), None);
        assert_eq!(missing.take(start), Some(7));
    }
}

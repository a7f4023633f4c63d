//! Shows the log on a terminal while it is written. A terminal that is slow, or stopped, holds up nobody.

use std::{
    io::{self, Write},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use tokio::sync::oneshot;

use super::{
    Checkpoint, LogStore,
    filter::Filter,
    format::Formatter,
    lines::Lines,
    reader::{Batch, Reader},
};

/// How long output is gathered after some was written: a flood of lines wakes us 200 times a second, not 50,000.
const PAUSE: Duration = Duration::from_millis(5);

/// A thread that prints the log.
#[derive(Debug)]
pub struct TerminalStream {
    store: LogStore,
    stop: oneshot::Sender<()>,
    done: mpsc::Receiver<()>,
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
        out: impl Write + Send + 'static,
    ) -> io::Result<Self> {
        let (stop, stopped) = oneshot::channel();
        let (ended, done) = mpsc::channel();
        let printer = Terminal {
            reader: store.reader(from).skipping(filter.resources.iter().cloned(), filter.since),
            formatter: Formatter::new(!filter.is_one_resource()),
            lines: Lines::new(filter),
            text: String::new(),
            out,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        thread::Builder::new().name("terminal".to_owned()).spawn(move || {
            // A terminal that is gone needs no more text.
            let _ = runtime.block_on(printer.run(stopped));
            drop(ended);
        })?;
        Ok(Self { store: store.clone(), stop, done })
    }

    /// Prints the rest, ends an unfinished line, and says whether all that took no longer than this.
    #[must_use]
    pub fn finish(self, patience: Duration) -> bool {
        self.store.flush();
        let _ = self.stop.send(());
        self.done.recv_timeout(patience) == Err(RecvTimeoutError::Disconnected)
    }
}

struct Terminal<W> {
    reader: Reader,
    lines: Lines,
    formatter: Formatter,
    text: String,
    out: W,
}

impl<W: Write> Terminal<W> {
    async fn run(mut self, mut stopped: oneshot::Receiver<()>) -> io::Result<()> {
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
        self.flush()
    }

    fn print(&mut self, batch: &Batch) {
        if let Some(gap) = &batch.gap {
            let missing = gap.of(self.lines.filter());
            if missing > 0 {
                self.formatter.finish(&mut self.text);
                self.text.push_str(&format!("[{missing} older lines are not kept anymore]\n"));
            }
        }
        let lines = self.lines.next(&batch.segments);
        self.formatter.write(&lines, &mut self.text);
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

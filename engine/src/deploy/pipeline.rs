//! The log of an update that builds and deploys: numbered steps, their times, and what they say.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use super::commands::Output;
use crate::logs::{Fields, Level, LogWriter};

/// What stands before everything that a step says.
pub const INDENT: &str = "     ";

/// The steps of one update. Steps may run at the same time; each has its own handle.
#[derive(Debug)]
pub struct Pipeline {
    log: LogWriter,
    n_steps: usize,
    started: Instant,
    steps: Mutex<Vec<Record>>,
}

#[derive(Debug)]
struct Record {
    name: String,
    took: Duration,
}

/// One step while it runs.
#[derive(Debug)]
pub struct Step {
    pipeline: Arc<Pipeline>,
    at: usize,
    started: Instant,
    /// Stands before the lines of a step that has others beside it.
    mark: String,
}

impl Pipeline {
    /// A pipeline of so many steps.
    pub fn new(log: LogWriter, n_steps: usize) -> Arc<Self> {
        Arc::new(Self { log, n_steps, started: Instant::now(), steps: Mutex::default() })
    }

    /// The log it writes to.
    pub fn log(&self) -> &LogWriter {
        &self.log
    }

    /// Begins a step. With a `mark`, its lines can be told from those of a step beside it.
    pub fn step(self: &Arc<Self>, name: &str, mark: Option<&str>) -> Step {
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        let at = steps.len();
        steps.push(Record { name: name.to_owned(), took: Duration::ZERO });
        drop(steps);
        self.log.info(&format!("STEP {}/{} — {name}", at + 1, self.n_steps));
        let mark = mark.map_or(String::new(), |it| format!("[{it}] "));
        Step { pipeline: Arc::clone(self), at, started: Instant::now(), mark }
    }

    /// Ends the update as its last step did. Of one that went well it says how long everything took.
    pub fn end<E>(&self, error: Option<E>) -> Result<(), E> {
        if let Some(error) = error {
            return Err(error);
        }
        let steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        for (at, step) in steps.iter().enumerate() {
            let (n, seconds) = (at + 1, step.took.as_secs_f64());
            self.log.info(&format!("{INDENT}Step {n} - {seconds:.2}s ({})", step.name));
        }
        let seconds = self.started.elapsed().as_secs_f64();
        self.log.info(&format!("{INDENT}DONE IN: {seconds:.2}s "));
        self.log.info("");
        Ok(())
    }
}

impl Step {
    /// Writes a message, which may have several lines.
    pub fn say(&self, message: &str) {
        self.pipeline.log.write(Level::Info, &self.indented(message));
    }

    /// Writes a message that says more about itself, such as which line it replaces.
    pub fn write_with(&self, fields: Fields, message: &str) {
        self.pipeline.log.with_fields(fields).write(Level::Info, &self.indented(message));
    }

    fn indented(&self, message: &str) -> String {
        let start = format!("{INDENT}{}", self.mark);
        let mut indented = String::with_capacity(message.len() + start.len());
        for line in message.trim_end_matches('\n').split('\n') {
            indented.extend([start.as_str(), line, "\n"]);
        }
        indented
    }

    /// Writes what a command prints, each line indented.
    pub fn output(&self) -> Output {
        let log = self.pipeline.log.clone();
        let end = log.clone();
        let start = format!("{INDENT}{}", self.mark);
        let is_at_start = AtomicBool::new(true);
        Output::new(log.level(), move |level, text| {
            let mut indented = String::with_capacity(text.len() + start.len());
            for line in text.split_inclusive('\n') {
                if is_at_start.swap(line.ends_with('\n'), Ordering::Relaxed) {
                    indented.push_str(&start);
                }
                indented.push_str(line);
            }
            log.write(level, &indented);
        })
        .into_log(end)
    }

    /// The log of the whole update, for what is not indented.
    pub fn log(&self) -> &LogWriter {
        &self.pipeline.log
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        let mut steps = self.pipeline.steps.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(step) = steps.get_mut(self.at) {
            step.took = self.started.elapsed();
        }
        drop(steps);
        self.pipeline.log.info("");
    }
}

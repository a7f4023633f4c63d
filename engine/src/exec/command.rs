//! One command of a local resource or a `Cmd` object, from start to end.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::SystemTime,
};

use engine_model::Probe;
use tokio::sync::watch;

use super::{supervision::supervise, tail::Tail};
use crate::{
    guard::Lifetime,
    logs::{Level, LogWriter},
};

/// The code of a command that was stopped.
pub(super) const KILLED: i32 = 137;

/// What to run.
#[derive(Clone, Debug)]
pub struct Run {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Where it runs.
    pub dir: PathBuf,
    /// The whole environment.
    pub env: Vec<(String, String)>,
    /// Where a program without a slash is looked up: as in Tilt, the `PATH` of the engine, and not
    /// that of the command.
    pub path: String,
    /// How it says that it is ready; it is ready when it has started, otherwise.
    pub probe: Option<Probe>,
    /// What it may leave behind.
    pub lifetime: Lifetime,
    /// Whether nothing is said about it, and only its own output is told.
    pub is_silent: bool,
}

/// Something that happened to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Its main process runs.
    Started {
        /// The main process.
        pid: u32,
        /// When it was started.
        at: SystemTime,
    },
    /// It is ready, or no longer; comes only when that has changed.
    Ready(bool),
    /// Its readiness probe failed, and this is what the probe says; comes only when that has changed.
    ProbeFailed(String),
    /// It has ended, or never started; the last event, which always comes.
    Ended(Ended),
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The main process; 0 if it never started.
    pub pid: u32,
    /// The exit code; -1 after a signal, 137 when it was stopped.
    pub exit_code: i32,
    /// Why, in Tilt's words; empty if it succeeded.
    pub reason: String,
    /// When it was started; nothing if that was not tried.
    pub started_at: Option<SystemTime>,
    /// When it ended.
    pub finished_at: SystemTime,
    /// Whether it was stopped or killed through its handle.
    pub stopped: bool,
    /// The last line that it printed; empty if it printed nothing.
    pub last_line: String,
}

/// What the owner of a command wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wish {
    Run,
    Stop,
    Kill,
}

/// A command that was started. Dropping it stops the command, and what is left of an ended server.
#[derive(Debug)]
pub struct CommandHandle {
    wish: watch::Sender<Wish>,
    gone: watch::Receiver<bool>,
}

impl CommandHandle {
    /// Asks the command, and all it has started, to end; whatever has not after a while is killed.
    pub fn stop(&self) {
        self.want(Wish::Stop);
    }

    /// Kills the command and all it has started.
    pub fn kill(&self) {
        self.want(Wish::Kill);
    }

    /// Returns when nothing is left of the command, which for a server that has ended by itself
    /// may be later than its end.
    pub async fn gone(&self) {
        // If nobody can tell any more, nobody attends it any more.
        let _ = self.gone.clone().wait_for(|it| *it).await;
    }

    fn want(&self, wish: Wish) {
        self.wish.send_if_modified(|it| {
            let is_new = *it < wish;
            *it = wish.max(*it);
            is_new
        });
    }
}

/// Starts a command; exactly one [`Event::Ended`] comes, after all output was written to the log.
///
/// A process that a finished task has left behind lives on, and what it prints is still written.
#[must_use = "a command lives as long as its handle"]
pub fn start(
    run: Run,
    log: LogWriter,
    on_event: impl Fn(Event) + Send + Sync + 'static,
) -> CommandHandle {
    let writer = log.clone();
    start_into(Some(log), run, move |level, text| writer.write(level, text), on_event)
}

/// Starts a command like [`start`], with something else than a log for what it prints.
#[must_use = "a command lives as long as its handle"]
pub fn start_with(
    run: Run,
    log: impl Fn(Level, &str) + Send + Sync + 'static,
    on_event: impl Fn(Event) + Send + Sync + 'static,
) -> CommandHandle {
    start_into(None, run, log, on_event)
}

/// Starts a command like [`start_with`], where what it prints ends up in a log, which may make it wait.
pub(crate) fn start_into(
    end: Option<LogWriter>,
    run: Run,
    log: impl Fn(Level, &str) + Send + Sync + 'static,
    on_event: impl Fn(Event) + Send + Sync + 'static,
) -> CommandHandle {
    let (wish, wishes) = watch::channel(Wish::Run);
    let (is_gone, gone) = watch::channel(false);
    let outlet = Outlet {
        log: Box::new(log),
        end,
        is_silent: run.is_silent,
        on_event: Box::new(on_event),
        has_ended: AtomicBool::new(false),
        tail: Mutex::default(),
    };
    // It ends with its command, which the handle stops.
    tokio::spawn(supervise(run, Arc::new(outlet), wishes, is_gone));
    CommandHandle { wish, gone }
}

/// Where a command's output and events go.
pub(super) struct Outlet {
    log: Box<dyn Fn(Level, &str) + Send + Sync>,
    /// The log in which everything ends up, if it is one.
    end: Option<LogWriter>,
    is_silent: bool,
    on_event: Box<dyn Fn(Event) + Send + Sync>,
    has_ended: AtomicBool,
    tail: Mutex<Tail>,
}

impl Outlet {
    /// Writes whole lines about the command.
    pub(super) fn log(&self, level: Level, text: &str) {
        if self.is_silent {
            return;
        }
        (self.log)(level, &format!("{text}\n"));
    }

    /// Tells whether the command is ready.
    pub(super) fn ready(&self, is_ready: bool) {
        (self.on_event)(Event::Ready(is_ready));
    }

    /// Reports what the readiness probe says about a command that is not ready.
    pub(super) fn probe_failed(&self, output: &str) {
        (self.on_event)(Event::ProbeFailed(output.to_owned()));
    }

    /// Writes a part of what the command prints.
    pub(super) fn print(&self, text: &str) {
        self.tail().add(text);
        (self.log)(Level::Info, text);
    }

    /// Waits until there is room for more of what the command prints.
    pub(super) async fn room(&self) {
        if let Some(log) = &self.end {
            log.room().await;
        }
    }

    /// Tells that the command runs.
    pub(super) fn started(&self, pid: u32, at: SystemTime) {
        (self.on_event)(Event::Started { pid, at });
    }

    /// Tells how the command has ended; only the first time counts.
    pub(super) fn end(&self, mut ended: Ended) {
        ended.last_line = self.tail().last_line();
        if !self.has_ended.swap(true, Ordering::Relaxed) {
            if let Some(log) = &self.end {
                log.flush();
            }
            (self.on_event)(Event::Ended(ended));
        }
    }

    fn tail(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        // Only if the runtime ended first, or something panicked.
        self.end(Ended {
            pid: 0,
            exit_code: KILLED,
            reason: "killed".to_owned(),
            started_at: None,
            finished_at: SystemTime::now(),
            stopped: false,
            last_line: String::new(),
        });
    }
}

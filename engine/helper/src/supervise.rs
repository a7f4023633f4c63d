//! The first process of a container: starts a program, restarts it when a file is touched, passes signals
//! on, and reaps whatever loses its parent.

use std::{
    ffi::OsString,
    io::{self, ErrorKind, Write},
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Command, ExitCode},
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    thread,
    time::{Duration, Instant},
};

use crate::{
    sys::{self, SIGCHLD, SIGHUP, SIGINT, SIGKILL, SIGQUIT, SIGTERM, Signals},
    watched_file::WatchedFile,
};

/// A program that is to be restarted has this long to end by itself.
const GRACE: Duration = Duration::from_secs(10);
/// While it ends, those that it left behind are looked for this often.
const TICK: Duration = Duration::from_millis(20);

/// What happens when the program ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnExit {
    /// The supervisor ends too, with the same code.
    Stop,
    /// The supervisor waits until the file is touched.
    Wait,
}

/// What is to be supervised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) watch_file: Option<PathBuf>,
    pub(crate) on_exit: OnExit,
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
}

/// Something that happened.
#[derive(Debug)]
enum Event {
    Signal(i32),
    Touched,
}

/// What the program does. It leads a group of processes with its own number.
#[derive(Debug)]
enum State {
    Runs(i32),
    /// It was asked to end, and will be started again.
    Restarts {
        group: i32,
        deadline: Instant,
    },
    Ended,
}

/// Runs the program until it has ended for good; the code is the program's.
pub(crate) fn supervise(options: &Options) -> ExitCode {
    let events = listen(options.watch_file.clone());
    sys::adopt_orphans();
    let mut supervisor = Supervisor { options, state: State::Ended, is_stopping: false };
    let code = supervisor.start().unwrap_or_else(|| supervisor.run(&events));
    ExitCode::from(code)
}

/// Two threads that live as long as the process tell of signals and of the file.
fn listen(watch_file: Option<PathBuf>) -> Receiver<Event> {
    let (sender, events) = sync_channel(16);
    // Before there is any other thread, so that no signal is delivered elsewhere.
    let signals = Signals::block();
    let touches: SyncSender<Event> = sender.clone();
    thread::spawn(move || while sender.send(Event::Signal(signals.wait())).is_ok() {});
    if let Some(path) = watch_file {
        let mut file = WatchedFile::new(&path);
        thread::spawn(move || {
            loop {
                file.wait();
                if touches.send(Event::Touched).is_err() {
                    break;
                }
            }
        });
    }
    events
}

struct Supervisor<'a> {
    options: &'a Options,
    state: State,
    /// Whether somebody wants all of it to end.
    is_stopping: bool,
}

impl Supervisor<'_> {
    fn run(&mut self, events: &Receiver<Event>) -> u8 {
        loop {
            let event = match self.state {
                State::Restarts { .. } => events.recv_timeout(TICK),
                State::Runs(_) | State::Ended => {
                    events.recv().map_err(|_| RecvTimeoutError::Disconnected)
                }
            };
            let code = match event {
                Ok(Event::Signal(SIGCHLD)) => self.reap(),
                Ok(Event::Signal(signal)) => self.pass_on(signal),
                Ok(Event::Touched) => self.restart(),
                Err(RecvTimeoutError::Timeout) => self.finish_restart(),
                Err(RecvTimeoutError::Disconnected) => Some(1),
            };
            if let Some(code) = code {
                return code;
            }
        }
    }

    /// Starts the program; the code to end with if there is nothing to start.
    fn start(&mut self) -> Option<u8> {
        let mut command = Command::new(&self.options.program);
        command.args(&self.options.args).process_group(0);
        sys::hold_back_none(&mut command);
        match command.spawn() {
            Ok(child) => {
                // Only `reap` waits for children, this one as all others.
                self.state = State::Runs(i32::try_from(child.id()).unwrap_or(i32::MAX));
                None
            }
            Err(error) => {
                let program = self.options.program.display();
                let _ = writeln!(io::stderr(), "engine-helper: {program}: {error}");
                self.ended(if error.kind() == ErrorKind::NotFound { 127 } else { 126 })
            }
        }
    }

    fn reap(&mut self) -> Option<u8> {
        let mut code = None;
        while let Some((process, status)) = sys::reap() {
            if matches!(self.state, State::Runs(program) if program == process) {
                code = self.ended(status);
            }
        }
        code.or_else(|| self.finish_restart())
    }

    /// The program has ended, or could not be started.
    fn ended(&mut self, code: u8) -> Option<u8> {
        self.state = State::Ended;
        (self.is_stopping || self.options.on_exit == OnExit::Stop).then_some(code)
    }

    fn pass_on(&mut self, signal: i32) -> Option<u8> {
        let asks_to_stop = [SIGTERM, SIGINT, SIGQUIT, SIGHUP].contains(&signal);
        self.is_stopping |= asks_to_stop;
        match self.state {
            State::Runs(group) => {
                sys::send_signal(-group, signal);
                None
            }
            // It is about to end, and will not be started again.
            State::Restarts { group, .. } if asks_to_stop => {
                self.state = State::Runs(group);
                sys::send_signal(-group, signal);
                (!sys::send_signal(group, 0)).then(|| code_of(signal))
            }
            State::Ended if asks_to_stop => Some(code_of(signal)),
            State::Restarts { .. } | State::Ended => None,
        }
    }

    /// Somebody wants the program to start anew.
    fn restart(&mut self) -> Option<u8> {
        match self.state {
            State::Runs(group) if !self.is_stopping => {
                sys::send_signal(-group, SIGTERM);
                self.state = State::Restarts { group, deadline: Instant::now() + GRACE };
                None
            }
            State::Ended => self.start(),
            // One restart serves all who asked for it.
            State::Runs(_) | State::Restarts { .. } => None,
        }
    }

    /// Starts the program again once nothing of it is left: ports and locks are free then.
    fn finish_restart(&mut self) -> Option<u8> {
        let State::Restarts { group, deadline } = self.state else { return None };
        while sys::reap().is_some() {}
        let now = Instant::now();
        // What is left after it was killed are zombies that somebody else has to reap.
        if !sys::send_signal(-group, 0) || now > deadline + GRACE {
            return self.start();
        }
        if now > deadline {
            sys::send_signal(-group, SIGKILL);
        }
        None
    }
}

/// The exit code of a process that a signal ended.
fn code_of(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}

//! What a guard does, from its first order to the end of its command.

use std::{
    io,
    os::fd::AsFd,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::signal::Signal,
    unistd,
};

use super::{
    Lifetime, NAME,
    control::{Control, Signals},
    family::Family,
    wire::{Order, Report},
};
use crate::platform::Form;

/// How long what outlives its main process, or its engine, may take to end by itself.
const GRACE: Duration = Duration::from_secs(1);

/// How soon what still lives is killed again.
const KILL_AGAIN: Duration = Duration::from_millis(10);

/// How long that goes on: what does not die of it waits for hardware, and dies when it is through.
const GIVE_UP: Duration = Duration::from_secs(5);

/// How often the portable form looks for what is left of a server.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What the guard works toward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aim {
    /// The command runs, or what it has left behind does.
    Run,
    /// The command was asked to end, and is killed at that time, if there is one.
    Stop(Option<Instant>),
    /// Nothing of it may live; given up at that time.
    Kill(Instant),
    /// What runs is no longer the guard's.
    Release,
}

/// Guards one command.
///
/// # Errors
/// If the system refuses what guards need.
pub(super) fn run(form: Form) -> io::Result<()> {
    // Neither the engine's terminal nor its process group reaches the guard from here on.
    let _ = unistd::setsid();
    form.adopt_orphans();
    form.set_process_name(NAME);
    let signals = Signals::handle()?;
    let mut control = Control::new();
    let job = loop {
        match control.next() {
            Some(Order::Start(job)) => break job,
            // The engine gave up before it began.
            Some(_) => return Ok(()),
            None if control.is_closed() => return Ok(()),
            None => control.read(),
        }
    };
    match Family::start(&job, form) {
        Ok(family) => {
            control.report(Report::Started(family.main.as_raw()));
            Keeper { form, control, signals, family, aim: Aim::Run }.keep()
        }
        Err(error) => {
            let reason = error.raw_os_error().unwrap_or(Errno::EINVAL as i32);
            control.report(Report::NotStarted(reason));
            Ok(())
        }
    }
}

struct Keeper {
    form: Form,
    control: Control,
    signals: Signals,
    family: Family,
    aim: Aim,
}

impl Keeper {
    fn keep(mut self) -> io::Result<()> {
        loop {
            if let Some(report) = self.family.reap() {
                self.control.report(report);
                self.main_ended();
            }
            if matches!(self.aim, Aim::Stop(Some(kill_at)) if kill_at <= Instant::now()) {
                self.kill();
            }
            match self.aim {
                Aim::Release => return Ok(()),
                Aim::Kill(give_up_at) if give_up_at <= Instant::now() => return Ok(()),
                Aim::Kill(_) => self.family.signal(Signal::SIGKILL),
                Aim::Run | Aim::Stop(_) => {}
            }
            if self.family.is_gone() {
                self.control.report(Report::Gone);
                return Ok(());
            }
            if self.family.has_ended && !self.form.adopts_orphans() && self.signals.take() {
                // Looking for the rest took a child, whose end is no reason to look again.
                self.end();
            }
            self.wait()?;
        }
    }

    /// The main process has ended: what may live on depends on why.
    fn main_ended(&mut self) {
        match (self.aim, self.family.lifetime) {
            (Aim::Run, Lifetime::Task) => self.aim = Aim::Release,
            (Aim::Run, Lifetime::Probe) => self.kill(),
            (Aim::Stop(None), _) => self.aim = Aim::Stop(Some(Instant::now() + GRACE)),
            _ => {}
        }
    }

    fn kill(&mut self) {
        if !matches!(self.aim, Aim::Kill(_)) {
            self.aim = Aim::Kill(Instant::now() + GIVE_UP);
        }
    }

    /// Waits until something has happened that may matter.
    fn wait(&mut self) -> io::Result<()> {
        let timeout = self.timeout();
        let is_closed = self.control.is_closed();
        let mut fds = vec![PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        if !is_closed {
            fds.push(PollFd::new(self.control.as_fd(), PollFlags::POLLIN));
        }
        fds.extend(self.family.input().map(|it| PollFd::new(it, PollFlags::POLLOUT)));
        match poll(&mut fds, timeout) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let has_orders = !is_closed && fds[1].any().unwrap_or(true);
        if self.signals.take() {
            self.end();
        }
        if has_orders {
            self.control.read();
        }
        while let Some(order) = self.control.next() {
            self.obey(order);
        }
        if has_orders && self.control.is_closed() {
            self.end();
        }
        self.family.write_input();
        Ok(())
    }

    fn timeout(&self) -> PollTimeout {
        let wait = match self.aim {
            Aim::Stop(Some(kill_at)) if !self.family.has_ended || self.form.adopts_orphans() => {
                Some(kill_at.saturating_duration_since(Instant::now()))
            }
            Aim::Kill(_) | Aim::Stop(Some(_)) => Some(KILL_AGAIN),
            Aim::Run if self.family.has_ended && !self.form.adopts_orphans() => Some(LOOK_AGAIN),
            Aim::Run | Aim::Stop(None) | Aim::Release => None,
        };
        // Rounded up, so that a deadline has passed when the wait for it is over.
        let millis = wait.map(|it| u16::try_from(it.as_millis() + 1).unwrap_or(u16::MAX));
        millis.map_or(PollTimeout::NONE, PollTimeout::from)
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Input(bytes) => self.family.feed(Some(bytes)),
            Order::EndInput => self.family.feed(None),
            Order::Stop => self.stop(None),
            Order::Kill | Order::Start(_) => self.kill(),
            Order::Release if self.aim == Aim::Run => self.aim = Aim::Release,
            Order::Release => {}
        }
    }

    /// There is no engine any more, or somebody wants the guard to end.
    fn end(&mut self) {
        match self.family.lifetime {
            Lifetime::Probe | Lifetime::Call => self.kill(),
            Lifetime::Task | Lifetime::Server => self.stop(Some(Instant::now() + GRACE)),
        }
    }

    fn stop(&mut self, kill_at: Option<Instant>) {
        if matches!(self.aim, Aim::Kill(_) | Aim::Release) {
            return;
        }
        self.family.signal(Signal::SIGTERM);
        // What is left of a command has no main process that others wait for.
        let of_rest = self.family.has_ended.then(|| Instant::now() + GRACE);
        self.aim = Aim::Stop(kill_at.or(of_rest));
    }
}

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
    launcher::Tie,
    wire::{GuardJob, GuardOrder, GuardReport},
};
use crate::platform::Form;

/// How long what outlives its main process, or its engine, may take to end by itself.
const GRACE: Duration = Duration::from_secs(1);

/// How soon what still lives is killed again.
const KILL_AGAIN: Duration = Duration::from_millis(10);

/// How long that goes on: what does not die of it waits for hardware, and dies when it is through.
pub(super) const GIVE_UP: Duration = Duration::from_secs(5);

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

/// Guards commands, one after the other, until the engine wants no more of this guard, or one of
/// them has left something.
///
/// # Errors
/// If the system refuses what guards need.
pub(super) fn run(form: Form, launcher: Tie) -> io::Result<()> {
    // Neither the engine's terminal nor its process group reaches the guard from here on.
    let _ = unistd::setsid();
    form.adopt_orphans();
    form.set_process_name(NAME);
    let mut post = Post { control: Control::new(), signals: Signals::of_guard()?, launcher };
    while let Some(job) = post.next_job()? {
        match post.control.take_outputs().and_then(|()| Family::start(job, form)) {
            Ok(family) => {
                post.control.report(GuardReport::Started(family.main.as_raw()));
                match (Keeper { form, post, family, aim: Aim::Run }).keep()? {
                    Some(free) => post = free,
                    None => break,
                }
            }
            Err(error) => {
                let reason = error.raw_os_error().unwrap_or(Errno::EINVAL as i32);
                post.control.report(GuardReport::NotStarted(reason));
            }
        }
    }
    Ok(())
}

/// Where a guard hears of what it is to do.
struct Post {
    control: Control,
    signals: Signals,
    launcher: Tie,
}

impl Post {
    /// The next command to start; nothing if there will be none.
    fn next_job(&mut self) -> io::Result<Option<GuardJob>> {
        loop {
            while let Some(order) = self.control.next() {
                // Others are about a command that has ended.
                if let GuardOrder::Start(job) = order {
                    return Ok(Some(job));
                }
            }
            let mut fds = [&self.control as &dyn AsFd, &self.launcher, &self.signals]
                .map(|it| PollFd::new(it.as_fd(), PollFlags::POLLIN));
            match poll(&mut fds, PollTimeout::NONE) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            let [has_orders, is_stranded, _] = fds.map(|it| it.any().unwrap_or(true));
            if is_stranded || self.signals.take() {
                return Ok(None);
            }
            if has_orders {
                self.control.read();
            }
            if self.control.is_closed() {
                return Ok(None);
            }
        }
    }
}

/// What has happened while the guard waited, besides signals.
struct Ready {
    has_orders: bool,
    /// There is no launcher any more.
    is_stranded: bool,
}

/// A guard while it has a command.
struct Keeper {
    form: Form,
    post: Post,
    family: Family,
    aim: Aim,
}

impl Keeper {
    /// Sees the command to its end; returns where the guard hears of the next one, if it is free.
    fn keep(mut self) -> io::Result<Option<Post>> {
        loop {
            if let Some(report) = self.family.reap() {
                self.post.control.report(report);
                self.main_ended();
            }
            if matches!(self.aim, Aim::Stop(Some(kill_at)) if kill_at <= Instant::now()) {
                self.kill();
            }
            if self.aim == Aim::Release && !self.form.adopts_orphans() {
                self.post.control.report(GuardReport::Gone);
                return Ok(None);
            }
            if self.family.is_gone() {
                let is_free = !self.post.launcher.is_cut();
                self.post.control.report(if is_free {
                    GuardReport::Free
                } else {
                    GuardReport::Gone
                });
                return Ok(is_free.then_some(self.post));
            }
            match self.aim {
                Aim::Release => return self.stay().map(|()| None),
                Aim::Kill(give_up_at) if give_up_at <= Instant::now() => return Ok(None),
                Aim::Kill(_) => self.family.signal(Signal::SIGKILL),
                Aim::Run | Aim::Stop(_) => {}
            }
            if self.family.has_ended && !self.form.adopts_orphans() && self.post.signals.take() {
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

    /// Stays with what is left of the command, which may live, also without the engine.
    ///
    /// If the guard ended, that would become the launcher's, which could not tell it from what a
    /// guard has lost that was killed.
    fn stay(mut self) -> io::Result<()> {
        self.post.launcher.note_release();
        self.post.control.report(GuardReport::Gone);
        self.post.control.close();
        while self.family.has_children {
            let mut fds = [&self.post.signals as &dyn AsFd, &self.post.launcher]
                .map(|it| PollFd::new(it.as_fd(), PollFlags::POLLIN));
            match poll(&mut fds, PollTimeout::NONE) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            let launcher_is_gone = fds[1].any().unwrap_or(true);
            if self.post.signals.take() || launcher_is_gone {
                break;
            }
            self.family.reap();
        }
        Ok(())
    }

    fn kill(&mut self) {
        if !matches!(self.aim, Aim::Kill(_)) {
            self.aim = Aim::Kill(Instant::now() + GIVE_UP);
        }
    }

    /// Waits until something has happened that may matter.
    fn wait(&mut self) -> io::Result<()> {
        let Ready { has_orders, is_stranded } = self.poll()?;
        if self.post.signals.take() {
            self.end();
        }
        if is_stranded {
            self.post.launcher.cut();
            self.post.control.report(GuardReport::Stranded);
            self.end();
        }
        if has_orders {
            self.post.control.read();
        }
        while let Some(order) = self.post.control.next() {
            self.obey(order);
        }
        if has_orders && self.post.control.is_closed() {
            self.end();
        }
        self.family.write_input();
        Ok(())
    }

    fn poll(&self) -> io::Result<Ready> {
        // What has gone is not waited for: it would wake the guard again and again.
        let engine = (!self.post.control.is_closed()).then(|| self.post.control.as_fd());
        let launcher = (!self.post.launcher.is_cut()).then(|| self.post.launcher.as_fd());
        let readable = [engine, launcher, Some(self.post.signals.as_fd())].into_iter().flatten();
        let mut fds: Vec<_> = readable.map(|it| PollFd::new(it, PollFlags::POLLIN)).collect();
        fds.extend(self.family.input().map(|it| PollFd::new(it, PollFlags::POLLOUT)));
        match poll(&mut fds, self.timeout()) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let mut ready = fds.iter().map(|it| it.any().unwrap_or(true));
        Ok(Ready {
            has_orders: engine.is_some() && ready.next() == Some(true),
            is_stranded: launcher.is_some() && ready.next() == Some(true),
        })
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

    fn obey(&mut self, order: GuardOrder) {
        match order {
            GuardOrder::Input(bytes) => self.family.feed(Some(bytes)),
            GuardOrder::EndInput => self.family.feed(None),
            GuardOrder::Stop => self.stop(None),
            GuardOrder::Kill | GuardOrder::Start(_) => self.kill(),
            GuardOrder::Release if self.aim == Aim::Run => self.aim = Aim::Release,
            GuardOrder::Release => {}
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

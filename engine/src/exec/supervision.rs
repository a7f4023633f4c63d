//! Attends one command: what is noticed of it, and what is done about it.

use std::{
    pin::Pin,
    sync::Arc,
    time::{Duration, SystemTime},
};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use super::{
    attended::{Attended, Launch},
    command::{Ended, KILLED, Outlet, Run, Wish},
    probe::ProbeWorker,
    shell_text,
    timeline::{Notice, Timeline},
};
use crate::{
    guard::{GuardOrder, GuardReport},
    logs::Level,
    platform,
};

/// How long a guard may take to end what it was told to kill, or what outlived its main process.
const PATIENCE: Duration = Duration::from_secs(3);

/// Runs a command from its start until nothing of it is left.
pub(super) async fn supervise(
    run: Run,
    outlet: Arc<Outlet>,
    wishes: watch::Receiver<Wish>,
    is_gone: watch::Sender<bool>,
) {
    match begin(run, &outlet, wishes, is_gone).await {
        Ok(supervision) => supervision.attend().await,
        Err(ended) => outlet.end(ended),
    }
}

/// Starts the command and its probe. What only the start needs, such as the environment, is dropped.
async fn begin(
    run: Run,
    outlet: &Arc<Outlet>,
    wishes: watch::Receiver<Wish>,
    is_gone: watch::Sender<bool>,
) -> Result<Supervision, Ended> {
    let failed = |reason: String, started_at| Ended {
        pid: 0,
        exit_code: 1,
        reason,
        started_at,
        finished_at: SystemTime::now(),
        stopped: false,
        last_line: String::new(),
    };
    let probe = run.probe.as_ref().map(ProbeWorker::new).transpose().map_err(|error| {
        let reason = format!("Invalid readiness probe: {error}");
        outlet.log(Level::Error, &reason);
        failed(reason, None)
    })?;
    let started_at = SystemTime::now();
    let name = shell_text(&run.argv);
    outlet.log(Level::Info, &format!("Running cmd: {name}"));
    if run.argv.is_empty() {
        outlet.log(Level::Error, "\"\" invalid cmd: empty cmd");
        return Err(failed("invalid cmd: empty cmd".to_owned(), Some(started_at)));
    }
    let launch = Launch {
        argv: &run.argv,
        dir: Some(&run.dir),
        env: Some(&run.env),
        path: &run.path,
        lifetime: run.lifetime,
    };
    let command = Attended::launch(launch).await.map_err(|error| {
        outlet.log(Level::Error, &format!("{name} failed to start: {error}"));
        failed(format!("failed to start: {error}"), Some(started_at))
    })?;
    outlet.started(command.pid.unsigned_abs(), started_at);
    let probing = probe.map(|it| Box::pin(it.run(Arc::clone(outlet))) as Probing);
    if probing.is_none() {
        outlet.ready(true);
    }
    Ok(Supervision {
        outlet: Arc::clone(outlet),
        command,
        name,
        started_at,
        wishes: Some(wishes),
        is_gone: Some(is_gone),
        probing,
        stage: Stage::Running,
        mishap: None,
    })
}

type Probing = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Where a command is.
#[derive(Clone, Copy, Debug)]
enum Stage {
    Running,
    /// It was asked to end.
    Stopping(Timeline),
    /// It is being killed, or the rest of it, and given up at that time.
    Ending(Instant),
    /// Its end was announced; what it left behind may live.
    Ended,
}

/// What the engine notices of a command.
enum Seen {
    Output,
    Report(Option<GuardReport>),
    Wish(Wish),
    Time,
    ProbeEnded,
}

/// A command that runs, and what is to become of it.
struct Supervision {
    outlet: Arc<Outlet>,
    command: Attended,
    name: String,
    started_at: SystemTime,
    /// `None` once the handle was dropped.
    wishes: Option<watch::Receiver<Wish>>,
    /// `None` once the guard has gone.
    is_gone: Option<watch::Sender<bool>>,
    probing: Option<Probing>,
    stage: Stage,
    /// Why the command has to end, if neither it nor its owner is the reason.
    mishap: Option<String>,
}

impl Supervision {
    /// Attends the command until nothing of it is left, and nobody prints any more.
    async fn attend(mut self) {
        while self.is_gone.is_some() || !self.command.output.is_closed() {
            match self.next().await {
                Seen::Output => self.command.output.forward(|it| self.outlet.print(it)),
                Seen::Report(Some(report)) => self.reported(report),
                Seen::Report(None) => self.guard_ended(),
                Seen::Wish(wish) => self.wish(wish),
                Seen::Time => self.time_passed(),
                Seen::ProbeEnded => self.probing = None,
            }
        }
    }

    async fn next(&mut self) -> Seen {
        let deadline = match &self.stage {
            Stage::Stopping(timeline) => timeline.next().map(|(at, _)| at),
            Stage::Ending(at) => Some(*at),
            Stage::Running | Stage::Ended => None,
        };
        let Attended { guard, output, .. } = &mut self.command;
        let readable = async {
            self.outlet.room().await;
            output.readable().await;
        };
        tokio::select! {
            () = readable, if !output.is_closed() => Seen::Output,
            report = guard.report(), if self.is_gone.is_some() => Seen::Report(report),
            wish = next_wish(&mut self.wishes) => Seen::Wish(wish),
            () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => Seen::Time,
            () = probe(&mut self.probing) => Seen::ProbeEnded,
        }
    }

    fn reported(&mut self, report: GuardReport) {
        let (exit_code, reason) = match report {
            GuardReport::Exited(0) => (0, String::new()),
            GuardReport::Exited(code) => (code, format!("exit status {code}")),
            GuardReport::Signaled { signal, core_dumped } => {
                let suffix = if core_dumped { " (core dumped)" } else { "" };
                (-1, format!("signal: {}{suffix}", platform::signal_text(signal)))
            }
            GuardReport::Lost(_) | GuardReport::Stranded => return self.struck(report),
            GuardReport::Free | GuardReport::Gone => return self.guard_ended(),
            GuardReport::Started(_) | GuardReport::NotStarted(_) => return,
        };
        match self.stage {
            Stage::Running => {
                let reason = self.mishap.take().unwrap_or(reason);
                self.ended_by_itself(exit_code, reason)
            }
            Stage::Stopping(_) => self.stage = Stage::Ending(Instant::now() + PATIENCE),
            Stage::Ending(_) | Stage::Ended => {}
        }
    }

    fn ended_by_itself(&mut self, exit_code: i32, reason: String) {
        if exit_code != 0 {
            let text = format!("{} exited with exit code {exit_code}", self.name);
            self.outlet.log(Level::Debug, &text);
        }
        self.end(exit_code, reason, false);
    }

    /// Announces the end, with all output before it.
    fn end(&mut self, exit_code: i32, reason: String, stopped: bool) {
        if matches!(self.stage, Stage::Ended) {
            return;
        }
        self.probing = None;
        self.command.output.drain(|it| self.outlet.print(it));
        self.stage = Stage::Ended;
        self.outlet.end(Ended {
            pid: self.command.pid.unsigned_abs(),
            exit_code,
            reason,
            started_at: Some(self.started_at),
            finished_at: SystemTime::now(),
            stopped,
            last_line: String::new(),
        });
    }

    /// Something has happened to the guard; the end of the command follows.
    fn struck(&mut self, report: GuardReport) {
        if !matches!(self.stage, Stage::Running) {
            return;
        }
        self.mishap = report.mishap();
        if let Some(mishap) = &self.mishap {
            self.outlet.log(Level::Error, &format!("Stopping {}: {mishap}", self.name));
        }
        if matches!(report, GuardReport::Lost(_)) {
            // Where orphans are not adopted, the group is all that can be found.
            let _ = killpg(Pid::from_raw(self.command.pid), Signal::SIGKILL);
        }
    }

    /// The guard has gone: after its work is done, or because somebody killed it.
    fn guard_ended(&mut self) {
        let was_asked = matches!(self.stage, Stage::Stopping(_) | Stage::Ending(_));
        if matches!(self.stage, Stage::Running) && self.mishap.is_none() {
            // The launcher has gone as well, and nobody else can end what has lost its guard.
            let _ = killpg(Pid::from_raw(self.command.pid), Signal::SIGKILL);
        }
        self.give_up(was_asked);
    }

    /// Nothing is left of the command, or nothing more can be done about it.
    fn give_up(&mut self, stopped: bool) {
        let reason = self.mishap.take().unwrap_or_else(|| "killed".to_owned());
        self.end(KILLED, reason, stopped);
        if let Some(is_gone) = self.is_gone.take() {
            // Nobody may wait.
            let _ = is_gone.send(true);
        }
    }

    fn wish(&mut self, wish: Wish) {
        match (wish, self.stage) {
            (Wish::Run, _) | (Wish::Stop, Stage::Stopping(_) | Stage::Ending(_)) => {}
            (Wish::Stop, Stage::Running) => {
                let text = format!("About to gracefully shut down process {}", self.command.pid);
                self.outlet.log(Level::Debug, &text);
                self.probing = None;
                self.command.guard.order(&GuardOrder::Stop);
                self.stage = Stage::Stopping(Timeline::new(Instant::now()));
            }
            (Wish::Stop, Stage::Ended) => self.command.guard.order(&GuardOrder::Stop),
            (Wish::Kill, Stage::Ended) => self.command.guard.order(&GuardOrder::Kill),
            (Wish::Kill, _) => self.kill(),
        }
    }

    fn kill(&mut self) {
        self.probing = None;
        self.command.guard.order(&GuardOrder::Kill);
        self.stage = Stage::Ending(Instant::now() + PATIENCE);
    }

    fn time_passed(&mut self) {
        match &mut self.stage {
            Stage::Stopping(timeline) => {
                let Some((_, notice)) = timeline.next() else { return };
                timeline.advance();
                self.outlet.log(Level::Info, &notice.text(self.command.pid));
                if notice == Notice::TimeIsUp {
                    self.kill();
                }
            }
            Stage::Ending(_) => self.give_up(true),
            Stage::Running | Stage::Ended => {}
        }
    }
}

/// The next thing the owner wants; dropping the handle is a wish to stop.
async fn next_wish(wishes: &mut Option<watch::Receiver<Wish>>) -> Wish {
    let Some(receiver) = wishes else { return std::future::pending().await };
    match receiver.changed().await {
        Ok(()) => *receiver.borrow_and_update(),
        Err(_) => {
            *wishes = None;
            Wish::Stop
        }
    }
}

async fn probe(probing: &mut Option<Probing>) {
    match probing {
        Some(probing) => probing.await,
        None => std::future::pending().await,
    }
}

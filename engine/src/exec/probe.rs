//! Readiness probes: when they are tried, and what their answers mean.

use std::{sync::Arc, time::Duration};

use engine_formats::golang::url::UrlError;
use engine_model::Probe;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::command::Outlet;
use crate::logs::Level;

mod dial;
mod exec;
mod http;
mod redirect;
mod tls;

/// A probe that cannot be tried.
#[derive(Debug, thiserror::Error)]
pub(super) enum InvalidProbe {
    /// No port has this number.
    #[error("port number out of range: {0}")]
    Port(i32),
    /// The path is none.
    #[error(transparent)]
    Path(#[from] UrlError),
    /// It says nothing about what to try.
    #[error("unsupported probe type")]
    Unsupported,
}

/// What a try has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Success,
    /// As good as success.
    Warning,
    Failure,
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Warning => "warning",
            Self::Failure => "failure",
        }
    }
}

/// A verdict with what there is to say about it; nothing if the try itself failed.
type Answer = Option<(Verdict, String)>;

/// What is tried.
#[derive(Debug)]
enum Action {
    Exec(Vec<String>),
    HttpGet(Box<http::HttpTarget>),
    TcpSocket { host: String, port: u16 },
}

impl Action {
    fn new(probe: &Probe) -> Result<Self, InvalidProbe> {
        if let Some(exec) = &probe.exec {
            let is_empty = exec.command.is_empty();
            return if is_empty {
                Err(InvalidProbe::Unsupported)
            } else {
                Ok(Self::Exec(exec.command.clone()))
            };
        }
        if let Some(get) = &probe.http_get {
            return Ok(Self::HttpGet(Box::new(http::HttpTarget::new(get, port(get.port)?)?)));
        }
        let Some(tcp) = &probe.tcp_socket else { return Err(InvalidProbe::Unsupported) };
        Ok(Self::TcpSocket { host: host(&tcp.host), port: port(tcp.port)? })
    }

    async fn attempt(&self) -> Answer {
        match self {
            Self::Exec(argv) => exec::attempt(argv).await,
            Self::HttpGet(target) => http::attempt(target).await,
            Self::TcpSocket { host, port } => Some(match dial::dial(host, *port).await {
                Ok(_) => (Verdict::Success, String::new()),
                Err(error) => (Verdict::Failure, error.to_string()),
            }),
        }
    }
}

/// A port number, if it is one.
fn port(number: i32) -> Result<u16, InvalidProbe> {
    u16::try_from(number).ok().filter(|it| *it != 0).ok_or(InvalidProbe::Port(number))
}

/// The host to ask; this machine by default.
fn host(name: &str) -> String {
    if name.is_empty() { "localhost".to_owned() } else { name.to_owned() }
}

/// Tries a probe again and again.
#[derive(Debug)]
pub(super) struct ProbeWorker {
    action: Action,
    initial_delay: Duration,
    period: Duration,
    timeout: Duration,
    tally: Tally,
}

impl ProbeWorker {
    /// A worker with the defaults of Tilt for what the probe leaves open.
    ///
    /// # Errors
    /// If the probe cannot be tried at all.
    pub(super) fn new(probe: &Probe) -> Result<Self, InvalidProbe> {
        let seconds = |it: i32, default: u64| {
            Duration::from_secs(u64::try_from(it).ok().filter(|it| *it > 0).unwrap_or(default))
        };
        let times =
            |it: i32, default: u32| u32::try_from(it).ok().filter(|it| *it > 0).unwrap_or(default);
        Ok(Self {
            action: Action::new(probe)?,
            initial_delay: seconds(probe.initial_delay_seconds, 0),
            period: seconds(probe.period_seconds, 10),
            timeout: seconds(probe.timeout_seconds, 1),
            tally: Tally {
                successes_needed: times(probe.success_threshold, 1),
                failures_needed: times(probe.failure_threshold, 3),
                last: None,
                n_same: 0,
                status: None,
            },
        })
    }

    /// Tries until it is dropped, and tells when readiness has changed.
    pub(super) async fn run(mut self, outlet: Arc<Outlet>) {
        sleep(self.initial_delay).await;
        let mut ticks = interval(self.period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let (mut was_ready, mut reported) = (false, String::new());
        loop {
            ticks.tick().await;
            let answer = timeout(self.timeout, self.action.attempt()).await;
            let answer = answer.unwrap_or_else(|_| Some((Verdict::Failure, String::new())));
            let Some((verdict, output)) = answer else { continue };
            let has_changed = self.tally.count(verdict);
            log(&outlet, verdict, has_changed, &output);
            let is_ready = verdict != Verdict::Failure;
            if has_changed && is_ready != was_ready {
                was_ready = is_ready;
                outlet.ready(is_ready);
            }
            if !is_ready && output != reported {
                outlet.probe_failed(&output);
                reported = output;
            }
        }
    }
}

/// Changes are told to everybody, further failures to those who want to know.
fn log(outlet: &Outlet, verdict: Verdict, has_changed: bool, output: &str) {
    let level = match (has_changed, verdict) {
        (true, Verdict::Success) => Level::Info,
        (true, Verdict::Warning | Verdict::Failure) => Level::Warn,
        (false, Verdict::Warning | Verdict::Failure) => Level::Verbose,
        (false, Verdict::Success) => return,
    };
    let name = verdict.name();
    let lines: Vec<String> =
        output.lines().map(|line| format!("[readiness probe: {name}] {line}")).collect();
    if !lines.is_empty() {
        outlet.log(level, &lines.join("\n"));
    }
}

/// Counts verdicts until there are enough of the same.
#[derive(Debug)]
struct Tally {
    successes_needed: u32,
    failures_needed: u32,
    last: Option<Verdict>,
    n_same: u32,
    status: Option<Verdict>,
}

impl Tally {
    /// Whether this verdict changes the status.
    fn count(&mut self, verdict: Verdict) -> bool {
        self.n_same = if self.last == Some(verdict) { self.n_same.saturating_add(1) } else { 1 };
        self.last = Some(verdict);
        let needed = match verdict {
            Verdict::Success | Verdict::Warning => self.successes_needed,
            Verdict::Failure => self.failures_needed,
        };
        if self.n_same < needed || self.status == Some(verdict) {
            return false;
        }
        self.status = Some(verdict);
        true
    }
}

#[cfg(test)]
mod tests;

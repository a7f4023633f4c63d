//! What `ci` waits for, and how it ends.

use engine_model::{DeployTarget, GoDuration, PodReadiness, spec::CiLimits};

use crate::{
    objects::CmdPhase,
    resource::{PodPhase, Resource, Server},
    status::RuntimeStatus,
    tiltfile::{MAIN, Tiltfile},
    time::Time,
    world::World,
};

/// How long a server must have run before `ci` believes that it stays, in microseconds. Without it, one that fails while
/// it starts would pass, and one that starts well would be ended before its first line of output.
const SERVER_SETTLES_AFTER: i64 = 250_000;

/// Whether a target comes to an end by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// It does.
    Job,
    /// It stays.
    Server,
}

/// How far a target is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetState {
    /// Nobody asked for it.
    Inactive,
    /// Its resource is switched off.
    Disabled,
    /// It will run.
    Waiting {
        /// What it waits for.
        reason: String,
    },
    /// It runs.
    Active {
        /// Since when, if it has begun.
        since: Option<Time>,
        /// Whether it can be used.
        is_ready: bool,
        /// When it last was ready.
        last_ready: Option<Time>,
    },
    /// It has ended.
    Terminated {
        /// When it started.
        since: Option<Time>,
        /// When it ended.
        at: Option<Time>,
        /// What went wrong, if anything.
        error: Option<String>,
        /// Whether it may still recover.
        grace: Grace,
    },
}

/// Whether something that failed may still recover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grace {
    /// Nobody has said that it may.
    NotApplicable,
    /// Until then.
    Tolerated(Time),
    /// It had its time.
    Exceeded,
}

impl Grace {
    /// Tilt's word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotApplicable => "NotApplicable",
            Self::Tolerated(_) => "Tolerated",
            Self::Exceeded => "Exceeded",
        }
    }

    /// What a pod gets that was deployed at that time.
    fn of(deployed: Option<Time>, period: GoDuration, now: Time) -> Self {
        let (Some(deployed), Some(period)) = (deployed, microseconds(period)) else {
            return Self::NotApplicable;
        };
        let until = Time(deployed.0.saturating_add(period));
        if until <= now { Self::Exceeded } else { Self::Tolerated(until) }
    }
}

/// A part of a resource that must be done, or ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its name, such as `web:update`.
    pub name: String,
    /// The resource, or the Tiltfile.
    pub resource: String,
    /// Whether it comes to an end by itself.
    pub kind: TargetKind,
    /// How far it is.
    pub state: TargetState,
}

/// All targets, sorted by name. Pods that fail may recover for as long as `grace` says.
pub fn targets(world: &World, grace: GoDuration, now: Time) -> Vec<Target> {
    let mut targets: Vec<Target> = world.tiltfile(MAIN).map(of_tiltfile).into_iter().collect();
    for resource in world.resources() {
        targets.extend(update_target(resource));
        targets.extend(runtime_target(resource, grace, now));
    }
    targets.sort_by(|a, b| a.name.cmp(&b.name));
    targets
}

fn of_tiltfile(tiltfile: &Tiltfile) -> Target {
    let state = if let Some(run) = &tiltfile.current {
        TargetState::Active { since: Some(run.started), is_ready: false, last_ready: None }
    } else if !tiltfile.pending.is_empty() {
        TargetState::Waiting { reason: "config-changed".to_owned() }
    } else if let Some(run) = &tiltfile.last {
        TargetState::Terminated {
            since: Some(run.started),
            at: run.ended,
            error: run.error.clone(),
            grace: Grace::NotApplicable,
        }
    } else {
        TargetState::Waiting { reason: "initial-build".to_owned() }
    };
    Target {
        name: "tiltfile:update".to_owned(),
        resource: tiltfile.name.to_string(),
        kind: TargetKind::Job,
        state,
    }
}

fn target(resource: &Resource, part: &str, kind: TargetKind, state: TargetState) -> Target {
    let state = if resource.is_disabled() { TargetState::Disabled } else { state };
    Target {
        name: format!("{}:{part}", resource.name),
        resource: resource.name.to_string(),
        kind,
        state,
    }
}

fn waiting(resource: &Resource) -> TargetState {
    let reason = resource.hold.as_ref().map_or("unknown", |it| it.reason());
    TargetState::Waiting { reason: reason.to_owned() }
}

fn update_target(resource: &Resource) -> Option<Target> {
    if resource.is_serve_only() {
        return None;
    }
    // What an update consumes is pending until it has ended.
    let is_pending = !resource.next_reason().is_empty() || resource.has_pending_changes();
    let state = if is_pending {
        waiting(resource)
    } else if let Some(update) = &resource.current {
        TargetState::Active { since: Some(update.started), is_ready: false, last_ready: None }
    } else if let Some(update) = resource.history.front() {
        TargetState::Terminated {
            since: Some(update.started),
            at: update.end.as_ref().map(|it| it.at),
            error: update.end.as_ref().and_then(|it| it.error.clone()),
            grace: Grace::NotApplicable,
        }
    } else {
        TargetState::Inactive
    };
    Some(target(resource, "update", TargetKind::Job, state))
}

fn runtime_target(resource: &Resource, grace: GoDuration, now: Time) -> Option<Target> {
    match &resource.manifest.deploy_target {
        DeployTarget::Local(target) if target.serve_cmd.is_empty() => None,
        DeployTarget::Local(_) => Some(serve_target(resource)),
        DeployTarget::Kubernetes(deployed) => {
            // Without pods there is nothing that could run.
            let is_done = resource.last_success.is_some()
                && deployed.pod_readiness == PodReadiness::Ignore
                && resource.pod.is_none();
            let kind = match deployed.pod_readiness {
                PodReadiness::Succeeded => TargetKind::Job,
                PodReadiness::None | PodReadiness::Wait | PodReadiness::Ignore => {
                    TargetKind::Server
                }
            };
            let grace = Grace::of(resource.last_success, grace, now);
            (!is_done).then(|| target(resource, "runtime", kind, pod_state(resource, grace)))
        }
        DeployTarget::Compose(_) => {
            Some(target(resource, "runtime", TargetKind::Server, service_state(resource)))
        }
    }
}

/// How far the pods of a resource are, as its newest one tells.
fn pod_state(resource: &Resource, grace: Grace) -> TargetState {
    let (since, last_ready) = (resource.last_success, resource.last_ready);
    let phase = resource.pod.as_ref().map(|it| it.phase);
    match resource.runtime_status() {
        RuntimeStatus::Ok if phase == Some(PodPhase::Succeeded) => {
            TargetState::Terminated { since, at: None, error: None, grace: Grace::NotApplicable }
        }
        RuntimeStatus::Ok => TargetState::Active { since, is_ready: true, last_ready },
        RuntimeStatus::Error => {
            let broken = resource.pod.as_ref().and_then(|it| it.broken_since);
            let error = resource.runtime_error.clone();
            TargetState::Terminated {
                since: broken.or(since),
                at: None,
                error: Some(error.unwrap_or_else(|| "unknown error".to_owned())),
                grace,
            }
        }
        RuntimeStatus::Pending if phase == Some(PodPhase::Running) => {
            TargetState::Active { since, is_ready: false, last_ready }
        }
        RuntimeStatus::Pending => {
            let reason = match &resource.pod {
                None => "waiting-for-pod",
                Some(pod) if pod.status.is_empty() => "unknown",
                Some(pod) => &pod.status,
            };
            TargetState::Waiting { reason: reason.to_owned() }
        }
        RuntimeStatus::Unknown | RuntimeStatus::NotApplicable | RuntimeStatus::None => {
            TargetState::Inactive
        }
    }
}

/// What Compose says. Services are taken for ready as long as nothing is wrong with them.
fn service_state(resource: &Resource) -> TargetState {
    let deployed = resource.last_success;
    match resource.runtime_status() {
        RuntimeStatus::Pending => waiting(resource),
        RuntimeStatus::Ok => {
            TargetState::Active { since: deployed, is_ready: true, last_ready: deployed }
        }
        RuntimeStatus::Error => {
            let error =
                resource.runtime_error.clone().unwrap_or_else(|| "unknown error".to_owned());
            let grace = Grace::NotApplicable;
            TargetState::Terminated { since: None, at: None, error: Some(error), grace }
        }
        RuntimeStatus::Unknown | RuntimeStatus::NotApplicable | RuntimeStatus::None => {
            TargetState::Inactive
        }
    }
}

fn serve_target(resource: &Resource) -> Target {
    let will_run = resource.is_auto_init() || resource.has_started_once();
    let last_ready = resource.last_ready;
    let server = resource.server.as_ref();
    let state = match server.map(|it| (&it.phase, it.is_stopping)) {
        Some((&CmdPhase::Running { since, .. }, _)) => {
            let is_ready = server.is_some_and(Server::is_ready);
            TargetState::Active { since: Some(since), is_ready, last_ready }
        }
        Some((CmdPhase::Ended { end, .. }, false)) => TargetState::Terminated {
            since: Some(end.started.unwrap_or(end.finished)),
            at: Some(end.finished),
            error: Some(format!("Process {} exited with non-zero status", end.pid)),
            grace: Grace::NotApplicable,
        },
        // Between two runs it is not ready; before the first one it waits.
        _ if resource.last_pid != 0 => {
            TargetState::Active { since: None, is_ready: false, last_ready }
        }
        _ if will_run => waiting(resource),
        _ => TargetState::Inactive,
    };
    target(resource, "serve", TargetKind::Server, state)
}

/// Whether `ci` is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Not yet; it must be asked again at this time at the latest.
    Undecided(Option<Time>),
    /// Everything is done or ready.
    Success,
    /// Something failed.
    Failure(String),
}

/// How `ci` ends, if it does now.
pub fn verdict(targets: &[Target], limits: CiLimits, started: Time, now: Time) -> Verdict {
    let mut waiting = Vec::new();
    let mut not_ready = Vec::new();
    let mut retrying = Vec::new();
    let mut deadlines = Vec::new();
    for target in targets {
        match &target.state {
            TargetState::Terminated { error: Some(_), grace: Grace::Tolerated(until), .. } => {
                retrying.push(target.name.clone());
                deadlines.push(*until);
            }
            TargetState::Terminated { error: Some(error), grace: Grace::Exceeded, .. } => {
                return Verdict::Failure(format!("exceeded grace period: {error}"));
            }
            TargetState::Terminated { error: Some(error), .. } => {
                return Verdict::Failure(error.clone());
            }
            TargetState::Waiting { reason } => waiting.push(format!("{} {reason}", target.name)),
            TargetState::Active { is_ready: false, .. } => not_ready.push(target.name.clone()),
            TargetState::Active { .. }
            | TargetState::Terminated { .. }
            | TargetState::Inactive
            | TargetState::Disabled => {}
        }
    }
    // The Tiltfile is always there; it alone says nothing.
    let is_done = waiting.is_empty() && not_ready.is_empty() && retrying.is_empty();
    if is_done && targets.len() > 1 {
        return match targets.iter().filter_map(|it| settles_at(it, now)).max() {
            None => Verdict::Success,
            at => Verdict::Undecided(at),
        };
    }
    if let Some(limit) = microseconds(limits.readiness_timeout) {
        for (target, since) in targets.iter().filter_map(unready_since) {
            let deadline = Time(since.0.saturating_add(limit));
            if now > deadline {
                return Verdict::Failure(format!(
                    "Readiness timeout after {}: target {} not ready",
                    limits.readiness_timeout, target.name
                ));
            }
            deadlines.push(deadline);
        }
    }
    if let Some(limit) = microseconds(limits.timeout) {
        let deadline = Time(started.0.saturating_add(limit));
        if now > deadline {
            let groups =
                [("waiting", &*waiting), ("not ready", &*not_ready), ("retrying", &*retrying)];
            let summary = summary(&groups);
            return Verdict::Failure(format!("Timeout after {}: {summary}", limits.timeout));
        }
        deadlines.push(deadline);
    }
    // At the deadline itself it is not over yet.
    Verdict::Undecided(deadlines.into_iter().min().map(|it| Time(it.0.saturating_add(1))))
}

fn microseconds(limit: GoDuration) -> Option<i64> {
    (limit.0 > 0).then_some(limit.0 / 1_000)
}

/// Servers that run but cannot be used, and since when.
fn unready_since(target: &Target) -> Option<(&Target, Time)> {
    if target.kind == TargetKind::Server
        && let TargetState::Active { since, is_ready: false, last_ready } = target.state
    {
        return Some((target, last_ready.or(since)?));
    }
    None
}

/// When a server that has just become ready will have run for long enough to be trusted.
fn settles_at(target: &Target, now: Time) -> Option<Time> {
    let TargetState::Active { since: Some(since), is_ready: true, .. } = target.state else {
        return None;
    };
    let settled = Time(since.0.saturating_add(SERVER_SETTLES_AFTER));
    // A clock that has been set back says nothing.
    (since <= now && settled > now).then_some(settled)
}

fn summary(groups: &[(&str, &[String])]) -> String {
    let groups = groups.iter().filter(|(_, names)| !names.is_empty());
    let texts = groups
        .map(|(group, names)| format!("{} resources {group} ({})", names.len(), names.join(",")));
    texts.collect::<Vec<_>>().join(", ")
}

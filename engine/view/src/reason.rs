//! Why a resource is in its state: one reason each, in the words that the prompt, `status` and the API share.
//!
//! A hold names what it waits for directly. [`resolve`] follows that to the root cause when somebody reads it, so that a
//! change of one resource does not change the reasons of everything that waits for it.

use std::sync::Arc;

use engine_core::{
    World,
    hold::{Hold, WaitsOn},
    objects::{CmdEnd, CmdPhase},
    resource::{Resource, Server},
    status::{RuntimeStatus, UpdateStatus},
};
use engine_model::{CmdSpec, Place, Probe, Report, Time, names, report};
use serde::Serialize;

mod deployed;
mod tiltfile;

/// A chain of holds is followed so far; holds may form a circle.
const MAX_DEPTH: usize = 16;

/// Stands for the name of the program until [`Reason::presented`].
const PROGRAM: &str = "{program}";

/// What a resource does, as people tell it apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Its update failed, or what it runs is down.
    Failed,
    /// It wants to update and cannot yet.
    Waiting,
    /// It updates.
    Updating,
    /// Its update is done, and what it runs is not ready.
    NotReady,
    /// It does not run until somebody triggers it.
    Idle,
    /// It is up to date and ready.
    Ok,
    /// It is switched off.
    Disabled,
}

impl State {
    /// Whether it needs somebody's attention or patience.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Failed | Self::Waiting | Self::Updating | Self::NotReady)
    }
}

/// What a resource waits for, and how that does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// The resource at the root of the chain.
    pub resource: String,
    /// How it does.
    pub state: State,
    /// Its headline.
    pub headline: String,
}

/// The first error that somebody can fix in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FirstError {
    /// Where it is: `file`, `line` and `column` beside the message.
    #[serde(flatten)]
    pub place: Place,
    /// What is wrong there, in one line.
    pub message: String,
}

/// Why a resource is in its state.
///
/// As JSON, fields have these names in camel case: `resource`, `state`, `headline`, `detail`, `since`, `waitsFor`,
/// `cause`, `wayOut`, `place`, `firstError`, `report`; what is not known is null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reason {
    /// The resource, or the Tiltfile.
    pub resource: String,
    /// Whether it is a Tiltfile.
    #[serde(skip)]
    pub is_tiltfile: bool,
    /// What it does.
    pub state: State,
    /// The reason in one line, without the name.
    pub headline: String,
    /// What else is known, a line each; of a Tiltfile error, the lines around its place and the calls that led there.
    pub detail: Vec<String>,
    /// Since when it is so, in UTC.
    pub since: Option<String>,
    /// The resources it waits for directly.
    pub waits_for: Vec<String>,
    /// What these wait for in the end; filled in by [`resolve`].
    pub cause: Option<Cause>,
    /// What somebody can do about it.
    pub way_out: Option<String>,
    /// Where the problem is, if it is in a file.
    pub place: Option<Place>,
    /// The first error in a file.
    pub first_error: Option<FirstError>,
    /// Why a Tiltfile failed, as data: `text`, `headline`, `more`, `code`, `place`, `excerpt`, `stack`, `help`.
    pub report: Option<Box<Report>>,
}

serde_json::derived_to_json!(Reason);

impl Reason {
    /// A reason that has no more to say than this.
    pub fn new(resource: &str, state: State, headline: impl Into<String>) -> Self {
        Self {
            resource: resource.to_owned(),
            is_tiltfile: false,
            state,
            headline: one_line(&headline.into()),
            detail: Vec::new(),
            since: None,
            waits_for: Vec::new(),
            cause: None,
            way_out: None,
            place: None,
            first_error: None,
            report: None,
        }
    }

    /// The same, with commands that begin with the name by which people call the program, and texts as `edit` leaves them.
    #[must_use]
    pub fn presented(mut self, program: &str, edit: impl Fn(&str) -> String) -> Self {
        self.headline = edit(&self.headline);
        for line in &mut self.detail {
            *line = edit(line);
        }
        self.way_out = self.way_out.map(|it| edit(&it.replace(PROGRAM, program)));
        if let Some(first) = &mut self.first_error {
            first.message = edit(&first.message);
        }
        self.report = self.report.map(|it| Box::new(it.edited(&edit)));
        self
    }

    fn since(mut self, since: Option<Time>) -> Self {
        self.since = since.map(crate::time::micro);
        self
    }

    fn detail(mut self, line: impl Into<String>) -> Self {
        self.detail.extend(line.into().lines().map(str::to_owned));
        self
    }

    fn way_out(mut self, way_out: impl Into<String>) -> Self {
        self.way_out = Some(way_out.into());
        self
    }
}

/// The reason of a resource with what it waits for in the end; `find` answers what [`reason`] said last.
pub fn resolve(name: &str, find: &dyn Fn(&str) -> Option<Arc<Reason>>) -> Option<Reason> {
    let mut found = Arc::unwrap_or_clone(find(name)?);
    let Some(direct) = blocker(&found, find) else { return Some(found) };
    let mut root = Arc::clone(&direct);
    for _ in 0..MAX_DEPTH {
        match blocker(&root, find).filter(|it| it.resource != name) {
            Some(next) => root = next,
            None => break,
        }
    }
    let via = if root.resource == direct.resource {
        String::new()
    } else {
        format!(", which waits for {}", root.resource)
    };
    let names_only = found.headline == format!("waiting for {}", found.waits_for.join(", "));
    if names_only && root.state != State::Ok {
        found.headline = format!("waiting for {}{via}: {}", direct.resource, root.headline);
    } else if root.state == State::Failed {
        found.headline = format!("{}: {}", found.headline, root.headline);
    }
    let Reason { resource, state, headline, way_out, .. } = Arc::unwrap_or_clone(root);
    found.way_out = found.way_out.or(way_out);
    found.cause = Some(Cause { resource, state, headline });
    Some(found)
}

/// What a resource waits for: whatever has failed keeps it waiting, else the first one does.
fn blocker(reason: &Reason, find: &dyn Fn(&str) -> Option<Arc<Reason>>) -> Option<Arc<Reason>> {
    let mut found: Vec<Arc<Reason>> = reason.waits_for.iter().filter_map(|it| find(it)).collect();
    found.sort_by_key(|it| it.state != State::Failed);
    found.into_iter().next()
}

/// Why a resource or a Tiltfile is in its state, without what it waits for in the end.
pub fn reason(world: &World, name: &str) -> Option<Reason> {
    if let Some(tiltfile) = world.tiltfile(name) {
        return Some(Reason { is_tiltfile: true, ..tiltfile::of(tiltfile) });
    }
    world.resource(name).map(|it| of_resource(world, it))
}

fn of_resource(world: &World, resource: &Resource) -> Reason {
    let name = &*resource.name;
    if resource.is_disabled() {
        let disabled = Reason::new(name, State::Disabled, "disabled");
        return disabled.way_out(format!("`{PROGRAM} enable {name}` enables it"));
    }
    let (update, runtime) = (resource.update_status(), resource.runtime_status());
    if let Some(current) = &resource.current {
        let headline = format!("updating: {}", current.reason);
        return Reason::new(name, State::Updating, headline).since(Some(current.started));
    }
    match (update, runtime, &resource.hold) {
        (UpdateStatus::Pending, _, Some(hold)) => of_hold(world, resource, hold),
        (UpdateStatus::Error, ..) => failed_update(resource),
        (_, RuntimeStatus::Error, _) => failed_runtime(resource),
        (UpdateStatus::Pending, ..) => {
            let headline = format!("about to update: {}", resource.next_reason());
            Reason::new(name, State::Waiting, headline).since(resource.pending_since())
        }
        (_, RuntimeStatus::Pending | RuntimeStatus::Unknown, _) => not_ready(resource),
        (UpdateStatus::None, ..) => idle(resource),
        _ if resource.service_health() == Some("unhealthy") => failed_runtime(resource),
        (UpdateStatus::Ok | UpdateStatus::NotApplicable | UpdateStatus::InProgress, ..) => {
            of_well(resource)
        }
    }
}

/// A resource that is up to date; one that somebody updates by hand may have changes.
fn of_well(resource: &Resource) -> Reason {
    let name = &*resource.name;
    let n_files = resource.pending.iter().count();
    if n_files > 0 && !resource.is_auto_on_change() {
        let files =
            if n_files == 1 { "1 file has".to_owned() } else { format!("{n_files} files have") };
        let headline = format!("{files} changed since its last update");
        return Reason::new(name, State::Ok, headline)
            .since(resource.pending_since())
            .way_out(format!("`{PROGRAM} trigger {name}` updates it"));
    }
    let headline =
        if resource.runtime_status() == RuntimeStatus::Ok { "ready" } else { "up to date" };
    Reason::new(name, State::Ok, headline).since(resource.last_ready.or(resource.last_success))
}

fn idle(resource: &Resource) -> Reason {
    let name = &*resource.name;
    let headline = if resource.is_auto_on_change() {
        "not started: starts when it is triggered or one of its files changes"
    } else {
        "not started: starts when it is triggered"
    };
    let way_out = format!("`{PROGRAM} trigger {name}` starts it");
    Reason::new(name, State::Idle, headline).way_out(way_out)
}

fn failed_update(resource: &Resource) -> Reason {
    let name = &*resource.name;
    let end = resource.history.front().and_then(|it| it.end.as_ref());
    let error = end.and_then(|it| it.error.as_deref()).unwrap_or("the update failed");
    let command = resource.local.as_ref().and_then(|it| it.update_cmd_spec.as_ref());
    let reason = match (&resource.update_cmd, command) {
        (CmdPhase::Ended { end, .. }, Some(command)) if !end.reason.is_empty() => {
            let headline = format!("`{}` failed: {}", shell_text(command), ended(end));
            with_last_line(Reason::new(name, State::Failed, headline), &end.last_line)
        }
        _ => {
            let (headline, more) = report::brief(error);
            let headline = deployed::not_brought_up(resource, error).unwrap_or(headline);
            let failed = Reason::new(name, State::Failed, headline);
            if more.is_empty() { failed } else { failed.detail(error.trim()) }
        }
    };
    let way_out = format!(
        "save one of its files or run `{PROGRAM} trigger {name}` to try again; `{PROGRAM} logs {name}` shows the output"
    );
    reason.since(end.map(|it| it.at)).way_out(way_out)
}

/// What a resource runs is down.
fn failed_runtime(resource: &Resource) -> Reason {
    let name = &*resource.name;
    if let Some(Server { phase: CmdPhase::Ended { end, .. }, .. }) = &resource.server {
        let after = end.started.map_or(String::new(), |it| {
            format!(" after {}", duration(end.finished.micros_since(it)))
        });
        let headline = match ended(end) {
            how if end.pid == 0 => format!("server {how}"),
            how => format!("server exited{after}: {how}"),
        };
        let exited = Reason::new(name, State::Failed, headline);
        return with_last_line(exited, &end.last_line).since(Some(end.finished)).way_out(format!(
            "`{PROGRAM} trigger {name}` restarts it; `{PROGRAM} logs {name}` shows the output"
        ));
    }
    let logs = format!("`{PROGRAM} logs {name}` shows the output");
    deployed::failed(resource).way_out(logs)
}

/// The update is done, and what it started is not ready.
fn not_ready(resource: &Resource) -> Reason {
    let name = &*resource.name;
    if let Some(server) = &resource.server {
        return server_not_ready(resource, server);
    }
    deployed::not_ready(resource).unwrap_or_else(|| {
        Reason::new(name, State::NotReady, "starting").since(resource.last_success)
    })
}

fn server_not_ready(resource: &Resource, server: &Server) -> Reason {
    let name = &*resource.name;
    let CmdPhase::Running { since, probe_error, .. } = &server.phase else {
        return Reason::new(name, State::NotReady, "server is starting");
    };
    let probe = resource.local.as_ref().and_then(|it| it.readiness_probe.as_ref()).map(probe_text);
    let probe = probe.unwrap_or_else(|| "readiness probe".to_owned());
    let headline = match first_line(probe_error) {
        "" => format!("server is not ready: waiting for its {probe}"),
        says => format!("server is not ready: its {probe} fails: {says}"),
    };
    let before = match resource.last_ready {
        None => "never ready so far".to_owned(),
        Some(at) => format!("last ready at {}", crate::time::seconds(at)),
    };
    Reason::new(name, State::NotReady, headline).detail(before).since(Some(*since))
}

fn of_hold(world: &World, resource: &Resource, hold: &Hold) -> Reason {
    let name = &*resource.name;
    let on: Vec<String> = hold.on().iter().filter_map(resource_of).collect();
    let (headline, way_out) = match hold {
        Hold::TiltfileReload(_) => ("waiting for the Tiltfile to load".to_owned(), None),
        Hold::WaitingForLocal(other) => (
            format!("waiting for {other}"),
            Some("allow_parallel=True lets local resources update at the same time".to_owned()),
        ),
        Hold::Unparallelizable => (
            "waiting for other updates to finish".to_owned(),
            Some("allow_parallel=True lets it update at the same time as others".to_owned()),
        ),
        Hold::WaitingForUncategorized(other) => (format!("waiting for {other}"), None),
        Hold::BuildingComponent(images) => {
            let images: Vec<&str> = images.iter().map(|it| &**it).collect();
            (
                format!("waiting for image {}, which another resource builds", images.join(", ")),
                None,
            )
        }
        Hold::WaitingForDeps(_) => (format!("waiting for {}", on.join(", ")), None),
        Hold::WaitingForCluster(cluster) => of_cluster(world, cluster),
        Hold::WaitingForDeploy => ("waiting for its containers to start".to_owned(), None),
        Hold::RebuildLoop { file, .. } => (
            format!("paused after 10 updates in a row: each one changes {file}"),
            Some(format!("edit another file or run `{PROGRAM} trigger {name}` to resume")),
        ),
    };
    let waits_for = if matches!(hold, Hold::RebuildLoop { .. }) { Vec::new() } else { on };
    let waiting = Reason::new(name, State::Waiting, headline).since(resource.pending_since());
    Reason { waits_for, way_out, ..waiting }
}

fn of_cluster(world: &World, cluster: &str) -> (String, Option<String>) {
    if cluster == names::DOCKER {
        let error = world.docker().error().map(first_line);
        let says = error.map_or(String::new(), |it| format!(": {it}"));
        let way_out = "start Docker; the update runs as soon as it answers";
        return (format!("waiting for Docker{says}"), Some(way_out.to_owned()));
    }
    let problem = world.cluster().problem().map(last_line);
    let says = problem.map_or(String::new(), |it| format!(": {it}"));
    let way_out = "start a cluster; the update runs as soon as it answers";
    (format!("waiting for Kubernetes{says}"), Some(way_out.to_owned()))
}

fn resource_of(on: &WaitsOn) -> Option<String> {
    match on {
        WaitsOn::Resource(name) => Some(name.to_string()),
        WaitsOn::Image(_) | WaitsOn::Cluster(_) => None,
    }
}

/// How a command ended. A shell that cannot run a program says itself which.
fn ended(end: &CmdEnd) -> String {
    let how = match &*end.reason {
        "" => format!("exit status {}", end.exit_code),
        reason => reason.to_owned(),
    };
    let is_shell = matches!(end.exit_code, 126 | 127) && !end.last_line.is_empty();
    if is_shell { format!("{how}: {}", end.last_line) } else { how }
}

fn with_last_line(reason: Reason, line: &str) -> Reason {
    if line.trim().is_empty() || reason.headline.ends_with(line) {
        reason
    } else {
        reason.detail(format!("last output: {line}"))
    }
}

/// A command as its author wrote it.
fn shell_text(command: &CmdSpec) -> String {
    match command.args.as_slice() {
        [shell, flag, text] if shell == "sh" && flag == "-c" => one_line(text),
        args => args.join(" "),
    }
}

fn probe_text(probe: &Probe) -> String {
    let port = |it: i32| it.to_string();
    if let Some(http) = &probe.http_get {
        return format!("readiness probe (HTTP {} on port {})", http.path, port(http.port));
    }
    if let Some(tcp) = &probe.tcp_socket {
        return format!("readiness probe (TCP port {})", port(tcp.port));
    }
    match &probe.exec {
        Some(exec) => format!("readiness probe (`{}`)", exec.command.join(" ")),
        None => "readiness probe".to_owned(),
    }
}

/// A span of time in the largest unit that says enough.
pub fn duration(micros: i64) -> String {
    let millis = micros.max(0) / 1_000;
    match millis {
        0..1_000 => format!("{millis} ms"),
        1_000..60_000 => format!("{}.{} s", millis / 1_000, millis % 1_000 / 100),
        60_000..3_600_000 => format!("{} min {} s", millis / 60_000, millis % 60_000 / 1_000),
        _ => format!("{} h {} min", millis / 3_600_000, millis % 3_600_000 / 60_000),
    }
}

fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default().trim()
}

fn last_line(text: &str) -> &str {
    text.trim().lines().last().unwrap_or_default().trim()
}

/// The first line of a text, shortened to what fits into a list.
fn one_line(text: &str) -> String {
    const MAX: usize = 300;
    let mut line = first_line(text).replace(|it: char| it.is_control(), " ");
    if let Some((at, _)) = line.char_indices().nth(MAX) {
        line.truncate(at);
        line.push('…');
    }
    line
}

//! A small language of events, and the transcript of what follows.
//!
//! ```text
//! load a b:a/parallel    the load ends well with these resources; `max=2` sets the number of slots
//! broken WORDS           the load ends with an error
//! edit FILES             files of the Tiltfile change        late-edit 5 x they did 5 ms ago
//! args WORDS             its arguments change
//! change a FILES         files of `a` change                 late 5 a x    `x` changed 5 ms ago
//! trigger a, with-deps a, mode a manual, on/off/unknown/error a, stop a
//! ok a, fail a           its latest update ends              run/ready/unready/exit a    its server
//! change-image a FILES   files of its image change, below `/src`; those with `-` are gone, `missing` means `/src` is
//! early FILES            files of the image go ahead         went-ahead a  they have gone
//! containers a c d:ended its containers, if they do not run with how they do: waiting, crashing, ended
//! synced a               containers have got the files of the first copy that is on its way; in the same way:
//!                        exec-error a, not-synced a, abandoned a
//! listed a FILES         all files of `a` are these          not-listed a  nobody knows
//! built a, kept a        the image is new, or as it was      deployed a    it runs
//! made 5 a x             `x` changed 5 ms ago, which is seen now        why a    what led to its latest update
//! live a                 shows how its live update does
//! healthy/coming/down a  its container is up, comes up, is down
//!                        see `services.rs` for what Docker and Compose say
//! +20                    20 ms pass                          -20           the clock is set back
//! 10 times ok a, ok b    so many rounds of these; only updates are counted
//! status, ci, queue      show how everything does
//! ```
//! Nothing happens without a line, but the Tiltfile starts its first load by itself. A new script needs only
//! its lines; `UPDATE_EXPECT=1` adds what follows.

use std::{
    collections::{HashMap, VecDeque},
    fmt::Write as _,
    sync::Arc,
};

use engine_model::{FilePath, GoDuration, LiveUpdateName, ResourceName, TargetId, TriggerMode};
use expect_test::Expect;

use super::workload_script;
use crate::{
    cause::{Cause, Causes, Explained},
    effect::LogLine,
    hold::{Hold, WaitsOn},
    live_update::{
        Container, ContainerState, Found, ListError, Observed, Outcome, Root, Roots, SyncId,
        SyncPlan, Waiting,
    },
    objects::CmdEnd,
    reason::Reason,
    resource::{EnableState, ServeId, UpdateId},
    session::{self, TargetKind, TargetState},
    status::{self, RuntimeStatus},
    tiltfile::{LoadError, LoadId, MAIN},
    time::Time,
    world::{
        Action, Event, Loaded, StartLoad, World,
        fixture::{self, manifest, world},
    },
};

mod services;

use services::docker_words;

/// Runs the lines of a transcript that begin with `>` and compares what follows.
#[track_caller]
pub(super) fn check(transcript: &Expect) {
    check_in(world(), transcript);
}

/// The same in a world that is there.
#[track_caller]
pub(super) fn check_in(world: World, transcript: &Expect) {
    let mut world = Script { world, ..Script::default() };
    world.step(Event::TiltfileAdded { name: MAIN.into(), args: Vec::new() });
    world.out.clear();
    for line in transcript.data.lines().filter_map(|it| it.trim().strip_prefix("> ")) {
        writeln!(world.out, "> {line}").unwrap();
        match line.split_once(" times ") {
            Some((times, lines)) => world.repeat(times.parse().unwrap(), lines),
            None => world.run_line(line),
        }
    }
    transcript.assert_eq(&world.out);
}

#[derive(Default)]
struct Script {
    world: World,
    now: Time,
    load: Option<LoadId>,
    updates: HashMap<ResourceName, UpdateId>,
    servers: HashMap<ResourceName, ServeId>,
    holds: HashMap<ResourceName, Hold>,
    /// Copies that are on their way.
    syncs: HashMap<ResourceName, VecDeque<(SyncId, Arc<SyncPlan>)>>,
    is_src_missing: bool,
    /// When the image was built last.
    built: Time,
    out: String,
}

impl Script {
    fn repeat(&mut self, times: usize, lines: &str) {
        let before = std::mem::take(&mut self.out);
        for _ in 0..times {
            lines.split(',').for_each(|it| self.run_line(it));
        }
        let after = std::mem::replace(&mut self.out, before);
        let n_updates = after.lines().filter(|it| it.starts_with("  update")).count();
        writeln!(self.out, "  {n_updates} updates").unwrap();
    }

    fn run_line(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        self.run(words[0], &words[1..]);
    }

    fn run(&mut self, command: &str, words: &[&str]) {
        if let Ok(millis) = command.parse::<i64>() {
            self.now = self.now.plus_millis(millis);
            if self.world.wake_at().is_some_and(|it| it <= self.now) {
                self.step(Event::TimePassed);
            }
            return;
        }
        let first = words.first().copied().unwrap_or_default();
        let resource: ResourceName = first.into();
        let rest = || words.iter().skip(1).map(|it| (*it).into()).collect::<Vec<_>>();
        let event = match command {
            "status" => return self.show_status(),
            "ci" => return self.show_verdict(),
            "queue" => return self.show_queue(),
            "load" => self.loaded(words),
            "broken" => {
                self.load_ended(Err(LoadError::Tiltfile(Box::new(words.join(" ").as_str().into()))))
            }
            "edit" => edited(words, self.now),
            "late-edit" => {
                edited(&words[1..], self.now.plus_millis(-first.parse::<i64>().unwrap()))
            }
            "args" => Event::ArgsChanged {
                tiltfile: MAIN.into(),
                args: words.iter().map(|it| (*it).to_owned()).collect(),
            },
            "change" => files_changed(&resource, &rest(), self.now),
            "late" => {
                let seen = self.now.plus_millis(-first.parse::<i64>().unwrap());
                files_changed(&words[1].into(), &[words[2].into()], seen)
            }
            "made" => {
                let made = self.now.plus_millis(-first.parse::<i64>().unwrap());
                let resource = ResourceName::from(words[1]);
                Event::FilesChanged {
                    target: TargetId::Local(resource.clone()),
                    resource,
                    files: vec![(words[2].into(), Found::Present { changed: Some(made) })],
                    at: self.now,
                    roots: Roots::new(),
                }
            }
            "why" => return self.show_cause(&resource),
            "live" => return self.show_live(&resource),
            "service" => return self.show_service(&resource),
            "builds" => return self.show_builds(&resource),
            "pod" => {
                let shown = workload_script::shown(self.world.resource(&resource).unwrap());
                return writeln!(self.out, "  {shown}").unwrap();
            }
            "trigger" => trigger(resource, words.get(1).copied(), false),
            "with-deps" => trigger(resource, None, true),
            "mode" => Event::TriggerModeSet { resource, mode: mode(words[1]) },
            "on" => Event::EnableChanged { resource, state: EnableState::Enabled },
            "off" => Event::EnableChanged { resource, state: EnableState::Disabled },
            "unknown" => Event::EnableChanged { resource, state: EnableState::Pending },
            "error" => Event::EnableChanged { resource, state: EnableState::Error },
            "stop" => Event::StopRequested { resource, at: self.now },
            "ok" => Event::UpdateEnded { id: self.updates[&resource], error: None },
            "fail" => {
                Event::UpdateEnded { id: self.updates[&resource], error: Some("boom".to_owned()) }
            }
            "gone" => Event::ClusterChanged { cluster: "docker", is_usable: false },
            "back" => Event::ClusterChanged { cluster: "docker", is_usable: true },
            "retry" => {
                let id = self.updates[&resource];
                Event::RetryDue { resource, id }
            }
            "run" => Event::ServeStarted { id: self.servers[&resource], pid: 7, at: self.now },
            "ready" => Event::ServeReady { id: self.servers[&resource], is_ready: true },
            "unready" => Event::ServeReady { id: self.servers[&resource], is_ready: false },
            "exit" => Event::ServeEnded {
                id: self.servers[&resource],
                end: CmdEnd { pid: 7, exit_code: 1, finished: self.now, ..CmdEnd::default() },
            },
            "healthy" => Event::RuntimeObserved {
                resource,
                status: RuntimeStatus::Ok,
                is_satisfied: true,
                error: None,
            },
            "coming" => Event::RuntimeObserved {
                resource,
                status: RuntimeStatus::Pending,
                is_satisfied: false,
                error: None,
            },
            "down" => Event::RuntimeObserved {
                resource,
                status: RuntimeStatus::Error,
                is_satisfied: false,
                error: Some("it crashed".to_owned()),
            },
            _ => {
                let update = self.updates.get(&resource).copied();
                let event = workload_script::event(command, words, update);
                event.unwrap_or_else(|| self.live_event(command, words))
            }
        };
        self.step(event);
    }

    /// What happens to files and containers of live updates.
    fn live_event(&mut self, command: &str, words: &[&str]) -> Event {
        let resource: ResourceName = words.first().copied().unwrap_or_default().into();
        match command {
            "change-image" => {
                self.is_src_missing = words.contains(&"missing");
                let files = words[1..].iter().filter(|it| **it != "missing").map(|it| found(it));
                let (target, files) = (fixture::shared_target(), files.collect());
                Event::FilesChanged { resource, target, files, at: self.now, roots: self.roots() }
            }
            "early" => Event::FilesChanging {
                target: fixture::shared_target(),
                files: words.iter().map(|it| found(it).0).collect(),
                roots: self.roots(),
            },
            "went-ahead" => Event::WentAhead { live_update: live_update(&resource), resource },
            "containers" => {
                let observed = words[1..].iter().map(|it| observed(it)).collect();
                let containers = vec![(live_update(&resource), observed)];
                Event::ContainersObserved { resource, containers, roots: self.roots() }
            }
            "synced" => self.sync_ended(resource, &Outcome::Synced { exec_error: None }),
            "exec-error" => {
                let exec_error = Some("make failed".to_owned());
                self.sync_ended(resource, &Outcome::Synced { exec_error })
            }
            "not-synced" => self.sync_ended(resource, &Outcome::Failed("no route".to_owned())),
            "abandoned" => self.sync_ended(resource, &Outcome::Abandoned),
            "listed" => {
                let result = Ok(words[1..].iter().map(|it| found(it).0).collect());
                Event::FilesListed { live_update: live_update(&resource), resource, result }
            }
            "not-listed" => {
                let result = Err(ListError::Lost("permission denied".to_owned()));
                Event::FilesListed { live_update: live_update(&resource), resource, result }
            }
            "built" => {
                self.built = self.now;
                fixture::built(self.now)
            }
            "kept" => fixture::kept(self.built, self.now),
            "deployed" => Event::Deployed { resource, began: Some(self.now) },
            _ => self.service_event(command, words),
        }
    }

    fn loaded(&mut self, words: &[&str]) -> Event {
        let mut loaded = Loaded::default();
        for word in words {
            if let Some(max) = word.strip_prefix("max=") {
                loaded.max_parallel = Some(max.parse().unwrap());
                continue;
            }
            let manifest = manifest(word);
            let has = |flag: &str| word.contains(flag);
            let is_known = self.world.resource(&manifest.name).is_some();
            let state = if has("/off") || has(",off") {
                Some(EnableState::Disabled)
            } else {
                (!is_known && !has("unset")).then_some(EnableState::Enabled)
            };
            if let Some(state) = state {
                loaded.enabled.insert(manifest.name.as_str().into(), state);
            }
            loaded.manifests.push(Arc::new(manifest));
        }
        self.load_ended(Ok(loaded))
    }

    fn load_ended(&self, result: Result<Loaded, LoadError>) -> Event {
        Event::LoadEnded { id: self.load.expect("a load is running"), result }
    }

    fn step(&mut self, event: Event) {
        let effects = self.world.step(self.now, event);
        for LogLine { resource, span, kind, text } in effects.lines {
            let span = span.replace(&format!(":{resource}"), "");
            writeln!(self.out, "  {resource} | {span} {kind:?}: {text}").unwrap();
        }
        for action in effects.actions {
            self.note(&action);
        }
        self.note_holds();
    }

    fn note(&mut self, action: &Action) {
        let text = match action {
            Action::StartLoad(StartLoad { id, tiltfile, reason, files, args, resets_switches }) => {
                self.load = Some(*id);
                let resets = if *resets_switches { ", switches are reset" } else { "" };
                let args = if args.is_empty() { String::new() } else { format!(" {args:?}") };
                format!("load {tiltfile}{args}: {}{resets}", entry(*reason, files))
            }
            Action::CancelLoad { .. } => "cancel load".to_owned(),
            Action::StartUpdate { id, resource, reason, files, is_full_rebuild } => {
                self.updates.insert(resource.clone(), *id);
                let update = self.world.resource(resource).unwrap().current.as_ref();
                let by = update.and_then(|it| it.released_by.as_ref());
                let by = by.map(|it| format!(", released by {}", it.resource)).unwrap_or_default();
                let full = if *is_full_rebuild { ", full rebuild" } else { "" };
                format!("update {resource}: {}{full}{by}", entry(*reason, files))
            }
            Action::CancelUpdate { resource, .. } => format!("cancel {resource}"),
            Action::ListFiles { resource, roots, .. } => {
                format!("list files of {resource} below {}", names(roots))
            }
            Action::StartSync { resource, id, plan, .. } => {
                self.syncs.entry(resource.clone()).or_default().push_back((*id, plan.clone()));
                format!("sync {resource} #{}: {}", id.0, plan_words(plan))
            }
            Action::SendAhead { resource, plan, .. } => {
                format!("send ahead of {resource}: {}", plan_words(plan))
            }
            Action::CancelSync { resource } => format!("cancel syncs of {resource}"),
            Action::FindContainers { resource } => format!("find containers of {resource}"),
            Action::StartServe { id, resource } => {
                self.servers.insert(resource.clone(), *id);
                format!("serve {resource} #{}", id.0)
            }
            Action::StopServe { id, resource, is_disabled } => {
                let why = if *is_disabled { ", disabled" } else { "" };
                format!("stop server of {resource} #{}{why}", id.0)
            }
            Action::Removed { resource } => format!("{resource} is gone"),
            Action::DeclaredTwice { resource, tiltfile, other } => {
                format!("{resource} of {tiltfile} belongs to {other}")
            }
            Action::Kubernetes(action) => workload_script::words(action),
            Action::Object(action) => format!("{action:?}"),
            Action::Docker(action) => docker_words(action),
        };
        writeln!(self.out, "  {text}").unwrap();
    }

    fn note_holds(&mut self) {
        let holds = self.world.resources().iter();
        let holds: HashMap<ResourceName, Hold> =
            holds.filter_map(|it| Some((it.name.clone(), it.hold.clone()?))).collect();
        for resource in self.world.resources() {
            match (self.holds.get(&resource.name), &resource.hold) {
                (old, Some(hold)) if old != Some(hold) => {
                    writeln!(self.out, "  {} waits: {}", resource.name, words(hold)).unwrap();
                }
                (Some(_), None) if resource.current.is_none() => {
                    writeln!(self.out, "  {} waits no more", resource.name).unwrap();
                }
                _ => {}
            }
        }
        self.holds = holds;
    }

    fn show_status(&mut self) {
        for it in self.world.resources() {
            let (update, runtime) = (it.update_status(), it.runtime_status());
            let condition = |it: status::Condition| it.err().unwrap_or("yes");
            let pending = if it.has_pending_changes() { ", pending changes" } else { "" };
            writeln!(
                self.out,
                "  {}: update {}, runtime {}, up to date: {}, ready: {}{pending}",
                it.name,
                update.as_str(),
                runtime.as_str(),
                condition(status::up_to_date(update, it.is_disabled())),
                condition(status::ready(update, runtime, it.is_disabled())),
            )
            .unwrap();
        }
    }

    fn roots(&self) -> Roots {
        let missing = Root::Missing("stat /src: no such file or directory".to_owned());
        let root = if self.is_src_missing { missing } else { Root::Directory };
        [("/src".into(), root)].into()
    }

    /// The first sync that is on its way ends the same for all its containers.
    fn sync_ended(&mut self, resource: ResourceName, outcome: &Outcome) -> Event {
        let sync = self.syncs.get_mut(&resource).and_then(VecDeque::pop_front);
        let (id, plan) = sync.expect("something is being copied");
        let ended = plan.containers.iter().map(|it| (it.clone(), outcome.clone())).collect();
        Event::SyncEnded { live_update: live_update(&resource), resource, id, ended }
    }

    fn show_cause(&mut self, resource: &str) {
        let shown = self.world.resource(resource).unwrap();
        let update = shown.current.as_ref().or(shown.history.front()).unwrap();
        let mut out = String::new();
        cause_text(&Causes::new(&self.world).of(update), resource, 1, &mut out);
        self.out.push_str(&out);
    }

    fn show_live(&mut self, resource: &str) {
        let live_updates = &self.world.resource(resource).unwrap().live_updates;
        for (name, it) in live_updates {
            let status = it.status();
            let failed = status.failed.as_ref().map(|it| it.failure.reason.as_str());
            let failed = failed.map(|it| format!(" failed: {it}")).unwrap_or_default();
            writeln!(self.out, "  {name}:{failed}").unwrap();
            for it in &status.containers {
                let synced = it.last_file_time_synced.map(|it| it.0 / 1_000);
                let (waiting, error) = (it.waiting.map(Waiting::reason), &it.last_exec_error);
                let id = &it.container.id;
                writeln!(self.out, "    {id} synced {synced:?}, waiting {waiting:?}, {error:?}")
                    .unwrap();
            }
        }
        if live_updates.is_empty() {
            self.out.push_str("  none\n");
        }
    }

    fn show_verdict(&mut self) {
        let targets = session::targets(&self.world, GoDuration(0), self.now);
        for target in &targets {
            let kind = match target.kind {
                TargetKind::Job => "job",
                TargetKind::Server => "server",
            };
            let state = match &target.state {
                TargetState::Inactive => "inactive".to_owned(),
                TargetState::Disabled => "disabled".to_owned(),
                TargetState::Waiting { reason } => format!("waiting {reason}"),
                TargetState::Active { is_ready, .. } => format!("active, ready: {is_ready}"),
                TargetState::Terminated { error, .. } => format!("terminated {error:?}"),
            };
            writeln!(self.out, "  {} ({kind}): {state}", target.name).unwrap();
        }
        let limits = engine_model::spec::CiLimits {
            timeout: GoDuration::from_secs(60),
            readiness_timeout: GoDuration::from_secs(10),
            grace_period: GoDuration(0),
        };
        let verdict = session::verdict(&targets, limits, Time(0), self.now);
        writeln!(self.out, "  {verdict:?}").unwrap();
    }

    fn show_queue(&mut self) {
        let queue: Vec<String> =
            self.world.queue().map(|(name, reason)| format!("{name} ({reason})")).collect();
        let queue = if queue.is_empty() { "empty".to_owned() } else { queue.join(", ") };
        writeln!(self.out, "  {queue}").unwrap();
    }
}

/// What the log says first, and the reason where that is another one.
fn entry(reason: Reason, files: &[FilePath]) -> String {
    let all = reason.to_string();
    let line = if reason.has(Reason::INITIAL) {
        Reason::INITIAL.to_string()
    } else if files.is_empty() {
        all.clone()
    } else {
        format!("changed {}", files.iter().map(FilePath::to_string).collect::<Vec<_>>().join(" "))
    };
    if line == all || reason == Reason::FILES { line } else { format!("{line} ({all})") }
}

fn words(hold: &Hold) -> String {
    let on = hold.on().into_iter().map(|it| match it {
        WaitsOn::Resource(name) => name.to_string(),
        WaitsOn::Image(name) => name.to_string(),
        WaitsOn::Cluster(name) => name.to_owned(),
    });
    let file = match hold {
        Hold::RebuildLoop { file, .. } => format!(" by {file}"),
        _ => String::new(),
    };
    format!("{} [{}]{file}", hold.reason(), on.collect::<Vec<_>>().join(" "))
}

fn cause_text(cause: &Cause<'_>, name: &str, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    writeln!(out, "{indent}{name}: {}", cause.update.reason).unwrap();
    let mut explain = |it: &Explained<'_>, what: &str| {
        writeln!(out, "{indent}  {what} {}", it.resource).unwrap();
        if let Some(cause) = &it.cause {
            cause_text(cause, it.resource, depth + 2, out);
        }
    };
    if let Some(dep) = &cause.waited_for {
        explain(dep, "after");
    }
    for file in &cause.files {
        for during in &file.during {
            explain(during, &format!("{} changed while", file.change.path));
        }
    }
}

fn edited(files: &[&str], seen: Time) -> Event {
    let files = files.iter().map(|it| (*it).into()).collect();
    Event::ConfigFilesChanged { tiltfile: MAIN.into(), files, at: seen }
}

fn files_changed(resource: &ResourceName, files: &[FilePath], seen: Time) -> Event {
    Event::FilesChanged {
        resource: resource.clone(),
        target: TargetId::Local(resource.clone()),
        files: files.iter().map(|it| (it.clone(), Found::PRESENT)).collect(),
        at: seen,
        roots: Roots::new(),
    }
}

fn live_update(resource: &str) -> LiveUpdateName {
    format!("{resource}:shared").into()
}

/// A file of an image, from its name below `/src`, with `-` if it is gone.
fn found(word: &str) -> (FilePath, Found) {
    let (name, found) =
        word.strip_prefix('-').map_or((word, Found::PRESENT), |it| (it, Found::Absent));
    let path = if name.starts_with('/') { name.to_owned() } else { format!("/src/{name}") };
    (path.as_str().into(), found)
}

fn observed(word: &str) -> Observed {
    let (id, state) = word.split_once(':').unwrap_or((word, ""));
    let state = match state {
        "" => ContainerState::Running,
        "waiting" => ContainerState::Waiting,
        "crashing" => ContainerState::CrashLoopBackOff,
        "ended" => ContainerState::Terminated,
        _ => panic!("no such state: {state}"),
    };
    let container = Container { name: id.into(), id: id.into(), ..Container::default() };
    Observed { container, state }
}

fn names(paths: &[FilePath]) -> String {
    paths.iter().map(FilePath::to_string).collect::<Vec<_>>().join(" ")
}

/// Who gets what, and what goes away.
fn plan_words(plan: &SyncPlan) -> String {
    let all = if plan.is_initial { "all of " } else { "" };
    let copied = plan.copies.iter().map(|it| it.container.to_string());
    let deleted = plan.deletions.iter().map(|it| format!("-{}", it.container));
    let paths: Vec<String> = deleted.chain(copied).collect();
    let containers: Vec<&str> = plan.containers.iter().map(|it| &*it.id).collect();
    format!("{all}{} to {}", paths.join(" "), containers.join(" "))
}

fn trigger(resource: ResourceName, who: Option<&str>, with_deps: bool) -> Event {
    let reason = match who {
        Some("web") => Reason::TRIGGER_WEB,
        Some("nobody") => Reason::default(),
        _ => Reason::TRIGGER_CLI,
    };
    Event::Triggered { resource, reason, with_deps }
}

fn mode(name: &str) -> TriggerMode {
    match name {
        "auto" => TriggerMode::Auto,
        "manual" => TriggerMode::ManualWithAutoInit,
        "manual-noinit" => TriggerMode::Manual,
        "noinit" => TriggerMode::AutoWithManualInit,
        _ => panic!("no such mode: {name}"),
    }
}

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
//! change-image a FILES   files of its image change           fell-back a   its containers cannot take them
//! healthy/coming/down a  its container is up, comes up, is down
//! +20                    20 ms pass                          -20           the clock is set back
//! 10 times ok a, ok b    so many rounds of these; only updates are counted
//! status, ci, queue      show how everything does
//! ```
//! Nothing happens without a line, but the Tiltfile starts its first load by itself. A new script needs only
//! its lines; `UPDATE_EXPECT=1` adds what follows.

use std::{collections::HashMap, fmt::Write as _, sync::Arc};

use engine_model::{GoDuration, TriggerMode};
use expect_test::Expect;

use crate::{
    hold::{Hold, WaitsOn},
    reason::Reason,
    resource::{EnableState, ServeId, UpdateId},
    scheduler::{
        Action, Event, Loaded, Scheduler,
        fixture::{manifest, scheduler},
    },
    session::{self, Limits, TargetKind, TargetState},
    status::{self, RuntimeStatus},
    tiltfile::{LoadId, MAIN},
    time::Time,
};

/// Runs the lines of a transcript that begin with `>` and compares what follows.
#[track_caller]
pub(super) fn check(transcript: &Expect) {
    let mut world = World { scheduler: scheduler(), ..World::default() };
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
struct World {
    scheduler: Scheduler,
    now: Time,
    load: Option<LoadId>,
    updates: HashMap<Arc<str>, UpdateId>,
    servers: HashMap<Arc<str>, ServeId>,
    holds: HashMap<Arc<str>, Hold>,
    out: String,
}

impl World {
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
            if self.scheduler.wake_at().is_some_and(|it| it <= self.now) {
                self.step(Event::TimePassed);
            }
            return;
        }
        let first = words.first().copied().unwrap_or_default();
        let resource: Arc<str> = first.into();
        let rest = || words.iter().skip(1).map(|it| Arc::from(*it)).collect();
        let event = match command {
            "status" => return self.show_status(),
            "ci" => return self.show_verdict(),
            "queue" => return self.show_queue(),
            "load" => self.loaded(words),
            "broken" => self.load_ended(Err(words.join(" "))),
            "edit" => edited(words, self.now),
            "late-edit" => {
                edited(&words[1..], self.now.plus_millis(-first.parse::<i64>().unwrap()))
            }
            "args" => Event::ArgsChanged {
                tiltfile: MAIN.into(),
                args: words.iter().map(|it| (*it).to_owned()).collect(),
            },
            "change" => files_changed(&resource, rest(), self.now),
            "late" => {
                let seen = self.now.plus_millis(-first.parse::<i64>().unwrap());
                files_changed(&words[1].into(), vec![words[2].into()], seen)
            }
            "change-image" => Event::FilesChanged {
                resource,
                target: "image:shared".into(),
                files: rest(),
                at: self.now,
            },
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
            "fell-back" => Event::FellBack { id: self.updates[&resource] },
            "run" => Event::ServeStarted { id: self.servers[&resource], pid: 7 },
            "ready" => Event::ServeReady { id: self.servers[&resource], is_ready: true },
            "unready" => Event::ServeReady { id: self.servers[&resource], is_ready: false },
            "exit" => Event::ServeEnded { id: self.servers[&resource] },
            "healthy" => Event::RuntimeObserved {
                resource,
                status: RuntimeStatus::Ok,
                is_satisfied: true,
                error: None,
                pod: None,
            },
            "coming" => Event::RuntimeObserved {
                resource,
                status: RuntimeStatus::Pending,
                is_satisfied: false,
                error: None,
                pod: None,
            },
            "down" => Event::RuntimeObserved {
                resource,
                status: RuntimeStatus::Error,
                is_satisfied: false,
                error: Some("it crashed".to_owned()),
                pod: None,
            },
            _ => panic!("no such command: {command}"),
        };
        self.step(event);
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
            let is_known = self.scheduler.resource(&manifest.name).is_some();
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

    fn load_ended(&self, result: Result<Loaded, String>) -> Event {
        Event::LoadEnded { id: self.load.expect("a load is running"), result }
    }

    fn step(&mut self, event: Event) {
        let actions = self.scheduler.step(self.now, event);
        for action in actions {
            self.note(&action);
        }
        self.note_holds();
    }

    fn note(&mut self, action: &Action) {
        let text = match action {
            Action::StartLoad { id, tiltfile, reason, files, args, resets_switches } => {
                self.load = Some(*id);
                let resets = if *resets_switches { ", switches are reset" } else { "" };
                let args = if args.is_empty() { String::new() } else { format!(" {args:?}") };
                format!("load {tiltfile}{args}: {}{resets}", entry(*reason, files))
            }
            Action::CancelLoad { .. } => "cancel load".to_owned(),
            Action::StartUpdate { id, resource, reason, files, is_full_rebuild, is_live } => {
                self.updates.insert(Arc::clone(resource), *id);
                let update = self.scheduler.resource(resource).unwrap().current.as_ref();
                let by = update.and_then(|it| it.released_by.as_ref());
                let by = by.map(|it| format!(", released by {it}")).unwrap_or_default();
                let full = if *is_full_rebuild { ", full rebuild" } else { "" };
                let live = if *is_live { "live " } else { "" };
                format!("{live}update {resource}: {}{full}{by}", entry(*reason, files))
            }
            Action::CancelUpdate { resource, .. } => format!("cancel {resource}"),
            Action::StartServe { id, resource } => {
                self.servers.insert(Arc::clone(resource), *id);
                format!("serve {resource} #{}", id.0)
            }
            Action::StopServe { id, resource, is_disabled } => {
                let why = if *is_disabled { ", disabled" } else { "" };
                format!("stop server of {resource} #{}{why}", id.0)
            }
            Action::Switched { resource, is_enabled } => {
                format!("{resource} is {}", if *is_enabled { "enabled" } else { "disabled" })
            }
            Action::Removed { resource } => format!("{resource} is gone"),
            Action::DeclaredTwice { resource, tiltfile, other } => {
                format!("{resource} of {tiltfile} belongs to {other}")
            }
        };
        writeln!(self.out, "  {text}").unwrap();
    }

    fn note_holds(&mut self) {
        let holds = self.scheduler.resources().iter();
        let holds: HashMap<Arc<str>, Hold> =
            holds.filter_map(|it| Some((Arc::clone(&it.name), it.hold.clone()?))).collect();
        for resource in self.scheduler.resources() {
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
        for it in self.scheduler.resources() {
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

    fn show_verdict(&mut self) {
        let targets = session::targets(&self.scheduler, GoDuration(0), self.now);
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
        let limits = Limits {
            timeout: GoDuration::from_secs(60),
            readiness_timeout: GoDuration::from_secs(10),
            grace_period: GoDuration(0),
        };
        let verdict = session::verdict(&targets, limits, Time(0), self.now);
        writeln!(self.out, "  {verdict:?}").unwrap();
    }

    fn show_queue(&mut self) {
        let queue: Vec<String> =
            self.scheduler.queue().map(|(name, reason)| format!("{name} ({reason})")).collect();
        let queue = if queue.is_empty() { "empty".to_owned() } else { queue.join(", ") };
        writeln!(self.out, "  {queue}").unwrap();
    }
}

/// What the log says first, and the reason where that is another one.
fn entry(reason: Reason, files: &[Arc<str>]) -> String {
    let all = reason.to_string();
    let line = if reason.has(Reason::INITIAL) {
        Reason::INITIAL.to_string()
    } else if files.is_empty() {
        all.clone()
    } else {
        format!("changed {}", files.join(" "))
    };
    if line == all || reason == Reason::FILES { line } else { format!("{line} ({all})") }
}

fn words(hold: &Hold) -> String {
    let on = hold.on().into_iter().map(|it| match it {
        WaitsOn::Resource(name) | WaitsOn::Image(name) => name.to_string(),
        WaitsOn::Cluster(name) => name.to_owned(),
    });
    let file = match hold {
        Hold::RebuildLoop { file, .. } => format!(" by {file}"),
        _ => String::new(),
    };
    format!("{} [{}]{file}", hold.reason(), on.collect::<Vec<_>>().join(" "))
}

fn edited(files: &[&str], seen: Time) -> Event {
    let files = files.iter().map(|it| Arc::from(*it)).collect();
    Event::ConfigFilesChanged { tiltfile: MAIN.into(), files, at: seen }
}

fn files_changed(resource: &Arc<str>, files: Vec<Arc<str>>, seen: Time) -> Event {
    let target = format!("local:{resource}").into();
    Event::FilesChanged { resource: Arc::clone(resource), target, files, at: seen }
}

fn trigger(resource: Arc<str>, who: Option<&str>, with_deps: bool) -> Event {
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

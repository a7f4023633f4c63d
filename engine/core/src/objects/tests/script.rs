//! A small language of changed objects, and the transcript of what follows.
//!
//! ```text
//! load a b                  the main Tiltfile has these resources
//! map m key=value           a config map is written            load-map m key=value   by a load
//! cmd c WORDS off=m start=b after=5 restart=b files=w by=update
//! watch w off=m target      a FileWatch                        targets local:a   what the main Tiltfile watches
//! button b x                a button with these inputs         click b x=1       somebody clicks it
//! toggle t m key            a toggle of a config map           apply a off=m     another object with switches
//! tiltfile t restart=b stop=b files=w args=x extension
//! repo r URL REF            extension e REPO PATH loaded
//! remove KIND NAME          stale KIND NAME                    an older version arrives late
//! started/recovered w, failed w WORDS, changed w FILES, own w FILES    what the watcher reports
//! run c, ready c, unready c, exit c                            what the latest run of a command does
//! fetched r PATH, unfetched r WORDS, loaded URL PATH, found e PATH, missing e PATH
//! +20                       20 ms pass
//! ```
//! After each line come the log lines, the actions, and the objects that look different.

use std::{collections::HashMap, fmt::Write as _, sync::Arc};

use engine_model::{
    CmdSpec, Kind, LoadedRepo, ObjectId, RestartOn, Spec, SpecChange, TargetId, Time, WatchTarget,
    spec::{
        ButtonInput, ButtonSpec, Click, CmdDriver, CmdObject, DisableSource, Exec,
        ExtensionRepoSpec, ExtensionSpec, FileWatchSpec, Given, GivenInput, StartOn, StopOn,
        Switch, Switched, TiltfileSpec, ToggleKey, ToggleSource, ToggleSpec,
    },
};
use expect_test::Expect;

use crate::{
    Action, Event, Loaded, World,
    live_update::{Found, Roots},
    objects::{
        CmdEnd, CmdEvent, CmdPhase, CmdRunId, Fetched, ObjectAction, ObjectEvent, RepoError,
        WatchEvent,
    },
    tiltfile::{LoadId, MAIN},
    world::{
        StartLoad,
        fixture::{manifest, world},
    },
};

/// Runs the lines of a transcript that begin with `>` and compares what follows.
#[track_caller]
pub(super) fn check(transcript: &Expect) {
    transcript.assert_eq(&run(transcript.data));
}

/// Runs the lines that begin with `>`, and says what follows.
pub(super) fn run(transcript: &str) -> String {
    let mut script = Script { world: world(), ..Script::default() };
    script.step(Event::TiltfileAdded { name: MAIN.into(), args: Vec::new() });
    script.out.clear();
    for line in transcript.lines().filter_map(|it| it.trim().strip_prefix("> ")) {
        writeln!(script.out, "> {line}").unwrap();
        script.run_line(line);
    }
    script.out
}

#[derive(Default)]
struct Script {
    world: World,
    now: Time,
    version: u64,
    load: Option<LoadId>,
    runs: HashMap<String, CmdRunId>,
    out: String,
}

/// The words of a line that are not `key=value`, and those that are.
struct Words<'a> {
    plain: Vec<&'a str>,
    pairs: Vec<(&'a str, &'a str)>,
}

impl<'a> Words<'a> {
    fn new(line: &'a str) -> Self {
        let (pairs, plain) = line.split_whitespace().partition::<Vec<_>, _>(|it| it.contains('='));
        Self { plain, pairs: pairs.into_iter().filter_map(|it| it.split_once('=')).collect() }
    }

    fn at(&self, n: usize) -> &'a str {
        self.plain.get(n).copied().unwrap_or_default()
    }

    fn rest(&self, n: usize) -> impl Iterator<Item = &'a str> {
        self.plain.iter().skip(n).copied()
    }

    fn has(&self, word: &str) -> bool {
        self.plain.contains(&word)
    }

    fn all(&self, key: &str) -> Vec<String> {
        let pairs = self.pairs.iter().filter(|(it, _)| *it == key);
        pairs.map(|(_, value)| (*value).to_owned()).collect()
    }

    /// The switches that an object follows.
    fn off(&self) -> Option<DisableSource> {
        let switch = |it: &String| Switch { name: it.clone(), key: "off".to_owned() };
        let (one, every) = (self.all("off"), self.all("every"));
        let source = DisableSource {
            config_map: one.first().map(switch),
            every_config_map: every.iter().map(switch).collect(),
        };
        (self.has("switched") || source != DisableSource::default()).then_some(source)
    }

    fn restart_on(&self) -> RestartOn {
        RestartOn { file_watches: self.all("files"), ui_buttons: self.all("restart") }
    }
}

impl Script {
    fn run_line(&mut self, line: &str) {
        let words = Words::new(line);
        let name = words.at(1);
        match words.at(0) {
            it if it.starts_with('+') => {
                self.now = self.now.plus_millis(it.parse().unwrap());
                if self.world.wake_at().is_some_and(|it| it <= self.now) {
                    self.step(Event::TimePassed);
                }
            }
            "load" => {
                let manifests = words.rest(1).map(|it| Arc::new(manifest(it))).collect();
                let id = self.load.expect("a load is running");
                let result = Ok(Loaded { manifests, ..Loaded::default() });
                self.step(Event::LoadEnded { id, result });
            }
            "trigger" => self.step(Event::Triggered {
                resource: name.into(),
                reason: crate::reason::Reason::TRIGGER_CLI,
                with_deps: false,
            }),
            "load-map" => self.write(Kind::ConfigMap, name, Some(map(&words)), true),
            "remove" => self.write(kind(name), words.at(2), None, false),
            "stale" => {
                let id = ObjectId::new(kind(name), words.at(2));
                let change = SpecChange { id, version: 0, spec: None };
                self.object(ObjectEvent::SpecsChanged { changes: vec![change], is_load: false });
            }
            "targets" => {
                let targets = words.rest(1).map(target).collect();
                self.declare(targets, true);
            }
            "failed-targets" => {
                let targets = words.rest(1).map(target).collect();
                self.declare(targets, false);
            }
            "status" => self.show_status(kind(name), words.at(2)),
            it => match spec(it, &words) {
                Some((kind, spec)) => self.write(kind, name, Some(spec), false),
                None => self.report(it, &words),
            },
        }
    }

    fn declare(&mut self, targets: Vec<WatchTarget>, is_good: bool) {
        let tiltfile = MAIN.into();
        self.object(ObjectEvent::TargetsDeclared { tiltfile, targets, is_good });
    }

    /// What watcher, commands and repositories report.
    fn report(&mut self, command: &str, words: &Words<'_>) {
        let name = words.at(1).to_owned();
        let text = || words.rest(2).collect::<Vec<_>>().join(" ");
        let changed = |during_update| WatchEvent::Changed {
            files: words.rest(2).map(|it| (it.into(), Found::PRESENT)).collect(),
            roots: Roots::new(),
            during_update,
        };
        let watch = |event| ObjectEvent::Watch { target: target_id(&name), at: self.now, event };
        let cmd = |event| {
            let run = self.runs[&name];
            ObjectEvent::Cmd { object: name.clone(), run, event }
        };
        let event = match command {
            "started" => watch(WatchEvent::Started),
            "recovered" => watch(WatchEvent::Recovered),
            "failed" => watch(WatchEvent::Failed { message: text() }),
            "changed" => watch(changed(false)),
            "own" => watch(changed(true)),
            "run" => cmd(CmdEvent::Started { pid: 7, at: self.now }),
            "ready" => cmd(CmdEvent::Ready(true)),
            "unready" => cmd(CmdEvent::Ready(false)),
            "exit" => cmd(CmdEvent::Ended(CmdEnd {
                pid: 7,
                exit_code: 0,
                reason: String::new(),
                started: Some(Time(0)),
                finished: self.now,
                ..CmdEnd::default()
            })),
            "fetched" => {
                let fetched = Fetched { path: text(), at: Some(self.now) };
                ObjectEvent::RepoFetched { repo: name, result: Ok(fetched) }
            }
            "unfetched" => {
                ObjectEvent::RepoFetched { repo: name, result: Err(RepoError::Fetch(text())) }
            }
            "loaded" => {
                let reference = String::new();
                ObjectEvent::ReposLoaded {
                    found: vec![LoadedRepo { url: name, reference, path: text() }],
                }
            }
            "found" => ObjectEvent::ExtensionFound { name, path: text(), is_file: true },
            "missing" => ObjectEvent::ExtensionFound { name, path: text(), is_file: false },
            _ => panic!("no such command: {command}"),
        };
        self.object(event);
    }

    fn write(&mut self, kind: Kind, name: &str, spec: Option<Spec>, is_load: bool) {
        self.version += 1;
        let change = SpecChange { id: ObjectId::new(kind, name), version: self.version, spec };
        self.object(ObjectEvent::SpecsChanged { changes: vec![change], is_load });
    }

    fn object(&mut self, event: ObjectEvent) {
        self.step(Event::Object(event));
    }

    fn step(&mut self, event: Event) {
        let effects = self.world.step(self.now, event);
        for line in effects.lines {
            writeln!(self.out, "  {:?} [{}] {}", line.kind, line.resource, line.text).unwrap();
        }
        for action in effects.actions {
            self.note(&action);
        }
        let changed = effects.changed.into_iter().filter(|it| it.kind != Kind::UiResource);
        let changed: Vec<String> = changed.map(|it| format!("{:?} {}", it.kind, it.name)).collect();
        if !changed.is_empty() {
            writeln!(self.out, "  publish {}", changed.join(", ")).unwrap();
        }
    }

    fn note(&mut self, action: &Action) {
        let text = match action {
            Action::StartLoad(StartLoad { id, tiltfile, reason, files, .. }) => {
                self.load = Some(*id);
                let files: Vec<String> = files.iter().map(ToString::to_string).collect();
                format!("load {tiltfile}: {reason} [{}]", files.join(" "))
            }
            Action::CancelLoad { .. } => "cancel load".to_owned(),
            Action::StartUpdate { resource, reason, .. } => format!("update {resource}: {reason}"),
            Action::CancelUpdate { resource, .. } => format!("cancel {resource}"),
            Action::Removed { resource } => format!("removed {resource}"),
            Action::Object(action) => self.words_of(action),
            Action::StartServe { .. }
            | Action::StopServe { .. }
            | Action::DeclaredTwice { .. }
            | Action::Kubernetes(_)
            | Action::ListFiles { .. }
            | Action::StartSync { .. }
            | Action::SendAhead { .. }
            | Action::CancelSync { .. }
            | Action::FindContainers { .. }
            | Action::Docker(_) => return,
        };
        writeln!(self.out, "  {text}").unwrap();
    }

    fn words_of(&mut self, action: &ObjectAction) -> String {
        match action {
            ObjectAction::WatchFiles { targets } => {
                let ids: Vec<String> = targets.iter().map(|it| it.id.to_string()).collect();
                format!("watch [{}]", ids.join(" "))
            }
            ObjectAction::ImageInputsChanged { image, .. } => format!("inputs of {image} changed"),
            ObjectAction::RunCommand { object, run, resource, span, exec } => {
                let cmd = &exec.cmd;
                self.runs.insert(object.clone(), *run);
                let words: Vec<&str> = cmd.args.iter().chain(&cmd.env).map(|it| &**it).collect();
                format!("run {object} #{}: {} [{resource} {span}]", run.0, words.join(" "))
            }
            ObjectAction::StopCommand { object, run } => format!("stop {object} #{}", run.0),
            ObjectAction::SetConfigMapKey { name, key, value } => {
                format!("write {name}: {key}={}", value.as_deref().unwrap_or("null"))
            }
            ObjectAction::DeclareTiltfile { name, path, .. } => format!("declare {name}: {path}"),
            ObjectAction::ForgetTiltfile { name } => format!("forget {name}"),
            ObjectAction::PutExtensionTiltfile { name, path, args } => {
                format!("put Tiltfile {name}: {path} {args:?}")
            }
            ObjectAction::RemoveExtensionTiltfile { name } => format!("remove Tiltfile {name}"),
            ObjectAction::FindFolder { repo, path } => format!("find folder of {repo}: {path}"),
            ObjectAction::FetchRepo { repo, url, reference } => {
                format!("fetch {repo}: {url} {reference}")
            }
            ObjectAction::FindExtension { name, path } => format!("find {name}: {path}"),
        }
    }

    fn show_status(&mut self, kind: Kind, name: &str) {
        let id = ObjectId::new(kind, name);
        if let Some(it) = self.world.disable_status(&id) {
            writeln!(self.out, "  {:?} since {}: {:?}", it.state, it.since.0, it.reason).unwrap();
        }
        let text = match kind {
            Kind::Cmd => match self.world.cmd_phase(name) {
                Some(CmdPhase::Ended { end, was_ready }) => {
                    format!("Ended {}, was ready: {was_ready}", end.exit_code)
                }
                phase => format!("{phase:?}"),
            },
            Kind::ToggleButton => format!("{:?}", self.world.toggle_state(name)),
            Kind::FileWatch => match self.world.watched_files(name) {
                None => "not watched".to_owned(),
                Some(it) => {
                    let listed = it.events.iter().map(|it| it.files.len().to_string());
                    format!(
                        "started {:?}, last {:?}, listed [{}], {} unlisted, error {:?}",
                        it.started.map(|it| it.0),
                        it.last_event.map(|it| it.0),
                        listed.collect::<Vec<_>>().join(" "),
                        it.n_unlisted(),
                        it.error
                    )
                }
            },
            Kind::Extension => format!("{:?}", self.world.extension_status(name).map(worded)),
            Kind::ExtensionRepo => format!("{:?}", self.world.repo_status(name).map(worded)),
            _ => return,
        };
        writeln!(self.out, "  {text}").unwrap();
    }
}

fn kind(name: &str) -> Kind {
    match name {
        "map" => Kind::ConfigMap,
        "cmd" => Kind::Cmd,
        "watch" => Kind::FileWatch,
        "button" => Kind::UiButton,
        "toggle" => Kind::ToggleButton,
        "apply" => Kind::KubernetesApply,
        "tiltfile" => Kind::Tiltfile,
        "repo" => Kind::ExtensionRepo,
        "extension" => Kind::Extension,
        _ => panic!("no such kind: {name}"),
    }
}

fn target(id: &str) -> WatchTarget {
    let (paths, ignores) = (Vec::new(), Vec::new());
    WatchTarget { id: target_id(id), object: id.replace('/', "_"), paths, ignores, is_early: false }
}

fn target_id(text: &str) -> TargetId {
    match text.split_once(':') {
        Some(("configs", tiltfile)) => TargetId::Config(tiltfile.into()),
        Some(("image", image)) => TargetId::Image(image.into()),
        Some(("k8s", resource)) => TargetId::Apply(resource.into()),
        Some(("local", resource)) => TargetId::Local(resource.into()),
        _ => TargetId::Object(text.into()),
    }
}

fn map(words: &Words<'_>) -> Spec {
    let pairs = words.pairs.iter();
    let pairs = pairs.map(|(key, value)| ((*key).to_owned(), Some((*value).to_owned())));
    Spec::ConfigMap(pairs.collect())
}

fn spec(command: &str, words: &Words<'_>) -> Option<(Kind, Spec)> {
    let texts = |n| words.rest(n).map(str::to_owned).collect::<Vec<_>>();
    let spec = match command {
        "map" => map(words),
        "cmd" => Spec::Cmd(Box::new(cmd(words))),
        "watch" => Spec::FileWatch(FileWatchSpec {
            watched_paths: words.all("path"),
            disable_source: words.off(),
            is_target: words.has("target"),
            ..FileWatchSpec::default()
        }),
        "apply" => Spec::Switched(Switched { disable_source: words.off() }),
        "button" | "click" => {
            let click = (command == "click").then(|| click(words));
            let input = |name| ButtonInput { name, ..ButtonInput::default() };
            let inputs = match &click {
                Some(click) => click.inputs.iter().map(|it| input(it.name.clone())).collect(),
                None => texts(2).into_iter().map(input).collect(),
            };
            return Some((Kind::UiButton, Spec::UiButton(ButtonSpec { inputs, click })));
        }
        "toggle" => {
            let text = |n| Some(words.at(n).to_owned()).filter(|it| !it.is_empty());
            let key = ToggleKey {
                name: text(2),
                key: text(3),
                on_value: Some("yes".to_owned()),
                off_value: Some("no".to_owned()),
            };
            let config_map = key.name.is_some().then_some(key);
            let state_source = ToggleSource { config_map };
            Spec::ToggleButton(Box::new(ToggleSpec { state_source, ..ToggleSpec::default() }))
        }
        "tiltfile" => Spec::Tiltfile(TiltfileSpec {
            path: words.at(2).to_owned(),
            args: words.all("args"),
            restart_on: words.restart_on(),
            stop_on: StopOn { ui_buttons: words.all("stop") },
            is_extension: words.has("extension"),
            ..TiltfileSpec::default()
        }),
        "repo" => Spec::ExtensionRepo(ExtensionRepoSpec {
            url: words.at(2).to_owned(),
            r#ref: words.at(3).to_owned(),
            git_subpath: words.all("sub").join(""),
        }),
        "extension" => Spec::Extension(ExtensionSpec {
            repo_name: words.at(2).to_owned(),
            repo_path: words.at(3).to_owned(),
            args: words.all("args"),
            is_loaded: words.has("loaded"),
        }),
        _ => return None,
    };
    Some((kind(command), spec))
}

fn cmd(words: &Words<'_>) -> CmdObject {
    let args = words.rest(2).filter(|it| *it != "switched").map(str::to_owned).collect();
    let after = words.all("after").first().map_or(0, |it| it.parse::<i64>().unwrap());
    let driver = match words.all("by").first().map(String::as_str) {
        Some("update") => CmdDriver::Update,
        Some("server") => CmdDriver::Server,
        _ => CmdDriver::Object,
    };
    CmdObject {
        exec: Exec { cmd: CmdSpec { args, ..CmdSpec::default() }, readiness_probe: None },
        restart_on: words.restart_on(),
        start_on: StartOn { start_after: Time(after), ui_buttons: words.all("start") },
        disable_source: words.off(),
        driver,
        resource: words.all("of").join(""),
        span: None,
    }
}

/// A click at a time of its own, with what was typed.
fn click(words: &Words<'_>) -> Click {
    let at = words.all("at").first().map_or(1, |it| it.parse::<i64>().unwrap());
    let typed = words.pairs.iter().filter(|(key, _)| *key != "at");
    let inputs = typed.map(|(name, value)| {
        let given = Some(Given { value: (*value).to_owned() });
        let name = (*name).to_owned();
        // What a toggle asks for is hidden in its button.
        if name == "action" {
            GivenInput { name, hidden: given, ..GivenInput::default() }
        } else {
            GivenInput { name, text: given, ..GivenInput::default() }
        }
    });
    Click { at: Time(at), inputs: inputs.collect() }
}

/// A status with its error as people read it.
fn worded<T, E: ToString>(status: &Result<T, E>) -> Result<&T, String> {
    status.as_ref().map_err(ToString::to_string)
}

//! Runs Tiltfiles: on a thread each, with the environment that earlier runs left, and a log of its own.

use std::{
    fs,
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use builtins::{
    Evaluation, Request,
    host::{Command, Host, Launched, Launcher, Level as HostLevel, OsHost},
};
use engine_core::{
    Event, Loaded, Time,
    reason::Reason,
    resource::ResourceName,
    tiltfile::{LoadId, MAIN},
};

use super::{Message, Mode, Runtime, clock, declare::Declared, names};
use crate::{
    audit::Audit,
    exec::Guarded,
    logs::{Level, LogWriter},
};

/// What a Tiltfile says that wants nothing to be told about its use.
const OPTED_OUT: u8 = 1;

/// The environment of Tiltfiles and commands; a Tiltfile may change it.
#[derive(Clone, Debug)]
pub(super) struct Environment(Arc<Mutex<Vec<(String, String)>>>);

impl Environment {
    pub(super) fn of_process() -> Self {
        let lossy = |it: std::ffi::OsString| it.to_string_lossy().into_owned();
        let vars = std::env::vars_os().map(|(name, value)| (lossy(name), lossy(value)));
        Self(Arc::new(Mutex::new(vars.collect())))
    }

    pub(super) fn get(&self) -> Vec<(String, String)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, vars: Vec<(String, String)>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = vars;
    }
}

/// A run of a Tiltfile that the scheduler asks for.
pub(super) struct Order {
    pub(super) id: LoadId,
    pub(super) tiltfile: ResourceName,
    pub(super) reason: Reason,
    pub(super) files: Vec<Arc<str>>,
    pub(super) args: Vec<String>,
    pub(super) resets_switches: bool,
}

/// A run of a Tiltfile that has ended.
pub(super) struct LoadedTiltfile {
    pub(super) id: LoadId,
    pub(super) tiltfile: ResourceName,
    pub(super) resets_switches: bool,
    pub(super) started: Time,
    pub(super) evaluation: Evaluation,
    /// Keeps the temporary files of the run.
    pub(super) host: Arc<OsHost>,
    log: LogWriter,
}

impl std::fmt::Debug for LoadedTiltfile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoadedTiltfile").field("tiltfile", &self.tiltfile).finish_non_exhaustive()
    }
}

impl Runtime {
    pub(super) fn start_load(&mut self, order: Order) {
        let Order { id, tiltfile, reason, files, args, resets_switches } = order;
        let Some(declared) = self.tiltfiles.get(&tiltfile) else { return };
        let log = self.logs.writer(&tiltfile, &names::tiltfile_span(&tiltfile, id.0));
        log.build_event(&super::commands::entry_line(reason, &files));
        if reason.has(Reason::ARGS) {
            log.info(&format!("Tiltfile args changed to: [{}]", args.join(" ")));
        }
        let request = self.request(&tiltfile, &declared.path, args);
        let launcher = Noting {
            audit: self.audit.about(self.context()),
            cause: format!(
                "local() in {tiltfile}: {}",
                super::commands::entry_line(reason, &files)
            ),
        };
        let host = Arc::new(host(&self.environment, &log, launcher));
        if let Some(declared) = self.tiltfiles.get_mut(&tiltfile) {
            declared.running = Some((id, Arc::clone(&host)));
        }
        self.note_loading(&tiltfile, true);

        let (messages, environment) = (self.messages.clone(), self.environment.clone());
        let started = clock::now();
        let work = move || {
            let evaluation = builtins::evaluate(&request, Arc::clone(&host) as Arc<dyn Host>);
            environment.set(host.env_vars());
            let loaded =
                LoadedTiltfile { id, tiltfile, resets_switches, started, evaluation, host, log };
            // Nobody waits for it when the engine ends.
            let _ = messages.send(Message::Loaded(Box::new(loaded)));
        };
        // Evaluation takes a thread with a large stack of its own; this one only waits for it.
        tokio::task::spawn_blocking(work);
    }

    /// What to evaluate, and how.
    pub(super) fn request(&self, tiltfile: &str, path: &str, args: Vec<String>) -> Request {
        let mut request = Request::new(path, self.settings.mode.subcommand());
        request.args = args;
        request.context.clone_from(&self.settings.context);
        request.namespace.clone_from(&self.settings.namespace);
        request.web_host.clone_from(&self.settings.host);
        request.web_port = self.settings.port;
        // It is part of what is deployed: with another time, each reload would deploy everything again.
        request.start_time = clock::seconds(self.settings.started);
        request.is_extension = tiltfile != MAIN;
        request.ci_timeout = self.settings.ci_timeout;
        request.pin_kubeconfig = true;
        request.cluster = self.pinned_cluster();
        if self.has_pinned_cluster() && !self.context().is_empty() {
            // One that is of no use any more is looked up anew, and by its name only.
            request.context = Some(self.context().to_owned());
            request.kept_kubeconfig.clone_from(&self.kubeconfig);
        }
        request
    }

    /// Tells the watcher whether a Tiltfile runs: what it reads and writes again as it was is no reason to run again.
    fn note_loading(&self, tiltfile: &str, is_loading: bool) {
        if let Some(watcher) = &self.watcher {
            watcher.updating(&names::config_target(tiltfile), is_loading);
        }
    }

    /// Ends runs of Tiltfiles at once, with the commands that they have started.
    pub(super) fn cancel_loads(&self, is_meant: impl Fn(LoadId) -> bool) {
        let running = self.tiltfiles.values().filter_map(|it| it.running.as_ref());
        for (_, host) in running.filter(|(id, _)| is_meant(*id)) {
            host.cancel();
            host.clean_up();
        }
    }

    pub(super) fn take_load(&mut self, loaded: LoadedTiltfile) {
        let name = Arc::clone(&loaded.tiltfile);
        self.note_loading(&name, false);
        let Some(declared) = self.tiltfiles.get_mut(&name) else { return };
        declared.running = None;
        let error = problem(&loaded, &name);
        let LoadedTiltfile { id, resets_switches, evaluation, host, log, started, .. } = loaded;
        let load = evaluation.load;
        let cluster = evaluation.cluster;
        if let Some(kubeconfig) = cluster.as_ref().and_then(|it| it.path.as_ref())
            && !self.has_pinned_cluster()
        {
            self.pin_kubeconfig(kubeconfig, &log);
        }
        self.logs.add_secrets(&load.secrets, clock::to_system(started));
        let is_good = error.is_none();
        self.report_load(started, load.analytics_opt);
        if &*name == MAIN {
            self.load_ui_session(&load, is_good);
            self.pruning.settings = Some(load.docker_prune_settings.clone());
        }
        let enabled = self.declare_load(&name, &load, is_good, resets_switches);
        if let Some(error) = &error {
            // A message that ends its last line itself is followed by an empty one.
            log.write(Level::Error, &format!("{error}\n"));
        }
        let result = match error {
            Some(error) => Err(self.logs.scrubber().scrub(&error).into_owned()),
            None => {
                if let Some(declared) = self.tiltfiles.get_mut(&name) {
                    declared.host = Some(host);
                }
                let max_parallel = usize::try_from(load.update_settings.max_parallel_updates).ok();
                Ok(Loaded {
                    manifests: load.manifests.into_iter().map(Arc::new).collect(),
                    enabled,
                    max_parallel: max_parallel.filter(|_| &*name == MAIN),
                })
            }
        };
        self.step(Event::LoadEnded { id, result });
        self.watch_docker();
        self.watch_kubernetes(cluster.as_ref());
        self.define_live_updates();
        self.watch_all();
        // Most of what a load needs is not needed again until the next one.
        crate::platform::code::release();
    }
}

impl Runtime {
    /// Tells those who want to know that a Tiltfile was loaded.
    fn report_load(&mut self, started: Time, choice: u8) {
        if choice == OPTED_OUT {
            self.usage.opt_out();
        }
        self.usage.count("tiltfile.loaded");
        let took = clock::to_system(started).elapsed().unwrap_or_default();
        self.usage.timed("tiltfile.load", took);
    }

    /// Keeps the kubeconfig that commands get at a place that outlives the run of the Tiltfile.
    pub(super) fn pin_kubeconfig(&mut self, from: &str, log: &LogWriter) {
        let instance = crate::server::config_file::instance_name(self.settings.port);
        let place = Path::new("tilt-dev").join(instance).join("cluster/default.yml");
        let copied = state_dirs(&self.environment.get()).find_map(|dir| {
            let path = dir.join(&place);
            copy_private(Path::new(from), &path).ok().map(|()| path)
        });
        match copied {
            Some(path) => self.kubeconfig = Some(path.display().to_string()),
            None => log.warn("Cannot store the kubeconfig for commands; they get your own"),
        }
    }
}

/// Where files of a running program may be kept, best first.
fn state_dirs(env: &[(String, String)]) -> impl Iterator<Item = PathBuf> {
    let get = |name: &str| {
        let found = env.iter().find(|(it, value)| it == name && !value.is_empty());
        found.map(|(_, value)| PathBuf::from(value))
    };
    let home = get("HOME").map(|it| it.join(".local/state"));
    [get("XDG_RUNTIME_DIR"), get("XDG_STATE_HOME").or(home)].into_iter().flatten()
}

/// Copies a file that only its owner may read.
fn copy_private(from: &Path, to: &Path) -> io::Result<()> {
    let content = fs::read(from)?;
    if fs::read(to).is_ok_and(|it| it == content) {
        return Ok(());
    }
    fs::create_dir_all(to.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
    let partial = to.with_extension(format!("{}.partial", std::process::id()));
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&partial)?;
    file.write_all(&content)?;
    fs::rename(&partial, to)
}

/// What is wrong with a run, in Tilt's words.
fn problem(loaded: &LoadedTiltfile, name: &str) -> Option<String> {
    if loaded.host.canceled() {
        return Some("build canceled".to_owned());
    }
    if let Some(failure) = &loaded.evaluation.failure {
        return Some(failure.text.clone());
    }
    let is_empty = name == MAIN && loaded.evaluation.load.manifests.is_empty();
    is_empty.then(|| {
        "No resources found. Check out https://docs.tilt.dev/tutorial.html to get started!"
            .to_owned()
    })
}

/// Notes the commands of a Tiltfile before it starts them.
struct Noting {
    audit: Audit,
    cause: String,
}

impl Launcher for Noting {
    fn launch(&self, program: &str, command: &Command) -> io::Result<Launched> {
        if command.env.iter().any(|(name, _)| name == "KUBECONFIG") {
            self.audit.command(&command.argv, &self.cause);
        }
        Guarded.launch(program, command)
    }
}

fn host(environment: &Environment, log: &LogWriter, launcher: Noting) -> OsHost {
    let log = log.clone();
    let sink = move |level: HostLevel, text: &str| {
        let level = match level {
            HostLevel::Debug => Level::Debug,
            HostLevel::Info => Level::Info,
            HostLevel::Warn => Level::Warn,
        };
        log.write(level, text);
    };
    OsHost::new(environment.get(), Box::new(sink)).with_launcher(Box::new(launcher))
}

impl Mode {
    /// The command that people typed.
    pub(super) fn subcommand(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Ci => "ci",
        }
    }
}

impl Declared {
    /// A Tiltfile that has not run yet.
    pub(super) fn new(path: String) -> Self {
        Self { path, ..Self::default() }
    }
}

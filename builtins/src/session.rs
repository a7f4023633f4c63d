//! One evaluation: the request, the call stack, and the declarations so far.

use std::{cell::RefCell, collections::BTreeMap, path::Path, rc::Rc, sync::Arc, time::Duration};

use builtins_language::{
    Embedder, EvalError, Evaluator, Frame, Interpreter, Loaded, call_position, call_stack, embedder,
};
use engine_formats::{
    Files,
    golang::{
        os_error::PathError,
        path::{self, Link},
    },
    kube_config,
};
use engine_model::GoDuration;

use crate::{
    api::KubeCluster,
    declarations::Declarations,
    diagnostic::Place,
    host::{FileKind, Host, Level},
    loader::{self, Loader},
};

/// What to evaluate, and how; [`Request::new`] has the defaults.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The main Tiltfile, absolute or relative to the working directory.
    pub path: String,
    /// Arguments for the Tiltfile.
    pub args: Vec<String>,
    /// The command that runs, for `config.tilt_subcommand`.
    pub subcommand: String,
    /// Overrides the current context of the kubeconfig.
    pub context: Option<String>,
    /// Overrides the namespace of the context.
    pub namespace: Option<String>,
    /// The host of the web page, which port forwards listen on by default.
    pub web_host: String,
    /// The port of the web page.
    pub web_port: u16,
    /// Whether this is an extension's Tiltfile that the engine runs on its own.
    pub is_extension: bool,
    /// Whether unchanged charts and overlays are taken from the cache.
    pub use_cache: bool,
    /// The cluster that an earlier evaluation was about, if this one must be about it too, whatever the environment
    /// says by now.
    pub cluster: Option<KubeCluster>,
    /// A kubeconfig that has the context, should the user's have it no more.
    pub kept_kubeconfig: Option<String>,
    /// Whether the kubeconfig for children is wanted.
    pub pin_kubeconfig: bool,
    /// Whether to note how long each builtin took.
    pub record_timings: bool,
    /// When the engine started: RFC 3339.
    pub start_time: String,
    /// The command line, for `sys.argv`.
    pub argv: Vec<String>,
    /// This program, for `sys.executable`.
    pub executable: Option<String>,
    /// The `--timeout` flag of `ci`.
    pub ci_timeout: Option<GoDuration>,
}

impl Request {
    /// A request with everything by default.
    pub fn new(path: &str, subcommand: &str) -> Self {
        Self {
            path: path.to_owned(),
            subcommand: subcommand.to_owned(),
            web_host: "localhost".to_owned(),
            web_port: 10350,
            use_cache: true,
            start_time: engine_formats::golang::time::now_rfc3339(),
            argv: std::env::args_os()
                .map(|it| engine_model::path::to_text(&it).into_owned())
                .collect(),
            executable: std::env::current_exe()
                .ok()
                .map(|it| engine_model::path::to_text(&it).into_owned()),
            ..Self::default()
        }
    }
}

/// How a path joins the watch list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// If it is a file, or does not exist yet.
    FileOnly,
    /// Whatever it is, with everything below it.
    Recursive,
}

/// A call of a builtin, and how long it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltinCall {
    /// The builtin's full name.
    pub name: String,
    /// Its positional arguments.
    pub args: String,
    /// How long it took.
    pub duration: GoDuration,
}

/// One evaluation, shared by all files it executes.
pub struct Session {
    /// What was asked.
    pub request: Request,
    /// The world.
    pub host: Arc<dyn Host>,
    /// The main Tiltfile: absolute, links resolved.
    pub main_path: String,
    /// The declarations so far.
    pub declarations: RefCell<Declarations>,
    /// Files that are or were executed.
    pub loader: Loader,
    /// Calls of builtins, if requested.
    pub calls: RefCell<Vec<BuiltinCall>>,
    /// The text of every executed file, for diagnostics.
    pub sources: RefCell<BTreeMap<String, String>>,
    /// The files of the kubeconfig: a Tiltfile that changes the environment does not change them.
    pub kubeconfig_paths: Vec<String>,
    /// The home directory before a Tiltfile could change it.
    pub home: String,
    executing: RefCell<Vec<String>>,
    outer_frames: RefCell<Vec<Frame>>,
}

impl Session {
    /// A session that has not executed anything yet.
    pub fn new(request: Request, host: Arc<dyn Host>, main_path: String) -> Self {
        let declarations = Declarations::new(&request);
        let home = host.env("HOME").unwrap_or_default();
        Self {
            kubeconfig_paths: match request.cluster.as_ref().and_then(|it| it.path.clone()) {
                Some(path) => vec![path],
                None => {
                    let own = kube_config::paths(host.env("KUBECONFIG").as_deref(), &home);
                    own.into_iter().chain(request.kept_kubeconfig.clone()).collect()
                }
            },
            home,
            request,
            host,
            main_path,
            declarations: RefCell::new(declarations),
            loader: Loader::default(),
            calls: RefCell::default(),
            sources: RefCell::default(),
            executing: RefCell::default(),
            outer_frames: RefCell::default(),
        }
    }

    /// The session that an evaluator works for.
    pub fn of<'a>(eval: &Evaluator<'_, 'a, '_>) -> &'a Self {
        embedder(eval).expect("every evaluator of ours works for a session")
    }

    /// The file that is executed at top level right now.
    pub fn current_file(&self) -> String {
        self.executing.borrow().last().unwrap_or(&self.main_path).clone()
    }

    /// The directory that relative paths are relative to: that of the file being executed.
    pub fn dir(&self) -> String {
        path::dir(self.executing.borrow().last().unwrap_or(&self.main_path))
    }

    /// How many files are being executed, each on behalf of another.
    pub fn n_executing(&self) -> usize {
        self.executing.borrow().len()
    }

    /// Runs `work` while `file` counts as the one being executed.
    pub fn while_executing<T>(&self, file: &str, work: impl FnOnce() -> T) -> T {
        self.executing.borrow_mut().push(file.to_owned());
        let result = work();
        self.executing.borrow_mut().pop();
        result
    }

    /// An absolute path: relative ones are joined to the current directory and cleaned, others kept as they are.
    pub fn abs(&self, given: &str) -> String {
        if path::is_abs(given) {
            given.to_owned()
        } else {
            path::join(&[self.dir().as_str(), given])
        }
    }

    /// Where the builtin that is running was called.
    pub fn call_position(&self, eval: &Evaluator<'_, '_, '_>) -> Place {
        let frame = call_position(eval);
        let path =
            frame.as_ref().and_then(|it| it.path.clone()).unwrap_or_else(|| self.current_file());
        let (line, column) = frame.map_or((1, 1), |it| (it.line, it.col));
        Place { file: path, line, column }
    }

    /// Runs `work` while these calls lead to the file being executed.
    pub fn with_outer_frames<T>(&self, frames: Vec<Frame>, work: impl FnOnce() -> T) -> T {
        let n_outer = self.outer_frames.borrow().len();
        self.outer_frames.borrow_mut().extend(frames);
        let result = work();
        self.outer_frames.borrow_mut().truncate(n_outer);
        result
    }

    /// The calls that led to the builtin that is running, through all files, as a traceback.
    pub fn traceback(&self, eval: &Evaluator<'_, '_, '_>, builtin: &str) -> String {
        let mut text = "Traceback (most recent call last):\n".to_owned();
        for frame in self.outer_frames.borrow().iter().chain(&frames_of_call(eval, builtin)) {
            text.push_str(&format!("  {frame}\n"));
        }
        text
    }

    /// Logs a line of information.
    pub fn info(&self, text: &str) {
        self.host.log(Level::Info, &format!("{text}\n"));
    }

    /// Logs a warning.
    pub fn warn(&self, text: &str) {
        self.host.log(Level::Warn, &format!("{text}\n"));
    }

    /// Adds a path to the watch list.
    ///
    /// # Errors
    /// If it cannot be looked at.
    pub fn watch(&self, mode: Watch, path: &str) -> Result<(), PathError> {
        if self.is_watchable(mode, path)? {
            self.declarations.borrow_mut().watched.insert(path.to_owned());
        }
        Ok(())
    }

    /// Whether a path can join the watch list.
    ///
    /// # Errors
    /// If it cannot be looked at.
    pub fn is_watchable(&self, mode: Watch, path: &str) -> Result<bool, PathError> {
        match (mode, self.host.lstat(path)) {
            (Watch::Recursive, _) => Ok(true),
            (Watch::FileOnly, Ok(info)) => Ok(info.kind != FileKind::Directory),
            (Watch::FileOnly, Err(error)) if error.kind() == std::io::ErrorKind::NotFound => {
                Ok(true)
            }
            (Watch::FileOnly, Err(error)) => Err(PathError::new("lstat", path, &error)),
        }
    }

    /// The bytes of a file.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(&self, path: &str) -> Result<Vec<u8>, PathError> {
        self.host.read(path).map_err(|error| PathError::reading(path, &error))
    }

    /// The bytes of a file, which joins the watch list.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read_watched(&self, path: &str) -> Result<Vec<u8>, PathError> {
        self.watch(Watch::FileOnly, path)?;
        self.read(path)
    }
}

/// The calls that led to a builtin, and the builtin itself.
pub(crate) fn frames_of_call(eval: &Evaluator<'_, '_, '_>, builtin: &str) -> Vec<Frame> {
    let mut frames = call_stack(eval);
    frames.push(Frame { path: None, line: 0, col: 0, function: builtin.to_owned() });
    frames
}

/// What a path is, for the resolution of links.
pub(crate) fn link_info(host: &dyn Host, path: &str) -> std::io::Result<Link> {
    Ok(match host.lstat(path)?.kind {
        FileKind::Symlink => Link::Symlink(host.read_link(path)?),
        FileKind::Directory => Link::Directory,
        FileKind::File => Link::Other,
    })
}

impl Files for Session {
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        self.host.read(&path.to_string_lossy())
    }
}

impl Embedder for Session {
    fn load(&self, interpreter: &Interpreter, path: &str) -> Result<Rc<Loaded>, EvalError> {
        loader::execute(self, interpreter, path)
    }

    fn print(&self, text: &str) {
        self.info(text);
    }

    fn is_canceled(&self) -> bool {
        self.host.canceled()
    }

    fn records_calls(&self) -> bool {
        self.request.record_timings
    }

    fn record_call(&self, name: &str, args: String, took: Duration) {
        let duration = GoDuration(i64::try_from(took.as_nanos()).unwrap_or(i64::MAX));
        self.calls.borrow_mut().push(BuiltinCall { name: name.to_owned(), args, duration });
    }
}

//! Starts an engine in this process: what `up` and `ci` have in common.

use std::{
    fs,
    io::{self, IsTerminal},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use clap::Args;
use engine_model::GoDuration;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
};

use super::{Global, Printer, connect::ConnectFlags, failure::Failure, log_file::LogFile, values};
use crate::{
    api::Store,
    dev_dir,
    exec::env::Colors,
    logs::{self, Checkpoint, Filter, Level, LogStore, Source, TerminalStream},
    prompt::{self, Menu},
    runtime::{self, Exit, Handle, Mode, Runtime, Settings},
    server::{self, Logs},
};

/// How long commands may take to end after a signal; what is left then is killed.
const GRACE: Duration = Duration::from_millis(1_800);

/// How long a terminal may take for the last lines.
const LAST_LINES: Duration = Duration::from_millis(500);

/// Where Tilt may take its pages from.
const WEB_MODES: [&str; 5] = ["default", "local", "prod", "embedded", "precompiled"];

/// Flags of `up` and `ci`.
#[derive(Debug, Clone, Args)]
#[command(mut_arg("host", |it| it.help("Host to listen on; 0.0.0.0 is all of them. Instead of TILT_HOST")))]
#[command(mut_arg("port", |it| it.help("Port to listen on; 0 is without a page. Instead of TILT_PORT")))]
pub(super) struct StartFlags {
    /// Path to the Tiltfile
    #[arg(short, long, default_value = "Tiltfile", value_name = "PATH")]
    file: String,
    /// Kubernetes context to use, instead of the current one of the kubeconfig
    #[arg(long, default_value = "", hide_default_value = true, value_name = "NAME")]
    context: String,
    /// Default namespace of the Kubernetes context
    #[arg(long, default_value = "", hide_default_value = true, value_name = "NAME")]
    namespace: String,
    #[command(flatten)]
    connect: ConnectFlags,
    /// Show only lines of this level: warn or error
    #[arg(long, default_value = "", hide_default_value = true, value_name = "LEVEL")]
    log_level: String,
    /// Show only lines from here: all, build or runtime
    #[arg(long, default_value = "all", value_name = "SOURCE")]
    log_source: String,
    /// Show only lines of these resources
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    log_resource: Vec<String>,
    /// Write a snapshot of the web page to this file at the end
    #[arg(long, default_value = "", hide_default_value = true, value_name = "PATH")]
    output_snapshot_on_exit: String,
    /// Accepted for compatibility; has no effect
    #[arg(long, value_name = "MODE", value_parser = web_mode)]
    web_mode: Option<String>,
    /// Accepted for compatibility; has no effect
    #[arg(long, value_name = "PORT", value_parser = values::int)]
    webdev_port: Option<i64>,
    /// Accepted for compatibility; has no effect
    #[arg(long, hide = true)]
    logactions: bool,
    /// Whether ports stay closed; a flag of `up` only.
    #[arg(skip)]
    no_forwards: bool,
    /// Resources to run, or arguments of the Tiltfile after `--`
    #[arg(value_name = "ARGS")]
    args: Vec<String>,
}

/// Pages come with the program, in whatever mode; but a typo is one.
fn web_mode(text: &str) -> Result<String, String> {
    if WEB_MODES.contains(&text) {
        return Ok(text.to_owned());
    }
    Err(format!("Unrecognized web mode: {text}. Allowed values: [{}]", WEB_MODES.join(" ")))
}

/// Where the terminal's output goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Terminal {
    /// Every line of the log as it comes.
    Stream,
    /// A menu, until somebody asks for the log.
    Prompt,
    /// Every line, to a file that does not grow forever.
    LogFile,
}

impl StartFlags {
    /// Flags that run a Tiltfile and nothing else.
    pub(super) fn of_tiltfile(file: &Path, connect: &ConnectFlags) -> Self {
        Self {
            file: file.display().to_string(),
            context: String::new(),
            namespace: String::new(),
            connect: connect.clone(),
            log_level: String::new(),
            log_source: "all".to_owned(),
            log_resource: Vec::new(),
            output_snapshot_on_exit: String::new(),
            web_mode: None,
            webdev_port: None,
            logactions: false,
            no_forwards: false,
            args: Vec::new(),
        }
    }

    /// The same, with or without port forwards.
    pub(super) fn with_forwards(&self, has_forwards: bool) -> Self {
        Self { no_forwards: !has_forwards, ..self.clone() }
    }

    /// Where the instance listens.
    pub(super) fn connect(&self) -> &ConnectFlags {
        &self.connect
    }

    /// The main Tiltfile, as it was typed.
    pub(super) fn file(&self) -> &str {
        &self.file
    }

    /// The main Tiltfile: absolute, links resolved if it exists.
    pub(super) fn tiltfile(&self) -> PathBuf {
        let absolute =
            std::path::absolute(&self.file).unwrap_or_else(|_| PathBuf::from(&self.file));
        absolute.canonicalize().unwrap_or(absolute)
    }

    fn settings(&self, mode: Mode, ci_timeout: Option<GoDuration>, port: u16) -> Settings {
        let text = |it: &str| (!it.is_empty()).then(|| it.to_owned());
        Settings {
            mode,
            tiltfile: self.tiltfile().display().to_string(),
            args: self.args.clone(),
            context: text(&self.context),
            namespace: text(&self.namespace),
            host: self.connect.host.clone(),
            port,
            ci_timeout,
            colors: colors(),
            started: runtime::now(),
            forwards_ports: !self.no_forwards,
            image_memory: Some(crate::dev_dir::path().join("images.json")),
        }
    }

    fn filter(&self) -> Filter {
        Filter {
            resources: self.log_resource.clone(),
            level: Filter::level_from_flag(&self.log_level),
            source: Source::from_flag(&self.log_source),
            since: 0,
        }
    }
}

/// Runs an engine until it is stopped or done.
pub(super) fn run(
    flags: &StartFlags,
    mode: Mode,
    ci_timeout: Option<GoDuration>,
    terminal: Terminal,
    global: &Global,
    printer: Printer,
) -> Result<ExitCode, Failure> {
    let threads = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::Command(format!("cannot start: {error}")))?;
    let work = engine(flags, mode, ci_timeout, terminal, global, printer);
    let result = threads.block_on(work);
    // What still blocks a thread, such as an evaluation, is not waited for.
    threads.shutdown_background();
    result
}

async fn engine(
    flags: &StartFlags,
    mode: Mode,
    ci_timeout: Option<GoDuration>,
    terminal: Terminal,
    global: &Global,
    printer: Printer,
) -> Result<ExitCode, Failure> {
    let failure = |error: &dyn std::fmt::Display| Failure::Command(error.to_string());
    let mut signals = Signals::listen().map_err(|it| failure(&it))?;
    let token = dev_dir::token().map_err(|it| failure(&it))?;
    let options = server::Options {
        host: flags.connect.host.clone(),
        port: flags.connect.listen_port().map_err(|it| failure(&it))?,
        token,
        start_time: jiff::Timestamp::now(),
        config_file: None,
    };
    let bound = server::bind(options).await.map_err(|it| failure(&it))?;
    let logs = LogStore::new(&logs::Options { level: level(global), ..logs::Options::default() });
    let menu = greet(&logs, &bound);
    let settings = flags.settings(mode, ci_timeout, bound.web_addr().port());
    let store = Store::new();
    let (handle, requests) = Handle::new();
    let served = Logs::new(logs.clone());
    let serving = bound.serve(store.clone(), served, handle).await.map_err(|it| failure(&it))?;

    let (engine, inbox) = Runtime::new(settings, store.clone(), logs.clone());
    let show = Show::start(&logs, flags.filter(), terminal, &menu, engine.counts());
    let (exit, engine) = engine.run(inbox, requests, signals.first()).await;

    let is_clean = tokio::select! {
        is_clean = engine.shut_down(GRACE) => is_clean,
        () = signals.first() => engine.shut_down(Duration::ZERO).await,
    };
    write_snapshot(flags, &serving.snapshot(), printer);
    serving.shutdown().await;
    show.finish().await;
    Ok(conclude(exit, mode, is_clean, printer))
}

fn conclude(exit: Exit, mode: Mode, is_clean: bool, printer: Printer) -> ExitCode {
    match (exit, mode) {
        (Exit::Success, _) => {
            printer.out("SUCCESS. All workloads are healthy.\n");
            ExitCode::SUCCESS
        }
        (Exit::Failure(error), _) => Failure::Command(error).report(printer),
        (Exit::Stopped, Mode::Ci) => {
            Failure::Command("context canceled".to_owned()).report(printer)
        }
        (Exit::Stopped, Mode::Up) if is_clean => ExitCode::SUCCESS,
        (Exit::Stopped, Mode::Up) => ExitCode::from(super::FAILURE),
    }
}

/// The first lines of the log.
fn greet(logs: &LogStore, bound: &server::Bound) -> Menu {
    let menu = Menu {
        greeting: bound.greeting(),
        version: super::version_text(),
        notes: String::new(),
        url: bound.has_page().then(|| bound.url()),
    };
    let log = logs.writer("", "");
    log.info(&menu.greeting);
    log.info(&menu.version);
    menu
}

/// Whether those who read the log see colors.
fn colors() -> Colors {
    let is_dumb = std::env::var_os("TERM").is_none_or(|it| it == "dumb");
    let is_plain = std::env::var_os("NO_COLOR").is_some_and(|it| !it.is_empty());
    if is_dumb || is_plain || !io::stdout().is_terminal() { Colors::Off } else { Colors::On }
}

fn level(global: &Global) -> Level {
    match (global.debug, global.verbose) {
        (true, _) => Level::Debug,
        (false, true) => Level::Verbose,
        (false, false) => Level::Info,
    }
}

fn write_snapshot(flags: &StartFlags, snapshot: &[u8], printer: Printer) {
    let path = Path::new(&flags.output_snapshot_on_exit);
    if path.as_os_str().is_empty() {
        return;
    }
    let indented = serde_json::from_slice::<serde_json::Value>(snapshot);
    let text = indented.map_or_else(|_| snapshot.to_vec(), |it| format!("{it:#}\n").into_bytes());
    if let Err(error) = fs::write(path, text) {
        printer.err(&format!("Error: writing snapshot {}: {error}\n", path.display()));
    }
}

/// Signals that ask the engine to end.
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next of them.
    async fn first(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}

/// What the terminal shows.
enum Show {
    Stream(Option<TerminalStream>),
    Prompt(prompt::Running),
}

impl Show {
    fn start(
        logs: &LogStore,
        filter: Filter,
        terminal: Terminal,
        menu: &Menu,
        counts: watch::Receiver<prompt::Status>,
    ) -> Self {
        if terminal == Terminal::Prompt
            && let Ok(prompt) = prompt::Running::start(logs, filter.clone(), menu, Some(counts))
        {
            return Self::Prompt(prompt);
        }
        let out: Box<dyn io::Write + Send> = match (terminal, LogFile::of_stdout()) {
            (Terminal::LogFile, Ok(file)) => Box::new(file),
            _ => Box::new(io::stdout()),
        };
        // Without a thread for it there is no output, but all the rest.
        let stream = TerminalStream::start(logs, Checkpoint::default(), filter, out);
        Self::Stream(stream.ok())
    }

    async fn finish(self) {
        match self {
            Self::Stream(stream) => {
                let _ = stream.map(|it| it.finish(LAST_LINES));
            }
            Self::Prompt(prompt) => prompt.finish(LAST_LINES).await,
        }
    }
}

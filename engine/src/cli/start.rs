//! Starts an engine in this process, for `up` and `ci`.

use std::{
    cell::RefCell,
    io::{self, IsTerminal},
    panic::AssertUnwindSafe,
    path::{Path, PathBuf},
    pin::{Pin, pin},
    process::ExitCode,
    time::Duration,
};

use clap::Args;
use engine_api::Store;
use engine_cli::{
    Failure, Printer, connect::ListenFlags, has_colors, instances, is_tilt, log_style, output_file,
    values,
};
use engine_files::dev_dir;
use engine_model::GoDuration;
use engine_model::path::{to_path, to_text};
use futures_util::FutureExt as _;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
};

use super::{DEFECT, Global, log_file::LogFile, summary::Summary};
use crate::{
    exec::env::Colors,
    guard, leftovers,
    logs::{self, Checkpoint, Filter, Level, LogStore, Source, TerminalStream},
    panics::{Panic, Panics},
    prompt::{self, Menu},
    runtime::{self, Exit, Handle, Mode, ReasonTable, Runtime, Settings},
    server::{self, Logs, Serving},
    tracing_log,
};

/// How long commands may take to exit after a signal, before they are killed.
const GRACE: Duration = Duration::from_millis(1_800);

/// How long to wait for the terminal to print the last lines.
const LAST_LINES: Duration = Duration::from_millis(500);

/// Tilt's modes of serving the web page.
const WEB_MODES: [&str; 5] = ["default", "local", "prod", "embedded", "precompiled"];

/// Flags of `up` and `ci`.
#[derive(Debug, Clone, Args)]
pub(super) struct StartFlags {
    /// Path to the Tiltfile
    #[arg(short, long, default_value = "Tiltfile", value_name = "PATH")]
    file: String,
    /// Kubernetes context (default: the current one of your kubeconfig)
    #[arg(long, default_value = "", hide_default_value = true, value_name = "NAME")]
    context: String,
    /// Default namespace for Kubernetes objects
    #[arg(long, default_value = "", hide_default_value = true, value_name = "NAME")]
    namespace: String,
    #[command(flatten)]
    listen: ListenFlags,
    /// Only log lines of this level: warn or error
    #[arg(long, default_value = "", hide_default_value = true, value_name = "LEVEL",
        value_parser = values::log_level)]
    log_level: String,
    /// Only log lines from this source: all, build or runtime
    #[arg(long, default_value = "all", value_name = "SOURCE", value_parser = values::log_source)]
    log_source: String,
    /// Only log lines of these resources
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    log_resource: Vec<String>,
    /// File to save a snapshot of the web page to at the end
    #[arg(long, default_value = "", hide_default_value = true, value_name = "PATH")]
    output_snapshot_on_exit: String,
    /// Accepted for compatibility; has no effect
    #[arg(hide = true, long, value_name = "MODE", value_parser = web_mode)]
    web_mode: Option<String>,
    /// Accepted for compatibility; has no effect
    #[arg(hide = true, long, value_name = "PORT", value_parser = values::int)]
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

#[derive(Debug, thiserror::Error)]
#[error("Unrecognized web mode: {0}. Allowed values: [{modes}]", modes = WEB_MODES.join(" "))]
struct WebModeError(String);

/// Checks the mode, which has no effect: the pages are embedded in the program.
fn web_mode(text: &str) -> Result<String, WebModeError> {
    let mode = text.to_owned();
    if WEB_MODES.contains(&text) { Ok(mode) } else { Err(WebModeError(mode)) }
}

/// Where the terminal's output goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Terminal {
    /// Every line of the log as it comes.
    Stream,
    /// The same, and then what came of it.
    StreamAndSummary,
    /// A menu, until somebody asks for the log.
    Prompt,
    /// Every line, to a file that does not grow forever.
    LogFile,
}

impl StartFlags {
    /// Flags that run a Tiltfile and nothing else.
    pub(super) fn of_tiltfile(file: &Path, listen: &ListenFlags) -> Self {
        Self {
            file: to_text(file).into_owned(),
            context: String::new(),
            namespace: String::new(),
            listen: listen.clone(),
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
    pub(super) fn listen(&self) -> &ListenFlags {
        &self.listen
    }

    /// The main Tiltfile, as it was typed.
    pub(super) fn file(&self) -> &str {
        &self.file
    }

    /// The main Tiltfile: absolute, links resolved if it exists.
    pub(super) fn tiltfile(&self) -> PathBuf {
        let absolute = std::path::absolute(to_path(&self.file))
            .unwrap_or_else(|_| to_path(&self.file).into_owned());
        absolute.canonicalize().unwrap_or(absolute)
    }

    fn settings(&self, mode: Mode, ci_timeout: Option<GoDuration>, port: u16) -> Settings {
        let text = |it: &str| (!it.is_empty()).then(|| it.to_owned());
        Settings {
            mode,
            tiltfile: to_text(&self.tiltfile()).into_owned(),
            args: self.args.clone(),
            context: text(&self.context),
            namespace: text(&self.namespace),
            host: self.listen.host.clone(),
            port,
            ci_timeout,
            colors: colors(),
            started: runtime::now(),
            forwards_ports: !self.no_forwards,
            image_memory: dev_dir::path().ok().map(|it| it.join("images.json")),
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
    // It starts beside everything else; if it cannot, the first command says why.
    let _ = guard::prepare();
    let threads = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::Command(format!("cannot start: {error}")))?;
    tracing_log::start().map_err(|error| Failure::Command(error.to_string()))?;
    let mut panics = Panics::listen();
    let work = engine(flags, mode, ci_timeout, terminal, global, printer, &mut panics);
    let result = threads.block_on(AssertUnwindSafe(work).catch_unwind());
    // What still blocks a thread, such as an evaluation, is not waited for.
    threads.shutdown_background();
    result.unwrap_or_else(|_| {
        prompt::restore();
        Ok(report_defect("startup or shutdown", panics.last(), printer))
    })
}

thread_local! {
    static STOP: RefCell<Option<Pin<Box<dyn Future<Output = ()>>>>> = RefCell::default();
}

/// Makes the next engine on this thread stop when the future resolves, in addition to signals. For programs that
/// embed an engine.
pub fn end_when(stop: impl Future<Output = ()> + 'static) {
    STOP.set(Some(Box::pin(stop)));
}

async fn engine(
    flags: &StartFlags,
    mode: Mode,
    ci_timeout: Option<GoDuration>,
    terminal: Terminal,
    global: &Global,
    printer: Printer,
    panics: &mut Panics,
) -> Result<ExitCode, Failure> {
    let failure = |error: &dyn std::fmt::Display| Failure::Command(error.to_string());
    let mut signals = Signals::listen().map_err(|it| failure(&it))?;
    leftovers::clear();
    let token = dev_dir::token().map_err(|it| failure(&it))?;
    let port = flags.listen.port.tcp().map_err(|it| failure(&it))?;
    let options = server::ServerOptions {
        host: flags.listen.host.clone(),
        port,
        token,
        start_time: jiff::Timestamp::now(),
        config_file: None,
    };
    let bound = server::bind(options).await.map_err(|error| match error {
        server::BindError::PortTaken { port, .. } => {
            Failure::Command(instances::port_taken(port).unwrap_or_else(|| error.to_string()))
        }
        error => failure(&error),
    })?;
    let logs = LogStore::new(&logs::Options { level: level(global), ..logs::Options::default() });
    let menu = greet(&logs, &bound, terminal, printer);
    let settings = flags.settings(mode, ci_timeout, bound.port());
    let store = Store::new();
    let (handle, requests) = Handle::new();
    let (served, reasons) = (Logs::new(logs.clone()), handle.reasons().clone());
    let mut serving =
        bound.serve(store.clone(), served, handle).await.map_err(|it| failure(&it))?;

    let (mut engine, inbox) = Runtime::new(settings, store.clone(), logs.clone(), reasons.clone());
    let show = Show::start(&logs, flags.filter(), terminal, &menu, reasons.subscribe());
    let running = engine.run(inbox, requests, signals.first_or_asked());
    let exit = attend(running, &mut serving, panics, &logs).await;
    let summary = (terminal == Terminal::StreamAndSummary)
        .then(|| Summary::new(&reasons.table(), &store, engine.settings().started));
    let scrub = |text: &str| logs.scrubber().scrub(text).into_owned();
    let panic = panics.last().map(|it| it.scrubbed(scrub));

    let is_clean = tokio::select! {
        is_clean = engine.shut_down(GRACE) => is_clean,
        () = signals.first() => engine.shut_down(Duration::ZERO).await,
    };
    write_snapshot(flags, &serving.snapshot(), printer);
    serving.shutdown().await;
    show.finish().await;
    if let Some(summary) = summary.filter(|_| !matches!(exit, Exit::Broken(_))) {
        printer.out(&summary.text(&logs, colors() == Colors::On));
    }
    Ok(conclude(exit, mode, is_clean, panic, printer))
}

/// Runs the loop until it ends, or something else that nothing works without.
async fn attend(
    running: impl Future<Output = Exit>,
    serving: &mut Serving,
    panics: &mut Panics,
    logs: &LogStore,
) -> Exit {
    let mut running = pin!(AssertUnwindSafe(running).catch_unwind());
    loop {
        tokio::select! {
            exit = &mut running => return exit.unwrap_or(Exit::Broken("the main loop")),
            () = serving.broken() => return Exit::Broken("a server"),
            panic = panics.next() => {
                logs.writer("", "").error(&format!("Internal error: a task {panic}"));
            }
        }
    }
}

fn conclude(
    exit: Exit,
    mode: Mode,
    is_clean: bool,
    panic: Option<Panic>,
    printer: Printer,
) -> ExitCode {
    match (exit, mode) {
        (Exit::Broken(part), _) => report_defect(part, panic, printer),
        (Exit::Success, _) => {
            printer.out("SUCCESS. All workloads are healthy.\n");
            ExitCode::SUCCESS
        }
        (Exit::Failure(error), _) => Failure::Command(error).report(printer),
        (Exit::Stopped, Mode::Ci) => {
            Failure::Command("context canceled".to_owned()).report(printer)
        }
        (Exit::Stopped, Mode::Up) if is_clean => ExitCode::SUCCESS,
        (Exit::Stopped, Mode::Up) => ExitCode::from(engine_cli::FAILURE),
    }
}

/// Says which part of the engine is to blame for its end.
fn report_defect(part: &str, panic: Option<Panic>, printer: Printer) -> ExitCode {
    let cause = panic.map_or_else(|| "ended without a message".to_owned(), |it| it.to_string());
    printer.err(&format!(
        "Error: internal error: {part} {cause}\n\
         Everything it had started has been stopped. Please report this, with the line above.\n"
    ));
    ExitCode::from(DEFECT)
}

/// The first lines of the log, and of the terminal.
fn greet(logs: &LogStore, bound: &server::Bound, terminal: Terminal, printer: Printer) -> Menu {
    let exposure = bound.exposure();
    let log = logs.writer("", "");
    // Other programs look for Tilt's lines in the log; people read the name they know.
    log.info(&bound.greeting());
    log.info(&super::tilt_version());
    let tilt_banner = format!("{}\n{}\n", bound.greeting(), super::tilt_version());
    let (banner, seen) = match bound.page() {
        _ if is_tilt() => (tilt_banner, Checkpoint::default()),
        Some(page) => (format!("{} on {}\n", super::version_text(), page.url()), logs.checkpoint()),
        None => (format!("{}\n", super::version_text()), logs.checkpoint()),
    };
    if terminal != Terminal::Prompt && !is_tilt() {
        printer.out(&banner);
    }
    if let Some(exposure) = &exposure {
        log.warn(exposure);
    }
    let page = bound.page();
    // Only people read a terminal; what goes to a file or a pipe is a log as well.
    let is_seen = terminal != Terminal::LogFile && io::stdout().is_terminal();
    let link = page.filter(|it| is_seen && (exposure.is_some() || it.needs_key()));
    let link = link.map(prompt::elsewhere);
    if let (Terminal::Stream | Terminal::StreamAndSummary, Some(link)) = (terminal, &link) {
        printer.out(&format!("{link}\n"));
    }
    Menu {
        banner,
        seen,
        notes: [exposure, link].into_iter().flatten().collect::<Vec<_>>().join("\n"),
        page: page.cloned(),
    }
}

/// Whether those who read the log see colors.
fn colors() -> Colors {
    if has_colors() { Colors::On } else { Colors::Off }
}

fn level(global: &Global) -> Level {
    match (global.debug, global.verbose) {
        (true, _) => Level::Debug,
        (false, true) => Level::Verbose,
        (false, false) => Level::Info,
    }
}

fn write_snapshot(flags: &StartFlags, snapshot: &[u8], printer: Printer) {
    let path = &*to_path(&flags.output_snapshot_on_exit);
    if path.as_os_str().is_empty() {
        return;
    }
    let indented = serde_json::from_slice::<serde_json::Value>(snapshot);
    let text = indented.map_or_else(|_| snapshot.to_vec(), |it| format!("{it:#}\n").into_bytes());
    if let Err(error) = output_file::write(path, &text) {
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

    /// Waits for the next of them, or for what the caller of the engine waits for.
    async fn first_or_asked(&mut self) {
        match STOP.take() {
            None => self.first().await,
            Some(asked) => {
                tokio::select! {
                    () = self.first() => {}
                    () = asked => {}
                }
            }
        }
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
        reasons: watch::Receiver<ReasonTable>,
    ) -> Self {
        if terminal == Terminal::Prompt {
            if let Ok(prompt) = prompt::Running::start(logs, filter.clone(), menu, reasons) {
                return Self::Prompt(prompt);
            }
            if !is_tilt() {
                Printer.out(&menu.banner);
            }
        }
        let out: Box<dyn io::Write + Send> = match (terminal, LogFile::of_stdout()) {
            (Terminal::LogFile, Ok(file)) => Box::new(file),
            _ => Box::new(io::stdout()),
        };
        // Without a thread for it there is no output, but all the rest.
        let stream = TerminalStream::start(logs, menu.seen, filter, log_style(), out);
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

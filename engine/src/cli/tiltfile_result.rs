//! `alpha tiltfile-result`: evaluates the Tiltfile and prints the result as Tilt does.

use std::{
    io::Write,
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use builtins::{
    Evaluation, Request,
    host::{Host as _, Level},
};
use clap::Args;
use engine_cli::{FAILURE, Printer};
use engine_formats::golang::duration::{Duration, DurationError};
use engine_model::GoDuration;

use super::{
    Global, TILTFILE_FAILURE,
    interrupt::{self, OwnHost},
    json,
};
use crate::report;

/// Evaluate the Tiltfile and print the result as JSON.
///
/// Exit codes: 0 if the evaluation succeeded, with the result on stdout; 1 if something outside the
/// Tiltfile failed; 5 if the Tiltfile has an error, which is on stderr.
///
/// With -v, stderr shows what the Tiltfile prints even if it succeeds.
///
/// Two environment variables limit what a Tiltfile may use: `ENGINE_MAX_CALL_DEPTH`, the depth of
/// nested calls (default 100000), and `ENGINE_MAX_HEAP_MB`, the memory in megabytes (default 1024, or
/// what the machine can spare; 0 for no limit).
#[derive(Debug, Args)]
pub(super) struct TiltfileResultFlags {
    /// Path to the Tiltfile
    #[arg(short, long, default_value = "Tiltfile", env = "TILT_TILTFILE", hide_env = true)]
    file: String,
    /// Kubernetes context (default: the current one of your kubeconfig)
    #[arg(long)]
    context: Option<String>,
    /// Default namespace for Kubernetes objects
    #[arg(long)]
    namespace: Option<String>,
    /// Print how long each builtin call took instead of the result
    #[arg(short, long)]
    builtin_timings: bool,
    /// With --builtin-timings, leave out calls that took less than this, such as 10ms
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = duration)]
    dur_threshold: GoDuration,
    /// On failure, print the errors to stdout as JSON
    #[arg(long)]
    json: bool,
    /// Render charts and overlays again, even if they have not changed
    #[arg(long)]
    no_cache: bool,
    /// Arguments for the Tiltfile
    #[arg(trailing_var_arg = false, value_name = "ARGS")]
    args: Vec<String>,
    /// Arguments for the Tiltfile, after `--`
    #[arg(last = true, value_name = "ARGS")]
    more_args: Vec<String>,
}

fn duration(text: &str) -> Result<GoDuration, DurationError> {
    Duration::parse(text).map(|it| GoDuration(it.0))
}

pub(super) fn run(flags: &TiltfileResultFlags, global: &Global, printer: Printer) -> ExitCode {
    let log = Log::new(printer, global.verbose || global.debug, global.debug);
    let host = {
        let log = Arc::clone(&log);
        OwnHost::new(move |level, text: &str| log.write(level, text), printer)
    };
    let host = match host {
        Ok(host) => host,
        Err(failure) => return failure.report(printer),
    };

    let started = Instant::now();
    let request = request(flags);
    let evaluation = builtins::evaluate(&request, host.shared());
    if host.canceled() {
        return interrupt::finish(&host, printer);
    }
    if let Some(failure) = &evaluation.failure {
        log.flush();
        if flags.json {
            let mut out = printer.out_stream();
            let _ = json::write(&mut out, &report::machine_readable(failure))
                .and_then(|()| out.flush());
        } else {
            printer.err(&report::for_people(failure));
        }
        return ExitCode::from(TILTFILE_FAILURE);
    }
    if flags.builtin_timings {
        return print_timings(&evaluation, flags.dur_threshold, started, printer);
    }
    let mut out = printer.out_stream();
    // A reader that has gone needs no result.
    let _ = json::write(&mut out, &evaluation.load).and_then(|()| out.flush());
    ExitCode::SUCCESS
}

fn request(flags: &TiltfileResultFlags) -> Request {
    let mut request = Request::new(&flags.file, "alpha tiltfile-result");
    request.args = flags.args.iter().chain(&flags.more_args).cloned().collect();
    request.context.clone_from(&flags.context);
    request.namespace.clone_from(&flags.namespace);
    request.use_cache = !flags.no_cache;
    request.record_timings = flags.builtin_timings;
    request
}

fn print_timings(
    evaluation: &Evaluation,
    threshold: GoDuration,
    started: Instant,
    printer: Printer,
) -> ExitCode {
    if evaluation.calls.is_empty() {
        printer.err("Error: executed Tiltfile, but recorded no Builtin calls\n");
        return ExitCode::from(FAILURE);
    }
    let mut out = printer.out_stream();
    for call in evaluation.calls.iter().filter(|it| it.duration >= threshold) {
        let _ = writeln!(out, "- {}{} took {}", call.name, call.args, call.duration);
    }
    let total = GoDuration(i64::try_from(started.elapsed().as_nanos()).unwrap_or(i64::MAX));
    let _ = writeln!(out, "Tiltfile execution took {total}").and_then(|()| out.flush());
    ExitCode::SUCCESS
}

/// The Tiltfile's own output: shown at once, or kept until something fails.
struct Log {
    printer: Printer,
    show: bool,
    debug: bool,
    kept: Mutex<String>,
}

impl Log {
    fn new(printer: Printer, show: bool, debug: bool) -> Arc<Self> {
        Arc::new(Self { printer, show, debug, kept: Mutex::default() })
    }

    fn write(&self, level: Level, text: &str) {
        if level == Level::Debug && !self.debug {
            return;
        }
        if self.show {
            self.printer.err(text);
        } else {
            self.kept.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
        }
    }

    fn flush(&self) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        self.printer.err(&std::mem::take(&mut *kept));
    }
}

//! `logs`: prints what a running instance has logged.

use std::{
    io,
    time::{Duration, SystemTime},
};

use clap::Args;
use engine_api::log::{Filter, query::Query};
use engine_files::dev_dir;
use engine_formats::golang::duration::Duration as GoDuration;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::oneshot,
};

use super::{Printer, connect::ConnectFlags, failure::Failure, is_tilt, names, values};

mod output;
mod own_span;
mod source;

use output::Output;
pub(crate) use own_span::OwnSpan;

/// Print the logs of a running instance.
///
/// RESOURCES limits the output to these resources.
#[derive(Debug, Args)]
pub struct LogsFlags {
    /// Only lines of these resources
    #[arg(value_name = "RESOURCES")]
    resources: Vec<String>,
    /// Follow the log until Ctrl-C
    #[arg(short, long)]
    follow: bool,
    /// Only lines of this level: warn or error
    #[arg(long, default_value = "", hide_default_value = true, value_name = "LEVEL",
        value_parser = values::log_level)]
    level: String,
    /// Only lines from this source: all, build or runtime
    #[arg(long, default_value = "all", value_name = "SOURCE", value_parser = values::log_source)]
    source: String,
    /// Only lines from the last …, such as 5m
    #[arg(long, default_value = "", hide_default_value = true, value_name = "DURATION")]
    #[arg(allow_hyphen_values = true)]
    since: String,
    /// Only the last N of the lines so far; -1 for all
    #[arg(long, default_value = "-1", value_name = "LINES", value_parser = values::int)]
    #[arg(allow_hyphen_values = true)]
    tail: i64,
    /// Print each line as a JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// Runs the command.
pub fn run(flags: &LogsFlags, printer: Printer) -> Result<(), Failure> {
    let query = query(flags)?;
    if !is_tilt() {
        names::check(&flags.resources, &flags.connect)?;
    }
    // It is looked for before there is a runtime.
    let _ = flags.connect.port();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|it| Failure::Command(it.to_string()))?;
    let token = dev_dir::token().map_err(|it| Failure::Command(it.to_string()))?;
    let mut output = Output::new(&query, flags.json, printer.out_stream(), printer);
    runtime.block_on(async {
        tokio::select! {
            result = source::print(&flags.connect, &token, &query, &mut output) => result,
            result = interrupted() => result,
        }
    })?;
    output.finish();
    Ok(())
}

/// Shows what updates of resources log until `end` comes, with all that was logged before that; gives what came.
///
/// The log is a service, not the point: where it cannot be shown, `end` is waited for nevertheless.
pub(crate) fn until(
    connect: &ConnectFlags,
    resources: &[String],
    span: OwnSpan,
    mut end: oneshot::Receiver<Result<(), Failure>>,
    printer: Printer,
) -> Result<(), Failure> {
    let failed = |it: io::Error| Failure::Command(it.to_string());
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let token = dev_dir::token().map_err(failed)?;
    let filter = Filter { resources: resources.to_vec(), since: span.since, ..Filter::default() };
    let query = Query { filter, tail: None, follow: true };
    let mut output = Output::new(&query, false, printer.out_stream(), printer).of(span);
    let ended = runtime.block_on(async {
        match source::print_until(connect, &token, &query, &mut end, &mut output).await {
            Some(ended) => ended,
            None => end.await.ok(),
        }
    });
    output.finish();
    ended.unwrap_or_else(|| Err(Failure::Command("the update was not followed".to_owned())))
}

/// Waits for a signal that asks the command to end, which is no failure.
async fn interrupted() -> Result<(), Failure> {
    let listen = |kind| signal(kind).map_err(|it| Failure::Command(it.to_string()));
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let mut hangup = listen(SignalKind::hangup())?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
    Ok(())
}

fn query(flags: &LogsFlags) -> Result<Query, Failure> {
    let mut filter = Filter::new(&flags.resources, &flags.level, &flags.source);
    filter.since = since(&flags.since, SystemTime::now())?;
    if flags.tail < -1 {
        let message = format!("--tail must be -1 (no limit) or >= 0, got {}", flags.tail);
        return Err(Failure::Command(message));
    }
    Ok(Query { filter, tail: u64::try_from(flags.tail).ok(), follow: flags.follow })
}

/// The time that a flag means, in microseconds since 1970.
fn since(flag: &str, now: SystemTime) -> Result<u64, Failure> {
    if flag.is_empty() {
        return Ok(0);
    }
    let duration = GoDuration::parse(flag).map_err(|it| Failure::Command(it.to_string()))?;
    if duration.0 == 0 {
        return Ok(0);
    }
    let Ok(nanos) = u64::try_from(duration.0) else {
        let message = format!("--since duration must be positive, got {duration}");
        return Err(Failure::Command(message));
    };
    let since = now.checked_sub(Duration::from_nanos(nanos)).unwrap_or(SystemTime::UNIX_EPOCH);
    let since = since.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Ok(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;

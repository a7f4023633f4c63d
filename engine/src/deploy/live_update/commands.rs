//! Commands in a container after its files are there, when no helper runs them.

use engine_core::live_update::{Container, ContainerCommand, RunEnd, RunError};
use engine_formats::golang::quote::{command_line, quote};

use super::target::ContainerTarget;
use crate::logs::LogWriter;

/// Says that a command begins.
pub(super) fn announce(runs: &[ContainerCommand], at: usize, log: &LogWriter) {
    if let Some(run) = runs.get(at).filter(|it| !it.echo_off) {
        log.info(&format!("[CMD {}/{}] {}", at + 1, runs.len(), run.argv.join(" ")));
        log.info(&format!("RUNNING: {}", command_line(&run.argv)));
    }
}

/// Runs commands one after the other, up to the first that fails.
pub(super) async fn run(
    target: &ContainerTarget,
    container: &Container,
    runs: &[ContainerCommand],
    log: &LogWriter,
) -> Result<(), RunError> {
    for (at, run) in runs.iter().enumerate() {
        announce(runs, at, log);
        let end = target.execute(container, run, log).await?;
        if let Some(error) = error_of(container, &run.argv, end) {
            return Err(error);
        }
    }
    Ok(())
}

/// What the end of a command means; nothing if it went well.
pub(super) fn error_of(container: &Container, argv: &[String], end: RunEnd) -> Option<RunError> {
    RunError::of(container, argv, &quote(&command_line(argv)), end)
}

/// The words of container runtimes for a program that does not exist.
pub(super) fn is_not_found(message: &str) -> bool {
    message.contains("executable file not found")
        || (message.contains("OCI runtime exec failed") && message.contains("no such file"))
}

//! Commands in a container after its files are there, when no helper runs them.

use engine_core::live_update::{Container, Run, RunError};

use super::place::Place;
use crate::logs::LogWriter;

/// Says that a command begins.
pub(super) fn announce(runs: &[Run], at: usize, log: &LogWriter) {
    if let Some(run) = runs.get(at).filter(|it| !it.echo_off) {
        log.info(&format!("[CMD {}/{}] {}", at + 1, runs.len(), run.argv.join(" ")));
        log.info(&format!("RUNNING: {}", run.text()));
    }
}

/// Runs commands one after the other, up to the first that fails.
pub(super) async fn run(
    place: &Place,
    container: &Container,
    runs: &[Run],
    log: &LogWriter,
) -> Result<(), RunError> {
    for (at, run) in runs.iter().enumerate() {
        announce(runs, at, log);
        let end = place.execute(container, run, log).await?;
        if let Some(error) = RunError::of(container, &run.argv, end) {
            return Err(error);
        }
    }
    Ok(())
}

/// The words of container runtimes for a program that does not exist.
pub(super) fn is_not_found(message: &str) -> bool {
    message.contains("executable file not found")
        || (message.contains("OCI runtime exec failed") && message.contains("no such file"))
}

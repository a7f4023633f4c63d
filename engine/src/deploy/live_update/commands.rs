//! Commands in a container after its files are there, when no helper runs them.

use engine_core::live_update::{Container, Run, RunEnd, RunError};
use engine_docker::{Docker, DockerError, Exec};

use crate::{
    exec::Text,
    logs::{Level, LogWriter},
};

/// Says that a command begins.
pub(super) fn announce(runs: &[Run], at: usize, log: &LogWriter) {
    if let Some(run) = runs.get(at).filter(|it| !it.echo_off) {
        log.info(&format!("[CMD {}/{}] {}", at + 1, runs.len(), run.argv.join(" ")));
        log.info(&format!("RUNNING: {}", run.text()));
    }
}

/// Runs commands one after the other, up to the first that fails.
pub(super) async fn run(
    docker: &Docker,
    container: &Container,
    runs: &[Run],
    log: &LogWriter,
) -> Result<(), RunError> {
    for (at, run) in runs.iter().enumerate() {
        announce(runs, at, log);
        let end = execute(docker, container, run, log).await?;
        if let Some(error) = RunError::of(container, &run.argv, end) {
            return Err(error);
        }
    }
    Ok(())
}

async fn execute(
    docker: &Docker,
    container: &Container,
    run: &Run,
    log: &LogWriter,
) -> Result<RunEnd, RunError> {
    let exec = Exec { argv: run.argv.clone(), ..Exec::default() };
    let (mut text, mut is_missing) = (Text::default(), false);
    let mut write = |it: &str| {
        is_missing |= is_not_found(it);
        log.write(Level::Info, it);
    };
    let ended =
        docker.exec(&container.id, &exec, None, &mut |it| text.take(&it.bytes, &mut write)).await;
    match ended {
        Ok(126 | 127) if is_missing => Ok(RunEnd::NotStarted),
        Ok(code) => Ok(RunEnd::Exited(i32::try_from(code).unwrap_or(-1))),
        Err(DockerError::Refused { message, .. }) if is_not_found(&message) => {
            Ok(RunEnd::NotStarted)
        }
        Err(error) => Err(RunError::Container(error.to_string())),
    }
}

/// Docker's words for a program that does not exist.
fn is_not_found(message: &str) -> bool {
    message.contains("executable file not found")
        || (message.contains("OCI runtime exec failed") && message.contains("no such file"))
}

//! Commands of `k8s_custom_deploy`: they apply and delete instead of us.

use std::{sync::Arc, time::Duration};

use builtins::host::{Command, Host as _, OsHost, Output as Stream, RunError};
use engine_formats::{
    golang::quote::command_line,
    kubernetes::{self, ParseError},
};
use engine_model::path::to_text;
use engine_model::{ApplyCmd, GoDuration};
use serde_json::Value;
use tokio::task::spawn_blocking;

use crate::{
    deploy::{
        commands::{Output, Surroundings},
        pipeline::Step,
    },
    exec::Guarded,
    logs::Level,
};

/// So much of what a command printed is shown.
const SHOWN: usize = 500;

/// Why a command did not apply or delete.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The apply command failed.
    #[error("apply command exited with status {code}{}", shown(stdout))]
    ApplyExit {
        /// Its exit code.
        code: i32,
        /// What it printed.
        stdout: String,
    },
    /// The apply command took too long.
    #[error(
        "apply command timed out after {limit} - see https://docs.tilt.dev/api.html#api.update_settings for how to \
         increase{}",
        shown(stdout)
    )]
    ApplyTimeout {
        /// How long it may take.
        limit: GoDuration,
        /// What it printed.
        stdout: String,
    },
    /// The apply command could not be run.
    #[error("apply command failed: {0}")]
    Apply(#[source] RunError),
    /// The apply command did not print objects.
    #[error("apply command returned malformed YAML: {source}\nstdout:\n{}\n", ellipsis(stdout))]
    Yaml {
        /// What is wrong with it.
        source: ParseError,
        /// What it printed.
        stdout: String,
    },
    /// The delete command failed.
    #[error("exit status {0}")]
    DeleteExit(i32),
    /// The delete command could not be run.
    #[error(transparent)]
    Delete(RunError),
}

/// How a command ended.
struct Ended {
    result: Result<i32, RunError>,
    stdout: Vec<u8>,
}

/// Ends the command with whoever waits for it.
struct Canceling(Arc<OsHost>);

impl Drop for Canceling {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Runs the command that applies; what it prints are the objects that it applied.
pub async fn apply(
    cmd: &ApplyCmd,
    surroundings: &Surroundings,
    images: &[String],
    limit: Duration,
    step: &Step,
) -> Result<Vec<Value>, CommandError> {
    step.say(&format!("Running cmd: {}", command_line(&cmd.args)));
    let env = [cmd.env.clone().unwrap_or_default(), images.to_vec()].concat();
    let ended = run(cmd, surroundings, &env, limit, step.output(), false).await;
    let stdout = String::from_utf8_lossy(&ended.stdout).into_owned();
    match ended.result {
        Ok(0) => match kubernetes::parse(&stdout) {
            Ok(it) => Ok(it.into_iter().map(kubernetes::Object::into_value).collect()),
            Err(source) => Err(CommandError::Yaml { source, stdout }),
        },
        Ok(code) => Err(CommandError::ApplyExit { code, stdout }),
        Err(RunError::TooLong(_)) => {
            let limit = GoDuration(i64::try_from(limit.as_nanos()).unwrap_or(i64::MAX));
            Err(CommandError::ApplyTimeout { limit, stdout })
        }
        Err(error) => Err(CommandError::Apply(error)),
    }
}

/// Runs the command that deletes; everything that it prints is shown.
pub async fn delete(
    cmd: &ApplyCmd,
    surroundings: &Surroundings,
    limit: Duration,
    output: &Output,
) -> Result<(), CommandError> {
    let command = command_line(&cmd.args);
    output.write(Level::Info, &format!("Running cmd: {command}\n"));
    let env = cmd.env.clone().unwrap_or_default();
    let ended = run(cmd, surroundings, &env, limit, output.clone(), true).await;
    match ended.result {
        Ok(0) => Ok(()),
        Ok(code) => Err(CommandError::DeleteExit(code)),
        Err(error) => Err(CommandError::Delete(error)),
    }
}

async fn run(
    cmd: &ApplyCmd,
    surroundings: &Surroundings,
    env: &[String],
    limit: Duration,
    output: Output,
    shows_stdout: bool,
) -> Ended {
    let run = surroundings.run(cmd.args.clone(), cmd.dir.clone().into(), env);
    let host = OsHost::new(run.env.clone(), Box::new(|_, _| {}));
    let host = Arc::new(host.with_launcher(Box::new(Guarded)));
    let _canceling = Canceling(Arc::clone(&host));
    let command =
        Command { argv: run.argv, dir: to_text(&run.dir).into_owned(), env: run.env, stdin: None };
    let work = spawn_blocking(move || {
        let mut stdout = Vec::new();
        let result = host.run_within(&command, limit, &mut |stream, bytes| {
            let is_stdout = matches!(stream, Stream::Stdout);
            if is_stdout {
                stdout.extend_from_slice(bytes);
            }
            if !is_stdout || shows_stdout {
                output.write(Level::Info, &String::from_utf8_lossy(bytes));
            }
        });
        Ended { result, stdout }
    });
    work.await.unwrap_or(Ended { result: Err(RunError::Canceled), stdout: Vec::new() })
}

/// What a command printed, if anything.
fn shown(stdout: &str) -> String {
    match stdout {
        "" => String::new(),
        text => format!("\nstdout:\n{}\n", ellipsis(text)),
    }
}

/// The beginning and the end of a long text.
fn ellipsis(text: &str) -> String {
    if text.len() <= SHOWN {
        return text.to_owned();
    }
    let start = text.floor_char_boundary(SHOWN / 2);
    let end = text.ceil_char_boundary(text.len() - SHOWN / 2);
    format!("{}\n... [truncated by Tilt] ...\n{}", &text[..start], &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_long_text_is_left_out() {
        assert_eq!(ellipsis("short"), "short");
        let text = format!("{}é{}", "a".repeat(400), "b".repeat(400));
        let want = format!("{}\n... [truncated by Tilt] ...\n{}", "a".repeat(250), "b".repeat(250));
        assert_eq!(ellipsis(&text), want);
    }
}

//! Commands in containers, with their input and output attached.

use std::{fmt, pin::Pin, time::Duration};

use bollard::exec::{CreateExecOptions, StartExecOptions, StartExecResults};
use futures_util::{StreamExt, future};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use super::{Answers, Output};
use crate::{client::Docker, error::DockerError};

/// How long to wait before asking again how a command has ended.
const EXIT_INTERVAL: Duration = Duration::from_millis(2);

/// A command in a container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exec {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// As whom, if not as the container's own user.
    pub user: Option<String>,
    /// Where, if not in the container's own directory.
    pub workdir: Option<String>,
    /// `KEY=VALUE` pairs on top of the container's own.
    pub env: Vec<String>,
    /// Whether it gets a terminal, which joins its output streams.
    pub has_tty: bool,
}

/// A command that runs, with its streams.
pub struct Attached {
    /// What names it.
    pub id: String,
    /// What it writes; the end is its end.
    pub output: Answers<Output>,
    /// What it reads.
    pub input: Pin<Box<dyn AsyncWrite + Send>>,
}

impl fmt::Debug for Attached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attached").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Docker {
    /// Starts a command in a container and stays attached to it.
    pub async fn attach(&self, container: &str, exec: &Exec) -> Result<Attached, DockerError> {
        let client = self.client().await?;
        let options = CreateExecOptions {
            attach_stdin: Some(true),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            tty: Some(exec.has_tty),
            env: Some(exec.env.clone()),
            cmd: Some(exec.argv.clone()),
            user: exec.user.clone(),
            working_dir: exec.workdir.clone(),
            ..CreateExecOptions::default()
        };
        let created = client.create_exec(container, options).await;
        let id = created.map_err(|error| self.explain(error))?.id;
        let options = StartExecOptions { tty: exec.has_tty, ..StartExecOptions::default() };
        let started = client.start_exec(&id, Some(options)).await;
        match started.map_err(|error| self.explain(error))? {
            StartExecResults::Attached { output, input } => {
                Ok(Attached { id, output: self.answers(output), input })
            }
            StartExecResults::Detached => {
                Err(DockerError::Protocol("a command was started without its streams".into()))
            }
        }
    }

    /// How a command has ended; `None` while it runs.
    pub async fn exit_code(&self, exec: &str) -> Result<Option<i64>, DockerError> {
        let found = self.client().await?.inspect_exec(exec).await;
        let found = found.map_err(|error| self.explain(error))?;
        Ok(if found.running == Some(true) { None } else { found.exit_code })
    }

    /// Runs a command to its end; gives its exit code. Dropping the future does not end the
    /// command, as Docker cannot do that.
    pub async fn exec(
        &self,
        container: &str,
        exec: &Exec,
        stdin: Option<&mut (dyn AsyncRead + Send + Unpin)>,
        output: &mut (dyn FnMut(Output) + Send),
    ) -> Result<i64, DockerError> {
        let Attached { id, output: mut answers, mut input } = self.attach(container, exec).await?;
        let writing = async {
            if let Some(stdin) = stdin {
                // A command that does not read all of it is none the worse for that.
                let _ = tokio::io::copy(stdin, &mut input).await;
            }
            let _ = input.shutdown().await;
        };
        let reading = async {
            while let Some(piece) = answers.next().await {
                output(piece?);
            }
            Ok::<(), DockerError>(())
        };
        future::join(writing, reading).await.1?;
        self.ended(&id).await
    }

    /// How a command has ended whose output is over.
    pub(crate) async fn ended(&self, exec: &str) -> Result<i64, DockerError> {
        loop {
            if let Some(code) = self.exit_code(exec).await? {
                return Ok(code);
            }
            tokio::time::sleep(EXIT_INTERVAL).await;
        }
    }
}

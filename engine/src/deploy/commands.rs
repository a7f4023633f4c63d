//! Commands of updates that build and deploy: in which surroundings they run, and how they end.

use std::{
    io,
    path::PathBuf,
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
};

use engine_model::path::to_os;
use tokio::sync::oneshot;

use crate::{
    audit::Audit,
    exec::{
        self, Lifetime,
        command::{self, Ended, Event, Run},
        env::Colors,
    },
    logs::{Level, LogWriter},
};

/// What all commands find around them.
#[derive(Clone, Debug)]
pub struct Surroundings {
    base: Arc<[(String, String)]>,
    host: String,
    port: u16,
    colors: Colors,
    /// Where commands are noted that could write to a cluster, and why they run.
    audit: Option<(Audit, Arc<str>)>,
}

impl Surroundings {
    /// Surroundings with this environment; `host` and `port` are where the engine answers.
    pub fn new(base: Vec<(String, String)>, host: &str, port: u16, colors: Colors) -> Self {
        let base = exec::own_name::findable(base);
        Self { base: base.into(), host: host.to_owned(), port, colors, audit: None }
    }

    /// The same, with a note about every command that is run.
    #[must_use]
    pub fn noted(self, audit: Audit, cause: &str) -> Self {
        Self { audit: Some((audit, cause.into())), ..self }
    }

    /// A variable.
    pub fn env(&self, name: &str) -> Option<&str> {
        self.base.iter().find(|it| it.0 == name).map(|it| it.1.as_str())
    }

    /// A command in these surroundings, with more variables.
    pub fn run(&self, argv: Vec<String>, dir: PathBuf, env: &[String]) -> Run {
        if let Some((audit, cause)) = &self.audit {
            audit.command(&argv, cause);
        }
        Run {
            argv,
            dir,
            env: exec::env::child_env(&self.base, &self.host, self.port, self.colors, env),
            path: self.env("PATH").unwrap_or_default().to_owned(),
            probe: None,
            lifetime: Lifetime::Task,
            is_silent: false,
        }
    }

    /// Whether a command that says nothing of interest succeeds.
    pub async fn succeeds(&self, argv: Vec<String>) -> bool {
        let Some(mut command) = self.command(&argv) else { return false };
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.await.is_ok_and(|it| it.success())
    }

    /// What a command answers that is asked something.
    pub async fn answer(&self, argv: &[&str]) -> io::Result<CommandOutput> {
        let mut command =
            self.command(argv).ok_or_else(|| io::Error::other("there is no command"))?;
        let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().await?;
        Ok(CommandOutput {
            is_success: output.status.success(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    fn command(&self, argv: &[impl AsRef<str>]) -> Option<tokio::process::Command> {
        let (program, args) = argv.split_first()?;
        let mut command = tokio::process::Command::new(to_os(program.as_ref()));
        command
            .args(args.iter().map(|it| to_os(it.as_ref())))
            .env_clear()
            .envs(self.base.iter().map(|(name, value)| (to_os(name), to_os(value))))
            .stdin(Stdio::null())
            .kill_on_drop(true);
        Some(command)
    }
}

/// What a command said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandOutput {
    /// Whether it ended well.
    pub is_success: bool,
    /// What it printed.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
}

/// Where a command's output goes.
#[derive(Clone)]
pub struct Output {
    /// Messages below this level are of no interest.
    pub level: Level,
    write: Arc<dyn Fn(Level, &str) + Send + Sync>,
    /// The log in which everything ends up, if it is one.
    end: Option<LogWriter>,
}

impl Output {
    /// Writes with a function.
    pub fn new(level: Level, write: impl Fn(Level, &str) + Send + Sync + 'static) -> Self {
        Self { level, write: Arc::new(write), end: None }
    }

    /// The same, where everything that is written ends up in a log.
    #[must_use]
    pub fn into_log(self, log: LogWriter) -> Self {
        Self { end: Some(log), ..self }
    }

    /// Writes something.
    pub fn write(&self, level: Level, text: &str) {
        (self.write)(level, text);
    }

    /// The same, without some of the lines.
    #[must_use]
    pub fn without(&self, is_unwanted: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        let write = Arc::clone(&self.write);
        let line = Mutex::new(String::new());
        let lines = Self::new(self.level, move |level, text| {
            let mut line = line.lock().unwrap_or_else(PoisonError::into_inner);
            for part in text.split_inclusive('\n') {
                line.push_str(part);
                if part.ends_with('\n') {
                    let whole = std::mem::take(&mut *line);
                    if !is_unwanted(&whole) {
                        write(level, &whole);
                    }
                }
            }
        });
        Self { end: self.end.clone(), ..lines }
    }
}

impl From<LogWriter> for Output {
    fn from(log: LogWriter) -> Self {
        let writer = log.clone();
        Self::new(log.level(), move |level, text| writer.write(level, text)).into_log(log)
    }
}

/// Runs a command to its end. Who stops waiting stops the command.
pub async fn to_end(run: Run, output: Output) -> Ended {
    let (sender, ended) = oneshot::channel();
    let sender = Mutex::new(Some(sender));
    let _handle = command::start_into(
        output.end.clone(),
        run,
        move |level, text| (output.write)(level, text),
        move |event| {
            if let Event::Ended(ended) = event {
                let sender = sender.lock().ok().and_then(|mut it| it.take());
                if let Some(sender) = sender {
                    // Nobody waits any longer when the update was cancelled.
                    let _ = sender.send(ended);
                }
            }
        },
    );
    ended.await.unwrap_or_else(|_| Ended {
        pid: 0,
        exit_code: -1,
        reason: "the engine has ended".to_owned(),
        started_at: None,
        finished_at: std::time::SystemTime::now(),
        stopped: true,
        last_line: String::new(),
    })
}

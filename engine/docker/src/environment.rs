//! What of the process that embeds this package matters here: its variables, and how it starts
//! programs. Nothing else asks for either.

use std::{collections::HashMap, fmt, path::PathBuf, sync::Arc};

use engine_model::path::{to_os, to_path, to_text};
use tokio::process::Command;

type Launch = dyn Fn(&str) -> Command + Send + Sync;

/// Variables and a way to start programs.
#[derive(Clone)]
pub struct Environment {
    vars: Arc<HashMap<String, String>>,
    launch: Arc<Launch>,
}

impl Environment {
    /// Uses these variables, and starts programs directly.
    pub fn new(vars: impl IntoIterator<Item = (String, String)>) -> Self {
        let launch = Arc::new(|program: &str| Command::new(to_os(program)));
        Self { vars: Arc::new(vars.into_iter().collect()), launch }
    }

    /// Uses the variables of this process.
    pub fn of_process() -> Self {
        let text = |it: std::ffi::OsString| to_text(&it).into_owned();
        Self::new(std::env::vars_os().map(|(name, value)| (text(name), text(value))))
    }

    /// Starts programs with the commands that `launch` makes of their names.
    #[must_use]
    pub fn starting_with(self, launch: impl Fn(&str) -> Command + Send + Sync + 'static) -> Self {
        Self { launch: Arc::new(launch), ..self }
    }

    /// A variable that is set to something.
    pub fn var(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(String::as_str).filter(|it| !it.is_empty())
    }

    /// A command with exactly these variables, which ends when its handle is dropped.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = (self.launch)(program);
        let vars = self.vars.iter().map(|(name, value)| (to_os(name), to_os(value)));
        command.env_clear().envs(vars).kill_on_drop(true);
        command
    }

    /// The directory of Docker's own configuration.
    pub(crate) fn config_dir(&self) -> Option<PathBuf> {
        let home = || self.var("HOME").map(|it| to_path(it).join(".docker"));
        self.var("DOCKER_CONFIG").map(|it| to_path(it).into_owned()).or_else(home)
    }
}

impl fmt::Debug for Environment {
    /// Shows no values, as some of them are secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment").field("vars", &self.vars.len()).finish_non_exhaustive()
    }
}

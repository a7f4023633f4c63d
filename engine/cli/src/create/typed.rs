//! `create cmd`, `ext`, `filewatch` and `repo`: creates objects from arguments.

use std::{env, path::Path};

use clap::Args;
use engine_api::Kind;
use engine_formats::golang::path;
use serde_json::{Value, json};

use crate::{
    Printer,
    client::ApiClient,
    connect::ConnectFlags,
    failure::Failure,
    output::{self, Outcome, OutputFlags},
};

/// Create a local command.
///
/// COMMAND is a program with its arguments, not a shell line; for that, use sh -c LINE.
#[derive(Debug, Args)]
#[command(override_usage = "{} [flags] NAME COMMAND [ARG...]")]
pub(super) struct CmdFlags {
    /// The name of the object, then the command and its arguments
    #[arg(required = true, num_args = 2.., value_name = "NAME COMMAND [ARG]")]
    words: Vec<String>,
    /// Working directory of the command (default: the current one)
    #[arg(short, long, value_name = "DIR", default_value = "", hide_default_value = true)]
    workdir: String,
    /// Environment variable as NAME=VALUE
    #[arg(short, long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// `FileWatch` objects that restart the command
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    filewatch: Vec<String>,
    #[command(flatten)]
    common: Common,
}

/// Register an extension.
#[derive(Debug, Args)]
#[command(override_usage = "{} [flags] NAME [-- ARG...]")]
pub(super) struct ExtFlags {
    /// The name of the extension
    #[arg(required = true, num_args = 1.., value_name = "NAME")]
    words: Vec<String>,
    /// Arguments of the extension, after --
    #[arg(last = true, value_name = "ARGS")]
    args: Vec<String>,
    /// Name of the extension repository
    #[arg(long, value_name = "NAME", default_value = "default")]
    repo: String,
    /// Path in the repository (default: the name)
    #[arg(long, value_name = "PATH", default_value = "", hide_default_value = true)]
    path: String,
    #[command(flatten)]
    common: Common,
}

/// Watch files.
#[derive(Debug, Args)]
#[command(override_usage = "{} [flags] NAME PATH...")]
pub(super) struct FileWatchFlags {
    /// The name of the object, then what to watch
    #[arg(required = true, num_args = 2.., value_name = "NAME PATH")]
    words: Vec<String>,
    /// Patterns to ignore, in .dockerignore syntax
    #[arg(long, value_delimiter = ',', value_name = "PATTERNS")]
    ignore: Vec<String>,
    #[command(flatten)]
    common: Common,
}

/// Register an extension repository.
#[derive(Debug, Args)]
#[command(override_usage = "{} [flags] NAME URL")]
pub(super) struct RepoFlags {
    /// The name of the object, then the URL
    #[arg(required = true, num_args = 2.., value_name = "NAME URL")]
    words: Vec<String>,
    /// Git branch, tag or commit
    #[arg(long = "ref", value_name = "REF", default_value = "", hide_default_value = true)]
    git_ref: String,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
struct Common {
    #[command(flatten)]
    output: OutputFlags,
    #[command(flatten)]
    connect: ConnectFlags,
}

impl Common {
    fn create(
        &self,
        kind: Kind,
        name: &str,
        spec: &Value,
        printer: Printer,
    ) -> Result<(), Failure> {
        let mut outcome = Outcome::new(&self.output).map_err(Failure::native)?;
        let client = ApiClient::new(&self.connect)?;
        let object = json!({
            "apiVersion": output::api_version(),
            "kind": kind.name(),
            "metadata": {"name": name},
            "spec": spec,
        });
        let created = client.create(kind, &object, &[]).map_err(Failure::native)?;
        printer.out(&outcome.text(&created, "created").map_err(Failure::native)?);
        Ok(())
    }
}

impl CmdFlags {
    pub(super) fn run(&self, printer: Printer) -> Result<(), Failure> {
        let [name, command @ ..] = self.words.as_slice() else { return Ok(()) };
        let cwd = current_dir()?;
        let dir = if self.workdir.is_empty() { cwd } else { in_folder(&cwd, &self.workdir) };
        let mut restart_on = json!({});
        if !self.filewatch.is_empty() {
            restart_on["fileWatches"] = json!(self.filewatch);
        }
        let mut spec = json!({"args": command, "dir": dir, "restartOn": restart_on});
        if !self.env.is_empty() {
            spec["env"] = json!(self.env);
        }
        self.common.create(Kind::Cmd, name, &spec, printer)
    }
}

impl ExtFlags {
    pub(super) fn run(&self, printer: Printer) -> Result<(), Failure> {
        let name = self.words.first().map(String::as_str).unwrap_or_default();
        let path = if self.path.is_empty() { name } else { &self.path };
        let mut spec = json!({"repoName": self.repo, "repoPath": path});
        if !self.args.is_empty() {
            spec["args"] = json!(self.args);
        }
        self.common.create(Kind::Extension, name, &spec, printer)
    }
}

impl FileWatchFlags {
    pub(super) fn run(&self, printer: Printer) -> Result<(), Failure> {
        let [name, paths @ ..] = self.words.as_slice() else { return Ok(()) };
        let cwd = current_dir()?;
        let paths: Vec<String> = paths.iter().map(|it| in_folder(&cwd, it)).collect();
        let mut spec = json!({"watchedPaths": paths});
        if !self.ignore.is_empty() {
            spec["ignores"] = json!([{"basePath": cwd, "patterns": self.ignore}]);
        }
        self.common.create(Kind::FileWatch, name, &spec, printer)
    }
}

impl RepoFlags {
    pub(super) fn run(&self, printer: Printer) -> Result<(), Failure> {
        let [name, url, ..] = self.words.as_slice() else { return Ok(()) };
        let mut spec = json!({"url": url});
        if !self.git_ref.is_empty() {
            spec["ref"] = json!(self.git_ref);
        }
        self.common.create(Kind::ExtensionRepo, name, &spec, printer)
    }
}

/// The current folder under the name that the shell knows it by.
fn current_dir() -> Result<String, Failure> {
    let real = env::current_dir().map_err(|it| Failure::Command(it.to_string()))?;
    let named = env::var_os("PWD").map(Into::<std::path::PathBuf>::into);
    let same = |it: &std::path::PathBuf| {
        it.is_absolute() && it.canonicalize().ok() == real.canonicalize().ok()
    };
    let dir = named.filter(same).unwrap_or(real);
    Ok(engine_model::path::to_text(&dir).into_owned())
}

fn in_folder(folder: &str, name: &str) -> String {
    if Path::new(name).is_absolute() { name.to_owned() } else { path::join(&[folder, name]) }
}

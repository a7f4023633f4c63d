//! The inputs of the Compose command line.

use engine_formats::{compose::ProjectRequest, golang::path, yaml::node};
use serde_json::Value;

use super::{Inputs, Uncacheable, key::KeyBuilder, program::Tool};
use crate::host::Host;

const COMPOSE: &str = "github.com/docker/compose";
const DOCKER: &str = "github.com/docker/cli";
/// Where Docker looks for plug-ins, after the directory of its own configuration.
const PLUGIN_DIRS: [&str; 4] = [
    "/usr/local/lib/docker/cli-plugins",
    "/usr/local/libexec/docker/cli-plugins",
    "/usr/lib/docker/cli-plugins",
    "/usr/libexec/docker/cli-plugins",
];
/// Fields that name further files.
const FILE_FIELDS: [&str; 4] = ["include", "extends", "env_file", "label_file"];
/// How deep a Compose file may nest.
const MAX_DEPTH: usize = 100;

/// What `version` of a Compose command depends on.
pub(crate) struct ComposeVersionInputs<'a> {
    /// The command: `docker compose`, or a program.
    pub(crate) command: &'a [String],
}

impl Inputs for ComposeVersionInputs<'_> {
    fn tools(&self, host: &dyn Host) -> Result<Vec<Tool>, Uncacheable> {
        tools(host, self.command)
    }

    fn describe(&self, key: &mut KeyBuilder<'_>) -> Result<(), Uncacheable> {
        key.texts("compose version", self.command);
        key.variables(|it| it.starts_with("DOCKER_") || it.starts_with("COMPOSE_") || it == "HOME");
        configuration(key, self.command)
    }
}

/// What `config` of a Compose command depends on.
pub(crate) struct ComposeConfigInputs<'a> {
    /// The command: `docker compose`, or a program.
    pub(crate) command: &'a [String],
    /// The arguments that follow.
    pub(crate) args: &'a [String],
    /// Where it runs.
    pub(crate) dir: &'a str,
    /// The project.
    pub(crate) request: &'a ProjectRequest,
}

impl Inputs for ComposeConfigInputs<'_> {
    fn tools(&self, host: &dyn Host) -> Result<Vec<Tool>, Uncacheable> {
        tools(host, self.command)
    }

    fn describe(&self, key: &mut KeyBuilder<'_>) -> Result<(), Uncacheable> {
        key.texts("compose config", self.command);
        key.texts("arguments", self.args);
        key.texts("dir", [self.dir]);
        configuration(key, self.command)?;
        // Compose files may mention any variable.
        key.variables(|it| !["_", "SHLVL", "OLDPWD"].contains(&it));
        let project_dir = self.request.project_dir.to_string_lossy();
        let env_file = self.request.env_file.as_ref().map(|it| it.to_string_lossy().into_owned());
        for file in [path::join(&[&*project_dir, ".env"]), path::join(&[self.dir, ".env"])]
            .into_iter()
            .chain(env_file)
        {
            key.file(&file)?;
        }
        for file in &self.request.config_paths {
            let content =
                key.file(&file.to_string_lossy())?.ok_or(Uncacheable("a file is missing"))?;
            check_file(&content)?;
        }
        Ok(())
    }
}

/// Objects to a Compose file that names other files.
fn check_file(content: &[u8]) -> Result<(), Uncacheable> {
    const UNREADABLE: Uncacheable = Uncacheable("a Compose file cannot be read");
    let text = std::str::from_utf8(content).map_err(|_| UNREADABLE)?;
    let stream = node::parse(text).map_err(|_| UNREADABLE)?;
    for document in &stream.documents {
        check_value(&stream.to_value(*document).map_err(|_| UNREADABLE)?, 0)?;
    }
    Ok(())
}

fn check_value(value: &Value, depth: usize) -> Result<(), Uncacheable> {
    if depth > MAX_DEPTH {
        return Err(Uncacheable("a Compose file nests too deep"));
    }
    match value {
        Value::Array(items) => items.iter().try_for_each(|it| check_value(it, depth + 1)),
        Value::Object(fields) if fields.keys().any(|it| FILE_FIELDS.contains(&it.as_str())) => {
            Err(Uncacheable("a Compose file reads others"))
        }
        Value::Object(fields) => fields.values().try_for_each(|it| check_value(it, depth + 1)),
        _ => Ok(()),
    }
}

/// The program, and the plug-in that it runs.
fn tools(host: &dyn Host, command: &[String]) -> Result<Vec<Tool>, Uncacheable> {
    match command {
        [docker, _] => {
            let plugin = docker_config(host)
                .map(|it| path::join(&[it.as_str(), "cli-plugins"]))
                .into_iter()
                .chain(PLUGIN_DIRS.map(str::to_owned))
                .map(|it| path::join(&[it.as_str(), "docker-compose"]))
                .find(|it| host.stat(it).is_ok())
                .ok_or(Uncacheable("there is no plug-in"))?;
            Ok(vec![Tool::find(host, docker, DOCKER)?, Tool::at(host, plugin, COMPOSE)?])
        }
        [program] => Ok(vec![Tool::find(host, program, COMPOSE)?]),
        _ => Err(Uncacheable("the command is unknown")),
    }
}

fn docker_config(host: &dyn Host) -> Option<String> {
    let variable = |name| host.env(name).filter(|it| path::is_abs(it));
    variable("DOCKER_CONFIG")
        .or_else(|| variable("HOME").map(|it| path::join(&[it.as_str(), ".docker"])))
}

/// Docker's configuration, which can name more plug-ins and more places for them.
fn configuration(key: &mut KeyBuilder<'_>, command: &[String]) -> Result<(), Uncacheable> {
    let Some(dir) = docker_config(key.host).filter(|_| command.len() > 1) else { return Ok(()) };
    let content = key.file(&path::join(&[dir.as_str(), "config.json"]))?.unwrap_or_default();
    let Ok(Value::Object(fields)) = serde_json::from_slice(&content) else {
        return if content.is_empty() {
            Ok(())
        } else {
            Err(Uncacheable("Docker's configuration cannot be read"))
        };
    };
    if fields.keys().any(|it| it.to_ascii_lowercase().contains("plugin")) {
        return Err(Uncacheable("Docker's configuration names plug-ins"));
    }
    Ok(())
}

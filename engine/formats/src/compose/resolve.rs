//! Relative paths made absolute, and small checks that need the long forms.

use std::sync::LazyLock;

use serde::Deserialize;

use super::tree::{Places, TreePath};
use super::value::{Map, Value};
use super::{ComposeError, World, files, short_forms};
use crate::golang::quote::quote;

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Resolver {
    Context,
    Path,
    UnixPath,
    WatchPath,
    Volume,
    DriverOptions,
}

static RESOLVERS: LazyLock<Places<Resolver>> = LazyLock::new(|| Places::read("resolvers"));

/// What relative paths are resolved with.
pub(super) struct PathResolver<'a> {
    pub(super) base: &'a str,
    pub(super) home: Option<&'a str>,
    pub(super) world: &'a dyn World,
}

impl PathResolver<'_> {
    /// Makes every path of `tree` relative to the base.
    pub(super) fn resolve(&self, tree: &mut Map) -> Result<(), ComposeError> {
        TreePath::default().each_entry(tree, &mut |value, path| self.resolve_value(value, path))
    }

    fn resolve_value(&self, value: &mut Value, path: &mut TreePath) -> Result<(), ComposeError> {
        match RESOLVERS.at(path) {
            Some(resolver) => self.apply(resolver, value),
            None => path.each_child(value, &mut |value, path| self.resolve_value(value, path)),
        }
    }

    fn apply(&self, resolver: Resolver, value: &mut Value) -> Result<(), ComposeError> {
        match resolver {
            Resolver::Context => {
                let Value::Str(context) = value else { return Err(unexpected(value)) };
                if !is_remote_context(context) {
                    *context = self.abs(context);
                }
                Ok(())
            }
            Resolver::Path => self.abs_path(value),
            Resolver::UnixPath => {
                self.unix_path(value);
                Ok(())
            }
            Resolver::WatchPath => {
                self.abs_path(value)?;
                match value {
                    Value::Str(path) => self.follow_link(path),
                    _ => Ok(()),
                }
            }
            Resolver::Volume => self.volume(value),
            Resolver::DriverOptions => self.driver_options(value),
        }
    }

    fn expand_home(&self, path: &str) -> String {
        match (path.strip_prefix('~'), self.home) {
            (Some(rest), Some(home)) => files::join(home, rest),
            _ => path.to_owned(),
        }
    }

    fn abs(&self, path: &str) -> String {
        let path = self.expand_home(path);
        if path.is_empty() || files::is_abs(&path) { path } else { files::join(self.base, &path) }
    }

    fn abs_path(&self, value: &mut Value) -> Result<(), ComposeError> {
        match value {
            Value::Str(path) => {
                *path = self.abs(path);
                Ok(())
            }
            Value::Seq(items) => items.iter_mut().try_for_each(|item| self.abs_path(item)),
            other => Err(unexpected(other)),
        }
    }

    /// Like `abs`, but a Windows path is left for the machine that will know it.
    fn unix_path(&self, value: &mut Value) {
        if let Value::Str(path) = value {
            let expanded = self.expand_home(path);
            *path = if files::is_abs(&expanded) || files::is_windows_abs(&expanded) {
                expanded
            } else {
                files::join(self.base, &expanded)
            };
        }
    }

    fn volume(&self, value: &mut Value) -> Result<(), ComposeError> {
        let Some(volume) = value.as_map_mut() else { return Ok(()) };
        if volume.get("type").and_then(Value::as_str) != Some("bind") {
            return Ok(());
        }
        match volume.get_mut("source") {
            Some(source) => {
                self.unix_path(source);
                Ok(())
            }
            None => Err(ComposeError::new(
                r#"invalid mount config for type "bind": field Source must not be empty"#,
            )),
        }
    }

    /// A local volume with option `bind` is a bind mount in disguise.
    fn driver_options(&self, value: &mut Value) -> Result<(), ComposeError> {
        let local = value.text("driver") == "local";
        let Some(options) = value.as_map_mut().and_then(|volume| volume.get_mut("driver_opts"))
        else {
            return Ok(());
        };
        if local
            && options.text("o") == "bind"
            && let Some(device) = options.as_map_mut().and_then(|it| it.get_mut("device"))
        {
            self.unix_path(device);
        }
        Ok(())
    }

    /// Replaces the first part of `path` that is a symbolic link by what it points to.
    fn follow_link(&self, path: &mut String) -> Result<(), ComposeError> {
        let mut current = if files::is_abs(path) { "/".to_owned() } else { String::new() };
        for part in path.split('/').filter(|part| !part.is_empty()) {
            current = files::join(&current, part);
            if self.world.is_symlink(current.as_ref()) {
                let target = self
                    .world
                    .canonicalize(current.as_ref())
                    .map_err(|error| super::io_problem("lstat", &current, &error))?;
                *path = path.replacen(&current, &target.to_string_lossy(), 1);
                return Ok(());
            }
        }
        Ok(())
    }
}

fn unexpected(value: &Value) -> ComposeError {
    ComposeError::new(format!("unexpected type {}", value.type_name()))
}

fn is_remote_context(context: &str) -> bool {
    context.contains("://")
        || ["service:", "github.com/", "git@"].iter().any(|prefix| context.starts_with(prefix))
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Check {
    Volume,
    Config,
    Secret,
    PortAddress,
    WatchPath,
    DeviceRequest,
}

static CHECKS: LazyLock<Places<Check>> = LazyLock::new(|| Places::read("checks"));

/// Checks what a schema cannot say.
pub(super) fn validate(tree: &Map) -> Result<(), ComposeError> {
    let mut path = TreePath::default();
    tree.iter().try_for_each(|(key, value)| path.within(key, |path| check(value, path)))
}

fn check(value: &Value, path: &mut TreePath) -> Result<(), ComposeError> {
    if let Some(rule) = CHECKS.at(path) {
        return check_rule(rule, value, path);
    }
    match value {
        Value::Map(map) => {
            map.iter().try_for_each(|(key, value)| path.within(key, |path| check(value, path)))
        }
        Value::Seq(items) => {
            items.iter().try_for_each(|item| path.within_item(|path| check(item, path)))
        }
        _ => Ok(()),
    }
}

fn check_rule(rule: Check, value: &Value, path: &TreePath) -> Result<(), ComposeError> {
    match rule {
        Check::Volume => check_external(value, path),
        Check::Config => check_file_object(value, path, &["file", "environment", "content"]),
        Check::Secret => check_file_object(value, path, &["file", "environment"]),
        Check::PortAddress => match value.get("host_ip") {
            Some(address) if !short_forms::is_ip(&address.sprint()) => {
                Err(ComposeError::new(format!("{path}: invalid ip address: {}", address.sprint())))
            }
            _ => Ok(()),
        },
        Check::WatchPath if value.as_str() == Some("") => {
            Err(ComposeError::new(format!("{path}: value can't be blank")))
        }
        Check::DeviceRequest
            if value.get("count").is_some() && value.get("device_ids").is_some() =>
        {
            Err(ComposeError::new(format!(
                r#"{path}: "count" and "device_ids" attributes are exclusive"#
            )))
        }
        Check::WatchPath | Check::DeviceRequest => Ok(()),
    }
}

/// Nothing but its name may be said of a volume that is not ours.
fn check_external(value: &Value, path: &TreePath) -> Result<(), ComposeError> {
    let Some(volume) = value.as_map() else { return Ok(()) };
    if volume.get("external") != Some(&Value::Bool(true)) {
        return Ok(());
    }
    let conflict = volume
        .keys()
        .find(|key| !matches!(key.as_str(), "name" | "external") && !key.starts_with("x-"));
    match conflict {
        Some(key) => Err(ComposeError::new(format!(
            "{path}: conflicting parameters \"external\" and {} specified",
            quote(key)
        ))),
        None => Ok(()),
    }
}

fn check_file_object(value: &Value, path: &TreePath, keys: &[&str]) -> Result<(), ComposeError> {
    let Some(object) = value.as_map() else { return Err(unexpected(value)) };
    match keys.iter().filter(|key| object.contains_key(**key)).count() {
        0 if !object.contains_key("driver") && !object.contains_key("external") => {
            Err(ComposeError::new(format!("{path}: one of {} must be set", keys.join("|"))))
        }
        0 | 1 => Ok(()),
        _ => Err(ComposeError::new(format!(
            "{path}: {} attributes are mutually exclusive",
            keys.join("|")
        ))),
    }
}

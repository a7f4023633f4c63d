//! `include`: other Compose projects whose resources become part of this one.

use super::loader::{ConfigFile, Details, Loader};
use super::read::Resets;
use super::tree::TreePath;
use super::value::{Map, Value};
use super::{ComposeError, environment, files, io_problem, merge};

/// Most projects that may include one another.
const MAX_INCLUDES: usize = 100;

/// One entry of `include`.
struct Include {
    paths: Vec<String>,
    project_directory: String,
    env_files: Vec<String>,
}

/// Adds what `tree` includes to it.
pub(super) fn apply(
    loader: &Loader<'_>,
    tree: &mut Map,
    details: &Details,
    included: &[String],
    resets: &Resets,
) -> Result<(), ComposeError> {
    for include in entries(tree.get("include"))? {
        let imported = load(loader, include, details, included)?;
        for kind in ["services", "volumes", "networks", "secrets", "configs", "models"] {
            import(kind, &imported, tree, resets)?;
        }
    }
    tree.shift_remove("include");
    Ok(())
}

fn entries(source: Option<&Value>) -> Result<Vec<Include>, ComposeError> {
    let items = match source {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Seq(items)) => items,
        Some(other) => {
            return Err(ComposeError::new(format!(
                "`include` must be a list, got {}",
                other.as_message()
            )));
        }
    };
    let texts = |value: Option<&Value>| match value {
        Some(Value::Str(text)) => vec![text.clone()],
        Some(Value::Seq(items)) => items.iter().map(Value::sprint).collect(),
        _ => Vec::new(),
    };
    items
        .iter()
        .enumerate()
        .map(|(at, item)| match item {
            Value::Str(path) => Ok(Include {
                paths: vec![path.clone()],
                project_directory: String::new(),
                env_files: Vec::new(),
            }),
            Value::Map(map) => Ok(Include {
                paths: texts(map.get("path")),
                project_directory: item.text("project_directory").to_owned(),
                env_files: texts(map.get("env_file")),
            }),
            other => Err(ComposeError::new(format!(
                "decoding failed due to the following error(s):\n\n\
                 '[{at}]' expected a map or struct, got {}",
                super::bind::quoted_kind(other)
            ))),
        })
        .collect()
}

fn load(
    loader: &Loader<'_>,
    include: Include,
    details: &Details,
    included: &[String],
) -> Result<Map, ComposeError> {
    let Include { mut paths, mut project_directory, env_files } = include;
    let mut working_dir = String::new();
    for (at, path) in paths.iter_mut().enumerate() {
        *path = loader.locate(path);
        if at > 0 {
            continue;
        }
        if project_directory.is_empty() {
            working_dir = loader.directory(path);
            project_directory = files::dir(path);
        } else if files::is_abs(&project_directory) {
            working_dir.clone_from(&project_directory);
        } else {
            working_dir = loader.directory(&project_directory);
            project_directory = files::join(&details.working_dir, &project_directory);
        }
        if included.contains(path) || included.len() > MAX_INCLUDES {
            return Err(ComposeError::new(format!(
                "include cycle detected:\n{}\n include {}",
                included[0],
                included[1..]
                    .iter()
                    .chain([&*path])
                    .map(String::as_str)
                    .collect::<Vec<_>>()
                    .join("\n include ")
            )));
        }
    }
    let env_files = env_files_of(loader, env_files, &project_directory, details)?;
    let from_files = environment::read_env_files(loader, &details.env, &env_files)?;
    let mut env = details.env.clone();
    for (name, value) in from_files {
        env.entry(name).or_insert(value);
    }
    let files = paths.into_iter().map(|name| ConfigFile { name, content: None }).collect();
    let mut loader = loader.clone();
    loader.base = project_directory;
    loader.load(&Details { working_dir, files, env }, included)
}

/// The env files of an included project: those named, or its `.env`.
fn env_files_of(
    loader: &Loader<'_>,
    named: Vec<String>,
    project_directory: &str,
    details: &Details,
) -> Result<Vec<String>, ComposeError> {
    if named.is_empty() {
        let default = files::join(project_directory, ".env");
        let exists = loader.world.stat(default.as_ref()).is_ok_and(|kind| !kind.is_directory());
        return Ok(if exists { vec![default] } else { Vec::new() });
    }
    let mut env_files = Vec::new();
    for file in named.into_iter().filter(|file| file != "/dev/null") {
        if files::is_abs(&file) {
            env_files.push(file);
            continue;
        }
        let file = files::join(&details.working_dir, &file);
        let kind =
            loader.world.stat(file.as_ref()).map_err(|error| io_problem("stat", &file, &error))?;
        if kind.is_directory() {
            return Err(ComposeError::new(format!("{file} is not a file")));
        }
        env_files.push(file);
    }
    Ok(env_files)
}

/// Adds the resources of one kind; what the including file says of them wins.
fn import(kind: &str, imported: &Map, tree: &mut Map, resets: &Resets) -> Result<(), ComposeError> {
    let Some(Value::Map(from)) = imported.get(kind) else { return Ok(()) };
    let to = tree.entry(kind.to_owned()).or_insert_with(|| Value::Map(Map::new()));
    let Value::Map(to) = to else {
        return Err(ComposeError::new(format!("{kind} must be a mapping")));
    };
    for (name, resource) in from {
        let Some(slot) = to.get_mut(name) else {
            to.insert(name.clone(), resource.clone());
            continue;
        };
        let mut resource = resource.clone();
        if let Value::Map(resource) = &mut resource {
            resets.apply(resource, &[kind, name]);
        }
        let over = std::mem::replace(slot, Value::Null);
        *slot = merge::merge_value(resource, over, &mut TreePath::of(&[kind, name]))?;
    }
    Ok(())
}

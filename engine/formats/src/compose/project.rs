//! A loaded project: its services as Tilt sees them.

use std::collections::{BTreeMap, BTreeSet};

use super::dotenv::Variables;
use super::loader::{ConfigFile, Details, Loader, Purpose};
use super::tree::TreePath;
use super::value::{Map, Value};
use super::{
    ComposeError, ProjectRequest, World, bind, consistency, environment, files, interpolate,
    io_problem, normalize, normalize_project_name, read, template,
};
use crate::golang::boolean;
use crate::golang::quote::quote;

const PROJECT_NAME: &str = "COMPOSE_PROJECT_NAME";
const DISABLE_ENV_FILE: &str = "COMPOSE_DISABLE_ENV_FILE";

/// A loaded Compose project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The project's name.
    pub name: String,
    /// The enabled services: dependencies first, then by name.
    pub services: Vec<Service>,
    /// The names of the services no enabled profile asks for.
    pub disabled: Vec<String>,
}

/// A service of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// The service's name.
    pub name: String,
    /// The service as Compose writes it, all defaults and paths resolved.
    pub yaml: String,
    /// The services this one depends on, sorted.
    pub depends_on: Vec<String>,
    /// The host ports that are single numbers, in order.
    pub published_ports: Vec<i64>,
    /// The volumes, in order.
    pub mounts: Vec<Mount>,
    /// The image, if the service names one.
    pub image: Option<String>,
    /// How the image is built, if it is.
    pub build: Option<Build>,
    /// The env files of the service, absolute.
    pub env_files: Vec<String>,
}

/// A volume of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// `bind`, `volume`, `tmpfs`, ...
    pub kind: String,
    /// A host path or the name of a volume; empty for an anonymous volume.
    pub source: String,
    /// Where it is mounted.
    pub target: String,
}

/// How a service's image is built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Build {
    /// A directory, absolute, or a URL.
    pub context: String,
    /// The Dockerfile, relative to the context; empty when it is inline.
    pub dockerfile: String,
    /// The Dockerfile's text, if it is in the Compose file.
    pub dockerfile_inline: String,
}

/// Loads a project from files.
pub(super) fn load(request: &ProjectRequest, world: &dyn World) -> Result<Project, ComposeError> {
    let loader = loader(request, world)?;
    let working_dir = loader.base.clone();
    let mut env = request.env.clone();
    let env_files = default_env_files(request, &working_dir, world)?;
    for (name, value) in environment::read_env_files(&loader, &request.env, &env_files)? {
        env.entry(name).or_insert(value);
    }
    let mut config_files = Vec::new();
    for path in &request.config_paths {
        let name = files::clean(&path.to_string_lossy());
        let content = Some(loader.read_text(&name)?);
        config_files.push(ConfigFile { name, content });
    }
    let mut details = Details { working_dir, files: config_files, env };
    let name = project_name(request, &details)?;
    details.env.insert(PROJECT_NAME.to_owned(), name.clone());
    finish(&loader, &details, name, &request.profiles)
}

/// Loads a project from what the Compose command line printed.
pub(super) fn load_resolved(
    yaml: &str,
    request: &ProjectRequest,
    world: &dyn World,
) -> Result<Project, ComposeError> {
    let loader = loader(request, world)?;
    let working_dir = loader.base.clone();
    let file = ConfigFile { name: String::new(), content: Some(yaml.to_owned()) };
    let env = Variables::from([(PROJECT_NAME.to_owned(), request.name.clone())]);
    let details = Details { working_dir, files: vec![file], env };
    finish(&loader, &details, request.name.clone(), &request.profiles)
}

fn loader<'w>(request: &ProjectRequest, world: &'w dyn World) -> Result<Loader<'w>, ComposeError> {
    if request.name != normalize_project_name(&request.name) {
        return Err(invalid_name(&request.name));
    }
    Ok(Loader {
        world,
        home: request.env.get("HOME").filter(|home| !home.is_empty()).cloned(),
        base: request.project_dir.to_string_lossy().into_owned(),
        purpose: Purpose::Project,
    })
}

fn finish(
    loader: &Loader<'_>,
    details: &Details,
    name: String,
    profiles: &[String],
) -> Result<Project, ComposeError> {
    let mut tree = loader.load(details, &[])?;
    if tree.is_empty() {
        return Err(ComposeError::new("empty compose file"));
    }
    if name.is_empty() {
        return Err(ComposeError::new("project name must not be empty"));
    }
    normalize::normalize(&mut tree, &details.env)?;
    let mut project = bind::bind_project(tree)?;
    let services = match project.shift_remove("services") {
        Some(Value::Map(services)) => services,
        _ => Map::new(),
    };
    let (mut enabled, disabled): (Map, Map) =
        services.into_iter().partition(|(_, service)| has_profile(service, profiles));
    let project = Value::Map(project);
    consistency::Services { enabled: &enabled, disabled: &disabled, project: &project }.check()?;
    for service in enabled.values_mut().filter_map(Value::as_map_mut) {
        share_scale(service);
        environment::resolve_service(service, &details.env, loader.world)?;
        environment::resolve_labels(service, loader.world)?;
        bind::restore_order(service);
    }
    let services = in_dependency_order(&enabled)
        .into_iter()
        .map(|name| Service::new(name, &enabled[name]))
        .collect();
    Ok(Project { name, services, disabled: disabled.into_keys().collect() })
}

/// The file interpolation takes variables from when the request names none.
fn default_env_files(
    request: &ProjectRequest,
    working_dir: &str,
    world: &dyn World,
) -> Result<Vec<String>, ComposeError> {
    if let Some(file) = &request.env_file {
        return Ok(vec![file.to_string_lossy().into_owned()]);
    }
    if let Some(text) = request.env.get(DISABLE_ENV_FILE)
        && boolean::parse(text).map_err(ComposeError::new)?
    {
        return Ok(Vec::new());
    }
    let default = files::join(working_dir, ".env");
    match world.stat(default.as_ref()) {
        Ok(kind) if kind.is_directory() => Ok(Vec::new()),
        Ok(_) => Ok(vec![default]),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(io_problem("stat", &default, &error)),
    }
}

fn invalid_name(name: &str) -> ComposeError {
    ComposeError::new(format!(
        "invalid project name {}: must consist only of lowercase alphanumeric characters, \
         hyphens, and underscores as well as start with a letter or number",
        quote(name)
    ))
}

/// The name from the request, the environment, the files or the directory, in this order.
fn project_name(request: &ProjectRequest, details: &Details) -> Result<String, ComposeError> {
    if !request.name.is_empty() {
        return Ok(request.name.clone());
    }
    if let Some(name) = details.env.get(PROJECT_NAME).filter(|name| !name.is_empty()) {
        let valid = *name == normalize_project_name(name);
        return if valid { Ok(name.clone()) } else { Err(invalid_name(name)) };
    }
    let mut named = String::new();
    for file in &details.files {
        let name = read::project_name(file.content.as_deref().unwrap_or_default())?;
        if !name.is_empty() {
            named = name;
        }
    }
    let name = template::substitute(&named, &|name| details.env.get(name).cloned())
        .map_err(|error| interpolate::problem(&TreePath::of(&["name"]), &error))?;
    match normalize_project_name(&name) {
        name if name.is_empty() && named.is_empty() => {
            Ok(normalize_project_name(&files::base(&details.working_dir)))
        }
        name => Ok(name),
    }
}

fn has_profile(service: &Value, enabled: &[String]) -> bool {
    let profiles = service.items("profiles");
    profiles.is_empty() || enabled.iter().any(|it| it == "*" || profiles.contains(&Value::str(it)))
}

/// `scale` also counts as the number of replicas of a service that has a `deploy` section.
fn share_scale(service: &mut Map) {
    let Some(scale) = service.get("scale").cloned() else { return };
    if let Some(Value::Map(deploy)) = service.get_mut("deploy") {
        deploy.insert("replicas".to_owned(), scale);
    }
}

/// The names of all services, each after those it depends on.
fn in_dependency_order(services: &Map) -> Vec<&str> {
    let sorted: BTreeMap<&str, Vec<&str>> = services
        .iter()
        .map(|(name, service)| {
            let mut dependencies: Vec<_> =
                service.entries("depends_on").map(|(name, _)| name.as_str()).collect();
            dependencies.sort_unstable();
            (name.as_str(), dependencies)
        })
        .collect();
    let mut order = Vec::with_capacity(sorted.len());
    let mut seen = BTreeSet::new();
    for name in sorted.keys() {
        // Each entry is a service and how many of its dependencies were looked at.
        let mut stack = if seen.insert(*name) { vec![(*name, 0)] } else { Vec::new() };
        while let Some((name, at)) = stack.last_mut() {
            match sorted[*name].get(*at) {
                None => {
                    order.push(*name);
                    stack.pop();
                }
                Some(&dependency) => {
                    *at += 1;
                    if sorted.contains_key(dependency) && seen.insert(dependency) {
                        stack.push((dependency, 0));
                    }
                }
            }
        }
    }
    order
}

impl Service {
    fn new(name: &str, bound: &Value) -> Self {
        let text = |value: &Value, key: &str| value.text(key).to_owned();
        let mut depends_on: Vec<String> =
            bound.entries("depends_on").map(|(name, _)| name.clone()).collect();
        depends_on.sort();
        Self {
            name: name.to_owned(),
            yaml: super::write::to_yaml(bound),
            depends_on,
            published_ports: bound
                .items("ports")
                .iter()
                .filter_map(|port| port.text("published").parse().ok())
                .filter(|port| *port != 0)
                .collect(),
            mounts: bound
                .items("volumes")
                .iter()
                .map(|volume| Mount {
                    kind: text(volume, "type"),
                    source: text(volume, "source"),
                    target: text(volume, "target"),
                })
                .collect(),
            image: bound.get("image").map(Value::sprint),
            build: bound.get("build").map(|build| Build {
                context: text(build, "context"),
                dockerfile: text(build, "dockerfile"),
                dockerfile_inline: text(build, "dockerfile_inline"),
            }),
            env_files: bound.items("env_file").iter().map(|file| text(file, "path")).collect(),
        }
    }
}

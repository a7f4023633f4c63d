//! Whether the parts of a bound project fit together.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::ComposeError;
use super::value::{Map, Value};
use crate::golang::quote::quote;

/// How messages end that say the project itself is wrong.
const INVALID: &str = "invalid compose project";

/// A bound project, split by what its profiles enable.
pub(super) struct Services<'a> {
    pub(super) enabled: &'a Map,
    pub(super) disabled: &'a Map,
    /// Networks, volumes and the like, by kind.
    pub(super) project: &'a Value,
}

type Check = Result<(), ComposeError>;

fn problem(text: impl Into<String>) -> Check {
    Err(ComposeError::new(text.into()))
}

fn invalid(text: &str) -> Check {
    problem(format!("{text}: {INVALID}"))
}

impl Services<'_> {
    /// Checks everything.
    pub(super) fn check(&self) -> Check {
        for (name, service) in self.enabled {
            check_image(name, service)?;
            self.check_build(name, service)?;
            self.check_networks(name, service)?;
            check_health(service)?;
            self.check_dependencies(name, service)?;
            self.check_references(name, service)?;
            check_scale(name, service)?;
            check_limits(name, service)?;
            check_watches(name, service)?;
            check_mounts(name, service)?;
        }
        for (name, secret) in self.project.entries("secrets") {
            let external = secret.get("external") == Some(&Value::Bool(true));
            if !external && secret.text("file").is_empty() && secret.text("environment").is_empty()
            {
                return invalid(&format!(
                    "secret {} must declare either `file` or `environment`",
                    quote(name)
                ));
            }
        }
        self.check_cycles()
    }

    fn check_build(&self, name: &str, service: &Value) -> Check {
        let Some(build) = service.get("build") else { return Ok(()) };
        if !build.text("dockerfile").is_empty() && !build.text("dockerfile_inline").is_empty() {
            return invalid(&format!(
                "service {} declares mutualy exclusive dockerfile and dockerfile_inline",
                quote(name)
            ));
        }
        for (context, source) in build.entries("additional_contexts") {
            let source = source.as_str().unwrap_or_default();
            let Some(target) = source.strip_prefix("service:") else { continue };
            let what = match self.enabled.get(target) {
                None => "unknown",
                Some(other) if other.get("build").is_none() => "non-buildable",
                Some(_) => continue,
            };
            return problem(format!(
                "service {} declares {what} service {} as additional contexts {context}",
                quote(name),
                quote(target)
            ));
        }
        let platform = service.text("platform");
        let platforms = build.items("platforms");
        let found = platforms.iter().any(|it| it.as_str() == Some(platform));
        if !platforms.is_empty() && !platform.is_empty() && !found {
            return invalid(&format!(
                "service.build.platforms MUST include service.platform {}",
                quote(platform)
            ));
        }
        Ok(())
    }

    fn defines(&self, kind: &str, name: &str) -> bool {
        self.project.get(kind).and_then(|all| all.get(name)).is_some()
    }

    fn check_networks(&self, name: &str, service: &Value) -> Check {
        let networks = || service.entries("networks");
        if !service.text("network_mode").is_empty() && networks().next().is_some() {
            return invalid(&format!(
                "service {name} declares mutually exclusive `network_mode` and `networks`"
            ));
        }
        match networks().find(|(network, _)| !self.defines("networks", network)) {
            Some((network, _)) => undefined(name, "network", network),
            None => Ok(()),
        }
    }

    fn check_dependencies(&self, name: &str, service: &Value) -> Check {
        for (dependency, options) in service.entries("depends_on") {
            let required = options.get("required") == Some(&Value::Bool(true));
            let tolerated = !required && self.disabled.contains_key(dependency);
            if !self.enabled.contains_key(dependency) && !tolerated {
                return invalid(&format!(
                    "service {} depends on undefined service {}",
                    quote(name),
                    quote(dependency)
                ));
            }
        }
        match service.text("network_mode").strip_prefix("service:") {
            Some(other) if !self.enabled.contains_key(other) => problem(format!(
                "service {} not found for network_mode 'service:{other}'",
                quote(other)
            )),
            _ => Ok(()),
        }
    }

    fn check_references(&self, name: &str, service: &Value) -> Check {
        for volume in service.items("volumes") {
            let source = volume.text("source");
            let named = volume.text("type") == "volume" && !source.is_empty();
            if named && !self.defines("volumes", source) {
                return undefined(name, "volume", source);
            }
        }
        let build_secrets = service.get("build").map_or(&[][..], |build| build.items("secrets"));
        let references = [
            ("build secret", "secrets", build_secrets),
            ("config", "configs", service.items("configs")),
        ];
        for (what, kind, items) in references {
            self.check_sources(name, what, kind, items)?;
        }
        for (model, _) in service.entries("models") {
            if !self.defines("models", model) {
                return undefined(name, "model", model);
            }
        }
        self.check_sources(name, "secret", "secrets", service.items("secrets"))
    }

    fn check_sources(&self, name: &str, what: &str, kind: &str, items: &[Value]) -> Check {
        match items.iter().map(|it| it.text("source")).find(|it| !self.defines(kind, it)) {
            Some(source) => undefined(name, what, source),
            None => Ok(()),
        }
    }

    /// Follows the dependencies of every service, in the order of names.
    fn check_cycles(&self) -> Check {
        let graph: BTreeMap<&str, Vec<&str>> = self
            .enabled
            .iter()
            .map(|(name, service)| {
                let dependencies = service.entries("depends_on").map(|(name, _)| name.as_str());
                let mut known: Vec<_> =
                    dependencies.filter(|it| self.enabled.contains_key(*it)).collect();
                known.sort_unstable();
                (name.as_str(), known)
            })
            .collect();
        let mut finished = HashSet::new();
        for name in graph.keys() {
            if let Some(cycle) = find_cycle(name, &graph, &mut finished) {
                return problem(format!("dependency cycle detected: {}", cycle.join(" -> ")));
            }
        }
        Ok(())
    }
}

/// A cycle that can be reached from `start`, by a depth-first walk with an explicit stack.
fn find_cycle<'a>(
    start: &'a str,
    graph: &BTreeMap<&'a str, Vec<&'a str>>,
    finished: &mut HashSet<&'a str>,
) -> Option<Vec<&'a str>> {
    let mut path = vec![start];
    let mut next = vec![0];
    while let (Some(&name), Some(at)) = (path.last(), next.last_mut()) {
        let child = graph.get(name).and_then(|children| children.get(*at)).copied();
        *at += 1;
        match child {
            None => {
                finished.insert(name);
                path.pop();
                next.pop();
            }
            Some(child) => {
                if let Some(from) = path.iter().position(|it| *it == child) {
                    let mut cycle = path.split_off(from);
                    cycle.push(child);
                    return Some(cycle);
                }
                if !finished.contains(child) {
                    path.push(child);
                    next.push(0);
                }
            }
        }
    }
    None
}

fn undefined(service: &str, what: &str, name: &str) -> Check {
    invalid(&format!("service {} refers to undefined {what} {name}", quote(service)))
}

fn check_image(name: &str, service: &Value) -> Check {
    let says = |key: &str| service.get(key).is_some();
    if says("build") || says("image") || says("provider") {
        return Ok(());
    }
    invalid(&format!("service {} has neither an image nor a build context specified", quote(name)))
}

fn check_health(service: &Value) -> Check {
    let test = service.get("healthcheck").map_or(&[][..], |check| check.items("test"));
    match test.first().and_then(Value::as_str) {
        None | Some("CMD" | "CMD-SHELL" | "NONE") => Ok(()),
        Some(_) => problem(r#"healthcheck.test must start either by "CMD", "CMD-SHELL" or "NONE""#),
    }
}

fn check_scale(name: &str, service: &Value) -> Check {
    let scale = service.get("scale").and_then(Value::as_int);
    let replicas = service.get("deploy").and_then(|it| it.get("replicas")).and_then(Value::as_int);
    if scale.is_some() && replicas.is_some() && scale != replicas {
        return invalid(&format!(
            "services.{name}: can't set distinct values on 'scale' and 'deploy.replicas'"
        ));
    }
    if scale.is_some_and(|it| it < 0) {
        return problem(format!("services.{name}.scale: must be greater than or equal to 0"));
    }
    if replicas.is_some_and(|it| it < 0) {
        return problem(format!(
            "services.{name}.deploy.replicas: must be greater than or equal to 0"
        ));
    }
    if scale.or(replicas).unwrap_or(1) > 1 && !service.text("container_name").is_empty() {
        let attribute = if scale.is_some() { "scale" } else { "deploy.replicas" };
        return invalid(&format!(
            "services.{attribute}: can't set container_name and {name} as container name must be unique"
        ));
    }
    Ok(())
}

/// Limits may be said twice, but not differently.
fn check_limits(name: &str, service: &Value) -> Check {
    let resources = service.get("deploy").and_then(|deploy| deploy.get("resources"));
    let pairs = [
        ("cpus", "limits", "cpus"),
        ("mem_limit", "limits", "memory"),
        ("mem_reservation", "reservations", "memory"),
        ("pids_limit", "limits", "pids"),
    ];
    for (attribute, kind, key) in pairs {
        let (Some(own), Some(resource)) =
            (service.get(attribute), resources.and_then(|it| it.get(kind)))
        else {
            continue;
        };
        if resource.get(key) != Some(own) {
            return invalid(&format!(
                "services.{name}: can't set distinct values on '{attribute}' and \
                 'deploy.resources.{kind}.{key}'"
            ));
        }
    }
    Ok(())
}

fn check_watches(name: &str, service: &Value) -> Check {
    let watches = service.get("develop").map_or(&[][..], |develop| develop.items("watch"));
    let needs_target = |watch: &&Value| {
        watch.text("target").is_empty() && !matches!(watch.text("action"), "rebuild" | "restart")
    };
    match watches.iter().find(needs_target) {
        Some(_) => invalid(&format!(
            "services.{name}.develop.watch: target is required for non-rebuild actions"
        )),
        None => Ok(()),
    }
}

fn check_mounts(name: &str, service: &Value) -> Check {
    let tmpfs = service.items("tmpfs").iter().map(|it| {
        let text = it.as_str().unwrap_or_default();
        text.split_once(':').map_or(text, |(path, _)| path)
    });
    let volumes = service.items("volumes").iter().map(|it| it.text("target"));
    let places =
        tmpfs.enumerate().map(|(at, path)| (format!("services.{name}.tmpfs[{at}]"), path)).chain(
            volumes.enumerate().map(|(at, path)| (format!("services.{name}.volumes[{at}]"), path)),
        );
    let mut mounted: HashMap<&str, String> = HashMap::new();
    for (place, path) in places {
        if let Some(earlier) = mounted.get(path) {
            return problem(format!("{place}: target {path} already mounted as {earlier}"));
        }
        mounted.insert(path, place);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_is_told_from_where_it_starts() {
        let graph =
            BTreeMap::from([("a", vec!["b"]), ("b", vec!["c"]), ("c", vec!["b"]), ("d", vec![])]);
        assert_eq!(find_cycle("a", &graph, &mut HashSet::new()), Some(vec!["b", "c", "b"]));
        assert_eq!(find_cycle("d", &graph, &mut HashSet::new()), None);
    }
}

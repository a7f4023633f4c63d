//! What a project means without saying it: its default network, and dependencies that follow
//! from sharing something with another service.

use super::dotenv::Variables;
use super::value::{Map, Value};
use super::{ComposeError, environment, files};

/// Makes everything implied explicit.
pub(super) fn normalize(tree: &mut Map, env: &Variables) -> Result<(), ComposeError> {
    let mut uses_default = false;
    if let Some(Value::Map(services)) = tree.get_mut("services") {
        for (name, service) in services {
            let Value::Map(service) = service else {
                return Err(ComposeError::new(format!("services.{name} must be a mapping")));
            };
            uses_default |= add_default_network(service);
            normalize_service(service, env)?;
        }
    }
    if uses_default {
        let networks = tree.entry("networks".to_owned()).or_insert_with(|| Value::Map(Map::new()));
        if let Value::Map(networks) = networks {
            networks.entry("default".to_owned()).or_insert(Value::Null);
        }
    }
    Ok(())
}

/// Connects a service that names no network to the default one; says whether it uses that.
fn add_default_network(service: &mut Map) -> bool {
    if service.contains_key("provider") || service.contains_key("network_mode") {
        return false;
    }
    match service.get("networks") {
        Some(Value::Map(networks)) if !networks.is_empty() => networks.contains_key("default"),
        _ => {
            let default = Map::from([("default".to_owned(), Value::Null)]);
            service.insert("networks".to_owned(), Value::Map(default));
            true
        }
    }
}

fn normalize_service(service: &mut Map, env: &Variables) -> Result<(), ComposeError> {
    if service.get("pull_policy").and_then(Value::as_str) == Some("if_not_present") {
        service.insert("pull_policy".to_owned(), Value::str("missing"));
    }
    if let Some(Value::Map(build)) = service.get_mut("build") {
        normalize_build(build, env);
    }
    if let Some(environment) = service.get_mut("environment") {
        environment::resolve_names(environment, env, true);
    }
    if let Some(Value::Seq(volumes)) = service.get_mut("volumes") {
        for volume in volumes.iter_mut().filter_map(Value::as_map_mut) {
            match volume.get_mut("target") {
                Some(Value::Str(target)) => *target = files::clean(target),
                _ => return Err(ComposeError::new("service volume is missing a mount target")),
            }
        }
    }
    let mut depends_on = match service.shift_remove("depends_on") {
        Some(Value::Map(depends_on)) => depends_on,
        _ => Map::new(),
    };
    add_implied_dependencies(service, &mut depends_on)?;
    if !depends_on.is_empty() {
        service.insert("depends_on".to_owned(), Value::Map(depends_on));
    }
    Ok(())
}

fn normalize_build(build: &mut Map, env: &Variables) {
    let unset = |build: &Map, key: &str| build.get(key).is_none_or(|value| *value == Value::Null);
    if unset(build, "context") {
        build.insert("context".to_owned(), Value::str("."));
    }
    if unset(build, "dockerfile") && unset(build, "dockerfile_inline") {
        build.insert("dockerfile".to_owned(), Value::str("Dockerfile"));
    }
    if let Some(args) = build.get_mut("args") {
        environment::resolve_names(args, env, false);
    }
}

fn add_implied_dependencies(service: &Map, depends_on: &mut Map) -> Result<(), ComposeError> {
    let mut add = |name: &str, restart: bool| {
        depends_on.entry(name.to_owned()).or_insert_with(|| {
            Value::Map(Map::from([
                ("condition".to_owned(), Value::str("service_started")),
                ("restart".to_owned(), Value::Bool(restart)),
                ("required".to_owned(), Value::Bool(true)),
            ]))
        });
    };
    let texts = |key: &str| {
        service.get(key).and_then(Value::as_seq).unwrap_or_default().iter().map(Value::sprint)
    };
    for link in texts("links") {
        match link.split(':').collect::<Vec<_>>().as_slice() {
            [name, _alias] => add(name, true),
            _ => add(&link, true),
        }
    }
    for namespace in ["network_mode", "ipc", "pid", "uts", "cgroup"] {
        match service.get(namespace) {
            None => {}
            Some(Value::Str(text)) => {
                if let Some(name) = text.strip_prefix("service:") {
                    add(name, true);
                }
            }
            Some(other) => {
                return Err(ComposeError::new(format!(
                    "{namespace} must be a string, not {}",
                    other.type_name()
                )));
            }
        }
    }
    for source in texts("volumes_from") {
        if !source.starts_with("container:") {
            add(source.split(':').next().unwrap_or_default(), false);
        }
    }
    Ok(())
}

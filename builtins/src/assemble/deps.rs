//! Checks the dependencies between resources, and that manifests are complete.

use std::collections::{HashMap, HashSet};

use engine_formats::golang::label;
use engine_model::{BuildDetails, DeployTarget, ImageTarget, Manifest};

use super::error::Incomplete;
use crate::diagnostic::{Advice, Problem};

/// Drops dependencies on resources that do not exist, with a warning each.
///
/// # Errors
/// If a resource depends on itself, directly or through others.
pub(crate) fn sanitize(
    manifests: &mut [Manifest],
    warn: &mut dyn FnMut(&str),
) -> Result<(), Problem> {
    let known: HashSet<String> = manifests.iter().map(|it| it.name.clone()).collect();
    for manifest in manifests.iter_mut() {
        let name = &manifest.name;
        let mut kept = Vec::new();
        for dependency in manifest.resource_dependencies.take().into_iter().flatten() {
            if dependency == *name {
                return Err(Problem::new(
                    "tiltfile::dependency-cycle",
                    format!("resource {name} specified a dependency on itself"),
                ));
            }
            if known.contains(&dependency) {
                kept.push(dependency);
            } else {
                warn(&format!(
                    "resource {name} specified a dependency on unknown resource {dependency} - dependency ignored"
                ));
            }
        }
        manifest.resource_dependencies = (!kept.is_empty()).then_some(kept);
    }
    match Graph::new(manifests).first_cycle() {
        None => Ok(()),
        Some(cycle) => Err(Problem::new(
            "tiltfile::dependency-cycle",
            format!("cycle detected in resource dependency graph: {}", cycle.join(" -> ")),
        )
        .advise(Advice::BreakCycle)),
    }
}

/// The dependencies between resources, by index.
struct Graph<'a> {
    names: Vec<&'a str>,
    edges: Vec<Vec<usize>>,
}

/// What a search has found out about a resource.
#[derive(Clone, Copy, Default)]
struct Discovery {
    /// When it was first seen, from 1.
    number: usize,
    /// The earliest resource on the stack that can be reached from it.
    low: usize,
    on_stack: bool,
}

impl<'a> Graph<'a> {
    fn new(manifests: &'a [Manifest]) -> Self {
        let mut index = HashMap::new();
        let mut graph = Self { names: Vec::new(), edges: Vec::new() };
        for manifest in manifests {
            index.entry(manifest.name.as_str()).or_insert_with(|| {
                graph.names.push(&manifest.name);
                graph.edges.push(Vec::new());
                graph.names.len() - 1
            });
        }
        for manifest in manifests {
            let dependencies = manifest.resource_dependencies.iter().flatten();
            let targets = dependencies.filter_map(|it| index.get(it.as_str()).copied());
            graph.edges[index[manifest.name.as_str()]].extend(targets);
        }
        graph
    }

    /// The names of the first group of resources that depend on each other, in the order in which a search meets
    /// them, the first one again at the end. (Tarjan's algorithm, without recursion: chains may be long.)
    fn first_cycle(&self) -> Option<Vec<&'a str>> {
        let mut visits = vec![Discovery::default(); self.names.len()];
        let mut count = 0;
        let mut stack = Vec::new();
        for root in 0..self.names.len() {
            if visits[root].number > 0 {
                continue;
            }
            let mut path = vec![(root, 0)];
            while let Some((node, next_edge)) = path.last_mut() {
                let node = *node;
                if *next_edge == 0 && visits[node].number == 0 {
                    count += 1;
                    visits[node] = Discovery { number: count, low: count, on_stack: true };
                    stack.push(node);
                }
                if let Some(&target) = self.edges[node].get(*next_edge) {
                    *next_edge += 1;
                    if visits[target].number == 0 {
                        path.push((target, 0));
                    } else if visits[target].on_stack {
                        visits[node].low = visits[node].low.min(visits[target].number);
                    }
                    continue;
                }
                path.pop();
                if let Some((parent, _)) = path.last() {
                    visits[*parent].low = visits[*parent].low.min(visits[node].low);
                }
                if visits[node].low == visits[node].number {
                    let start = stack.iter().rposition(|it| *it == node)?;
                    let group = stack.split_off(start);
                    if group.len() > 1 {
                        let names = group.iter().chain([&node]).map(|it| self.names[*it]);
                        return Some(names.collect());
                    }
                    visits[node].on_stack = false;
                }
            }
        }
        None
    }
}

/// Checks that every manifest is complete.
///
/// # Errors
/// Names the first one that is not.
pub(crate) fn validate(manifests: &[Manifest]) -> Result<(), Problem> {
    manifests.iter().try_for_each(|manifest| {
        let invalid = |message: String| Problem::new("tiltfile::invalid-resource", message);
        if manifest.name.is_empty() {
            return Err(invalid("[validate] manifest missing name: {Name: }".to_owned()));
        }
        label::check_name(&manifest.name).map_err(|why| invalid(why.to_string()))?;
        for image in manifest.image_targets.iter().flatten() {
            validate_image(image).map_err(|why| invalid(why.to_string()))?;
        }
        validate_deploy_target(&manifest.deploy_target).map_err(|why| invalid(why.to_string()))
    })
}

fn validate_image(image: &ImageTarget) -> Result<(), Incomplete> {
    match &image.build_details {
        BuildDetails::Docker(build) if build.context.is_empty() => {
            Err(Incomplete::BuildPath(image.selector.clone()))
        }
        BuildDetails::Custom(build) if !image.is_live_update_only && build.args.is_empty() => {
            Err(Incomplete::BuildCommand)
        }
        BuildDetails::Docker(_) | BuildDetails::Custom(_) | BuildDetails::Compose(_) => Ok(()),
    }
}

fn validate_deploy_target(target: &DeployTarget) -> Result<(), Incomplete> {
    match target {
        DeployTarget::Kubernetes(target)
            if target.yaml.is_empty() && target.apply_cmd.is_none() =>
        {
            Err(Incomplete::Yaml(target.name.clone()))
        }
        DeployTarget::Local(target)
            if target.update_cmd_spec.as_ref().is_some_and(|it| it.dir.is_empty()) =>
        {
            Err(Incomplete::CmdDir)
        }
        DeployTarget::Local(target)
            if !target.serve_cmd.is_empty() && target.serve_cmd.dir.is_empty() =>
        {
            Err(Incomplete::ServeCmdDir)
        }
        DeployTarget::Kubernetes(_) | DeployTarget::Compose(_) | DeployTarget::Local(_) => Ok(()),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeMap;

    use engine_model::{Cmd, LocalTarget, TriggerMode};

    use super::*;

    /// A local resource with these dependencies.
    pub(crate) fn manifest(name: &str, deps: &[&str]) -> Manifest {
        let serve_cmd =
            Cmd { argv: Some(vec!["true".to_owned()]), dir: "/d".to_owned(), ..Cmd::default() };
        Manifest {
            name: name.to_owned(),
            image_targets: None,
            deploy_target: DeployTarget::Local(Box::new(LocalTarget {
                update_cmd_spec: None,
                name: name.to_owned(),
                serve_cmd,
                links: None,
                deps: None,
                file_watch_ignores: None,
                allow_parallel: true,
                readiness_probe: None,
                serve_cmd_disable_source: None,
            })),
            trigger_mode: TriggerMode::Auto,
            resource_dependencies: Some(deps.iter().map(|it| (*it).to_owned()).collect()),
            source_tiltfile: String::new(),
            labels: BTreeMap::new(),
        }
    }

    /// Resources such as `a: b c` with their dependencies, one per line; prints what remains and what is said.
    fn check(resources: &str, expected: &str) {
        let parse = |line: &str| {
            let (name, deps) = line.split_once(':').unwrap();
            manifest(name.trim(), &deps.split_whitespace().collect::<Vec<_>>())
        };
        let mut manifests: Vec<Manifest> = resources.split(';').map(parse).collect();
        let mut said = Vec::new();
        let result = sanitize(&mut manifests, &mut |warning| said.push(warning.to_owned()));
        match result {
            Err(problem) => said.push(problem.message),
            Ok(()) => said.extend(manifests.iter().map(|it| {
                let deps = it.resource_dependencies.clone().unwrap_or_default();
                format!("{}: {}", it.name, deps.join(" ")).trim_end().to_owned()
            })),
        }
        assert_eq!(said.join("\n"), expected);
    }

    #[test]
    fn unknown_dependencies_are_dropped_with_a_warning() {
        check(
            "a: ghost b b; b:",
            "resource a specified a dependency on unknown resource ghost - dependency ignored\n\
             a: b b\nb:",
        );
    }

    #[test]
    fn cycles_are_refused_as_a_path_that_returns_to_its_start() {
        check("a: a", "resource a specified a dependency on itself");
        check("a: b; b: a", "cycle detected in resource dependency graph: a -> b -> a");
        check(
            "ok: a; a: b; b: c; c: a",
            "cycle detected in resource dependency graph: a -> b -> c -> a",
        );
        check("top: l r; l: base; r: base l; base:", "top: l r\nl: base\nr: base l\nbase:");
    }

    #[test]
    fn a_long_chain_does_not_exhaust_the_stack() {
        let mut manifests: Vec<Manifest> = (0..100_000)
            .map(|it| manifest(&format!("r{it}"), &[&format!("r{}", it + 1)]))
            .collect();
        manifests.push(manifest("r100000", &[]));
        assert_eq!(sanitize(&mut manifests, &mut |_| ()), Ok(()));
    }

    #[test]
    fn a_manifest_needs_a_name_that_can_be_a_path_segment() {
        for (name, expected) in [
            ("fine name", None),
            ("", Some("[validate] manifest missing name: {Name: }")),
            ("a%b", Some(r#"invalid value "a%b": may not contain '%'"#)),
        ] {
            let error = validate(&[manifest(name, &[])]).err().map(|it| it.message);
            assert_eq!(error.as_deref(), expected);
        }
    }
}

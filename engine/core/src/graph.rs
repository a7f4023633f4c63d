//! The resource graph: which resource waits for which, and in which order they can first update.

use std::collections::{HashMap, HashSet};

use engine_model::Manifest;
use petgraph::{
    algo::{tarjan_scc, toposort},
    graph::{DiGraph, NodeIndex},
};

/// Resources and their dependencies; edges lead from a resource to what it waits for.
#[derive(Debug)]
pub struct ResourceGraph {
    graph: DiGraph<String, ()>,
    nodes: HashMap<String, NodeIndex>,
    order: Vec<String>,
}

/// Resources that wait for each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// The way around, ending where it begins.
    pub path: Vec<String>,
}

impl std::fmt::Display for Cycle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cycle detected in resource dependency graph: {}", self.path.join(" -> "))
    }
}

impl std::error::Error for Cycle {}

impl ResourceGraph {
    /// The graph of these resources. Dependencies on resources that do not exist do not count.
    ///
    /// # Errors
    /// If resources wait for each other.
    pub fn new<'a>(
        manifests: impl IntoIterator<Item = &'a Manifest, IntoIter: Clone>,
    ) -> Result<Self, Cycle> {
        let manifests = manifests.into_iter();
        let mut graph = DiGraph::new();
        let mut nodes = HashMap::new();
        for manifest in manifests.clone() {
            nodes
                .entry(manifest.name.clone())
                .or_insert_with(|| graph.add_node(manifest.name.clone()));
        }
        for manifest in manifests {
            for dep in manifest.resource_dependencies.iter().flatten() {
                if let (Some(&from), Some(&to)) = (nodes.get(&manifest.name), nodes.get(dep)) {
                    graph.update_edge(from, to, ());
                }
            }
        }
        match toposort(&graph, None) {
            Ok(sorted) => {
                let order = sorted.into_iter().rev().map(|it| graph[it].clone()).collect();
                Ok(Self { graph, nodes, order })
            }
            Err(_) => Err(find_cycle(&graph)),
        }
    }

    /// All resources, dependencies first.
    pub fn order(&self) -> &[String] {
        &self.order
    }

    /// What a resource waits for, directly.
    pub fn deps_of(&self, name: &str) -> impl Iterator<Item = &str> {
        let node = self.nodes.get(name).copied();
        node.into_iter().flat_map(|it| self.graph.neighbors(it)).map(|it| self.graph[it].as_str())
    }

    /// Everything that must come before a resource.
    pub fn all_deps_of(&self, name: &str) -> HashSet<&str> {
        let mut found = HashSet::new();
        let mut next: Vec<&str> = self.deps_of(name).collect();
        while let Some(dep) = next.pop() {
            if found.insert(dep) {
                next.extend(self.deps_of(dep));
            }
        }
        found
    }
}

/// One way around, within the first group of resources that wait for each other.
fn find_cycle(graph: &DiGraph<String, ()>) -> Cycle {
    let groups = tarjan_scc(graph);
    let group = groups
        .iter()
        .find(|it| it.len() > 1 || graph.find_edge(it[0], it[0]).is_some())
        .map_or(&[][..], Vec::as_slice);
    let Some(&start) = group.iter().min() else { return Cycle { path: Vec::new() } };
    let mut path = vec![start];
    while let Some(&last) = path.last() {
        let next = graph.neighbors(last).filter(|it| group.contains(it));
        // The way is closed as soon as it meets itself; what led there is not part of it.
        let Some(next) = next.min() else { break };
        if let Some(at) = path.iter().position(|it| *it == next) {
            path.drain(..at);
            path.push(next);
            break;
        }
        path.push(next);
    }
    Cycle { path: path.into_iter().map(|it| graph[it].clone()).collect() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use engine_model::{Cmd, DeployTarget, LocalTarget, TriggerMode};

    use super::*;

    /// `a: b c; b` means that `a` waits for `b` and `c`.
    fn manifests(text: &str) -> Vec<Manifest> {
        text.split(';')
            .map(|it| {
                let (name, deps) = it.split_once(':').unwrap_or((it, ""));
                let deps: Vec<String> = deps.split_whitespace().map(str::to_owned).collect();
                manifest(name.trim(), deps)
            })
            .collect()
    }

    fn manifest(name: &str, deps: Vec<String>) -> Manifest {
        let target = LocalTarget {
            update_cmd_spec: None,
            name: name.to_owned(),
            serve_cmd: Cmd::default(),
            links: None,
            deps: None,
            file_watch_ignores: None,
            allow_parallel: false,
            readiness_probe: None,
            serve_cmd_disable_source: None,
        };
        Manifest {
            name: name.to_owned(),
            image_targets: None,
            deploy_target: DeployTarget::Local(Box::new(target)),
            trigger_mode: TriggerMode::Auto,
            resource_dependencies: Some(deps),
            source_tiltfile: String::new(),
            labels: BTreeMap::new(),
        }
    }

    #[test]
    fn dependencies_come_first() {
        let graph = ResourceGraph::new(&manifests("web: api db; api: db; db; docs")).unwrap();
        let place = |name: &str| graph.order().iter().position(|it| it == name).unwrap();
        assert!(place("db") < place("api") && place("api") < place("web"));
        assert_eq!(graph.order().len(), 4);
        assert_eq!(graph.deps_of("docs").count(), 0);
        assert_eq!(graph.deps_of("unknown").count(), 0);
    }

    #[test]
    fn dependencies_on_nothing_do_not_count() {
        let graph = ResourceGraph::new(&manifests("a: ghost")).unwrap();
        assert_eq!(graph.deps_of("a").count(), 0);
    }

    #[test]
    fn a_cycle_is_told_as_a_path() {
        for (text, path) in [
            ("a: b; b: c; c: a", "a -> b -> c -> a"),
            ("a: a", "a -> a"),
            ("x: a; a: b; b: a", "a -> b -> a"),
        ] {
            let cycle = ResourceGraph::new(&manifests(text)).unwrap_err();
            assert_eq!(
                cycle.to_string(),
                format!("cycle detected in resource dependency graph: {path}")
            );
        }
    }
}

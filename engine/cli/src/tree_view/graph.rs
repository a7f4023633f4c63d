//! The dependency graph of resources, with the status of each.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The root of the tree.
const TILTFILE: &str = "(Tiltfile)";

/// The color of a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    /// All is well.
    Ok,
    /// Not yet.
    Warning,
    /// Something failed.
    Error,
    /// Beside the point.
    Note,
}

/// A resource in the tree.
#[derive(Debug)]
pub(super) struct Node {
    /// Its name.
    pub(super) name: String,
    /// What is shown for it.
    pub(super) title: String,
    /// How it is, in words.
    pub(super) status: &'static str,
    /// How that is to be seen.
    pub(super) tone: Tone,
    /// What waits for it.
    pub(super) children: Vec<Node>,
}

impl Node {
    /// The names of all descendants, with duplicates.
    pub(super) fn names(&self) -> Vec<String> {
        let inner = self.children.iter().flat_map(|it| {
            let mut names = it.names();
            names.push(it.name.clone());
            names
        });
        inner.collect()
    }
}

/// All resources.
#[derive(Debug)]
pub(super) struct Graph {
    /// Update and runtime status by name.
    statuses: BTreeMap<String, (String, String)>,
    /// What each one waits for.
    dependencies: BTreeMap<String, Vec<String>>,
    /// What waits for each one.
    dependents: BTreeMap<String, BTreeSet<String>>,
}

impl Graph {
    /// Reads resources, and their dependencies from the state of the engine.
    pub(super) fn new(resources: &[Value], state: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let statuses: BTreeMap<_, _> = resources
            .iter()
            .map(|it| {
                let status = &it["status"];
                let both = (text(&status["updateStatus"]), text(&status["runtimeStatus"]));
                (text(&it["metadata"]["name"]), both)
            })
            .collect();
        let mut dependencies = BTreeMap::new();
        let mut dependents: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (name, target) in state["ManifestTargets"].as_object().into_iter().flatten() {
            let names = target["Manifest"]["ResourceDependencies"].as_array();
            let names: Vec<String> = names.into_iter().flatten().map(text).collect();
            for parent in names.iter().filter(|it| statuses.contains_key(*it)) {
                dependents.entry(parent.clone()).or_default().insert(name.clone());
            }
            dependencies.insert(name.clone(), names);
        }
        Self { statuses, dependencies, dependents }
    }

    /// The dependencies of a resource.
    pub(super) fn dependencies(&self, name: &str) -> &[String] {
        self.dependencies.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// A resource without its children.
    pub(super) fn node(&self, name: &str) -> Node {
        let (update, runtime) = self.statuses.get(name).cloned().unwrap_or_default();
        let (status, tone) = status(&update, &runtime);
        Node { name: name.to_owned(), title: name.to_owned(), status, tone, children: Vec::new() }
    }

    /// Everything, below the Tiltfile.
    pub(super) fn whole(&self, path: &str) -> Node {
        let title =
            if path.is_empty() { "Tiltfile".to_owned() } else { format!("Tiltfile: {path}") };
        let has_parent =
            |name: &String| self.dependencies(name).iter().any(|it| self.statuses.contains_key(it));
        let roots = self.statuses.keys().filter(|it| *it != TILTFILE && !has_parent(it));
        let children = roots.map(|it| self.subtree(it, &mut vec![TILTFILE.to_owned()])).collect();
        Node { title, children, ..self.node(TILTFILE) }
    }

    /// The resources that are not ok and do not wait for another that is not, with their descendants.
    pub(super) fn blockers(&self, path: &str) -> Result<Node, &'static str> {
        let is_bad = |name: &str| {
            let (update, runtime) = self.statuses.get(name).cloned().unwrap_or_default();
            let is_fine = |it: &str| matches!(it, "ok" | "not_applicable" | "none" | "");
            !is_fine(&update) || !is_fine(&runtime)
        };
        let bad: Vec<&String> = self.statuses.keys().filter(|it| is_bad(it)).collect();
        if bad.is_empty() {
            return Err("No blocked resources found. All resources are OK.");
        }
        let is_root = |it: &&&String| !self.dependencies(it).iter().any(|it| is_bad(it));
        let roots = bad.iter().filter(is_root);
        let mut children: Vec<Node> = roots.map(|it| self.subtree(it, &mut Vec::new())).collect();
        if children.is_empty() {
            return Err("No root blockers found.");
        }
        // Those that hold up most come first.
        children.sort_by_key(|it| {
            std::cmp::Reverse(it.names().into_iter().collect::<BTreeSet<_>>().len())
        });
        let title = match path {
            "" => "Blocked resources (root blockers and their dependents):".to_owned(),
            path => format!("Blocked resources for Tiltfile: {path}"),
        };
        Ok(Node { name: String::new(), title, status: "", tone: Tone::Ok, children })
    }

    /// A resource and what is below it; `above` keeps cycles from going on forever.
    fn subtree(&self, name: &str, above: &mut Vec<String>) -> Node {
        let mut node = self.node(name);
        above.push(name.to_owned());
        for child in self.dependents.get(name).into_iter().flatten() {
            if !above.contains(child) {
                node.children.push(self.subtree(child, above));
            }
        }
        above.pop();
        node
    }
}

fn status(update: &str, runtime: &str) -> (&'static str, Tone) {
    match (update, runtime) {
        ("error", "error") => ("error", Tone::Error),
        ("error", _) => ("build error", Tone::Error),
        (_, "error") => ("runtime error", Tone::Error),
        ("in_progress", _) => ("building", Tone::Warning),
        ("pending", "pending") => ("pending", Tone::Warning),
        ("pending", _) => ("build pending", Tone::Warning),
        (_, "pending") => ("starting", Tone::Warning),
        (_, "unknown") => ("unknown", Tone::Warning),
        ("none", _) | (_, "none") => ("not started", Tone::Warning),
        ("ok" | "not_applicable" | "", "ok" | "not_applicable" | "") => ("ok", Tone::Ok),
        _ => ("", Tone::Ok),
    }
}

//! Declared local resources.

use std::collections::{BTreeMap, BTreeSet};

use engine_model::{Cmd, Link, Probe};

use crate::api::trigger_mode::TriggerModeArg;

/// One `local_resource`.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalResource {
    /// Its name.
    pub name: String,
    /// The command each update runs; may be empty.
    pub update_cmd: Cmd,
    /// The server that runs between updates; may be empty.
    pub serve_cmd: Cmd,
    /// The directory of the file that declared it.
    pub dir: String,
    /// Absolute paths whose changes cause an update.
    pub deps: Option<Vec<String>>,
    /// Its trigger mode, if set.
    pub trigger_mode: Option<TriggerModeArg>,
    /// Whether it updates at start.
    pub auto_init: bool,
    /// Names of the resources it waits for.
    pub resource_deps: Vec<String>,
    /// Patterns of files whose changes do not matter, relative to `dir`.
    pub ignores: Vec<String>,
    /// The `.git` directories of its inputs.
    pub repositories: Vec<String>,
    /// Whether it may update while others do.
    pub allow_parallel: bool,
    /// Links shown in the UI.
    pub links: Option<Vec<Link>>,
    /// Groups in the UI.
    pub labels: BTreeMap<String, String>,
    /// How the server says that it is ready.
    pub readiness_probe: Option<Probe>,
}

/// All resources on this machine, in the order of declaration.
#[derive(Clone, Debug, Default)]
pub struct LocalResources {
    resources: Vec<LocalResource>,
    names: BTreeSet<String>,
}

impl LocalResources {
    /// Whether one has this name.
    pub fn contains(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Adds one.
    pub fn push(&mut self, resource: LocalResource) {
        self.names.insert(resource.name.clone());
        self.resources.push(resource);
    }

    /// All of them, in the order of declaration.
    pub fn iter(&self) -> impl Iterator<Item = &LocalResource> {
        self.resources.iter()
    }
}

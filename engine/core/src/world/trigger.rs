//! The trigger queue: what somebody asked for, first come first served.

use std::fmt;

use crate::{graph::ResourceGraph, reason::Reason, resource::ResourceName, world::World};

/// Why a resource is not updated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TriggerRefused {
    /// No resource has the name.
    Unknown(String),
    /// It is disabled.
    Disabled(String),
    /// The engine is ending.
    Ending,
}

impl fmt::Display for TriggerRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => write!(f, "resource \"{name}\" does not exist"),
            Self::Disabled(name) => write!(f, "resource \"{name}\" is currently disabled"),
            Self::Ending => f.write_str("the engine is shutting down"),
        }
    }
}

impl World {
    pub(crate) fn triggered(&mut self, name: &ResourceName, reason: Reason, with_deps: bool) {
        let reason = if reason.is_empty() { Reason::TRIGGER_UNKNOWN } else { reason };
        if let Some(tiltfile) = self.tiltfiles.iter_mut().find(|it| it.name == *name) {
            let before = tiltfile.triggered;
            tiltfile.triggered = before.with(reason);
            self.enqueue(name, before);
            self.show_name(name);
            return;
        }
        let Some(&at) = self.index.get(name) else { return };
        if self.resources[at].is_disabled() {
            return;
        }
        let deps = if with_deps { self.deps_without_success(name) } else { Vec::new() };
        for at in deps.into_iter().chain([at]) {
            let resource = &mut self.resources[at];
            let before = resource.triggered;
            resource.triggered = before.with(reason);
            let name = resource.name.clone();
            self.enqueue(&name, before);
            self.touch(at);
        }
        // Who asks without dependencies does not want to wait for them any longer.
        self.resources[at].gated = with_deps;
    }

    /// Who was triggered before has a place already.
    fn enqueue(&mut self, name: &ResourceName, before: Reason) {
        if before.is_empty() {
            self.queue.push(name.clone());
        }
    }

    /// What a trigger of a resource or Tiltfile would queue, or why it is refused.
    pub fn to_trigger(&self, name: &str, with_deps: bool) -> Result<Vec<String>, TriggerRefused> {
        match self.resource(name) {
            Some(resource) if resource.is_disabled() => {
                return Err(TriggerRefused::Disabled(name.to_owned()));
            }
            None if self.tiltfile(name).is_none() => {
                return Err(TriggerRefused::Unknown(name.to_owned()));
            }
            Some(_) | None => {}
        }
        let deps = if with_deps { self.deps_without_success(name) } else { Vec::new() };
        let deps = deps.into_iter().map(|at| self.resources[at].name.to_string());
        Ok(deps.chain([name.to_owned()]).collect())
    }

    /// What a trigger with dependencies starts besides: dependencies of all degrees, deepest first, that
    /// never succeeded and that nobody else starts.
    fn deps_without_success(&self, name: &str) -> Vec<usize> {
        let manifests = self.resources.iter().map(|it| it.manifest.as_ref());
        let Ok(graph) = ResourceGraph::new(manifests) else { return Vec::new() };
        let needed = graph.all_deps_of(name);
        let order = graph.order().iter().filter(|it| needed.contains(it.as_str()));
        order
            .filter_map(|it| self.index.get(it.as_str()).copied())
            .filter(|at| {
                let dep = &self.resources[*at];
                let starts_by_itself = dep.is_auto_init() && dep.history.is_empty();
                let has_succeeded = dep.last_success.is_some();
                !dep.is_disabled() && dep.current.is_none() && !has_succeeded && !starts_by_itself
            })
            .collect()
    }
}

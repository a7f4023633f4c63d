//! Declared Compose projects, and options of their services.

use std::collections::{BTreeMap, HashMap, HashSet};

use engine_formats::{compose::Service, docker::reference::Reference, golang::quote::quote};
use engine_model::{ComposeProject, Link};

use crate::api::trigger_mode::TriggerModeArg;

/// All Compose projects, in order of declaration.
#[derive(Debug, Default)]
pub struct Compose {
    /// The projects.
    pub projects: Vec<Project>,
    /// Files whose obsolete `version` was mentioned already.
    pub obsolete_versions: HashSet<String>,
}

/// A Compose project and its services as resources.
#[derive(Debug, Default)]
pub struct Project {
    /// The project as the Compose command line takes it.
    pub spec: ComposeProject,
    /// The services, dependencies first.
    pub services: Vec<ComposeResource>,
    /// Options of services, by resource name; they survive a second reading of the project.
    pub options: HashMap<String, ServiceOptions>,
}

/// A service as a resource.
#[derive(Clone, Debug)]
pub struct ComposeResource {
    /// The resource's name.
    pub name: String,
    /// The service as Compose has it.
    pub service: Service,
    /// The image that Compose would use.
    pub image: Reference,
}

/// The options of a service.
#[derive(Clone, Debug, Default)]
pub struct ServiceOptions {
    /// Its image, if not the one of the project.
    pub image: Option<Reference>,
    /// When it updates.
    pub trigger_mode: Option<TriggerModeArg>,
    /// Whether published ports become links.
    pub infer_links: Option<bool>,
    /// Links.
    pub links: Vec<Link>,
    /// Whether it updates at start.
    pub auto_init: Option<bool>,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// What must be ready first.
    pub resource_deps: Vec<String>,
}

/// Why no single service was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServiceLookup {
    /// No service has the name.
    #[error("no Docker Compose service found with name {}. Found these instead:\n\t{}", quote(.name), .known.join("; "))]
    Unknown {
        /// The name.
        name: String,
        /// All names.
        known: Vec<String>,
    },
    /// Services of several projects have the name.
    #[error("found multiple resources named {}, please specify which one with project_name= argument", quote(.0))]
    Ambiguous(String),
}

impl Compose {
    /// Whether a service has this resource name.
    pub fn has_resource(&self, name: &str) -> bool {
        self.projects.iter().flat_map(|it| &it.services).any(|it| it.name == name)
    }

    /// How many services there are.
    pub fn n_services(&self) -> usize {
        self.projects.iter().map(|it| it.services.len()).sum()
    }

    /// The project of this name, made if there is none.
    pub fn project_mut(&mut self, spec: ComposeProject) -> &mut Project {
        let index = self.projects.iter().position(|it| it.spec.name == spec.name);
        let index = index.unwrap_or_else(|| {
            self.projects.push(Project { spec, ..Project::default() });
            self.projects.len() - 1
        });
        &mut self.projects[index]
    }

    /// The project and place of the service with this resource name.
    ///
    /// # Errors
    /// If there is none, or more than one.
    pub fn find(&self, name: &str, project: &str) -> Result<(usize, usize), ServiceLookup> {
        let mut found = None;
        let mut known = Vec::new();
        for (index, candidate) in self.projects.iter().enumerate() {
            if !project.is_empty() && candidate.spec.name != project {
                continue;
            }
            for (place, service) in candidate.services.iter().enumerate() {
                if service.name == name && found.replace((index, place)).is_some() {
                    return Err(ServiceLookup::Ambiguous(name.to_owned()));
                }
                known.push(service.name.clone());
            }
        }
        found.ok_or_else(|| {
            known.sort();
            ServiceLookup::Unknown { name: name.to_owned(), known }
        })
    }
}

impl Project {
    /// Gives the service at a place another resource name, also where others depend on it.
    pub fn rename(&mut self, place: usize, new_name: &str) {
        let old_name = std::mem::replace(&mut self.services[place].name, new_name.to_owned());
        if let Some(options) = self.options.remove(&old_name) {
            self.options.insert(new_name.to_owned(), options);
        }
        for service in &mut self.services {
            let depends_on = &mut service.service.depends_on;
            let Some(dep) = depends_on.iter_mut().find(|it| **it == old_name) else { continue };
            new_name.clone_into(dep);
            let Some(options) = self.options.get_mut(&service.name) else { continue };
            if let Some(dep) = options.resource_deps.iter_mut().find(|it| **it == old_name) {
                new_name.clone_into(dep);
            }
        }
    }
}

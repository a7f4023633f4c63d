//! The declarations of a Tiltfile, in order and unresolved.
//!
//! Builtins append here and resolve nothing that depends on other declarations; [`crate::assemble`] does. Each area
//! owns a module, which alone changes its fields.

use std::collections::BTreeSet;

use crate::{objects::ApiObjects, session::Request};

pub(crate) mod compose;
pub(crate) mod config;
pub(crate) mod images;
pub(crate) mod kubernetes;
pub(crate) mod local;
pub(crate) mod settings;

/// All declarations of a Tiltfile.
#[derive(Debug, Default)]
pub struct Declarations {
    /// Paths whose changes cause another evaluation.
    pub watched: BTreeSet<String>,
    /// API objects.
    pub objects: ApiObjects,
    /// What it says about the engine.
    pub settings: settings::Settings,
    /// Settings of the Tiltfile itself, and which resources are enabled.
    pub config: config::Config,
    /// Image builds.
    pub images: images::Images,
    /// Kubernetes objects and their options.
    pub kubernetes: kubernetes::Kubernetes,
    /// Compose projects and the options of their services.
    pub compose: compose::Compose,
    /// Resources on this machine.
    pub local: local::LocalResources,
}

impl Declarations {
    /// No declarations yet.
    pub fn new(request: &Request) -> Self {
        Self { settings: settings::Settings::new(request), ..Self::default() }
    }

    /// Checks that no resource has this name yet.
    ///
    /// # Errors
    /// Names the one that has.
    pub fn check_name_is_free(&self, name: &str) -> Result<(), NameTaken> {
        if self.kubernetes.has_resource(name) {
            return Err(NameTaken::by_kubernetes(name));
        }
        self.check_name_is_free_elsewhere(name)
    }

    /// Checks that no resource outside Kubernetes has this name yet.
    ///
    /// # Errors
    /// Names the one that has.
    pub fn check_name_is_free_elsewhere(&self, name: &str) -> Result<(), NameTaken> {
        let kind = if self.local.contains(name) {
            "local_resource"
        } else if self.compose.has_resource(name) {
            "dc_resource"
        } else {
            return Ok(());
        };
        Err(NameTaken { kind, name: name.to_owned() })
    }
}

/// Another resource has the name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} named {} already exists", engine_formats::golang::quote::quote(.name))]
pub struct NameTaken {
    kind: &'static str,
    name: String,
}

impl NameTaken {
    /// A Kubernetes resource has the name.
    pub fn by_kubernetes(name: &str) -> Self {
        Self { kind: "k8s_resource", name: name.to_owned() }
    }
}

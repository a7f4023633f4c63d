//! Declared Kubernetes objects, and options of the resources they form.

use std::collections::{BTreeMap, HashMap, HashSet};

use engine_formats::{
    docker::reference::Reference,
    kubernetes::{Object, locator::ImageLocator, selector::ObjectSelector},
};
use engine_model::{
    Cmd, Forward, IgnoreDef, Link, ObjectSelectorSpec, PodReadiness, pod::ObjectKey,
};

use crate::{
    api::{KubeContext, trigger_mode::TriggerModeArg},
    diagnostic::Place,
};

/// All declarations about Kubernetes.
#[derive(Debug)]
pub struct Kubernetes {
    /// All objects, in order of declaration.
    pub objects: Vec<Object>,
    /// Where each object was first declared, to name it when it is declared again.
    declared_at: HashMap<ObjectKey, String>,
    /// `k8s_resource` calls, in order.
    pub options: Vec<ResourceOptions>,
    /// What is known about kinds of objects.
    pub kinds: Vec<KindInfo>,
    /// `k8s_custom_deploy` resources, in order.
    pub custom_deploys: Vec<CustomDeploy>,
    custom_deploy_names: HashSet<String>,
    /// Who names resources, if not we.
    pub workload_function: Option<WorkloadFunction>,
    /// What that function answered for each workload, once it was asked.
    pub workload_names: Option<Vec<String>>,
    /// The cluster, once it was needed.
    pub context: Option<KubeContext>,
}

impl Default for Kubernetes {
    fn default() -> Self {
        let kind = |kind: &str, readiness| KindInfo {
            selector: ObjectSelector::partial(&ObjectSelectorSpec {
                api_version_regexp: "batch/v1".to_owned(),
                kind_regexp: kind.to_owned(),
                ..ObjectSelectorSpec::default()
            })
            .expect("these are valid expressions"),
            locators: Vec::new(),
            readiness,
        };
        Self {
            objects: Vec::new(),
            declared_at: HashMap::new(),
            options: Vec::new(),
            kinds: vec![
                kind("Job", PodReadiness::Succeeded),
                kind("CronJob", PodReadiness::Ignore),
            ],
            custom_deploys: Vec::new(),
            custom_deploy_names: HashSet::new(),
            workload_function: None,
            workload_names: None,
            context: None,
        }
    }
}

impl Kubernetes {
    /// Whether a resource of this name exists before assembly.
    pub fn has_resource(&self, name: &str) -> bool {
        self.custom_deploy_names.contains(name)
    }

    /// Adds a custom deploy.
    pub fn add_custom_deploy(&mut self, deploy: CustomDeploy) {
        self.custom_deploy_names.insert(deploy.name.clone());
        self.custom_deploys.push(deploy);
    }

    /// Adds objects that were declared at a position, given as a traceback.
    ///
    /// # Errors
    /// If one was declared already, and duplicates are not allowed.
    pub fn add_objects(
        &mut self,
        objects: Vec<Object>,
        traceback: &str,
        allow_duplicates: bool,
    ) -> Result<(), DuplicateObject> {
        for object in &objects {
            let address = object.address();
            if let Some(declared_at) = self.declared_at.get(&address)
                && !allow_duplicates
            {
                return Err(DuplicateObject { address, declared_at: declared_at.clone() });
            }
            self.declared_at.insert(address, traceback.to_owned());
        }
        self.objects.extend(objects);
        Ok(())
    }
}

/// An object was declared twice.
#[derive(Debug)]
pub struct DuplicateObject {
    address: ObjectKey,
    declared_at: String,
}

impl std::fmt::Display for DuplicateObject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ObjectKey { name, namespace, kind, .. } = &self.address;
        write!(f, "Duplicate YAML: {kind} {name}")?;
        if !namespace.is_empty() {
            write!(f, " (Namespace: {namespace})")?;
        }
        write!(
            f,
            "\nIgnore this error with k8s_yaml(..., allow_duplicates=True)\nYAML originally registered at: {}",
            self.declared_at.replace('\n', "\n  ")
        )
    }
}

/// What is known about objects that a selector matches.
#[derive(Clone, Debug)]
pub struct KindInfo {
    /// Which objects.
    pub selector: ObjectSelector,
    /// Where their images are.
    pub locators: Vec<ImageLocator>,
    /// What counts as ready.
    pub readiness: PodReadiness,
}

/// One `k8s_resource` call.
#[derive(Clone, Debug)]
pub struct ResourceOptions {
    /// The resource it is about.
    pub workload: String,
    /// Its new name, if it gets one.
    pub new_name: String,
    /// Whether the call makes a resource of objects, instead of naming one.
    pub is_group: bool,
    /// Ports to forward.
    pub port_forwards: Vec<Forward>,
    /// Labels of more pods.
    pub extra_pod_selectors: Vec<BTreeMap<String, String>>,
    /// When it updates.
    pub trigger_mode: Option<TriggerModeArg>,
    /// Whether it updates at start.
    pub auto_init: Option<bool>,
    /// What must be ready first.
    pub resource_deps: Vec<String>,
    /// Fragments of names of more objects.
    pub objects: Vec<String>,
    /// What counts as ready.
    pub readiness: PodReadiness,
    /// How pods are found.
    pub discovery_strategy: String,
    /// Links.
    pub links: Vec<Link>,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Where the call is.
    pub position: Place,
}

/// One `k8s_custom_deploy` call.
#[derive(Clone, Debug)]
pub struct CustomDeploy {
    /// The resource's name.
    pub name: String,
    /// Applies.
    pub apply: Cmd,
    /// Deletes.
    pub delete: Cmd,
    /// Paths whose changes cause another apply.
    pub deps: Vec<String>,
    /// Changes that a live update takes care of.
    pub ignores: Vec<IgnoreDef>,
    /// Images that must be built.
    pub required_images: Vec<Reference>,
    /// The image that is live-updated.
    pub live_update_image: Option<Reference>,
}

/// The function given to `workload_to_resource_function`.
#[derive(Clone, Debug)]
pub struct WorkloadFunction {
    /// Its name.
    pub name: String,
    /// Where it is defined.
    pub position: Place,
    /// The file whose module keeps it alive.
    pub file: String,
}

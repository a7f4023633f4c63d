//! What a resource has deployed to a cluster: its objects and pods, the logs that are read, the ports that are forwarded.

mod action;
mod event;
mod forward;
mod logs;
mod rollout;
mod select;
mod status;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use engine_model::{
    ApplyCmd,
    pod::{DeployedObject, Interest, ObjectKey, Pod},
};

use crate::{
    effect::{LineKind, LogLine},
    resource::{Resource, ResourceName},
    retry::Waiting,
    time::Time,
};

pub use action::{Deletion, KubernetesAction};
pub use event::{Deployed, WorkloadEvent};
pub use forward::{ForwardStatus, Forwarded};
pub use logs::{LogReader, LogSource};
use rollout::Rollout;

/// What one resource has deployed.
#[derive(Clone, Debug, Default)]
pub struct Workload {
    /// Whether it was ever deployed by this engine.
    pub has_deployed: bool,
    /// The objects of the last good apply.
    pub objects: Vec<DeployedObject>,
    uids: BTreeSet<String>,
    hashes: Vec<String>,
    /// Whether the apply found a job that had completed before.
    has_complete_job: bool,
    /// How the last apply went.
    pub apply: ApplyStatus,
    /// Fields that others changed, in words.
    pub kept: Vec<String>,
    /// What an update applies that has not ended, or was canceled: nobody knows how far it came.
    pub(crate) applying: Option<String>,
    /// The command that deletes what a command has applied.
    pub(crate) delete_cmd: Option<ApplyCmd>,
    /// All pods that were found.
    pub pods: Vec<Pod>,
    /// Since when pods are looked for.
    pub followed_since: Option<Time>,
    /// What the cluster warned of last.
    pub last_warning: Option<String>,
    /// Addresses of its services.
    pub links: Vec<String>,
    /// When updates of pods began that were there before, by name.
    pub update_starts: HashMap<String, Time>,
    rollout: Rollout,
    /// The log readers, by the container's id, which changes with each run.
    pub readers: BTreeMap<String, LogReader>,
    /// The forwards, to one pod.
    pub forwarded: Option<Forwarded>,
    /// What its last update waits for.
    pub(crate) waiting: Option<Waiting>,
    /// How often in a row an update had an obstacle.
    pub(crate) n_obstacles: u32,
}

/// How an apply went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ApplyStatus {
    /// There was none, or what it applied is gone again.
    #[default]
    None,
    /// The objects are those of the workload.
    Done {
        /// When it began.
        started: Time,
        /// When it ended.
        at: Time,
        /// Changes with what was applied.
        input_hash: String,
        /// Whether a job had completed before.
        has_complete_job: bool,
    },
    /// It failed.
    Failed {
        /// When it began.
        started: Time,
        /// When it ended.
        at: Time,
        /// Why.
        error: String,
    },
}

impl Workload {
    /// The pods that belong to what was applied last.
    pub fn current_pods(&self) -> Vec<&Pod> {
        select::filtered(&self.pods, &self.hashes, &self.uids)
    }

    /// The pod that stands for all of them.
    pub fn newest_pod(&self) -> Option<&Pod> {
        select::most_recent(self.current_pods())
    }

    /// These objects are deployed now; answers those that were before.
    pub(crate) fn set_objects(&mut self, objects: Vec<DeployedObject>) -> Vec<DeployedObject> {
        let uids = objects.iter().map(|it| it.uid.clone()).filter(|it| !it.is_empty());
        self.uids = uids.collect();
        self.hashes = objects.iter().flat_map(|it| it.template_hashes.clone()).collect();
        self.has_complete_job = objects.iter().any(|it| it.is_complete_job);
        self.has_deployed = true;
        std::mem::replace(&mut self.objects, objects)
    }

    /// Whether it has deployed an object.
    pub(crate) fn owns(&self, key: &ObjectKey, namespace: &str) -> bool {
        self.objects.iter().any(|it| it.key.is_same(key, namespace))
    }

    /// Updates of pods that are there now have begun.
    pub(crate) fn update_started(&mut self, now: Time, yaml: Option<String>) {
        let names: Vec<String> = self.current_pods().iter().map(|it| it.name.clone()).collect();
        self.update_starts.extend(names.into_iter().map(|it| (it, now)));
        self.applying = yaml;
        self.last_warning = None;
    }
}

impl Resource {
    /// The pods that its Tiltfile wants to find.
    pub(crate) fn interest(&self) -> Option<Interest> {
        let (target, workload) = (self.kubernetes_target()?, self.workload.as_ref()?);
        let template = target.kubernetes_discovery_template_spec.as_ref();
        let selectors = template.map(|it| it.extra_selectors.as_slice()).unwrap_or_default();
        let deployed = workload.objects.iter().map(|it| (it.key.clone(), it.uid.clone()));
        Some(Interest {
            deployed: deployed.collect(),
            template_hashes: workload.hashes.clone(),
            extra_selectors: selectors.iter().map(|it| it.match_labels.clone()).collect(),
            selectors_only: target.discovery_strategy == "selectors-only",
        })
    }
}

/// The log of a pod.
pub fn pod_span(resource: &str, pod: &str) -> String {
    format!("pod:{resource}:{pod}")
}

/// Where the objects of what is applied to a cluster write.
pub fn apply_span(resource: &str) -> String {
    format!("kubernetesapply:{resource}")
}

fn line(resource: &ResourceName, span: String, kind: LineKind, text: String) -> LogLine {
    LogLine { resource: resource.clone(), span, kind, text }
}

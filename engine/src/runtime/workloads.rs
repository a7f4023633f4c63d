//! What resources have deployed to the cluster: the objects of the last apply, and what is deleted again.

mod discovery;

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::{Duration, SystemTime},
};

use engine_core::resource::{Resource, ResourceName};
use engine_kubernetes::{
    DeleteOptions, DeleteOrder, Interest, Kept, KubernetesError, ObjectKey, Pod,
};
use engine_model::{ApplyCmd, DeployTarget, KubernetesTarget};
use serde_json::{Value, json};
use tokio::{sync::watch, task::JoinSet};

use super::{Runtime, clock, forwards::Forwarded, names, pod_logs::Streams, rollout::Rollout};
use crate::{
    api::kind,
    deploy::kubernetes::{Deployed, command, result},
};

/// Marks pods by the template that they were made from.
const TEMPLATE_HASH: &str = "tilt.dev/pod-template-hash";

/// How long it may take to delete.
const DELETE_TIMEOUT: Duration = Duration::from_secs(30);

/// What is known of everything that was deployed.
#[derive(Default)]
pub(super) struct Workloads {
    pub(super) known: HashMap<ResourceName, Workload>,
    /// Deletions and log readers; they end with the runtime.
    pub(super) tasks: JoinSet<()>,
}

/// What one resource has deployed.
#[derive(Default)]
pub(super) struct Workload {
    /// Whether it was ever deployed by this engine.
    pub(super) has_deployed: bool,
    /// The objects of the last good apply, as the cluster has them.
    pub(super) objects: Vec<Value>,
    pub(super) uids: BTreeSet<String>,
    pub(super) hashes: Vec<String>,
    /// Whether the apply found a job that had completed before.
    pub(super) has_complete_job: bool,
    /// Fields that others changed.
    pub(super) kept: Vec<Kept>,
    /// What an update applies that has not ended, or was canceled: nobody knows how far it came.
    pub(super) applying: Option<String>,
    /// The command that deletes what a command has applied.
    pub(super) delete_cmd: Option<ApplyCmd>,
    /// All pods that were found.
    pub(super) pods: Vec<Pod>,
    /// Since when pods are looked for.
    pub(super) followed_since: Option<SystemTime>,
    /// Addresses of its services.
    pub(super) links: Vec<String>,
    /// When updates of pods began that were there before.
    pub(super) update_starts: HashMap<String, engine_core::Time>,
    pub(super) rollout: Rollout,
    pub(super) streams: Streams,
    pub(super) forwarded: Option<Forwarded>,
    /// Closes when everything that was to be deleted is.
    pub(super) deletion: Option<watch::Receiver<()>>,
}

impl Workload {
    /// The pods that belong to what was applied last.
    pub(super) fn current_pods(&self) -> Vec<&Pod> {
        engine_kubernetes::filtered(&self.pods, &self.hashes, &self.uids)
    }

    /// The pod that stands for all of them.
    pub(super) fn newest_pod(&self) -> Option<&Pod> {
        engine_kubernetes::most_recent(self.current_pods())
    }

    /// Returns when nothing is being deleted any more.
    pub(super) fn deletion(&self) -> Option<watch::Receiver<()>> {
        self.deletion.clone()
    }
}

/// Waits until deletions are done.
pub(super) async fn deleted(deletion: Option<watch::Receiver<()>>) {
    if let Some(mut deletion) = deletion {
        // It fails when the one who deletes is done.
        while deletion.changed().await.is_ok() {}
    }
}

/// What to delete.
enum Deletion {
    Objects(Vec<Value>),
    Command(ApplyCmd),
}

impl Runtime {
    /// What a resource deploys, if that is to a cluster.
    pub(super) fn kubernetes_target(&self, resource: &str) -> Option<&KubernetesTarget> {
        match &self.scheduler.resource(resource)?.manifest.deploy_target {
            DeployTarget::Kubernetes(target) => Some(target),
            DeployTarget::Local(_) | DeployTarget::Compose(_) => None,
        }
    }

    pub(super) fn workload(&self, resource: &str) -> Option<&Workload> {
        self.kubernetes.workloads.known.get(resource)
    }

    pub(super) fn workload_mut(&mut self, resource: &ResourceName) -> &mut Workload {
        self.kubernetes.workloads.known.entry(Arc::clone(resource)).or_default()
    }

    /// An update begins to build and apply.
    pub(super) fn applying(&mut self, resource: &ResourceName) {
        let yaml = self.kubernetes_target(resource).map(|it| it.yaml.clone());
        self.workload_mut(resource).applying = yaml;
    }

    /// Objects were applied, or not.
    pub(super) fn deployed(
        &mut self,
        resource: &ResourceName,
        started: SystemTime,
        result: Result<Box<Deployed>, String>,
    ) {
        let micro = |it: SystemTime| json!(clock::micro(clock::of_system(it)));
        let mut status = json!({
            "lastApplyTime": micro(SystemTime::now()),
            "lastApplyStartTime": micro(started),
            "disableStatus": self.disable_status(kind::KUBERNETES_APPLY, resource),
        });
        match result {
            Err(error) => {
                status["error"] = json!(self.logs.scrubber().scrub(&error));
                self.store.set_status(kind::KUBERNETES_APPLY, resource, &status);
            }
            Ok(deployed) => {
                status["resultYAML"] = json!(result::to_yaml(&deployed.objects));
                status["appliedInputHash"] = json!(deployed.input_hash);
                if result::has_complete_job(&deployed.objects) {
                    status["conditions"] = json!([{
                        "type": "JobComplete", "status": "True", "lastTransitionTime": null,
                        "reason": "", "message": "",
                    }]);
                }
                self.store.set_status(kind::KUBERNETES_APPLY, resource, &status);
                self.live_deployed(resource, clock::of_system(started));
                self.take_deployed(resource, *deployed);
            }
        }
    }

    fn take_deployed(&mut self, resource: &ResourceName, deployed: Deployed) {
        let delete_cmd = self.kubernetes_target(resource).and_then(|it| it.delete_cmd.clone());
        let workload = self.workload_mut(resource);
        let old = std::mem::replace(&mut workload.objects, deployed.objects);
        let objects = &workload.objects;
        workload.uids = objects.iter().map(|it| engine_kubernetes::uid(it).to_owned()).collect();
        workload.uids.remove("");
        workload.hashes = objects.iter().flat_map(template_hashes).collect();
        workload.has_complete_job = result::has_complete_job(objects);
        workload.has_deployed = true;
        workload.applying = None;
        workload.kept = deployed.kept;
        workload.delete_cmd = delete_cmd.filter(|_| deployed.by_command);
        let by_command = deployed.by_command;
        if !by_command {
            let gone = self.without_owner(old);
            let reason = "garbage collecting removed Kubernetes objects";
            self.delete_later(resource, Deletion::Objects(gone), reason);
        }
        self.follow_workload(resource);
        self.show_discovery(resource);
    }

    /// Those of some objects that no resource has any more.
    fn without_owner(&self, objects: Vec<Value>) -> Vec<Value> {
        let namespace = self.cluster().map_or("", |it| it.namespace());
        let key = |object: &Value| {
            let mut key = ObjectKey::of(object);
            if key.namespace.is_empty() {
                namespace.clone_into(&mut key.namespace);
            }
            key
        };
        let all = self.kubernetes.workloads.known.values().flat_map(|it| &it.objects);
        let owned: BTreeSet<ObjectKey> = all.map(key).collect();
        objects.into_iter().filter(|it| !owned.contains(&key(it)) && !is_kept(it)).collect()
    }

    /// Deletes in the background; what is deployed next waits for that.
    fn delete_later(&mut self, resource: &ResourceName, what: Deletion, reason: &str) {
        if matches!(&what, Deletion::Objects(objects) if objects.is_empty()) {
            return;
        }
        let Some(cluster) = self.cluster().cloned() else { return };
        let Some(mut patience) = self.patience() else { return };
        let log = self.logs.writer(resource, &names::apply_span(resource));
        let cause = format!("{reason} of {resource}");
        let surroundings = self.surroundings_for(&cause);
        let workload = self.workload_mut(resource);
        let before = workload.deletion.take();
        let (done, deletion) = watch::channel(());
        workload.deletion = Some(deletion);
        let reason = reason.to_owned();
        self.kubernetes.workloads.tasks.spawn(async move {
            let _done = done;
            deleted(before).await;
            log.info(&format!("Beginning {reason}"));
            let result = match what {
                Deletion::Objects(mut objects) => {
                    objects.reverse();
                    let options = DeleteOptions {
                        order: DeleteOrder::Given,
                        with_namespaces: true,
                        honor_down_policy: true,
                        timeout: DELETE_TIMEOUT,
                        wait: None,
                        cause,
                    };
                    let say = |line: &str| log.info(line);
                    loop {
                        let error = match cluster.delete(&objects, &options, &say).await {
                            Ok(()) => break Ok(()),
                            Err(error) => error,
                        };
                        if !matches!(error, KubernetesError::Unreachable(_)) {
                            break Err(error.to_string());
                        }
                        log.error(&format!(
                            "Error {reason}: {error}\nIt is tried again when the cluster answers."
                        ));
                        if patience.until_usable().await.is_none() {
                            return;
                        }
                    }
                }
                Deletion::Command(cmd) => {
                    let output = log.clone().into();
                    match cluster.verify().await {
                        Ok(()) => {
                            command::delete(&cmd, &surroundings, DELETE_TIMEOUT, &output).await
                        }
                        Err(error) => Err(error.to_string()),
                    }
                }
            };
            if let Err(error) = result {
                log.error(&format!("Error {reason}: {error}"));
            }
        });
        while self.kubernetes.workloads.tasks.try_join_next().is_some() {}
    }

    /// A resource is switched off, or gone: so is everything that it deployed.
    pub(super) fn workload_left(&mut self, resource: &ResourceName) {
        let is_gone = self.scheduler.resource(resource).is_none();
        self.deploys.retries.stop_waiting(resource);
        let Some(workload) = self.kubernetes.workloads.known.get_mut(resource) else { return };
        let objects = std::mem::take(&mut workload.objects);
        let cmd = workload.delete_cmd.take();
        let applying = workload.applying.take().unwrap_or_default();
        let deletion = workload.deletion.take();
        *workload = Workload { deletion, ..Workload::default() };
        let reason = if is_gone {
            "garbage collecting Kubernetes objects"
        } else {
            "deleting disabled Kubernetes objects"
        };
        let what = match cmd {
            Some(cmd) => Deletion::Command(cmd),
            None => {
                let mut objects = objects;
                let begun = builtins::kubernetes::parse(&applying).unwrap_or_default();
                objects.extend(begun.into_iter().map(builtins::kubernetes::Object::into_value));
                Deletion::Objects(self.without_owner(objects))
            }
        };
        self.delete_later(resource, what, reason);
        if let Some(tracker) = self.tracker() {
            tracker.forget(resource);
        }
        self.remove_owned(resource);
        self.store.remove(kind::KUBERNETES_DISCOVERY, resource);
        if is_gone {
            self.kubernetes.workloads.known.remove(resource);
        } else {
            let disabled = self.disable_status(kind::KUBERNETES_APPLY, resource);
            let status = json!({"disableStatus": disabled});
            self.store.set_status(kind::KUBERNETES_APPLY, resource, &status);
            self.observe_pods(resource);
        }
    }

    /// What is about to be applied was deleted before.
    pub(super) fn force_deleted(&mut self, resource: &ResourceName) {
        let disabled = self.disable_status(kind::KUBERNETES_APPLY, resource);
        self.store.set_status(
            kind::KUBERNETES_APPLY,
            resource,
            &json!({"disableStatus": disabled}),
        );
    }

    /// Follows everything that is deployed, such as after a connection was made.
    pub(super) fn follow_all_workloads(&self) {
        let known = self.kubernetes.workloads.known.iter();
        for (resource, _) in known.filter(|(_, it)| it.has_deployed) {
            self.follow_workload(resource);
        }
    }

    /// Looks for the pods of what was applied.
    fn follow_workload(&self, resource: &ResourceName) {
        let (Some(workload), Some(target), Some(tracker)) =
            (self.workload(resource), self.kubernetes_target(resource), self.tracker())
        else {
            return;
        };
        let deployed = workload
            .objects
            .iter()
            .map(|it| (ObjectKey::of(it), engine_kubernetes::uid(it).to_owned()));
        tracker.follow(
            resource,
            Interest {
                deployed: deployed.collect(),
                template_hashes: workload.hashes.clone(),
                extra_selectors: extra_selectors(target),
                selectors_only: target.discovery_strategy == "selectors-only",
            },
        );
    }

    /// Whether a resource takes part.
    pub(super) fn takes_part(&self, resource: &str) -> bool {
        self.scheduler.resource(resource).is_some_and(|it: &Resource| !it.is_disabled())
    }
}

/// Whether an object asks to stay when everything else is deleted.
fn is_kept(object: &Value) -> bool {
    object["metadata"]["annotations"]["tilt.dev/down-policy"] == "keep"
}

fn extra_selectors(target: &KubernetesTarget) -> Vec<std::collections::BTreeMap<String, String>> {
    let template = target.kubernetes_discovery_template_spec.as_ref();
    let selectors = template.map(|it| it.extra_selectors.as_slice()).unwrap_or_default();
    selectors.iter().map(|it| it.match_labels.clone()).collect()
}

/// The hashes of all pod templates in an object, wherever its kind has them.
fn template_hashes(object: &Value) -> Vec<String> {
    match object {
        Value::Object(fields) => {
            let own = object.pointer("/metadata/labels").and_then(|it| it[TEMPLATE_HASH].as_str());
            let inner = fields.values().flat_map(template_hashes);
            own.map(ToOwned::to_owned).into_iter().chain(inner).collect()
        }
        Value::Array(items) => items.iter().flat_map(template_hashes).collect(),
        _ => Vec::new(),
    }
}

impl std::fmt::Debug for Workloads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workloads").field("n_known", &self.known.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_found_wherever_a_kind_has_them() {
        let labels = json!({"metadata": {"labels": {TEMPLATE_HASH: "h"}}});
        let cron = json!({"spec": {"jobTemplate": {"spec": {"template": labels}}}});
        let list = json!({"spec": {"template": labels, "others": [labels]}});
        assert_eq!(template_hashes(&cron), ["h"]);
        assert_eq!(template_hashes(&list), ["h", "h"]);
        assert!(template_hashes(&json!({"metadata": {"labels": {"app": "x"}}})).is_empty());
    }
}

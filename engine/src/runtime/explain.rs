//! Why a resource last ran or what it waits for, and the graph of all: as data for `why` and `graph`.

use engine_core::{
    Time,
    hold::{Hold, WaitsOn},
    reason::Reason,
    resource::{ChangedFile, Resource, Update},
};
use serde_json::{Value, json};

use super::{Runtime, clock, names, workloads::Workload};

/// Chains are followed so far; a loop has no end.
const MAX_DEPTH: usize = 16;

impl Runtime {
    /// Why a resource last ran, what it does now, and what it waits for.
    pub(super) fn explain(&self, name: &str) -> Option<Value> {
        if let Some(tiltfile) = self.scheduler.tiltfile(name) {
            let run = tiltfile.current.as_ref().or(tiltfile.last.as_ref());
            return Some(json!({
                "resource": name,
                "updateStatus": tiltfile.update_status().as_str(),
                "lastRun": run.map(|it| json!({
                    "startedAt": clock::micro(it.started),
                    "reason": it.reason.to_string(),
                    "files": it.files,
                    "error": it.error,
                })),
                "pendingFiles": tiltfile.pending,
            }));
        }
        let resource = self.scheduler.resource(name)?;
        let update = resource.current.as_ref().or(resource.history.front());
        let answer = json!({
            "resource": name,
            "updateStatus": resource.update_status().as_str(),
            "runtimeStatus": resource.runtime_status().as_str(),
            "runtimeError": resource.runtime_error,
            "container": self.container_of(name).map(|it| json!({
                "name": it.name,
                "status": it.status,
                "health": it.health,
                "startedAt": it.started.map(|it| it.to_string()),
            })),
            "pod": self.workload(name).and_then(Workload::newest_pod).map(|it| json!({
                "name": it.name,
                "namespace": it.namespace,
                "status": it.status,
                "restarts": it.restarts(),
                "errors": it.errors,
                "createdAt": it.created.to_string(),
            })),
            "kept": self.kept(name),
            "triggerMode": resource.trigger_mode,
            "disabled": resource.is_disabled(),
            "running": resource.current.is_some(),
            "lastRun": update.map(|it| self.cause(it, 0)),
            "pending": self.pending(resource),
            "hold": resource.hold.as_ref().map(|it| self.hold(it, 0)),
        });
        Some(self.scrubbed(answer))
    }

    /// Fields in the cluster that others changed, in words.
    fn kept(&self, name: &str) -> Vec<String> {
        let kept = self.workload(name).map(|it| it.kept.as_slice()).unwrap_or_default();
        kept.iter().map(crate::deploy::kubernetes::result::kept_text).collect()
    }

    /// Why an update ran, down to what happened outside.
    fn cause(&self, update: &Update, depth: usize) -> Value {
        let mut cause = json!({
            "update": update.id.0,
            "startedAt": clock::micro(update.started),
            "reason": update.reason.to_string(),
        });
        if let Some(end) = &update.end {
            cause["endedAt"] = json!(clock::micro(end.at));
            cause["error"] = json!(end.error);
        }
        if let Some(config) = &update.config {
            cause["configFiles"] = json!(config.files);
        }
        if !update.changes.is_empty() {
            cause["files"] = update.changes.iter().map(|it| self.change(it, depth)).collect();
        }
        if let Some(dep) = &update.released_by
            && depth < MAX_DEPTH
        {
            cause["waitedFor"] = self.resource_cause(dep, depth);
        }
        cause
    }

    fn resource_cause(&self, name: &str, depth: usize) -> Value {
        let resource = self.scheduler.resource(name);
        let update = resource.and_then(|it| it.current.as_ref().or(it.history.front()));
        json!({"resource": name, "lastRun": update.map(|it| self.cause(it, depth + 1))})
    }

    fn change(&self, change: &ChangedFile, depth: usize) -> Value {
        let mut shown = json!({"path": change.path, "seenAt": clock::micro(change.at)});
        if let Some(suspect) = &change.suspect {
            let mut during = json!({"resource": suspect.resource, "update": suspect.update.0});
            let update = self.scheduler.resource(&suspect.resource).and_then(|it| {
                it.current.iter().chain(&it.history).find(|it| it.id == suspect.update)
            });
            if let Some(update) = update.filter(|_| depth < MAX_DEPTH) {
                during["lastRun"] = self.cause(update, depth + 1);
            }
            shown["during"] = during;
        }
        shown
    }

    /// What the next update would be for.
    fn pending(&self, resource: &Resource) -> Value {
        let reason = resource.next_reason();
        if reason.is_empty() {
            return Value::Null;
        }
        let is_due = !reason.triggers().is_empty()
            || reason.has(Reason::INITIAL)
            || resource.is_auto_on_change();
        let config = resource.config_change.as_ref().map(|it| &it.files);
        json!({
            "reason": reason.to_string(),
            "files": resource.pending.iter().map(|it| self.change(it, 0)).collect::<Vec<_>>(),
            "configFiles": config,
            "since": resource.pending_since().map(clock::micro),
            "needsTrigger": !is_due,
        })
    }

    /// What a resource waits for, and what that waits for.
    fn hold(&self, hold: &Hold, depth: usize) -> Value {
        let on: Vec<Value> = hold
            .on()
            .iter()
            .map(|it| match it {
                WaitsOn::Resource(name) => self.waits_on(name, depth),
                WaitsOn::Image(name) => json!({"image": name}),
                WaitsOn::Cluster(name) => {
                    let is_docker = *name == names::DOCKER;
                    let error = if is_docker { self.docker_error() } else { self.cluster_error() };
                    json!({"cluster": name, "error": error})
                }
            })
            .collect();
        let mut shown = json!({"reason": hold.reason(), "on": on});
        if let Hold::RebuildLoop { file, .. } = hold {
            shown["file"] = json!(file);
        }
        shown
    }

    fn waits_on(&self, name: &str, depth: usize) -> Value {
        let mut shown = json!({"resource": name});
        let Some(resource) = self.scheduler.resource(name) else { return shown };
        shown["updateStatus"] = json!(resource.update_status().as_str());
        shown["runtimeStatus"] = json!(resource.runtime_status().as_str());
        shown["disabled"] = json!(resource.is_disabled());
        let never_ran = !resource.has_started_once() && !resource.is_auto_init();
        shown["needsTrigger"] = json!(never_ran && resource.triggered.is_empty());
        let error = resource.history.front().and_then(|it| it.end.as_ref()?.error.clone());
        if let Some(error) = error {
            shown["error"] = json!(error);
        }
        if let Some(hold) = resource.hold.as_ref().filter(|_| depth < MAX_DEPTH) {
            shown["hold"] = self.hold(hold, depth + 1);
        }
        shown
    }

    /// All resources, what they wait for at first, and how they do.
    pub(super) fn graph(&self) -> Value {
        let now = clock::now();
        let seconds = |it: Time| now.micros_since(it) / 1_000_000;
        let nodes: Vec<Value> = self
            .scheduler
            .resources()
            .iter()
            .map(|it| {
                json!({
                    "name": it.name,
                    "deps": it.dependencies().collect::<Vec<_>>(),
                    "updateStatus": it.update_status().as_str(),
                    "runtimeStatus": it.runtime_status().as_str(),
                    "triggerMode": it.trigger_mode,
                    "disabled": it.is_disabled(),
                    "hold": it.hold.as_ref().map(Hold::reason),
                    "lastUpdateSecondsAgo": it.last_success.map(seconds),
                })
            })
            .collect();
        json!({"resources": nodes})
    }
}

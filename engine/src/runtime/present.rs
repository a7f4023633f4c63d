//! What people see: the objects of resources, of the session and of the trigger queue.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use engine_core::{
    Time,
    hold::{Hold, WaitsOn},
    resource::{Resource, ResourceName, Update},
    session::{self, Grace, Limits, Target, TargetKind, TargetState},
    status::{self, Condition, RuntimeStatus, UpdateStatus},
    tiltfile::{Run, Tiltfile},
};
use engine_model::{DeployTarget, GoDuration, Link, TriggerMode};
use serde_json::{Map, Value, json};

use super::{Runtime, clock, commands::build_span, declare, disable, names};
use crate::{
    api::{Meta, kind},
    prompt,
};

/// The session lists all targets, so with many of them it is shown less often: every so often per target.
const SESSION_PER_TARGET: Duration = Duration::from_micros(500);

/// What was shown last, where that matters for what is shown next.
#[derive(Debug, Default)]
pub(super) struct Shown {
    /// The conditions of each resource, and since when they are like that.
    conditions: HashMap<ResourceName, [(bool, Time); 2]>,
    session: Option<Instant>,
    is_session_old: bool,
}

impl Shown {
    /// The session is not shown as it is.
    pub(super) fn session_changed(&mut self) {
        self.is_session_old = true;
    }

    pub(super) fn forget(&mut self, resource: &str) {
        self.conditions.remove(resource);
    }
}

impl Runtime {
    /// Shows a resource or a Tiltfile as it is now.
    pub(super) fn present(&mut self, name: &ResourceName) {
        let now = clock::now();
        let status = if let Some(resource) = self.scheduler.resource(name) {
            let conditions =
                conditions(resource.update_status(), resource.runtime_status(), resource);
            let conditions = self.shown.conditions(name, conditions, now);
            let order = self.scheduler.order(name).unwrap_or(0);
            self.resource_status(resource, order, conditions)
        } else if let Some(tiltfile) = self.scheduler.tiltfile(name) {
            let update = tiltfile.update_status();
            let found = [
                status::up_to_date(update, false),
                status::ready(update, RuntimeStatus::NotApplicable, false),
            ];
            let conditions = self.shown.conditions(name, found, now);
            let order = self.scheduler.order(name).unwrap_or(0);
            self.present_tiltfile(tiltfile);
            self.tiltfile_status(tiltfile, order, &conditions)
        } else {
            return;
        };
        self.store.set_status(kind::UI_RESOURCE, name, &status);
    }

    fn resource_status(&self, resource: &Resource, order: usize, conditions: Value) -> Value {
        let mut status = Map::new();
        let mut set = |key: &str, value: Value| drop(status.insert(key.to_owned(), value));
        set("lastDeployTime", time(resource.last_success));
        if resource.trigger_mode != TriggerMode::Auto {
            set("triggerMode", json!(resource.trigger_mode));
        }
        if !resource.history.is_empty() {
            set(
                "buildHistory",
                resource.history.iter().map(|it| self.build_record(&resource.name, it)).collect(),
            );
        }
        if let Some(update) = resource.current.as_ref().filter(|it| !it.is_forgotten) {
            let span = self.span_of(&resource.name, update);
            set("currentBuild", json!({"startTime": time(Some(update.started)), "spanID": span}));
        }
        set("pendingBuildSince", time(resource.pending_since()));
        if resource.has_pending_changes() {
            set("hasPendingChanges", json!(true));
        }
        let links = self.links(resource);
        if !links.is_empty() {
            set("endpointLinks", Value::Array(links));
        }
        if resource.local.is_some() {
            let pid = resource.last_pid;
            set("localResourceInfo", if pid == 0 { json!({}) } else { json!({"pid": pid}) });
        }
        if let DeployTarget::Compose(_) = resource.manifest.deploy_target {
            let health = self.service_health(&resource.name);
            set("composeResourceInfo", health.map_or(json!({}), |it| json!({"healthStatus": it})));
        }
        if let DeployTarget::Kubernetes(_) = resource.manifest.deploy_target {
            set("k8sResourceInfo", self.pod_info(&resource.name));
        }
        set("runtimeStatus", json!(resource.runtime_status().as_str()));
        set("updateStatus", json!(resource.update_status().as_str()));
        set("specs", specs(resource));
        if !resource.triggered.is_empty() {
            set("queued", json!(true));
        }
        set("order", json!(order));
        set("disableStatus", disable_summary(resource));
        if let Some(hold) = &resource.hold {
            set("waiting", waiting(hold));
        }
        set("conditions", conditions);
        Value::Object(status)
    }

    /// Links of a resource. Ports of a service come first, addresses of pods last.
    fn links(&self, resource: &Resource) -> Vec<Value> {
        let name = &resource.name;
        let declared = declared_links(resource).iter().map(|link| {
            let url = &link.url.text;
            if link.name.is_empty() {
                json!({"url": url})
            } else {
                json!({"url": url, "name": link.name})
            }
        });
        match &resource.manifest.deploy_target {
            DeployTarget::Local(_) => declared.collect(),
            DeployTarget::Compose(target) => {
                let infers = target.infer_links != Some(false);
                let ports = if infers { self.service_ports(name) } else { Vec::new() };
                let inferred =
                    ports.iter().map(|it| json!({"url": format!("http://localhost:{it}/")}));
                inferred.chain(declared).collect()
            }
            DeployTarget::Kubernetes(_) => {
                let services = || {
                    let links = self.workload(name).map(|it| it.links.as_slice());
                    links.unwrap_or_default().iter().map(|it| json!({"url": it})).collect()
                };
                let found = self.forward_links(name).unwrap_or_else(services);
                declared.chain(found).collect()
            }
        }
    }

    /// Where an update writes.
    fn span_of(&self, resource: &str, update: &Update) -> String {
        if update.is_live { self.live_span(resource) } else { build_span(update.id) }
    }

    fn build_record(&self, resource: &str, update: &Update) -> Value {
        let span = self.span_of(resource, update);
        let end = update.end.as_ref();
        record(
            update.started,
            end.map(|it| it.at),
            end.and_then(|it| it.error.as_deref()),
            &self.logs.warnings(&span),
            &span,
        )
    }

    fn tiltfile_status(&self, tiltfile: &Tiltfile, order: usize, conditions: &Value) -> Value {
        let span = |run: &Run| names::tiltfile_span(&tiltfile.name, run.id.0);
        let mut status = json!({
            "lastDeployTime": time(tiltfile.last.as_ref().and_then(|it| it.ended)),
            "pendingBuildSince": time(tiltfile.pending_since),
            "runtimeStatus": "not_applicable",
            "updateStatus": tiltfile.update_status().as_str(),
            "order": order,
            "disableStatus": {
                "enabledCount": 0, "disabledCount": 0, "state": "Enabled", "sources": null,
            },
            "conditions": conditions,
        });
        if let Some(run) = &tiltfile.last {
            let span = span(run);
            let warnings = self.logs.warnings(&span);
            let error = run.error.as_deref();
            status["buildHistory"] =
                json!([record(run.started, run.ended, error, &warnings, &span)]);
        }
        if let Some(run) = &tiltfile.current {
            let start = time(Some(run.started));
            status["currentBuild"] = json!({"startTime": start, "spanID": span(run)});
        }
        if tiltfile.pending_since.is_some() {
            status["hasPendingChanges"] = json!(true);
        }
        if !tiltfile.triggered.is_empty() {
            status["queued"] = json!(true);
        }
        status
    }

    /// The Tiltfile object itself.
    fn present_tiltfile(&self, tiltfile: &Tiltfile) {
        let status = match (&tiltfile.current, &tiltfile.last) {
            (Some(run), _) => json!({"running": {"startedAt": time(Some(run.started))}}),
            (None, Some(run)) => {
                let mut ended =
                    json!({"startedAt": time(Some(run.started)), "finishedAt": time(run.ended)});
                if let Some(error) = &run.error {
                    ended["error"] = json!(error);
                }
                json!({"terminated": ended})
            }
            (None, None) => json!({}),
        };
        self.store.set_status(kind::TILTFILE, &tiltfile.name, &status);
    }

    /// The config map that mirrors the trigger queue.
    pub(super) fn present_queue(&self) {
        let mut data = Map::new();
        for (i, (name, reason)) in self.scheduler.queue().enumerate() {
            data.insert(format!("{i}-name"), json!(name));
            data.insert(format!("{i}-reason-code"), json!(reason.0.to_string()));
        }
        let data = if data.is_empty() { Value::Null } else { Value::Object(data) };
        self.store.put(kind::CONFIG_MAP, "tilt-trigger-queue", &Meta::default(), &data);
    }

    /// Shows the session if it changed and enough time has passed; else says when that will be.
    pub(super) fn present_session_if_due(&mut self) -> Option<Instant> {
        if !self.shown.is_session_old {
            return None;
        }
        let n_resources = u32::try_from(self.scheduler.resources().len()).unwrap_or(u32::MAX);
        let due = self.shown.session.map(|it| it + SESSION_PER_TARGET * n_resources);
        if let Some(due) = due.filter(|it| *it > Instant::now()) {
            return Some(due);
        }
        self.present_session(None);
        None
    }

    /// The session, with everything that `ci` waits for. `verdict` is the error of a session that is done.
    pub(super) fn present_session(&mut self, verdict: Option<&str>) {
        self.shown.is_session_old = false;
        self.shown.session = Some(Instant::now());
        let grace = self.ci_limits().grace_period;
        let targets = session::targets(&self.scheduler, grace, clock::now());
        let mut status = json!({
            "pid": std::process::id(),
            "startTime": time(Some(self.settings.started)),
            "targets": targets.iter().map(target).collect::<Vec<_>>(),
            "done": verdict.is_some(),
        });
        if let Some(error) = verdict.filter(|it| !it.is_empty()) {
            status["error"] = json!(error);
        }
        self.store.set_status(kind::SESSION, "Tiltfile", &status);
    }

    /// How many resources do well, and how many do not, for the prompt.
    pub(super) fn count(&self) -> prompt::Status {
        let mut counts = prompt::Status::default();
        for resource in self.scheduler.resources().iter().filter(|it| !it.is_disabled()) {
            let (update, runtime) = (resource.update_status(), resource.runtime_status());
            if update == UpdateStatus::Error || runtime == RuntimeStatus::Error {
                counts.error += 1;
            } else if status::ready(update, runtime, false).is_ok() {
                counts.ok += 1;
            } else if update != UpdateStatus::None {
                counts.pending += 1;
            }
        }
        let tiltfiles = self.scheduler.tiltfiles().iter();
        counts.error += tiltfiles.filter(|it| it.update_status() == UpdateStatus::Error).count();
        counts
    }

    /// How long `ci` waits.
    pub(super) fn ci_limits(&self) -> Limits {
        let spec = self.store.get(kind::SESSION, "Tiltfile").map(|it| it.spec());
        let limit = |key: &str| {
            let text = spec.as_ref()?.pointer(&format!("/ci/{key}"))?.as_str()?;
            let parsed = builtins::golang::duration::Duration::parse(text).ok()?;
            Some(GoDuration(parsed.0))
        };
        Limits {
            timeout: limit("timeout").unwrap_or_default(),
            readiness_timeout: limit("readinessTimeout").unwrap_or_default(),
            grace_period: limit("k8sGracePeriod").unwrap_or_default(),
        }
    }
}

impl Shown {
    /// The conditions, with the time at which each last changed.
    fn conditions(&mut self, name: &ResourceName, found: [Condition; 2], now: Time) -> Value {
        let known = self
            .conditions
            .entry(name.clone())
            .or_insert_with(|| found.map(|it| (it.is_ok(), now)));
        let mut shown = Vec::new();
        for ((kind, condition), known) in ["UpToDate", "Ready"].iter().zip(found).zip(known) {
            if known.0 != condition.is_ok() {
                *known = (condition.is_ok(), now);
            }
            let word = if condition.is_ok() { "True" } else { "False" };
            let since = time(Some(known.1));
            let mut it = json!({"type": kind, "status": word, "lastTransitionTime": since});
            if let Err(reason) = condition {
                it["reason"] = json!(reason);
            }
            shown.push(it);
        }
        Value::Array(shown)
    }
}

fn conditions(update: UpdateStatus, runtime: RuntimeStatus, resource: &Resource) -> [Condition; 2] {
    let is_disabled = resource.is_disabled();
    [status::up_to_date(update, is_disabled), status::ready(update, runtime, is_disabled)]
}

/// A time, or null.
fn time(time: Option<Time>) -> Value {
    time.map_or(Value::Null, |it| Value::String(clock::micro(it)))
}

fn record(
    started: Time,
    ended: Option<Time>,
    error: Option<&str>,
    warnings: &[String],
    span: &str,
) -> Value {
    let mut it =
        json!({"startTime": time(Some(started)), "finishTime": time(ended), "spanID": span});
    if let Some(error) = error {
        it["error"] = json!(error);
    }
    if !warnings.is_empty() {
        it["warnings"] = json!(warnings);
    }
    it
}

/// Links that the Tiltfile names.
fn declared_links(resource: &Resource) -> &[Link] {
    let links = match &resource.manifest.deploy_target {
        DeployTarget::Local(target) => &target.links,
        DeployTarget::Compose(target) => &target.links,
        DeployTarget::Kubernetes(target) => &target.links,
    };
    links.as_deref().unwrap_or_default()
}

fn specs(resource: &Resource) -> Value {
    let kind = match resource.manifest.deploy_target {
        DeployTarget::Local(_) => "local",
        DeployTarget::Compose(_) => "docker-compose",
        DeployTarget::Kubernetes(_) => "k8s",
    };
    let images = resource.manifest.image_targets.iter().flatten();
    let images = images.map(|it| {
        let mut spec = json!({"id": it.id(), "type": "image"});
        if it.live_update_reconciler {
            spec["hasLiveUpdate"] = json!(true);
        }
        spec
    });
    let own = json!({"id": format!("{kind}:{}", resource.name), "type": kind});
    images.chain([own]).collect()
}

fn disable_summary(resource: &Resource) -> Value {
    let is_enabled = resource.enable == engine_core::resource::EnableState::Enabled;
    json!({
        "enabledCount": u8::from(is_enabled),
        "disabledCount": u8::from(!is_enabled),
        "state": disable::state_text(resource.enable),
        "sources": [declare::disable_source(&resource.name)],
    })
}

fn waiting(hold: &Hold) -> Value {
    let reference = |kind: &str, name: &str| json!({"group": "tilt.dev", "apiVersion": "v1alpha1", "kind": kind, "name": name});
    let on: Vec<Value> = hold
        .on()
        .iter()
        .map(|it| match it {
            WaitsOn::Resource(name) => reference("UIResource", name),
            WaitsOn::Image(name) => reference("ImageMap", name),
            WaitsOn::Cluster(name) => reference("Cluster", name),
        })
        .collect();
    if on.is_empty() {
        json!({"reason": hold.reason()})
    } else {
        json!({"reason": hold.reason(), "on": on})
    }
}

fn target(target: &Target) -> Value {
    let state = match &target.state {
        TargetState::Inactive => json!({}),
        TargetState::Disabled => json!({"disabled": {}}),
        TargetState::Waiting { reason } => json!({"waiting": {"waitReason": reason}}),
        TargetState::Active { since, is_ready, last_ready } => json!({"active": {
            "startTime": time(*since), "ready": is_ready, "lastReadyTime": time(*last_ready),
        }}),
        TargetState::Terminated { since, at, error, grace } => {
            let mut it = json!({"startTime": time(*since), "finishTime": time(*at)});
            if let Some(error) = error {
                it["error"] = json!(error);
            }
            if *grace != Grace::NotApplicable {
                it["graceStatus"] = json!(grace.as_str());
            }
            json!({"terminated": it})
        }
    };
    json!({
        "name": target.name,
        "type": if target.kind == TargetKind::Job { "job" } else { "server" },
        "resources": [target.resource],
        "state": state,
    })
}

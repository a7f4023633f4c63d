//! The status of a `UIResource`: a resource as people see it.

use engine_core::{
    Time, World,
    hold::{Hold, WaitsOn},
    resource::{EnableState, Resource, Update},
    status::{self, Condition, RuntimeStatus},
};
use engine_model::{DeployTarget, Link, TriggerMode, names, object::GROUP};
use serde_json::{Map, Value, json};

use crate::{declare::disable_source, disable, tiltfile, time, workload};

/// Since when the conditions of a resource are as they are: `UpToDate`, then `Ready`.
pub type ConditionTimes = [Time; 2];

/// The warnings of a log span.
pub type Warnings<'a> = &'a dyn Fn(&str) -> Vec<String>;

/// The conditions of a resource or Tiltfile: `UpToDate`, then `Ready`.
pub fn conditions(world: &World, name: &str) -> Option<[Condition; 2]> {
    let (update, runtime, is_disabled) = if let Some(resource) = world.resource(name) {
        (resource.update_status(), resource.runtime_status(), resource.is_disabled())
    } else {
        (world.tiltfile(name)?.update_status(), RuntimeStatus::NotApplicable, false)
    };
    Some([status::up_to_date(update, is_disabled), status::ready(update, runtime, is_disabled)])
}

/// The status of a `UIResource`, which stands for a resource or a Tiltfile.
pub fn status(
    world: &World,
    name: &str,
    since: ConditionTimes,
    warnings: Warnings<'_>,
) -> Option<Value> {
    let conditions = render_conditions(conditions(world, name)?, since);
    let order = world.order(name).unwrap_or(0);
    if let Some(resource) = world.resource(name) {
        return Some(resource_status(resource, order, conditions, warnings));
    }
    let tiltfile = world.tiltfile(name)?;
    Some(tiltfile::resource_status(tiltfile, order, &conditions, warnings))
}

fn render_conditions(found: [Condition; 2], since: ConditionTimes) -> Value {
    let render = |((kind, condition), since): ((&str, Condition), Time)| {
        let word = if condition.is_ok() { "True" } else { "False" };
        let mut it =
            json!({"type": kind, "status": word, "lastTransitionTime": time::micro(since)});
        if let Err(reason) = condition {
            it["reason"] = json!(reason);
        }
        it
    };
    ["UpToDate", "Ready"].into_iter().zip(found).zip(since).map(render).collect()
}

fn resource_status(
    resource: &Resource,
    order: usize,
    conditions: Value,
    warnings: Warnings<'_>,
) -> Value {
    let mut status = Map::new();
    let mut set = |key: &str, value: Value| drop(status.insert(key.to_owned(), value));
    set("lastDeployTime", time::or_null(resource.last_success));
    if resource.trigger_mode != TriggerMode::Auto {
        set("triggerMode", json!(resource.trigger_mode));
    }
    if !resource.history.is_empty() {
        let history = resource.history.iter();
        set("buildHistory", history.map(|it| build_record(resource, it, warnings)).collect());
    }
    if let Some(update) = resource.current.as_ref().filter(|it| !it.is_forgotten) {
        let (start, span) = (time::micro(update.started), span_of(resource, update));
        set("currentBuild", json!({"startTime": start, "spanID": span}));
    }
    set("pendingBuildSince", time::or_null(resource.pending_since()));
    if resource.has_pending_changes() {
        set("hasPendingChanges", json!(true));
    }
    let links = links(resource);
    if !links.is_empty() {
        set("endpointLinks", Value::Array(links));
    }
    let (key, info) = target_info(resource);
    set(key, info);
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

/// What only resources of its type have.
fn target_info(resource: &Resource) -> (&'static str, Value) {
    match resource.manifest.deploy_target {
        DeployTarget::Local(_) => {
            let pid = resource.last_pid;
            ("localResourceInfo", if pid == 0 { json!({}) } else { json!({"pid": pid}) })
        }
        DeployTarget::Compose(_) => {
            let info =
                resource.service_health().map_or(json!({}), |it| json!({"healthStatus": it}));
            ("composeResourceInfo", info)
        }
        DeployTarget::Kubernetes(_) => ("k8sResourceInfo", workload::pod_info(resource)),
    }
}

/// Links of a resource. Ports of a service come first, addresses of pods last.
fn links(resource: &Resource) -> Vec<Value> {
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
            let ports = if infers { resource.service_ports() } else { Vec::new() };
            let inferred = ports.iter().map(|it| json!({"url": format!("http://localhost:{it}/")}));
            inferred.chain(declared).collect()
        }
        DeployTarget::Kubernetes(_) => declared.chain(workload::links(resource)).collect(),
    }
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

/// Where an update writes.
fn span_of(resource: &Resource, update: &Update) -> String {
    if update.is_live { resource.live_span() } else { names::build_span(update.id.0) }
}

fn build_record(resource: &Resource, update: &Update, warnings: Warnings<'_>) -> Value {
    let span = span_of(resource, update);
    let end = update.end.as_ref();
    let error = end.and_then(|it| it.error.as_deref());
    record(update.started, end.map(|it| it.at), error, &warnings(&span), &span)
}

/// An update or a run of a Tiltfile.
pub(crate) fn record(
    started: Time,
    ended: Option<Time>,
    error: Option<&str>,
    warnings: &[String],
    span: &str,
) -> Value {
    let (start, finish) = (time::micro(started), time::or_null(ended));
    let mut it = json!({"startTime": start, "finishTime": finish, "spanID": span});
    if let Some(error) = error {
        it["error"] = json!(error);
    }
    if !warnings.is_empty() {
        it["warnings"] = json!(warnings);
    }
    it
}

fn specs(resource: &Resource) -> Value {
    let kind = match resource.manifest.deploy_target {
        DeployTarget::Local(_) => "local",
        DeployTarget::Compose(_) => "docker-compose",
        DeployTarget::Kubernetes(_) => "k8s",
    };
    let images = resource.manifest.image_targets.iter().flatten();
    let images = images.map(|it| {
        let mut spec = json!({"id": it.id().to_string(), "type": "image"});
        if it.live_update_reconciler {
            spec["hasLiveUpdate"] = json!(true);
        }
        spec
    });
    let own = json!({"id": format!("{kind}:{}", resource.name), "type": kind});
    images.chain([own]).collect()
}

fn disable_summary(resource: &Resource) -> Value {
    let is_enabled = resource.enable == EnableState::Enabled;
    json!({
        "enabledCount": u8::from(is_enabled),
        "disabledCount": u8::from(!is_enabled),
        "state": disable::state_text(resource.enable),
        "sources": [disable_source(&resource.name)],
    })
}

fn waiting(hold: &Hold) -> Value {
    let reference = |kind: &str, name: &str| json!({"group": GROUP, "apiVersion": "v1alpha1", "kind": kind, "name": name});
    let on = hold.on();
    let on = on.iter().map(|it| match it {
        WaitsOn::Resource(name) => reference("UIResource", name),
        WaitsOn::Image(name) => reference("ImageMap", name),
        WaitsOn::Cluster(name) => reference("Cluster", name),
    });
    let on: Vec<Value> = on.collect();
    if on.is_empty() {
        json!({"reason": hold.reason()})
    } else {
        json!({"reason": hold.reason(), "on": on})
    }
}

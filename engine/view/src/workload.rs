//! What resources have deployed to a cluster: applies, pods, logs that are read, ports that are forwarded.

use std::collections::BTreeSet;

use engine_core::{
    World,
    cluster::KUBERNETES,
    resource::{
        Resource, ResourceName, Workload,
        workload::{ApplyStatus, ForwardStatus, Forwarded, LogReader, apply_span, pod_span},
    },
};
use engine_formats::{kubernetes, yaml};
use engine_model::{
    Forward, Kind, KubernetesTarget,
    pod::{DeployedObject, PodContainer},
};
use serde_json::{Value, json};

use crate::{disable, pod, time};

/// What `kubectl` notes about its own applies.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// An object that belongs to another one of the same resource.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnedObject {
    /// The resource.
    pub resource: ResourceName,
    /// Where it writes.
    pub span: String,
    /// The kind of the object that it belongs to, which has the resource's name.
    pub owner: Kind,
    /// What it asks for.
    pub spec: Value,
    /// How it does, once that is known.
    pub status: Option<Value>,
}

/// The status of a `KubernetesApply`.
pub fn apply_status(world: &World, name: &str) -> Value {
    let disabled = disable::status(world, Kind::KubernetesApply, name);
    let Some(workload) = workload(world, name) else { return json!({"disableStatus": disabled}) };
    match &workload.apply {
        ApplyStatus::None => json!({"disableStatus": disabled}),
        ApplyStatus::Failed { started, at, error } => json!({
            "lastApplyTime": time::micro(*at),
            "lastApplyStartTime": time::micro(*started),
            "disableStatus": disabled,
            "error": error,
        }),
        ApplyStatus::Done { started, at, input_hash, has_complete_job } => {
            let mut status = json!({
                "lastApplyTime": time::micro(*at),
                "lastApplyStartTime": time::micro(*started),
                "disableStatus": disabled,
                "resultYAML": to_yaml(&workload.objects),
                "appliedInputHash": input_hash,
            });
            if *has_complete_job {
                status["conditions"] = json!([{
                    "type": "JobComplete", "status": "True", "lastTransitionTime": null,
                    "reason": "", "message": "",
                }]);
            }
            status
        }
    }
}

/// The `KubernetesDiscovery` of a resource: which pods are looked for, and which were found.
pub fn discovery(world: &World, name: &str) -> Option<OwnedObject> {
    let resource = world.resource(name)?;
    let (target, workload) = (resource.kubernetes_target()?, resource.workload.as_ref()?);
    let since = time::micro(workload.followed_since?);
    let mut spec = json!({
        "watches": watches(world, target, &workload.objects),
        "cluster": target.cluster,
    });
    if let Some(template) = &target.kubernetes_discovery_template_spec {
        spec["extraSelectors"] = json!(template.extra_selectors);
    }
    if let Some(template) = &target.port_forward_template_spec {
        spec["portForwardTemplateSpec"] = json!(template);
    }
    if let Some(template) = &target.pod_log_stream_template_spec {
        spec["podLogStreamTemplateSpec"] = json!(template);
    }
    let pods: Vec<Value> = workload.pods.iter().map(pod::pod).collect();
    let status = json!({
        "monitorStartTime": since,
        "pods": if pods.is_empty() { Value::Null } else { Value::Array(pods) },
        "running": {"startTime": since},
    });
    let span = apply_span(name);
    Some(owned(resource, span, Kind::KubernetesApply, spec, Some(status)))
}

/// Deployed objects, and the namespaces beside theirs that the Tiltfile names.
fn watches(world: &World, target: &KubernetesTarget, objects: &[DeployedObject]) -> Vec<Value> {
    let mut seen = BTreeSet::new();
    let mut watches = Vec::new();
    if target.discovery_strategy != "selectors-only" {
        for DeployedObject { key, uid, .. } in objects {
            let key = key.clone().in_namespace("default");
            watches.push(json!({"uid": uid, "namespace": key.namespace, "name": key.name}));
            seen.insert(key.namespace);
        }
    }
    let written = kubernetes::parse(&target.yaml).unwrap_or_default();
    let default = world.cluster().namespace().unwrap_or("default");
    let written = written.iter().map(|it| match it.written_namespace() {
        "" => default.to_owned(),
        namespace => namespace.to_owned(),
    });
    for namespace in written.filter(|it| !it.is_empty()) {
        if seen.insert(namespace.clone()) {
            watches.push(json!({"namespace": namespace}));
        }
    }
    watches
}

/// A `PodLogStream`: which logs of a pod are read.
pub fn log_stream(world: &World, name: &str) -> Option<OwnedObject> {
    let (resource, workload, pod) = owners(world, name).find_map(|it| {
        let workload = it.workload.as_ref()?;
        let pod = workload.pods.iter().rfind(|pod| it.log_stream_name(pod) == name)?;
        Some((it, workload, pod))
    })?;
    let mut spec = json!({"pod": pod.name, "namespace": pod.namespace, "cluster": KUBERNETES});
    let target = resource.kubernetes_target();
    if let Some(template) = target.and_then(|it| it.pod_log_stream_template_spec.as_ref()) {
        spec["sinceTime"] = json!(template.since_time);
        if !template.ignore_containers.is_empty() {
            spec["ignoreContainers"] = json!(template.ignore_containers);
        }
    }
    let ignored = resource.ignored_containers();
    let all = pod.init_containers.iter().chain(&pod.containers);
    let statuses: Vec<Value> = all
        .filter(|it| !ignored.contains(&it.name.as_str()))
        .map(|it| log_status(it, workload.readers.get(&it.id)))
        .collect();
    let status =
        if statuses.is_empty() { json!({}) } else { json!({"containerStatuses": statuses}) };
    let span = pod_span(&resource.name, &pod.name);
    Some(owned(resource, span, Kind::KubernetesDiscovery, spec, Some(status)))
}

fn log_status(container: &PodContainer, reader: Option<&LogReader>) -> Value {
    let mut status = json!({"name": container.name});
    match reader {
        Some(reader) if reader.has_ended => status["terminated"] = json!(true),
        Some(reader) if !reader.error.is_empty() => status["error"] = json!(reader.error),
        Some(_) => status["active"] = json!(true),
        None => {}
    }
    status
}

/// A `PortForward`: which ports lead to which pod, and how they do.
pub fn port_forward(world: &World, name: &str) -> Option<OwnedObject> {
    let (resource, forwarded) = owners(world, name).find_map(|it| {
        let forwarded = it.workload.as_ref()?.forwarded.as_ref()?;
        (forwarded.object == name).then_some((it, forwarded))
    })?;
    let Forwarded { namespace, pod, forwards, statuses, .. } = forwarded;
    let spec = json!({
        "podName": pod, "namespace": namespace, "forwards": forwards, "cluster": KUBERNETES,
    });
    let both = forwards.iter().zip(statuses);
    let statuses: Vec<Value> =
        both.filter_map(|(forward, it)| Some(forward_status(forward, it.as_ref()?))).collect();
    let status = (!statuses.is_empty()).then(|| json!({"forwardStatuses": statuses}));
    let span = apply_span(&resource.name);
    Some(owned(resource, span, Kind::KubernetesDiscovery, spec, status))
}

fn forward_status(forward: &Forward, status: &ForwardStatus) -> Value {
    let mut shown = json!({
        "localPort": status.local_port,
        "containerPort": forward.container_port,
        "addresses": (!status.addresses.is_empty()).then_some(&status.addresses),
    });
    shown["startedAt"] = json!(status.started.map(time::micro));
    if let Some(error) = &status.error {
        shown["error"] = json!(error);
    }
    shown
}

/// What a resource shows of its newest pod.
pub fn pod_info(resource: &Resource) -> Value {
    let workload = resource.workload.as_ref();
    let pod = workload.and_then(Workload::newest_pod);
    let mut info = json!({"podCreationTime": null, "podUpdateStartTime": null});
    if let Some(pod) = pod {
        info["podName"] = json!(pod.name);
        info["podCreationTime"] = json!(time::seconds(pod.created));
        let updated = workload.and_then(|it| it.update_starts.get(&pod.name));
        if let Some(updated) = updated {
            info["podUpdateStartTime"] = json!(time::seconds(*updated));
        }
        info["podStatus"] = json!(pod.status);
        if !pod.errors.is_empty() {
            info["podStatusMessage"] = json!(pod.errors.join("\n"));
        }
        if pod.all_ready() {
            info["allContainersReady"] = json!(true);
        }
        if pod.restarts() != 0 {
            info["podRestarts"] = json!(pod.restarts());
        }
        info["spanID"] = json!(pod_span(&resource.name, &pod.name));
    }
    let objects = workload.map(|it| it.objects.as_slice()).unwrap_or_default();
    if !objects.is_empty() {
        let values = objects.iter().map(|it| &*it.value);
        info["displayNames"] = json!(kubernetes::names::deployed_names(values));
    }
    info
}

/// Addresses that lead to a resource's pods: forwarded ports, or else those of its services.
pub fn links(resource: &Resource) -> Vec<Value> {
    let target = resource.kubernetes_target();
    let template = target.and_then(|it| it.port_forward_template_spec.as_ref());
    let forwards = template.map(|it| it.forwards.as_slice()).unwrap_or_default();
    if forwards.is_empty() {
        let links = resource.workload.as_ref().map(|it| it.links.as_slice());
        return links.unwrap_or_default().iter().map(|it| json!({"url": it})).collect();
    }
    let link = |it: &Forward| {
        let host = if it.host.is_empty() { "localhost" } else { &it.host };
        let path = it.path.strip_prefix('/').unwrap_or(&it.path);
        let url = format!("http://{host}:{}/{path}", it.local_port);
        if it.name.is_empty() { json!({"url": url}) } else { json!({"url": url, "name": it.name}) }
    };
    forwards.iter().map(link).collect()
}

fn workload<'a>(world: &'a World, resource: &str) -> Option<&'a Workload> {
    world.resource(resource)?.workload.as_ref()
}

/// Resources that an object may belong to whose name begins with theirs.
fn owners<'a>(world: &'a World, object: &str) -> impl Iterator<Item = &'a Resource> {
    let is_owner =
        move |it: &&Resource| object.strip_prefix(&*it.name).is_some_and(|it| it.starts_with('-'));
    world.resources().iter().filter(is_owner)
}

fn owned(
    resource: &Resource,
    span: String,
    owner: Kind,
    spec: Value,
    status: Option<Value>,
) -> OwnedObject {
    OwnedObject { resource: resource.name.clone(), span, owner, spec, status }
}

/// The objects as YAML, without what only the cluster cares for.
fn to_yaml(objects: &[DeployedObject]) -> String {
    let documents = objects.iter().map(|it| yaml::emit_v2(&cleaned(&it.value)).unwrap_or_default());
    documents.collect::<Vec<_>>().join("\n---\n")
}

fn cleaned(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.shift_remove("status");
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.shift_remove("managedFields");
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.retain(|name, _| name != LAST_APPLIED);
            if annotations.is_empty() {
                metadata.shift_remove("annotations");
            }
        }
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_the_cluster_cares_for_is_left_out() {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": "a", "uid": "u", "managedFields": [{}],
                "annotations": {LAST_APPLIED: "{}"},
            },
            "status": {"x": 1},
        });
        assert_eq!(
            to_yaml(&[object.clone(), object].map(DeployedObject::from)),
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  uid: u\n\n---\n\
             apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  uid: u\n"
        );
    }
}

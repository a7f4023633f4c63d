//! The objects that tell which pods are looked for, and which were found.

use std::{collections::BTreeSet, time::SystemTime};

use engine_core::resource::ResourceName;
use engine_kubernetes::{ObjectKey, Pod};
use engine_model::KubernetesTarget;
use serde_json::{Value, json};

use crate::{
    api::{KindRef, Meta, Owner, kind},
    runtime::{Runtime, clock, declare, names},
};

impl Runtime {
    /// The object that says which pods are looked for, and which were found.
    pub(in crate::runtime) fn show_discovery(&mut self, resource: &ResourceName) {
        let workload = self.workload_mut(resource);
        let since = *workload.followed_since.get_or_insert_with(SystemTime::now);
        let Some(target) = self.kubernetes_target(resource) else { return };
        let Some(workload) = self.workload(resource) else { return };
        let mut spec = json!({
            "watches": self.watches(target, &workload.objects),
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
        let span = names::apply_span(resource);
        let meta = self.owned_meta(resource, &span, kind::KUBERNETES_APPLY);
        self.store.put(kind::KUBERNETES_DISCOVERY, resource, &meta, &spec);
        let since = clock::micro(clock::of_system(since));
        let pods: Vec<Value> = workload.pods.iter().map(Pod::to_json).collect();
        let status = json!({
            "monitorStartTime": since,
            "pods": if pods.is_empty() { Value::Null } else { Value::Array(pods) },
            "running": {"startTime": since},
        });
        self.store.set_status(kind::KUBERNETES_DISCOVERY, resource, &status);
    }

    /// Deployed objects, and the namespaces beside theirs that the Tiltfile names.
    fn watches(&self, target: &KubernetesTarget, objects: &[Value]) -> Vec<Value> {
        let mut seen = BTreeSet::new();
        let mut watches = Vec::new();
        if target.discovery_strategy != "selectors-only" {
            for object in objects {
                let key = ObjectKey::of(object);
                let namespace =
                    if key.namespace.is_empty() { "default".to_owned() } else { key.namespace };
                let uid = engine_kubernetes::uid(object);
                watches.push(json!({"uid": uid, "namespace": namespace, "name": key.name}));
                seen.insert(namespace);
            }
        }
        let written = builtins::kubernetes::parse(&target.yaml).unwrap_or_default();
        let default = self.cluster().map_or("default", |it| it.namespace());
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

    /// How an object is marked that belongs to another one of the same resource.
    pub(in crate::runtime) fn owned_meta(
        &self,
        resource: &str,
        span: &str,
        owner: KindRef,
    ) -> Meta {
        let owner = self.store.get(owner, resource).map(|it| Owner {
            kind: owner,
            name: resource.to_owned(),
            uid: it.uid().to_owned(),
        });
        let annotations = [
            (declare::RESOURCE.to_owned(), resource.to_owned()),
            (declare::SPAN.to_owned(), span.to_owned()),
        ];
        Meta { annotations: annotations.into(), owner, ..Meta::default() }
    }

    /// Removes the objects that stand for logs and forwards of a resource's pods.
    pub(super) fn remove_owned(&self, resource: &str) {
        for kind in [kind::POD_LOG_STREAM, kind::PORT_FORWARD] {
            for object in self.store.list(kind) {
                if object.annotations().get(declare::RESOURCE).is_some_and(|it| it == resource) {
                    self.store.remove(kind, object.name());
                }
            }
        }
    }
}

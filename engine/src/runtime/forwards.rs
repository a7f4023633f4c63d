//! Port forwards to the pods of resources: which pod they lead to, and the objects that tell of them.

use std::sync::Arc;

use engine_core::resource::ResourceName;
use engine_kubernetes::{ForwardReport, ForwardStatus, Forwarder, Pod, PodPorts};
use engine_model::{Forward, PortForwardTemplate};
use serde_json::{Value, json};

use super::{Message, Runtime, clock, kubernetes::Seen, names};
use crate::api::kind;

/// The forwards of a resource, to one pod.
pub(super) struct Forwarded {
    /// The name of the object.
    name: String,
    ports: PodPorts,
    forwards: Vec<Forward>,
    statuses: Vec<Option<ForwardStatus>>,
    /// Dropping it closes the ports; nothing if nobody wants them.
    _forwarder: Option<Forwarder>,
}

/// How one forward does.
#[derive(Debug)]
pub(super) struct ForwardSeen {
    resource: ResourceName,
    /// The object that it belongs to.
    name: String,
    status: ForwardStatus,
}

impl Runtime {
    /// Lets forwards lead to the best pod of a resource.
    pub(super) fn forward_ports(&mut self, resource: &ResourceName) {
        let template =
            self.kubernetes_target(resource).and_then(|it| it.port_forward_template_spec.clone());
        let pod = self.workload(resource).and_then(|it| engine_kubernetes::to_forward(&it.pods));
        let wanted = template.zip(pod.cloned());
        let Some((template, pod)) = wanted else { return self.stop_forwards(resource) };
        let forwards = with_ports(&template, &pod);
        let ports = PodPorts {
            namespace: pod.namespace.clone(),
            pod: pod.name.clone(),
            forwards: forwards.iter().map(to_forward).collect(),
        };
        let name = format!("{resource}-{}", pod.name);
        let old = self.workload(resource).and_then(|it| it.forwarded.as_ref());
        if old.is_some_and(|it| it.name == name && it.ports == ports) {
            return;
        }
        self.stop_forwards(resource);
        self.warn_of_implied_ports(resource, &template, &forwards);
        let span = names::apply_span(resource);
        let meta = self.owned_meta(resource, &span, kind::KUBERNETES_DISCOVERY);
        let spec = json!({
            "podName": pod.name, "namespace": pod.namespace, "forwards": forwards,
            "cluster": names::KUBERNETES,
        });
        self.store.put(kind::PORT_FORWARD, &name, &meta, &spec);
        let forwarder = self.start_forwards(resource, &name, &ports);
        let statuses = vec![None; forwards.len()];
        let forwarded = Forwarded { name, ports, forwards, statuses, _forwarder: forwarder };
        self.workload_mut(resource).forwarded = Some(forwarded);
    }

    fn start_forwards(
        &self,
        resource: &ResourceName,
        name: &str,
        ports: &PodPorts,
    ) -> Option<Forwarder> {
        if !self.settings.forwards_ports {
            return None;
        }
        let cluster = self.cluster()?.clone();
        let (messages, id) = (self.messages.clone(), self.link_id());
        let (resource, name) = (Arc::clone(resource), name.to_owned());
        let report: ForwardReport = Arc::new(move |status| {
            let (resource, name) = (Arc::clone(&resource), name.clone());
            let seen = Seen::Forward(ForwardSeen { resource, name, status });
            let _ = messages.send(Message::Kubernetes(id, seen));
        });
        Some(Forwarder::start(&cluster, ports.clone(), &report))
    }

    fn stop_forwards(&mut self, resource: &ResourceName) {
        let Some(workload) = self.kubernetes.workloads.known.get_mut(resource) else { return };
        if let Some(old) = workload.forwarded.take() {
            self.store.remove(kind::PORT_FORWARD, &old.name);
        }
    }

    /// Something became known of a forward.
    pub(super) fn forward_seen(&mut self, seen: ForwardSeen) {
        let Some(workload) = self.kubernetes.workloads.known.get_mut(&seen.resource) else {
            return;
        };
        let Some(forwarded) = workload.forwarded.as_mut().filter(|it| it.name == seen.name) else {
            return;
        };
        let place = forwarded.ports.forwards.iter().position(|it| *it == seen.status.forward);
        let Some(at) = place else { return };
        let forward = &forwarded.forwards[at];
        if let Some(error) = &seen.status.error {
            let log = self.logs.writer(&seen.resource, &names::apply_span(&seen.resource));
            log.info(&format!(
                "Reconnecting... Error port-forwarding {} ({} -> {}): {error}",
                seen.resource, forward.local_port, forward.container_port
            ));
        }
        forwarded.statuses[at] = Some(seen.status);
        let both = forwarded.forwards.iter().zip(&forwarded.statuses);
        let statuses: Vec<Value> =
            both.filter_map(|(forward, it)| Some(status(forward, it.as_ref()?))).collect();
        let status = json!({"forwardStatuses": statuses});
        self.store.set_status(kind::PORT_FORWARD, &seen.name, &status);
    }

    /// Says which port of a container is meant when the Tiltfile does not, and that this may change.
    fn warn_of_implied_ports(
        &self,
        resource: &str,
        template: &PortForwardTemplate,
        forwards: &[Forward],
    ) {
        let implied = template.forwards.iter().zip(forwards).filter(|(written, forward)| {
            written.container_port == 0 && forward.container_port != forward.local_port
        });
        for (_, forward) in implied {
            let (local, remote) = (forward.local_port, forward.container_port);
            let log = self.logs.writer(resource, &names::apply_span(resource));
            log.warn(&format!(
                "k8s_resource(name='{resource}', port_forwards='{local}') currently maps localhost:{local} to port \
                 {remote} in your container.\n\
                 A future version of Tilt will change this default and will map localhost:{local} to port {local} \
                 in your container.\n\
                 To keep your project working, change your Tiltfile to k8s_resource(name='{resource}', \
                 port_forwards='{local}:{remote}')"
            ));
        }
    }

    /// Addresses of this machine that lead to a resource's pods.
    pub(super) fn forward_links(&self, resource: &str) -> Option<Vec<Value>> {
        let template = self.kubernetes_target(resource)?.port_forward_template_spec.as_ref()?;
        let links = template.forwards.iter().map(|it| {
            let host = if it.host.is_empty() { "localhost" } else { &it.host };
            let path = it.path.strip_prefix('/').unwrap_or(&it.path);
            let url = format!("http://{host}:{}/{path}", it.local_port);
            if it.name.is_empty() {
                json!({"url": url})
            } else {
                json!({"url": url, "name": it.name})
            }
        });
        Some(links.collect()).filter(|it: &Vec<Value>| !it.is_empty())
    }
}

/// Forwards with the ports of a pod where the Tiltfile names none.
fn with_ports(template: &PortForwardTemplate, pod: &Pod) -> Vec<Forward> {
    let with_port = |forward: &Forward| {
        let mut forward = forward.clone();
        if forward.container_port == 0 {
            let local = u16::try_from(forward.local_port).unwrap_or(0);
            forward.container_port = engine_kubernetes::container_port(local, pod).into();
        }
        forward
    };
    template.forwards.iter().map(with_port).collect()
}

fn to_forward(forward: &Forward) -> engine_kubernetes::Forward {
    engine_kubernetes::Forward {
        local_port: u16::try_from(forward.local_port).unwrap_or(0),
        container_port: u16::try_from(forward.container_port).unwrap_or(0),
        host: forward.host.clone(),
    }
}

fn status(forward: &Forward, status: &ForwardStatus) -> Value {
    let mut shown = json!({
        "localPort": status.local_port,
        "containerPort": forward.container_port,
        "addresses": (!status.addresses.is_empty()).then_some(&status.addresses),
    });
    let started = status.started.map(|it| clock::micro(clock::of_system(it.into())));
    shown["startedAt"] = json!(started);
    if let Some(error) = &status.error {
        shown["error"] = json!(error);
    }
    shown
}

//! Port forwards to the pods of a resource: which pod they lead to, and how they do.

use engine_model::{Forward, PortForwardTemplate, Time, pod::Pod};

use super::{LogLine, Workload, apply_span, line, select};
use crate::{effect::LineKind, resource::ResourceName};

/// The forwards of a resource, to one pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forwarded {
    /// The name of the object.
    pub object: String,
    /// Where the pod is.
    pub namespace: String,
    /// The pod.
    pub pod: String,
    /// The ports.
    pub forwards: Vec<Forward>,
    /// How each does, if that is known.
    pub statuses: Vec<Option<ForwardStatus>>,
}

/// How a forward does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardStatus {
    /// The port that it listens on; what was asked for if it does not.
    pub local_port: u16,
    /// The addresses that it listens on.
    pub addresses: Vec<String>,
    /// Since when it works.
    pub started: Option<Time>,
    /// Why it does not work.
    pub error: Option<String>,
}

impl Workload {
    /// The forwards that lead to the best pod, if there is one.
    pub(super) fn wanted_forwards(
        &self,
        resource: &str,
        template: &PortForwardTemplate,
    ) -> Option<Forwarded> {
        let pod = select::to_forward(&self.pods)?;
        let forwards = with_ports(template, pod);
        Some(Forwarded {
            object: format!("{resource}-{}", pod.name),
            namespace: pod.namespace.clone(),
            pod: pod.name.clone(),
            statuses: vec![None; forwards.len()],
            forwards,
        })
    }
}

impl crate::resource::Resource {
    /// The forwards that lead to the best pod, if there is one, and what the Tiltfile says of them.
    pub(crate) fn wanted_forwards(&self) -> Option<(&PortForwardTemplate, Forwarded)> {
        let template = self.kubernetes_target()?.port_forward_template_spec.as_ref()?;
        Some((template, self.workload.as_ref()?.wanted_forwards(&self.name, template)?))
    }
}

impl Forwarded {
    /// Whether it leads from the same ports to the same ports of the same pod.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.object == other.object
            && self.namespace == other.namespace
            && self.forwards.iter().map(ports).eq(other.forwards.iter().map(ports))
    }

    /// Says which port of a container is meant when the Tiltfile does not, and that this may change.
    pub(crate) fn implied_ports(
        &self,
        resource: &ResourceName,
        template: &PortForwardTemplate,
    ) -> Vec<LogLine> {
        let both = template.forwards.iter().zip(&self.forwards);
        let implied = both.filter(|(written, forward)| {
            written.container_port == 0 && forward.container_port != forward.local_port
        });
        let warning = |(_, forward): (&Forward, &Forward)| {
            let (local, remote) = (forward.local_port, forward.container_port);
            let text = format!(
                "k8s_resource(name='{resource}', port_forwards='{local}') currently maps localhost:{local} to port \
                 {remote} in your container.\n\
                 A future version of Tilt will change this default and will map localhost:{local} to port {local} \
                 in your container.\n\
                 To keep your project working, change your Tiltfile to k8s_resource(name='{resource}', \
                 port_forwards='{local}:{remote}')"
            );
            line(resource, apply_span(resource), LineKind::Warn, text)
        };
        implied.map(warning).collect()
    }

    /// One of the forwards works, or not; answers what the log says.
    pub(crate) fn observe(
        &mut self,
        resource: &ResourceName,
        index: usize,
        status: ForwardStatus,
    ) -> Option<LogLine> {
        let forward = self.forwards.get(index)?;
        let error = status.error.as_ref().map(|error| {
            let (local, remote) = (forward.local_port, forward.container_port);
            format!(
                "Reconnecting... Error port-forwarding {resource} ({local} -> {remote}): {error}"
            )
        });
        self.statuses[index] = Some(status);
        error.map(|it| line(resource, apply_span(resource), LineKind::Info, it))
    }
}

fn ports(forward: &Forward) -> (i32, i32, &str) {
    (forward.local_port, forward.container_port, &forward.host)
}

/// Forwards with the ports of a pod where the Tiltfile names none.
fn with_ports(template: &PortForwardTemplate, pod: &Pod) -> Vec<Forward> {
    let with_port = |forward: &Forward| {
        let mut forward = forward.clone();
        if forward.container_port == 0 {
            let local = u16::try_from(forward.local_port).unwrap_or(0);
            forward.container_port = select::container_port(local, pod).into();
        }
        forward
    };
    template.forwards.iter().map(with_port).collect()
}

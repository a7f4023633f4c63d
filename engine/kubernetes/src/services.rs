//! Under which address a service can be reached from here.

use k8s_openapi::api::core::v1 as api;

/// A service, as far as its address goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Service {
    pub(crate) uid: String,
    pub(crate) namespace: String,
    name: String,
    port: i32,
    node_port: i32,
    is_node_port: bool,
    /// The names or addresses of its load balancers.
    ingresses: Vec<String>,
}

impl Service {
    /// A service as the API server gives it.
    pub(crate) fn of(service: api::Service) -> Option<Self> {
        let spec = service.spec.unwrap_or_default();
        let port = spec.ports.into_iter().flatten().next();
        let status = service.status.and_then(|it| it.load_balancer).and_then(|it| it.ingress);
        let named = |it: api::LoadBalancerIngress| {
            it.hostname.filter(|it| !it.is_empty()).or(it.ip.filter(|it| !it.is_empty()))
        };
        Some(Self {
            uid: service.metadata.uid?,
            namespace: service.metadata.namespace.unwrap_or_default(),
            name: service.metadata.name.unwrap_or_default(),
            port: port.as_ref().map_or(0, |it| it.port),
            node_port: port.and_then(|it| it.node_port).unwrap_or_default(),
            is_node_port: spec.type_.as_deref() == Some("NodePort"),
            ingresses: status.into_iter().flatten().filter_map(named).collect(),
        })
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Its address: that of its load balancer, else its port on a node that can be reached.
    pub(crate) fn link(&self, node_ip: Option<&str>) -> Option<String> {
        if self.port == 0 {
            return None;
        }
        if let Some(host) = self.ingresses.first() {
            let port = if self.is_node_port { self.node_port } else { self.port };
            return Some(format!("http://{host}:{port}/"));
        }
        let ip = node_ip.filter(|it| !it.is_empty() && self.node_port != 0)?;
        Some(format!("http://{ip}:{}/", self.node_port))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_balancers_come_before_node_ports() {
        let service = |kind: &str, ingress: serde_json::Value| {
            serde_json::json!({
                "metadata": {"name": "s", "uid": "u"},
                "spec": {"type": kind, "ports": [{"port": 80, "nodePort": 30000}, {"port": 81}]},
                "status": {"loadBalancer": {"ingress": ingress}},
            })
        };
        let none = serde_json::json!([]);
        let ip = serde_json::json!([{"ip": "1.2.3.4"}]);
        let host = serde_json::json!([{"ip": "1.2.3.4", "hostname": "lb.example"}]);
        for (kind, ingress, node, expected) in [
            ("LoadBalancer", &ip, None, Some("http://1.2.3.4:80/")),
            ("LoadBalancer", &host, None, Some("http://lb.example:80/")),
            ("NodePort", &ip, None, Some("http://1.2.3.4:30000/")),
            ("NodePort", &none, Some("9.9.9.9"), Some("http://9.9.9.9:30000/")),
            ("NodePort", &none, None, None),
        ] {
            let given = serde_json::from_value(service(kind, ingress.clone())).unwrap();
            let link = Service::of(given).unwrap().link(node);
            assert_eq!(link.as_deref(), expected, "{kind} {ingress} {node:?}");
        }
    }

    #[test]
    fn a_service_without_ports_has_no_address() {
        let given = serde_json::json!({
            "metadata": {"name": "s", "uid": "u"},
            "status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}},
        });
        assert_eq!(Service::of(serde_json::from_value(given).unwrap()).unwrap().link(None), None);
    }
}

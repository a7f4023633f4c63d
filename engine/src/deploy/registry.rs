//! Finds the registry that a development cluster brings along, in the ways that such clusters tell of one.

use engine_formats::{
    docker::registry::{Registry, RegistryError},
    kube_config::Product,
    yaml,
};
use engine_kubernetes::{Cluster, ObjectKey};
use engine_model::LocalRegistry;
use serde_json::Value;

use crate::logs::LogWriter;

/// What is wrong with the config map that names a registry.
#[derive(Debug, thiserror::Error)]
enum HostingError {
    #[error(transparent)]
    Yaml(#[from] yaml::Error),
    #[error(transparent)]
    Fields(#[from] serde_json::Error),
}

/// Looks for the registry of a cluster. Warnings go to the log.
pub async fn discover(
    cluster: &Cluster,
    product: Product,
    log: &LogWriter,
) -> Option<LocalRegistry> {
    let key = key("v1", "ConfigMap", "kube-public", "local-registry-hosting");
    let (found, help) = match cluster.get(&key).await {
        Ok(map) => of_config_map(map.as_ref()).unwrap_or_else(|error| {
            log.debug(&format!("Local registry discovery error: {error}"));
            (None, String::new())
        }),
        Err(error) => {
            if error.code() != Some(403) {
                log.debug(&format!("Local registry discovery error: {error}"));
            }
            (None, String::new())
        }
    };
    if found.is_some() {
        return found;
    }
    let nodes = cluster.nodes().await.unwrap_or_default();
    if product == Product::MicroK8s
        && runtime(&nodes) != "docker"
        && let Some(found) = of_microk8s(cluster, log).await
    {
        return Some(found);
    }
    let found = of_nodes(&nodes).unwrap_or_else(|error| {
        log.warn(&format!("Local registry read from node failed: {error}"));
        None
    });
    if found.is_none() {
        warn_without(product, &help, log);
    }
    found
}

fn warn_without(product: Product, help: &str, log: &LogWriter) {
    if !help.is_empty() {
        log.warn(&format!(
            "You are running without a local image registry.\nTilt can use the local registry to speed up \
             builds.\nInstructions: {help}"
        ));
    } else if product == Product::Kind {
        log.warn(
            "You are running Kind without a local image registry.\nTilt can use the local registry to speed up \
             builds.\nInstructions: https://kind.sigs.k8s.io/docs/user/local-registry/",
        );
    }
}

/// What runs containers on the first node, such as `containerd`; `read-failure` if there is no node to be seen.
pub fn runtime(nodes: &[Value]) -> &str {
    let Some(node) = nodes.first() else { return "read-failure" };
    let version = node.pointer("/status/nodeInfo/containerRuntimeVersion").and_then(Value::as_str);
    match version.unwrap_or_default().split(':').next() {
        Some(known @ ("docker" | "containerd" | "cri-o")) => known,
        _ => "unknown",
    }
}

/// The registry in the agreed config map, and where to read about one.
fn of_config_map(map: Option<&Value>) -> Result<(Option<LocalRegistry>, String), HostingError> {
    let text = map.and_then(|it| it.pointer("/data/localRegistryHosting.v1")?.as_str());
    let Some(text) = text.filter(|it| !it.trim().is_empty()) else {
        return Ok((None, String::new()));
    };
    let value = yaml::decode_v2(text.as_bytes())?;
    let found: LocalRegistry = serde_json::from_value(value)?;
    let help = found.help.clone();
    let is_usable = !found.host.is_empty() && Registry::from(&found).validate().is_ok();
    Ok((is_usable.then_some(found), help))
}

/// The registry that a script noted on the first node.
fn of_nodes(nodes: &[Value]) -> Result<Option<LocalRegistry>, RegistryError> {
    let annotation = |name: &str| {
        let annotations = nodes.first()?.pointer("/metadata/annotations")?;
        annotations.get(name)?.as_str().filter(|it| !it.is_empty()).map(str::to_owned)
    };
    let found = match (annotation("tilt.dev/registry"), annotation("kind.x-k8s.io/registry")) {
        (Some(host), _) => LocalRegistry {
            host,
            host_from_container_runtime: annotation("tilt.dev/registry-from-cluster")
                .unwrap_or_default(),
            ..LocalRegistry::default()
        },
        (None, Some(host)) => LocalRegistry { host, ..LocalRegistry::default() },
        (None, None) => return Ok(None),
    };
    Registry::from(&found).validate()?;
    Ok(Some(found))
}

/// The registry add-on of `MicroK8s`.
async fn of_microk8s(cluster: &Cluster, log: &LogWriter) -> Option<LocalRegistry> {
    let service = match cluster.get(&key("v1", "Service", "container-registry", "registry")).await {
        Ok(Some(service)) => service,
        Ok(None) => {
            log.warn(
                "You are running microk8s without a local image registry.\nRun: `sudo microk8s.enable \
                 registry`\nTilt will use the local registry to speed up builds",
            );
            return None;
        }
        Err(error) => {
            log.debug(&format!("Error fetching services: {error}"));
            return None;
        }
    };
    let port = service.pointer("/spec/ports/0")?.get("nodePort").and_then(Value::as_u64);
    let first = tokio::net::lookup_host(("localhost", 0)).await.ok().and_then(|mut it| it.next());
    if !first.is_some_and(|it| it.is_ipv4()) {
        log.warn(
            "Your /etc/hosts is resolving localhost to ::1 (IPv6).\nThis breaks the microk8s image \
             registry.\nPlease fix your /etc/hosts to default to IPv4. This will make image pushes much faster.",
        );
        return None;
    }
    Some(LocalRegistry {
        host: format!("localhost:{}", port.unwrap_or_default()),
        ..LocalRegistry::default()
    })
}

fn key(api_version: &str, kind: &str, namespace: &str, name: &str) -> ObjectKey {
    ObjectKey {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hosting(text: &str) -> Result<(Option<LocalRegistry>, String), HostingError> {
        of_config_map(Some(&json!({"data": {"localRegistryHosting.v1": text}})))
    }

    #[test]
    fn the_config_map_names_a_registry_or_where_to_read_about_one() {
        let (found, help) = hosting(
            "host: localhost:5000\nhostFromContainerRuntime: registry:5000\nhostFromClusterNetwork: r:5000\nhelp: https://h\n",
        )
        .unwrap();
        let found = found.unwrap();
        assert_eq!(Registry::from(&found).host_from_container_runtime, "registry:5000");
        assert_eq!(help, "https://h");
        assert_eq!(found.to_string(), "&{localhost:5000 r:5000 registry:5000 https://h }");
        assert_eq!(hosting("help: https://h").unwrap(), (None, "https://h".to_owned()));
        assert_eq!(hosting("host: not a host\nhelp: x").unwrap(), (None, "x".to_owned()));
        assert_eq!(hosting("").unwrap(), (None, String::new()));
        assert_eq!(of_config_map(None).unwrap(), (None, String::new()));
        assert!(hosting("host: [1").is_err());
    }

    #[test]
    fn a_script_may_have_noted_the_registry_on_the_first_node() {
        let node = |annotations: Value| json!({"metadata": {"annotations": annotations}});
        let kind = json!({"kind.x-k8s.io/registry": "localhost:5001"});
        let tilt = json!({
            "tilt.dev/registry": "localhost:5000",
            "tilt.dev/registry-from-cluster": "registry:5000",
            "kind.x-k8s.io/registry": "localhost:5001",
        });
        let host = |nodes: &[Value]| {
            of_nodes(nodes).map(|it| it.map(|it| (it.host, it.host_from_container_runtime)))
        };
        let named = |host: &str, from: &str| Ok(Some((host.to_owned(), from.to_owned())));
        assert_eq!(host(&[node(kind)]), named("localhost:5001", ""));
        assert_eq!(host(&[node(tilt)]), named("localhost:5000", "registry:5000"));
        assert_eq!(host(&[node(json!({}))]), Ok(None));
        assert_eq!(host(&[]), Ok(None));
        assert_eq!(
            host(&[node(json!({"tilt.dev/registry": "a b"}))]).unwrap_err().to_string(),
            "host: Invalid value: \"a b\": invalid reference format"
        );
    }

    #[test]
    fn the_first_node_tells_what_runs_containers() {
        let node =
            |version: &str| json!({"status": {"nodeInfo": {"containerRuntimeVersion": version}}});
        for (nodes, want) in [
            (vec![], "read-failure"),
            (vec![node("docker://20.10.7")], "docker"),
            (vec![node("containerd://1.6.20"), node("docker://1")], "containerd"),
            (vec![node("")], "unknown"),
        ] {
            assert_eq!(runtime(&nodes), want);
        }
    }
}

//! The cluster that Kubernetes resources are in.

use engine_core::{World, cluster::Connection};
use serde_json::{Value, json};

use crate::time;

/// The status of the `Cluster` of Kubernetes resources.
pub fn status(world: &World) -> Value {
    let mut status = match world.cluster().connection() {
        Some((connection, at)) => connected(connection, &time::micro(at)),
        None => json!({"connectedAt": null}),
    };
    if let Some(error) = world.cluster().error() {
        status["error"] = json!(error);
    }
    status
}

fn connected(connection: &Connection, at: &str) -> Value {
    let mut status = json!({
        "arch": connection.arch,
        "version": connection.version,
        "connectedAt": at,
        "connection": {"kubernetes": {
            "context": connection.context,
            "namespace": connection.namespace,
            "cluster": connection.cluster,
            "product": connection.product,
            "configPath": connection.config_path,
        }},
    });
    if let Some(it) = &connection.registry {
        status["registry"] = json!(it);
    }
    status
}

#[cfg(test)]
mod tests {
    use engine_core::{Event, Time, cluster::ClusterEvent};
    use engine_model::LocalRegistry;

    use super::*;

    #[test]
    fn an_error_is_shown_beside_what_is_known() {
        let mut world = World::default();
        let mut after = |event: ClusterEvent| {
            world.step(Time(0), Event::Cluster(event));
            status(&world).to_string()
        };
        let error = after(ClusterEvent::Unreachable { error: "no route".to_owned() });
        assert_eq!(
            error,
            "{\"connectedAt\":null,\"error\":\"Tilt encountered an error connecting to your Kubernetes \
             cluster:\\n\\tno route\"}"
        );
        let host = "localhost:5000".to_owned();
        let registry = Some(LocalRegistry { host, ..LocalRegistry::default() });
        let connection = Connection { arch: "amd64".to_owned(), registry, ..Connection::default() };
        let connected = after(ClusterEvent::Connected(Box::new(connection)));
        assert_eq!(
            connected,
            "{\"arch\":\"amd64\",\"version\":\"\",\"connectedAt\":\"1970-01-01T00:00:00.000000Z\",\
             \"connection\":{\"kubernetes\":{\"context\":\"\",\"namespace\":\"\",\"cluster\":\"\",\
             \"product\":\"\",\"configPath\":null}},\"registry\":{\"host\":\"localhost:5000\"}}"
        );
        let lost = after(ClusterEvent::Unhealthy { error: "ill".to_owned(), is_replaced: false });
        assert!(lost.ends_with(",\"error\":\"ill\"}"), "{lost}");
        assert_eq!(after(ClusterEvent::Healthy), connected);
    }
}

//! Docker and Compose services: how their containers do, and whose log is read.

use engine_core::{
    Time, World,
    world::{DOCKER, DockerConnection},
};
use engine_model::{
    Container, Kind, ObjectId, Port,
    annotation::{RESOURCE, SPAN},
    names,
};
use serde_json::{Value, json};

use crate::{disable, draft::ObjectDraft, time};

/// The status of the `Cluster` that Compose services are in, if Docker was tried.
pub fn cluster_status(world: &World, name: &str) -> Option<Value> {
    let connection = world.docker().connection.as_ref().filter(|_| name == DOCKER)?;
    Some(match connection {
        DockerConnection::Up { arch, version, since } => {
            json!({"arch": arch, "version": version, "connectedAt": time::micro(*since)})
        }
        DockerConnection::Lost { error } => json!({"error": error, "connectedAt": null}),
    })
}

/// The status of a `DockerComposeService`, if anything is known of it.
pub fn status(world: &World, name: &str) -> Option<Value> {
    let service = world.resource(name)?.service.as_ref()?;
    let disabled = disable::status(world, Kind::DockerComposeService, name);
    let mut status = json!({"disableStatus": disabled});
    if let Some(container) = &service.container {
        status["containerID"] = json!(container.id);
        status["containerName"] = json!(container.name);
        status["containerState"] = state(container);
        let bindings: Vec<Value> = container.bindings().into_iter().map(binding).collect();
        if !bindings.is_empty() {
            status["portBindings"] = json!(bindings);
        }
    }
    let applied = service.applied.as_ref();
    status["lastApplyStartTime"] = json!(applied.map(|it| time::micro(it.started)));
    status["lastApplyFinishTime"] = json!(applied.map(|it| time::micro(it.finished)));
    if let Some(error) = applied.and_then(|it| it.error.as_ref()) {
        status["applyError"] = json!(error.text);
    }
    Some(status)
}

/// The `DockerComposeLogStream` of a service, if its log is read.
pub fn log_stream(world: &World, name: &str, engine_started: Time) -> Option<ObjectDraft> {
    let resource = world.resource(name)?;
    let spec = resource.compose_spec()?;
    let since = time::seconds(engine_started);
    let stream = json!({"service": spec.service, "project": spec.project, "sinceTime": since});
    if !resource.service.as_ref()?.has_log {
        return None;
    }
    let notes = [(RESOURCE, name), (SPAN, &names::compose_object_span(name))];
    let draft = ObjectDraft::new(Kind::DockerComposeLogStream, name, stream).annotated(&notes);
    Some(ObjectDraft { owner: Some(ObjectId::new(Kind::DockerComposeService, name)), ..draft })
}

fn binding(port: &Port) -> Value {
    let number = port.container.split('/').next().and_then(|it| it.parse::<u16>().ok());
    json!({"containerPort": number, "hostIP": port.host_ip, "hostPort": port.host_port})
}

fn state(container: &Container) -> Value {
    let mut shown = json!({
        "status": container.status,
        "startedAt": container.started.map(time::micro),
        "finishedAt": container.finished.map(time::micro),
    });
    if container.is_running {
        shown["running"] = json!(true);
    }
    if !container.error.is_empty() {
        shown["error"] = json!(container.error);
    }
    if container.exit_code != 0 {
        shown["exitCode"] = json!(container.exit_code);
    }
    if let Some(health) = &container.health {
        shown["healthStatus"] = json!(health);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_a_container_has_only_what_is_known() {
        let running =
            Container { status: "running".into(), is_running: true, ..Container::default() };
        let state_of = |it: &Container| state(it).to_string();
        assert_eq!(
            state_of(&running),
            r#"{"status":"running","startedAt":null,"finishedAt":null,"running":true}"#
        );
        let ended = Container {
            status: "exited".into(),
            exit_code: 3,
            error: "no such file".into(),
            finished: Some(Time(1_000_000)),
            health: Some("unhealthy".into()),
            ..Container::default()
        };
        assert_eq!(
            state_of(&ended),
            r#"{"status":"exited","startedAt":null,"finishedAt":"1970-01-01T00:00:01.000000Z","error":"no such file","exitCode":3,"healthStatus":"unhealthy"}"#
        );
    }

    #[test]
    fn ports_are_numbers() {
        let port = Port { container: "80/tcp".into(), host_ip: "0.0.0.0".into(), host_port: 8080 };
        let expected = r#"{"containerPort":80,"hostIP":"0.0.0.0","hostPort":8080}"#;
        assert_eq!(binding(&port).to_string(), expected);
    }
}

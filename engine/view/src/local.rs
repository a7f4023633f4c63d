//! Commands and watched files.

use engine_core::{
    World,
    objects::{CmdPhase, WatchedFiles},
    resource::ServeId,
};
use engine_formats::golang::label::sanitize_name;
use engine_model::{
    CmdSpec, Kind, LocalTarget,
    annotation::{OWNER_KIND, OWNER_NAME, RESOURCE, SPAN},
};
use serde_json::{Value, json};

use crate::{disable, draft::ObjectDraft, time};

/// The name of the `Cmd` that updates a local resource.
pub fn update_cmd_name(resource: &str) -> String {
    sanitize_name(&format!("{resource}:update"))
}

/// What a server runs, and the spec of its `Cmd`.
pub fn serve_cmd(target: &LocalTarget) -> (CmdSpec, Value) {
    let spec = CmdSpec {
        args: target.serve_cmd.argv.clone().unwrap_or_default(),
        dir: target.serve_cmd.dir.clone(),
        env: target.serve_cmd.env.clone().unwrap_or_default(),
    };
    let mut rendered = json!(spec);
    if let Some(probe) = &target.readiness_probe {
        rendered["readinessProbe"] = json!(probe);
    }
    (spec, rendered)
}

/// The `Cmd` of a run of a server.
pub fn serve_object(id: ServeId, resource: &str, target: &LocalTarget) -> ObjectDraft {
    let annotations = [
        (SPAN, id.span()),
        (OWNER_KIND, "CmdServer".to_owned()),
        (OWNER_NAME, resource.to_owned()),
        (RESOURCE, resource.to_owned()),
    ];
    let annotations: Vec<(&str, &str)> =
        annotations.iter().map(|(key, value)| (*key, value.as_str())).collect();
    ObjectDraft::new(Kind::Cmd, id.object(resource), serve_cmd(target).1).annotated(&annotations)
}

/// The status of a `Cmd`; nothing if there is none.
pub fn cmd_status(world: &World, name: &str) -> Option<Value> {
    let disabled = disable::status(world, Kind::Cmd, name);
    let status = match world.cmd_phase(name)? {
        CmdPhase::New => json!({"disableStatus": disabled}),
        CmdPhase::Starting => json!({"waiting": {}, "disableStatus": disabled}),
        CmdPhase::AwaitsClick => json!({
            "waiting": {"reason": "cmd StartOn has not been triggered"},
            "disableStatus": disabled,
        }),
        CmdPhase::Running { pid, since, is_ready, .. } => {
            let mut status = json!({
                "running": {"pid": pid, "startedAt": time::micro(*since)},
                "disableStatus": disabled,
            });
            if *is_ready {
                status["ready"] = json!(true);
            }
            status
        }
        CmdPhase::Ended { end, was_ready } => {
            let mut terminated = json!({
                "pid": end.pid,
                "exitCode": end.exit_code,
                "startedAt": end.started.map(time::micro),
                // What was not even tried has no end either.
                "finishedAt": end.started.map(|_| time::micro(end.finished)),
            });
            if !end.reason.is_empty() {
                terminated["reason"] = json!(end.reason);
            }
            let mut status = json!({"terminated": terminated});
            if *was_ready {
                status["ready"] = json!(true);
            }
            status["disableStatus"] = disabled;
            status
        }
    };
    Some(status)
}

/// The status of a `FileWatch`; one that is not watched shows nothing it saw before.
pub fn file_watch_status(world: &World, name: &str) -> Value {
    let watched = world.watched_files(name);
    let mut status = json!({
        "monitorStartTime": watched.and_then(|it| it.started).map(time::micro),
        "lastEventTime": watched.and_then(|it| it.last_event).map(time::micro),
        "disableStatus": disable::status(world, Kind::FileWatch, name),
    });
    let Some(watched) = watched else { return status };
    if !watched.events.is_empty() {
        status["fileEvents"] = events(watched);
    }
    if !watched.error.is_empty() {
        status["error"] = json!(watched.error);
    }
    status
}

/// How many files the events of a `FileWatch` do not list, if any.
pub fn unlisted_files(world: &World, name: &str) -> Option<String> {
    let n_unlisted = world.watched_files(name)?.n_unlisted();
    (n_unlisted > 0).then(|| n_unlisted.to_string())
}

fn events(watched: &WatchedFiles) -> Value {
    let event = |it: &engine_core::objects::SeenFiles| {
        let files: Vec<_> = it.files.iter().map(|it| it.as_path().to_string_lossy()).collect();
        json!({"time": time::micro(it.at), "seenFiles": files})
    };
    watched.events.iter().map(event).collect()
}

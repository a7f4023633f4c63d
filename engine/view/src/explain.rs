//! Why a resource last ran, or what it waits for: the answer to `why`.
//!
//! Lists of files end after [`LISTED`], with the number of those that are not listed.

use engine_core::{
    World,
    cause::{Cause, Causes, Explained, FileCause},
    hold::{Hold, WaitsOn},
    objects::CmdPhase,
    reason::Reason,
    resource::{LISTED, Resource, Server, Workload},
    tiltfile::Tiltfile,
};
use engine_model::names;
use serde_json::{Value, json};

use crate::time;

/// Chains of holds are followed so far; they may form a circle.
const MAX_DEPTH: usize = 16;

/// Why a resource or a Tiltfile last ran, what it does now, and what it waits for.
pub fn explain(world: &World, name: &str) -> Option<Value> {
    if let Some(tiltfile) = world.tiltfile(name) {
        return Some(explain_tiltfile(tiltfile));
    }
    let resource = world.resource(name)?;
    let (workload, update) =
        (resource.workload.as_ref(), resource.current.as_ref().or(resource.history.front()));
    let mut causes = Causes::new(world);
    Some(json!({
        "resource": name,
        "updateStatus": resource.update_status().as_str(),
        "runtimeStatus": resource.runtime_status().as_str(),
        "runtimeError": resource.runtime_error,
        "server": resource.server.as_ref().and_then(server),
        "container": resource.container().map(|it| json!({
            "name": it.name,
            "status": it.status,
            "health": it.health,
            "startedAt": it.started.map(time::micro),
        })),
        "pod": workload.and_then(Workload::newest_pod).map(|it| json!({
            "name": it.name,
            "namespace": it.namespace,
            "status": it.status,
            "restarts": it.restarts(),
            "errors": it.errors,
            "createdAt": time::seconds(it.created),
        })),
        "kept": workload.map(|it| it.kept.as_slice()).unwrap_or_default(),
        "triggerMode": resource.trigger_mode,
        "disabled": resource.is_disabled(),
        "running": resource.current.is_some(),
        "lastRun": update.map(|it| cause(&causes.of(it))),
        "pending": pending(&mut causes, resource),
        "hold": resource.hold.as_ref().map(|it| hold(world, it, 0)),
    }))
}

/// Why a server does not serve: how it ended, or what its readiness probe says.
fn server(server: &Server) -> Option<Value> {
    match &server.phase {
        CmdPhase::Ended { end, .. } if !server.is_stopping => Some(json!({
            "exitCode": end.exit_code,
            "reason": end.reason,
            "ranForMicros": end.started.map(|it| end.finished.micros_since(it)),
            "endedAt": time::micro(end.finished),
            "lastLine": end.last_line,
        })),
        CmdPhase::Running { probe_error, .. } if !server.is_ready() => {
            Some(json!({"probeError": probe_error}))
        }
        CmdPhase::New
        | CmdPhase::Starting
        | CmdPhase::AwaitsClick
        | CmdPhase::Running { .. }
        | CmdPhase::Ended { .. } => None,
    }
}

fn explain_tiltfile(tiltfile: &Tiltfile) -> Value {
    let run = tiltfile.current.as_ref().or(tiltfile.last.as_ref());
    json!({
        "resource": tiltfile.name,
        "updateStatus": tiltfile.update_status().as_str(),
        "lastRun": run.map(|it| json!({
            "startedAt": time::micro(it.started),
            "reason": it.reason.to_string(),
            "files": it.files.iter().take(LISTED).collect::<Vec<_>>(),
            "moreFiles": more(it.files.len(), it.n_unlisted),
            "error": it.error,
        })),
        "pendingFiles": tiltfile.pending.iter().take(LISTED).collect::<Vec<_>>(),
        "morePendingFiles": more(tiltfile.pending.len(), 0),
    })
}

/// How many of these files are not listed, beside those that are not even remembered; null if all are.
fn more(n_files: usize, n_unlisted: usize) -> Value {
    let more = n_files.saturating_sub(LISTED) + n_unlisted;
    if more > 0 { json!(more) } else { Value::Null }
}

/// Why an update ran, down to what happened outside.
fn cause(cause: &Cause<'_>) -> Value {
    let update = cause.update;
    let mut shown = json!({
        "update": update.id.0,
        "startedAt": time::micro(update.started),
        "reason": update.reason.to_string(),
        "isOnlyReason": update.reason.is_single(),
    });
    if let Some(end) = &update.end {
        shown["endedAt"] = json!(time::micro(end.at));
        shown["error"] = json!(end.error);
    }
    if let Some(config) = &update.config {
        shown["configFiles"] = json!(config.files.iter().take(LISTED).collect::<Vec<_>>());
        shown["moreConfigFiles"] = more(config.files.len(), 0);
    }
    if !cause.files.is_empty() {
        shown["files"] = cause.files.iter().map(file).collect();
        shown["moreFiles"] = more(update.changes.len(), update.n_unlisted);
    }
    if let Some(dep) = &cause.waited_for {
        shown["waitedFor"] = explained(dep);
    }
    shown
}

fn file(file: &FileCause<'_>) -> Value {
    let during: Vec<Value> = file.during.iter().map(explained).collect();
    json!({"path": file.change.path, "changedAt": time::micro(file.change.at), "during": during})
}

fn explained(explained: &Explained<'_>) -> Value {
    json!({
        "resource": explained.resource,
        "update": explained.update.map(|it| it.0),
        "run": explained.cause.as_ref().map(cause),
    })
}

/// What the next update would be for.
fn pending<'a>(causes: &mut Causes<'a>, resource: &'a Resource) -> Value {
    let reason = resource.next_reason();
    if reason.is_empty() {
        return Value::Null;
    }
    let is_due = !reason.triggers().is_empty()
        || reason.has(Reason::INITIAL)
        || resource.is_auto_on_change();
    let config = resource.config_change.as_ref().map(|it| it.files.as_slice());
    let config_files = config.map(|it| it.iter().take(LISTED).collect::<Vec<_>>());
    let files = causes.of_files(resource.pending.iter());
    json!({
        "reason": reason.to_string(),
        "isOnlyReason": reason.is_single(),
        "files": files.iter().map(file).collect::<Vec<_>>(),
        "moreFiles": more(resource.pending.iter().count(), 0),
        "configFiles": config_files,
        "moreConfigFiles": more(config.map_or(0, <[_]>::len), 0),
        "since": resource.pending_since().map(time::micro),
        "needsTrigger": !is_due,
    })
}

/// What a resource waits for, and what that waits for.
fn hold(world: &World, hold: &Hold, depth: usize) -> Value {
    let on = hold.on();
    let on = on.iter().map(|it| match it {
        WaitsOn::Resource(name) => waits_on(world, name, depth),
        WaitsOn::Image(name) => json!({"image": name}),
        WaitsOn::Cluster(name) => {
            let is_docker = *name == names::DOCKER;
            let error = if is_docker { world.docker().error() } else { world.cluster().error() };
            json!({"cluster": name, "error": error})
        }
    });
    let mut shown = json!({"reason": hold.reason(), "on": on.collect::<Vec<_>>()});
    if let Hold::RebuildLoop { file, .. } = hold {
        shown["file"] = json!(file);
    }
    shown
}

fn waits_on(world: &World, name: &str, depth: usize) -> Value {
    let mut shown = json!({"resource": name});
    let Some(resource) = world.resource(name) else { return shown };
    shown["updateStatus"] = json!(resource.update_status().as_str());
    shown["runtimeStatus"] = json!(resource.runtime_status().as_str());
    shown["disabled"] = json!(resource.is_disabled());
    let never_ran = !resource.has_started_once() && !resource.is_auto_init();
    shown["needsTrigger"] = json!(never_ran && resource.triggered.is_empty());
    let error = resource.history.front().and_then(|it| it.end.as_ref()?.error.clone());
    if let Some(error) = error {
        shown["error"] = json!(error);
    }
    if let Some(it) = resource.hold.as_ref().filter(|_| depth < MAX_DEPTH) {
        shown["hold"] = hold(world, it, depth + 1);
    }
    shown
}

//! The whole state for people who look for a problem: what `dump engine` and `dump tasks` print.

use engine_core::{Time, World, hold::Hold, resource::Resource, tiltfile::MAIN};
use serde_json::{Map, Value, json};

use crate::time;

/// What the engine is, beside its world.
#[derive(Clone, Copy, Debug)]
pub struct EngineInfo<'a> {
    /// The version of Tilt that it is compatible with.
    pub version: &'a str,
    /// When it started.
    pub started: Time,
    /// The path of the main Tiltfile.
    pub tiltfile: &'a str,
}

/// The state of the engine.
pub fn engine(world: &World, info: &EngineInfo<'_>) -> Value {
    let resources = world.resources();
    let target = |it: &Resource| {
        let state = state(it);
        (it.name.to_string(), json!({"Manifest": it.manifest.as_ref(), "State": state}))
    };
    let targets: Map<String, Value> = resources.iter().map(target).collect();
    let queue: Vec<_> = world.queue().map(|it| it.0).collect();
    json!({
        "TiltBuildInfo": {"Version": info.version},
        "TiltStartTime": time::micro(info.started),
        "ManifestDefinitionOrder": resources.iter().map(|it| &it.name).collect::<Vec<_>>(),
        "TiltfileDefinitionOrder": world.tiltfiles().iter().map(|it| &it.name).collect::<Vec<_>>(),
        "ManifestTargets": targets,
        "TriggerQueue": (!queue.is_empty()).then_some(queue),
        "UserConfigState": {
            "Args": world.tiltfile(MAIN).map(|it| it.args.clone()).unwrap_or_default(),
        },
        "DesiredTiltfilePath": info.tiltfile,
        "MaxParallelUpdates": world.max_parallel(),
    })
}

fn state(resource: &Resource) -> Value {
    json!({
        "Name": resource.name,
        "UpdateStatus": resource.update_status().as_str(),
        "RuntimeStatus": resource.runtime_status().as_str(),
        "RuntimeError": resource.runtime_error,
        "ContainerID": resource.container().map(|it| &it.id),
        "TriggerReason": resource.triggered.0,
        "PendingFiles": resource.pending.iter().map(|it| &it.path).collect::<Vec<_>>(),
        "Hold": resource.hold.as_ref().map(Hold::reason),
    })
}

/// Something that runs: its kind, what it is about, and since when, as text.
pub type RunningTask = (String, String, String);

/// Tasks and commands that run, those that were started first before others.
pub fn tasks(mut running: Vec<RunningTask>) -> Value {
    running.sort_by(|a, b| a.2.cmp(&b.2));
    let task = |(kind, about, since): RunningTask| json!({"kind": kind, "resource": about, "since": since});
    running.into_iter().map(task).collect()
}

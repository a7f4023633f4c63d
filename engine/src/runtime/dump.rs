//! The whole state for people who look for a problem: what `dump engine` prints.

use engine_core::{hold::Hold, tiltfile::MAIN};
use serde_json::{Map, Value, json};

use super::{Runtime, clock};

impl Runtime {
    pub(super) fn dump(&self) -> Value {
        let resources = self.scheduler.resources();
        let targets: Map<String, Value> = resources
            .iter()
            .map(|it| {
                let state = json!({
                    "Name": it.name,
                    "UpdateStatus": it.update_status().as_str(),
                    "RuntimeStatus": it.runtime_status().as_str(),
                    "RuntimeError": it.runtime_error,
                    "ContainerID": self.container_of(&it.name).map(|it| &it.id),
                    "TriggerReason": it.triggered.0,
                    "PendingFiles": it.pending.iter().map(|it| &it.path).collect::<Vec<_>>(),
                    "Hold": it.hold.as_ref().map(Hold::reason),
                });
                let target = json!({"Manifest": it.manifest.as_ref(), "State": state});
                (it.name.to_string(), target)
            })
            .collect();
        let queue: Vec<_> = self.scheduler.queue().map(|it| it.0).collect();
        let dump = json!({
            "TiltBuildInfo": {"Version": builtins::COMPATIBLE_VERSION},
            "TiltStartTime": clock::micro(self.settings.started),
            "ManifestDefinitionOrder": resources.iter().map(|it| &it.name).collect::<Vec<_>>(),
            "TiltfileDefinitionOrder":
                self.scheduler.tiltfiles().iter().map(|it| &it.name).collect::<Vec<_>>(),
            "ManifestTargets": targets,
            "TriggerQueue": (!queue.is_empty()).then_some(queue),
            "UserConfigState": {
                "Args": self.scheduler.tiltfile(MAIN).map(|it| it.args.clone()).unwrap_or_default(),
            },
            "DesiredTiltfilePath": self.settings.tiltfile,
            "MaxParallelUpdates": self.scheduler.max_parallel(),
        });
        self.scrubbed(dump)
    }

    /// A value without the values of secrets.
    pub(super) fn scrubbed(&self, value: Value) -> Value {
        let scrubber = self.logs.scrubber();
        if scrubber.is_empty() {
            return value;
        }
        walk(value, &|text| scrubber.scrub(text).into_owned())
    }
}

/// The value with every text in it changed.
fn walk(value: Value, scrub: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(scrub(&text)),
        Value::Array(items) => items.into_iter().map(|it| walk(it, scrub)).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(key, it)| (key, walk(it, scrub))).collect()
        }
        other => other,
    }
}

//! Answers that read the world, for servers that ask.

use builtins::Evaluation;
use engine_core::{Time, World};
use engine_model::TriggerMode;
use engine_view::{dump, plan};
use serde_json::{Value, json};

use super::TriggerRefused;
use crate::{clock, drivers::Drivers};

/// Tasks and commands that run.
pub(super) fn tasks(drivers: &Drivers) -> Value {
    let tasks = drivers.tasks.running().map(|it| {
        let (kind, about) = it.key.parts();
        (kind.to_owned(), about.to_owned(), clock::micro(clock::of_system(it.since)))
    });
    let command = |(resource, since): (&str, Time)| {
        ("command".to_owned(), resource.to_owned(), clock::micro(since))
    };
    let running = tasks.chain(drivers.commands.running().map(command)).collect();
    drivers.logs.scrubber().scrub_value(dump::tasks(running))
}

/// What another load would change; it was evaluated on the side, and is applied to nothing.
pub(super) fn plan(
    world: &World,
    drivers: &Drivers,
    evaluation: Result<Box<Evaluation>, String>,
) -> Value {
    let failure = match evaluation {
        Ok(it) => match it.failure {
            None => return plan::reload(world, &it.load.manifests),
            Some(failure) => failure.text,
        },
        Err(error) => error,
    };
    drivers.logs.scrubber().scrub_value(json!({"error": failure}))
}

/// A trigger mode by its number in Tilt, if there are resources of all these names.
pub(super) fn trigger_mode(
    world: &World,
    names: &[String],
    mode: u8,
) -> Result<TriggerMode, TriggerRefused> {
    if let Some(unknown) = names.iter().find(|it| world.resource(it).is_none()) {
        return Err(TriggerRefused::Unknown(unknown.clone()));
    }
    Ok(match mode {
        1 => TriggerMode::ManualWithAutoInit,
        2 => TriggerMode::Manual,
        3 => TriggerMode::AutoWithManualInit,
        _ => TriggerMode::Auto,
    })
}

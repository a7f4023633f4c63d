//! How far new pods are, told line by line: scheduled, initialized, ready.

use std::collections::HashMap;

use engine_core::resource::ResourceName;
use engine_kubernetes::{Pod, PodCondition};
use engine_model::GoDuration;
use jiff::Timestamp;

use super::Runtime;
use crate::logs::{Fields, Level, LogWriter};

/// The column in which the time of a step is.
const WIDTH: usize = 16;

/// What was told of the pods of a resource.
#[derive(Debug, Default)]
pub(super) struct Rollout {
    /// The last that was told of the newest pod.
    told: HashMap<String, Progress>,
    /// Pods that were announced.
    announced: Vec<String>,
}

/// How far a pod is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Progress {
    created: Timestamp,
    scheduled: PodCondition,
    initialized: PodCondition,
    ready: PodCondition,
}

impl Progress {
    fn of(pod: &Pod) -> Self {
        let find = |kind: &str| {
            let found = pod.conditions.iter().rev().find(|it| it.kind == kind);
            found.cloned().unwrap_or_default()
        };
        Self {
            created: pod.created,
            scheduled: find("PodScheduled"),
            initialized: find("Initialized"),
            ready: find("Ready"),
        }
    }
}

impl Runtime {
    /// Tells how far the newest pod of a resource is, if that has changed.
    pub(super) fn tell_rollout(&mut self, resource: &ResourceName) {
        // A cluster counts in seconds: what was made in the second of the start is new.
        let started = self.settings.started.0.div_euclid(1_000_000);
        let Some(workload) = self.kubernetes.workloads.known.get_mut(resource) else { return };
        let Some(pod) = workload.newest_pod() else {
            return workload.rollout.told.clear();
        };
        let (name, progress) = (pod.name.clone(), Progress::of(pod));
        let (pods, rollout) = (&workload.pods, &mut workload.rollout);
        rollout.announced.retain(|name| pods.iter().any(|it| it.name == *name));
        if rollout.told.get(&name) == Some(&progress) {
            return;
        }
        rollout.told.clear();
        rollout.told.insert(name.clone(), progress.clone());
        let log = self.logs.writer(resource, &format!("monitor:{resource}:{name}"));
        if !rollout.announced.contains(&name) {
            rollout.announced.push(name.clone());
            if progress.created.as_second() < started {
                return log.info(&format!(
                    "\nAttaching to existing pod ({name}). Only new logs will be streamed."
                ));
            }
            log.info(&format!("\nTracking new pod rollout ({name}):"));
        }
        tell(&log, "Scheduled", &progress.scheduled, Some(progress.created));
        tell(&log, "Initialized", &progress.initialized, progress.scheduled.since);
        tell(&log, "Ready", &progress.ready, progress.initialized.since);
    }
}

fn tell(log: &LogWriter, step: &str, condition: &PodCondition, before: Option<Timestamp>) {
    let fields = Fields { progress_id: Some(step.into()), ..Fields::default() };
    let line = line(step, condition, before);
    log.with_fields(fields).write(Level::Info, &format!("     {line}\n"));
}

/// One step of a rollout, and how long it took.
fn line(step: &str, condition: &PodCondition, before: Option<Timestamp>) -> String {
    let took = match (before, condition.since) {
        (Some(before), Some(since)) => duration(since.as_nanosecond() - before.as_nanosecond()),
        _ => String::new(),
    };
    if condition.status == "True" {
        return format!("┊ {step:WIDTH$}- {took}");
    }
    // A job that has finished is not ready any more, but that is no trouble.
    if condition.kind == "Ready" && condition.reason == "PodCompleted" {
        return format!("┊ {:WIDTH$}- {took}", "Completed");
    }
    if condition.status.is_empty() || condition.reason.is_empty() || condition.message.is_empty() {
        return format!("┊ {step:WIDTH$}- (…) Pending");
    }
    let step = format!("Not {step}");
    format!("┃ {step:WIDTH$}- ({}): {}", condition.reason, condition.message)
}

fn duration(nanoseconds: i128) -> String {
    let milliseconds = nanoseconds / 1_000_000;
    if nanoseconds == 0 {
        return "<1s".to_owned();
    }
    GoDuration(i64::try_from(milliseconds * 1_000_000).unwrap_or(i64::MAX)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(status: &str, reason: &str, message: &str, second: i64) -> PodCondition {
        PodCondition {
            kind: "Ready".into(),
            status: status.into(),
            since: Timestamp::from_second(second).ok(),
            reason: reason.into(),
            message: message.into(),
        }
    }

    #[test]
    fn each_step_says_how_long_it_took_or_what_it_waits_for() {
        let start = Timestamp::from_second(100).ok();
        for (condition, want) in [
            (condition("True", "", "", 100), "┊ Ready           - <1s"),
            (condition("True", "", "", 163), "┊ Ready           - 1m3s"),
            (condition("False", "PodCompleted", "", 105), "┊ Completed       - 5s"),
            (condition("False", "", "", 105), "┊ Ready           - (…) Pending"),
            (
                condition("False", "ContainersNotReady", "containers with unready status: [a]", 9),
                "┃ Not Ready       - (ContainersNotReady): containers with unready status: [a]",
            ),
            (PodCondition::default(), "┊ Ready           - (…) Pending"),
        ] {
            assert_eq!(line("Ready", &condition, start), want);
        }
    }
}

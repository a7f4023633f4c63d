//! How far new pods are, line by line: scheduled, initialized, ready.

use engine_model::{
    GoDuration, Time,
    pod::{Pod, PodCondition},
};

use super::{LogLine, Workload, line};
use crate::{effect::LineKind, resource::ResourceName};

/// The column in which the time of a step is.
const WIDTH: usize = 16;

/// What the log says of the pods of a resource.
#[derive(Clone, Debug, Default)]
pub(super) struct Rollout {
    /// The newest pod, and how far it was.
    reported: Option<(String, Progress)>,
    /// Pods that were announced.
    announced: Vec<String>,
}

/// How far a pod is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Progress {
    created: Time,
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

impl Workload {
    /// How far the newest pod is, if that has changed. Pods that are older than the engine are only named.
    pub(crate) fn rollout_lines(&mut self, resource: &ResourceName, started: Time) -> Vec<LogLine> {
        let Some(pod) = self.newest_pod() else {
            self.rollout.reported = None;
            return Vec::new();
        };
        let report = (pod.name.clone(), Progress::of(pod));
        let (pods, rollout) = (&self.pods, &mut self.rollout);
        rollout.announced.retain(|name| pods.iter().any(|it| it.name == *name));
        if rollout.reported.as_ref() == Some(&report) {
            return Vec::new();
        }
        let (name, progress) = rollout.reported.insert(report);
        let span = format!("monitor:{resource}:{name}");
        let say = |kind: LineKind, text: String| line(resource, span.clone(), kind, text);
        let mut lines = Vec::new();
        if !rollout.announced.contains(name) {
            rollout.announced.push(name.clone());
            // A cluster counts in seconds: what was made in the second of the start is new.
            if progress.created.whole_second() < started.whole_second() {
                let text = format!(
                    "\nAttaching to existing pod ({name}). Only new logs will be streamed."
                );
                return vec![say(LineKind::Info, text)];
            }
            lines.push(say(LineKind::Info, format!("\nTracking new pod rollout ({name}):")));
        }
        let Progress { created, scheduled, initialized, ready } = &*progress;
        for (step, condition, before) in [
            ("Scheduled", scheduled, Some(*created)),
            ("Initialized", initialized, scheduled.since),
            ("Ready", ready, initialized.since),
        ] {
            let text = format!("     {}", step_text(step, condition, before));
            lines.push(say(LineKind::Progress(step), text));
        }
        lines
    }
}

/// One step of a rollout, and how long it took.
fn step_text(step: &str, condition: &PodCondition, before: Option<Time>) -> String {
    let took = match (before, condition.since) {
        (Some(before), Some(since)) => duration(since.micros_since(before)),
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

fn duration(micros: i64) -> String {
    if micros == 0 {
        return "<1s".to_owned();
    }
    GoDuration((micros / 1_000).saturating_mul(1_000_000)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(status: &str, reason: &str, message: &str, second: i64) -> PodCondition {
        PodCondition {
            kind: "Ready".into(),
            status: status.into(),
            since: Some(Time(second * 1_000_000)),
            reason: reason.into(),
            message: message.into(),
        }
    }

    #[test]
    fn each_step_says_how_long_it_took_or_what_it_waits_for() {
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
            assert_eq!(step_text("Ready", &condition, Some(Time(100_000_000))), want);
        }
    }
}

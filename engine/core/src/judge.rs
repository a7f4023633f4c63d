//! When `ci` is judged, and by which limits. A judgement goes over all resources, so it is throttled: it is due when
//! something has changed or a deadline has passed, and not before a pause that grows with the number of resources.

use engine_model::{DeployTarget, spec::CiLimits};

use crate::{
    Effects, Event, Time, World,
    resource::Resource,
    session::{self, Target, Verdict},
};

/// The pause between two judgements, in microseconds for each resource.
const PAUSE_PER_RESOURCE: i64 = 20;

/// The name of the object with the limits.
const SESSION: &str = "Tiltfile";

/// How far the judgement of `ci` is.
#[derive(Clone, Debug)]
pub(crate) struct Judging {
    /// Whether something has changed since the last one.
    pub(crate) has_changed: bool,
    /// When the last one was.
    last: Option<Time>,
    /// When the next one is due at the latest.
    due: Option<Time>,
    /// Whether something has failed; nothing else happens then.
    has_failed: bool,
}

impl Default for Judging {
    fn default() -> Self {
        Self { has_changed: true, last: None, due: None, has_failed: false }
    }
}

impl World {
    /// How long `ci` waits.
    pub fn ci_limits(&self) -> CiLimits {
        self.objects.ci_limits(SESSION)
    }

    /// Everything that `ci` waits for.
    pub fn ci_targets(&self, now: Time) -> Vec<Target> {
        session::targets(self, self.ci_limits().grace_period, now)
    }

    /// When `ci` is judged next, unless that is now.
    pub fn judge_at(&self, now: Time) -> Option<Time> {
        let Judging { has_changed, last, due, .. } = &self.judging;
        if let Some(due) = due.filter(|it| *it > now && !has_changed) {
            return Some(due);
        }
        let n_resources = i64::try_from(self.resources().len()).unwrap_or(i64::MAX);
        let pause = PAUSE_PER_RESOURCE.saturating_mul(n_resources);
        // A clock that has been set back says nothing about the pause.
        let last = last.filter(|it| *it <= now)?;
        Some(Time(last.0.saturating_add(pause))).filter(|it| *it > now)
    }

    /// Whether `ci` is done.
    pub fn judge(&mut self, now: Time) -> Verdict {
        self.judging.has_changed = false;
        self.judging.last = Some(now);
        let verdict = match self.undeployable() {
            Some(error) => Verdict::Failure(error),
            None => self.verdict(now),
        };
        self.judging.due = match &verdict {
            Verdict::Undecided(deadline) => *deadline,
            Verdict::Success | Verdict::Failure(_) => None,
        };
        verdict
    }

    /// Whether `ci` ends with a failure.
    pub(crate) fn has_failed(&self) -> bool {
        self.judging.has_failed
    }

    /// Whether an event may be the one that `ci` fails with.
    pub(crate) fn may_end_ci(&self, event: &Event) -> bool {
        let is_end =
            matches!(event, Event::UpdateEnded { error: Some(_), .. } | Event::ServeEnded { .. });
        is_end && self.settings.ci_started.is_some()
    }

    /// Ends a step. What made `ci` fail leads to nothing else.
    pub(crate) fn end_step(&mut self, now: Time, may_end_ci: bool) -> Effects {
        let mut effects = std::mem::take(&mut self.effects);
        self.judging.has_changed |= !effects.changed.is_empty();
        if may_end_ci && matches!(self.verdict(now), Verdict::Failure(_)) {
            // It must not wait for its turn to be judged.
            self.judging = Judging { has_failed: true, ..Judging::default() };
            effects.actions.clear();
        }
        effects
    }

    fn verdict(&self, now: Time) -> Verdict {
        let started = self.settings.ci_started.unwrap_or_default();
        session::verdict(&self.ci_targets(now), self.ci_limits(), started, now)
    }

    /// Why `ci` cannot succeed: what is deployed needs a Docker or a cluster that answers.
    fn undeployable(&self) -> Option<String> {
        let is_kubernetes =
            |it: &Resource| matches!(it.manifest.deploy_target, DeployTarget::Kubernetes(_));
        let is_service =
            |it: &Resource| matches!(it.manifest.deploy_target, DeployTarget::Compose(_));
        let mut enabled = self.resources().iter().filter(|it| !it.is_disabled());
        if let Some(error) = self.docker().error()
            && enabled.clone().any(is_service)
        {
            return Some(format!("Failed to connect to Docker: {error}"));
        }
        self.cluster().error()?;
        enabled.any(is_kubernetes).then(|| "cluster connection failed".to_owned())
    }
}

//! A resource as the model sees it, and what follows from that alone.

use std::{collections::BTreeSet, sync::Arc};

use engine_model::{DeployTarget, FilePath, LocalTarget, Manifest, ResourceName, TriggerMode};

use super::is_before;
use crate::{
    reason::Reason,
    resource::{EnableState, ServeId, UpdateId},
    status::UpdateStatus,
    time::Time,
};

/// A resource as the model sees it.
pub(super) struct Resource {
    pub(super) manifest: Arc<Manifest>,
    pub(super) tiltfile: ResourceName,
    pub(super) mode: TriggerMode,
    pub(super) enable: EnableState,
    /// Files that no update has begun to consume.
    pub(super) changed: BTreeSet<FilePath>,
    pub(super) is_reconfigured: bool,
    pub(super) triggered: Reason,
    pub(super) waits_for_deps: bool,
    pub(super) running: Option<Update>,
    /// Since when its containers take changes.
    pub(super) live: Option<Time>,
    /// How the last update ended that counts.
    pub(super) last: Option<bool>,
    pub(super) last_good: Option<UpdateId>,
    pub(super) last_success: Option<Time>,
    pub(super) was_ready: bool,
    /// The latest server.
    pub(super) served: Option<Served>,
}

pub(super) struct Update {
    pub(super) id: UpdateId,
    pub(super) started: Time,
    pub(super) files: BTreeSet<FilePath>,
    pub(super) is_forgotten: bool,
}

/// What the latest server was started for, and whether it was asked to stop.
pub(super) struct Served {
    pub(super) id: ServeId,
    pub(super) good: UpdateId,
    pub(super) target: LocalTarget,
    pub(super) was_stopped: bool,
}

impl Resource {
    pub(super) fn new(manifest: &Arc<Manifest>, tiltfile: &ResourceName) -> Self {
        Self {
            manifest: Arc::clone(manifest),
            tiltfile: tiltfile.clone(),
            mode: manifest.trigger_mode,
            enable: EnableState::Pending,
            changed: BTreeSet::new(),
            is_reconfigured: false,
            triggered: Reason::default(),
            waits_for_deps: false,
            running: None,
            live: None,
            last: None,
            last_good: None,
            last_success: None,
            was_ready: false,
            served: None,
        }
    }

    pub(super) fn local(&self) -> Option<&LocalTarget> {
        match &self.manifest.deploy_target {
            DeployTarget::Local(target) => Some(target),
            DeployTarget::Kubernetes(_) | DeployTarget::Compose(_) => None,
        }
    }

    pub(super) fn is_exclusive(&self) -> bool {
        self.local().is_some_and(|it| !it.allow_parallel)
    }

    pub(super) fn never_ran(&self) -> bool {
        self.running.is_none() && self.live.is_none() && self.last.is_none()
    }

    pub(super) fn starts_by_itself(&self) -> bool {
        matches!(self.mode, TriggerMode::Auto | TriggerMode::ManualWithAutoInit)
    }

    pub(super) fn follows_changes(&self) -> bool {
        matches!(self.mode, TriggerMode::Auto | TriggerMode::AutoWithManualInit)
    }

    /// Whether nothing of it may serve.
    pub(super) fn is_off(&self) -> bool {
        self.enable == EnableState::Disabled
            || self.local().is_none_or(|it| it.serve_cmd.is_empty())
    }

    /// Whether the latest server is the right one, even if it has exited.
    pub(super) fn is_served(&self) -> bool {
        self.served.as_ref().is_some_and(|served| {
            !served.was_stopped
                && Some(served.good) == self.last_good
                && self.local().is_some_and(|it| {
                    it.serve_cmd == served.target.serve_cmd
                        && it.readiness_probe == served.target.readiness_probe
                })
        })
    }

    /// Why it would update next.
    pub(super) fn reason(&self) -> Reason {
        let mut reason = self.triggered;
        for (is_so, flag) in [
            (!self.changed.is_empty(), Reason::FILES),
            (self.is_reconfigured, Reason::CONFIG),
            (self.never_ran() && self.starts_by_itself(), Reason::INITIAL),
        ] {
            reason = if is_so { reason.with(flag) } else { reason };
        }
        reason
    }

    /// Whether it would update if nothing held it.
    pub(super) fn wants(&self) -> bool {
        self.enable != EnableState::Disabled
            && ((self.never_ran() && self.starts_by_itself())
                || !self.triggered.is_empty()
                || (self.follows_changes() && (!self.changed.is_empty() || self.is_reconfigured)))
    }

    /// The table of §12.1, row by row.
    pub(super) fn update_status(&self) -> UpdateStatus {
        let is_serve_only = self.local().is_some_and(|it| it.update_cmd_spec.is_none());
        let status = if self.enable == EnableState::Disabled {
            UpdateStatus::None
        } else if self.running.is_some() || self.live.is_some() {
            UpdateStatus::InProgress
        } else if self.wants() {
            UpdateStatus::Pending
        } else {
            match self.last {
                Some(true) => UpdateStatus::Ok,
                Some(false) => UpdateStatus::Error,
                None => UpdateStatus::None,
            }
        };
        match status {
            UpdateStatus::InProgress if is_serve_only => UpdateStatus::Pending,
            UpdateStatus::Ok if is_serve_only => UpdateStatus::NotApplicable,
            _ => status,
        }
    }

    pub(super) fn files_change(&mut self, now: Time, files: &[FilePath], seen: Time) {
        if self.enable == EnableState::Disabled {
            return;
        }
        let later = self.running.as_ref().filter(|it| is_before(seen, it.started, now));
        let is_known = |file: &FilePath| later.is_some_and(|it| it.files.contains(file));
        let new: Vec<FilePath> = files.iter().filter(|it| !is_known(it)).cloned().collect();
        self.changed.extend(new);
    }
}

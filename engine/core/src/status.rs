//! How a resource does, in Tilt's words: update status, runtime status, conditions.

use engine_model::DeployTarget;

use crate::resource::Resource;

/// How the latest update did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateStatus {
    /// There was no reason to update.
    None,
    /// It will.
    Pending,
    /// It does.
    InProgress,
    /// It did, and well.
    Ok,
    /// It did, and failed.
    Error,
    /// There is nothing to update.
    NotApplicable,
}

/// How what was deployed or started does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuntimeStatus {
    /// Nothing is known.
    Unknown,
    /// It comes up.
    Pending,
    /// It is up.
    Ok,
    /// It is down.
    Error,
    /// There is nothing to run.
    NotApplicable,
    /// It was not asked to run.
    None,
}

impl UpdateStatus {
    /// Tilt's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Ok => "ok",
            Self::Error => "error",
            Self::NotApplicable => "not_applicable",
        }
    }
}

impl RuntimeStatus {
    /// Tilt's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Pending => "pending",
            Self::Ok => "ok",
            Self::Error => "error",
            Self::NotApplicable => "not_applicable",
            Self::None => "none",
        }
    }
}

/// A yes, or a no with its reason.
pub type Condition = Result<(), &'static str>;

impl Resource {
    /// How the latest update did.
    pub fn update_status(&self) -> UpdateStatus {
        if self.is_disabled() {
            return UpdateStatus::None;
        }
        if self.current.is_some() {
            return if self.is_serve_only() {
                UpdateStatus::Pending
            } else {
                UpdateStatus::InProgress
            };
        }
        let will_update = !self.triggered.is_empty()
            || (self.is_auto_on_change() && self.has_pending_changes())
            || (self.is_auto_init() && !self.has_started_once());
        if will_update {
            return UpdateStatus::Pending;
        }
        match self.history.front().and_then(|it| it.end.as_ref()) {
            None => UpdateStatus::None,
            Some(end) if end.error.is_some() => UpdateStatus::Error,
            Some(_) if self.is_serve_only() => UpdateStatus::NotApplicable,
            Some(_) => UpdateStatus::Ok,
        }
    }

    /// How its server, pods or container do.
    pub fn runtime_status(&self) -> RuntimeStatus {
        if self.is_disabled() {
            return RuntimeStatus::None;
        }
        if self.local.is_some() && !self.has_server() {
            return RuntimeStatus::NotApplicable;
        }
        let own = self.own_runtime_status();
        if !matches!(own, RuntimeStatus::Pending | RuntimeStatus::Unknown) {
            return own;
        }
        match self.update_status() {
            UpdateStatus::None => RuntimeStatus::None,
            UpdateStatus::Pending | UpdateStatus::InProgress => RuntimeStatus::Pending,
            UpdateStatus::Ok | UpdateStatus::Error | UpdateStatus::NotApplicable => own,
        }
    }

    fn own_runtime_status(&self) -> RuntimeStatus {
        match &self.manifest.deploy_target {
            DeployTarget::Kubernetes(_) => self.observed.unwrap_or(RuntimeStatus::Pending),
            DeployTarget::Compose(_) => self.observed.unwrap_or(RuntimeStatus::Unknown),
            DeployTarget::Local(_) => self.server_status(),
        }
    }

    fn server_status(&self) -> RuntimeStatus {
        let Some(server) = &self.server else { return RuntimeStatus::Unknown };
        if server.is_ready() {
            RuntimeStatus::Ok
        } else if server.is_alive() || server.is_stopping {
            RuntimeStatus::Pending
        } else {
            RuntimeStatus::Error
        }
    }
}

/// Whether everything that changed is applied.
pub fn up_to_date(update: UpdateStatus, is_disabled: bool) -> Condition {
    match update {
        UpdateStatus::Ok | UpdateStatus::NotApplicable => Ok(()),
        _ if is_disabled => Err("Disabled"),
        UpdateStatus::Error => Err("UpdateError"),
        UpdateStatus::Pending => Err("UpdatePending"),
        UpdateStatus::None | UpdateStatus::InProgress => Err("Unknown"),
    }
}

/// Whether it can be used.
pub fn ready(update: UpdateStatus, runtime: RuntimeStatus, is_disabled: bool) -> Condition {
    match (runtime, update) {
        (RuntimeStatus::Ok, _) | (RuntimeStatus::NotApplicable, UpdateStatus::Ok) => Ok(()),
        _ if is_disabled => Err("Disabled"),
        (RuntimeStatus::Error, _) => Err("RuntimeError"),
        (_, UpdateStatus::Error) => Err("UpdateError"),
        (RuntimeStatus::Pending, UpdateStatus::Ok) => Err("RuntimePending"),
        (_, UpdateStatus::Pending) => Err("UpdatePending"),
        _ => Err("Unknown"),
    }
}

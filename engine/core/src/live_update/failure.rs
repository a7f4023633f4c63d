//! Why a live update gives way to a full build, in Tilt's words.

use std::fmt;

use engine_model::FilePath;

use crate::time::Time;

use super::container::Container;

/// The kind of a failure, as clients read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureReason {
    /// The live update itself makes no sense.
    Invalid,
    /// Something that it refers to is not there (yet).
    ObjectNotFound,
    /// Its rules say that these files need a full build.
    UpdateStopped,
    /// The container crashes all the time.
    CrashLoopBackOff,
    /// There are only containers that have ended.
    Terminated,
    /// Files could not be brought into the container.
    UpdateFailed,
    /// The files for a new container could not be listed.
    InitialSyncError,
}

impl FailureReason {
    /// Its name in API objects and in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "Invalid",
            Self::ObjectNotFound => "ObjectNotFound",
            Self::UpdateStopped => "UpdateStopped",
            Self::CrashLoopBackOff => "CrashLoopBackOff",
            Self::Terminated => "Terminated",
            Self::UpdateFailed => "UpdateFailed",
            Self::InitialSyncError => "InitialSyncError",
        }
    }
}

/// Why a live update cannot be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The kind.
    pub reason: FailureReason,
    /// The words.
    pub message: String,
}

impl Failure {
    /// The line for the log of the resource; missing objects are normal before the first deployment. The live update
    /// reads `shown` in it.
    pub fn log_line(&self, shown: &str) -> Option<String> {
        let reason = self.reason.as_str();
        let is_logged = self.reason != FailureReason::ObjectNotFound;
        is_logged.then(|| format!("LiveUpdate {shown} {reason}: {}", self.message))
    }

    pub(super) fn crashing(container: &Container) -> Self {
        let pod = &container.pod;
        let message = format!("Cannot live update because container crashing. Pod: {pod}");
        Self { reason: FailureReason::CrashLoopBackOff, message }
    }

    pub(super) fn terminated(pod: &str) -> Self {
        let message = format!("Container for live update is stopped. Pod name: {pod}");
        Self { reason: FailureReason::Terminated, message }
    }

    pub(super) fn update(container: &Container, error: &str) -> Self {
        let message = if container.pod.is_empty() {
            format!("Updating container {}: {error}", container.display_name())
        } else {
            format!("Updating pod {}: {error}", container.pod)
        };
        Self { reason: FailureReason::UpdateFailed, message }
    }

    pub(super) fn listing(error: &ListError) -> Self {
        let message = format!("Failed to collect files for initial sync: {error}");
        Self { reason: FailureReason::InitialSyncError, message }
    }
}

/// Why the files of a live update could not be listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListError {
    /// What is below a path cannot be read.
    Unreadable {
        /// The path.
        root: FilePath,
        /// What the system says.
        cause: String,
    },
    /// The work has no result, for this reason.
    Lost(String),
}

impl std::error::Error for ListError {}

impl fmt::Display for ListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { cause, .. } | Self::Lost(cause) => f.write_str(cause),
        }
    }
}

/// A failure, and since when it is of this kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// What is wrong.
    pub failure: Failure,
    /// When it began.
    pub since: Time,
}

/// How a command in a container ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// With this code; the one of a signal is 128 and its number.
    Exited(i32),
    /// There is no such program in the container, or it cannot be executed.
    NotStarted,
}

/// What went wrong with a command, in words, and whose fault it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// The command's: the files are there, and the next change is copied again.
    Command(String),
    /// The container's: only a full build helps.
    Container(String),
}

impl RunError {
    /// What the end of a command means; nothing if it went well. The command reads `shown` in messages.
    pub fn of(container: &Container, argv: &[String], shown: &str, end: RunEnd) -> Option<Self> {
        let (code, reason) = match end {
            RunEnd::Exited(0) => return None,
            RunEnd::Exited(137) => (137, " (killed by container runtime)"),
            RunEnd::Exited(code @ (126 | 127)) => (code, " (not found in PATH or not executable)"),
            RunEnd::Exited(code) => (code, ""),
            RunEnd::NotStarted => (127, " (not found in PATH or not executable)"),
        };
        let hint = match (end, argv) {
            (RunEnd::NotStarted, [shell, ..]) if shell == "sh" => {
                "\nThe container has no shell. \
                 Write the command as a list of arguments, run(['program', 'argument']), \
                 or use an image with a shell."
            }
            _ => "",
        };
        let id = container.short_id();
        let text = format!(
            "executing on container {id}: command {shown} failed with exit code: {code}{reason}{hint}"
        );
        Some(if code == 137 { Self::Container(text) } else { Self::Command(text) })
    }
}

/// What to tell when the container does not let files be written.
pub fn permission_denied(error: &str) -> String {
    format!(
        "{error}\nThis usually means the container filesystem denied access. Please check:\n  \
         1) That the container image has writable files\n  \
         2) That the container image default user has write access to the files\n  \
         3) That the Pod spec doesn't have a SecurityContext that would block writes"
    )
}

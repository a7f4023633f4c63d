//! What is known of one Tiltfile: its runs, and why it would run again.

use std::{collections::BTreeSet, fmt};

use engine_model::{FilePath, Report};

use crate::{reason::Reason, resource::ResourceName, status::UpdateStatus, time::Time};

/// The name of the main Tiltfile.
pub const MAIN: &str = "(Tiltfile)";

/// Which run of a Tiltfile; later ones have higher numbers, over all Tiltfiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LoadId(pub u64);

/// A run of a Tiltfile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Which one.
    pub id: LoadId,
    /// Why.
    pub reason: Reason,
    /// When it started.
    pub started: Time,
    /// Files that changed; the first [`LISTED`](crate::resource::LISTED) when it has ended.
    pub files: Vec<FilePath>,
    /// How many more there were.
    pub n_unlisted: usize,
    /// Its arguments.
    pub args: Vec<String>,
    /// When it ended.
    pub ended: Option<Time>,
    /// What went wrong, if anything.
    pub error: Option<String>,
    /// More about that, if the Tiltfile is wrong.
    pub report: Option<Box<Report>>,
}

/// Why a run of a Tiltfile failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// It was canceled.
    Canceled,
    /// The Tiltfile is wrong.
    Tiltfile(Box<Report>),
    /// The main Tiltfile declares no resource.
    NoResources,
}

impl std::error::Error for LoadError {}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Canceled => "build canceled",
            Self::Tiltfile(report) => &report.text,
            Self::NoResources => {
                "No resources found. Check out https://docs.tilt.dev/tutorial.html to get started!"
            }
        })
    }
}

/// One Tiltfile.
#[derive(Clone, Debug)]
pub struct Tiltfile {
    /// Its name.
    pub name: ResourceName,
    /// Its arguments.
    pub args: Vec<String>,
    /// The run that is going on.
    pub current: Option<Run>,
    /// The last run that has ended.
    pub last: Option<Run>,
    /// Files that changed since the last run began.
    pub pending: BTreeSet<FilePath>,
    /// Since when.
    pub pending_since: Option<Time>,
    /// Why it is in the trigger queue, if it is.
    pub triggered: Reason,
}

impl Tiltfile {
    pub(crate) fn new(name: ResourceName, args: Vec<String>) -> Self {
        Self {
            name,
            args,
            current: None,
            last: None,
            pending: BTreeSet::new(),
            pending_since: None,
            triggered: Reason::default(),
        }
    }

    /// Why it would run now; empty if it would not.
    pub fn next_reason(&self) -> Reason {
        let Some(last) = self.last.as_ref().or(self.current.as_ref()) else {
            return self.triggered.with(Reason::INITIAL);
        };
        let mut reason = self.triggered;
        if !self.pending.is_empty() {
            reason = reason.with(Reason::FILES);
        }
        if self.current.as_ref().unwrap_or(last).args != self.args {
            reason = reason.with(Reason::ARGS);
        }
        reason
    }

    /// Whether updates wait for it: its files have changed and it has not run to an end since.
    pub fn holds_updates(&self) -> bool {
        !self.pending.is_empty() || self.current.as_ref().is_some_and(|it| !it.files.is_empty())
    }

    /// How its latest run did.
    pub fn update_status(&self) -> UpdateStatus {
        if self.current.is_some() {
            return UpdateStatus::InProgress;
        }
        match &self.last {
            _ if !self.next_reason().is_empty() => UpdateStatus::Pending,
            Some(run) if run.error.is_some() => UpdateStatus::Error,
            Some(_) => UpdateStatus::Ok,
            None => UpdateStatus::Pending,
        }
    }
}

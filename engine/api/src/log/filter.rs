//! Decides which log lines a reader gets.

use super::segment::{Level, Segment};

/// What lines are about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// Everything.
    #[default]
    All,
    /// Building.
    Build,
    /// Everything but building.
    Runtime,
}

impl Source {
    /// The source that a flag names; an unknown one restricts nothing.
    pub fn from_flag(flag: &str) -> Self {
        match flag {
            "build" => Self::Build,
            "runtime" => Self::Runtime,
            _ => Self::All,
        }
    }

    /// The value of a flag that means this.
    pub fn as_flag(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Build => "build",
            Self::Runtime => "runtime",
        }
    }
}

/// Selects lines. Lines that mark a build are selected by their resource and time alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only lines of these resources; of all, if there are none.
    pub resources: Vec<String>,
    /// Only lines of exactly this level.
    pub level: Option<Level>,
    /// Only lines from there.
    pub source: Source,
    /// Only lines at or after this time, in microseconds since 1970.
    pub since: u64,
}

impl Filter {
    /// The filter that the flags of a command ask for.
    pub fn new(resources: &[String], level: &str, source: &str) -> Self {
        Self {
            resources: resources.to_vec(),
            level: Self::level_from_flag(level),
            source: Source::from_flag(source),
            since: 0,
        }
    }

    /// The level that a flag asks for; only warnings and errors can be asked for.
    pub fn level_from_flag(flag: &str) -> Option<Level> {
        match flag {
            "warn" | "WARN" | "warning" | "WARNING" => Some(Level::Warn),
            "error" | "ERROR" => Some(Level::Error),
            _ => None,
        }
    }

    /// Whether lines need not say which resource they are from.
    pub fn is_one_resource(&self) -> bool {
        self.resources.len() == 1
    }

    /// Whether a resource is selected.
    pub fn has_resource(&self, resource: &str) -> bool {
        self.resources.is_empty() || self.resources.iter().any(|it| it == resource)
    }

    /// Whether a segment is selected.
    pub fn matches(&self, segment: &Segment) -> bool {
        if segment.micros < self.since || !self.has_resource(&segment.span.resource) {
            return false;
        }
        if segment.fields.build_event.is_some() {
            return true;
        }
        let source = match self.source {
            Source::All => true,
            Source::Build => segment.span.is_build(),
            Source::Runtime => !segment.span.is_build(),
        };
        source && self.level.is_none_or(|it| it == segment.level)
    }
}

//! The parts of a log: spans, which say where text comes from, and segments, which are pieces of lines.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

/// How severe a message is, least severe first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Level {
    /// Of interest to those who work on the engine.
    Debug,
    /// Details.
    Verbose,
    /// Everything that is not special.
    Info,
    /// Something is probably wrong.
    Warn,
    /// Something failed.
    Error,
}

impl Level {
    const ALL: [Self; 5] = [Self::Debug, Self::Verbose, Self::Info, Self::Warn, Self::Error];

    /// The name in Tilt's JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Debug => "DEBUG",
            Self::Verbose => "VERBOSE",
            Self::Info => "INFO",
            Self::Warn => "WARN",
            Self::Error => "ERROR",
        }
    }

    /// The name in the output of `logs --json`.
    pub fn lower_name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Verbose => "verbose",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }

    /// The level with this name; `Info` for unknown names.
    pub fn from_name(name: &str) -> Self {
        Self::ALL.into_iter().find(|it| it.name() == name).unwrap_or(Self::Info)
    }

    /// The level that is stored as this byte.
    pub fn from_byte(byte: u8) -> Self {
        Self::ALL.get(usize::from(byte)).copied().unwrap_or(Self::Info)
    }
}

/// Where text comes from, such as one build or one server.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// Its name; empty for what belongs to no resource.
    pub id: Box<str>,
    /// The resource; empty for what belongs to none.
    pub resource: Arc<str>,
}

impl Span {
    /// Whether this is output of a build; all other output is that of running things.
    pub fn is_build(&self) -> bool {
        self.id.starts_with("build:") || self.id.starts_with("cmdimage:")
    }
}

/// What a line that marks a build says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildEvent {
    /// A build starts.
    Init,
    /// A build falls back to another way of building.
    Fallback,
}

impl BuildEvent {
    /// The value of the field `buildEvent`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::Fallback => "fallback",
        }
    }

    /// The event with a name; nothing for an empty one.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "" => None,
            "init" => Some(Self::Init),
            _ => Some(Self::Fallback),
        }
    }
}

/// Additional fields of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// What it says about a build.
    pub build_event: Option<BuildEvent>,
    /// The progress it reports: later messages with the same id replace it.
    pub progress_id: Option<Box<str>>,
    /// Whether this step of the progress must be seen.
    pub progress_must_print: bool,
}

impl Fields {
    /// Whether there is nothing more to say.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A line, or a piece of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its place among all segments of the log.
    pub index: u64,
    /// Where it comes from.
    pub span: Arc<Span>,
    /// When it was written, in microseconds since 1970.
    pub micros: u64,
    /// How severe it is.
    pub level: Level,
    /// Whether a warning or an error starts here.
    pub anchor: bool,
    /// What else is known.
    pub fields: Fields,
    /// The text; a newline is only at the end, and completes the line.
    pub text: Box<str>,
}

impl Segment {
    /// Whether it ends its line.
    pub fn is_complete(&self) -> bool {
        self.text.ends_with('\n')
    }

    /// When it was written.
    pub fn time(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_micros(self.micros)
    }

    /// Whether it may be printed on the same line as an unfinished one.
    pub fn continues(&self, other: &Self) -> bool {
        self.level == other.level
            && (Arc::ptr_eq(&self.span, &other.span) || self.span.id == other.span.id)
    }
}

/// Microseconds since 1970; the log holds no earlier time.
pub fn micros(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

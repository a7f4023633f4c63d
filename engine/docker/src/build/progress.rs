//! What happens during a build, step by step.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bollard_buildkit_proto::{
    google::protobuf,
    moby::buildkit::v1::{StatusResponse, Vertex},
};
use jiff::Timestamp;
use prost::Message as _;

/// Something that happened during a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildEvent {
    /// The context is being sent to the classic builder.
    Sending {
        /// How much of it was sent.
        bytes: u64,
        /// Whether that is all.
        is_over: bool,
    },
    /// The classic builder says something; the text has its own line ends.
    Output(String),
    /// The classic builder is getting a layer of an image.
    Layer {
        /// Which one.
        id: String,
        /// What happens to it.
        status: String,
        /// How many bytes are done.
        current: i64,
        /// Of how many, if that is known.
        total: i64,
    },
    /// A step of BuildKit was announced, or has changed.
    Step(Step),
    /// A step has written something.
    Log {
        /// The step's digest.
        step: String,
        /// Whether it was written to standard error.
        is_stderr: bool,
        /// The text, as it came.
        text: String,
    },
    /// A step moves bytes, for example of a base image.
    Progress {
        /// The step's digest.
        step: String,
        /// What is moved.
        id: String,
        /// How many bytes are done.
        current: i64,
        /// Of how many, if that is known.
        total: i64,
        /// When that was.
        at: Option<Timestamp>,
    },
    /// BuildKit's store is broken; the build starts over with the classic builder.
    Corruption,
}

/// One step of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What names it in other events.
    pub digest: String,
    /// Such as `[stage 2/3] RUN make`.
    pub name: String,
    /// Whether its result was there already.
    pub is_cached: bool,
    /// When it began.
    pub started: Option<Timestamp>,
    /// When it ended; a step may end more than once, and the last time counts.
    pub finished: Option<Timestamp>,
    /// Why it failed.
    pub error: Option<String>,
}

/// Decodes BuildKit's part of a message; `None` if it makes no sense.
pub(super) fn decode(encoded: &str) -> Option<Vec<BuildEvent>> {
    let bytes = STANDARD.decode(encoded).ok()?;
    let status = StatusResponse::decode(bytes.as_slice()).ok()?;
    let mut events: Vec<BuildEvent> =
        status.vertexes.into_iter().map(|it| BuildEvent::Step(step(it))).collect();
    events.extend(status.logs.into_iter().map(|log| BuildEvent::Log {
        step: log.vertex,
        is_stderr: log.stream == 2,
        text: String::from_utf8_lossy(&log.msg).into_owned(),
    }));
    events.extend(status.statuses.into_iter().map(|it| BuildEvent::Progress {
        step: it.vertex,
        id: it.id,
        current: it.current,
        total: it.total,
        at: time(it.timestamp),
    }));
    Some(events)
}

fn step(vertex: Vertex) -> Step {
    Step {
        digest: vertex.digest,
        name: vertex.name,
        is_cached: vertex.cached,
        started: time(vertex.started),
        finished: time(vertex.completed),
        error: Some(vertex.error).filter(|it| !it.is_empty()),
    }
}

fn time(time: Option<protobuf::Timestamp>) -> Option<Timestamp> {
    time.and_then(|it| Timestamp::new(it.seconds, it.nanos).ok())
}

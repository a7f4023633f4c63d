//! The messages that builds, pushes and events consist of: one JSON object in each line of the
//! answer.

use bytes::{Buf, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use crate::error::DockerError;

/// The longest message, in bytes.
const LINE_MAX: usize = 64 * 1024 * 1024;

/// One message of a build or push.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Message {
    /// Text for people.
    pub(crate) stream: String,
    /// What is going on with `id`.
    pub(crate) status: String,
    pub(crate) id: String,
    #[serde(rename = "progressDetail")]
    pub(crate) progress: Option<Progress>,
    error: String,
    #[serde(rename = "errorDetail")]
    error_detail: Option<ErrorDetail>,
    /// Results.
    pub(crate) aux: Option<Box<RawValue>>,
}

/// How far something is.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Progress {
    pub(crate) current: i64,
    pub(crate) total: i64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ErrorDetail {
    message: String,
}

impl Message {
    /// Why everything failed, if it did.
    pub(crate) fn failure(&self) -> Option<&str> {
        let detail = self.error_detail.as_ref().map(|it| it.message.as_str());
        detail.filter(|it| !it.is_empty()).or(Some(self.error.as_str())).filter(|it| !it.is_empty())
    }
}

/// Reads messages as they come in.
pub(crate) struct Messages {
    body: Incoming,
    host: String,
    buffer: BytesMut,
    /// How much of the buffer has no end of a line.
    searched: usize,
    is_ended: bool,
}

impl Messages {
    pub(crate) fn new(body: Incoming, host: &str) -> Self {
        let host = host.to_owned();
        Self { body, host, buffer: BytesMut::new(), searched: 0, is_ended: false }
    }

    /// The next message; `None` at the end.
    pub(crate) async fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, DockerError> {
        loop {
            while let Some(line) = self.line() {
                if !line.trim_ascii().is_empty() {
                    return parse(&line).map(Some);
                }
            }
            if self.is_ended {
                return Ok(None);
            }
            self.fill().await?;
        }
    }

    fn line(&mut self) -> Option<BytesMut> {
        let end = self.buffer[self.searched..].iter().position(|&it| it == b'\n');
        match end {
            Some(end) => {
                let line = self.buffer.split_to(self.searched + end);
                self.buffer.advance(1);
                self.searched = 0;
                Some(line)
            }
            None if self.is_ended && !self.buffer.is_empty() => {
                self.searched = 0;
                Some(self.buffer.split())
            }
            None => {
                self.searched = self.buffer.len();
                None
            }
        }
    }

    async fn fill(&mut self) -> Result<(), DockerError> {
        match self.body.frame().await {
            None => self.is_ended = true,
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    self.buffer.extend_from_slice(&data);
                }
                if self.buffer.len() > LINE_MAX {
                    return Err(DockerError::Protocol("a message has no end".into()));
                }
            }
            Some(Err(error)) => {
                let error = crate::error::TransportError::new(false, &error);
                return Err(error.at(&self.host));
            }
        }
        Ok(())
    }
}

fn parse<T: DeserializeOwned>(line: &[u8]) -> Result<T, DockerError> {
    serde_json::from_slice(line).map_err(|error| DockerError::Protocol(error.to_string()))
}

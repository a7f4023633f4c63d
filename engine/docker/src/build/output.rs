//! Reads the answer of a builder: tells what happens, and finds the image at the end.

use std::{collections::HashMap, sync::LazyLock};

use regex::Regex;
use serde::Deserialize;

use super::{BuildError, BuildEvent, Events, progress};
use crate::{
    client::Docker,
    error::DockerError,
    messages::{Message, Messages},
};

/// How messages of BuildKit are marked.
const TRACE: &str = "moby.buildkit.trace";

static SUCCESS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^Successfully built ([0-9a-f]+)\s*$").expect("the pattern is well formed")
});

/// Reads everything; gives the digest of the image.
pub(super) async fn read(
    docker: &Docker,
    mut messages: Messages,
    events: Events<'_>,
) -> Result<String, DockerError> {
    let mut output = Output::default();
    while let Some(message) = messages.next::<Message>().await? {
        output.take(&message, events)?;
    }
    if let Some(id) = output.id {
        return Ok(id);
    }
    // Old engines tell only the beginning of the digest.
    if let Some(short) = output.short_id
        && let Some(image) = docker.image(&short).await?
    {
        return Ok(image.id);
    }
    let words = "Docker is not responding. Maybe Docker is out of disk space? \
                 Try running `docker system prune`";
    Err(BuildError::new(words, None).into())
}

#[derive(Default)]
struct Output {
    id: Option<String>,
    short_id: Option<String>,
    /// Names of steps, to tell which one failed.
    steps: HashMap<String, String>,
    failed: Option<String>,
}

impl Output {
    fn take(&mut self, message: &Message, events: Events<'_>) -> Result<(), DockerError> {
        if let Some(words) = message.failure() {
            return Err(BuildError::new(words, self.failed.take()).into());
        }
        if !message.stream.is_empty() {
            if let Some(found) = SUCCESS.captures(&message.stream) {
                self.short_id = Some(found[1].to_owned());
            }
            events(BuildEvent::Output(message.stream.clone()));
        }
        match (&message.aux, message.id.as_str()) {
            (Some(aux), TRACE) => self.take_trace(aux.get(), events),
            (Some(aux), _) => self.take_result(aux.get()),
            (None, id) if !id.is_empty() => {
                let progress = message.progress.unwrap_or_default();
                events(BuildEvent::Layer {
                    id: id.to_owned(),
                    status: message.status.clone(),
                    current: progress.current,
                    total: progress.total,
                });
            }
            (None, _) => {}
        }
        Ok(())
    }

    /// What is not understood is left out, as newer engines may say more.
    fn take_trace(&mut self, aux: &str, events: Events<'_>) {
        let Ok(encoded) = serde_json::from_str::<String>(aux) else { return };
        for event in progress::decode(&encoded).unwrap_or_default() {
            if let BuildEvent::Step(step) = &event {
                self.steps.insert(step.digest.clone(), step.name.clone());
                if step.error.is_some() {
                    self.failed = self.steps.get(&step.digest).cloned();
                }
            }
            events(event);
        }
    }

    fn take_result(&mut self, aux: &str) {
        #[derive(Deserialize)]
        struct Result {
            #[serde(rename = "ID")]
            id: String,
        }
        if let Ok(result) = serde_json::from_str::<Result>(aux) {
            self.id = Some(result.id);
        }
    }
}

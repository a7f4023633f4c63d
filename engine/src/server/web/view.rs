//! What pages show, as one document: the session, resources, buttons, clusters and logs.

use std::{sync::Arc, time::SystemTime};

use axum::{extract::State as Shared, response::Response};
use engine_api::{Kind, Object};
use serde::Deserialize;

use super::{State, json};
use crate::logs::micro_time;

/// The lists of a view, with their keys.
pub(super) const LISTS: [(&str, KindSlot); 3] = [
    ("uiResources", KindSlot::Resources),
    ("uiButtons", KindSlot::Buttons),
    ("clusters", KindSlot::Clusters),
];

/// A kind that a view lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KindSlot {
    Resources,
    Buttons,
    Clusters,
}

impl KindSlot {
    /// The kind itself.
    pub(super) fn kind(self) -> Kind {
        match self {
            Self::Resources => Kind::UiResource,
            Self::Buttons => Kind::UiButton,
            Self::Clusters => Kind::Cluster,
        }
    }
}

/// A document that is written piece by piece.
pub(super) struct Document {
    out: Vec<u8>,
}

impl Document {
    pub(super) fn new() -> Self {
        Self { out: b"{".to_vec() }
    }

    /// Adds a key, and what follows as its value.
    pub(super) fn key(&mut self, key: &str) -> &mut Vec<u8> {
        if self.out.len() > 1 {
            self.out.push(b',');
        }
        self.out.extend_from_slice(format!("\"{key}\":").as_bytes());
        &mut self.out
    }

    /// Adds a list, unless it is empty.
    pub(super) fn list(&mut self, key: &str, items: impl IntoIterator<Item = impl AsRef<str>>) {
        let mut items = items.into_iter().peekable();
        if items.peek().is_none() {
            return;
        }
        let out = self.key(key);
        for (index, item) in items.enumerate() {
            out.push(if index == 0 { b'[' } else { b',' });
            out.extend_from_slice(item.as_ref().as_bytes());
        }
        out.push(b']');
    }

    /// Adds the lines of the log from a checkpoint on, and tells where the next begin.
    pub(super) fn logs(&mut self, state: &State, from: u64) -> Option<u64> {
        let mut list = Vec::new();
        let next = state.logs.write_list(from, &mut list)?;
        self.key("logList").extend_from_slice(&list);
        Some(next)
    }

    /// Ends the document.
    pub(super) fn finish(mut self, state: &State) -> Vec<u8> {
        let start = format!("\"{}\"", state.start_time);
        self.key("tiltStartTime").extend_from_slice(start.as_bytes());
        self.out.push(b'}');
        self.out
    }
}

#[derive(Deserialize)]
struct WithOrder {
    #[serde(default)]
    status: Status,
}

#[derive(Default, Deserialize)]
struct Status {
    #[serde(default)]
    order: i64,
}

/// Resources in the order of their definition; those that have none yet come last.
pub(super) fn in_order(objects: &mut [Arc<Object>]) {
    objects.sort_by_cached_key(|object| {
        let order =
            serde_json::from_str::<WithOrder>(object.json()).map_or(0, |it| it.status.order);
        let is_main = object.name() == "(Tiltfile)";
        (!is_main, if order > 0 { order } else { i64::MAX }, object.name().to_owned())
    });
}

/// Everything there is, in a document that is not ended yet, and where the next log lines begin.
pub(super) fn complete(state: &State) -> (Document, u64) {
    let mut document = Document::new();
    if let Some(session) = state.store.list(Kind::UiSession).first() {
        document.key("uiSession").extend_from_slice(session.json().as_bytes());
    }
    for (key, slot) in LISTS {
        let mut objects = state.store.list(slot.kind());
        if slot == KindSlot::Resources {
            in_order(&mut objects);
        }
        document.list(key, objects.iter().map(|it| it.json()));
    }
    let next = document.logs(state, 0);
    if next.is_none() {
        document.key("logList").extend_from_slice(br#"{"fromCheckpoint":-1,"toCheckpoint":-1}"#);
    }
    document.key("isComplete").extend_from_slice(b"true");
    (document, next.unwrap_or(0))
}

/// The view of now.
pub(super) async fn whole(Shared(state): Shared<State>) -> Response {
    json(complete(&state).0.finish(&state))
}

/// The view of now, with its time, as a file that can be opened later.
pub(super) async fn snapshot(Shared(state): Shared<State>) -> Response {
    json(file(&state))
}

/// The view of now as a file that can be opened later, with the reasons beside it; Tilt's has none.
pub(super) fn file(state: &State) -> Vec<u8> {
    let mut body = br#"{"view":"#.to_vec();
    body.extend_from_slice(&complete(state).0.finish(state));
    if !engine_cli::is_tilt() {
        let reasons = serde_json::json!(state.handle.reasons().table().all());
        body.extend_from_slice(format!(r#","reasons":{reasons}"#).as_bytes());
    }
    let now = micro_time(SystemTime::now());
    body.extend_from_slice(format!(r#","createdAt":"{now}"}}"#).as_bytes());
    body
}

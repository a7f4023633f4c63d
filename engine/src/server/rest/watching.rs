//! Watches: all objects that are meant, then every change of them, until somebody ends it.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use axum::{body::Body, http::StatusCode, response::Response};
use bytes::Bytes;
use engine_api::{Change, Changes, Event, GROUP_VERSION, Kind, Object, Selector, Snapshot, Store};
use futures_util::stream;
use tokio::{sync::watch, time};

use super::{
    Query, Rest,
    answer::{self, Format, Rows},
};

/// The longest that a client can ask for.
const FOREVER: Duration = Duration::from_hours(365 * 24);

/// A watch under way.
struct Watch {
    store: Store,
    closing: watch::Receiver<bool>,
    kind: Kind,
    selector: Selector,
    format: Format,
    rows: Rows,
    changes: Changes,
    /// Older changes are known to the client.
    version: u64,
    /// What the client has, to find out what went while it did not read.
    known: BTreeMap<Box<str>, u64>,
    deadline: time::Instant,
    /// What is to be sent before anything else.
    first: Option<String>,
}

/// Begins a watch.
pub(super) fn answer(
    rest: &Rest,
    kind: Kind,
    selector: Selector,
    query: &Query,
    format: Format,
) -> Response {
    let seconds = query.text("timeoutSeconds").parse().ok().filter(|it| *it > 0);
    let timeout = seconds.map_or(FOREVER, Duration::from_secs).min(FOREVER);
    let mut watch = Watch {
        store: rest.store.clone(),
        closing: rest.closing.clone(),
        kind,
        selector,
        format,
        rows: Rows::of(query),
        // What changes after this is seen, what came before is in the snapshot; what is in both is told once.
        changes: rest.store.changes(),
        version: 0,
        known: BTreeMap::new(),
        deadline: time::Instant::now() + timeout,
        first: None,
    };
    let snapshot = rest.store.snapshot(kind);
    watch.begin(&snapshot, query);
    let body = stream::unfold(watch, |mut watch| async move {
        let text = watch.next().await?;
        Some((Ok::<_, std::convert::Infallible>(Bytes::from(text)), watch))
    });
    answer::with_type(StatusCode::OK, Body::from_stream(body), "application/json")
}

impl Watch {
    /// Replays what exists, unless the client has exactly that already.
    fn begin(&mut self, snapshot: &Snapshot, query: &Query) {
        let wanted = query.text("resourceVersion").parse::<u64>().ok();
        let initial = query.is_set("sendInitialEvents");
        let is_current = wanted.is_some_and(|it| it >= snapshot.last && it <= snapshot.version);
        self.version = snapshot.version;
        let mut text = String::new();
        for object in snapshot.objects.iter().filter(|it| self.selector.matches(it)) {
            self.known.insert(object.name().into(), object.resource_version());
            if !is_current || initial {
                self.push("ADDED", object, &mut text);
            }
        }
        if initial && query.is_set("allowWatchBookmarks") {
            text.push_str(&format!(
                "{{\"type\":\"BOOKMARK\",\"object\":{{\"kind\":\"{}\",\"apiVersion\":\"{GROUP_VERSION}\",\"metadata\":\
                 {{\"resourceVersion\":\"{}\",\"creationTimestamp\":null,\"annotations\":\
                 {{\"k8s.io/initial-events-end\":\"true\"}}}}}}}}\n",
                self.kind.name(), snapshot.version
            ));
        }
        // An empty piece would end the body of HTTP/1.1.
        self.first = Some(text).filter(|it| !it.is_empty());
    }

    /// The next lines; nothing when the watch is over.
    async fn next(&mut self) -> Option<String> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        loop {
            let changes = tokio::select! {
                _ = self.closing.wait_for(|closing| *closing) => return None,
                () = time::sleep_until(self.deadline) => return None,
                changes = self.changes.next() => changes,
            };
            let mut text = String::new();
            match changes {
                Ok(changes) => {
                    for change in &changes {
                        self.tell(change, &mut text);
                    }
                }
                Err(_) => self.catch_up(&mut text),
            }
            if !text.is_empty() {
                return Some(text);
            }
        }
    }

    fn tell(&mut self, change: &Change, out: &mut String) {
        if change.kind() != self.kind
            || change.version <= self.version
            || !self.selector.matches(&change.object)
        {
            return;
        }
        let name = change.name();
        let event = match change.event {
            Event::Deleted => {
                self.known.remove(name);
                "DELETED"
            }
            event => {
                self.known.insert(name.into(), change.object.resource_version());
                if event == Event::Added { "ADDED" } else { "MODIFIED" }
            }
        };
        self.push(event, &change.object, out);
    }

    /// Finds out what happened while changes were missed.
    fn catch_up(&mut self, out: &mut String) {
        let snapshot = self.store.snapshot(self.kind);
        self.version = snapshot.version;
        let mut gone = std::mem::take(&mut self.known);
        for object in snapshot.objects.iter().filter(|it| self.selector.matches(it)) {
            match gone.remove(object.name()) {
                Some(version) if version == object.resource_version() => {}
                Some(_) => self.push("MODIFIED", object, out),
                None => self.push("ADDED", object, out),
            }
            self.known.insert(object.name().into(), object.resource_version());
        }
        for name in gone.keys() {
            let name = serde_json::Value::from(&**name);
            out.push_str(&format!(
                "{{\"type\":\"DELETED\",\"object\":{{\"kind\":\"{}\",\"apiVersion\":\"{GROUP_VERSION}\",\"metadata\":\
                 {{\"name\":{name}}}}}}}\n",
                self.kind.name()
            ));
        }
    }

    fn push(&self, event: &str, object: &Arc<Object>, out: &mut String) {
        let object = self.format.event_object(object, self.rows);
        out.push_str(&format!("{{\"type\":\"{event}\",\"object\":{object}}}\n"));
    }
}

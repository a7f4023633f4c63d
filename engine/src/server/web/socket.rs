//! The stream of views: everything first, then what changed, not more than five times a second.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use axum::{
    extract::{
        FromRequestParts, Request, State as Shared,
        ws::{Message, WebSocket, WebSocketUpgrade},
    },
    http::StatusCode,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use engine_api::{Change, Changes, Event, Kind, Object};
use tokio::time;

use super::{
    State, refused,
    view::{self, Document, LISTS},
};
use crate::{
    runtime::UnseenReasons,
    server::{connections::Connection, rest::path},
};

/// The shortest time between two messages.
const PAUSE: Duration = Duration::from_millis(200);

/// The largest message that a client may send; all of them are ignored.
const MAX_MESSAGE: usize = 1 << 20;

/// Answers a request for the stream; the caller proves with a value that only holders of the token can have read.
pub(super) async fn upgrade(Shared(state): Shared<State>, request: Request) -> Response {
    if let Some(refusal) = state.access.refuse_host(&request) {
        return refusal;
    }
    let query = path::decode_query(request.uri().query().unwrap_or_default());
    let (mut parts, _) = request.into_parts();
    let upgrade = match WebSocketUpgrade::from_request_parts(&mut parts, &state).await {
        Ok(upgrade) => upgrade,
        Err(rejection) => return rejection.into_response(),
    };
    let csrf = query.get("csrf").map_or("", String::as_str);
    let connection = parts.extensions.get::<Arc<Connection>>().cloned();
    let Some(connection) = connection.filter(|_| state.access.is_csrf(csrf)) else {
        return refused(StatusCode::FORBIDDEN, "Forbidden");
    };
    connection.trust();
    // Clients of Tilt refuse what they do not know.
    let reasons = query.get("reasons").map(|_| state.handle.reasons().unseen());
    upgrade
        .max_message_size(MAX_MESSAGE)
        .max_frame_size(MAX_MESSAGE)
        .on_upgrade(move |socket| Stream::run(state, connection, reasons, socket))
}

/// What is to be sent next.
#[derive(Debug, Default)]
struct Pending {
    /// Everything, because changes were missed or nothing was sent yet.
    whole: bool,
    /// The newest version of each object, or nothing if it is gone.
    objects: BTreeMap<(Kind, String), Option<Arc<Object>>>,
    logs: bool,
    reasons: bool,
}

impl Pending {
    fn is_empty(&self) -> bool {
        !self.whole && !self.logs && !self.reasons && self.objects.is_empty()
    }

    fn add(&mut self, change: Change) {
        let kind = change.kind();
        if kind != Kind::UiSession && !LISTS.iter().any(|(_, slot)| slot.kind() == kind) {
            return;
        }
        let key = (kind, change.name().to_owned());
        let object = (change.event != Event::Deleted).then_some(change.object);
        self.objects.insert(key, object);
    }
}

struct Stream {
    state: State,
    changes: Changes,
    pending: Pending,
    /// For those who want to know why.
    reasons: Option<UnseenReasons>,
    /// When to ask whether the other side still reads.
    ping: time::Interval,
    is_ping_due: bool,
    /// Where the log lines begin that were not sent.
    checkpoint: u64,
}

impl Stream {
    async fn run(
        state: State,
        connection: Arc<Connection>,
        reasons: Option<UnseenReasons>,
        mut socket: WebSocket,
    ) {
        let changes = state.store.changes();
        let pending = Pending { whole: true, ..Pending::default() };
        // One answer may get lost or be late.
        let period = connection.limits.silence / 3;
        let mut ping = time::interval_at(time::Instant::now() + period, period);
        ping.set_missed_tick_behavior(time::MissedTickBehavior::Delay);
        let mut stream =
            Self { state, changes, pending, reasons, ping, is_ping_due: false, checkpoint: 0 };
        let mut closing = stream.state.closing.clone();
        tokio::select! {
            _ = closing.wait_for(|closing| *closing) => {}
            () = stream.serve(&mut socket) => {}
            // Nobody reads, so nobody would read that this is the end.
            () = connection.silent() => return,
        }
        // The other side may be gone already.
        let _ = time::timeout(PAUSE, socket.send(Message::Close(None))).await;
    }

    async fn serve(&mut self, socket: &mut WebSocket) {
        loop {
            if let Some(message) = self.message() {
                let text = String::from_utf8(message).unwrap_or_default();
                if socket.send(Message::Text(text.into())).await.is_err() {
                    return;
                }
                let pause = time::sleep(PAUSE);
                tokio::pin!(pause);
                while tokio::select! {
                    () = &mut pause => false,
                    open = self.wait(socket) => if open { true } else { return },
                } {}
            } else if !self.wait(socket).await {
                return;
            }
            if std::mem::take(&mut self.is_ping_due)
                && socket.send(Message::Ping(Bytes::new())).await.is_err()
            {
                return;
            }
        }
    }

    /// Waits until something happens; false if the other side is gone.
    async fn wait(&mut self, socket: &mut WebSocket) -> bool {
        let has_logs = self.pending.logs;
        tokio::select! {
            changes = self.changes.next() => match changes {
                Ok(changes) => changes.into_iter().for_each(|it| self.pending.add(it)),
                Err(_) => self.pending.whole = true,
            },
            () = self.state.logs.changed(self.checkpoint), if !has_logs => self.pending.logs = true,
            () = changed(self.reasons.as_mut()) => self.pending.reasons = true,
            _ = self.ping.tick() => self.is_ping_due = true,
            // Nothing that the client says means anything, but its end has to be noticed.
            received = socket.recv() => return matches!(received, Some(Ok(it)) if !matches!(it, Message::Close(_))),
        }
        true
    }

    /// The message that is due, if any.
    fn message(&mut self) -> Option<Vec<u8>> {
        if self.pending.is_empty() {
            return None;
        }
        let pending = std::mem::take(&mut self.pending);
        if pending.whole {
            let (mut document, checkpoint) = view::complete(&self.state);
            self.checkpoint = checkpoint;
            if let Some(reasons) = &mut self.reasons {
                reasons.forget();
                document.list("reasons", reasons.take());
            }
            return Some(document.finish(&self.state));
        }
        let mut document = Document::new();
        if let Some(reasons) = self.reasons.as_mut().filter(|_| pending.reasons) {
            document.list("reasons", reasons.take());
        }
        for ((kind, _), object) in &pending.objects {
            if let Some(object) = object.as_ref().filter(|_| *kind == Kind::UiSession) {
                document.key("uiSession").extend_from_slice(object.json().as_bytes());
            }
        }
        for (key, slot) in LISTS {
            let changed = pending.objects.iter().filter(|((kind, _), _)| *kind == slot.kind());
            document.list(
                key,
                changed.map(|((_, name), object)| match object {
                    Some(object) => object.json().to_owned(),
                    None => gone(name),
                }),
            );
        }
        if pending.logs {
            self.checkpoint =
                document.logs(&self.state, self.checkpoint).unwrap_or(self.checkpoint);
        }
        Some(document.finish(&self.state))
    }
}

/// Waits until reasons change, which for those who do not ask for any is never.
async fn changed(reasons: Option<&mut UnseenReasons>) {
    match reasons {
        Some(reasons) => reasons.changed().await,
        None => std::future::pending().await,
    }
}

/// What tells that an object is gone.
fn gone(name: &str) -> String {
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    serde_json::json!({"metadata": {"name": name, "deletionTimestamp": now}}).to_string()
}

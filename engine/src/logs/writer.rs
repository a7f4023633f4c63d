//! Writing to the log.

use std::{borrow::Cow, sync::Arc, time::SystemTime};

use engine_api::log::{BuildEvent, Fields, Level, Span};

use super::{LogStore, state::Message};

/// Writes what one span says; cheap to clone, and never waits for readers or disks.
#[derive(Clone, Debug)]
pub struct LogWriter {
    store: LogStore,
    span: Arc<Span>,
    fields: Fields,
}

impl LogWriter {
    pub(super) fn new(store: LogStore, span: Arc<Span>) -> Self {
        Self { store, span, fields: Fields::default() }
    }

    /// Messages below this level are not stored.
    pub fn level(&self) -> Level {
        self.store.level()
    }

    /// The log it writes to.
    pub fn store(&self) -> &LogStore {
        &self.store
    }

    /// Where its text comes from.
    pub fn span(&self) -> &Span {
        &self.span
    }

    /// A writer of the same span that says more about its messages.
    #[must_use]
    pub fn with_fields(&self, fields: Fields) -> Self {
        Self { store: self.store.clone(), span: Arc::clone(&self.span), fields }
    }

    /// Waits until there is room for more; see [`LogStore::room`].
    pub async fn room(&self) {
        self.store.room().await;
    }

    /// Stores what is held back of the span's text, as nothing more will come.
    pub fn flush(&self) {
        self.store.flush_span(&self.span);
    }

    /// Writes text as it is; it may be a part of a line, or many lines.
    pub fn write(&self, level: Level, text: &str) {
        self.write_at(SystemTime::now(), level, text);
    }

    /// Writes text that came up at another time.
    pub fn write_at(&self, time: SystemTime, level: Level, text: &str) {
        self.append(time, level, text, None);
    }

    /// Writes whole lines with a note for terminals: they show it below, and it is no part of the log.
    pub fn write_noted(&self, level: Level, text: &str, note: &str) {
        self.append(SystemTime::now(), level, text, Some(note));
    }

    fn append(&self, time: SystemTime, level: Level, text: &str, note: Option<&str>) {
        let message = Message { span: &self.span, time, level, fields: &self.fields, text };
        self.store.append(&message, note);
    }

    /// Writes a message that is of interest to those who work on the engine.
    pub fn debug(&self, message: &str) {
        self.line(Level::Debug, message);
    }

    /// Writes a detail.
    pub fn verbose(&self, message: &str) {
        self.line(Level::Verbose, message);
    }

    /// Writes an ordinary message.
    pub fn info(&self, message: &str) {
        self.line(Level::Info, message);
    }

    /// Writes a warning.
    pub fn warn(&self, message: &str) {
        self.line(Level::Warn, message);
    }

    /// Writes an error.
    pub fn error(&self, message: &str) {
        self.line(Level::Error, message);
    }

    /// Writes the line that a build begins with.
    pub fn build_event(&self, message: &str) {
        let fields = Fields { build_event: Some(BuildEvent::Init), ..Fields::default() };
        self.with_fields(fields).info(message);
    }

    fn line(&self, level: Level, message: &str) {
        let text = if message.ends_with('\n') {
            Cow::Borrowed(message)
        } else {
            Cow::Owned(format!("{message}\n"))
        };
        self.write(level, &text);
    }
}

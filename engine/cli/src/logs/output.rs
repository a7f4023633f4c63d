//! Prints the segments that `logs` receives.

use std::{
    collections::{HashMap, VecDeque},
    io::{self, Write},
    sync::Arc,
};

use engine_api::log::{
    BuildEvent, Fields, Formatter, JsonLines, Level, Line, Lines, Segment, Span, parse_micros,
    query::Query,
};
use serde::Deserialize;

use super::own_span::OwnSpan;
use crate::{Printer, log_style};

/// How many segments are looked at together: pieces of a line that are among them make up one line.
const BATCH: usize = 8192;

/// A segment as instances send it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct SentSegment {
    span_id: String,
    manifest_name: String,
    time: String,
    text: String,
    level: String,
    anchor: bool,
    fields: SentFields,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct SentFields {
    build_event: String,
    #[serde(rename = "progressID")]
    progress_id: String,
    progress_must_print: String,
}

impl SentSegment {
    /// The same, with the resource that its span belongs to; nothing if the span is unknown.
    pub(super) fn of_span(mut self, spans: &HashMap<String, SentSpan>) -> Option<Self> {
        self.manifest_name.clone_from(&spans.get(&self.span_id)?.manifest_name);
        Some(self)
    }
}

/// A span as instances send it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct SentSpan {
    manifest_name: String,
}

/// Formats segments and writes them.
pub(super) struct Output<W> {
    printer: Printer,
    out: W,
    lines: Lines,
    format: Format,
    /// The last lines, as long as what was logged so far is not complete.
    tail: Option<Tail<Line>>,
    spans: HashMap<String, Arc<Span>>,
    batch: Vec<Segment>,
    text: String,
    /// What is shown, if that is not everything.
    own: Option<OwnSpan>,
}

enum Format {
    Text(Formatter),
    Json(JsonLines),
}

impl<W: Write> Output<W> {
    pub(super) fn new(query: &Query, json: bool, out: W, printer: Printer) -> Self {
        let format = if json {
            Format::Json(JsonLines::default())
        } else {
            Format::Text(Formatter::new(!query.filter.is_one_resource(), log_style()))
        };
        let tail = |lines| Tail::new(usize::try_from(lines).unwrap_or(usize::MAX));
        Self {
            printer,
            out,
            lines: Lines::new(query.filter.clone()),
            format,
            tail: query.tail.map(tail),
            spans: HashMap::new(),
            batch: Vec::new(),
            text: String::new(),
            own: None,
        }
    }

    /// The same, for some updates only.
    pub(super) fn of(self, own: OwnSpan) -> Self {
        Self { own: Some(own), ..self }
    }

    /// Takes a segment; it is written soon, or when [`Self::flush`] is called.
    pub(super) fn add(&mut self, sent: SentSegment) -> io::Result<()> {
        if let Some(own) = &mut self.own
            && !own.admits(&sent.manifest_name, &sent.span_id)
        {
            return Ok(());
        }
        let span = self.spans.entry(sent.span_id).or_insert_with_key(|id| {
            Arc::new(Span { id: id.as_str().into(), resource: sent.manifest_name.into() })
        });
        self.batch.push(Segment {
            index: 0,
            span: Arc::clone(span),
            micros: parse_micros(&sent.time).unwrap_or_default(),
            level: Level::from_name(&sent.level),
            anchor: sent.anchor,
            fields: Fields {
                build_event: BuildEvent::from_name(&sent.fields.build_event),
                progress_id: Some(sent.fields.progress_id)
                    .filter(|it| !it.is_empty())
                    .map(Into::into),
                progress_must_print: sent.fields.progress_must_print == "1",
            },
            text: sent.text.into(),
        });
        if self.batch.len() >= BATCH { self.flush() } else { Ok(()) }
    }

    /// Says that older lines are not kept anymore.
    pub(super) fn missing(&self, lines: u64) {
        self.printer.err(&format!("[{lines} older lines were dropped]\n"));
    }

    /// Writes what was taken, but for lines that may not be among the last ones.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        let lines = self.lines.next(&self.batch);
        self.batch.clear();
        match &mut self.tail {
            Some(tail) => tail.extend(lines),
            None => self.format.write(lines, &mut self.text),
        }
        self.print()
    }

    /// What was logged so far is complete.
    pub(super) fn end_history(&mut self) -> io::Result<()> {
        self.flush()?;
        if let Some(tail) = self.tail.take() {
            self.format.write(tail.into_vec(), &mut self.text);
        }
        self.print()
    }

    /// Writes the rest, and ends a line that has no end.
    pub(super) fn finish(&mut self) {
        match &mut self.format {
            Format::Text(text) => text.finish(&mut self.text),
            Format::Json(json) => json.finish(&mut self.text),
        }
        // Who does not read anymore misses nothing.
        let _ = self.print();
    }

    fn print(&mut self) -> io::Result<()> {
        if self.text.is_empty() {
            return Ok(());
        }
        self.out.write_all(self.text.as_bytes())?;
        self.text.clear();
        self.out.flush()
    }
}

impl Format {
    fn write(&mut self, lines: Vec<Line>, out: &mut String) {
        match self {
            Self::Text(text) => text.write(&lines, out),
            Self::Json(json) => json.write(lines, out),
        }
    }
}

/// Keeps the last lines.
#[derive(Debug)]
struct Tail<T> {
    limit: usize,
    kept: VecDeque<T>,
}

impl<T> Tail<T> {
    /// Keeps at most so many.
    fn new(limit: usize) -> Self {
        Self { limit, kept: VecDeque::new() }
    }

    /// Adds some, and forgets the oldest.
    fn extend(&mut self, items: Vec<T>) {
        let skip = items.len().saturating_sub(self.limit);
        self.kept.extend(items.into_iter().skip(skip));
        let over = self.kept.len().saturating_sub(self.limit);
        self.kept.drain(..over);
    }

    /// Those that were kept.
    fn into_vec(self) -> Vec<T> {
        self.kept.into()
    }
}

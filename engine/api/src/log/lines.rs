//! Joins segments to lines.
//!
//! In one batch, segments of the same span and level form one line, at the position of the first. If the rest of a
//! line arrives later, the first part is printed without it.

use std::sync::Arc;

use super::{
    filter::Filter,
    segment::{BuildEvent, Fields, Level, Segment, Span},
};

/// A line, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Where it comes from.
    pub span: Arc<Span>,
    /// When it began, in microseconds since 1970.
    pub micros: u64,
    /// How severe it is.
    pub level: Level,
    /// Whether a warning or an error starts here.
    pub anchor: bool,
    /// What else is known.
    pub fields: Fields,
    /// The text, with its newline if there is one.
    pub text: String,
    /// Whether it goes on where the line before it ended.
    pub continues: bool,
    /// Whether it is the empty line in front of a build.
    pub spacer: bool,
}

impl Line {
    fn new(segment: &Segment) -> Self {
        Self {
            span: Arc::clone(&segment.span),
            micros: segment.micros,
            level: segment.level,
            anchor: segment.anchor,
            fields: segment.fields.clone(),
            text: segment.text.to_string(),
            continues: false,
            spacer: false,
        }
    }

    fn spacer(segment: &Segment) -> Self {
        let fields = Fields { build_event: segment.fields.build_event, ..Fields::default() };
        Self { text: "\n".to_owned(), anchor: false, spacer: true, fields, ..Self::new(segment) }
    }

    fn is_complete(&self) -> bool {
        self.text.ends_with('\n')
    }

    fn takes(&self, segment: &Segment) -> bool {
        self.level == segment.level && self.is_span(segment)
    }

    fn is_span(&self, segment: &Segment) -> bool {
        Arc::ptr_eq(&self.span, &segment.span) || self.span.id == segment.span.id
    }
}

/// Joins batches of segments to lines.
#[derive(Debug, Default)]
pub struct Lines {
    filter: Filter,
    /// The last line, if its end is not known yet.
    unfinished: Option<(Arc<Span>, Level)>,
}

impl Lines {
    /// Lines of the segments that a filter selects.
    pub fn new(filter: Filter) -> Self {
        Self { filter, unfinished: None }
    }

    /// The filter.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// The lines of the next batch.
    pub fn next(&mut self, batch: &[Segment]) -> Vec<Line> {
        let mut lines: Vec<Line> = Vec::with_capacity(batch.len());
        // The unfinished lines of the batch, at most one of each span.
        let mut open: Vec<usize> = Vec::new();
        for segment in batch.iter().filter(|it| self.filter.matches(it)) {
            let of_span = open.iter().position(|&it| lines[it].is_span(segment));
            if let Some(at) = of_span {
                let line = &mut lines[open[at]];
                if line.takes(segment) {
                    line.text.push_str(&segment.text);
                    if segment.is_complete() {
                        open.swap_remove(at);
                    }
                    continue;
                }
                open.swap_remove(at);
            }
            self.begin(segment, &mut lines);
            if !segment.is_complete() {
                open.push(lines.len() - 1);
            }
        }
        if let Some(last) = lines.last() {
            self.unfinished = (!last.is_complete()).then(|| (Arc::clone(&last.span), last.level));
        }
        lines
    }

    fn begin(&self, segment: &Segment, lines: &mut Vec<Line>) {
        let before = self.unfinished.as_ref().filter(|_| lines.is_empty());
        let continues = before
            .is_some_and(|(span, level)| *level == segment.level && span.id == segment.span.id);
        if segment.fields.build_event == Some(BuildEvent::Init) && !continues {
            lines.push(Line::spacer(segment));
        }
        lines.push(Line { continues, ..Line::new(segment) });
    }
}

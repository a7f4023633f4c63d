//! Formats log lines for a terminal and as JSON.

use std::collections::HashMap;

use serde::Serialize;

use super::{lines::Line, segment::Level, time::rfc3339_seconds};

/// The width of the column with the names of resources, in bytes.
const NAME_WIDTH: usize = 13;
/// The initial interval between two lines of the same progress.
const PROGRESS_WAIT_MICROS: u64 = 5_000_000;
/// The maximum number of tracked progresses; beyond it, tracking starts over.
const MAX_PROGRESSES: usize = 10_000;

/// Whether lines have colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Text only, as for files and pipes.
    Plain,
    /// Each resource in a color of its own, errors in red and warnings in yellow.
    Colored,
}

/// The colors of names; red is for errors.
const NAME_COLORS: [u8; 10] = [36, 35, 34, 32, 33, 96, 95, 94, 92, 93];

impl Style {
    fn paint(self, color: u8, text: &str, out: &mut String) {
        match self {
            Self::Plain => out.push_str(text),
            Self::Colored => out.extend(["\x1b[", &color.to_string(), "m", text, "\x1b[0m"]),
        }
    }
}

/// Formats lines for a terminal.
#[derive(Debug)]
pub struct Formatter {
    prefix: bool,
    style: Style,
    /// Whether what was written last has no newline.
    open: bool,
    progress: HashMap<(Box<str>, Box<str>), Progress>,
}

#[derive(Debug)]
struct Progress {
    shown: u64,
    wait: u64,
}

impl Formatter {
    /// A formatter with or without the name of the resource in front of each line.
    pub fn new(prefix: bool, style: Style) -> Self {
        Self { prefix, style, open: false, progress: HashMap::new() }
    }

    /// Adds lines to the output.
    pub fn write(&mut self, lines: &[Line], out: &mut String) {
        for line in lines {
            if self.should_show(line) {
                self.write_line(line, out);
            }
        }
    }

    /// Ends a line that has no end.
    pub fn finish(&mut self, out: &mut String) {
        if std::mem::take(&mut self.open) {
            out.push('\n');
        }
    }

    fn write_line(&mut self, line: &Line, out: &mut String) {
        let goes_on = line.continues && self.open;
        if !goes_on {
            self.finish(out);
            if self.prefix {
                push_prefix(&line.span.resource, self.style, out);
            }
            match line.level {
                Level::Warn if line.anchor => self.style.paint(33, "WARNING: ", out),
                Level::Error if line.anchor => self.style.paint(31, "ERROR: ", out),
                _ => {}
            }
        }
        out.push_str(&line.text);
        self.open = !line.text.ends_with('\n');
    }

    fn should_show(&mut self, line: &Line) -> bool {
        let Some(id) = &line.fields.progress_id else { return true };
        let key = (line.span.id.clone(), id.clone());
        if self.progress.len() >= MAX_PROGRESSES && !self.progress.contains_key(&key) {
            self.progress.clear();
        }
        let wait = match self.progress.get(&key) {
            None => PROGRESS_WAIT_MICROS,
            Some(Progress { shown, wait }) => {
                if !line.fields.progress_must_print && line.micros.saturating_sub(*shown) <= *wait {
                    return false;
                }
                wait.saturating_mul(2)
            }
        };
        self.progress.insert(key, Progress { shown: line.micros, wait });
        true
    }
}

fn push_prefix(resource: &str, style: Style, out: &mut String) {
    if resource.is_empty() || resource == "(Tiltfile)" {
        return;
    }
    let sum = resource.bytes().fold(0, |sum: usize, it| sum.wrapping_mul(31) + usize::from(it));
    let color = NAME_COLORS[sum % NAME_COLORS.len()];
    if resource.len() > NAME_WIDTH {
        let start = &resource[..resource.floor_char_boundary(NAME_WIDTH - 1)];
        style.paint(color, &format!("{start}…"), out);
    } else {
        out.extend(std::iter::repeat_n(' ', NAME_WIDTH - resource.len()));
        style.paint(color, resource, out);
    }
    out.push_str(" │ ");
}

/// Formats lines as JSON, one object for each.
#[derive(Debug, Default)]
pub struct JsonLines {
    /// A line whose rest may still come.
    unfinished: Option<Line>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Object<'l> {
    time: String,
    resource: &'l str,
    level: &'l str,
    message: &'l str,
    #[serde(rename = "spanID")]
    span_id: &'l str,
    #[serde(rename = "progressID")]
    progress_id: &'l str,
    build_event: &'l str,
    source: &'l str,
}

impl Object<'_> {
    fn write(&self, out: &mut String) {
        out.push_str(&serde_json::to_string(self).expect("strings are always JSON"));
        out.push('\n');
    }
}

impl JsonLines {
    /// Adds lines to the output.
    pub fn write(&mut self, lines: Vec<Line>, out: &mut String) {
        for line in lines {
            match &mut self.unfinished {
                Some(before) if line.continues => before.text.push_str(&line.text),
                _ => {
                    self.finish(out);
                    self.unfinished = Some(line);
                }
            }
            if self.unfinished.as_ref().is_some_and(|it| it.text.ends_with('\n')) {
                self.finish(out);
            }
        }
    }

    /// Writes the line that has no end.
    pub fn finish(&mut self, out: &mut String) {
        let Some(line) = self.unfinished.take() else { return };
        let object = Object {
            time: rfc3339_seconds(line.micros),
            resource: &line.span.resource,
            level: line.level.lower_name(),
            message: line.text.trim_end_matches('\n'),
            span_id: &line.span.id,
            progress_id: line.fields.progress_id.as_deref().unwrap_or_default(),
            build_event: line.fields.build_event.map_or("", |it| it.name()),
            source: if line.span.is_build() { "build" } else { "runtime" },
        };
        object.write(out);
    }
}

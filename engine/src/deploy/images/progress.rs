//! The progress of a build in lines: steps as they begin and end, and what they print.

use std::{collections::HashMap, time::Duration};

use engine_docker::{BuildEvent, Step};
use jiff::Timestamp;

use crate::logs::Fields;

/// What the builder calls the reading of files, and how people see that.
const LOADER: &str = "[internal] load build context";
const LOADER_NAME: &str = "[background] read source files";
const INTERNAL: &str = "[internal]";

/// Steps that took less say nothing when they end.
const SHORT: Duration = Duration::from_millis(10);

/// Moved bytes are told at most this often.
const INTERVAL: Duration = Duration::from_secs(2);

/// A line, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProgressLine {
    /// Its text.
    pub(super) text: String,
    /// Whether it replaces the line before with the same name.
    pub(super) fields: Fields,
}

/// All that is known of the steps so far.
#[derive(Debug, Default)]
pub(super) struct BuildProgress {
    steps: HashMap<String, Known>,
    layers: HashMap<String, (String, Option<Timestamp>)>,
}

#[derive(Debug)]
struct Known {
    step: Step,
    is_begun: bool,
    has_failed: bool,
    /// The longest time that was told; steps may end several times.
    told: Option<Duration>,
    moved: HashMap<String, (i64, i64)>,
    told_moved: (i64, i64),
    told_at: Option<Timestamp>,
    /// Logs of a hidden step, in case it fails.
    held_back: Vec<String>,
}

impl BuildProgress {
    /// What to print about an event.
    pub(super) fn lines(&mut self, event: &BuildEvent) -> Vec<ProgressLine> {
        match event {
            BuildEvent::Step(step) => self.step(step),
            BuildEvent::Log { step, text, .. } => self.log(step, text),
            BuildEvent::Progress { step, id, current, total, at } => {
                self.moved(step, id, (*current, *total), *at)
            }
            BuildEvent::Output(text) => {
                let text = text.trim_end_matches('\n');
                if text.is_empty() { Vec::new() } else { vec![plain(text.to_owned())] }
            }
            BuildEvent::Sending { bytes, is_over } => {
                let done = if *is_over { " [done]" } else { "" };
                let text = format!("Sending Docker build context: {}{done}", size(*bytes));
                vec![named(text, "build-context", *is_over)]
            }
            BuildEvent::Layer { id, status, current, total } => {
                self.layer(id, status, *current, *total)
            }
            BuildEvent::Corruption => {
                vec![plain("Detected Buildkit corruption. Rebuilding without Buildkit".to_owned())]
            }
        }
    }

    fn step(&mut self, step: &Step) -> Vec<ProgressLine> {
        let known =
            self.steps.entry(step.digest.clone()).or_insert_with(|| Known::new(step.clone()));
        let error = step.error.clone().or_else(|| known.step.error.take());
        known.step = Step { error, ..step.clone() };
        let mut lines = Vec::new();
        let stage = stage_name(&known.step.name);
        let is_hidden = is_hidden(&known.step.name);
        if known.step.started.is_some() && !known.is_begun && !is_hidden {
            known.is_begun = true;
            let cached = if known.step.is_cached { " [cached]" } else { "" };
            lines.push(named(format!("{}{cached}", shown_name(&known.step.name)), stage, false));
        }
        if known.step.error.is_some() && !known.has_failed {
            known.has_failed = true;
            lines.push(plain(format!("\nERROR IN: {}", shown_name(&known.step.name))));
            lines.extend(known.held_back.drain(..).map(|it| log_line(&it)));
        }
        if !is_hidden && !known.step.is_cached && known.step.error.is_none() {
            lines.extend(known.end());
        }
        lines
    }

    fn log(&mut self, step: &str, text: &str) -> Vec<ProgressLine> {
        let Some(known) = self.steps.get_mut(step) else { return Vec::new() };
        if is_hidden(&known.step.name) && known.step.error.is_none() {
            known.held_back.push(text.to_owned());
            return Vec::new();
        }
        vec![log_line(text)]
    }

    fn moved(
        &mut self,
        step: &str,
        id: &str,
        bytes: (i64, i64),
        at: Option<Timestamp>,
    ) -> Vec<ProgressLine> {
        let Some(known) = self.steps.get_mut(step) else { return Vec::new() };
        known.moved.insert(id.to_owned(), bytes);
        let silent =
            is_hidden(&known.step.name) || known.step.is_cached || known.step.error.is_some();
        if silent || !known.has_moved_enough(at) {
            return Vec::new();
        }
        known.told_moved = known.all_moved();
        known.told_at = at;
        let text = format!("{}{}", shown_name(&known.step.name), moved_text(known.told_moved));
        vec![named(text, stage_name(&known.step.name), false)]
    }

    fn layer(&mut self, id: &str, status: &str, current: i64, total: i64) -> Vec<ProgressLine> {
        let now = Timestamp::now();
        let (known, told) = self.layers.entry(id.to_owned()).or_default();
        let is_due = told.is_none_or(|it| now.duration_since(it).unsigned_abs() >= INTERVAL);
        if known == status && !is_due {
            return Vec::new();
        }
        status.clone_into(known);
        *told = Some(now);
        let text = format!("{id}: {status}{}", moved_text((current, total)));
        vec![named(text, id, false)]
    }
}

impl Known {
    fn new(step: Step) -> Self {
        Self {
            step,
            is_begun: false,
            has_failed: false,
            told: None,
            moved: HashMap::new(),
            told_moved: (0, 0),
            told_at: None,
            held_back: Vec::new(),
        }
    }

    fn end(&mut self) -> Option<ProgressLine> {
        let took = self.step.finished?.duration_since(self.step.started?).unsigned_abs();
        if took <= SHORT || self.told.is_some_and(|it| it >= took) {
            return None;
        }
        self.told = Some(took);
        self.told_moved = self.all_moved();
        let moved = moved_text(self.told_moved);
        let text = format!("{}{moved} [done: {}]", shown_name(&self.step.name), duration(took));
        Some(named(text, stage_name(&self.step.name), true))
    }

    fn all_moved(&self) -> (i64, i64) {
        self.moved.values().fold((0, 0), |all, it| (all.0 + it.0, all.1 + it.1))
    }

    /// A new total is told at once, else a hundredth of the total, or a twentieth where there is none.
    fn has_moved_enough(&self, at: Option<Timestamp>) -> bool {
        let (current, total) = self.all_moved();
        if total != self.told_moved.1 {
            return true;
        }
        let is_due = match (self.told_at, at) {
            (Some(told), Some(at)) => at.duration_since(told).unsigned_abs() > INTERVAL,
            _ => true,
        };
        let diff = current - self.told_moved.0;
        is_due && if total > 0 { diff * 100 >= total } else { current > 0 && diff * 20 >= current }
    }
}

fn is_hidden(name: &str) -> bool {
    name.starts_with(INTERNAL) && name != LOADER
}

fn shown_name(name: &str) -> &str {
    if name == LOADER { LOADER_NAME } else { name }
}

/// The part in brackets, by which lines about the same step are known.
fn stage_name(name: &str) -> &str {
    match (name.starts_with('['), name.rfind(']')) {
        (true, Some(end)) => &name[..=end],
        _ => shown_name(name),
    }
}

fn plain(text: String) -> ProgressLine {
    ProgressLine { text, fields: Fields::default() }
}

fn log_line(text: &str) -> ProgressLine {
    let lines: Vec<String> =
        text.trim_end_matches('\n').split('\n').map(|it| format!("  → {it}")).collect();
    plain(lines.join("\n"))
}

fn named(text: String, id: &str, must_print: bool) -> ProgressLine {
    let fields = Fields {
        progress_id: Some(id.into()),
        progress_must_print: must_print,
        ..Fields::default()
    };
    ProgressLine { text, fields }
}

fn moved_text((current, total): (i64, i64)) -> String {
    let size = |it: i64| size(u64::try_from(it).unwrap_or_default());
    match (current, total) {
        (0, 0) => String::new(),
        (current, 0) => format!(" {}", size(current)),
        (current, total) => format!(" {} / {}", size(current), size(total)),
    }
}

/// Bytes as people read them.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    if bytes < 1_000 {
        return format!("{bytes}B");
    }
    #[expect(clippy::cast_precision_loss, reason = "two digits are shown")]
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1_000.0 && unit + 1 < UNITS.len() {
        value /= 1_000.0;
        unit += 1;
    }
    format!("{value:.2}{}", UNITS[unit])
}

/// A time as Go writes it, in whole milliseconds.
fn duration(took: Duration) -> String {
    let nanos = i64::try_from(took.as_millis()).unwrap_or(i64::MAX / 1_000_000) * 1_000_000;
    engine_model::GoDuration(nanos).to_string()
}

//! Parses a chapter of the reference: a heading for each name, its description, an example, and a list of its
//! parameters. Parses topics: a heading, a text, and the names to see.

use super::{Chapter, Entry, Param, Shape, Topic};

/// What begins an example, on a line of its own.
pub(super) const FENCE: &str = "```python\n";

/// Reads a chapter. Its text is part of the program, so what is out of place is left out; tests look for that.
pub(super) fn chapter(text: &'static str) -> Chapter {
    let (title, rest) = text.split_once('\n').unwrap_or((text, ""));
    let sections = rest.split("\n## ").skip(1);
    Chapter { title: title.trim_start_matches("# "), entries: sections.map(entry).collect() }
}

/// Reads a topic: `# NAME: TITLE`, its text, and a last line `See: NAMES`.
pub(super) fn topic(text: &'static str) -> Topic {
    let (heading, rest) = text.split_once('\n').unwrap_or((text, ""));
    let (name, title) = heading.trim_start_matches("# ").split_once(": ").unwrap_or((heading, ""));
    let (text, see) = rest.rsplit_once("\nSee: ").unwrap_or((rest, ""));
    let see = see.split(',').map(str::trim).filter(|it| !it.is_empty()).collect();
    Topic { name, title, text: text.trim(), see }
}

fn entry(section: &'static str) -> Entry {
    let (heading, body) = section.split_once('\n').unwrap_or((section, ""));
    let (doc, rest) = body.split_once(FENCE).unwrap_or((body, ""));
    let (example, list) = rest.split_once("```\n").unwrap_or((rest, ""));
    let (name, shape) = shape(heading.trim(), list);
    Entry { name, shape, doc: doc.trim(), example: example.trim_end() }
}

fn shape(heading: &'static str, list: &'static str) -> (&'static str, Shape) {
    let called = heading.split_once('(').and_then(|(name, rest)| {
        let (params, returns) = rest.rsplit_once(") -> ")?;
        Some((name, params, returns))
    });
    if let Some((name, params, returns)) = called {
        let params = top_level(params).into_iter().map(|it| param(it, list)).collect();
        return (name, Shape::Function { params, returns });
    }
    let (name, ty) = heading.split_once(": ").unwrap_or((heading, "Any"));
    (name, Shape::Value(ty))
}

fn param(text: &'static str, list: &'static str) -> Param {
    let (name, rest) = text.split_once(": ").unwrap_or((text, "Any"));
    let (ty, default) = match rest.split_once(" = ") {
        Some((ty, default)) => (ty, Some(default)),
        None => (rest, None),
    };
    let bare = name.trim_start_matches('*');
    let doc = list
        .lines()
        .find_map(|line| line.strip_prefix("- ")?.strip_prefix(bare)?.strip_prefix(": "))
        .unwrap_or_default();
    Param { name, ty, default, doc }
}

/// The parts of a list of parameters; commas within brackets and quotes do not part it.
fn top_level(text: &'static str) -> Vec<&'static str> {
    let (mut parts, mut start, mut depth, mut is_quoted) = (Vec::new(), 0, 0_usize, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'\'' => is_quoted = !is_quoted,
            b'[' | b'{' | b'(' => depth += 1,
            b']' | b'}' | b')' => depth = depth.saturating_sub(1),
            b',' if depth == 0 && !is_quoted => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts.retain(|it| !it.is_empty());
    parts
}

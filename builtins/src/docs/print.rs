//! Prints the reference as Markdown, and Markdown for terminals.

use std::fmt::Write;

use super::{Entry, Param, Shape, parse::FENCE};

/// How a function is called, or what a value is, on one line.
pub fn signature(entry: &Entry) -> String {
    match &entry.shape {
        Shape::Function { params, returns } => {
            let params: Vec<String> = params.iter().map(param).collect();
            format!("{}({}) -> {returns}", entry.name, params.join(", "))
        }
        Shape::Value(ty) => format!("{}: {ty}", entry.name),
    }
}

/// A parameter as it stands in a signature.
pub(super) fn param(param: &Param) -> String {
    match param.default {
        Some(default) => format!("{}: {} = {default}", param.name, param.ty),
        None => format!("{}: {}", param.name, param.ty),
    }
}

/// An entry as Markdown: how it is called, what it means, what its parameters mean, and an example.
pub fn markdown(entry: &Entry) -> String {
    let mut out = format!("```python\n{}\n```\n", wrapped_signature(entry));
    let _ = write!(out, "\n{}\n", entry.doc);
    let documented = entry.params().iter().filter(|it| !it.doc.is_empty());
    for (at, it) in documented.enumerate() {
        let start = if at == 0 { "\n" } else { "" };
        let _ = writeln!(out, "{start}- `{}`: {}", it.bare_name(), it.doc);
    }
    let _ = write!(out, "\nExample:\n\n{FENCE}{}\n```\n", entry.example);
    out
}

/// A signature that takes a line for each parameter if one line would be too long.
fn wrapped_signature(entry: &Entry) -> String {
    let line = signature(entry);
    let Shape::Function { params, returns } = &entry.shape else { return line };
    if line.len() <= 100 {
        return line;
    }
    let mut out = format!("{}(\n", entry.name);
    for it in params {
        let _ = writeln!(out, "    {},", param(it));
    }
    let _ = write!(out, ") -> {returns}");
    out
}

/// How Markdown is laid out for a terminal.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// How many letters a line may have.
    pub width: usize,
    /// Whether headings and code have colors.
    pub has_colors: bool,
}

impl Layout {
    /// Markdown as it looks best in a terminal: paragraphs and lists fit the width, code is indented.
    pub fn terminal(self, markdown: &str) -> String {
        let mut out = String::new();
        let (mut paragraph, mut is_code) = (String::new(), false);
        for line in markdown.lines() {
            if line.starts_with("```") {
                self.flush(&mut out, &mut paragraph);
                is_code = !is_code;
            } else if is_code {
                let code = format!("    {line}");
                let _ = writeln!(out, "{}", self.paint("36", code.trim_end()));
            } else if line.starts_with('#') {
                self.flush(&mut out, &mut paragraph);
                let _ = writeln!(out, "{}", self.paint("1", line.trim_start_matches(['#', ' '])));
            } else {
                // What begins an item, a row of a table or a paragraph begins a line.
                if line.is_empty() || line.starts_with(['-', '|']) {
                    self.flush(&mut out, &mut paragraph);
                }
                let gap = if paragraph.is_empty() { "" } else { " " };
                let _ = write!(paragraph, "{gap}{}", line.trim());
                if line.is_empty() {
                    out.push('\n');
                }
            }
        }
        self.flush(&mut out, &mut paragraph);
        out
    }

    fn flush(self, out: &mut String, paragraph: &mut String) {
        let paragraph = std::mem::take(paragraph);
        if paragraph.is_empty() {
            return;
        }
        let indent = if paragraph.starts_with("- ") { "  " } else { "" };
        let mut column = 0;
        let mut text = String::new();
        for word in paragraph.split(' ') {
            let length = word.chars().count();
            if column > 0 && column + 1 + length > self.width {
                let _ = write!(text, "\n{indent}");
                column = indent.len();
            } else if column > 0 {
                text.push(' ');
                column += 1;
            }
            text.push_str(word);
            column += length;
        }
        // Between two backticks is code.
        for (at, part) in text.split('`').enumerate() {
            let is_code = at % 2 == 1;
            out.push_str(&if is_code { self.code(part) } else { part.to_owned() });
        }
        out.push('\n');
    }

    fn code(self, text: &str) -> String {
        if self.has_colors { self.paint("36", text) } else { format!("`{text}`") }
    }

    /// Text in a color, or bold.
    pub fn paint(self, color: &str, text: &str) -> String {
        if self.has_colors { format!("\x1b[{color}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

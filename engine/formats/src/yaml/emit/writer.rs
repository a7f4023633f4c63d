//! Decides where lines break and how deep they are indented.

use std::fmt::Write as _;
use std::sync::LazyLock;

use regex::Regex;

use super::super::Dialect;
use super::super::node::Style;
use super::super::resolve::{self, Scalar};
use super::Tree;
use super::analysis::{Analysis, analyze, is_break, is_printable};

/// Keys longer than this many bytes are written after a `?`.
const MAX_SIMPLE_KEY: usize = 128;

/// Where a node stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Root,
    SequenceItem,
    SimpleKey,
    MappingEntry,
}

/// Output with what the next token needs to know about it.
pub(super) struct Writer {
    pub(super) out: String,
    dialect: Dialect,
    best_indent: usize,
    best_width: usize,
    column: usize,
    /// Whether the last thing written separates tokens.
    whitespace: bool,
    /// Whether the line holds only indentation and dashes so far.
    indention: bool,
}

/// The indentation of a collection; the document itself has none.
type Indent = Option<usize>;

impl Writer {
    pub(super) fn new(dialect: Dialect) -> Self {
        let (best_indent, best_width) = match dialect {
            Dialect::V2 => (2, 80),
            Dialect::V4 => (4, usize::MAX),
        };
        let (out, column) = (String::new(), 0);
        Self { out, dialect, best_indent, best_width, column, whitespace: true, indention: true }
    }

    pub(super) fn document(&mut self, tree: &Tree<'_>) {
        self.node(tree, None, Place::Root);
        self.write_indent(None);
    }

    /// Writes a node. The callers bound the depth, so this recursion ends.
    fn node(&mut self, tree: &Tree<'_>, indent: Indent, place: Place) {
        match tree {
            Tree::Plain(text) => self.scalar(text, Style::Plain, indent, place),
            Tree::Text(text) => self.scalar(text, self.style_of(text), indent, place),
            Tree::Styled(text, style) => self.scalar(text, *style, indent, place),
            Tree::Sequence(_) if tree.is_empty() => self.empty_collection("[", "]"),
            Tree::Mapping(_) if tree.is_empty() => self.empty_collection("{", "}"),
            Tree::Sequence(items) => {
                let under_key = place == Place::MappingEntry && !self.indention;
                let inner = match indent {
                    Some(_) if self.dialect == Dialect::V2 && under_key => indent,
                    _ => self.deeper(indent, place, 0),
                };
                for item in items {
                    self.write_indent(inner);
                    self.indicator("-", true, false, true);
                    self.node(item, inner, Place::SequenceItem);
                }
            }
            Tree::Mapping(fields) => {
                let inner = self.deeper(indent, place, 0);
                for (key, value) in fields {
                    self.write_indent(inner);
                    self.key(key, inner);
                    self.node(value, inner, Place::MappingEntry);
                }
            }
        }
    }

    fn key(&mut self, key: &str, indent: Indent) {
        let style = self.style_of(key);
        if !key.contains(is_break) && key.len() <= MAX_SIMPLE_KEY {
            self.scalar(key, style, indent, Place::SimpleKey);
            self.indicator(":", false, false, false);
        } else {
            self.indicator("?", true, false, true);
            self.scalar(key, style, indent, Place::MappingEntry);
            self.write_indent(indent);
            self.indicator(":", true, false, true);
        }
    }

    /// Returns the indentation of what is inside; `at_root` is used below the document itself.
    fn deeper(&self, indent: Indent, place: Place, at_root: usize) -> Indent {
        let best = self.best_indent;
        Some(match indent {
            None => at_root,
            Some(indent) if self.dialect == Dialect::V2 => indent + best,
            Some(indent) if place == Place::SequenceItem => indent + 2,
            Some(indent) => best * ((indent + best) / best),
        })
    }

    fn empty_collection(&mut self, open: &str, close: &str) {
        self.indicator(open, true, true, false);
        self.indicator(close, false, false, false);
    }

    /// Chooses a style for a string: text that means something else must not be plain.
    fn style_of(&self, text: &str) -> Style {
        if text.contains('\n') {
            return Style::Literal;
        }
        let plain = resolve::resolve(self.dialect, text) == Scalar::Str
            && !is_base_60(text)
            && (self.dialect == Dialect::V2 || resolve::old_bool(text).is_none());
        if plain { Style::Plain } else { Style::DoubleQuoted }
    }

    fn scalar(&mut self, text: &str, style: Style, indent: Indent, place: Place) {
        let style = possible_style(text, style, analyze(text, self.dialect), place);
        let inner = self.deeper(indent, place, self.best_indent);
        let fold = place != Place::SimpleKey;
        match style {
            Style::Plain => self.plain(text, inner, fold),
            Style::SingleQuoted => self.single_quoted(text, inner, fold),
            Style::DoubleQuoted => self.double_quoted(text, inner, fold),
            Style::Literal | Style::Folded => self.literal(text, inner),
        }
    }

    fn put(&mut self, c: char) {
        self.out.push(c);
        self.column += 1;
    }

    fn put_break(&mut self) {
        self.out.push('\n');
        self.column = 0;
    }

    /// Writes a line break of a string.
    fn write_break(&mut self, c: char) {
        self.out.push(c);
        self.column = 0;
        self.indention = true;
    }

    fn write_indent(&mut self, indent: Indent) {
        let indent = indent.unwrap_or(0);
        let behind = self.column > indent || (self.column == indent && !self.whitespace);
        if !self.indention || behind {
            self.put_break();
        }
        while self.column < indent {
            self.put(' ');
        }
        self.whitespace = true;
        self.indention = true;
    }

    fn indicator(&mut self, text: &str, spaced: bool, whitespace: bool, indention: bool) {
        if spaced && !self.whitespace {
            self.put(' ');
        }
        self.out.push_str(text);
        self.column += text.len();
        self.whitespace = whitespace;
        self.indention &= indention;
    }

    fn plain(&mut self, text: &str, indent: Indent, fold: bool) {
        if !self.whitespace && (self.dialect == Dialect::V2 || !text.is_empty()) {
            self.put(' ');
        }
        let mut after_space = false;
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            let foldable = fold && !after_space && self.column > self.best_width;
            if c == ' ' && foldable && chars.peek() != Some(&' ') {
                self.write_indent(indent);
            } else {
                self.put(c);
            }
            after_space = c == ' ';
        }
        if self.dialect == Dialect::V2 || !text.is_empty() {
            self.whitespace = false;
        }
        self.indention = false;
    }

    fn single_quoted(&mut self, text: &str, indent: Indent, fold: bool) {
        self.indicator("'", true, false, false);
        let (mut after_space, mut after_break) = (false, false);
        let mut chars = text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            if is_break(c) {
                if !after_break && c == '\n' {
                    self.put_break();
                }
                self.write_break(c);
                after_break = true;
                continue;
            }
            let next = chars.peek().map(|(_, next)| *next);
            let foldable = fold && !after_space && self.column > self.best_width;
            if c == ' ' && foldable && at > 0 && next.is_some_and(|next| next != ' ') {
                self.write_indent(indent);
                after_space = true;
                continue;
            }
            if c == ' ' {
                self.put(c);
                after_space = true;
                continue;
            }
            if after_break {
                self.write_indent(indent);
            }
            if c == '\'' {
                self.put('\'');
            }
            self.put(c);
            self.indention = false;
            (after_space, after_break) = (false, false);
        }
        self.indicator("'", false, false, false);
    }

    fn double_quoted(&mut self, text: &str, indent: Indent, fold: bool) {
        self.indicator("\"", true, false, false);
        // go-yaml tests only the first character for being a byte order mark.
        let escape_all = text.starts_with('\u{feff}');
        let mut after_space = false;
        let mut chars = text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            if escape_all || !is_printable(c) || is_break(c) || matches!(c, '"' | '\\') {
                self.escape(c);
                after_space = false;
                continue;
            }
            let foldable = fold && !after_space && self.column > self.best_width;
            if c == ' ' && foldable && at > 0 && chars.peek().is_some() {
                self.write_indent(indent);
                if chars.peek().is_some_and(|(_, next)| *next == ' ') {
                    self.put('\\');
                }
            } else {
                self.put(c);
            }
            after_space = c == ' ';
        }
        self.indicator("\"", false, false, false);
    }

    fn escape(&mut self, c: char) {
        let before = self.out.len();
        self.out.push('\\');
        match c {
            '\0' => self.out.push('0'),
            '\u{7}' => self.out.push('a'),
            '\u{8}' => self.out.push('b'),
            '\t' => self.out.push('t'),
            '\n' => self.out.push('n'),
            '\u{b}' => self.out.push('v'),
            '\u{c}' => self.out.push('f'),
            '\r' => self.out.push('r'),
            '\u{1b}' => self.out.push('e'),
            '"' | '\\' => self.out.push(c),
            '\u{85}' => self.out.push('N'),
            '\u{a0}' => self.out.push('_'),
            '\u{2028}' => self.out.push('L'),
            '\u{2029}' => self.out.push('P'),
            c => {
                let code = u32::from(c);
                let written = match code {
                    0..=0xff => write!(self.out, "x{code:02X}"),
                    0x100..=0xffff => write!(self.out, "u{code:04X}"),
                    _ => write!(self.out, "U{code:08X}"),
                };
                written.expect("writing to a string cannot fail");
            }
        }
        self.column += self.out.len() - before;
    }

    fn literal(&mut self, text: &str, indent: Indent) {
        self.indicator("|", true, false, false);
        if text.starts_with(|c| c == ' ' || is_break(c)) {
            self.indicator(&self.best_indent.to_string(), false, false, false);
        }
        let mut last = text.chars().rev();
        match (last.next(), last.next()) {
            (Some(end), _) if !is_break(end) => self.indicator("-", false, false, false),
            (Some(_), Some(before)) if !is_break(before) => {}
            _ => self.indicator("+", false, false, false),
        }
        if self.dialect == Dialect::V2 {
            // Version 3 forgets this break, which swallows the first empty line of the text.
            self.put_break();
            self.indention = true;
        }
        self.whitespace = true;
        let mut after_break = true;
        for c in text.chars() {
            if is_break(c) {
                self.write_break(c);
                after_break = true;
                continue;
            }
            if after_break {
                self.write_indent(indent);
            }
            self.put(c);
            self.indention = false;
            after_break = false;
        }
    }
}

/// Falls back to quotes where the style cannot express the string or cannot stand.
fn possible_style(text: &str, style: Style, analysis: Analysis, place: Place) -> Style {
    let key = place == Place::SimpleKey;
    match style {
        Style::Plain if analysis.plain && !(key && text.is_empty()) => Style::Plain,
        Style::Plain | Style::SingleQuoted
            if analysis.single_quoted && !(key && analysis.multiline) =>
        {
            Style::SingleQuoted
        }
        Style::Literal | Style::Folded if analysis.block && !key => Style::Literal,
        _ => Style::DoubleQuoted,
    }
}

/// Says whether YAML 1.1 would read the text as a base-60 number, such as `12:30:45`.
fn is_base_60(text: &str) -> bool {
    static BASE_60: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$").expect("a valid pattern")
    });
    text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-'))
        && text.contains(':')
        && BASE_60.is_match(text)
}

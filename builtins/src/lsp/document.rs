//! An open text, with its tokens and outline.

use super::{
    calls::{CallSite, calls},
    outline::Outline,
    tokens::{Token, TokenKind, tokens},
};

/// A place, as editors count: lines and UTF-16 units from zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextPosition {
    /// The line.
    pub line: u32,
    /// The unit within the line.
    pub character: u32,
}

/// From a place up to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// Where it begins.
    pub start: TextPosition,
    /// Where it has ended.
    pub end: TextPosition,
}

/// A text that is edited.
#[derive(Debug)]
pub struct Document {
    text: String,
    lines: Vec<usize>,
    pub(super) tokens: Vec<Token>,
    outline: Outline,
    pub(super) calls: Vec<CallSite>,
}

impl Document {
    /// Reads a text.
    pub fn new(text: String) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let lines = std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect();
        let tokens = tokens(&text);
        let outline = Outline::new(&text, &tokens);
        let mut document = Self { text, lines, tokens, outline, calls: Vec::new() };
        document.calls = calls(&document);
        document
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it defines.
    pub fn outline(&self) -> &Outline {
        &self.outline
    }

    /// Where a place is in the text; places beyond the end of a line or the text are its end.
    pub fn offset(&self, at: TextPosition) -> usize {
        let Some(&start) = self.lines.get(at.line as usize) else { return self.text.len() };
        let line = self.text[start..].split('\n').next().unwrap_or_default();
        let mut units = 0;
        for (offset, letter) in line.char_indices() {
            if units >= at.character {
                return start + offset;
            }
            units += if letter.len_utf16() == 2 { 2 } else { 1 };
        }
        start + line.len()
    }

    /// The place of an offset.
    pub fn position(&self, offset: usize) -> TextPosition {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.lines.partition_point(|start| *start <= offset).saturating_sub(1);
        let units = self.text[self.lines[line]..offset].encode_utf16().count();
        let number = |it: usize| u32::try_from(it).unwrap_or(u32::MAX);
        TextPosition { line: number(line), character: number(units) }
    }

    /// The places of a part of the text.
    pub fn range(&self, bytes: &std::ops::Range<usize>) -> Range {
        Range { start: self.position(bytes.start), end: self.position(bytes.end) }
    }

    /// The text of a token.
    pub(super) fn word(&self, token: &Token) -> &str {
        self.text.get(token.range.clone()).unwrap_or_default()
    }

    /// The text of the token at a place.
    pub(super) fn word_at(&self, token: usize) -> &str {
        self.tokens.get(token).map_or("", |it| self.word(it))
    }

    /// The name that a token is.
    pub(super) fn name_at(&self, token: usize) -> Option<&str> {
        let token = self.tokens.get(token).filter(|it| it.kind == TokenKind::Name)?;
        Some(self.word(token))
    }

    /// The content of a string.
    pub(super) fn content(&self, token: &Token) -> &str {
        self.text.get(token.content.clone()).unwrap_or_default()
    }

    /// Which name ends or goes on at an offset, and the names before it that lead there: `os.path.jo`.
    pub(super) fn dotted_at(&self, offset: usize) -> Option<Dotted<'_>> {
        let at = self.tokens.iter().position(|it| {
            it.kind == TokenKind::Name && it.range.start <= offset && offset <= it.range.end
        })?;
        let path = self.receivers(at);
        Some(Dotted { path, name: self.word(&self.tokens[at]), token: at })
    }

    /// The names before the dots before a token.
    pub(super) fn receivers(&self, token: usize) -> Vec<&str> {
        let mut path = Vec::new();
        let mut at = token;
        while at >= 2 && self.tokens[at - 1].is(b'.') && self.tokens[at - 2].kind == TokenKind::Name
        {
            at -= 2;
            path.push(self.word(&self.tokens[at]));
        }
        path.reverse();
        path
    }
}

/// A name with what it is a member of.
#[derive(Debug)]
pub(super) struct Dotted<'a> {
    pub(super) path: Vec<&'a str>,
    pub(super) name: &'a str,
    pub(super) token: usize,
}

impl Dotted<'_> {
    pub(super) fn full(&self) -> String {
        let mut parts = self.path.clone();
        parts.push(self.name);
        parts.join(".")
    }
}

//! Splits a text into tokens, in whatever state it is: unclosed strings end with their line.

use std::ops::Range;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A name or a keyword.
    Name,
    /// A number.
    Number,
    /// A string; its content is what is between the quotes.
    Text,
    /// One character of anything else.
    Sign(u8),
    /// The end of a line that is not empty.
    Newline,
}

/// A token and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) range: Range<usize>,
    /// What is between the quotes of a string; the whole token otherwise.
    pub(super) content: Range<usize>,
    /// How many bytes stand before it on its line.
    pub(super) column: usize,
    /// Whether it is the first of its line.
    pub(super) is_first: bool,
}

impl Token {
    pub(super) fn is(&self, sign: u8) -> bool {
        self.kind == TokenKind::Sign(sign)
    }
}

/// All tokens of a text.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut lexer =
        Lexer { bytes: text.as_bytes(), at: 0, line: 0, is_first: true, found: Vec::new() };
    lexer.run();
    lexer.found
}

struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where the line begins.
    line: usize,
    is_first: bool,
    found: Vec<Token>,
}

impl Lexer<'_> {
    fn run(&mut self) {
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'\n' => self.end_line(),
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'\\' if self.bytes.get(self.at + 1) == Some(&b'\n') => {
                    self.at += 2;
                    self.line = self.at;
                }
                b'#' => self.at = self.end_of_line(),
                b'"' | b'\'' => self.text(self.at),
                b'r' | b'b' if self.starts_text() => self.text(self.at + 1),
                b'0'..=b'9' => {
                    self.span(TokenKind::Number, |it| it.is_ascii_alphanumeric() || it == b'.')
                }
                _ if is_name(byte) => {
                    self.span(TokenKind::Name, |it| is_name(it) || it.is_ascii_digit())
                }
                _ => self.push(TokenKind::Sign(byte), self.at + 1, self.at..self.at + 1),
            }
        }
        if self.found.last().is_some_and(|it| it.kind != TokenKind::Newline) {
            self.push(TokenKind::Newline, self.at, self.at..self.at);
        }
    }

    fn end_line(&mut self) {
        let is_empty = self.found.last().is_none_or(|it| it.kind == TokenKind::Newline);
        let end = self.at + 1;
        if is_empty {
            self.at = end;
        } else {
            self.push(TokenKind::Newline, end, self.at..self.at);
        }
        self.line = end;
        self.is_first = true;
    }

    fn end_of_line(&self) -> usize {
        let rest = &self.bytes[self.at..];
        self.at + rest.iter().position(|it| *it == b'\n').unwrap_or(rest.len())
    }

    fn starts_text(&self) -> bool {
        matches!(self.bytes.get(self.at + 1), Some(b'"' | b'\''))
    }

    fn span(&mut self, kind: TokenKind, belongs: impl Fn(u8) -> bool) {
        let rest = &self.bytes[self.at..];
        let end = self.at + rest.iter().position(|it| !belongs(*it)).unwrap_or(rest.len());
        self.push(kind, end, self.at..end);
    }

    /// Reads a string whose quotes begin at `open`.
    fn text(&mut self, open: usize) {
        let quote = self.bytes[open];
        let is_long = self.bytes[open..].starts_with(&[quote; 3]);
        let start = open + if is_long { 3 } else { 1 };
        let mut at = start;
        let (content_end, end) = loop {
            match self.bytes.get(at) {
                None => break (at, at),
                Some(b'\n') if !is_long => break (at, at),
                Some(b'\\') => at = (at + 2).min(self.bytes.len()),
                Some(byte) if *byte == quote && !is_long => break (at, at + 1),
                Some(_) if is_long && self.bytes[at..].starts_with(&[quote; 3]) => {
                    break (at, at + 3);
                }
                Some(_) => at += 1,
            }
        };
        let line_of_end =
            self.bytes[..end].iter().rposition(|it| *it == b'\n').map_or(0, |it| it + 1);
        self.push(TokenKind::Text, end, start.min(content_end)..content_end);
        self.line = self.line.max(line_of_end);
    }

    fn push(&mut self, kind: TokenKind, end: usize, content: Range<usize>) {
        let token = Token {
            kind,
            range: self.at..end,
            content,
            column: self.at.saturating_sub(self.line),
            is_first: self.is_first && kind != TokenKind::Newline,
        };
        self.found.push(token);
        self.at = end;
        self.is_first = false;
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

//! Decides where tokens start and end: indentation, simple keys, flow nesting.
//!
//! This follows the token rules of libyaml, the scanner inside go-yaml, because its quirks decide
//! which broken files are accepted and which message and line the others get. It knows nothing
//! about documents, nodes or values.

mod cursor;
mod quoted;
mod scalars;
mod tags;

use std::borrow::Cow;
use std::collections::VecDeque;

use super::Dialect;
use super::fault::{Fault, Mark, Stage};
use cursor::Cursor;

/// How deep block or flow collections may nest; go-yaml has the same limit.
const MAX_DEPTH: usize = 10_000;

/// A simple key ends on its line and within this many characters.
const MAX_KEY_LENGTH: usize = 1024;

/// How a scalar was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Without quotes.
    Plain,
    /// In single quotes.
    SingleQuoted,
    /// In double quotes.
    DoubleQuoted,
    /// A block after `|`.
    Literal,
    /// A block after `>`.
    Folded,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TokenKind<'a> {
    StreamStart,
    StreamEnd,
    VersionDirective { major: u8, minor: u8 },
    TagDirective { handle: &'a str, prefix: String },
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(&'a str),
    Anchor(&'a str),
    Tag { handle: &'a str, suffix: String },
    Scalar { value: Cow<'a, str>, style: Style },
}

#[derive(Clone, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: TokenKind<'a>,
    pub(super) start: Mark,
    pub(super) end: Mark,
}

/// A token that becomes a mapping key if a `:` follows soon enough.
#[derive(Clone, Copy, Default)]
struct KeyCandidate {
    possible: bool,
    required: bool,
    token: usize,
    mark: Mark,
}

pub(super) struct Scanner<'a> {
    cursor: Cursor<'a>,
    defect: Option<&'static str>,
    dialect: Dialect,
    tokens: VecDeque<Token<'a>>,
    /// How many tokens the parser has taken so far.
    taken: usize,
    /// Whether the first queued token can no longer change into a key.
    settled: bool,
    stream_started: bool,
    indent: isize,
    indents: Vec<isize>,
    key_allowed: bool,
    /// The key candidate of each flow level, the block level first.
    keys: Vec<KeyCandidate>,
    /// The candidates' token numbers, ascending, each with its level.
    key_levels: VecDeque<(usize, usize)>,
}

type Scan<T> = Result<T, Fault>;

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str, defect: Option<&'static str>, dialect: Dialect) -> Self {
        Self {
            cursor: Cursor::new(text),
            defect,
            dialect,
            tokens: VecDeque::new(),
            taken: 0,
            settled: false,
            stream_started: false,
            indent: -1,
            indents: Vec::new(),
            key_allowed: true,
            keys: vec![KeyCandidate::default()],
            key_levels: VecDeque::new(),
        }
    }

    /// Returns the next token without taking it.
    pub(super) fn peek(&mut self) -> Scan<&Token<'a>> {
        if !self.settled {
            self.settle()?;
        }
        Ok(self.tokens.front().expect("settling queues a token"))
    }

    /// Takes the next token.
    pub(super) fn take(&mut self) -> Scan<Token<'a>> {
        self.peek()?;
        self.settled = false;
        self.taken += 1;
        Ok(self.tokens.pop_front().expect("settling queues a token"))
    }

    /// Scans ahead until the first queued token is certain.
    ///
    /// Version 4 looks two tokens further because of comments, so it finds scanner errors sooner.
    fn settle(&mut self) -> Scan<()> {
        let lookahead = match self.dialect {
            Dialect::V2 => 0,
            Dialect::V4 => 2,
        };
        while self.tokens.len() <= lookahead || self.first_may_become_key()? {
            self.fetch_guarded()?;
        }
        self.settled = true;
        Ok(())
    }

    fn first_may_become_key(&mut self) -> Scan<bool> {
        while self.key_levels.front().is_some_and(|(token, _)| *token < self.taken) {
            self.key_levels.pop_front();
        }
        match self.key_levels.front() {
            Some((token, level)) if *token == self.taken => self.key_is_possible(*level),
            _ => Ok(false),
        }
    }

    /// Scans one token, unless a forbidden character comes within reach first.
    fn fetch_guarded(&mut self) -> Scan<()> {
        let Some(message) = self.defect else { return self.fetch() };
        let fault = Fault {
            stage: Stage::Reader,
            context: Mark::default(),
            problem: Mark::default(),
            message,
        };
        if self.cursor.is_near_end() {
            return Err(fault);
        }
        let fetched = self.fetch();
        if self.cursor.is_near_end() { Err(fault) } else { fetched }
    }

    fn fetch(&mut self) -> Scan<()> {
        if !self.stream_started {
            self.stream_started = true;
            self.push(TokenKind::StreamStart, self.mark());
            return Ok(());
        }
        let scan_start = self.mark();
        self.skip_to_token();
        self.unroll_indent(
            self.column(),
            match self.dialect {
                Dialect::V2 => self.mark(),
                Dialect::V4 => scan_start,
            },
        );
        if self.cursor.at_end() {
            return self.fetch_stream_end();
        }
        if self.mark().column == 0 {
            if self.cursor.byte(0) == b'%' {
                return self.fetch_directive();
            }
            if self.cursor.at_document_indicator(b'-') {
                return self.fetch_document_indicator(TokenKind::DocumentStart);
            }
            if self.cursor.at_document_indicator(b'.') {
                return self.fetch_document_indicator(TokenKind::DocumentEnd);
            }
        }
        self.fetch_by_first_character()
    }

    fn fetch_by_first_character(&mut self) -> Scan<()> {
        let flow = self.in_flow();
        let spaced = self.cursor.blank_or_end(1);
        match self.cursor.byte(0) {
            b'[' => self.fetch_flow_start(TokenKind::FlowSequenceStart),
            b'{' => self.fetch_flow_start(TokenKind::FlowMappingStart),
            b']' => self.fetch_flow_end(TokenKind::FlowSequenceEnd),
            b'}' => self.fetch_flow_end(TokenKind::FlowMappingEnd),
            b',' => self.fetch_flow_entry(),
            b'-' if spaced => self.fetch_block_entry(),
            b'?' if spaced || (flow && self.dialect == Dialect::V2) => self.fetch_key(),
            b':' if spaced || flow => self.fetch_value(),
            b'*' => self.fetch_anchor(TokenKind::Alias),
            b'&' => self.fetch_anchor(TokenKind::Anchor),
            b'!' => self.fetch_tag(),
            b'|' if !flow => self.fetch_block_scalar(Style::Literal),
            b'>' if !flow => self.fetch_block_scalar(Style::Folded),
            b'\'' => self.fetch_quoted(Style::SingleQuoted),
            b'"' => self.fetch_quoted(Style::DoubleQuoted),
            b'|' | b'>' | b'%' | b'@' | b'`' | b'#' | b'\t' => {
                Err(self.fault(self.mark(), "found character that cannot start any token"))
            }
            _ => self.fetch_plain(),
        }
    }

    fn mark(&self) -> Mark {
        self.cursor.mark
    }

    fn column(&self) -> isize {
        self.cursor.mark.column.cast_signed()
    }

    fn in_flow(&self) -> bool {
        self.keys.len() > 1
    }

    fn fault(&self, context: Mark, message: &'static str) -> Fault {
        Fault { stage: Stage::Scanner, context, problem: self.mark(), message }
    }

    fn push(&mut self, kind: TokenKind<'a>, start: Mark) {
        let end = self.mark();
        self.tokens.push_back(Token { kind, start, end });
    }

    /// Queues a token before the one with the given number, or last if that one is gone.
    fn insert(&mut self, token: usize, kind: TokenKind<'a>, mark: Mark) {
        let inserted = Token { kind, start: mark, end: mark };
        match token.checked_sub(self.taken) {
            Some(at) => self.tokens.insert(at.min(self.tokens.len()), inserted),
            None => self.tokens.push_back(inserted),
        }
    }

    /// Queues a token made of the next `width` characters.
    fn push_indicator(&mut self, kind: TokenKind<'a>, width: usize) {
        let start = self.mark();
        self.cursor.skip_ascii(width);
        self.push(kind, start);
    }

    /// Skips spaces, comments and line breaks. A tab is not allowed where indentation counts.
    fn skip_to_token(&mut self) {
        self.cursor.skip_byte_order_mark();
        loop {
            while self.cursor.byte(0) == b' '
                || (self.cursor.byte(0) == b'\t' && (self.in_flow() || !self.key_allowed))
            {
                self.cursor.skip_ascii(1);
            }
            if self.cursor.byte(0) == b'#' {
                self.cursor.take_line_rest();
            }
            if !self.cursor.at_break(0) {
                return;
            }
            self.cursor.take_break();
            if !self.in_flow() {
                self.key_allowed = true;
            }
        }
    }

    /// Says whether the level's candidate may still become a key; forgets it if not.
    fn key_is_possible(&mut self, level: usize) -> Scan<bool> {
        let key = self.keys[level];
        let mark = self.mark();
        if !key.possible {
            return Ok(false);
        }
        if key.mark.line == mark.line && key.mark.index + MAX_KEY_LENGTH >= mark.index {
            return Ok(true);
        }
        if key.required {
            return Err(self.fault(key.mark, "could not find expected ':'"));
        }
        self.keys[level].possible = false;
        Ok(false)
    }

    /// Remembers that the token about to be scanned may be a key.
    fn save_key(&mut self) -> Scan<()> {
        if !self.key_allowed {
            return Ok(());
        }
        let required = !self.in_flow() && self.indent == self.column();
        self.drop_key()?;
        let token = self.taken + self.tokens.len();
        let level = self.keys.len() - 1;
        self.keys[level] = KeyCandidate { possible: true, required, token, mark: self.mark() };
        while self.key_levels.back().is_some_and(|(last, _)| *last >= token) {
            self.key_levels.pop_back();
        }
        self.key_levels.push_back((token, level));
        Ok(())
    }

    /// Gives up the current level's candidate, which is an error if the line had to be a key.
    fn drop_key(&mut self) -> Scan<()> {
        let level = self.keys.len() - 1;
        let key = self.keys[level];
        if !key.possible {
            return Ok(());
        }
        if key.required {
            return Err(self.fault(key.mark, "could not find expected ':'"));
        }
        self.keys[level].possible = false;
        self.forget_key_level(key.token);
        Ok(())
    }

    fn forget_key_level(&mut self, token: usize) {
        if let Ok(at) = self.key_levels.binary_search_by_key(&token, |(token, _)| *token) {
            self.key_levels.remove(at);
        }
    }

    /// Opens a block collection at the column if it is deeper than the current one.
    fn roll_indent(&mut self, mark: Mark, token: usize, kind: TokenKind<'a>) -> Scan<()> {
        let column = mark.column.cast_signed();
        if self.in_flow() || self.indent >= column {
            return Ok(());
        }
        self.indents.push(self.indent);
        self.indent = column;
        if self.indents.len() > MAX_DEPTH {
            let context = self.keys.last().map_or(mark, |key| key.mark);
            return Err(self.fault(context, "exceeded max depth of 10000"));
        }
        self.insert(token, kind, mark);
        Ok(())
    }

    /// Closes the block collections that are deeper than the column.
    fn unroll_indent(&mut self, column: isize, mark: Mark) {
        while !self.in_flow() && self.indent > column {
            self.tokens.push_back(Token { kind: TokenKind::BlockEnd, start: mark, end: mark });
            self.indent = self.indents.pop().expect("every indent was pushed");
        }
    }

    fn fetch_stream_end(&mut self) -> Scan<()> {
        self.cursor.end_line();
        self.unroll_indent(-1, self.mark());
        self.drop_key()?;
        self.key_allowed = false;
        self.push(TokenKind::StreamEnd, self.mark());
        Ok(())
    }

    fn fetch_document_indicator(&mut self, kind: TokenKind<'a>) -> Scan<()> {
        self.unroll_indent(-1, self.mark());
        self.drop_key()?;
        self.key_allowed = false;
        self.push_indicator(kind, 3);
        Ok(())
    }

    fn fetch_flow_start(&mut self, kind: TokenKind<'a>) -> Scan<()> {
        self.save_key()?;
        let (token, mark) = (self.taken + self.tokens.len(), self.mark());
        self.keys.push(KeyCandidate { possible: false, required: false, token, mark });
        if self.keys.len() > MAX_DEPTH + 1 {
            return Err(self.fault(mark, "exceeded max depth of 10000"));
        }
        self.key_allowed = true;
        self.push_indicator(kind, 1);
        Ok(())
    }

    fn fetch_flow_end(&mut self, kind: TokenKind<'a>) -> Scan<()> {
        self.drop_key()?;
        if self.in_flow() {
            // An empty collection shares its token number with the candidate around it, which is
            // forgotten too: go-yaml does not accept `[]` as a key.
            let closed = self.keys.pop().expect("a flow level is open");
            self.forget_key_level(closed.token);
        }
        self.key_allowed = false;
        self.push_indicator(kind, 1);
        Ok(())
    }

    fn fetch_flow_entry(&mut self) -> Scan<()> {
        self.drop_key()?;
        self.key_allowed = true;
        self.push_indicator(TokenKind::FlowEntry, 1);
        Ok(())
    }

    fn fetch_block_entry(&mut self) -> Scan<()> {
        if !self.in_flow() {
            if !self.key_allowed {
                let message = "block sequence entries are not allowed in this context";
                return Err(self.fault(self.mark(), message));
            }
            self.roll_indent_here(TokenKind::BlockSequenceStart)?;
        }
        self.drop_key()?;
        self.key_allowed = true;
        self.push_indicator(TokenKind::BlockEntry, 1);
        Ok(())
    }

    fn fetch_key(&mut self) -> Scan<()> {
        if !self.in_flow() {
            if !self.key_allowed {
                let message = "mapping keys are not allowed in this context";
                return Err(self.fault(self.mark(), message));
            }
            self.roll_indent_here(TokenKind::BlockMappingStart)?;
        }
        self.drop_key()?;
        self.key_allowed = !self.in_flow();
        self.push_indicator(TokenKind::Key, 1);
        Ok(())
    }

    fn fetch_value(&mut self) -> Scan<()> {
        let level = self.keys.len() - 1;
        if self.key_is_possible(level)? {
            let key = self.keys[level];
            self.insert(key.token, TokenKind::Key, key.mark);
            self.roll_indent(key.mark, key.token, TokenKind::BlockMappingStart)?;
            self.keys[level].possible = false;
            self.forget_key_level(key.token);
            self.key_allowed = false;
        } else {
            if !self.in_flow() {
                if !self.key_allowed {
                    let message = "mapping values are not allowed in this context";
                    return Err(self.fault(self.mark(), message));
                }
                self.roll_indent_here(TokenKind::BlockMappingStart)?;
            }
            self.key_allowed = !self.in_flow();
        }
        self.push_indicator(TokenKind::Value, 1);
        Ok(())
    }

    fn roll_indent_here(&mut self, kind: TokenKind<'a>) -> Scan<()> {
        self.roll_indent(self.mark(), self.taken + self.tokens.len(), kind)
    }
}

//! Reads an expression with Go's grammar. Every translated piece carries its flags with it, so
//! that pieces can be repeated and grouped without knowing what came before.

use super::class::{self, Escape};
use super::{Problem, RegexpError};

const MAX_HEIGHT: usize = 1000;
const MAX_REPEAT: usize = 1000;

#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "these are the flags of Go's syntax")]
struct Flags {
    fold_case: bool,
    multi_line: bool,
    dot_matches_newline: bool,
    non_greedy: bool,
}

/// A translated piece of the expression.
#[derive(Debug, Default)]
struct Piece {
    text: String,
    height: usize,
    /// How often the innermost part may be repeated, at most.
    repeats: usize,
}

impl Piece {
    fn atom(text: String) -> Self {
        Self { text, height: 1, repeats: 1 }
    }

    fn joined(pieces: Vec<Self>, separator: &str) -> Self {
        let several = usize::from(pieces.len() > 1);
        let height = pieces.iter().map(|piece| piece.height).max().unwrap_or(0);
        let repeats = pieces.iter().map(|piece| piece.repeats).max().unwrap_or(1);
        let texts: Vec<String> = pieces.into_iter().map(|piece| piece.text).collect();
        Self { text: texts.join(separator), height: height.max(1) + several, repeats }
    }
}

/// An open parenthesis, or the whole expression.
#[derive(Debug, Default)]
struct Group {
    alternatives: Vec<Piece>,
    pieces: Vec<Piece>,
    flags_outside: Flags,
    captures: bool,
}

impl Group {
    fn end_alternative(&mut self) {
        let pieces = std::mem::take(&mut self.pieces);
        self.alternatives.push(Piece::joined(pieces, ""));
    }

    fn close(mut self) -> Piece {
        self.end_alternative();
        let mut piece = Piece::joined(self.alternatives, "|");
        piece.text = format!("(?:{})", piece.text);
        piece.height += usize::from(self.captures);
        piece
    }
}

pub(super) struct RegexpParser<'a> {
    whole: &'a str,
    rest: &'a str,
    flags: Flags,
    groups: Vec<Group>,
    current: Group,
}

type Outcome = Result<(), RegexpError>;

fn fail<T>(problem: Problem, part: &str) -> Result<T, RegexpError> {
    Err(RegexpError::new(problem, part))
}

/// What `text` has in front of its suffix `rest`.
pub(super) fn consumed<'a>(text: &'a str, rest: &str) -> &'a str {
    &text[..text.len() - rest.len()]
}

impl<'a> RegexpParser<'a> {
    pub(super) fn new(pattern: &'a str) -> Self {
        Self {
            whole: pattern,
            rest: pattern,
            flags: Flags::default(),
            groups: Vec::new(),
            current: Group::default(),
        }
    }

    pub(super) fn parse(mut self) -> Result<String, RegexpError> {
        let mut last_repeat = "";
        while let Some(c) = self.rest.chars().next() {
            let before = self.rest;
            last_repeat = match c {
                '*' | '+' | '?' => {
                    self.rest = &before[1..];
                    self.repeat(before, last_repeat, &before[..1], None)?;
                    before
                }
                '{' if let Some((counts, after)) = parse_counts(before) => {
                    self.rest = after;
                    let operator = consumed(before, after);
                    counts.check(operator)?;
                    self.repeat(before, last_repeat, operator, Some(counts))?;
                    before
                }
                c => {
                    self.step(c)?;
                    ""
                }
            };
        }
        if !self.groups.is_empty() {
            return fail(Problem::MissingParen, self.whole);
        }
        Ok(self.current.close().text)
    }

    /// Reads one piece that is no repetition.
    fn step(&mut self, c: char) -> Outcome {
        match c {
            '(' if self.rest.starts_with("(?") => return self.perl_group(),
            '[' => return self.class(),
            '\\' => return self.backslash(),
            _ => self.rest = &self.rest[c.len_utf8()..],
        }
        match c {
            '(' => self.open(true),
            '|' => self.current.end_alternative(),
            ')' => return self.close(),
            '^' if self.flags.multi_line => self.atom("(?m:^)"),
            '$' if self.flags.multi_line => self.atom("(?m:$)"),
            '^' => self.atom(r"\A"),
            '$' => self.atom(r"\z"),
            '.' if self.flags.dot_matches_newline => self.atom("(?s:.)"),
            '.' => self.atom("."),
            c => self.literal(c),
        }
        Ok(())
    }

    fn atom(&mut self, text: impl Into<String>) {
        self.current.pieces.push(Piece::atom(text.into()));
    }

    fn literal(&mut self, c: char) {
        self.code_point(u32::from(c));
    }

    fn code_point(&mut self, code: u32) {
        let text = match char::from_u32(code) {
            // A surrogate is no character, so nothing can match it.
            None => class::NOTHING.to_owned(),
            Some(c) if self.flags.fold_case && !c.is_ascii_digit() => {
                format!("(?i:{})", class::escaped(c))
            }
            Some(c) => class::escaped(c),
        };
        self.atom(text);
    }

    fn open(&mut self, captures: bool) {
        let group = Group { flags_outside: self.flags, captures, ..Group::default() };
        self.groups.push(std::mem::replace(&mut self.current, group));
    }

    fn close(&mut self) -> Outcome {
        let Some(outer) = self.groups.pop() else {
            return fail(Problem::UnexpectedParen, self.whole);
        };
        let group = std::mem::replace(&mut self.current, outer);
        self.flags = group.flags_outside;
        self.push_checked(group.close())
    }

    fn push_checked(&mut self, piece: Piece) -> Outcome {
        if piece.height > MAX_HEIGHT {
            return fail(Problem::NestingDepth, self.whole);
        }
        self.current.pieces.push(piece);
        Ok(())
    }

    /// Reads `(?`: a named group, a group with flags, or flags for the rest of this group.
    fn perl_group(&mut self) -> Outcome {
        let start = self.rest;
        let named_p = start.len() > 4 && start.starts_with("(?P<");
        let named = start.len() > 3 && start.starts_with("(?<");
        if named_p || named {
            let Some(end) = start.find('>') else {
                return fail(Problem::NamedCapture, start);
            };
            let name = &start[if named { 3 } else { 4 }..end];
            let valid = |c: char| c == '_' || c.is_ascii_alphanumeric();
            if name.is_empty() || !name.chars().all(valid) {
                return fail(Problem::NamedCapture, &start[..=end]);
            }
            self.rest = &start[end + 1..];
            self.open(true);
            return Ok(());
        }
        let mut flags = self.flags;
        let mut setting = true;
        let mut saw_flag = false;
        let mut rest = &start[2..];
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            match c {
                'i' => flags.fold_case = setting,
                'm' => flags.multi_line = setting,
                's' => flags.dot_matches_newline = setting,
                'U' => flags.non_greedy = setting,
                '-' if setting => {
                    setting = false;
                    saw_flag = false;
                    continue;
                }
                ':' | ')' if setting || saw_flag => {
                    if c == ':' {
                        self.open(false);
                    }
                    self.flags = flags;
                    self.rest = rest;
                    return Ok(());
                }
                _ => break,
            }
            saw_flag = true;
        }
        fail(Problem::PerlOp, consumed(start, rest))
    }

    fn class(&mut self) -> Outcome {
        let (text, rest) = class::parse_brackets(self.rest, self.flags.fold_case)?;
        self.rest = rest;
        self.atom(text);
        Ok(())
    }

    fn backslash(&mut self) -> Outcome {
        let start = self.rest;
        let anchor = match start.as_bytes().get(1) {
            Some(b'A') => Some(r"\A"),
            Some(b'z') => Some(r"\z"),
            Some(b'b') => Some(r"(?-u:\b)"),
            Some(b'B') => Some(r"(?-u:\B)"),
            Some(b'C') => return fail(Problem::Escape, r"\C"),
            Some(b'Q') => {
                let (text, rest) = start[2..].split_once(r"\E").unwrap_or((&start[2..], ""));
                text.chars().for_each(|c| self.literal(c));
                self.rest = rest;
                return Ok(());
            }
            _ => None,
        };
        if let Some(anchor) = anchor {
            self.rest = &start[2..];
            self.atom(anchor);
            return Ok(());
        }
        let (escape, rest) = class::parse_escape(start)?;
        self.rest = rest;
        match escape {
            Escape::Class(text) => self.atom(class::bracketed(&text, false, self.flags.fold_case)),
            Escape::CodePoint(code) => self.code_point(code),
        }
        Ok(())
    }

    /// Applies a repetition operator to the last piece. `before` starts with the operator.
    fn repeat(
        &mut self,
        before: &str,
        last_repeat: &str,
        operator: &str,
        counts: Option<Counts>,
    ) -> Outcome {
        let mut non_greedy = self.flags.non_greedy;
        if let Some(after) = self.rest.strip_prefix('?') {
            self.rest = after;
            non_greedy = !non_greedy;
        }
        if !last_repeat.is_empty() {
            return fail(Problem::RepeatOp, consumed(last_repeat, self.rest));
        }
        let shown = consumed(before, self.rest);
        let Some(mut piece) = self.current.pieces.pop() else {
            return fail(Problem::MissingRepeatArgument, shown);
        };
        piece.height += 1;
        if let Some(counts) = counts {
            piece.repeats = counts.multiply(piece.repeats);
            let limited = counts.min >= 2 || counts.max.is_some_and(|max| max >= 2);
            if limited && piece.repeats > MAX_REPEAT {
                return fail(Problem::RepeatSize, shown);
            }
        }
        let lazy = if non_greedy { "?" } else { "" };
        piece.text = format!("(?:{}){operator}{lazy}", piece.text);
        self.push_checked(piece)
    }
}

/// The numbers of `{min,max}`.
#[derive(Debug, Clone, Copy)]
struct Counts {
    min: usize,
    max: Option<usize>,
}

impl Counts {
    fn check(self, operator: &str) -> Outcome {
        let max = self.max.unwrap_or(self.min);
        if self.min > MAX_REPEAT || max > MAX_REPEAT || self.min > max {
            return fail(Problem::RepeatSize, operator);
        }
        Ok(())
    }

    fn multiply(self, repeats: usize) -> usize {
        match self.max {
            Some(0) => 1,
            max => max.unwrap_or(self.min).max(1).saturating_mul(repeats),
        }
    }
}

/// Reads `{n}`, `{n,}` or `{n,m}`; anything else is ordinary text.
fn parse_counts(text: &str) -> Option<(Counts, &str)> {
    let (min, rest) = parse_int(text.strip_prefix('{')?)?;
    let (max, rest) = match rest.strip_prefix(',') {
        None => (Some(min), rest),
        Some(rest) if rest.starts_with('}') => (None, rest),
        Some(rest) => {
            let (max, rest) = parse_int(rest)?;
            (Some(max), rest)
        }
    };
    Some((Counts { min, max }, rest.strip_prefix('}')?))
}

fn parse_int(text: &str) -> Option<(usize, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(digits);
    if number.is_empty() || (number.len() > 1 && number.starts_with('0')) {
        return None;
    }
    Some((number.parse().unwrap_or(usize::MAX), rest))
}

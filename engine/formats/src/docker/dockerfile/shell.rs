//! Substitutes variables and removes quotes the way Dockerfiles do, which is almost like a shell.

use std::iter::Peekable;
use std::str::Chars;

use regex::Regex;

use crate::golang::quote::quote;
use crate::golang::regexp;

/// How deep substitutions may nest. The reference has no limit but its memory.
const MAX_DEPTH: usize = 100;

/// Looks up a variable.
pub(super) type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// How to read words.
#[derive(Clone, Copy)]
pub(super) struct Lexer<'a> {
    escape: char,
    lookup: Lookup<'a>,
    raw_quotes: bool,
    raw_escapes: bool,
    /// Whether unknown variables stay as they are written instead of becoming empty.
    keep_unset: bool,
}

impl<'a> Lexer<'a> {
    /// Substitutes every variable.
    pub(super) fn new(escape: char, lookup: Lookup<'a>) -> Self {
        Self { escape, lookup, raw_quotes: false, raw_escapes: false, keep_unset: false }
    }

    /// Substitutes nothing.
    pub(super) fn unset(escape: char) -> Self {
        Self { keep_unset: true, ..Self::new(escape, &|_| None) }
    }

    /// Keeps quotes.
    pub(super) fn raw_quotes(self) -> Self {
        Self { raw_quotes: true, ..self }
    }

    /// Keeps escape characters.
    pub(super) fn raw_escapes(self) -> Self {
        Self { raw_escapes: true, ..self }
    }

    /// Processes a text as one word.
    pub(super) fn process_word(self, text: &str) -> Result<String, String> {
        self.process(text).map(|(word, _)| word)
    }

    /// Processes a text and splits it at spaces that are not quoted.
    pub(super) fn process_words(self, text: &str) -> Result<Vec<String>, String> {
        self.process(text).map(|(_, words)| words)
    }

    fn process(self, text: &str) -> Result<(String, Vec<String>), String> {
        let mut run = Run {
            chars: text.chars().peekable(),
            word: String::new(),
            raw_escapes: self.raw_escapes,
            depth: 0,
            lexer: self,
        };
        run.until(None, self.raw_escapes)
            .map_err(|why| format!("failed to process {}: {why}", quote(text)))
    }
}

/// A text that is being processed.
struct Run<'a, 't> {
    lexer: Lexer<'a>,
    chars: Peekable<Chars<'t>>,
    /// The word that is being collected. Nested substitutions share it, and empty it.
    word: String,
    raw_escapes: bool,
    depth: usize,
}

impl Run<'_, '_> {
    /// Processes up to `stop`, or to the end.
    fn until(
        &mut self,
        stop: Option<char>,
        raw_escapes: bool,
    ) -> Result<(String, Vec<String>), String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("substitutions nest too deeply".to_owned());
        }
        let outer_raw_escapes = std::mem::replace(&mut self.raw_escapes, raw_escapes);
        let result = self.until_inner(stop);
        self.raw_escapes = outer_raw_escapes;
        self.depth -= 1;
        result
    }

    fn until_inner(&mut self, stop: Option<char>) -> Result<(String, Vec<String>), String> {
        self.word.clear();
        let mut words = Words::default();
        let mut result = String::new();
        while let Some(&c) = self.chars.peek() {
            if Some(c) == stop {
                self.chars.next();
                return Ok((result, words.finish(&mut self.word)));
            }
            match c {
                '$' => {
                    let value = self.dollar()?;
                    value.chars().for_each(|c| words.push(&mut self.word, c));
                    result.push_str(&value);
                }
                '\'' | '"' | '<' => {
                    let value = match c {
                        '\'' => self.single_quote()?,
                        '"' => self.double_quote()?,
                        _ => self.less_than(),
                    };
                    words.push_raw(&mut self.word, &value);
                    result.push_str(&value);
                }
                c if c == self.lexer.escape => {
                    self.chars.next();
                    if self.raw_escapes {
                        words.push_raw(&mut self.word, c.encode_utf8(&mut [0; 4]));
                        result.push(c);
                    }
                    let Some(escaped) = self.chars.next() else { break };
                    words.push_raw(&mut self.word, escaped.encode_utf8(&mut [0; 4]));
                    result.push(escaped);
                }
                c => {
                    self.chars.next();
                    words.push(&mut self.word, c);
                    result.push(c);
                }
            }
        }
        match stop {
            None => Ok((result, words.finish(&mut self.word))),
            Some(stop) => {
                Err(format!("unexpected end of statement while looking for matching {stop}"))
            }
        }
    }

    fn single_quote(&mut self) -> Result<String, String> {
        let mut out = String::new();
        out.extend(self.chars.next().filter(|_| self.lexer.raw_quotes));
        loop {
            match self.chars.next() {
                None => {
                    return Err("unexpected end of statement while looking for matching \
                                single-quote"
                        .to_owned());
                }
                Some('\'') => break,
                Some(c) => out.push(c),
            }
        }
        out.extend(self.lexer.raw_quotes.then_some('\''));
        Ok(out)
    }

    fn double_quote(&mut self) -> Result<String, String> {
        let mut out = String::new();
        out.extend(self.chars.next().filter(|_| self.lexer.raw_quotes));
        loop {
            match self.chars.peek() {
                None => {
                    return Err("unexpected end of statement while looking for matching \
                                double-quote"
                        .to_owned());
                }
                Some('$') => out.push_str(&self.dollar()?),
                Some('"') => break,
                Some(&c) => {
                    self.chars.next();
                    self.push_in_quotes(&mut out, c);
                }
            }
        }
        out.extend(self.chars.next().filter(|_| self.lexer.raw_quotes));
        Ok(out)
    }

    /// Adds a character from between double quotes, where only some can be escaped.
    fn push_in_quotes(&mut self, out: &mut String, mut c: char) {
        if c == self.lexer.escape {
            out.extend(self.raw_escapes.then_some(c));
            match self.chars.peek() {
                None => return,
                Some(&next) if next == '"' || next == '$' || next == self.lexer.escape => {
                    self.chars.next();
                    c = next;
                }
                Some(_) => {}
            }
        }
        out.push(c);
    }

    /// Reads `<`, or `<<` with the spaces behind it, which belong to a heredoc's name.
    fn less_than(&mut self) -> String {
        self.chars.next();
        if self.chars.next_if_eq(&'<').is_none() {
            return "<".to_owned();
        }
        let mut out = "<<".to_owned();
        while let Some(space) = self.chars.next_if(|c| matches!(c, '\t' | '\r' | ' ')) {
            out.push(space);
        }
        out
    }

    fn dollar(&mut self) -> Result<String, String> {
        self.chars.next();
        if self.chars.next_if_eq(&'{').is_some() {
            return self.braces();
        }
        let name = self.name();
        if name.is_empty() {
            return Ok("$".to_owned());
        }
        Ok(match (self.lexer.lookup)(&name) {
            None if self.lexer.keep_unset => format!("${name}"),
            value => value.unwrap_or_default(),
        })
    }

    /// Reads what follows `${`.
    fn braces(&mut self) -> Result<String, String> {
        match self.chars.peek() {
            None => return Err(missing("'}'")),
            Some('{' | '}' | ':') => return Err("syntax error: bad substitution".to_owned()),
            Some(_) => {}
        }
        let name = self.name();
        let value = (self.lexer.lookup)(&name);
        let kept = value.is_none() && self.lexer.keep_unset;
        match self.chars.next() {
            Some('}') if kept => Ok(format!("${{{name}}}")),
            Some('}') => Ok(value.unwrap_or_default()),
            Some(':') => {
                let operator = self.chars.next();
                let shown = format!(":{}", operator.unwrap_or('\u{fffd}'));
                match operator {
                    Some(c @ ('+' | '-' | '?')) => self.modified(&name, value, c, &shown),
                    // The reference reads the word before it looks at the operator.
                    Some('#' | '%') => Err(unsupported(&shown)),
                    _ => {
                        self.word_in_braces(false)?;
                        if kept { Ok(String::new()) } else { Err(unsupported(&shown)) }
                    }
                }
            }
            Some(c @ ('+' | '-' | '?' | '#' | '%')) => {
                self.modified(&name, value, c, c.encode_utf8(&mut [0; 4]))
            }
            Some('/') => self.replaced(&name, value),
            c => Err(unsupported(&c.unwrap_or('\u{fffd}').to_string())),
        }
    }

    fn word_in_braces(&mut self, raw_escapes: bool) -> Result<String, String> {
        self.part('}', raw_escapes, "'}'")
    }

    fn part(&mut self, stop: char, raw_escapes: bool, what: &str) -> Result<String, String> {
        match self.until(Some(stop), raw_escapes) {
            Ok((word, _)) => Ok(word),
            Err(_) if self.chars.peek().is_none() => Err(missing(what)),
            Err(why) => Err(why),
        }
    }

    /// Applies `-`, `+`, `?`, `#` or `%`; `shown` is the operator with its colon.
    fn modified(
        &mut self,
        name: &str,
        value: Option<String>,
        operator: char,
        shown: &str,
    ) -> Result<String, String> {
        let trims = operator == '#' || operator == '%';
        let word = self.word_in_braces(trims)?;
        if self.lexer.keep_unset && value.is_none() {
            return Ok(format!("${{{name}{shown}{word}}}"));
        }
        let empty_is_unset = shown.starts_with(':');
        let set = value.as_ref().is_some_and(|value| !(empty_is_unset && value.is_empty()));
        match (operator, set) {
            ('-', false) | ('+', true) => Ok(word),
            ('-' | '?', true) => Ok(value.unwrap_or_default()),
            ('+', false) => Ok(String::new()),
            ('?', false) => {
                let state = if value.is_none() { "unset" } else { "empty" };
                let default = format!("is not allowed to be {state}");
                Err(format!("{name}: {}", if word.is_empty() { default } else { word }))
            }
            _ => {
                let (pattern, greedy) = match word.strip_prefix(operator) {
                    Some(pattern) => (pattern, true),
                    None => (word.as_str(), false),
                };
                let value = value.unwrap_or_default();
                if operator == '#' {
                    trim_prefix(pattern, &value, greedy)
                } else {
                    trim_suffix(pattern, &value, greedy)
                }
            }
        }
    }

    /// Applies `/pattern/replacement`.
    fn replaced(&mut self, name: &str, value: Option<String>) -> Result<String, String> {
        let all = self.chars.next_if_eq(&'/').is_some();
        let pattern = self.part('/', true, "'/' in ${}")?;
        let replacement = self.part('}', true, "'}'")?;
        if self.lexer.keep_unset && value.is_none() {
            return Ok(format!("${{{name}/{pattern}/{replacement}}}"));
        }
        let value = value.unwrap_or_default();
        let regex = shell_pattern(&pattern, true, false)?;
        if all {
            return Ok(regex.replace_all(&value, replacement.as_str()).into_owned());
        }
        Ok(regex.replacen(&value, 1, regex::NoExpand(&replacement)).into_owned())
    }

    /// Reads a variable's name: a number, a special parameter, or letters, digits and `_`.
    fn name(&mut self) -> String {
        let mut name = String::new();
        match self.chars.peek() {
            Some(c) if c.is_ascii_digit() => {
                while let Some(digit) = self.chars.next_if(char::is_ascii_digit) {
                    name.push(digit);
                }
            }
            Some('@' | '*' | '#' | '?' | '-' | '$' | '!') => name.extend(self.chars.next()),
            _ => {
                while let Some(c) = self.chars.next_if(|c| c.is_alphanumeric() || *c == '_') {
                    name.push(c);
                }
            }
        }
        name
    }
}

/// Collects words.
#[derive(Default)]
struct Words {
    words: Vec<String>,
    in_word: bool,
}

impl Words {
    fn push(&mut self, word: &mut String, c: char) {
        if !c.is_whitespace() {
            self.push_raw(word, c.encode_utf8(&mut [0; 4]));
        } else if self.in_word && !word.is_empty() {
            self.words.push(std::mem::take(word));
            self.in_word = false;
        }
    }

    fn push_raw(&mut self, word: &mut String, text: &str) {
        word.push_str(text);
        self.in_word = true;
    }

    fn finish(mut self, word: &mut String) -> Vec<String> {
        if !word.is_empty() {
            self.words.push(std::mem::take(word));
        }
        self.words
    }
}

fn missing(what: &str) -> String {
    format!("syntax error: missing {what}")
}

fn unsupported(operator: &str) -> String {
    format!("unsupported modifier ({operator}) in substitution")
}

fn trim_prefix(pattern: &str, value: &str, greedy: bool) -> Result<String, String> {
    let regex = shell_pattern(pattern, greedy, true)?;
    Ok(regex.find(value).map_or(value, |found| &value[found.end()..]).to_owned())
}

/// Trims the end by turning both texts around, since the shortest match has to end at the end.
fn trim_suffix(pattern: &str, value: &str, greedy: bool) -> Result<String, String> {
    let reversed: String = value.chars().rev().collect();
    let trimmed = trim_prefix(&reverse_pattern(pattern), &reversed, greedy)?;
    Ok(trimmed.chars().rev().collect())
}

/// Turns a pattern around, while escaped characters stay behind their backslash.
fn reverse_pattern(pattern: &str) -> String {
    let mut pieces = Vec::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        let escaped = if c == '\\' { chars.next() } else { None };
        pieces.push([Some(c), escaped]);
    }
    pieces.into_iter().rev().flatten().flatten().collect()
}

/// Turns `*` and `?` into a regular expression.
fn shell_pattern(pattern: &str, greedy: bool, anchored: bool) -> Result<Regex, String> {
    let fail = |why: String| format!("invalid pattern ({pattern}) in substitution: {why}");
    let mut out = String::from(if anchored { "^" } else { "" });
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '*' => out.push_str(if greedy { ".*" } else { ".*?" }),
            '?' => out.push('.'),
            // A slash or brace is escaped only for the sake of the substitution.
            '\\' if matches!(chars.peek(), Some('}' | '/')) => {}
            '\\' => match chars.next() {
                Some(c @ ('*' | '?' | '\\')) => out.extend(['\\', c]),
                c => return Err(fail(format!("invalid escape '\\{}'", c.unwrap_or('\u{fffd}')))),
            },
            '[' | ']' | '{' | '}' | '.' | '+' | '(' | ')' | '|' | '^' | '$' => {
                out.extend(['\\', c]);
            }
            c => out.push(c),
        }
    }
    regexp::compile(&out).map_err(|why| fail(why.to_string()))
}

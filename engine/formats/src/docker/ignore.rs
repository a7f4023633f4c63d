//! Decides which files an ignore file (`.dockerignore`, `.tiltignore`) or an `ignore` argument
//! leaves out, with the rules of Docker's pattern matcher as Tilt applies them.

use regex::Regex;

use crate::golang::{path, regexp};

mod glob;
mod rule;

pub use rule::Rule;

/// A pattern or ignore file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IgnoreError {
    /// A pattern is malformed.
    #[error("syntax error in pattern")]
    BadPattern,
    /// A line is longer than 64 KiB.
    #[error("bufio.Scanner: token too long")]
    LineTooLong,
}

/// The longest line that the reference reads, in bytes.
const LINE_MAX: usize = 64 * 1024;

/// Reads the patterns of an ignore file.
pub fn read_patterns(text: &str) -> Result<Vec<String>, IgnoreError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut patterns = Vec::new();
    for line in text.split('\n') {
        if line.len() >= LINE_MAX {
            return Err(IgnoreError::LineTooLong);
        }
        if line.starts_with('#') {
            continue;
        }
        let line = line.trim();
        let (mark, pattern) = match line.strip_prefix('!') {
            Some(pattern) => ("!", pattern.trim()),
            None => ("", line),
        };
        if line.is_empty() {
            continue;
        }
        let mut cleaned = String::new();
        if !pattern.is_empty() {
            cleaned = path::clean(pattern);
            if cleaned.len() > 1 && cleaned.starts_with('/') {
                cleaned.remove(0);
            }
        }
        patterns.push(format!("{mark}{cleaned}"));
    }
    Ok(patterns)
}

/// Tells the files that patterns leave out.
#[derive(Debug, Clone)]
pub struct PathMatcher {
    root: String,
    patterns: Vec<Pattern>,
}

#[derive(Debug, Clone)]
struct Pattern {
    /// The absolute pattern.
    text: String,
    /// Whether matching files are kept after all.
    exclusion: bool,
    regex: Regex,
}

impl PathMatcher {
    /// Prepares patterns that are relative to the absolute directory `root`.
    pub fn new<S: AsRef<str>>(root: &str, patterns: &[S]) -> Result<Self, IgnoreError> {
        let root = path::clean(root);
        let mut compiled = Vec::new();
        for pattern in patterns {
            let pattern = pattern.as_ref().trim();
            if !pattern.is_empty() {
                compiled.push(Pattern::new(&root, pattern)?);
            }
        }
        Ok(Self { root, patterns: compiled })
    }

    /// Whether a file is left out; the last pattern that matches it or one of its parents decides.
    pub fn matches(&self, file: &str) -> bool {
        let joined;
        let file = if path::is_abs(file) {
            file
        } else {
            joined = path::join(&[self.root.as_str(), file]);
            &joined
        };
        let last = self.patterns.iter().rev().find(|pattern| pattern.regex.is_match(file));
        last.is_some_and(|pattern| !pattern.exclusion)
    }

    /// Whether a directory and everything that could be in it is left out. In doubt it is not.
    pub fn matches_entire_dir(&self, dir: &str) -> bool {
        let may_keep = |pattern: &Pattern| {
            let prefix = definite_prefix(&pattern.text);
            path::is_child(dir, &pattern.text)
                || (prefix != pattern.text && path::is_child(&prefix, dir))
        };
        self.matches(dir)
            && !self.patterns.iter().any(|pattern| pattern.exclusion && may_keep(pattern))
    }
}

impl Pattern {
    fn new(root: &str, pattern: &str) -> Result<Self, IgnoreError> {
        let cleaned = path::clean(pattern);
        let (relative, exclusion) = match cleaned.strip_prefix('!') {
            Some(rest) => (rest, true),
            None => (cleaned.as_str(), false),
        };
        let absolute = if path::is_abs(relative) {
            relative.to_owned()
        } else {
            path::join(&[root, relative])
        };
        let text = path::clean(&absolute);
        if !glob::is_well_formed(&text) {
            return Err(IgnoreError::BadPattern);
        }
        let regex = regexp::compile(&to_regexp(&text)).map_err(|_| IgnoreError::BadPattern)?;
        Ok(Self { text, exclusion, regex })
    }
}

/// The directory that a pattern names before its first `*`.
fn definite_prefix(pattern: &str) -> String {
    let definite: Vec<&str> = pattern.split('/').take_while(|part| !part.contains('*')).collect();
    if definite.is_empty() { ".".to_owned() } else { definite.join("/") }
}

/// Writes a pattern as a regular expression that also matches everything below.
fn to_regexp(pattern: &str) -> String {
    let mut out = String::from("^");
    let mut rest = pattern.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '*' if rest.next_if_eq(&'*').is_some() => {
                rest.next_if_eq(&'/');
                out.push_str(if rest.peek().is_none() { ".*" } else { "(.*/)?" });
            }
            '*' => out.push_str("[^/]*"),
            '?' => out.push_str("[^/]"),
            '.' | '+' | '(' | ')' | '|' | '{' | '}' | '$' => out.extend(['\\', c]),
            '\\' => {
                out.push('\\');
                out.extend(rest.next());
            }
            c => out.push(c),
        }
    }
    out.push_str("(/.*)?$");
    out
}

#[cfg(test)]
mod tests;

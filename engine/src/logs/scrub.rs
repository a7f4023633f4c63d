//! Keeps secrets out of what people see: which text is replaced, and how much of an unfinished line must be
//! held back because a secret may have begun in it.

use std::{borrow::Cow, collections::BTreeMap};

use aho_corasick::Input;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use engine_model::Secret;
use serde_json::Value;

mod fixed;
mod forms;
mod search;
#[cfg(test)]
pub(super) mod tests;

use search::Search;

/// Shorter values would redact half of the log.
const MIN_SECRET: usize = 5;

/// Replaces all known secrets in one pass over the text.
#[derive(Debug, Default)]
pub struct Scrubber {
    /// What each value is replaced by.
    known: BTreeMap<Vec<u8>, String>,
    search: Option<Search>,
}

impl Scrubber {
    /// A scrubber that knows these secrets too; nothing if it would know no more than this one.
    pub fn extended(&self, secrets: &BTreeMap<String, Secret>) -> Option<Self> {
        let mut known = self.known.clone();
        for secret in secrets.values() {
            let Ok(value) = BASE64_STANDARD.decode(&secret.value) else { continue };
            if value.len() < MIN_SECRET {
                continue;
            }
            let replacement = BASE64_STANDARD
                .decode(&secret.replacement)
                .ok()
                .and_then(|it| String::from_utf8(it).ok())
                .unwrap_or_else(|| format!("[redacted secret {}:{}]", secret.name, secret.key));
            known.insert(value, replacement);
        }
        if known == self.known {
            return None;
        }
        let search = Search::new(&forms::of(&known), fixed::texts());
        Some(Self { known, search })
    }

    /// Whether no secrets are known.
    pub fn is_empty(&self) -> bool {
        self.search.is_none()
    }

    /// The text without secrets; where several overlap, the first and then the longest one is replaced.
    pub fn scrub<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let Some(search) = &self.search else { return Cow::Borrowed(text) };
        replace(search, text, |_, text, _| text.len()).0
    }

    /// The value without secrets in any of its texts.
    pub fn scrub_value(&self, value: Value) -> Value {
        match value {
            _ if self.is_empty() => value,
            Value::String(text) => Value::String(self.scrub(&text).into_owned()),
            Value::Array(items) => items.into_iter().map(|it| self.scrub_value(it)).collect(),
            Value::Object(fields) => {
                fields.into_iter().map(|(key, it)| (key, self.scrub_value(it))).collect()
            }
            other => other,
        }
    }

    /// The text without secrets up to a place where one may have begun, and that place. However a text is cut into
    /// pieces, what is after the place is to be put in front of the next piece.
    pub(super) fn scrub_finished<'t>(&self, text: &'t str) -> (Cow<'t, str>, usize) {
        let Some(search) = &self.search else { return (Cow::Borrowed(text), text.len()) };
        replace(search, text, Search::unfinished)
    }
}

/// Replaces what begins before the place where a secret may have begun. The function finds that place in a text, of
/// which everything before an index is done with.
fn replace<'t>(
    search: &Search,
    text: &'t str,
    unfinished: impl Fn(&Search, &[u8], usize) -> usize,
) -> (Cow<'t, str>, usize) {
    let mut out = String::new();
    let mut done = 0;
    let mut cut = unfinished(search, text.as_bytes(), done);
    while let Some(found) = search.find(Input::new(text).range(done..)) {
        if found.start() >= cut {
            break;
        }
        out.push_str(&text[done..found.start()]);
        let secret = &text[found.range()];
        match search.replacement(found.pattern()) {
            Some(replacement) => push_lines(&mut out, secret, replacement),
            None => out.push_str(secret),
        }
        done = found.end();
        if cut < done {
            cut = unfinished(search, text.as_bytes(), done);
        }
    }
    if done == 0 {
        return (Cow::Borrowed(&text[..cut]), cut);
    }
    out.push_str(&text[done..cut]);
    (Cow::Owned(out), cut)
}

/// Writes the replacement for each line of a secret; the line breaks stay.
fn push_lines(out: &mut String, secret: &str, replacement: &str) {
    for line in secret.split_inclusive('\n') {
        let content = line.trim_end_matches(['\r', '\n']);
        if !content.is_empty() {
            out.push_str(replacement);
        }
        out.push_str(&line[content.len()..]);
    }
}

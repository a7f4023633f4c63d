//! Keeps secrets out of what people see: which text is replaced, and how much of an unfinished line must be
//! held back because a secret may have begun in it.

use std::{borrow::Cow, collections::BTreeMap};

use aho_corasick::{
    AhoCorasick, Anchored, MatchKind, automaton::Automaton as _, nfa::noncontiguous::NFA,
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use engine_model::Secret;

/// Shorter values would redact half of the log.
const MIN_SECRET: usize = 5;

/// Replaces all known secrets in one pass over the text.
#[derive(Debug, Default)]
pub struct Scrubber {
    replacements: BTreeMap<String, String>,
    search: Option<Search>,
}

#[derive(Debug)]
struct Search {
    finder: AhoCorasick,
    /// Knows at each place of a text whether the beginning of a secret ends there.
    prefixes: NFA,
    /// What each pattern is replaced by, by its number.
    by_pattern: Vec<String>,
    longest: usize,
    has_newline: bool,
}

impl Scrubber {
    /// A scrubber that knows these secrets too; nothing if it would know no more than this one.
    #[must_use]
    pub fn extended(&self, secrets: &BTreeMap<String, Secret>) -> Option<Self> {
        let mut replacements = self.replacements.clone();
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
            // Logs are text, so that a value that is none can only appear in its base64 form.
            if let Ok(text) = String::from_utf8(value.clone()) {
                replacements.insert(text, replacement.clone());
            }
            replacements.insert(BASE64_STANDARD.encode(&value), replacement);
        }
        if replacements == self.replacements {
            return None;
        }
        let search = Search::new(&replacements);
        Some(Self { replacements, search })
    }

    /// Whether no secrets are known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.search.is_none()
    }

    /// The text without secrets; where several overlap, the first and then the longest one is replaced.
    #[must_use]
    pub fn scrub<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let Some(search) = &self.search else { return Cow::Borrowed(text) };
        let mut out = String::new();
        let mut done = 0;
        for found in search.finder.find_iter(text) {
            out.push_str(&text[done..found.start()]);
            out.push_str(&search.by_pattern[found.pattern().as_usize()]);
            done = found.end();
        }
        if done == 0 {
            return Cow::Borrowed(text);
        }
        out.push_str(&text[done..]);
        Cow::Owned(out)
    }

    /// The text without secrets up to a place where one may have begun, and that place.
    pub(super) fn scrub_finished<'t>(&self, text: &'t str) -> (Cow<'t, str>, usize) {
        let mut cut = text.len() - self.unfinished(text);
        if let Some(search) = self.search.as_ref().filter(|_| cut < text.len()) {
            let across = |it: &aho_corasick::Match| it.start() < cut && cut < it.end();
            if let Some(found) = search.finder.find_iter(text).find(across) {
                cut = found.start();
            }
        }
        (self.scrub(&text[..cut]), cut)
    }

    /// How many bytes at the end of a text may be the beginning of a secret.
    fn unfinished(&self, text: &str) -> usize {
        let Some(search) = &self.search else { return 0 };
        if text.ends_with('\n') && !search.has_newline {
            return 0;
        }
        let mut from = text.len().saturating_sub(search.longest - 1);
        while !text.is_char_boundary(from) {
            from += 1;
        }
        let Ok(mut state) = search.prefixes.start_state(Anchored::No) else { return 0 };
        let start = state;
        let mut begun = text.len();
        for (at, &byte) in text.as_bytes().iter().enumerate().skip(from) {
            let before = state;
            state = search.prefixes.next_state(Anchored::No, state, byte);
            if state == start {
                begun = text.len();
            } else if before == start {
                begun = at;
            }
        }
        while !text.is_char_boundary(begun) {
            begun -= 1;
        }
        text.len() - begun
    }
}

impl Search {
    fn new(replacements: &BTreeMap<String, String>) -> Option<Self> {
        let patterns: Vec<&str> = replacements.keys().map(String::as_str).collect();
        // Only absurdly large sets are refused by the automaton.
        let finder =
            AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&patterns).ok()?;
        let prefixes = NFA::builder().build(&patterns).ok()?;
        Some(Self {
            finder,
            prefixes,
            by_pattern: replacements.values().cloned().collect(),
            longest: patterns.iter().map(|it| it.len()).max().unwrap_or(1),
            has_newline: patterns.iter().any(|it| it.contains('\n')),
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Secrets as a load has them.
    pub(in crate::logs) fn secrets(values: &[(&str, &str)]) -> BTreeMap<String, Secret> {
        let secret = |key: &str, value: &str| Secret {
            name: "creds".to_owned(),
            key: key.to_owned(),
            value: BASE64_STANDARD.encode(value),
            value_encoded: BASE64_STANDARD.encode(BASE64_STANDARD.encode(value)),
            replacement: BASE64_STANDARD.encode(format!("[redacted secret creds:{key}]")),
        };
        values.iter().map(|(key, value)| ((*value).to_owned(), secret(key, value))).collect()
    }

    fn scrubber(values: &[(&str, &str)]) -> Scrubber {
        Scrubber::default().extended(&secrets(values)).unwrap()
    }

    #[test]
    fn values_and_their_base64_forms_are_replaced() {
        let scrubber =
            scrubber(&[("password", "hunter22"), ("pem", "line1\nline2"), ("ä", "größe1")]);
        let cases = [
            ("value is hunter22.", "value is [redacted secret creds:password]."),
            ("aHVudGVyMjI=", "[redacted secret creds:password]"),
            (
                "hunter22hunter22",
                "[redacted secret creds:password][redacted secret creds:password]",
            ),
            ("cat: line1\nline2\n", "cat: [redacted secret creds:pem]\n"),
            ("größe1größe", "[redacted secret creds:ä]größe"),
            ("nothing hunter2", "nothing hunter2"),
            ("", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(scrubber.scrub(text), expected);
        }
    }

    #[test]
    fn short_values_stay_and_known_ones_change_nothing() {
        assert!(Scrubber::default().extended(&secrets(&[("short", "abcd")])).is_none());
        let known = scrubber(&[("password", "hunter22")]);
        assert!(known.extended(&secrets(&[("password", "hunter22")])).is_none());
        let more = known.extended(&secrets(&[("other", "topsecret")])).unwrap();
        assert_eq!(
            more.scrub("hunter22 topsecret"),
            "[redacted secret creds:password] [redacted secret creds:other]"
        );
    }

    #[test]
    fn of_overlapping_secrets_the_longest_wins() {
        let scrubber = scrubber(&[("a", "secret"), ("b", "secret-long")]);
        assert_eq!(scrubber.scrub("secret-long"), "[redacted secret creds:b]");
        assert_eq!(scrubber.scrub("secret-lon"), "[redacted secret creds:a]-lon");
    }

    #[test]
    fn what_may_be_the_beginning_of_a_secret_is_known() {
        let scrubber = scrubber(&[("password", "hunter22"), ("ä", "größe1")]);
        let cases = [
            ("value hunt", 4),
            ("value hunter2", 7),
            ("hunter of x", 0),
            ("value\n", 0),
            ("hunt\n", 0),
            ("die grö", 4),
            ("", 0),
            ("hhhh", 4),
        ];
        for (text, expected) in cases {
            assert_eq!(scrubber.unfinished(text), expected, "{text}");
        }
        assert_eq!(Scrubber::default().unfinished("hunt"), 0);
    }
}

//! Finds secrets in text, and the places at its end where one may have begun.

use std::collections::BTreeMap;

use aho_corasick::{
    AhoCorasick, Anchored, Input, Match, MatchKind, PatternID, automaton::Automaton as _,
    nfa::noncontiguous::NFA,
};

/// A search for many texts at once.
#[derive(Debug)]
pub(super) struct Search {
    finder: AhoCorasick,
    prefixes: Prefixes,
    /// What each pattern is replaced by, by its number; nothing for what stays as it is.
    replacements: Vec<Option<String>>,
}

impl Search {
    /// A search for secrets, which leaves some other texts alone even if there are secrets in them.
    pub(super) fn new(secrets: &BTreeMap<String, String>, fixed: &[&str]) -> Option<Self> {
        let patterns: Vec<&str> = secrets.keys().map(String::as_str).collect();
        let finder = finder(&patterns)?;
        // A secret that is a part of what another one is replaced by must not be found there later.
        let replacements = secrets.values().map(String::as_str);
        let kept = fixed.iter().copied().chain(replacements).filter(|it| finder.is_match(*it));
        let mut all: BTreeMap<&str, Option<&String>> =
            secrets.iter().map(|(text, replacement)| (text.as_str(), Some(replacement))).collect();
        all.extend(kept.map(|it| (it, None)));
        let patterns: Vec<&str> = all.keys().copied().collect();
        let is_same = patterns.len() == secrets.len();
        Some(Self {
            finder: if is_same { finder } else { self::finder(&patterns)? },
            prefixes: Prefixes::new(&patterns)?,
            replacements: all.into_values().map(Option::<&String>::cloned).collect(),
        })
    }

    /// The first and then longest pattern.
    pub(super) fn find(&self, input: Input<'_>) -> Option<Match> {
        self.finder.find(input)
    }

    /// What a pattern is replaced by; nothing for what stays as it is.
    pub(super) fn replacement(&self, pattern: PatternID) -> Option<&str> {
        self.replacements[pattern.as_usize()].as_deref()
    }

    /// Where in a text, after an index, a pattern begins that may go on after its end; the end if there is none.
    pub(super) fn unfinished(&self, text: &[u8], from: usize) -> usize {
        text.len() - self.prefixes.at_end(&text[from..])
    }
}

fn finder(patterns: &[&str]) -> Option<AhoCorasick> {
    // Only absurdly large sets are refused by the automaton.
    AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(patterns).ok()
}

/// Knows at each place of a text whether the beginning of a pattern ends there.
#[derive(Debug)]
struct Prefixes {
    states: NFA,
    /// For each state: the length of the longest beginning of a pattern that ends there, without whole patterns
    /// that are no beginnings of longer ones.
    lengths: Vec<usize>,
    /// The longest pattern in one line, and the longest one with line breaks.
    longest_line: usize,
    longest_lines: usize,
}

impl Prefixes {
    fn new(patterns: &[&str]) -> Option<Self> {
        let states = NFA::builder().build(patterns).ok()?;
        let longest = |has_break: bool| {
            let lengths = patterns.iter().filter(|it| it.contains('\n') == has_break);
            lengths.map(|it| it.len()).max().unwrap_or(0)
        };
        let (longest_line, longest_lines) = (longest(false), longest(true));
        let mut prefixes = Self { states, lengths: Vec::new(), longest_line, longest_lines };
        // Within a pattern, each state stands for the beginning that leads to it.
        for pattern in patterns {
            for (at, state) in prefixes.walk(pattern.as_bytes()).into_iter().enumerate().skip(1) {
                if at < pattern.len() {
                    prefixes.set(state, at);
                }
            }
        }
        // The end of a pattern may be the beginning of another, which may end within a shorter one.
        let mut by_length = patterns.to_vec();
        by_length.sort_unstable_by_key(|it| it.len());
        for pattern in by_length {
            let end = |it: &Self, bytes: &[u8]| it.walk(bytes).last().copied().unwrap_or(0);
            let whole = end(&prefixes, pattern.as_bytes());
            if prefixes.lengths.get(whole).is_none_or(|it| *it == 0) {
                let rest = end(&prefixes, &pattern.as_bytes()[1..]);
                let length = prefixes.lengths.get(rest).copied().unwrap_or(0);
                prefixes.set(whole, length);
            }
        }
        Some(prefixes)
    }

    /// The states that a text leads to, from the one at its start to the one at its end.
    fn walk(&self, text: &[u8]) -> Vec<usize> {
        let Ok(mut state) = self.states.start_state(Anchored::No) else { return Vec::new() };
        let mut states = vec![state.as_usize()];
        for &byte in text {
            state = self.states.next_state(Anchored::No, state, byte);
            states.push(state.as_usize());
        }
        states
    }

    fn set(&mut self, state: usize, length: usize) {
        if self.lengths.len() <= state {
            self.lengths.resize(state + 1, 0);
        }
        self.lengths[state] = length;
    }

    /// How many bytes at the end of a text may be the beginning of a pattern.
    fn at_end(&self, text: &[u8]) -> usize {
        let line = text.iter().rev().take(self.longest_line).take_while(|it| **it != b'\n').count();
        let lines = self.longest_lines.saturating_sub(1).min(text.len());
        let Ok(mut state) = self.states.start_state(Anchored::No) else { return 0 };
        for &byte in &text[text.len() - line.max(lines)..] {
            state = self.states.next_state(Anchored::No, state, byte);
        }
        self.lengths.get(state.as_usize()).copied().unwrap_or(0)
    }
}

//! Replaces what differs from run to run by stable names.

use std::path::Path;

use fancy_regex::{Captures, Regex};
use serde_json::{Map, Value};

use crate::{
    extensions,
    sandbox::{PUBLIC_EXTENSIONS, Sandbox},
};

/// Object keys that are dropped wherever they appear.
const DROPPED_KEYS: [&str; 1] = ["sinceTime"];

/// Object keys that are dropped from the outermost object.
const DROPPED_TOP_KEYS: [&str; 1] = ["Hashes"];

/// The replacements for one run: paths first, the longest first, then the masks of the case.
#[derive(Debug)]
pub(crate) struct Scrubber {
    paths: Vec<(String, &'static str)>,
    masks: Vec<(Regex, Template)>,
}

impl Scrubber {
    /// The replacements for a run of `binary` in a sandbox.
    pub(crate) fn new(
        sandbox: &Sandbox,
        binary: Option<&Path>,
        masks: &[(String, String)],
    ) -> Result<Self, Box<fancy_regex::Error>> {
        let public = sandbox.home.join(PUBLIC_EXTENSIONS);
        let ours = sandbox.home.join(".local/share/engine/stdlib").join(env!("CARGO_PKG_VERSION"));
        let mut paths: Vec<(String, &'static str)> = [
            (Some(public.as_path()), extensions::ROOT),
            (Some(&ours), extensions::ROOT),
            (Some(sandbox.work.as_path()), "$DIR"),
            (Some(&sandbox.home), "$HOME"),
            (Some(&sandbox.kubeconfig), "$KUBECONFIG"),
            (Some(&sandbox.root), "$TMP"),
            (binary, "$BIN"),
        ]
        .into_iter()
        .filter_map(|(path, name)| Some((path?.to_string_lossy().into_owned(), name)))
        .collect();
        paths.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        let masks = masks
            .iter()
            .map(|(pattern, replacement)| {
                let pattern = Regex::new(&format!("(?m){pattern}")).map_err(Box::new)?;
                Ok((pattern, Template::parse(replacement)))
            })
            .collect::<Result<_, Box<fancy_regex::Error>>>()?;
        Ok(Self { paths, masks })
    }

    /// A text with everything replaced.
    pub(crate) fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (path, name) in &self.paths {
            if text.contains(path) {
                text = text.replace(path, name);
            }
        }
        for (pattern, template) in &self.masks {
            text =
                pattern.replace_all(&text, |found: &Captures| template.expand(found)).into_owned();
        }
        text
    }

    /// A whole result with every key and text replaced, and unstable keys dropped.
    pub(crate) fn result(&self, value: Value) -> Value {
        match value {
            Value::Object(map) => self.object(
                map.into_iter()
                    .filter(|(key, _)| !DROPPED_TOP_KEYS.contains(&key.as_str()))
                    .collect(),
            ),
            other => self.value(other),
        }
    }

    fn value(&self, value: Value) -> Value {
        match value {
            Value::Object(map) => self.object(map),
            Value::Array(items) => items.into_iter().map(|it| self.value(it)).collect(),
            Value::String(text) => Value::String(self.text(&text)),
            other => other,
        }
    }

    fn object(&self, map: Map<String, Value>) -> Value {
        map.into_iter()
            .filter(|(key, _)| !DROPPED_KEYS.contains(&key.as_str()))
            .map(|(key, value)| (self.text(&key), self.value(value)))
            .collect()
    }

    /// The lines of a log, without the two that frame it.
    pub(crate) fn log(&self, text: &str) -> Vec<String> {
        let text = self.text(text);
        let mut lines: Vec<&str> = text.split('\n').collect();
        if lines.last().is_some_and(|line| line.is_empty()) {
            lines.pop();
        }
        if lines.first().is_some_and(|line| line.starts_with("Loading Tiltfile at: ")) {
            lines.remove(0);
        }
        let loaded =
            |line: &&str| line.starts_with("Successfully loaded Tiltfile (") && line.ends_with(')');
        if lines.last().is_some_and(loaded) {
            lines.pop();
        }
        let kept = lines.into_iter().filter(|line| !extensions::is_frame(line));
        kept.map(str::to_owned).collect()
    }
}

/// A replacement in the notation of Python: `\1` is a group, every other text is literal.
#[derive(Debug)]
struct Template(Vec<Part>);

#[derive(Debug, PartialEq)]
enum Part {
    Literal(String),
    Group(usize),
}

impl Template {
    fn parse(text: &str) -> Self {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            if c != '\\' {
                literal.push(c);
                continue;
            }
            match chars.next() {
                Some(digit) if digit.is_ascii_digit() => {
                    parts.push(Part::Literal(std::mem::take(&mut literal)));
                    parts.push(Part::Group(digit as usize - '0' as usize));
                }
                Some('n') => literal.push('\n'),
                Some('t') => literal.push('\t'),
                Some(other) => literal.push(other),
                None => literal.push('\\'),
            }
        }
        parts.push(Part::Literal(literal));
        Self(parts)
    }

    fn expand(&self, found: &Captures) -> String {
        self.0
            .iter()
            .map(|part| match part {
                Part::Literal(text) => text.as_str(),
                Part::Group(n) => found.get(*n).map_or("", |it| it.as_str()),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(mask: (&str, &str), input: &str, expected: &str) {
        let masks = [(Regex::new(&format!("(?m){}", mask.0)).unwrap(), Template::parse(mask.1))];
        let scrubber = Scrubber {
            paths: vec![("/tmp/x/project".to_owned(), "$DIR"), ("/tmp/x".to_owned(), "$TMP")],
            masks: masks.into(),
        };
        assert_eq!(scrubber.text(input), expected);
    }

    #[test]
    fn paths_become_names_with_the_longest_first() {
        check(("never", ""), "/tmp/x/project/a /tmp/x/b", "$DIR/a $TMP/b");
    }

    #[test]
    fn masks_are_python_patterns() {
        check(
            ("^(error: (?!exit)|E\\d{4} ).*$", "E"),
            "error: no\nerror: exit 1",
            "E\nerror: exit 1",
        );
        check(("(a)(b)", "\\2$1\\1"), "ab", "b$1a");
        check((r#"\\""#, "\""), r#"say \"hi\""#, r#"say "hi""#);
    }

    #[test]
    fn unstable_keys_are_dropped() {
        let scrubber = Scrubber { paths: Vec::new(), masks: Vec::new() };
        let value = serde_json::json!({"Hashes": 1, "a": {"Hashes": 2, "sinceTime": 3}});
        assert_eq!(scrubber.result(value), serde_json::json!({"a": {"Hashes": 2}}));
    }

    #[test]
    fn the_frame_of_a_log_is_dropped() {
        let scrubber = Scrubber { paths: Vec::new(), masks: Vec::new() };
        let log = "Loading Tiltfile at: /x\nhello\n\nSuccessfully loaded Tiltfile (1ms)\n";
        assert_eq!(scrubber.log(log), ["hello", ""]);
    }
}

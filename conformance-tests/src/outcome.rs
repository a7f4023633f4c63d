//! The normalized result of one run, in the shape in which results are recorded.

use std::{collections::BTreeMap, sync::LazyLock};

use regex::Regex;
use serde_json::{Value, json, ser::PrettyFormatter};

const TRACEBACK: &str = "Traceback (most recent call last):";
const KEPT_FRAMES: usize = 2;

/// A line of a traceback.
pub(crate) static FRAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^  (?P<position>.+?): in (?P<name>.+)$").expect("the pattern is valid")
});

/// What an engine answered for a case.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The exit code; minus the signal's number if a signal ended the process.
    pub exit_code: i32,
    /// The result, if the exit code is 0.
    pub value: Option<Value>,
    /// What went to stderr, without the lines that frame the log.
    pub stderr: Vec<String>,
}

impl Outcome {
    /// Whether evaluation succeeded.
    pub fn succeeded(&self) -> bool {
        self.exit_code == 0
    }

    /// What the Tiltfile printed: everything before the error, if there is one.
    pub fn log(&self) -> &[String] {
        if self.succeeded() { &self.stderr } else { &self.stderr[..self.error_start()] }
    }

    /// The last frames of the traceback, if there is one, then the message.
    pub fn error(&self) -> &[String] {
        let lines = &self.stderr[self.error_start()..];
        let Some((TRACEBACK, rest)) = lines.split_first().map(|(it, rest)| (it.as_str(), rest))
        else {
            return lines;
        };
        let n_frames = rest.iter().take_while(|line| FRAME.is_match(line)).count();
        &rest[n_frames.saturating_sub(KEPT_FRAMES)..]
    }

    /// The end of stderr, for messages.
    pub fn last_words(&self) -> String {
        let said: Vec<_> =
            self.stderr.iter().map(|it| it.trim()).filter(|it| !it.is_empty()).collect();
        if said.is_empty() {
            return "no output".to_owned();
        }
        said[said.len().saturating_sub(3)..].join(" / ")
    }

    fn error_start(&self) -> usize {
        self.stderr.iter().rposition(|line| line == TRACEBACK).unwrap_or(0)
    }

    /// The recorded form: file names with their text.
    pub fn files(&self) -> BTreeMap<&'static str, String> {
        let mut files = BTreeMap::new();
        if self.succeeded() {
            files.insert("expected.json", pretty(self.value.as_ref().unwrap_or(&Value::Null)));
        } else {
            let code = format!("exit code {}", self.exit_code);
            files.insert("expected.error", joined(std::iter::once(&code).chain(self.error())));
        }
        if !self.log().is_empty() {
            files.insert("expected.log", joined(self.log()));
        }
        files
    }
}

/// Sorts Docker Compose resources by name among themselves, as Tilt visits them in random order.
pub(crate) fn order_compose(result: &mut Value) {
    let mut names = Vec::new();
    if let Some(manifests) = result.get_mut("Manifests").and_then(Value::as_array_mut) {
        let spots: Vec<usize> = (0..manifests.len())
            .filter(|&i| manifests[i].pointer("/DeployTarget/ServiceYAML").is_some())
            .collect();
        let mut services: Vec<Value> = spots.iter().map(|&i| manifests[i].take()).collect();
        services.sort_by(|a, b| name_of(a).cmp(name_of(b)));
        names = services.iter().map(|it| name_of(it).to_owned()).collect();
        for (i, service) in spots.into_iter().zip(services) {
            manifests[i] = service;
        }
    }
    if let Some(enabled) = result.get_mut("EnabledManifests").and_then(Value::as_array_mut) {
        let is_service = |it: &Value| it.as_str().is_some_and(|it| names.iter().any(|n| n == it));
        let spots: Vec<usize> = (0..enabled.len()).filter(|&i| is_service(&enabled[i])).collect();
        let mut found: Vec<Value> = spots.iter().map(|&i| enabled[i].take()).collect();
        found.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
        for (i, name) in spots.into_iter().zip(found) {
            enabled[i] = name;
        }
    }
}

fn name_of(manifest: &Value) -> &str {
    manifest["Name"].as_str().unwrap_or_default()
}

/// What stands in for a result that cannot be read.
pub(crate) fn unreadable(error: &serde_json::Error) -> Value {
    json!({ "<stdout is not JSON>": error.to_string() })
}

fn joined<'a>(lines: impl IntoIterator<Item = &'a String>) -> String {
    lines.into_iter().flat_map(|line| [line.as_str(), "\n"]).collect()
}

fn pretty(value: &Value) -> String {
    let mut value = value.clone();
    value.sort_all_objects();
    let mut bytes = Vec::new();
    let formatter = PrettyFormatter::with_indent(b" ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    serde::Serialize::serialize(&value, &mut serializer).expect("a JSON value can be written");
    bytes.push(b'\n');
    String::from_utf8(bytes).expect("JSON is written as UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(stderr: &str) -> Outcome {
        Outcome { exit_code: 5, value: None, stderr: stderr.lines().map(str::to_owned).collect() }
    }

    #[test]
    fn an_error_keeps_the_last_two_frames_and_the_message() {
        let outcome = failed(
            "printed\nTraceback (most recent call last):\n  a:1:1: in x\n  b:2:2: in y\n  c:3:3: in z\nError: no",
        );
        assert_eq!(outcome.log(), ["printed"]);
        assert_eq!(outcome.error(), ["  b:2:2: in y", "  c:3:3: in z", "Error: no"]);
        assert_eq!(outcome.last_words(), "b:2:2: in y / c:3:3: in z / Error: no");
    }

    #[test]
    fn without_a_traceback_all_of_stderr_is_the_error() {
        let outcome = failed("printed\nError: no");
        assert!(outcome.log().is_empty());
        assert_eq!(outcome.files()["expected.error"], "exit code 5\nprinted\nError: no\n");
    }

    #[test]
    fn compose_services_are_sorted_in_the_places_they_hold() {
        let service = |name: &str| json!({"Name": name, "DeployTarget": {"ServiceYAML": ""}});
        let mut value = json!({
            "Manifests": [service("z"), {"Name": "m"}, service("a")],
            "EnabledManifests": ["z", "m", "a"],
        });
        order_compose(&mut value);
        assert_eq!(value["EnabledManifests"], json!(["a", "m", "z"]));
        assert_eq!(value["Manifests"], json!([service("a"), {"Name": "m"}, service("z")]));
    }

    #[test]
    fn results_are_written_with_sorted_keys_and_one_blank_of_indent() {
        assert_eq!(
            pretty(&json!({"b": [], "a": {"c": "é"}})),
            "{\n \"a\": {\n  \"c\": \"é\"\n },\n \"b\": []\n}\n"
        );
    }
}

//! What makes no sense in the spec of an API object that both a Tiltfile and a client can make, in the words of the
//! API's own validation.

use std::collections::BTreeSet;

use crate::golang::quote::quote;
use serde_json::{Map, Value as Json};

type SpecFields = Map<String, Json>;

/// The message for a list of errors, each told once; none for an empty list.
pub fn aggregate(errors: Vec<String>) -> Option<String> {
    let mut seen = BTreeSet::new();
    let errors: Vec<String> = errors.into_iter().filter(|it| seen.insert(it.clone())).collect();
    match errors.as_slice() {
        [] => None,
        [error] => Some(error.clone()),
        errors => Some(format!("[{}]", errors.join(", "))),
    }
}

fn required(path: &str, detail: &str) -> String {
    format!("{path}: Required value: {detail}")
}

fn invalid_text(path: &str, value: &str, detail: &str) -> String {
    format!("{path}: Invalid value: {}: {detail}", quote(value))
}

fn invalid(path: &str, value: &Json, detail: &str) -> String {
    format!("{path}: Invalid value: {}: {detail}", go_json(value))
}

/// JSON as Go prints it: characters that mean something in HTML are escaped.
fn go_json(value: &Json) -> String {
    let mut out = String::new();
    for c in value.to_string().chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    out
}

fn text<'a>(fields: &'a SpecFields, name: &str) -> &'a str {
    fields.get(name).and_then(Json::as_str).unwrap_or_default()
}

fn list<'a>(fields: &'a SpecFields, name: &str) -> &'a [Json] {
    fields.get(name).and_then(Json::as_array).map_or(&[], Vec::as_slice)
}

/// A list without items, or none.
fn is_empty(list: &Json) -> bool {
    list.as_array().is_none_or(Vec::is_empty)
}

/// A repository is somewhere on the web or in a directory.
pub fn extension_repo(fields: &SpecFields) -> Vec<String> {
    let url = text(fields, "url");
    let subpath = text(fields, "gitSubpath");
    let is_web = url.starts_with("https://") || url.starts_with("http://");
    let error = match url.strip_prefix("file://") {
        None if is_web => return Vec::new(),
        None => invalid_text("spec.url", url, "URLs must start with http(s):// or file://"),
        Some(path) if !path.starts_with('/') => invalid_text(
            "spec.url",
            url,
            "file:// URLs must be absolute (e.g., file:///home/user/repo)",
        ),
        Some(_) if subpath.is_empty() => return Vec::new(),
        Some(_) => invalid_text(
            "spec.git_subpath",
            subpath,
            "cannot use git_subpath for file:// URL extension repositories",
        ),
    };
    vec![error]
}

/// There is something to watch.
pub fn file_watch(fields: &SpecFields) -> Vec<String> {
    if list(fields, "watchedPaths").is_empty() {
        vec![required("spec.watchedPaths", "cannot be an empty list")]
    } else {
        Vec::new()
    }
}

/// There is one way to apply it.
pub fn kubernetes_apply(fields: &SpecFields) -> Vec<String> {
    const EXACTLY_ONE: &str = "must specify exactly ONE of .spec.yaml or .spec.applyCmd";
    let mut errors = Vec::new();
    let strategy = text(fields, "discoveryStrategy");
    if !["", "default", "selectors-only"].contains(&strategy) {
        errors.push(format!(
            "spec.discoveryStrategy: Unsupported value: {}: supported values: \"default\", \"selectors-only\"",
            quote(strategy)
        ));
    }
    match (text(fields, "yaml"), fields.get("applyCmd")) {
        ("", None) => errors.push(required("spec.yaml", EXACTLY_ONE)),
        ("", Some(cmd)) if is_empty(&cmd["args"]) => {
            errors.push(required("spec.applyCmd.args", "args cannot be empty"));
        }
        ("", Some(_)) | (_, None) => {}
        (_, Some(cmd)) => errors.push(invalid("spec.applyCmd", cmd, EXACTLY_ONE)),
    }
    errors
}

/// There is something to look for, and every namespace is known.
pub fn kubernetes_discovery(fields: &SpecFields) -> Vec<String> {
    let watches = list(fields, "watches");
    let mut errors = Vec::new();
    if watches.is_empty() && list(fields, "extraSelectors").is_empty() {
        let detail = "One or more watches or extraSelectors are required";
        errors.push(required("spec.watches", detail));
    }
    for (index, watch) in watches.iter().enumerate() {
        if watch["namespace"] == "" {
            let path = format!("spec.watches[{index}]");
            errors.push(required(&path, "Namespace must be provided"));
        }
    }
    errors
}

/// A button has a text, a place and inputs that can be told apart.
pub fn ui_button(fields: &SpecFields) -> Vec<String> {
    let mut errors = Vec::new();
    if text(fields, "text").is_empty() {
        errors.push(required("spec.text", "Button text cannot be empty"));
    }
    let location = &fields["location"];
    if location["componentID"] == "" {
        errors.push(required("spec.location.componentID", "Parent component ID is required"));
    }
    if location["componentType"] == "" {
        errors.push(required("spec.location.componentType", "Parent component type is required"));
    }
    let icon = text(fields, "iconSVG");
    if !icon.is_empty() && !icon.contains("<svg") {
        errors.push(invalid_text("spec.iconSVG", icon, "Invalid <svg> element"));
    }
    let mut seen = BTreeSet::new();
    for (index, input) in list(fields, "inputs").iter().enumerate() {
        if !seen.insert(input["name"].as_str()) {
            let value = go_json(input);
            errors.push(format!("spec.inputs[{index}].id: Duplicate value: {value}"));
        }
        errors.extend(ui_input(input));
    }
    errors
}

fn ui_input(input: &Json) -> Vec<String> {
    let mut errors = Vec::new();
    let choice = input.get("choice");
    if choice.is_some_and(|it| is_empty(&it["choices"])) {
        errors.push(invalid("spec", input, "must specify choices if input type is choice"));
    }
    let kinds = ["text", "bool", "hidden", "choice"];
    if kinds.iter().filter(|it| input.get(it).is_some()).count() != 1 {
        errors.push(invalid("spec", input, "must specify exactly one input type"));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(validate: fn(&SpecFields) -> Vec<String>, fields: &str, expected: &str) {
        let fields: SpecFields = serde_json::from_str(fields).unwrap();
        assert_eq!(aggregate(validate(&fields)).unwrap_or_default(), expected);
    }

    #[test]
    fn repositories_are_on_the_web_or_in_a_directory() {
        for (fields, expected) in [
            (r#"{"url": "https://x", "gitSubpath": "a"}"#, ""),
            (r#"{"url": "file:///x"}"#, ""),
            (
                r#"{"url": "x<y>"}"#,
                r#"spec.url: Invalid value: "x<y>": URLs must start with http(s):// or file://"#,
            ),
            (
                r#"{"url": "file://x"}"#,
                r#"spec.url: Invalid value: "file://x": file:// URLs must be absolute (e.g., file:///home/user/repo)"#,
            ),
            (
                r#"{"url": "file:///x", "gitSubpath": "a"}"#,
                r#"spec.git_subpath: Invalid value: "a": cannot use git_subpath for file:// URL extension repositories"#,
            ),
        ] {
            check(extension_repo, fields, expected);
        }
    }

    #[test]
    fn an_apply_has_yaml_or_a_command() {
        for (fields, expected) in [
            (r#"{"yaml": "x"}"#, ""),
            (r#"{"applyCmd": {"args": ["x"]}}"#, ""),
            (
                r#"{"discoveryStrategy": "x"}"#,
                r#"[spec.discoveryStrategy: Unsupported value: "x": supported values: "default", "selectors-only", spec.yaml: Required value: must specify exactly ONE of .spec.yaml or .spec.applyCmd]"#,
            ),
            (
                r#"{"applyCmd": {"args": null}}"#,
                "spec.applyCmd.args: Required value: args cannot be empty",
            ),
            (
                r#"{"yaml": "x", "applyCmd": {"args": ["<a>"], "dir": "", "env": null}}"#,
                r#"spec.applyCmd: Invalid value: {"args":["\u003ca\u003e"],"dir":"","env":null}: must specify exactly ONE of .spec.yaml or .spec.applyCmd"#,
            ),
        ] {
            check(kubernetes_apply, fields, expected);
        }
    }

    #[test]
    fn all_problems_of_a_button_are_told_once() {
        let location = r#""location": {"componentID": "a", "componentType": "b"}"#;
        for (fields, expected) in [
            (
                r#"{"location": {"componentID": "", "componentType": ""}, "text": ""}"#.to_owned(),
                "[spec.text: Required value: Button text cannot be empty, spec.location.componentID: Required value: \
                 Parent component ID is required, spec.location.componentType: Required value: Parent component type \
                 is required]",
            ),
            (
                format!(
                    r#"{{{location}, "text": "x", "inputs": [{{"name": "i", "text": {{}}}}, {{"name": "i", "choice": {{"choices": null}}}}]}}"#
                ),
                r#"[spec.inputs[1].id: Duplicate value: {"name":"i","choice":{"choices":null}}, spec: Invalid value: {"name":"i","choice":{"choices":null}}: must specify choices if input type is choice]"#,
            ),
            (
                format!(
                    r#"{{{location}, "text": "x", "inputs": [{{"name": ""}}, {{"name": ""}}]}}"#
                ),
                r#"[spec: Invalid value: {"name":""}: must specify exactly one input type, spec.inputs[1].id: Duplicate value: {"name":""}]"#,
            ),
        ] {
            check(ui_button, &fields, expected);
        }
    }
}

//! `describe`: prints all details of objects for people.

use clap::Args;
use engine_api::Kind;
use serde_json::Value;

use super::{
    Printer,
    client::{ApiClient, Selection},
    connect::ConnectFlags,
    failure::Failure,
    is_tilt,
    manifests::FileFlags,
    output,
    selection::{self, Found, SelectorFlags, Target},
    why,
};

/// Fields that the head of the description shows already.
const IN_THE_HEAD: &[&str] = &[
    ".metadata.managedFields",
    ".metadata.name",
    ".metadata.namespace",
    ".metadata.labels",
    ".metadata.annotations",
];
/// Annotations that only machines read.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Annotations that are longer get lines of their own.
const MAX_ANNOTATION: usize = 140;

/// Show the details of objects.
#[derive(Debug, Args)]
pub struct DescribeFlags {
    /// TYPE [NAME or prefix of names] or TYPE/NAME
    #[arg(value_name = "TYPE [NAME]")]
    words: Vec<String>,
    #[command(flatten)]
    files: FileFlags,
    #[command(flatten)]
    selector: SelectorFlags,
    /// Print the objects as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// Runs the command.
pub fn run(flags: &DescribeFlags, printer: Printer) -> Result<(), Failure> {
    let client = ApiClient::new(&flags.connect)?;
    let targets = if flags.files.is_empty() {
        if flags.words.is_empty() {
            return Err(selection::nothing_named());
        }
        if let [types, _, ..] = flags.words.as_slice()
            && types.contains(',')
        {
            let text = "you may only specify a single resource type";
            return Err(Failure::Kubectl(text.to_owned()));
        }
        let labels = flags.selector.selector.clone();
        selection::targets(&flags.words, &Selection { labels, ..Selection::default() }, true)?
    } else {
        selection::in_files(&flags.files, &flags.words)?
    };
    let (found, failures) = selection::find(&client, &targets, false);
    if let ([failure], [kind, prefix]) = (failures.as_slice(), flags.words.as_slice())
        && failure.is_not_found()
    {
        let found = matching(&client, kind, prefix, failure)?;
        return print(flags, &found, true, printer);
    }
    print(flags, &found, false, printer)?;
    if found.is_empty() && failures.is_empty() {
        printer.err("No resources found in  namespace.\n");
    }
    Failure::all(failures)
}

/// Shows objects; those that were found by the beginning of their names end with an empty line.
fn print(
    flags: &DescribeFlags,
    found: &[Found],
    are_matches: bool,
    printer: Printer,
) -> Result<(), Failure> {
    if flags.json {
        let objects: Vec<Value> = found.iter().map(|it| it.object.clone()).collect();
        let object = match <[Value; 1]>::try_from(objects) {
            Ok([object]) => object,
            Err(objects) => output::list(objects),
        };
        printer.out(&output::json(&object)?);
        return Ok(());
    }
    for (nth, found) in found.iter().enumerate() {
        let gap = if nth == 0 || are_matches { "" } else { "\n\n" };
        let end = if are_matches { "\n" } else { "" };
        let reason = reason(found, &flags.connect);
        printer.out(&format!("{gap}{}{reason}{end}", describe(&found.object)));
    }
    Ok(())
}

/// Why a resource is in its state, which the object does not say. Tilt says no more than that.
fn reason(found: &Found, connect: &ConnectFlags) -> String {
    if found.kind != Kind::UiResource || is_tilt() {
        return String::new();
    }
    let reason = why::read(&found.name, connect);
    reason.map_or(String::new(), |it| why::reason_text(&"Reason".into(), &it, std::iter::empty()))
}

/// A name that does not exist may be the beginning of others.
fn matching(
    client: &ApiClient,
    kind: &str,
    prefix: &str,
    failure: &Failure,
) -> Result<Vec<Found>, Failure> {
    let targets: Vec<Target> = selection::targets(&[kind.to_owned()], &Selection::default(), true)?;
    let (mut found, failures) = selection::find(client, &targets, false);
    Failure::all(failures)?;
    found.retain(|it| it.name.starts_with(prefix));
    if found.is_empty() { Err(failure.clone()) } else { Ok(found) }
}

/// The description of an object.
fn describe(object: &Value) -> String {
    let metadata = &object["metadata"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut out = format!(
        "Name:\t{}\nNamespace:\t{}\n",
        text(&metadata["name"]),
        text(&metadata["namespace"])
    );
    put_labels(&metadata["labels"], &mut out);
    put_annotations(&metadata["annotations"], &mut out);
    put_fields(object, 0, "", &mut out);
    output::tabulate(&out, 0, 2)
}

fn pairs(value: &Value) -> Vec<(&String, &str)> {
    let Some(fields) = value.as_object() else { return Vec::new() };
    let mut pairs: Vec<_> =
        fields.iter().map(|(key, value)| (key, value.as_str().unwrap_or_default())).collect();
    pairs.sort();
    pairs
}

fn put_labels(labels: &Value, out: &mut String) {
    out.push_str("Labels:\t");
    let pairs = pairs(labels);
    if pairs.is_empty() {
        out.push_str("<none>\n");
    }
    for (nth, (key, value)) in pairs.iter().enumerate() {
        let indent = if nth == 0 { "" } else { "\t" };
        out.push_str(&format!("{indent}{key}={value}\n"));
    }
}

fn put_annotations(annotations: &Value, out: &mut String) {
    out.push_str("Annotations:\t");
    let pairs: Vec<_> = pairs(annotations).into_iter().filter(|it| it.0 != LAST_APPLIED).collect();
    if pairs.is_empty() {
        out.push_str("<none>\n");
    }
    for (nth, (key, value)) in pairs.iter().enumerate() {
        let indent = if nth == 0 { "" } else { "\t" };
        let value = value.strip_suffix('\n').unwrap_or(value);
        if value.len() + key.len() + 2 > MAX_ANNOTATION || value.contains('\n') {
            out.push_str(&format!("{indent}{key}:\n"));
            for line in value.split('\n') {
                out.push_str(&format!("\t  {}\n", shortened(line)));
            }
        } else {
            out.push_str(&format!("{indent}{key}: {value}\n"));
        }
    }
}

fn shortened(line: &str) -> String {
    let most = MAX_ANNOTATION - 2;
    if line.chars().count() <= most {
        return line.to_owned();
    }
    let kept: String = line.chars().take(most).collect();
    format!("{kept}...")
}

fn put_fields(object: &Value, depth: usize, path: &str, out: &mut String) {
    let Some(fields) = object.as_object() else { return };
    let mut fields: Vec<_> = fields.iter().collect();
    fields.sort_by_key(|it| it.0);
    let indent = "  ".repeat(depth);
    for (key, value) in fields {
        let path = format!("{path}.{key}");
        if IN_THE_HEAD.contains(&path.as_str()) {
            continue;
        }
        let label = label(key);
        match value {
            Value::Object(_) => {
                out.push_str(&format!("{indent}{label}:\n"));
                put_fields(value, depth + 1, &path, out);
            }
            Value::Array(items) => {
                out.push_str(&format!("{indent}{label}:\n"));
                for item in items {
                    if item.is_object() {
                        put_fields(item, depth + 1, &path, out);
                    } else {
                        out.push_str(&format!("{indent}  {}\n", plain(item)));
                    }
                }
            }
            value => out.push_str(&format!("{indent}{label}:\t{}\n", plain(value))),
        }
    }
}

fn plain(value: &Value) -> String {
    if value.is_null() { "<nil>".to_owned() } else { super::jsonpath::printed(value) }
}

/// The name of a field in words: `startTime` is `Start Time`.
fn label(field: &str) -> String {
    if field.chars().any(|it| !it.is_alphabetic() && it != '-') {
        return field.to_owned();
    }
    let parts = merged(camel_case(field));
    let parts = parts.into_iter().map(|part| {
        if matches!(part.to_uppercase().as_str(), "API" | "URL" | "UID" | "GUID") {
            part.to_uppercase()
        } else if part.to_lowercase() == part {
            let mut chars = part.chars();
            chars.next().map(|it| it.to_uppercase().chain(chars).collect()).unwrap_or_default()
        } else {
            part
        }
    });
    parts.collect::<Vec<_>>().join(" ")
}

/// A part in capitals and the part after it are one, such as in `iconSVG`.
fn merged(parts: Vec<String>) -> Vec<String> {
    let mut merged: Vec<String> = Vec::new();
    let mut parts = parts.into_iter().peekable();
    while let Some(mut part) = parts.next() {
        let is_capitals =
            part.len() >= 2 && part.chars().all(|it| !it.is_alphabetic() || it.is_uppercase());
        if is_capitals && let Some(next) = parts.next_if(|it| it.starts_with(char::is_uppercase)) {
            part.push_str(&next);
        }
        merged.push(part);
    }
    merged
}

/// Splits where lower case, upper case and other characters meet; the last capital of several
/// belongs to the word after them.
fn camel_case(text: &str) -> Vec<String> {
    let class = |char: char| match char {
        _ if char.is_lowercase() => 1,
        _ if char.is_uppercase() => 2,
        _ => 4,
    };
    let mut parts: Vec<String> = Vec::new();
    let mut last = 0;
    for char in text.chars() {
        let class = class(char);
        match parts.last_mut().filter(|_| class == last) {
            Some(part) => part.push(char),
            None => parts.push(char.to_string()),
        }
        last = class;
    }
    for at in 1..parts.len() {
        let starts_upper = parts[at - 1].starts_with(char::is_uppercase);
        if starts_upper && parts[at].starts_with(char::is_lowercase) {
            let capital = parts[at - 1].pop().unwrap_or_default();
            parts[at].insert(0, capital);
        }
    }
    parts.retain(|it| !it.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_are_named_in_words() {
        let cases = [
            ("apiVersion", "API Version"),
            ("uid", "UID"),
            ("creationTimestamp", "Creation Timestamp"),
            ("spanID", "Span ID"),
            ("pid", "Pid"),
            ("iconSVG", "Icon SVG"),
            ("is-disabled", "Is - Disabled"),
            ("isDisabled", "Is Disabled"),
            ("tilt.dev/x", "tilt.dev/x"),
            ("x1", "x1"),
        ];
        for (field, want) in cases {
            assert_eq!(label(field), want, "{field}");
        }
    }

    #[test]
    fn descriptions_line_up_by_block() {
        let object = json!({
            "kind": "ConfigMap", "apiVersion": "v1",
            "metadata": {"name": "a", "labels": {"b": "2", "a": "1"}, "annotations": {LAST_APPLIED: "{}"}, "uid": "u"},
            "data": {"multi": "x\ny\n", "one": "1"},
            "list": [1, {"a": null}],
        });
        expect_test::expect![[r#"
            Name:         a
            Namespace:    
            Labels:       a=1
                          b=2
            Annotations:  <none>
            API Version:  v1
            Data:
              Multi:  x
            y

              One:  1
            Kind:   ConfigMap
            List:
              1
              A:  <nil>
            Metadata:
              UID:  u
        "#]]
        .assert_eq(&describe(&object));
    }
}

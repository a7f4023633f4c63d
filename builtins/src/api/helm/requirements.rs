//! The subcharts of a chart that are local folders.

use engine_formats::{
    golang::{json, os_error::PathError, path},
    yaml,
};
use serde_json::Value;

use crate::session::Session;

/// Why the dependencies of a chart cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum RequirementsError {
    #[error(transparent)]
    File(#[from] PathError),
    #[error("{}", .0.while_unmarshaling())]
    Yaml(#[from] yaml::Error),
    #[error(
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {kind} into Go {target}"
    )]
    Mismatch { kind: &'static str, target: &'static str },
}

/// The paths after `file://` of the dependencies in `requirements.yaml`, as they are written there.
pub(super) fn local_subcharts(
    session: &Session,
    chart: &str,
) -> Result<Vec<String>, RequirementsError> {
    let file = path::join(&[chart, "requirements.yaml"]);
    match session.read(&file) {
        Ok(bytes) => parse(&bytes),
        Err(why) if why.is_not_found() => Ok(Vec::new()),
        Err(why) => Err(why.into()),
    }
}

fn parse(text: &[u8]) -> Result<Vec<String>, RequirementsError> {
    let document = yaml::decode_v2(text)?;
    let fields = match &document {
        Value::Null => return Ok(Vec::new()),
        Value::Object(fields) => fields,
        other => return Err(mismatch(other, "value of type tiltfile.chartMetadata")),
    };
    let mut paths = Vec::new();
    for (_, dependencies) in
        fields.iter().filter(|(name, _)| name.eq_ignore_ascii_case("dependencies"))
    {
        let dependencies = match dependencies {
            Value::Null => continue,
            Value::Array(items) => items,
            other => {
                let target =
                    "struct field chartMetadata.Dependencies of type []tiltfile.chartDependency";
                return Err(mismatch(other, target));
            }
        };
        // As in Go, a later list replaces an earlier one.
        paths.clear();
        for dependency in dependencies {
            paths.extend(
                repository(dependency)?
                    .and_then(|it| it.strip_prefix("file://").map(str::to_owned)),
            );
        }
    }
    Ok(paths)
}

fn repository(dependency: &Value) -> Result<Option<String>, RequirementsError> {
    let fields = match dependency {
        Value::Null => return Ok(None),
        Value::Object(fields) => fields,
        other => {
            let target = "struct field chartMetadata.Dependencies of type tiltfile.chartDependency";
            return Err(mismatch(other, target));
        }
    };
    let mut found = None;
    for (_, value) in fields.iter().filter(|(name, _)| name.eq_ignore_ascii_case("repository")) {
        match value {
            Value::String(text) => found = Some(text.clone()),
            // Numbers and booleans are read as their text, which is no path of ours.
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            other => {
                let target = "struct field chartDependency.Dependencies.Repository of type string";
                return Err(mismatch(other, target));
            }
        }
    }
    Ok(found)
}

fn mismatch(found: &Value, target: &'static str) -> RequirementsError {
    RequirementsError::Mismatch { kind: json::kind(found), target }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_dependencies_on_this_machine_count() {
        for (text, expected) in [
            ("", vec![]),
            ("dependencies:\n", vec![]),
            (
                "dependencies: [{repository: 'file://../a'}, {repository: 'https://x'}]",
                vec!["../a"],
            ),
            ("Dependencies: [{Repository: 'file:///abs/b'}, null, {name: c}]", vec!["/abs/b"]),
            ("dependencies: [{repository: 5}]", vec![]),
            ("dependencies: [{repository: 'FILE://x'}]", vec![]),
        ] {
            assert_eq!(
                parse(text.as_bytes()),
                Ok(expected.into_iter().map(str::to_owned).collect()),
                "{text}"
            );
        }
    }
}

//! Names that do not exist, and what was meant instead.

use std::fmt::Display;

use engine_api::Kind;
use engine_formats::golang::{quote::quote, spell};
use serde_json::Value;

use super::{
    client::{ApiClient, Selection},
    connect::ConnectFlags,
    failure::Failure,
    program,
};

/// Fewer letters are the beginning of too many names.
const PREFIX: usize = 3;

/// Which name was meant, as a part of an error; empty if none comes close.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let letters = |it: &str| {
        let mut letters: Vec<char> = it.to_lowercase().chars().collect();
        letters.sort_unstable();
        letters
    };
    let is_near =
        |it: &&str| letters(it) == letters(name) || (name.len() >= PREFIX && it.starts_with(name));
    let meant =
        spell::similar(name, known.iter().copied()).or_else(|| known.iter().copied().find(is_near));
    meant.map_or(String::new(), |it| format!("; did you mean {it}?"))
}

/// The error for a resource that does not exist.
pub(crate) fn unknown_resource<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Failure {
    unknown(&format!("no resource {}", quote(name)), name, known)
}

/// The error for a label that no resource has.
pub(crate) fn unknown_label<'a>(label: &str, known: impl IntoIterator<Item = &'a str>) -> Failure {
    unknown(&format!("no resource has the label {}", quote(label)), label, known)
}

fn unknown<'a>(
    what: &dyn Display,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Failure {
    let (meant, program) = (did_you_mean(name, known), program());
    Failure::Command(format!("{what}{meant} (`{program} status` lists all)"))
}

/// The error for a resource that the instance does not know.
pub(crate) fn not_known(name: &str, connect: &ConnectFlags) -> Failure {
    let objects = resources(connect).unwrap_or_default();
    unknown_resource(name, objects.iter().map(name_of))
}

/// Refuses names of resources that do not exist. What is still loading may have them.
pub(crate) fn check(names: &[String], connect: &ConnectFlags) -> Result<(), Failure> {
    if names.is_empty() {
        return Ok(());
    }
    // Who cannot be asked refuses nothing.
    let Ok(objects) = resources(connect) else { return Ok(()) };
    let is_loading = objects.iter().any(|it| {
        name_of(it) == "(Tiltfile)"
            && (!it["status"]["currentBuild"].is_null()
                || it["status"]["buildHistory"][0].is_null())
    });
    match names.iter().find(|name| objects.iter().all(|it| name_of(it) != *name)) {
        Some(name) if !is_loading => Err(unknown_resource(name, objects.iter().map(name_of))),
        _ => Ok(()),
    }
}

/// The name of an object.
pub(crate) fn name_of(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// The labels of an object.
pub(crate) fn labels_of(object: &Value) -> impl Iterator<Item = &str> {
    object["metadata"]["labels"].as_object().into_iter().flatten().map(|(label, _)| label.as_str())
}

fn resources(connect: &ConnectFlags) -> Result<Vec<Value>, Failure> {
    ApiClient::new(connect)?.list(Kind::UiResource, &Selection::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_that_was_meant_is_part_of_the_error() {
        let known = ["(Tiltfile)", "web", "unit-tests", "worker"];
        for (name, meant) in [
            ("wbe", "; did you mean web?"),
            ("Web", "; did you mean web?"),
            ("wrker", "; did you mean worker?"),
            ("unit", "; did you mean unit-tests?"),
            ("w", ""),
            ("database", ""),
        ] {
            assert_eq!(did_you_mean(name, known), meant, "{name}");
        }
    }
}

//! The reference lists exactly the names that Tiltfiles can use.

use std::{collections::BTreeSet, sync::Arc};

use super::*;
use crate::{Request, evaluate, host::OsHost};

/// What evaluating a text ends with.
fn outcome(text: &str) -> String {
    let dir = tempfile::tempdir().expect("there is room for a file");
    let path = dir.path().join("Tiltfile");
    std::fs::write(&path, text).expect("the folder is ours");
    let host =
        OsHost::new(vec![("HOME".to_owned(), "/nonexistent".to_owned())], Box::new(|_, _| {}));
    let request = Request::new(&path.to_string_lossy(), "alpha tiltfile-result");
    let evaluation = evaluate(&request, Arc::new(host));
    evaluation.failure.map(|it| it.text).unwrap_or_default()
}

#[test]
fn every_entry_says_what_it_means() {
    for entry in entries() {
        assert!(entry.doc.ends_with('.'), "{}: {:?}", entry.name, entry.doc);
        assert!(!entry.name.contains([' ', '(']), "{}", entry.name);
    }
    let names: BTreeSet<&str> = entries().map(|it| it.name).collect();
    assert_eq!(names.len(), entries().count(), "a name is explained twice");
}

#[test]
fn every_list_of_parameters_is_that_of_the_signature() {
    for chapter in REFERENCE.iter().filter(|it| it.title != "The language") {
        for entry in &chapter.entries {
            // A few take what another function takes.
            let is_alike = entry.name == "test" || entry.name == "experimental_metrics_settings";
            for param in entry.params().iter().filter(|_| !is_alike) {
                assert!(!param.doc.is_empty(), "{}({}) is not explained", entry.name, param.name);
            }
        }
    }
}

#[test]
fn every_predeclared_name_is_explained() {
    let explained: BTreeSet<&str> = entries().map(|it| it.name).collect();
    let known: Vec<String> =
        builtins_language::globals().build().names().map(|it| it.as_str().to_owned()).collect();
    let of_language = known.iter().filter(|it| !it.starts_with("__"));
    for name in of_language.filter(|it| !["None", "True", "False"].contains(&it.as_str())) {
        assert!(explained.contains(name.as_str()), "{name} is not explained");
    }
}

#[test]
fn every_name_exists() {
    let mut text = String::new();
    for entry in entries().filter(|it| it.name != "load") {
        text.push_str(&format!("x = {}\n", entry.name));
    }
    text.push_str("fail('all names are there')\n");
    assert!(outcome(&text).contains("all names are there"), "{}", outcome(&text));
}

#[test]
fn every_parameter_is_accepted_by_its_name() {
    let functions = entries().filter(|it| !it.params().is_empty() && it.name != "load");
    let of_api = functions.filter(|it| !is_of_language(it.name));
    for entry in of_api {
        for param in entry.params().iter().filter(|it| !it.is_rest()) {
            let error = outcome(&format!("{}({}=None)\n", entry.name, param.name));
            assert!(
                !error.contains("unexpected keyword argument"),
                "{}({}): {error}",
                entry.name,
                param.name
            );
        }
    }
}

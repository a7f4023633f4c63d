//! Which kind of object a word on the command line means.

use builtins::golang::quote::quote;

use super::failure::Failure;
use crate::api::kind::{KINDS, Kind};

/// The group of every kind.
pub(super) const GROUP: &str = "tilt.dev";
/// The version of every kind.
pub(super) const VERSION: &str = "v1alpha1";

/// The kind of what people look at most.
pub(super) fn ui_resource() -> &'static Kind {
    named("UIResource")
}

/// A kind by its own name, which must exist.
pub(super) fn named(name: &str) -> &'static Kind {
    by_name(name).expect("the table of kinds has it")
}

/// A kind by its own name.
pub(super) fn by_name(name: &str) -> Option<&'static Kind> {
    KINDS.iter().copied().find(|it| it.kind == name)
}

/// A kind by any word for it: plural, singular, kind in any case, short name, with or without group.
pub(super) fn find(word: &str) -> Option<&'static Kind> {
    let word = match word.split_once('.') {
        Some((first, GROUP | "v1alpha1.tilt.dev")) => first,
        Some(_) => return None,
        None => word,
    };
    // Only the long names may be written in any case.
    let lower = word.to_lowercase();
    KINDS
        .iter()
        .copied()
        .find(|it| it.plural == lower || it.singular == lower || it.short_names.contains(&word))
}

/// There is no such kind.
pub(super) fn unknown(word: &str) -> Failure {
    Failure::Kubectl(format!("the server doesn't have a resource type {}", quote(word)))
}

/// The kind of an object as people see it: `uiresource.tilt.dev`.
pub(super) fn full_singular(kind: &Kind) -> String {
    format!("{}.{GROUP}", kind.singular)
}

/// The kind of an object as errors show it: `uiresources.tilt.dev`.
pub(super) fn full_plural(kind: &Kind) -> String {
    format!("{}.{GROUP}", kind.plural)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_for_a_kind_is_understood() {
        let words = [
            ("uiresource", Some("UIResource")),
            ("UIResources", Some("UIResource")),
            ("uiresources.tilt.dev", Some("UIResource")),
            ("uiresources.v1alpha1.tilt.dev", Some("UIResource")),
            ("cm", Some("ConfigMap")),
            ("ka", Some("KubernetesApply")),
            ("Cm", None),
            ("filewatches", Some("FileWatch")),
            ("all", None),
            ("pods", None),
            ("uiresources.apps", None),
            ("", None),
        ];
        for (word, want) in words {
            assert_eq!(find(word).map(|it| it.kind), want, "{word}");
        }
    }
}

//! Maps a word on the command line to a kind of object.

use engine_api::{GROUP, Kind};
use engine_formats::golang::quote::quote;

use super::failure::Failure;

/// Finds a kind by plural, singular, kind in any case or short name, with or without group.
pub(crate) fn find(word: &str) -> Option<Kind> {
    let word = match word.split_once('.') {
        Some((first, GROUP | "v1alpha1.tilt.dev")) => first,
        Some(_) => return None,
        None => word,
    };
    // Only the long names may be written in any case.
    let lower = word.to_lowercase();
    Kind::ALL.into_iter().find(|it| {
        it.plural() == lower || it.singular() == lower || it.short_names().contains(&word)
    })
}

/// The error for an unknown kind.
pub(crate) fn unknown(word: &str) -> Failure {
    Failure::Kubectl(format!("the server doesn't have a resource type {}", quote(word)))
}

/// The kind of an object as people see it: `uiresource.tilt.dev`.
pub(crate) fn full_singular(kind: Kind) -> String {
    format!("{}.{GROUP}", kind.singular())
}

/// The kind of an object as errors show it: `uiresources.tilt.dev`.
pub(crate) fn full_plural(kind: Kind) -> String {
    format!("{}.{GROUP}", kind.plural())
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
            assert_eq!(find(word).map(Kind::name), want, "{word}");
        }
    }
}

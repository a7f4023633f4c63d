//! The API types that Tiltfiles can construct: their fields, and how empty fields are printed.
//!
//! The fields are listed in `table.txt`, which explains itself.

use std::sync::LazyLock;

use engine_formats::v1alpha1;
use serde_json::{Map, Value as Json};

use crate::objects::{self, ObjectType};

/// What a field holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum FieldKind {
    /// A text.
    Str,
    /// A text that is printed even if it is empty, once it is given.
    OptionalStr,
    /// An integer of 32 bits.
    Int,
    /// Yes or no.
    Bool,
    /// A path, made absolute.
    Path,
    /// One path or several, made absolute.
    Paths,
    /// A list of texts.
    StrList,
    /// A dict of texts.
    StrMap,
    /// A span of time.
    Duration,
    /// Nothing that a Tiltfile could give.
    Nothing,
    /// The nested spec that this function makes.
    Spec(&'static str),
    /// A list of such specs.
    List(&'static str),
}

/// How a field is printed that was not given or is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Empty {
    /// Not at all.
    Omitted,
    /// As the empty value of its kind.
    Shown,
    /// As the directory of the file being executed.
    WorkingDir,
}

/// Where a field can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// As an argument and as a key.
    Everywhere,
    /// As an argument, which is always refused: the reference lists it but does not know it.
    ArgumentOnly,
    /// As a key of a plain dict.
    DictOnly,
}

/// A field of a spec or an object.
#[derive(Debug)]
pub(super) struct Field {
    /// The name in Tiltfiles.
    pub(super) name: &'static str,
    /// The name in the API.
    pub(super) json: String,
    /// What it holds.
    pub(super) kind: FieldKind,
    /// How it is printed when empty.
    pub(super) empty: Empty,
    /// Where it can be given.
    pub(super) place: Place,
}

/// A nested spec.
#[derive(Debug)]
pub(super) struct Spec {
    /// The function that makes it.
    pub(super) function: &'static str,
    /// Its fields, in the order of the API.
    pub(super) fields: Vec<Field>,
}

/// Where an object keeps its fields.
#[derive(Clone, Copy, Debug)]
pub(super) enum Body {
    /// Beside the metadata.
    Inline,
    /// In its spec; the status of a new object has these fields, all null.
    Spec {
        /// The fields of an empty status.
        zero_status: &'static [&'static str],
    },
}

/// Lists what is wrong with the fields of an object.
type Validate = fn(&Map<String, Json>) -> Vec<String>;

/// An object.
#[derive(Debug)]
pub(super) struct Object {
    /// The function that declares it.
    pub(super) function: &'static str,
    /// Its type.
    pub(super) kind: ObjectType,
    /// Its fields, in the order of the API, which is the order of the arguments.
    pub(super) fields: Vec<Field>,
    /// Where it keeps them.
    pub(super) body: Body,
    /// What is wrong with the fields.
    pub(super) validate: Validate,
}

impl Spec {
    /// The spec that this function makes.
    pub(super) fn named(function: &str) -> &'static Self {
        SPECS.iter().find(|it| it.function == function).expect("the table has all specs")
    }
}

impl Object {
    /// The object that this function declares.
    pub(super) fn named(function: &str) -> &'static Self {
        OBJECTS.iter().find(|it| it.function == function).expect("the table has all objects")
    }

    fn read(function: &'static str, fields: Vec<Field>) -> Self {
        let spec = |zero_status| Body::Spec { zero_status };
        let any: Validate = |_| Vec::new();
        let (kind, body, validate): (_, _, Validate) = match function {
            "cmd" => (objects::CMD, spec(&[]), any),
            "config_map" => (objects::CONFIG_MAP, Body::Inline, any),
            "extension" => (objects::EXTENSION, spec(&[]), any),
            "extension_repo" => {
                (objects::EXTENSION_REPO, spec(&["lastFetchedAt"]), v1alpha1::extension_repo)
            }
            "file_watch" => {
                let status = spec(&["monitorStartTime", "lastEventTime"]);
                (objects::FILE_WATCH, status, v1alpha1::file_watch)
            }
            "kubernetes_apply" => {
                let status = spec(&["lastApplyTime", "lastApplyStartTime"]);
                (objects::KUBERNETES_APPLY, status, v1alpha1::kubernetes_apply)
            }
            "kubernetes_discovery" => {
                let status = spec(&["monitorStartTime", "pods"]);
                (objects::KUBERNETES_DISCOVERY, status, v1alpha1::kubernetes_discovery)
            }
            "ui_button" => (objects::UI_BUTTON, spec(&["lastClickedAt"]), v1alpha1::ui_button),
            _ => unreachable!("`{function}` is in the table and declares no object"),
        };
        Self { function, kind, fields, body, validate }
    }
}

impl Field {
    fn read(text: &'static str) -> Self {
        let (word, kind) = text.split_once(' ').unwrap_or((text, "text"));
        let (word, place) = match word.split_at(1) {
            ("!", rest) => (rest, Place::ArgumentOnly),
            ("+", rest) => (rest, Place::DictOnly),
            _ => (word, Place::Everywhere),
        };
        let (names, empty) = match word.split_at(word.len() - 1) {
            (names, "?") => (names, Empty::Omitted),
            (names, ".") => (names, Empty::WorkingDir),
            _ => (word, Empty::Shown),
        };
        let (name, json) = match names.split_once('=') {
            Some((name, json)) => (name, json.to_owned()),
            None => (names, camel_case(names)),
        };
        Self { name, json, kind: FieldKind::read(kind), empty, place }
    }
}

impl FieldKind {
    fn read(word: &'static str) -> Self {
        match word {
            "text" => Self::Str,
            "optional_text" => Self::OptionalStr,
            "int" => Self::Int,
            "bool" => Self::Bool,
            "path" => Self::Path,
            "paths" => Self::Paths,
            "texts" => Self::StrList,
            "map" => Self::StrMap,
            "duration" => Self::Duration,
            "nothing" => Self::Nothing,
            _ => word.strip_prefix("[]").map_or(Self::Spec(word), Self::List),
        }
    }
}

fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| name + &word[..1].to_ascii_uppercase() + &word[1..])
}

static TEXT: LazyLock<String> = LazyLock::new(|| include_str!("table.txt").replace(",\n  ", ", "));

/// The functions of both parts of the table, with their fields.
fn functions() -> [impl Iterator<Item = (&'static str, Vec<Field>)>; 2] {
    let fields = |text: &'static str| text.split(", ").map(Field::read).collect();
    let (specs, objects) = TEXT.split_once("\n\n").unwrap_or_default();
    [specs, objects].map(|part| {
        let lines = part.lines().filter(|it| !it.starts_with('#'));
        lines
            .filter_map(|it| it.split_once(": "))
            .map(move |(function, text)| (function, fields(text)))
    })
}

/// All nested specs.
pub(super) static SPECS: LazyLock<Vec<Spec>> = LazyLock::new(|| {
    let [specs, _] = functions();
    specs.map(|(function, fields)| Spec { function, fields }).collect()
});

/// All objects.
pub(super) static OBJECTS: LazyLock<Vec<Object>> = LazyLock::new(|| {
    let [_, objects] = functions();
    objects.map(|(function, fields)| Object::read(function, fields)).collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spec_that_a_field_names_is_in_the_table() {
        let fields = SPECS.iter().flat_map(|it| &it.fields);
        for field in fields.chain(OBJECTS.iter().flat_map(|it| &it.fields)) {
            if let FieldKind::Spec(function) | FieldKind::List(function) = field.kind {
                assert_eq!(Spec::named(function).function, function);
            }
        }
    }
}

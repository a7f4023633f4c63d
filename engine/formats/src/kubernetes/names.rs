//! Decides what objects are called: the shortest unique name of a workload, and the fragments such as `name:kind` by
//! which `k8s_resource` refers to objects.

use std::collections::HashMap;

use serde_json::Value;

use super::object::{DEFAULT_NAMESPACE, Object};
use crate::golang::quote::{quote, quote_joined};

/// Name, kind, namespace and group; a name of an object is made of the first one to four.
const PARTS: usize = 4;

/// The shortest names that tell the objects of a list apart, all in lower case.
pub fn unique_names(objects: &[&Object]) -> Vec<String> {
    shortest(&objects.iter().map(|it| candidates(it)).collect::<Vec<_>>(), 1)
}

/// The same for objects that are in a cluster, with at least their kind.
pub fn deployed_names<'a>(objects: impl IntoIterator<Item = &'a Value>) -> Vec<String> {
    let candidates = objects.into_iter().map(|it| {
        let text = |path: &str| it.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let group = text("/apiVersion").split_once('/').map_or("", |(group, _)| group);
        let namespace = match text("/metadata/namespace") {
            "" => DEFAULT_NAMESPACE,
            namespace => namespace,
        };
        parts_of([text("/metadata/name"), text("/kind"), namespace, group])
    });
    shortest(&candidates.collect::<Vec<_>>(), 2)
}

/// Of the names of each object, the shortest one that no other object could have.
fn shortest(candidates: &[[String; PARTS]], n_parts: usize) -> Vec<String> {
    let mut wanted_by: HashMap<&str, usize> = HashMap::new();
    for name in candidates.iter().flat_map(|it| &it[n_parts - 1..]) {
        *wanted_by.entry(name).or_default() += 1;
    }
    let pick = |(index, names): (usize, &[String; PARTS])| {
        let mut long_enough = names[n_parts - 1..].iter();
        let unique = long_enough.find(|name| wanted_by.get(name.as_str()) == Some(&1));
        // An object without a name is told apart by its place.
        unique
            .filter(|name| !name.is_empty())
            .cloned()
            .unwrap_or_else(|| format!("{}:{index}", names[PARTS - 1]))
    };
    candidates.iter().enumerate().map(pick).collect()
}

/// The name of an object in messages: `name:Kind:namespace`.
pub fn full_name(object: &Object) -> String {
    join(&[object.name(), object.kind(), object.namespace()])
}

/// Every fragment that means one of the objects of a list, with the places of those objects.
#[derive(Debug, Default)]
pub struct Fragments {
    places: HashMap<String, Vec<usize>>,
    full_names: Vec<String>,
}

/// A fragment that does not name one object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FragmentError {
    /// It cannot be read.
    #[error("Error making selector from string {}: {problem}", quote(.fragment))]
    Syntax {
        /// The fragment.
        fragment: String,
        /// What is wrong with it.
        problem: FragmentSyntaxError,
    },
    /// It names no object.
    #[error(
        "No object identified by the fragment {} could be found. Possible objects are: {}",
        quote(.fragment), quote_joined(.known, ", ")
    )]
    Unknown {
        /// The fragment.
        fragment: String,
        /// The names of all objects.
        known: Vec<String>,
    },
    /// It names several objects.
    #[error(
        "{} is not a unique fragment. Objects that match {} are {}",
        quote(.fragment), quote(.fragment), quote_joined(.matching, ", ")
    )]
    Ambiguous {
        /// The fragment.
        fragment: String,
        /// The names of the objects it could mean.
        matching: Vec<String>,
    },
    /// It names an object that belongs to a resource already.
    #[error(
        "No object identified by the fragment {} could be found in remaining YAML. Valid remaining fragments are: {}",
        quote(.fragment), quote_joined(.remaining, ", ")
    )]
    Taken {
        /// The fragment.
        fragment: String,
        /// The names of the objects that are left.
        remaining: Vec<String>,
    },
}

/// Why a fragment cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FragmentSyntaxError {
    /// There is nothing in it.
    #[error("selector can't be empty")]
    Empty,
    /// It has more than name, kind and namespace.
    #[error(
        "Too many parts in selector. Selectors must contain between 1 and 3 parts (colon separated), found {0} parts in {1}"
    )]
    TooManyParts(usize, String),
    /// A backslash before something other than a colon or a backslash.
    #[error("invalid escape sequence '\\{0}' in '{1}'")]
    Escape(char, String),
}

/// A fragment taken apart: name, and kind and namespace if given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fragment {
    parts: Vec<String>,
}

impl Fragment {
    /// Reads `name[:kind[:namespace]]`, with colons and backslashes escaped by a backslash.
    pub fn parse(text: &str) -> Result<Self, FragmentSyntaxError> {
        let parts = split(text)?;
        match parts.len() {
            _ if text.is_empty() => Err(FragmentSyntaxError::Empty),
            1..=3 => Ok(Self { parts }),
            count => Err(FragmentSyntaxError::TooManyParts(count, text.to_owned())),
        }
    }

    /// Whether the object has this name, kind and namespace, without regard to case; an empty part matches all.
    pub fn matches(&self, object: &Object) -> bool {
        let own = [object.name(), object.kind(), object.namespace()];
        let same = |(part, own): (&String, &str)| {
            part.is_empty() || part.to_lowercase() == own.to_lowercase()
        };
        self.parts.iter().zip(own).all(same)
    }
}

impl Fragments {
    /// Collects the fragments of all objects.
    pub fn new<'a>(objects: impl IntoIterator<Item = &'a Object>) -> Self {
        let mut fragments = Self::default();
        for (place, object) in objects.into_iter().enumerate() {
            for name in candidates(object) {
                fragments.places.entry(name).or_default().push(place);
            }
            fragments.full_names.push(full_name(object));
        }
        fragments
    }

    /// The place of the one object that a fragment means.
    pub fn find(&self, fragment: &str) -> Result<usize, FragmentError> {
        let names =
            |places: &[usize]| places.iter().map(|place| self.full_names[*place].clone()).collect();
        match self.places.get(&fragment.to_lowercase()).map_or(&[][..], Vec::as_slice) {
            [] => Err(FragmentError::Unknown {
                fragment: fragment.to_owned(),
                known: self.full_names.clone(),
            }),
            [place] => Ok(*place),
            places => Err(FragmentError::Ambiguous {
                fragment: fragment.to_owned(),
                matching: names(places),
            }),
        }
    }
}

/// The names an object may go by, shortest first.
fn candidates(object: &Object) -> [String; PARTS] {
    parts_of([object.name(), object.kind(), object.namespace(), object.group()])
}

fn parts_of([name, kind, namespace, group]: [&str; PARTS]) -> [String; PARTS] {
    let group = if group.is_empty() { "core" } else { group };
    let parts = [name, kind, namespace, group];
    let mut name = String::new();
    std::array::from_fn(|index| {
        if index > 0 {
            name.push(':');
        }
        name.push_str(&escape(parts[index]).to_lowercase());
        name.clone()
    })
}

fn join(parts: &[&str]) -> String {
    parts.iter().map(|part| escape(part)).collect::<Vec<_>>().join(":")
}

fn escape(part: &str) -> String {
    part.replace('\\', "\\\\").replace(':', "\\:")
}

fn split(text: &str) -> Result<Vec<String>, FragmentSyntaxError> {
    let mut parts = vec![String::new()];
    let mut letters = text.char_indices();
    while let Some((_, letter)) = letters.next() {
        let part = parts.last_mut().expect("there is always a part being read");
        match letter {
            ':' => parts.push(String::new()),
            '\\' => match letters.next() {
                Some((_, escaped @ (':' | '\\'))) => part.push(escaped),
                Some((at, other)) => {
                    return Err(FragmentSyntaxError::Escape(other, snippet(text, at)));
                }
                None => {}
            },
            other => part.push(other),
        }
    }
    Ok(parts)
}

/// The bytes around a mistake.
fn snippet(text: &str, at: usize) -> String {
    let bytes = &text.as_bytes()[at.saturating_sub(3)..(at + 3).min(text.len())];
    String::from_utf8_lossy(bytes).into_owned()
}

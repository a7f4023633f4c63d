//! Who made an object, and who made that: the owner tree, of which each part is read once.

use std::collections::{HashMap, HashSet};

use engine_model::Time;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use crate::ObjectKey;

/// How many owners are remembered before those that nobody needs are dropped.
const MANY: usize = 20_000;

/// An object that an owner reference or an event names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reference {
    pub(super) uid: String,
    pub(super) key: ObjectKey,
}

impl Reference {
    /// The owners that an object in a namespace names.
    pub(super) fn owners(references: Option<Vec<OwnerReference>>, namespace: &str) -> Vec<Self> {
        let references = references.into_iter().flatten();
        let reference = |it: OwnerReference| Self {
            uid: it.uid,
            key: ObjectKey {
                api_version: it.api_version,
                kind: it.kind,
                namespace: namespace.to_owned(),
                name: it.name,
            },
        };
        references.map(reference).collect()
    }
}

/// What is known of an owner. One that may not be read, or is gone, has no owners.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) created: Option<Time>,
    /// Which of the sets of a Deployment it is; 0 if it is none.
    pub(super) revision: u64,
    pub(super) owners: Vec<Reference>,
}

/// The owners of an object, as far as they are known.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Ancestors<'a> {
    /// The UIDs of all of them.
    pub(super) uids: Vec<&'a str>,
    /// Those that have to be read to know theirs.
    pub(super) unread: Vec<&'a Reference>,
}

/// All owners that were read.
#[derive(Debug, Default)]
pub(super) struct Owners(HashMap<String, Owner>);

impl Owners {
    /// Remembers what was read of an owner.
    pub(super) fn learn(&mut self, uid: String, owner: Owner) {
        self.0.insert(uid, owner);
    }

    /// What is known of an owner.
    pub(super) fn get(&self, uid: &str) -> Option<&Owner> {
        self.0.get(uid)
    }

    /// All owners that are known, nearest first within each branch.
    pub(super) fn ancestors<'a>(&'a self, owners: &'a [Reference]) -> Ancestors<'a> {
        let mut ancestors = Ancestors::default();
        let mut next: Vec<&Reference> = owners.iter().rev().collect();
        while let Some(reference) = next.pop() {
            // Owners may own each other.
            if ancestors.uids.contains(&reference.uid.as_str()) {
                continue;
            }
            ancestors.uids.push(&reference.uid);
            match self.get(&reference.uid) {
                Some(owner) => next.extend(owner.owners.iter().rev()),
                None => ancestors.unread.push(reference),
            }
        }
        ancestors
    }

    /// Drops owners that are not among those of the given objects, if there are many.
    pub(super) fn trim<'a>(&mut self, needed: impl Iterator<Item = &'a [Reference]>) {
        if self.0.len() <= MANY {
            return;
        }
        let mut kept: HashSet<String> = HashSet::new();
        for owners in needed {
            kept.extend(self.ancestors(owners).uids.into_iter().map(str::to_owned));
        }
        self.0.retain(|uid, _| kept.contains(uid));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(uid: &str) -> Reference {
        let text = String::new;
        let key = ObjectKey { api_version: text(), kind: text(), namespace: text(), name: text() };
        Reference { uid: uid.to_owned(), key }
    }

    fn owners(tree: &[(&str, &[&str])]) -> Owners {
        let mut known = Owners::default();
        for (uid, owners) in tree {
            let owners = owners.iter().map(|it| reference(it)).collect();
            known.learn((*uid).to_owned(), Owner { owners, ..Owner::default() });
        }
        known
    }

    #[test]
    fn ancestors_are_told_nearest_first() {
        let known = owners(&[
            ("rs", &["deploy", "other"]),
            ("deploy", &["app"]),
            ("app", &[]),
            ("other", &[]),
        ]);
        assert_eq!(known.ancestors(&[reference("rs")]).uids, ["rs", "deploy", "app", "other"]);
    }

    #[test]
    fn owners_that_own_each_other_are_told_once() {
        let known = owners(&[("a", &["b"]), ("b", &["a"])]);
        assert_eq!(known.ancestors(&[reference("a")]).uids, ["a", "b"]);
    }

    #[test]
    fn what_has_to_be_read_is_told() {
        let known = owners(&[("rs", &["deploy"])]);
        let owners = [reference("rs")];
        let ancestors = known.ancestors(&owners);
        assert_eq!(ancestors.uids, ["rs", "deploy"]);
        assert_eq!(ancestors.unread, [&reference("deploy")]);
    }
}

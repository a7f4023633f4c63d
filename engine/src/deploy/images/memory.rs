//! What was built before: within this run, and, for builds whose inputs are known, over a restart.
//!
//! A file keeps which inputs made which image. It has nothing but names and digests, so that no secret can be
//! read from it; several engines may write it at the same time.

use std::{
    collections::{BTreeMap, HashMap},
    io,
    path::Path,
    time::{Duration, SystemTime},
};

use engine_docker::Fingerprints;
use engine_model::ImageTarget;
use serde::{Deserialize, Serialize};

use super::{Built, Origin, patch::Ancestor};
use crate::state_file::{self, Found};

/// So many images are remembered over a restart, those that were built last.
const RECORDS_MAX: usize = 500;

/// Counts up when the file means something else than before.
const VERSION: u32 = 1;

/// What is known of images.
#[derive(Debug, Default)]
pub(super) struct Memory {
    stored: Stored,
    /// Why nothing of earlier runs is known, if there is something.
    pub(super) problem: Option<String>,
    /// What custom builds made in this run, and nothing has changed since; by image map and destination.
    custom: HashMap<(String, String), Built>,
    /// What was built last in this run; by image map and destination.
    ancestors: HashMap<(String, String), Ancestor>,
    /// Inputs of what was built in this run.
    own: HashMap<String, Record>,
    /// Contents of files that were read already.
    pub(super) fingerprints: Fingerprints,
    /// Digests of images in registries, as they were when they were last used in this run.
    registry: HashMap<String, String>,
}

/// What outlives a run.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Stored {
    /// By the digest of their inputs.
    #[serde(default)]
    records: BTreeMap<String, Record>,
}

/// An image, and what it was built from beside its inputs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) id: String,
    pub(super) tagged: String,
    pub(super) deployed: String,
    /// The name on this machine, if that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    local: Option<String>,
    /// When the build began, in microseconds since 1970.
    started: u64,
    /// The images that it starts from or copies from, by name.
    pub(super) bases: BTreeMap<String, Base>,
}

/// Which image a name meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Base {
    /// One in the Docker engine.
    Local(String),
    /// One in a registry, which the builder gets by itself.
    Registry(String),
}

impl Record {
    pub(super) fn new(built: &Built, bases: BTreeMap<String, Base>) -> Self {
        let started = built.started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self {
            id: built.id.clone(),
            tagged: built.tagged.clone(),
            deployed: built.deployed.clone(),
            local: Some(built.local.clone()).filter(|it| *it != built.deployed),
            started: u64::try_from(started.as_micros()).unwrap_or(u64::MAX),
            bases,
        }
    }

    /// The name on this machine.
    pub(super) fn local(&self) -> &str {
        self.local.as_deref().unwrap_or(&self.deployed)
    }

    pub(super) fn built(&self, target: &ImageTarget, origin: Origin) -> Built {
        Built {
            id: self.id.clone(),
            tagged: self.tagged.clone(),
            local: self.local().to_owned(),
            deployed: self.deployed.clone(),
            // A file that somebody else wrote may have any number.
            started: SystemTime::UNIX_EPOCH
                .checked_add(Duration::from_micros(self.started))
                .unwrap_or(SystemTime::UNIX_EPOCH),
            selector: target.selector.clone(),
            is_exact: target.match_exact,
            origin,
        }
    }
}

impl Memory {
    /// Reads what earlier runs have left.
    pub(super) fn load(file: Option<&Path>) -> Self {
        match file.map_or(Found::Nothing, |it| state_file::read(it, VERSION)) {
            Found::Content(stored) => Self { stored, ..Self::default() },
            Found::Newer(text) => Self { problem: Some(text), ..Self::default() },
            // One that cannot be read is as good as none.
            Found::Nothing => Self::default(),
        }
    }

    /// What was built of these inputs, and whether that was in this run.
    pub(super) fn built_from(&self, inputs: &str) -> Option<(Record, Origin)> {
        let own = self.own.get(inputs).map(|it| (it, Origin::ThisRun));
        let found = own.or_else(|| Some((self.stored.records.get(inputs)?, Origin::EarlierRun)));
        found.map(|(record, origin)| (record.clone(), origin))
    }

    /// Remembers an image by its inputs.
    pub(super) fn remember(&mut self, inputs: &str, record: Record) {
        for (name, base) in &record.bases {
            if let Base::Registry(digest) = base {
                self.registry.insert(name.clone(), digest.clone());
            }
        }
        self.own.insert(inputs.to_owned(), record);
    }

    pub(super) fn registry_digest(&self, name: &str) -> Option<String> {
        self.registry.get(name).cloned()
    }

    pub(super) fn remember_registry_digest(&mut self, name: &str, digest: &str) {
        self.registry.insert(name.to_owned(), digest.to_owned());
    }

    pub(super) fn custom(&self, image: &str, destination: &str) -> Option<Built> {
        self.custom.get(&(image.to_owned(), destination.to_owned())).cloned()
    }

    pub(super) fn ancestor(&self, image: &str, destination: &str) -> Option<Ancestor> {
        self.ancestors.get(&(image.to_owned(), destination.to_owned())).cloned()
    }

    pub(super) fn forget_ancestor(&mut self, image: &str, destination: &str) {
        self.ancestors.remove(&(image.to_owned(), destination.to_owned()));
    }

    pub(super) fn remember_ancestor(&mut self, image: &str, destination: String, it: Ancestor) {
        self.ancestors.insert((image.to_owned(), destination), it);
    }

    pub(super) fn forget_custom(&mut self, image: &str) {
        self.custom.retain(|(name, _), _| name != image);
    }

    pub(super) fn remember_custom(&mut self, image: &str, destination: String, built: &Built) {
        self.custom.insert((image.to_owned(), destination), built.clone());
    }
}

/// Adds a record to the file, beside those that other engines have added. It reads and writes, and therefore blocks.
pub(super) fn keep(file: &Path, inputs: String, record: Record) -> io::Result<()> {
    state_file::update(file, VERSION, |stored: Option<Stored>| {
        let mut stored = stored.unwrap_or_default();
        stored.records.insert(inputs, record);
        while stored.records.len() > RECORDS_MAX {
            let oldest = stored.records.iter().min_by_key(|(_, it)| it.started);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else { break };
            stored.records.remove(&oldest);
        }
        stored
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn record(started: u64) -> Record {
        Record {
            id: format!("sha256:{started}"),
            tagged: "web:tilt-1".into(),
            deployed: "web:latest".into(),
            local: None,
            started,
            bases: BTreeMap::new(),
        }
    }

    #[test]
    fn engines_that_write_at_the_same_time_keep_what_the_others_wrote() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("new/images.json");
        std::thread::scope(|scope| {
            for i in 0..8 {
                let file = &file;
                scope.spawn(move || keep(file, format!("inputs {i}"), record(i)).unwrap());
            }
        });
        let memory = Memory::load(Some(&file));
        for i in 0..8 {
            let found = memory.built_from(&format!("inputs {i}")).unwrap();
            assert_eq!(found, (record(i), Origin::EarlierRun));
        }
    }

    #[test]
    fn the_file_does_not_grow_for_ever_and_loses_the_oldest_first() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("images.json");
        let records = (0..RECORDS_MAX as u64).map(|i| (i.to_string(), record(i + 1))).collect();
        state_file::write(&file, VERSION, &Stored { records }).unwrap();
        keep(&file, "new".into(), record(9_999)).unwrap();
        let memory = Memory::load(Some(&file));
        assert_eq!(memory.stored.records.len(), RECORDS_MAX);
        assert!(memory.built_from("0").is_none());
        assert!(memory.built_from("1").is_some() && memory.built_from("new").is_some());
    }

    #[test]
    fn a_file_that_makes_no_sense_is_as_good_as_none_and_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("images.json");
        for text in
            ["", "{", "[1]", r#"{"version": 1, "records": 7}"#, r#"{"images": {"old": {}}}"#]
        {
            fs::write(&file, text).unwrap();
            assert!(Memory::load(Some(&file)).built_from("a").is_none());
            keep(&file, "a".into(), record(1)).unwrap();
            assert!(Memory::load(Some(&file)).built_from("a").is_some(), "{text}");
        }
    }

    #[test]
    fn a_file_of_a_newer_version_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("images.json");
        let text = r#"{"version": 2, "records": {}}"#;
        fs::write(&file, text).unwrap();
        let problem = Memory::load(Some(&file)).problem.unwrap();
        assert!(problem.contains("images.json, which a newer version has written"), "{problem}");
        keep(&file, "a".into(), record(1)).unwrap_err();
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
}

//! The store of all objects: in memory, with one version counter and one stream of changes.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use tokio::sync::broadcast;

use super::{
    Kind, KindSchema,
    change::{Change, Changes, Event},
    object::{Meta, Object, Parts, keyed},
};

/// How many changes a slow reader may miss before it has to list again.
const RING: usize = 4096;
/// The same for those who only hear of clients, who do little.
const CLIENT_RING: usize = 1024;

/// Marks which spec of a button a page has seen.
pub(super) const BUTTON_HASH: &str = "uibuttonspec-hash";

/// All objects; cheap to clone, the clones are the same store.
#[derive(Clone, Debug)]
pub struct Store {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    objects: Mutex<Objects>,
    changes: broadcast::Sender<Change>,
    client_changes: broadcast::Sender<Change>,
}

#[derive(Debug)]
struct Objects {
    version: u64,
    kinds: Vec<BTreeMap<Box<str>, Arc<Object>>>,
    /// The version of the last write of each kind.
    last: Vec<u64>,
}

/// All objects of a kind at some time.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The objects, by name.
    pub objects: Vec<Arc<Object>>,
    /// The version of the last write of any kind.
    pub version: u64,
    /// The version of the last write of this kind.
    pub last: u64,
}

/// What a write did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// There was no such object.
    Created,
    /// It has other content now.
    Updated,
    /// It was like that already.
    Unchanged,
}

impl Default for Store {
    fn default() -> Self {
        Self::new()
    }
}

impl Store {
    /// An empty store.
    pub fn new() -> Self {
        let kinds = vec![BTreeMap::new(); Kind::ALL.len()];
        let shared = Shared {
            objects: Mutex::new(Objects { version: 1, kinds, last: vec![1; Kind::ALL.len()] }),
            changes: broadcast::Sender::new(RING),
            client_changes: broadcast::Sender::new(CLIENT_RING),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Creates an object of the engine, or replaces its metadata and spec; a status stays.
    ///
    /// For config maps, the spec is the data. A spec that is null is left out. An owner is named by kind and name; one
    /// that does not exist is left out, too.
    #[expect(clippy::must_use_candidate, reason = "most writers need not know what was there")]
    pub fn put(&self, kind: Kind, name: &str, meta: &Meta, spec: &Value) -> Written {
        self.put_where(kind, name, meta, spec, |_, _| true)
    }

    /// Creates an object of the engine; one that is there already stays as it is.
    pub fn put_new(&self, kind: Kind, name: &str, meta: &Meta, spec: &Value) {
        self.put_where(kind, name, meta, spec, |old, _| old.is_none());
    }

    /// Creates or replaces an object of the engine if its owner is there.
    pub fn put_owned(&self, kind: Kind, name: &str, meta: &Meta, spec: &Value) {
        self.put_where(kind, name, meta, spec, |_, owner| owner.is_some());
    }

    fn put_where(
        &self,
        kind: Kind,
        name: &str,
        meta: &Meta,
        spec: &Value,
        is_meant: impl FnOnce(Option<&Object>, Option<&Object>) -> bool,
    ) -> Written {
        // An empty map has no data at all, as in Go.
        let no_data = !kind.has_status() && spec.as_object().is_some_and(serde_json::Map::is_empty);
        let body = keyed(kind.body_key(), if no_data { &Value::Null } else { spec });
        let hashed;
        let meta = if kind == Kind::UiButton {
            hashed = with_button_hash(meta, &body);
            &hashed
        } else {
            meta
        };
        let mut write = self.write(false);
        let owner = meta.owner.as_ref().and_then(|it| write.get(it.kind, &it.name));
        let old = write.get(kind, name);
        if !is_meant(old.as_deref(), owner.as_deref()) {
            return Written::Unchanged;
        }
        match old {
            Some(old) => {
                let parts = Parts {
                    tail: meta.tail(&old.created(), owner.as_deref()),
                    body,
                    status: old.status_text().to_owned(),
                };
                write.replace(&old, &parts).1
            }
            None => {
                let status =
                    kind.zero_status().map_or_else(String::new, |it| format!(r#","status":{it}"#));
                let parts = Parts { tail: meta.tail(&now(), owner.as_deref()), body, status };
                write.insert(kind, name, &parts);
                Written::Created
            }
        }
    }

    /// Changes the spec of an object, or the data of a config map, and nothing else of it; false if there is no such
    /// object.
    pub fn edit(&self, kind: Kind, name: &str, edit: impl FnOnce(&mut Map<String, Value>)) -> bool {
        let mut write = self.write(false);
        let Some(old) = write.get(kind, name) else { return false };
        let mut spec = match old.spec() {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        edit(&mut spec);
        let parts = Parts { body: keyed(kind.body_key(), &spec), ..old.parts() };
        write.replace(&old, &parts);
        true
    }

    /// Replaces the status of an object; false if there is no such object.
    pub fn set_status(&self, kind: Kind, name: &str, status: &impl Serialize) -> bool {
        let status = keyed("status", status);
        let mut write = self.write(false);
        let Some(old) = write.get(kind, name) else { return false };
        if old.status_text() != status {
            let parts = Parts { status, ..old.parts() };
            write.replace(&old, &parts);
        }
        true
    }

    /// Notes something on an object, or takes the note away; all the rest stays.
    pub fn annotate(&self, kind: Kind, name: &str, key: &str, note: Option<&str>) {
        let mut write = self.write(false);
        let Some(old) = write.get(kind, name) else { return };
        if note.is_some() || old.tail().contains(key) {
            let parts = Parts { tail: old.annotated(key, note), ..old.parts() };
            write.replace(&old, &parts);
        }
    }

    /// Removes an object; false if there is none.
    #[expect(
        clippy::must_use_candidate,
        reason = "whoever wants it gone need not know whether it was there"
    )]
    pub fn remove(&self, kind: Kind, name: &str) -> bool {
        self.write(false).remove(kind, name).is_some()
    }

    /// The object of this name.
    pub fn get(&self, kind: Kind, name: &str) -> Option<Arc<Object>> {
        self.lock().kinds[kind.index()].get(name).cloned()
    }

    /// All objects of a kind, by name.
    pub fn list(&self, kind: Kind) -> Vec<Arc<Object>> {
        self.lock().kinds[kind.index()].values().cloned().collect()
    }

    /// All objects of a kind, and how old that is.
    pub fn snapshot(&self, kind: Kind) -> Snapshot {
        let objects = self.lock();
        Snapshot {
            objects: objects.kinds[kind.index()].values().cloned().collect(),
            version: objects.version,
            last: objects.last[kind.index()],
        }
    }

    /// The version of the last write.
    pub fn version(&self) -> u64 {
        self.lock().version
    }

    /// All changes from now on.
    pub fn changes(&self) -> Changes {
        Changes::new(self.shared.changes.subscribe())
    }

    /// The changes that clients make, from now on; the engine's own do not count against a slow reader.
    pub fn client_changes(&self) -> Changes {
        Changes::new(self.shared.client_changes.subscribe())
    }

    /// Begins a write of a client or of the engine; nobody else writes before it is dropped.
    pub(super) fn write(&self, by_client: bool) -> Write<'_> {
        Write { shared: &self.shared, objects: self.lock(), by_client }
    }

    fn lock(&self) -> MutexGuard<'_, Objects> {
        // Nothing that runs under the lock can leave half a write.
        self.shared.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A write under way.
pub(super) struct Write<'a> {
    shared: &'a Shared,
    objects: MutexGuard<'a, Objects>,
    by_client: bool,
}

impl Write<'_> {
    /// All objects of a kind.
    pub(super) fn list(&self, kind: Kind) -> Vec<Arc<Object>> {
        self.objects.kinds[kind.index()].values().cloned().collect()
    }

    /// The object of this name.
    pub(super) fn get(&self, kind: Kind, name: &str) -> Option<Arc<Object>> {
        self.objects.kinds[kind.index()].get(name).cloned()
    }

    /// Adds an object whose name is free.
    pub(super) fn insert(&mut self, kind: Kind, name: &str, parts: &Parts) -> Arc<Object> {
        let uid = uuid::Uuid::new_v4().to_string();
        self.store(kind, name, &uid, parts, Event::Added)
    }

    /// Gives an object other content; the same content changes nothing.
    pub(super) fn replace(&mut self, old: &Arc<Object>, parts: &Parts) -> (Arc<Object>, Written) {
        if old.has_parts(parts) {
            return (old.clone(), Written::Unchanged);
        }
        let new = self.store(old.kind(), old.name(), old.uid(), parts, Event::Modified);
        (new, Written::Updated)
    }

    /// Removes an object.
    pub(super) fn remove(&mut self, kind: Kind, name: &str) -> Option<Arc<Object>> {
        let object = self.objects.kinds[kind.index()].remove(name)?;
        self.advance(kind);
        self.send(Event::Deleted, object.clone());
        Some(object)
    }

    /// What an object would be with this content; nothing is stored.
    pub(super) fn imagine(&self, kind: Kind, name: &str, uid: &str, parts: &Parts) -> Arc<Object> {
        Arc::new(Object::new(kind, name, uid, self.objects.version, parts))
    }

    fn store(
        &mut self,
        kind: Kind,
        name: &str,
        uid: &str,
        parts: &Parts,
        event: Event,
    ) -> Arc<Object> {
        self.advance(kind);
        let object = Arc::new(Object::new(kind, name, uid, self.objects.version, parts));
        self.objects.kinds[kind.index()].insert(name.into(), object.clone());
        self.send(event, object.clone());
        object
    }

    fn advance(&mut self, kind: Kind) {
        self.objects.version += 1;
        self.objects.last[kind.index()] = self.objects.version;
    }

    /// Sends under the lock, so that changes come in the order of their versions.
    fn send(&self, event: Event, object: Arc<Object>) {
        let version = self.objects.version;
        let change = Change { event, object, version, by_client: self.by_client };
        // Nobody may be listening.
        if self.by_client {
            let _ = self.shared.client_changes.send(change.clone());
        }
        let _ = self.shared.changes.send(change);
    }
}

/// The metadata of a button, with a mark that changes with its spec.
fn with_button_hash(meta: &Meta, body: &str) -> Meta {
    let mut meta = meta.clone();
    meta.annotations.insert(BUTTON_HASH.to_owned(), button_hash(body));
    meta
}

/// A short mark of a spec.
pub(super) fn button_hash(body: &str) -> String {
    let digest = Sha256::digest(body);
    engine_formats::golang::hex::encode(&digest[..10])
}

/// The present time as objects state their creation.
pub(super) fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests;

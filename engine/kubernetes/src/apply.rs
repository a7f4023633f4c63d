//! Applies objects to a cluster: in Tilt's order, in parallel within a tier, writing only what has
//! to be written.

mod equal;
mod merge;
mod one;
mod ownership;
mod patch;
mod server_side;
mod shape;
mod trial;
mod wanted;

use std::{
    collections::HashSet,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use engine_formats::kubernetes::kind_rank;
use engine_model::GoDuration;
use futures_util::{
    StreamExt as _,
    stream::{self, FuturesUnordered},
};
use serde_json::Value;

use crate::{Cluster, KubernetesError, ObjectKey, mapping::Resource, object::text};
use merge::{KeptField, Step};
use one::{LiveObject, Upsert};
use wanted::Wanted;

/// How many objects are worked on at once.
const AT_ONCE: usize = 16;

/// How objects are applied.
#[derive(Clone, Debug)]
pub struct ApplyOptions {
    /// Whether the server merges.
    pub server_side: bool,
    /// How long one object may take.
    pub timeout: Duration,
    /// What happens to fields that others changed.
    pub drift: Drift,
    /// Why, for the audit.
    pub cause: String,
}

/// What happens to fields that others changed while what we want of them stayed the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Drift {
    /// They are kept.
    #[default]
    Keep,
    /// They become what is wanted.
    Overwrite,
}

/// What came of applying objects.
#[derive(Clone, Debug, Default)]
pub struct Applied {
    /// The objects as the server has them, in the order they were given in; after an error, those
    /// that were applied before.
    pub objects: Vec<Value>,
    /// The fields that others changed.
    pub kept: Vec<Kept>,
    /// How often the cluster was written to.
    pub n_writes: usize,
    /// What went wrong first.
    pub error: Option<String>,
    /// The same, with the object that it went wrong with.
    pub failure: Option<Failure>,
}

/// An object that could not be applied.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The object as it was wanted.
    pub object: Value,
    /// What went wrong.
    pub error: KubernetesError,
}

/// A field that somebody else changed, and that was left alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// The object it is in.
    pub object: ObjectKey,
    /// Where it is, such as `spec.replicas` or `spec.template.spec.containers[app].image`.
    pub path: String,
    /// What it is; nothing if it was removed.
    pub theirs: Option<Value>,
    /// What is wanted of it.
    pub ours: Value,
    /// Who changed it, if the server knows.
    pub by: Option<String>,
}

impl Kept {
    /// Nothing if it is only that the server writes our value in its own way.
    fn new(object: &ObjectKey, live: &Value, field: KeptField) -> Option<Self> {
        if field.path.first() == Some(&Step::Field("status".to_owned())) {
            return None;
        }
        let by = ownership::other_writer(live, &field)?;
        Some(Self {
            object: object.clone(),
            path: path(&field.path),
            theirs: field.theirs,
            ours: field.ours,
            by: Some(by).filter(|it| !it.is_empty()),
        })
    }
}

/// The way to a field as people write it.
fn path(steps: &[Step]) -> String {
    let mut path = String::new();
    for step in steps {
        match step {
            Step::Field(name) if name.contains(['.', '/']) => path += &format!("[{name}]"),
            Step::Field(name) if path.is_empty() => path += name,
            Step::Field(name) => path += &format!(".{name}"),
            Step::Item(keys) => {
                let plain =
                    |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let keys: Vec<String> = keys.iter().map(|(_, value)| plain(value)).collect();
                path += &format!("[{}]", keys.join("/"));
            }
        }
    }
    path
}

/// One object and its place in what was given.
struct Entry {
    place: usize,
    object: Value,
    /// Where its kind lives and what it was seen to be before its turn came.
    seen: Option<(Resource, LiveObject)>,
}

impl Cluster {
    /// Applies objects in Tilt's order, in parallel within a tier.
    ///
    /// After the first error nothing more is begun; what is under way is brought to its end.
    /// Dropping the future stops everything at once.
    pub async fn apply(
        &self,
        objects: Vec<Value>,
        options: &ApplyOptions,
        say: &(dyn Fn(&str) + Send + Sync),
    ) -> Applied {
        let run = Run { cluster: self, options, say, n_writes: AtomicUsize::new(0) };
        let entries = run.look(objects).await;
        run.tiers(tiers(entries)).await
    }
}

/// Objects that are being applied.
struct Run<'a> {
    cluster: &'a Cluster,
    options: &'a ApplyOptions,
    say: &'a (dyn Fn(&str) + Send + Sync),
    n_writes: AtomicUsize,
}

impl Run<'_> {
    /// Looks at all objects at once, since most of them are as they should be.
    async fn look(&self, objects: Vec<Value>) -> Vec<Entry> {
        let mut keys = HashSet::new();
        let entries = objects.into_iter().enumerate().map(|(place, object)| {
            let is_first = keys.insert(ObjectKey::of(&object));
            async move {
                let seen = if is_first { self.look_at(&object).await } else { None };
                Entry { place, object, seen }
            }
        });
        stream::iter(entries).buffered(AT_ONCE).collect().await
    }

    /// Nothing if it cannot be seen, which will be told when its turn comes.
    async fn look_at(&self, object: &Value) -> Option<(Resource, LiveObject)> {
        let key = ObjectKey::of(object);
        let look = tokio::time::timeout(self.options.timeout, self.cluster.look_up(&key));
        let (resource, live) = look.await.ok()?.ok()??;
        Some((resource, live.map_or(LiveObject::Missing, |it| LiveObject::There(Box::new(it)))))
    }

    /// Applies tiers one after another.
    async fn tiers(&self, tiers: Vec<Vec<Entry>>) -> Applied {
        let mut applied = Applied::default();
        let mut done = Vec::new();
        let mut is_stale = false;
        for tier in tiers {
            let is_base = tier.iter().any(|it| is_base(text(&it.object, "/kind")));
            let n_before = self.n_writes.load(Ordering::Relaxed);
            self.tier(tier, is_stale, &mut applied, &mut done).await;
            if applied.error.is_some() {
                break;
            }
            // What lives in a new namespace, or is of a new kind, is not what was seen before.
            is_stale |= is_base && self.n_writes.load(Ordering::Relaxed) > n_before;
        }
        done.sort_by_key(|(place, _)| *place);
        applied.objects = done.into_iter().map(|(_, object)| object).collect();
        applied.n_writes = self.n_writes.load(Ordering::Relaxed);
        applied
    }

    async fn tier(
        &self,
        tier: Vec<Entry>,
        is_stale: bool,
        applied: &mut Applied,
        done: &mut Vec<(usize, Value)>,
    ) {
        let mut waiting = tier.into_iter().map(|mut entry| {
            entry.seen.take_if(|_| is_stale);
            self.upsert(entry)
        });
        let mut running: FuturesUnordered<_> = waiting.by_ref().take(AT_ONCE).collect();
        while let Some((place, result)) = running.next().await {
            match result {
                Ok((object, kept)) => {
                    applied.kept.extend(kept);
                    done.push((place, object));
                }
                Err(failure) if applied.error.is_none() => {
                    applied.error = Some(failure.error.to_string());
                    applied.failure = Some(failure);
                }
                Err(_) => {}
            }
            if applied.error.is_none() {
                running.extend(waiting.next());
            }
        }
    }

    /// Applies one object within its time.
    async fn upsert(&self, entry: Entry) -> (usize, Result<(Value, Vec<Kept>), Failure>) {
        let place = entry.place;
        let (key, object) = (ObjectKey::of(&entry.object), entry.object.clone());
        let timeout = self.options.timeout;
        let result = match tokio::time::timeout(timeout, self.upsert_in_time(entry, &key)).await {
            Ok(result) => result,
            Err(_) => {
                let timeout = GoDuration(i64::try_from(timeout.as_nanos()).unwrap_or(i64::MAX));
                let (kind, name) = (key.kind, key.name);
                let text =
                    format!("Killed kubectl. Hit timeout of {timeout} applying {kind}/{name}.");
                Err(KubernetesError::Unreachable(text))
            }
        };
        (place, result.map_err(|error| Failure { object, error }))
    }

    async fn upsert_in_time(
        &self,
        Entry { object, seen, .. }: Entry,
        key: &ObjectKey,
    ) -> Result<(Value, Vec<Kept>), KubernetesError> {
        if key.name.is_empty() {
            return Err(KubernetesError::Request(match text(&object, "/metadata/generateName") {
                "" => "resource name may not be empty".to_owned(),
                name => format!("from {name}: cannot use generate name with apply"),
            }));
        }
        let (resource, seen) = match seen {
            Some(seen) => seen,
            None => {
                let resource = self.cluster.resource(&key.api_version, &key.kind).await;
                (resource.map_err(|it| it.during("kubernetes apply"))?, LiveObject::Nothing)
            }
        };
        let wanted = Wanted::new(self.cluster, resource, object);
        let Self { cluster, options, say, n_writes } = self;
        let (kept, is_again) = (Vec::new(), false);
        let mut upsert = Upsert { cluster, options, say, wanted, n_writes, kept, is_again };
        let mut result = upsert.run(seen).await;
        if matches!(result, Err(KubernetesError::Unreachable(_))) {
            // Nobody knows whether it was done. Looking again and doing what is left cannot do harm.
            upsert.is_again = true;
            result = upsert.run(LiveObject::Nothing).await;
        }
        Ok((result?, upsert.kept))
    }
}

/// Whether other objects live in objects of this kind, or are of kinds that they define.
fn is_base(kind: &str) -> bool {
    matches!(kind, "Namespace" | "CustomResourceDefinition")
}

/// Groups objects that may be applied at the same time, in the order of their kinds.
fn tiers(mut entries: Vec<Entry>) -> Vec<Vec<Entry>> {
    let rank = |entry: &Entry| kind_rank(text(&entry.object, "/kind"));
    entries.sort_by_key(rank);
    let mut tiers: Vec<Vec<Entry>> = Vec::new();
    let mut keys = HashSet::new();
    for entry in entries {
        let is_new = keys.insert(ObjectKey::of(&entry.object));
        match tiers.last_mut() {
            Some(tier) if is_new && tier.last().is_some_and(|last| rank(last) == rank(&entry)) => {
                tier.push(entry);
            }
            _ => {
                keys = HashSet::from([ObjectKey::of(&entry.object)]);
                tiers.push(vec![entry]);
            }
        }
    }
    tiers
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

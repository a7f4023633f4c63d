//! Brings one object to the cluster: in place if that works, else in ever more intrusive ways.

use std::{
    sync::atomic::AtomicUsize,
    time::{Duration, Instant},
};

use engine_formats::golang::quote::quote;
use hyper::Method;
use serde_json::{Value, json};

use super::{
    ApplyOptions, Kept,
    merge::{Merged, merge},
    ownership::{self, MANAGER, Operation},
    patch::{of_this_version, patch, written},
    wanted::{Wanted, remember},
};
use crate::{
    Cluster, KubernetesError, Verb,
    audit::Pending,
    mapping::{LOOK, condition},
    object::{is_deleting, text},
    request::Call,
};

const JSON: &str = "application/json";
const JSON_PATCH: &str = "application/json-patch+json";

/// How long a new namespace may take to get its service account and to count its quotas.
const SETTLING: Duration = Duration::from_secs(5);

/// How long the answer to a write may take at first. A connection that died would take it forever; whoever takes
/// longer for other reasons has all of the time that is left when it is sent again.
const FIRST_ANSWER: Duration = Duration::from_secs(12);

/// How often a patch is made anew because others write at the same time.
const MOST_ATTEMPTS: usize = 10;

/// After how many attempts the object must not have changed at all, instead of only where it is written: there may be
/// values that the server writes otherwise than we do.
const MOST_TESTS: usize = 3;

/// What an object was seen to be before its turn came.
pub(super) enum LiveObject {
    /// It was not looked at.
    Nothing,
    /// It is not there.
    Missing,
    /// It is there.
    There(Box<Value>),
}

/// One object on its way to the cluster.
pub(super) struct Upsert<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) options: &'a ApplyOptions,
    pub(super) say: &'a (dyn Fn(&str) + Send + Sync),
    pub(super) wanted: Wanted,
    pub(super) n_writes: &'a AtomicUsize,
    pub(super) kept: Vec<Kept>,
    /// Whether no answer came before.
    pub(super) is_again: bool,
}

impl Upsert<'_> {
    /// Brings the object to the cluster, starting with the least intrusive way.
    pub(super) async fn run(&mut self, seen: LiveObject) -> Result<Value, KubernetesError> {
        let name = quote(&self.wanted.key.name);
        let mut fell_back = false;
        let mut result = self.apply(seen).await;
        if let Err(error) = &result
            && let Some(line) = too_large(error)
        {
            fell_back = true;
            (self.say)(&format!("Updating {name} failed: {line}"));
            (self.say)("Attempting to create or replace");
            result = self.create_or_replace().await;
        }
        if let Err(error) = &result
            && is_immutable(&error.to_string())
        {
            fell_back = true;
            let error = error.to_string();
            let line = error.lines().next().unwrap_or_default();
            (self.say)(&format!("Updating {name} failed: {line}"));
            (self.say)("Attempting to delete and re-create");
            result = self.delete_and_create().await;
        }
        let object = result?;
        if fell_back {
            self.kept.clear();
            (self.say)(&format!("Updating {name} succeeded!"));
        }
        self.until_in_effect(object).await
    }

    /// Applies, once more if the object vanished or vanishes meanwhile.
    async fn apply(&mut self, seen: LiveObject) -> Result<Value, KubernetesError> {
        let again = |error: KubernetesError| error.during("kubernetes apply retry");
        let mut result = self.apply_once(seen).await;
        if result.as_ref().is_err_and(KubernetesError::is_not_found) {
            let name = &self.wanted.key.name;
            (self.say)(&format!("Resource {name} was not found during apply. Retrying..."));
            let key = &self.wanted.key;
            self.cluster.forget_resources(&key.api_version);
            self.wanted.resource =
                self.cluster.resource(&key.api_version, &key.kind).await.map_err(again)?;
            result = self.apply_once(LiveObject::Nothing).await.map_err(again);
        }
        let object = result?;
        if !is_deleting(&object) {
            return Ok(object);
        }
        let name = &self.wanted.key.name;
        (self.say)(&format!(
            "Resource {name} is currently being deleted. Waiting 1m for deletion before retrying..."
        ));
        for reason in what_holds(&object) {
            (self.say)(&format!("Blocked by: {reason}"));
        }
        let patience = Duration::from_mins(1);
        let gone = self.cluster.wait_until_gone(&self.wanted.path(), name, patience).await;
        gone.map_err(again)?;
        self.apply_once(LiveObject::Missing).await.map_err(again)
    }

    async fn apply_once(&mut self, seen: LiveObject) -> Result<Value, KubernetesError> {
        let mut live = match seen {
            LiveObject::Nothing => self.cluster.read(&self.wanted.path()).await?,
            LiveObject::Missing => None,
            LiveObject::There(live) => Some(*live),
        };
        if live.is_none() && !self.options.server_side {
            match self.create(&self.wanted.remembered()).await {
                Err(error) if error.already_exists() => {
                    live = self.cluster.read(&self.wanted.path()).await?;
                }
                created => return created,
            }
        }
        match live {
            Some(live) if is_deleting(&live) => Ok(live),
            live if self.options.server_side => self.apply_by_server(live).await,
            Some(live) => self.update(live).await,
            None => self.create(&self.wanted.remembered()).await,
        }
    }

    /// Writes the fields that have to be written, against what others write meanwhile.
    async fn update(&mut self, mut live: Value) -> Result<Value, KubernetesError> {
        let mut pause = Duration::ZERO;
        for attempt in 1.. {
            let mut patch = self.merged_patch(&live);
            if patch.is_empty() {
                break;
            }
            if attempt > MOST_TESTS {
                patch = of_this_version(patch, &live);
            }
            match self.patch(patch).await {
                Err(error) if is_overtaken(&error) && attempt < MOST_ATTEMPTS => {}
                answer => return answer,
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).clamp(Duration::from_millis(20), Duration::from_secs(1));
            let Some(now) = self.cluster.read(&self.wanted.path()).await? else {
                return self.create(&self.wanted.remembered()).await;
            };
            live = now;
            if is_deleting(&live) {
                break;
            }
        }
        Ok(live)
    }

    /// What brings the live object to what is wanted; nothing if it is that already.
    fn merged_patch(&mut self, live: &Value) -> Vec<Value> {
        let memory = self.wanted.remembered_in(live);
        let comparable = &self.wanted.comparable;
        let original = memory.as_ref().map(|(original, _)| original);
        let (shape, drift) = (self.wanted.shape(), self.options.drift);
        let Merged { mut object, kept } = merge(original, comparable, live, shape, drift);
        self.kept =
            kept.into_iter().filter_map(|field| Kept::new(&self.wanted.key, live, field)).collect();
        if memory.is_none_or(|(_, is_same)| !is_same) {
            // What is too long to be remembered was replaced as a whole.
            if self.wanted.is_too_long_to_remember()
                && ownership::is_as_written(
                    live,
                    &self.wanted.comparable_named(),
                    Operation::Update,
                )
            {
                return Vec::new();
            }
            remember(&mut object, self.wanted.memory());
        }
        patch(live, &object)
    }

    /// Creates the object, or replaces it as a whole; others' fields are lost.
    async fn create_or_replace(&self) -> Result<Value, KubernetesError> {
        let plain = self.wanted.plain();
        match self.create(&plain).await {
            Err(error) if error.already_exists() => {}
            created => return created,
        }
        let live = self.cluster.read(&self.wanted.path()).await?.unwrap_or_default();
        let mut object = plain;
        object["metadata"]["resourceVersion"] = text(&live, "/metadata/resourceVersion").into();
        let path = format!("{}?fieldManager={MANAGER}", self.wanted.path());
        self.write(Verb::Replace, Call::write(Method::PUT, &path, JSON, object.to_string().into()))
            .await
    }

    /// Deletes the object and what it owns, and makes it anew.
    async fn delete_and_create(&self) -> Result<Value, KubernetesError> {
        let (path, name) = (self.wanted.path(), &self.wanted.key.name);
        let deleted = self.cluster.delete_one(&self.wanted.key, &path, &self.options.cause);
        self.count();
        match deleted.await {
            Err(error) if !error.is_not_found() => return Err(error.during("kubernetes delete")),
            _ => {}
        }
        let again = |error: KubernetesError| error.during("kubernetes create");
        let patience = Duration::from_secs(30);
        self.cluster.wait_until_gone(&path, name, patience).await.map_err(again)?;
        let created = if self.options.server_side {
            self.send_apply().await
        } else if self.wanted.is_too_long_to_remember() {
            self.create(&self.wanted.plain()).await
        } else {
            self.create(&self.wanted.remembered()).await
        };
        created.map_err(again)
    }

    /// Creates the object, as soon as what a new namespace gets from the cluster is there.
    async fn create(&self, object: &Value) -> Result<Value, KubernetesError> {
        let path = format!("{}?fieldManager={MANAGER}", self.wanted.collection());
        let started = Instant::now();
        loop {
            let call = Call::write(Method::POST, &path, JSON, object.to_string().into());
            match self.write(Verb::Create, call).await {
                Err(error) if is_too_early(&error) && started.elapsed() < SETTLING => {
                    tokio::time::sleep(LOOK).await;
                }
                answer => return answer,
            }
        }
    }

    async fn patch(&self, operations: Vec<Value>) -> Result<Value, KubernetesError> {
        let path = format!("{}?fieldManager={MANAGER}", self.wanted.path());
        let body = written(&Value::Array(operations)).into();
        self.write(Verb::Patch, Call::write(Method::PATCH, &path, JSON_PATCH, body)).await
    }

    /// Sends a write, which is counted and told.
    pub(super) async fn write(&self, verb: Verb, call: Call) -> Result<Value, KubernetesError> {
        let Wanted { key, resource, .. } = &self.wanted;
        let name = if verb == Verb::Create { "" } else { &key.name };
        let pending = Pending::new(self.cluster, verb, key, &self.options.cause);
        self.count();
        let call = if self.is_again { call } else { call.within(FIRST_ANSWER) };
        let answer = self.cluster.send(&call.about(resource.qualified(), name)).await;
        pending.ended(&answer);
        answer
    }

    fn count(&self) {
        self.n_writes.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }

    /// Waits until a definition is in effect, so that objects of its kind can follow.
    async fn until_in_effect(&self, mut object: Value) -> Result<Value, KubernetesError> {
        if self.wanted.key.kind != "CustomResourceDefinition" {
            return Ok(object);
        }
        let mut has_waited = false;
        while condition(&object, "Established") != Some("True")
            && condition(&object, "NamesAccepted") != Some("False")
        {
            has_waited = true;
            tokio::time::sleep(LOOK).await;
            if let Some(now) = self.cluster.read(&self.wanted.path()).await? {
                object = now;
            }
        }
        if has_waited {
            let versions = object.pointer("/spec/versions").and_then(Value::as_array);
            for version in versions.into_iter().flatten() {
                let (group, version) = (text(&object, "/spec/group"), text(version, "/name"));
                self.cluster.forget_resources(&format!("{group}/{version}"));
            }
        }
        Ok(object)
    }
}

impl Wanted {
    /// What is wanted with what names it, for comparing with the server's book.
    pub(super) fn comparable_named(&self) -> Value {
        let mut named = self.comparable.clone();
        if named.get("metadata").is_none() {
            named["metadata"] = json!({});
        }
        named
    }
}

/// Why an object that is being deleted is still there, as far as that can be seen.
fn what_holds(object: &Value) -> Vec<String> {
    let mut reasons = Vec::new();
    let finalizers = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    for finalizer in finalizers.into_iter().flatten().filter_map(Value::as_str) {
        reasons.push(format!("finalizer {finalizer}"));
    }
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    // Those of a namespace say what is left in it.
    for condition in conditions.into_iter().flatten().filter(|it| it["status"] == "True") {
        let kind = text(condition, "/type");
        if kind.starts_with("NamespaceDeletion")
            || kind.ends_with("Remaining") && kind.starts_with("Namespace")
        {
            reasons.push(text(condition, "/message").to_owned());
        }
    }
    reasons
}

/// The line that says that an object is too large to be applied.
fn too_large(error: &KubernetesError) -> Option<String> {
    let text = error.to_string();
    if error.code() == Some(413) {
        return Some(text);
    }
    let is_it = |line: &&str| {
        let annotations = line.split_once("metadata.annotations: Too long: ");
        annotations.is_some_and(|(_, rest)| rest.contains(" bytes"))
            || line.contains("the server responded with the status code 413")
    };
    text.lines().find(is_it).map(str::to_owned)
}

/// Whether an object was refused because its namespace is not ready yet.
fn is_too_early(error: &KubernetesError) -> bool {
    let text = error.to_string();
    error.code() == Some(403)
        && (text.contains(": error looking up service account ")
            || text.contains(" is forbidden: status unknown for quota: "))
}

/// Whether a patch was refused because the object is not what it was when it was looked at.
fn is_overtaken(error: &KubernetesError) -> bool {
    let is_misfit = "the server rejected our request due to an error in our request";
    error.is_conflict() || (error.code() == Some(422) && error.to_string().starts_with(is_misfit))
}

/// Whether an error says that a field cannot be changed in place.
fn is_immutable(error: &str) -> bool {
    error.contains("field is immutable") || error.contains("Forbidden:")
}

//! Deletes objects from a cluster.

use std::time::Duration;

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use hyper::Method;
use serde_json::{Value, json};

use engine_formats::kubernetes::kind_rank;

use crate::{
    Cluster, KubernetesError, ObjectKey, Verb, audit::Pending, mapping::Resource, request::Call,
};

/// How many objects are deleted at once.
const AT_ONCE: usize = 16;

/// How long the answer to one deletion may take.
const ANSWER: Duration = Duration::from_secs(12);

/// How objects are deleted.
#[derive(Clone, Debug)]
pub struct DeleteOptions {
    /// In which order.
    pub order: DeleteOrder,
    /// Whether namespaces are deleted too.
    pub with_namespaces: bool,
    /// Whether objects that ask to be kept are.
    pub honor_down_policy: bool,
    /// How long all requests together may take.
    pub timeout: Duration,
    /// How long to wait until the objects are gone; nothing for not at all.
    pub wait: Option<Duration>,
    /// Why, for the audit.
    pub cause: String,
}

/// In which order objects are deleted; one kind after another, those of one kind at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeleteOrder {
    /// Against the order of applying.
    #[default]
    Reverse,
    /// As they are given.
    Given,
}

/// An object to delete.
struct Doomed {
    key: ObjectKey,
    resource: Resource,
}

impl Doomed {
    fn path(&self) -> String {
        self.resource.path(&self.key.namespace, &self.key.name)
    }
}

impl Cluster {
    /// Deletes objects and, in the background, what they own.
    ///
    /// An object that is not there, or of a kind that is not there, is as good as deleted.
    ///
    /// # Errors
    /// The first error, after all objects were tried; or that the time was up.
    pub async fn delete(
        &self,
        objects: &[Value],
        options: &DeleteOptions,
        say: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<(), KubernetesError> {
        let mut keys: Vec<ObjectKey> =
            objects.iter().filter(|it| is_doomed(it, options)).map(ObjectKey::of).collect();
        if options.order == DeleteOrder::Reverse {
            keys.sort_by_key(|key| kind_rank(&key.kind));
            keys.reverse();
        }
        if keys.is_empty() {
            return Ok(());
        }
        say("Deleting kubernetes objects:");
        for key in &keys {
            say(&format!("→ {}/{}", key.kind, key.name));
        }
        let late = || KubernetesError::Unreachable("context deadline exceeded".to_owned());
        let failed = |error: KubernetesError| error.during("kubernetes delete");
        let deleted = tokio::time::timeout(options.timeout, self.delete_all(keys, options)).await;
        let doomed = deleted.unwrap_or_else(|_| Err(late())).map_err(failed)?;
        let Some(patience) = options.wait else { return Ok(()) };
        let mut waits = FuturesUnordered::new();
        for it in &doomed {
            waits.push(async { self.wait_until_gone(&it.path(), &it.key.name, patience).await });
        }
        while let Some(gone) = waits.next().await {
            gone?;
        }
        Ok(())
    }

    async fn delete_all(
        &self,
        keys: Vec<ObjectKey>,
        options: &DeleteOptions,
    ) -> Result<Vec<Doomed>, KubernetesError> {
        let mut doomed = Vec::with_capacity(keys.len());
        for mut key in keys {
            let Some(resource) = self.find_resource(&key.api_version, &key.kind).await? else {
                continue;
            };
            if !resource.is_namespaced {
                key.namespace.clear();
            } else if key.namespace.is_empty() {
                self.namespace().clone_into(&mut key.namespace);
            }
            doomed.push(Doomed { key, resource });
        }
        let mut first = None;
        for kind in doomed.chunk_by(|one, other| one.key.kind == other.key.kind) {
            for some in kind.chunks(AT_ONCE) {
                let mut answers = FuturesUnordered::new();
                for it in some {
                    let delete =
                        async { self.delete_one(&it.key, &it.path(), &options.cause).await };
                    answers.push(delete);
                }
                while let Some(answer) = answers.next().await {
                    let error = answer.err().filter(|it| !it.is_not_found());
                    first = first.or(error);
                }
            }
        }
        first.map_or(Ok(doomed), Err)
    }

    /// Deletes one object; what it owns follows in the background.
    pub(crate) async fn delete_one(
        &self,
        key: &ObjectKey,
        path: &str,
        cause: &str,
    ) -> Result<(), KubernetesError> {
        let body = json!({
            "kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background",
        });
        let body = body.to_string().into();
        let call = Call::write(Method::DELETE, path, "application/json", body).within(ANSWER);
        let pending = Pending::new(self, Verb::Delete, key, cause);
        let answer = self.send(&call).await;
        pending.ended(&answer);
        answer.map(drop)
    }
}

/// Whether an object is to be deleted at all.
fn is_doomed(object: &Value, options: &DeleteOptions) -> bool {
    let policy =
        object.pointer("/metadata/annotations").and_then(|it| it.get("tilt.dev/down-policy"));
    let is_kept = options.honor_down_policy && policy.is_some_and(|it| it == "keep");
    let is_namespace = object["kind"] == "Namespace" && object["apiVersion"] == "v1";
    !is_kept && (options.with_namespaces || !is_namespace)
}

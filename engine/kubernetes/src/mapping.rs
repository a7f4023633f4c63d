//! Where objects of a kind live in the API, as the server itself tells it.
//!
//! What a group and version offer is read once and kept. A kind that is not known is looked up once
//! more, since its definition may be new; one that is just being set up is waited for.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde_json::Value;
use tokio::sync::OnceCell;

use crate::{Cluster, KubernetesError, object::text, request::Call};

/// How often a definition that is being set up is looked at.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// Where the objects of one kind live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resource {
    /// The path of the group and version.
    base: String,
    group: String,
    plural: String,
    pub(crate) is_namespaced: bool,
}

impl Resource {
    /// The path of all objects in a namespace.
    pub(crate) fn collection(&self, namespace: &str) -> String {
        let Self { base, plural, .. } = self;
        if self.is_namespaced {
            format!("{base}/namespaces/{namespace}/{plural}")
        } else {
            format!("{base}/{plural}")
        }
    }

    /// The path of one object.
    pub(crate) fn path(&self, namespace: &str, name: &str) -> String {
        format!("{}/{name}", self.collection(namespace))
    }

    /// The name of the resource with its group, as messages show it.
    pub(crate) fn qualified(&self) -> String {
        match self.group.as_str() {
            "" => self.plural.clone(),
            group => format!("{}.{group}", self.plural),
        }
    }
}

/// What a group and version offer, by kind.
type Offer = Arc<HashMap<String, Resource>>;

/// What is known of a cluster's kinds.
#[derive(Default)]
pub(crate) struct Mapping {
    /// By group and version.
    offers: Mutex<HashMap<String, Arc<OnceCell<Offer>>>>,
}

impl Mapping {
    fn cell(&self, api_version: &str) -> Arc<OnceCell<Offer>> {
        let mut offers = self.offers.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(offers.entry(api_version.to_owned()).or_default())
    }

    /// Forgets what is known, unless somebody has looked again since `seen` was got.
    fn forget(&self, api_version: &str, seen: &Arc<OnceCell<Offer>>) {
        let mut offers = self.offers.lock().unwrap_or_else(PoisonError::into_inner);
        if offers.get(api_version).is_some_and(|it| Arc::ptr_eq(it, seen)) {
            offers.remove(api_version);
        }
    }
}

impl Cluster {
    /// Where a kind lives; nothing if the cluster does not have it.
    pub(crate) async fn find_resource(
        &self,
        api_version: &str,
        kind: &str,
    ) -> Result<Option<Resource>, KubernetesError> {
        let cell = self.inner.mapping.cell(api_version);
        let was_known = cell.initialized();
        let offer = cell.get_or_try_init(|| self.read_offer(api_version)).await?;
        if let Some(resource) = offer.get(kind) {
            return Ok(Some(resource.clone()));
        }
        self.inner.mapping.forget(api_version, &cell);
        if !was_known {
            return Ok(None);
        }
        let cell = self.inner.mapping.cell(api_version);
        let offer = cell.get_or_try_init(|| self.read_offer(api_version)).await?;
        Ok(offer.get(kind).cloned())
    }

    /// Where a kind lives, waiting for its definition if that is there and not in effect yet.
    pub(crate) async fn resource(
        &self,
        api_version: &str,
        kind: &str,
    ) -> Result<Resource, KubernetesError> {
        if let Some(resource) = self.find_resource(api_version, kind).await? {
            return Ok(resource);
        }
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        while self.is_being_defined(group, version, kind).await {
            // The definitions are many and long, so they are looked at less often.
            for _ in 0..20 {
                tokio::time::sleep(LOOK).await;
                if let Some(resource) = self.find_resource(api_version, kind).await? {
                    return Ok(resource);
                }
            }
        }
        Err(KubernetesError::Request(format!(
            "error mapping {group}/{kind}: no matches for kind \"{kind}\" in version \
             \"{api_version}\""
        )))
    }

    /// Forgets where the kinds of a group and version live.
    pub(crate) fn forget_resources(&self, api_version: &str) {
        let cell = self.inner.mapping.cell(api_version);
        self.inner.mapping.forget(api_version, &cell);
    }

    async fn read_offer(&self, api_version: &str) -> Result<Offer, KubernetesError> {
        let (group, base) = match api_version.split_once('/') {
            Some((group, _)) => (group, format!("/apis/{api_version}")),
            None => ("", format!("/api/{api_version}")),
        };
        let list = match self.send(&Call::get(&base).retried()).await {
            Ok(list) => list,
            Err(error) if error.is_not_found() => Value::Null,
            Err(error) => return Err(error),
        };
        let resources = list["resources"].as_array().map(Vec::as_slice).unwrap_or_default();
        let of_entry = |entry: &Value| {
            let plural = text(entry, "/name");
            // A name with a slash is a part of other objects.
            let is_whole = !plural.is_empty() && !plural.contains('/');
            let resource = Resource {
                base: base.clone(),
                group: group.to_owned(),
                plural: plural.to_owned(),
                is_namespaced: entry["namespaced"] == true,
            };
            is_whole.then(|| (text(entry, "/kind").to_owned(), resource))
        };
        Ok(Arc::new(resources.iter().rev().filter_map(of_entry).collect()))
    }

    /// Whether the cluster has a definition of the kind that should be in effect soon.
    async fn is_being_defined(&self, group: &str, version: &str, kind: &str) -> bool {
        if !group.contains('.') {
            return false;
        }
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let Ok(list) = self.send(&Call::get(path).retried()).await else { return false };
        let definitions = list["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        definitions.iter().any(|definition| {
            let spec = &definition["spec"];
            spec["group"] == group
                && spec["names"]["kind"] == kind
                && !crate::object::is_deleting(definition)
                && serves(spec, version)
                && condition(definition, "NamesAccepted") != Some("False")
        })
    }
}

/// Whether a definition serves a version.
fn serves(spec: &Value, version: &str) -> bool {
    let versions = spec["versions"].as_array().map(Vec::as_slice).unwrap_or_default();
    versions.iter().any(|it| it["name"] == version && it["served"] == true)
}

/// The status of a condition of an object.
pub(crate) fn condition<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    let conditions = object.pointer("/status/conditions")?.as_array()?;
    conditions.iter().find(|it| it["type"] == name)?["status"].as_str()
}

//! Reads owners of objects: only their metadata, many of one kind with one list.

use std::collections::BTreeMap;
use std::time::Duration;

use kube::api::{ListParams, PartialObjectMeta};
use kube::core::{DynamicObject, GroupVersionKind, TypeMeta};
use kube::discovery::{ApiResource, Scope};
use kube::{Api, Client, ResourceExt};
use tokio::time::timeout;

use super::lineage::{Owner, Reference};

/// From how many owners of a kind on a list is cheaper than reading each.
const LIST_FROM: usize = 4;
/// How many owners one answer may hold.
const PAGE: u32 = 500;
/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(10);
/// Kinds that are there in each cluster, and in a namespace.
const BUILT_IN: [(&str, &str); 8] = [
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("batch/v1", "Job"),
    ("batch/v1", "CronJob"),
    ("v1", "Pod"),
    ("v1", "ReplicationController"),
];

/// The annotation with the number of a set of a Deployment.
const REVISION: &str = "deployment.kubernetes.io/revision";

/// What a read of owners gave.
#[derive(Debug, Default)]
pub(super) struct Readings {
    /// What was learned.
    pub(super) known: Vec<(String, Owner)>,
    /// What could not be read for now.
    pub(super) again: Vec<Reference>,
}

/// Kinds that were looked up, with whether they are in a namespace; nothing for one that the cluster does not have.
pub(super) type Kinds = BTreeMap<(String, String), Option<(ApiResource, bool)>>;

/// Reads owners. One that is forbidden, unknown or gone is known to have no owners itself.
pub(super) async fn read(
    client: Client,
    wanted: Vec<Reference>,
    mut kinds: Kinds,
) -> (Readings, Kinds) {
    let mut readings = Readings::default();
    let mut groups: BTreeMap<(String, String, String), Vec<Reference>> = BTreeMap::new();
    for reference in wanted {
        let key = &reference.key;
        let group = (key.api_version.clone(), key.kind.clone(), key.namespace.clone());
        groups.entry(group).or_default().push(reference);
    }
    for ((api_version, kind, namespace), group) in groups {
        match resource(&client, &mut kinds, api_version, kind).await {
            Ok(Some((resource, is_namespaced))) => {
                let api: Api<DynamicObject> = if is_namespaced && !namespace.is_empty() {
                    Api::namespaced_with(client.clone(), &namespace, &resource)
                } else {
                    Api::all_with(client.clone(), &resource)
                };
                read_group(&api, group, &mut readings).await;
            }
            Ok(None) => readings.known.extend(group.into_iter().map(end)),
            Err(()) => readings.again.extend(group),
        }
    }
    (readings, kinds)
}

async fn read_group(api: &Api<DynamicObject>, group: Vec<Reference>, readings: &mut Readings) {
    let group = if group.len() >= LIST_FROM { list(api, group, readings).await } else { group };
    for reference in group {
        match timeout(ANSWER, api.get_metadata_opt(&reference.key.name)).await {
            // Another object may have the name by now.
            Ok(Ok(Some(meta))) if meta.uid().as_ref() == Some(&reference.uid) => {
                readings.known.push((reference.uid, owner(&meta)));
            }
            Ok(Ok(_)) => readings.known.push(end(reference)),
            Ok(Err(error)) if is_final(&error) => readings.known.push(end(reference)),
            Ok(Err(_)) | Err(_) => readings.again.push(reference),
        }
    }
}

/// Lists a kind; the answer is what was not in the list.
async fn list(
    api: &Api<DynamicObject>,
    mut group: Vec<Reference>,
    readings: &mut Readings,
) -> Vec<Reference> {
    let mut params = ListParams::default().limit(PAGE);
    while let Ok(Ok(page)) = timeout(ANSWER, api.list_metadata(&params)).await {
        for meta in &page.items {
            let Some(uid) = meta.uid() else { continue };
            group.retain(|it| it.uid != uid);
            readings.known.push((uid, owner(meta)));
        }
        let more = page.metadata.continue_.filter(|it| !it.is_empty() && !group.is_empty());
        let Some(more) = more else { break };
        params = params.continue_token(&more);
    }
    group
}

/// The resource of a kind, and whether it is in a namespace; an error if that cannot be known for now.
async fn resource(
    client: &Client,
    kinds: &mut Kinds,
    api_version: String,
    kind: String,
) -> Result<Option<(ApiResource, bool)>, ()> {
    let types = TypeMeta { api_version: api_version.clone(), kind: kind.clone() };
    let Ok(gvk) = GroupVersionKind::try_from(types) else { return Ok(None) };
    if BUILT_IN.contains(&(&api_version, &kind)) {
        return Ok(Some((ApiResource::from_gvk(&gvk), true)));
    }
    let key = (api_version, kind);
    if let Some(known) = kinds.get(&key) {
        return Ok(known.clone());
    }
    let found = match timeout(ANSWER, kube::discovery::pinned_kind(client, &gvk)).await {
        Ok(Ok((resource, capabilities))) => {
            Some((resource, capabilities.scope == Scope::Namespaced))
        }
        Ok(Err(kube::Error::Discovery(_))) => None,
        Ok(Err(error)) if is_final(&error) => None,
        Ok(Err(_)) | Err(_) => return Err(()),
    };
    kinds.insert(key, found.clone());
    Ok(found)
}

fn owner(meta: &PartialObjectMeta<DynamicObject>) -> Owner {
    let namespace = meta.namespace().unwrap_or_default();
    let revision = meta.annotations().get(REVISION).and_then(|it| it.parse().ok());
    Owner {
        created: crate::pods::time(meta.metadata.creation_timestamp.as_ref()),
        revision: revision.unwrap_or_default(),
        owners: Reference::owners(meta.metadata.owner_references.clone(), &namespace),
    }
}

/// Nothing more is to be learned of an owner.
fn end(reference: Reference) -> (String, Owner) {
    (reference.uid, Owner::default())
}

/// Whether the API server would not answer otherwise a moment later.
fn is_final(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if (400..500).contains(&status.code) && status.code != 429)
}

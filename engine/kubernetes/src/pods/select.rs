//! Which pods count: those of the last update, the newest one, the one that ports are forwarded to.

use std::collections::{BTreeMap, BTreeSet};

use super::{Pod, PodOwner};

/// The pods that belong to what was applied last: not those of an older `ReplicaSet`, of another update, or of objects
/// that are no longer part of the resource.
///
/// `hashes` are the pod templates of the last apply and `uids` its objects.
#[must_use]
pub fn filtered<'a>(pods: &'a [Pod], hashes: &[String], uids: &BTreeSet<String>) -> Vec<&'a Pod> {
    let mut newest: BTreeMap<&str, &PodOwner> = BTreeMap::new();
    for pod in pods {
        let (Some(ancestor), Some(owner)) = (&pod.ancestor_uid, valid_owner(pod)) else {
            continue;
        };
        let known = newest.entry(ancestor).or_insert(owner);
        // Two sets can be of one second.
        if (owner.created, owner.revision) > (known.created, known.revision) {
            *known = owner;
        }
    }
    let counts = |pod: &&Pod| {
        let newest = pod.ancestor_uid.as_deref().and_then(|it| newest.get(it));
        let is_of_old_set = valid_owner(pod)
            .zip(newest)
            .is_some_and(|(owner, newest)| owner.kind == "ReplicaSet" && owner.name != newest.name);
        // A pod without a hash is let through: what made it may have no pod template.
        let is_of_update = pod.template_hash.as_ref().is_none_or(|it| hashes.contains(it));
        let is_of_apply = pod.ancestor_uid.as_ref().is_none_or(|it| uids.contains(it));
        !is_of_old_set && is_of_update && is_of_apply
    };
    pods.iter().filter(counts).collect()
}

fn valid_owner(pod: &Pod) -> Option<&PodOwner> {
    pod.owner.as_ref().filter(|it| !it.name.is_empty() && it.created.is_some())
}

/// The pod that was created last; of those of one second the one with the greater name.
#[must_use]
pub fn most_recent<'a>(pods: impl IntoIterator<Item = &'a Pod>) -> Option<&'a Pod> {
    pods.into_iter().max_by(|a, b| (a.created, &a.name).cmp(&(b.created, &b.name)))
}

/// The pod that ports are forwarded to: one that stays beats one that goes, then a newer one beats an older one. A pod that
/// does not run, as one that goes before it ever came up, takes no connection.
#[must_use]
pub fn to_forward(pods: &[Pod]) -> Option<&Pod> {
    let runs = |pod: &&Pod| !pod.name.is_empty() && pod.phase == "Running";
    pods.iter().filter(runs).max_by(|a, b| {
        (!a.is_deleting, a.created, &a.name).cmp(&(!b.is_deleting, b.created, &b.name))
    })
}

/// The port in the pod for a forward that names only the local one: the same if the pod declares it, else the first
/// that it declares, else the same.
#[must_use]
pub fn container_port(local_port: u16, pod: &Pod) -> u16 {
    let ports = pod.containers.iter().flat_map(|it| &it.ports);
    let declared: Vec<u16> = ports.filter_map(|it| u16::try_from(*it).ok()).collect();
    if declared.contains(&local_port) {
        return local_port;
    }
    declared.first().copied().unwrap_or(local_port)
}

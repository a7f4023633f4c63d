//! Which pods, events and services belong to which resource. Pure: it is told what was seen and what was read, and
//! answers what there is to report and to read.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use engine_model::Time;

use super::claims::Claims;
use super::lineage::{Ancestors, Owner, Owners, Reference};
use super::{Interest, Interests, Seen};
use crate::Pod;
use crate::events::Happening;
use crate::services::Service;

/// How many pods that completed and are gone are remembered.
const MANY_GONE: usize = 256;
/// How many events are remembered that belong to no resource yet.
const MANY_UNCLAIMED: usize = 1_000;
/// How many events are remembered for their count.
const MANY_COUNTED: usize = 8_192;

/// A pod with what is needed to find out whose it is.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) pod: Arc<Pod>,
    pub(super) owners: Vec<Reference>,
}

/// A pod of a resource, as it was reported: its ancestor and the age and revision of its owner are not in the pod itself.
#[derive(Clone, Debug)]
struct Shown {
    pod: Arc<Pod>,
    ancestor: Option<String>,
    owner_created: Option<Time>,
    owner_revision: u64,
}

impl PartialEq for Shown {
    fn eq(&self, other: &Self) -> bool {
        self.ancestor == other.ancestor
            && self.owner_created == other.owner_created
            && self.owner_revision == other.owner_revision
            && (Arc::ptr_eq(&self.pod, &other.pod) || self.pod == other.pod)
    }
}

/// All that is known.
#[derive(Debug, Default)]
pub(super) struct Model {
    since: Time,
    node_ip: Option<String>,
    interests: Interests,
    /// The resources that deployed an object, by its UID.
    deployers: HashMap<String, Vec<String>>,
    pods: HashMap<String, Found>,
    /// Pods that completed and were then deleted, the oldest first.
    gone: VecDeque<String>,
    owners: Owners,
    services: HashMap<String, Service>,
    /// How often each event was seen to happen, the oldest first.
    counts: HashMap<String, i32>,
    counted: VecDeque<String>,
    /// Events that belong to nobody so far, or not yet for all that is known.
    unclaimed: VecDeque<Happening>,
    claims: Claims,
    /// The pods that have to be claimed anew.
    unsure: HashSet<String>,
    /// The pods of which not all owners were read.
    unread: HashSet<String>,
    shown: BTreeMap<String, Vec<Shown>>,
    links: BTreeMap<String, Vec<String>>,
}

impl Model {
    /// Nothing is known; events before `since` do not count.
    pub(super) fn new(since: Time, node_ip: Option<String>) -> Self {
        Self {
            // Events tell only the second in which they were created.
            since: since.whole_second(),
            node_ip,
            ..Self::default()
        }
    }

    /// What the resources deployed and want to find.
    pub(super) fn set_interests(&mut self, interests: Interests) {
        self.deployers.clear();
        for (resource, interest) in &interests {
            for (_, uid) in interest.deployed.iter().filter(|it| !it.1.is_empty()) {
                self.deployers.entry(uid.clone()).or_default().push(resource.clone());
            }
        }
        self.shown.retain(|resource, _| interests.contains_key(resource));
        self.links.retain(|resource, _| interests.contains_key(resource));
        for resource in interests.keys() {
            self.claims.touch(resource);
        }
        self.unsure.extend(self.pods.keys().cloned());
        self.interests = interests;
    }

    /// A pod is new or changed.
    pub(super) fn put_pod(&mut self, found: Found) {
        self.gone.retain(|it| *it != found.pod.uid);
        self.unsure.insert(found.pod.uid.clone());
        self.pods.insert(found.pod.uid.clone(), found);
    }

    /// A pod is gone. One that completed is kept for what it has to tell.
    pub(super) fn remove_pod(&mut self, uid: &str) {
        let is_completed = self.pods.get(uid).is_some_and(|it| it.pod.is_completed());
        self.unsure.insert(uid.to_owned());
        if !is_completed {
            self.pods.remove(uid);
        } else if !self.gone.iter().any(|it| it == uid) {
            self.gone.push_back(uid.to_owned());
            if self.gone.len() > MANY_GONE
                && let Some(oldest) = self.gone.pop_front()
            {
                self.pods.remove(&oldest);
                self.unsure.insert(oldest);
            }
        }
    }

    /// A namespace was listed: its pods that are not in the list are gone.
    pub(super) fn keep_pods(&mut self, namespace: &str, listed: &HashSet<String>) {
        let here = self.pods.values().filter(|it| it.pod.namespace == namespace);
        let lost: Vec<String> =
            here.map(|it| it.pod.uid.clone()).filter(|it| !listed.contains(it)).collect();
        for uid in lost {
            self.remove_pod(&uid);
        }
    }

    /// A namespace was listed: its services that are not in the list are gone.
    pub(super) fn keep_services(&mut self, namespace: &str, listed: &HashSet<String>) {
        self.services.retain(|uid, it| it.namespace != namespace || listed.contains(uid));
    }

    /// A namespace is no longer watched.
    pub(super) fn drop_namespace(&mut self, namespace: &str) {
        self.services.retain(|_, it| it.namespace != namespace);
        let here = self.pods.values().filter(|it| it.pod.namespace == namespace);
        self.unsure.extend(here.map(|it| it.pod.uid.clone()));
        self.pods.retain(|_, it| it.pod.namespace != namespace);
        let pods = &self.pods;
        self.gone.retain(|it| pods.contains_key(it));
    }

    /// An event happened, maybe not for the first time.
    pub(super) fn put_event(&mut self, event: Happening) {
        if event.created < self.since {
            return;
        }
        let known = self.counts.get(&event.uid);
        if known.is_some_and(|it| *it >= event.count) {
            return;
        }
        let known = self.counts.insert(event.uid.clone(), event.count);
        if known.is_none() {
            self.counted.push_back(event.uid.clone());
            if self.counted.len() > MANY_COUNTED
                && let Some(oldest) = self.counted.pop_front()
            {
                self.counts.remove(&oldest);
            }
        }
        self.unclaimed.push_back(event);
        if self.unclaimed.len() > MANY_UNCLAIMED {
            self.unclaimed.pop_front();
        }
    }

    /// A service is new or changed.
    pub(super) fn put_service(&mut self, service: Service) {
        self.services.insert(service.uid.clone(), service);
    }

    /// A service is gone.
    pub(super) fn remove_service(&mut self, uid: &str) {
        self.services.remove(uid);
    }

    /// An owner was read.
    pub(super) fn learn(&mut self, uid: String, owner: Owner) {
        match self.owners.get(&uid) {
            Some(known) if *known == owner => return,
            // It was given to another owner.
            Some(_) => self.unsure.extend(self.pods.keys().cloned()),
            None => self.unsure.extend(self.unread.iter().cloned()),
        }
        self.owners.learn(uid, owner);
    }

    /// The owners that have to be read to know whose pods and events are.
    pub(super) fn wanted(&mut self) -> Vec<Reference> {
        self.claim();
        self.owners.trim(self.pods.values().map(|it| it.owners.as_slice()));
        let mut wanted: Vec<Reference> = Vec::new();
        let mut uids = HashSet::new();
        let mut want = |references: Vec<&Reference>| {
            for reference in references {
                if uids.insert(reference.uid.clone()) {
                    wanted.push(reference.clone());
                }
            }
        };
        for found in self.unread.iter().filter_map(|it| self.pods.get(it)) {
            want(self.owners.ancestors(&found.owners).unread);
        }
        for event in &self.unclaimed {
            let involved = [involved(event)];
            want(self.event_lineage(event, &involved).unread);
        }
        wanted
    }

    /// What changed since this was asked last.
    pub(super) fn changes(&mut self) -> Vec<Seen> {
        let mut seen = self.pod_changes();
        seen.extend(self.link_changes());
        seen.extend(self.claims());
        seen
    }

    fn pod_changes(&mut self) -> Vec<Seen> {
        self.claim();
        let mut seen = Vec::new();
        for resource in self.claims.take_touched() {
            if !self.interests.contains_key(&resource) {
                continue;
            }
            let mut pods: Vec<Shown> = self
                .claims
                .pods(&resource)
                .filter_map(|(pod, ancestor)| self.show(pod, ancestor))
                .collect();
            self.let_go(&mut pods);
            pods.sort_by(|a, b| (a.pod.created, &a.pod.name).cmp(&(b.pod.created, &b.pod.name)));
            if self.shown.get(&resource).is_some_and(|it| *it == pods) {
                continue;
            }
            seen.push(Seen::Pods {
                resource: resource.clone(),
                pods: pods.iter().map(Shown::to_pod).collect(),
            });
            self.shown.insert(resource, pods);
        }
        seen
    }

    fn show(&self, pod: &str, ancestor: Option<&str>) -> Option<Shown> {
        let found = self.pods.get(pod)?;
        let nearest = found.owners.first().and_then(|it| self.owners.get(&it.uid));
        Some(Shown {
            pod: Arc::clone(&found.pod),
            ancestor: ancestor.map(str::to_owned),
            owner_created: nearest.and_then(|it| it.created),
            owner_revision: nearest.map_or(0, |it| it.revision),
        })
    }

    /// Finds out who claims the pods of which that may have changed.
    fn claim(&mut self) {
        for uid in std::mem::take(&mut self.unsure) {
            self.unread.remove(&uid);
            let Some(found) = self.pods.get(&uid) else {
                self.claims.set(&uid, BTreeMap::new());
                continue;
            };
            let ancestors = self.owners.ancestors(&found.owners);
            if !ancestors.unread.is_empty() {
                self.unread.insert(uid.clone());
            }
            let mut claims = BTreeMap::new();
            for ancestor in std::iter::once(uid.as_str()).chain(ancestors.uids) {
                for resource in self.deployers.get(ancestor).into_iter().flatten() {
                    if !self.interests[resource].selectors_only {
                        claims.entry(resource.clone()).or_insert(Some(ancestor.to_owned()));
                    }
                }
            }
            for (resource, interest) in &self.interests {
                if selects(interest, &found.pod) {
                    claims.entry(resource.clone()).or_insert(None);
                }
            }
            self.claims.set(&uid, claims);
        }
    }

    /// Pods that completed and are gone have told enough once the resource has another one.
    fn let_go(&mut self, pods: &mut Vec<Shown>) {
        if self.gone.is_empty() {
            return;
        }
        let is_gone = |shown: &Shown| self.gone.contains(&shown.pod.uid);
        if pods.iter().all(is_gone) {
            return;
        }
        let (lost, kept): (Vec<_>, Vec<_>) = std::mem::take(pods).into_iter().partition(is_gone);
        *pods = kept;
        for shown in lost {
            self.gone.retain(|it| *it != shown.pod.uid);
            self.pods.remove(&shown.pod.uid);
            self.unsure.insert(shown.pod.uid.clone());
        }
    }

    fn link_changes(&mut self) -> Vec<Seen> {
        let mut seen = Vec::new();
        for (resource, interest) in &self.interests {
            let services = interest.deployed.iter().filter_map(|it| self.services.get(&it.1));
            // Of two services with one name, in different namespaces, the later one counts.
            let links: BTreeMap<&str, Option<String>> =
                services.map(|it| (it.name(), it.link(self.node_ip.as_deref()))).collect();
            let mut links: Vec<String> = links.into_values().flatten().collect();
            links.sort();
            let known = self.links.get(resource).map_or(&[][..], Vec::as_slice);
            if known != links {
                let (resource, links) = (resource.clone(), links);
                self.links.insert(resource.clone(), links.clone());
                seen.push(Seen::Services { resource, links });
            }
        }
        seen
    }

    /// The events that turn out to belong to a resource.
    fn claims(&mut self) -> Vec<Seen> {
        let mut seen = Vec::new();
        let mut rest = VecDeque::new();
        for event in std::mem::take(&mut self.unclaimed) {
            let involved = [involved(&event)];
            let uids = self.event_lineage(&event, &involved).uids;
            let owner = uids.iter().find_map(|it| self.deployers.get(*it)?.first());
            match owner {
                Some(resource) => seen.push(Seen::Event {
                    resource: resource.clone(),
                    message: event.message,
                    is_warning: event.is_warning,
                }),
                None => rest.push_back(event),
            }
        }
        self.unclaimed = rest;
        seen
    }

    /// The object of an event and its owners.
    fn event_lineage<'a>(
        &'a self,
        event: &'a Happening,
        involved: &'a [Reference],
    ) -> Ancestors<'a> {
        let uid = event.object_uid.as_str();
        if uid.is_empty() || event.object.kind == "Node" || self.deployers.contains_key(uid) {
            return Ancestors { uids: vec![uid], unread: Vec::new() };
        }
        let Some(found) = self.pods.get(uid) else { return self.owners.ancestors(involved) };
        let mut ancestors = self.owners.ancestors(&found.owners);
        ancestors.uids.insert(0, uid);
        ancestors
    }
}

fn involved(event: &Happening) -> Reference {
    Reference { uid: event.object_uid.clone(), key: event.object.clone() }
}

impl Shown {
    fn to_pod(&self) -> Pod {
        let mut pod = Pod::clone(&self.pod);
        pod.ancestor_uid.clone_from(&self.ancestor);
        if let Some(owner) = &mut pod.owner {
            owner.created = self.owner_created;
            owner.revision = self.owner_revision;
        }
        pod
    }
}

fn selects(interest: &Interest, pod: &Pod) -> bool {
    let matches = |selector: &BTreeMap<String, String>| {
        selector.iter().all(|(name, value)| pod.labels.get(name) == Some(value))
    };
    interest.extra_selectors.iter().any(matches)
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

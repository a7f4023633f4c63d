//! The one task that owns what a tracker knows.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use engine_model::Time;
use k8s_openapi::api::core::v1 as api;
use kube::core::NamespaceResourceScope;
use kube::{Api, Resource};
use tokio::sync::{mpsc, watch as state};
use tokio::task::JoinSet;

use super::lineage::Reference;
use super::model::{Found, Model};
use super::owners::{self, Kinds, Readings};
use super::watch::{Sight, Watch};
use super::{Interests, Report, Seen};
use crate::backoff::{self, Backoff, LONGEST_WAIT};
use crate::events::Happening;
use crate::services::Service;
use crate::{Cluster, KubernetesError};

/// How many sights are handled before what changed is reported.
const BATCH: usize = 256;
/// The namespace of objects that are in none.
const DEFAULT_NAMESPACE: &str = "default";

const PODS: &str = "pods";
const EVENTS: &str = "events";
const SERVICES: &str = "services";

/// What the watches of a namespace see.
enum Message {
    Pods(Arc<str>, Sight<Found>),
    Events(Arc<str>, Sight<Happening>),
    Services(Arc<str>, Sight<Service>),
}

/// The task of a tracker. Dropping it ends everything that it started.
pub(super) struct Task {
    cluster: Cluster,
    report: Report,
    interests: state::Receiver<Interests>,
    model: Model,
    sender: mpsc::Sender<Message>,
    inbox: mpsc::Receiver<Message>,
    /// The watches of each namespace.
    watches: BTreeMap<String, JoinSet<()>>,
    /// The pods and services that the list of a namespace named so far.
    listed: BTreeMap<(&'static str, Arc<str>), HashSet<String>>,
    /// The read of owners that is under way.
    reading: JoinSet<(Readings, Kinds)>,
    kinds: Kinds,
    backoff: Backoff,
    troubles: Troubles,
}

impl Task {
    pub(super) fn new(
        cluster: Cluster,
        since: Time,
        node_ip: Option<String>,
        report: Report,
        interests: state::Receiver<Interests>,
    ) -> Self {
        let (sender, inbox) = mpsc::channel(BATCH);
        Self {
            cluster,
            report,
            interests,
            model: Model::new(since, node_ip),
            sender,
            inbox,
            watches: BTreeMap::new(),
            listed: BTreeMap::new(),
            reading: JoinSet::new(),
            kinds: Kinds::new(),
            backoff: Backoff::new(Duration::from_millis(100), LONGEST_WAIT),
            troubles: Troubles::default(),
        }
    }

    /// Runs until the tracker is dropped.
    pub(super) async fn run(mut self) {
        let mut batch = Vec::new();
        let mut pause = Duration::ZERO;
        loop {
            tokio::select! {
                changed = self.interests.changed() => match changed {
                    Ok(()) => self.take_interests(),
                    Err(_) => return,
                },
                _ = self.inbox.recv_many(&mut batch, BATCH) => {
                    for message in batch.drain(..) {
                        self.take(message);
                    }
                }
                Some(read) = self.reading.join_next() => {
                    let (readings, kinds) = read.unwrap_or_default();
                    self.kinds = kinds;
                    pause = self.learn(readings);
                }
            }
            self.read_owners(std::mem::take(&mut pause));
            for seen in self.model.changes() {
                (self.report)(seen);
            }
        }
    }

    /// Watches the namespaces in which something was deployed, and no others.
    fn take_interests(&mut self) {
        let interests = self.interests.borrow_and_update().clone();
        let deployed = interests.values().flat_map(|it| &it.deployed);
        let namespaces: BTreeSet<String> = deployed
            .map(|(key, _)| match key.namespace.as_str() {
                "" => DEFAULT_NAMESPACE.to_owned(),
                namespace => namespace.to_owned(),
            })
            .collect();
        let dropped: Vec<String> =
            self.watches.keys().filter(|it| !namespaces.contains(*it)).cloned().collect();
        for namespace in dropped {
            self.watches.remove(&namespace);
            self.model.drop_namespace(&namespace);
            self.listed.retain(|it, _| *it.1 != *namespace);
            self.troubles.forget(&namespace);
        }
        for namespace in namespaces {
            if !self.watches.contains_key(&namespace) {
                let watches = self.watch(&Arc::from(namespace.as_str()));
                self.watches.insert(namespace, watches);
            }
        }
        self.model.set_interests(interests);
    }

    fn watch(&self, namespace: &Arc<str>) -> JoinSet<()> {
        let mut watches = JoinSet::new();
        watches.spawn(self.watch_of(namespace, found, Message::Pods).run());
        watches.spawn(self.watch_of(namespace, Happening::of, Message::Events).run());
        watches.spawn(self.watch_of(namespace, Service::of, Message::Services).run());
        watches
    }

    /// A watch of all objects of a kind in a namespace.
    fn watch_of<K, T>(
        &self,
        namespace: &Arc<str>,
        shrink: fn(K) -> Option<T>,
        message: fn(Arc<str>, Sight<T>) -> Message,
    ) -> Watch<K, T, Message, impl Fn(Sight<T>) -> Message + use<K, T>>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        let here = Arc::clone(namespace);
        Watch {
            api: Api::namespaced(self.cluster.client().clone(), namespace),
            shrink,
            wrap: move |sight| message(Arc::clone(&here), sight),
            sender: self.sender.clone(),
            server: Arc::from(self.cluster.server()),
            distrusts: self.cluster.distrusts(),
        }
    }

    fn take(&mut self, message: Message) {
        let (Message::Pods(namespace, _)
        | Message::Events(namespace, _)
        | Message::Services(namespace, _)) = &message;
        // What a watch sent before its namespace was given up does not count.
        if !self.watches.contains_key(&**namespace) {
            return;
        }
        match message {
            Message::Pods(namespace, sight) => self.take_pods(namespace, sight),
            Message::Events(namespace, sight) => match sight {
                Sight::Listed(event) | Sight::Changed(event) => self.model.put_event(event),
                sight => self.take_trouble(EVENTS, &namespace, sight),
            },
            Message::Services(namespace, sight) => self.take_services(namespace, sight),
        }
    }

    fn take_services(&mut self, namespace: Arc<str>, sight: Sight<Service>) {
        match sight {
            Sight::Begun => drop(self.listed.insert((SERVICES, namespace), HashSet::new())),
            Sight::Listed(service) => {
                let listed = self.listed.entry((SERVICES, namespace)).or_default();
                listed.insert(service.uid.clone());
                self.model.put_service(service);
            }
            Sight::Complete => {
                let listed = self.listed.remove(&(SERVICES, Arc::clone(&namespace)));
                self.model.keep_services(&namespace, &listed.unwrap_or_default());
            }
            Sight::Changed(service) => self.model.put_service(service),
            Sight::Gone(service) => self.model.remove_service(&service.uid),
            sight => self.take_trouble(SERVICES, &namespace, sight),
        }
    }

    fn take_pods(&mut self, namespace: Arc<str>, sight: Sight<Found>) {
        match sight {
            Sight::Begun => drop(self.listed.insert((PODS, namespace), HashSet::new())),
            Sight::Listed(found) => {
                let listed = self.listed.entry((PODS, namespace)).or_default();
                listed.insert(found.pod.uid.clone());
                self.model.put_pod(found);
            }
            Sight::Complete => {
                let listed = self.listed.remove(&(PODS, Arc::clone(&namespace)));
                self.model.keep_pods(&namespace, &listed.unwrap_or_default());
            }
            Sight::Changed(found) => self.model.put_pod(found),
            Sight::Gone(found) => self.model.remove_pod(&found.pod.uid),
            sight @ (Sight::Interrupted(..) | Sight::Resumed) => {
                self.take_trouble(PODS, &namespace, sight);
            }
        }
    }

    fn take_trouble<T>(&mut self, kind: &'static str, namespace: &Arc<str>, sight: Sight<T>) {
        match sight {
            Sight::Interrupted(trouble, pause) => {
                if trouble == KubernetesError::silence() {
                    self.cluster.distrust();
                }
                if let Some(warning) = self.troubles.begun(kind, namespace, &trouble, pause) {
                    (self.report)(Seen::Warning(warning));
                }
            }
            Sight::Resumed => self.troubles.ended(kind, namespace),
            _ => {}
        }
    }

    /// Remembers what was read; the answer is how long to wait before the rest is read.
    fn learn(&mut self, readings: Readings) -> Duration {
        for (uid, owner) in readings.known {
            self.model.learn(uid, owner);
        }
        if readings.again.is_empty() {
            self.backoff.reset();
            return Duration::ZERO;
        }
        backoff::next(&mut self.backoff)
    }

    /// Reads the owners that are wanted, one read at a time, after a pause if the last one failed.
    fn read_owners(&mut self, pause: Duration) {
        if !self.reading.is_empty() {
            return;
        }
        let wanted = self.model.wanted();
        if wanted.is_empty() {
            return;
        }
        let (client, kinds) = (self.cluster.client().clone(), self.kinds.clone());
        self.reading.spawn(async move {
            tokio::time::sleep(pause).await;
            owners::read(client, wanted, kinds).await
        });
    }
}

fn found(pod: api::Pod) -> Option<Found> {
    let namespace = pod.metadata.namespace.clone().unwrap_or_default();
    let owners = Reference::owners(pod.metadata.owner_references.clone(), &namespace);
    Some(Found { pod: Arc::new(crate::pods::pod(pod)), owners })
}

/// Which watches do not work. What is not permitted is said once for each kind and namespace, an API server that
/// cannot be reached once for all of them.
#[derive(Debug, Default)]
struct Troubles {
    forbidden: BTreeSet<(&'static str, Arc<str>)>,
    lost: BTreeMap<(&'static str, Arc<str>), u32>,
    is_said: bool,
}

impl Troubles {
    /// A watch was interrupted; the answer is what there is to say of it.
    fn begun(
        &mut self,
        kind: &'static str,
        namespace: &Arc<str>,
        trouble: &KubernetesError,
        pause: Duration,
    ) -> Option<String> {
        let key = (kind, Arc::clone(namespace));
        if matches!(trouble.code(), Some(401 | 403)) {
            let text = format!(
                "Error watching {kind}. Are you connected to kubernetes?\nTry running `kubectl get {kind} -n \"{namespace}\"`: {trouble}"
            );
            return self.forbidden.insert(key).then_some(text);
        }
        let n_times = self.lost.entry(key).or_default();
        *n_times += 1;
        // The first time is often a connection that ended with its API server, and the next try works.
        if *n_times < 2 || std::mem::replace(&mut self.is_said, true) {
            return None;
        }
        let seconds = pause.as_secs().max(1);
        Some(format!("Pausing k8s {kind} watcher for {seconds}s: {trouble}"))
    }

    /// A watch works again.
    fn ended(&mut self, kind: &'static str, namespace: &Arc<str>) {
        let key = (kind, Arc::clone(namespace));
        self.forbidden.remove(&key);
        self.lost.remove(&key);
        self.is_said &= !self.lost.is_empty();
    }

    /// A namespace is no longer watched.
    fn forget(&mut self, namespace: &str) {
        self.forbidden.retain(|it| *it.1 != *namespace);
        self.lost.retain(|it, _| *it.1 != *namespace);
        self.is_said &= !self.lost.is_empty();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Refusal;

    fn trouble(code: Option<u16>) -> KubernetesError {
        let message = "no".to_owned();
        let refused = |code| Refusal { code, message: message.clone(), ..Refusal::default() };
        match code {
            Some(code) => KubernetesError::Refused(Box::new(refused(code))),
            None => KubernetesError::Unreachable(message),
        }
    }

    #[test]
    fn what_is_not_permitted_is_said_once_until_it_is() {
        let mut troubles = Troubles::default();
        let (here, pause) = (Arc::from("web"), Duration::ZERO);
        let said = troubles.begun("pods", &here, &trouble(Some(403)), pause);
        assert_eq!(
            said.as_deref(),
            Some(
                "Error watching pods. Are you connected to kubernetes?\nTry running `kubectl get pods -n \"web\"`: no"
            )
        );
        assert_eq!(troubles.begun("pods", &here, &trouble(Some(403)), pause), None);
        assert!(troubles.begun("events", &here, &trouble(Some(403)), pause).is_some());
        troubles.ended("pods", &here);
        assert!(troubles.begun("pods", &here, &trouble(Some(403)), pause).is_some());
    }

    #[test]
    fn a_lost_api_server_is_said_once_for_all_watches() {
        let mut troubles = Troubles::default();
        let (here, pause) = (Arc::from("web"), Duration::from_millis(1500));
        assert_eq!(troubles.begun("pods", &here, &trouble(None), pause), None);
        assert_eq!(troubles.begun("events", &here, &trouble(None), pause), None);
        let said = troubles.begun("pods", &here, &trouble(None), pause);
        assert_eq!(said.as_deref(), Some("Pausing k8s pods watcher for 1s: no"));
        assert_eq!(troubles.begun("events", &here, &trouble(None), pause), None);
        troubles.ended("pods", &here);
        assert_eq!(troubles.begun("events", &here, &trouble(None), pause), None);
        troubles.ended("events", &here);
        troubles.begun("pods", &here, &trouble(None), pause);
        assert!(troubles.begun("pods", &here, &trouble(None), pause).is_some());
    }
}

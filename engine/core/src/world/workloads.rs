//! What becomes of objects that resources deploy to a cluster, and what follows from that.

use std::collections::BTreeSet;

use engine_model::{
    Kind, ObjectId,
    pod::{DeployedObject, ObjectKey, Pod},
};

use crate::{
    effect::{LineKind, LogLine},
    resource::{
        Resource, ResourceName, UpdateId,
        workload::{
            ApplyStatus, Deletion, Deployed, ForwardStatus, KubernetesAction, LogReader, Workload,
            WorkloadEvent,
        },
    },
    retry::{Obstacle, Trial, Waiting},
    status::RuntimeStatus,
    time::Time,
    world::{Action, World},
};

impl World {
    pub(super) fn workload_event(&mut self, now: Time, name: &ResourceName, event: WorkloadEvent) {
        let Some(&at) = self.index.get(name) else { return };
        match event {
            WorkloadEvent::UpdateStarted => {
                let yaml = self.resources[at].kubernetes_target().map(|it| it.yaml.clone());
                self.workload_mut(at).update_started(now, yaml);
            }
            WorkloadEvent::ForceDeleted => self.set_apply(at, ApplyStatus::None),
            WorkloadEvent::Applied { started, result: Err(error) } => {
                self.set_apply(at, ApplyStatus::Failed { started, at: now, error });
            }
            WorkloadEvent::Applied { started, result: Ok(deployed) } => {
                self.applied(now, at, started, *deployed);
            }
            WorkloadEvent::UpdateEnded { id, obstacle } => {
                self.observe_pods(now, at);
                self.wait_for_obstacle(now, at, id, obstacle);
            }
            WorkloadEvent::ObstacleTried { id, trial } => self.obstacle_tried(now, at, id, trial),
            WorkloadEvent::PodsObserved(pods) => self.pods_observed(now, at, pods),
            WorkloadEvent::Noticed { text, is_warning } => {
                if !self.resources[at].is_disabled() {
                    if is_warning {
                        self.workload_mut(at).last_warning = Some(text.clone());
                        self.show(at);
                    }
                    let (resource, span) = (name.clone(), format!("events:{name}"));
                    self.effects.lines.push(LogLine { resource, span, kind: LineKind::Info, text });
                }
            }
            WorkloadEvent::ServicesObserved(links) => {
                let workload = self.resources[at].workload.as_mut();
                if let Some(it) = workload.filter(|it| it.has_deployed && it.links != links) {
                    it.links = links;
                    self.show(at);
                }
            }
            WorkloadEvent::LogRead { container_id, error } => {
                self.log_read(at, &container_id, error);
            }
            WorkloadEvent::ForwardObserved { object, index, status } => {
                self.forward_observed(at, object, index, status);
            }
        }
    }

    fn workload_mut(&mut self, at: usize) -> &mut Workload {
        self.resources[at].workload.get_or_insert_default()
    }

    fn act_in_cluster(&mut self, action: KubernetesAction) {
        self.effects.actions.push(Action::Kubernetes(action));
    }

    fn publish_of(&mut self, kind: Kind, name: impl Into<String>) {
        self.effects.changed.insert(ObjectId::new(kind, name));
    }

    fn set_apply(&mut self, at: usize, apply: ApplyStatus) {
        self.workload_mut(at).apply = apply;
        let name = self.resources[at].name.to_string();
        self.publish_of(Kind::KubernetesApply, name);
    }

    fn applied(&mut self, now: Time, at: usize, started: Time, deployed: Deployed) {
        let name = self.resources[at].name.clone();
        self.deployed(now, &name, Some(started));
        let target = self.resources[at].kubernetes_target();
        let delete_cmd = target.and_then(|it| it.delete_cmd.clone());
        let Deployed { objects, kept, input_hash, by_command } = deployed;
        let has_complete_job = objects.iter().any(|it| it.is_complete_job);
        let workload = self.workload_mut(at);
        let old = workload.set_objects(objects);
        workload.applying = None;
        workload.kept = kept;
        workload.delete_cmd = delete_cmd.filter(|_| by_command);
        self.set_apply(at, ApplyStatus::Done { started, at: now, input_hash, has_complete_job });
        if !by_command {
            let objects = self.without_owner(old, &[]);
            let reason = "garbage collecting removed Kubernetes objects";
            self.delete(&name, Deletion::Objects { objects, begun: None }, reason);
        }
        self.follow(at);
        self.publish_discovery(now, at);
    }

    /// Looks for the pods of everything that is deployed, such as after a connection was made.
    pub(crate) fn follow_all(&mut self) {
        for at in 0..self.resources.len() {
            if self.resources[at].workload.as_ref().is_some_and(|it| it.has_deployed) {
                self.follow(at);
            }
        }
    }

    fn follow(&mut self, at: usize) {
        let resource = self.resources[at].name.clone();
        if let Some(interest) = self.resources[at].interest() {
            self.act_in_cluster(KubernetesAction::Follow { resource, interest });
        }
    }

    fn publish_discovery(&mut self, now: Time, at: usize) {
        self.workload_mut(at).followed_since.get_or_insert(now);
        if self.resources[at].kubernetes_target().is_some() {
            let name = self.resources[at].name.to_string();
            self.publish_of(Kind::KubernetesDiscovery, name);
        }
    }

    fn pods_observed(&mut self, now: Time, at: usize, pods: Vec<Pod>) {
        let resource = &mut self.resources[at];
        let name = resource.name.clone();
        if resource.is_disabled() {
            return;
        }
        let Some(workload) = &mut resource.workload else { return };
        let old = std::mem::replace(&mut workload.pods, pods);
        self.effects.lines.extend(workload.pod_lines(&name, &old));
        self.publish_discovery(now, at);
        self.read_logs(at, &old);
        self.forward_ports(at);
        let started = self.settings.started;
        let lines = self.workload_mut(at).rollout_lines(&name, started);
        self.effects.lines.extend(lines);
        self.observe_pods(now, at);
        if !self.resources[at].live_updates.is_empty() {
            self.act_in_cluster(KubernetesAction::FindContainers { resource: name });
        }
    }

    /// How the pods of a resource do.
    fn observe_pods(&mut self, now: Time, at: usize) {
        let resource = &self.resources[at];
        let Some(target) = resource.kubernetes_target() else { return };
        let Some(workload) = &resource.workload else { return };
        let (status, error, pod) = workload.observed(target.pod_readiness);
        self.runtime_observed(now, at, status, status == RuntimeStatus::Ok, error);
        self.resources[at].pod = pod;
    }

    /// Reads the logs of all containers that run or have run.
    fn read_logs(&mut self, at: usize, old: &[Pod]) {
        let resource = &mut self.resources[at];
        let name = resource.name.clone();
        let Some(workload) = &resource.workload else { return };
        let mut unread = workload.unread_logs(resource.ignored_containers());
        if !self.cluster.is_connected() {
            unread.clear();
        }
        let objects = workload.pods.iter().chain(old).map(|it| resource.log_stream_name(it));
        let objects = objects.map(|it| ObjectId::new(Kind::PodLogStream, it));
        self.effects.changed.extend(objects);
        let workload = self.workload_mut(at);
        let gone = workload.drop_readers();
        for (source, _) in &unread {
            let reader = LogReader { pod: source.pod.clone(), ..LogReader::default() };
            workload.readers.insert(source.container_id.clone(), reader);
        }
        for (source, is_marked) in unread {
            let resource = name.clone();
            self.act_in_cluster(KubernetesAction::ReadLog { resource, source, is_marked });
        }
        self.stop_logs(&name, gone);
    }

    fn stop_logs(&mut self, name: &ResourceName, container_ids: Vec<String>) {
        for container_id in container_ids {
            let resource = name.clone();
            self.act_in_cluster(KubernetesAction::StopLog { resource, container_id });
        }
    }

    fn log_read(&mut self, at: usize, container_id: &str, error: Option<String>) {
        let resource = &mut self.resources[at];
        let Some(workload) = &mut resource.workload else { return };
        let Some(reader) = workload.readers.get_mut(container_id) else { return };
        reader.has_ended = error.is_none();
        reader.error = error.unwrap_or_default();
        let pod = reader.pod.clone();
        let Some(workload) = &resource.workload else { return };
        let pods = workload.pods.iter().filter(|it| it.name == pod);
        let names = pods.map(|it| ObjectId::new(Kind::PodLogStream, resource.log_stream_name(it)));
        self.effects.changed.extend(names);
    }

    /// Lets forwards lead to the best pod of a resource.
    fn forward_ports(&mut self, at: usize) {
        let resource = &self.resources[at];
        let name = resource.name.clone();
        let Some((template, wanted)) = resource.wanted_forwards() else {
            return self.stop_forward(at);
        };
        let old = resource.workload.as_ref().and_then(|it| it.forwarded.as_ref());
        if old.is_some_and(|it| it.is_same(&wanted)) {
            return;
        }
        self.effects.lines.extend(wanted.implied_ports(&name, template));
        self.stop_forward(at);
        self.publish_of(Kind::PortForward, wanted.object.clone());
        self.act_in_cluster(KubernetesAction::Forward {
            resource: name,
            object: wanted.object.clone(),
            namespace: wanted.namespace.clone(),
            pod: wanted.pod.clone(),
            forwards: wanted.forwards.clone(),
        });
        self.workload_mut(at).forwarded = Some(wanted);
    }

    fn stop_forward(&mut self, at: usize) {
        let resource = &mut self.resources[at];
        let name = resource.name.clone();
        let Some(old) = resource.workload.as_mut().and_then(|it| it.forwarded.take()) else {
            return;
        };
        self.publish_of(Kind::PortForward, old.object);
        self.act_in_cluster(KubernetesAction::StopForward { resource: name });
    }

    fn forward_observed(&mut self, at: usize, object: String, index: usize, status: ForwardStatus) {
        let resource = &mut self.resources[at];
        let name = resource.name.clone();
        let forwarded = resource.workload.as_mut().and_then(|it| it.forwarded.as_mut());
        let Some(forwarded) = forwarded.filter(|it| it.object == object) else { return };
        self.effects.lines.extend(forwarded.observe(&name, index, status));
        self.publish_of(Kind::PortForward, object);
    }

    /// A resource is switched off: so is everything that it deployed.
    pub(super) fn disable_workload(&mut self, now: Time, at: usize) {
        self.stop_waiting(at);
        let Some(workload) = self.resources[at].workload.take() else { return };
        let name = self.resources[at].name.clone();
        let n_obstacles = workload.n_obstacles;
        self.leave(&name, workload, &[], "deleting disabled Kubernetes objects", false);
        self.workload_mut(at).n_obstacles = n_obstacles;
        self.publish_of(Kind::KubernetesApply, name.to_string());
        self.observe_pods(now, at);
    }

    /// A resource is gone: so is everything that it deployed, but for objects that others have, too.
    pub(super) fn remove_workload(&mut self, resource: &mut Resource, others: &[Resource]) {
        let Some(mut workload) = resource.workload.take() else { return };
        if workload.waiting.take().is_some() {
            let resource = resource.name.clone();
            self.act_in_cluster(KubernetesAction::StopTrying { resource });
        }
        let reason = "garbage collecting Kubernetes objects";
        self.leave(&resource.name, workload, others, reason, true);
    }

    fn leave(
        &mut self,
        name: &ResourceName,
        workload: Workload,
        others: &[Resource],
        reason: &'static str,
        is_gone: bool,
    ) {
        let deletion = match workload.delete_cmd {
            Some(cmd) => Deletion::Command(cmd),
            None => Deletion::Objects {
                objects: self.without_owner(workload.objects, others),
                begun: workload.applying.map(|it| (it, self.owned_objects(others))),
            },
        };
        self.delete(name, deletion, reason);
        self.act_in_cluster(KubernetesAction::Unfollow { resource: name.clone(), is_gone });
        self.stop_logs(name, workload.readers.into_keys().collect());
        let streams = workload.pods.iter().map(|it| format!("{name}-{}-{}", it.namespace, it.name));
        let streams = streams.map(|it| ObjectId::new(Kind::PodLogStream, it));
        self.effects.changed.extend(streams);
        if let Some(forwarded) = workload.forwarded {
            self.publish_of(Kind::PortForward, forwarded.object);
            self.act_in_cluster(KubernetesAction::StopForward { resource: name.clone() });
        }
        self.publish_of(Kind::KubernetesDiscovery, name.to_string());
    }

    fn delete(&mut self, resource: &ResourceName, deletion: Deletion, reason: &'static str) {
        let is_empty = matches!(&deletion, Deletion::Objects { objects, begun } if objects.is_empty() && begun.is_none());
        if !is_empty {
            let resource = resource.clone();
            self.act_in_cluster(KubernetesAction::Delete { resource, deletion, reason });
        }
    }

    /// Those of some objects that no resource has any more; neither these others.
    fn without_owner(
        &self,
        objects: Vec<DeployedObject>,
        others: &[Resource],
    ) -> Vec<DeployedObject> {
        let namespace = self.cluster.namespace().unwrap_or_default();
        let has_owner = |it: &DeployedObject| {
            let mut all = workloads(&self.resources).chain(workloads(others));
            all.any(|workload| workload.owns(&it.key, namespace))
        };
        objects.into_iter().filter(|it| !it.is_kept && !has_owner(it)).collect()
    }

    fn owned_objects(&self, others: &[Resource]) -> BTreeSet<ObjectKey> {
        let namespace = self.cluster.namespace().unwrap_or_default();
        let all = workloads(&self.resources).chain(workloads(others));
        let objects = all.flat_map(|it| &it.objects);
        objects.map(|it| it.key.clone().in_namespace(namespace)).collect()
    }

    /// An update has ended; if something stands in its way, it runs again when that is gone.
    fn wait_for_obstacle(
        &mut self,
        now: Time,
        at: usize,
        id: UpdateId,
        obstacle: Option<Obstacle>,
    ) {
        let obstacle = obstacle.filter(|_| self.settings.retries_updates);
        let Some(obstacle) = obstacle.filter(|_| self.cluster.is_connected()) else {
            if let Some(workload) = &mut self.resources[at].workload {
                workload.n_obstacles = 0;
            }
            return;
        };
        // If the cluster is lost, all that it cut off runs again when it is back.
        if obstacle == Obstacle::Silence && self.cluster.error().is_some() {
            return;
        }
        self.make_namespace_again(now, &obstacle);
        let workload = self.workload_mut(at);
        workload.n_obstacles += 1;
        workload.waiting = Some(Waiting::new(id, obstacle, workload.n_obstacles));
        self.try_obstacle(at);
    }

    fn try_obstacle(&mut self, at: usize) {
        let resource = &self.resources[at];
        let Some(waiting) = resource.workload.as_ref().and_then(|it| it.waiting.clone()) else {
            return;
        };
        let (resource, Waiting { id, obstacle, pause: after }) = (resource.name.clone(), waiting);
        self.act_in_cluster(KubernetesAction::TryObstacle { resource, id, obstacle, after });
    }

    fn obstacle_tried(&mut self, now: Time, at: usize, id: UpdateId, trial: Trial) {
        let Some(workload) = &mut self.resources[at].workload else { return };
        let Some(waiting) = workload.waiting.as_mut().filter(|it| it.id == id) else { return };
        if waiting.is_over(trial) {
            workload.waiting = None;
            let name = self.resources[at].name.clone();
            return self.retry_due(now, &name, id);
        }
        waiting.wait_longer();
        self.try_obstacle(at);
    }

    /// A namespace of the Tiltfile that somebody has deleted is made again by the resource that has it.
    fn make_namespace_again(&mut self, now: Time, obstacle: &Obstacle) {
        let Obstacle::Refusal { missing_namespace: Some(namespace), .. } = obstacle else { return };
        let is_it = |it: &DeployedObject| it.key.kind == "Namespace" && it.key.name == *namespace;
        let has_it =
            |it: &&Resource| it.workload.as_ref().is_some_and(|it| it.objects.iter().any(is_it));
        let owner = self.resources.iter().find(has_it);
        let last = owner.and_then(|it| Some((it.name.clone(), it.history.front()?.id)));
        if let Some((owner, id)) = last {
            self.retry_due(now, &owner, id);
        }
    }

    /// A resource is updated anyway, or switched off: its obstacle does not matter any more.
    pub(super) fn stop_waiting(&mut self, at: usize) {
        let resource = &mut self.resources[at];
        let name = resource.name.clone();
        let waiting = resource.workload.as_mut().and_then(|it| it.waiting.take());
        if waiting.is_some() {
            self.act_in_cluster(KubernetesAction::StopTrying { resource: name });
        }
    }
}

fn workloads(resources: &[Resource]) -> impl Iterator<Item = &Workload> {
    resources.iter().filter_map(|it| it.workload.as_ref())
}

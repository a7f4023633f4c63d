//! Which states are right.

use std::collections::{BTreeMap, BTreeSet};

use engine_model::{FilePath, ObjectId, ResourceName};

use super::Model;
use crate::{
    hold::Hold,
    reason::Reason,
    resource::{self, EnableState},
    status::{RuntimeStatus, UpdateStatus},
    world::World,
};

/// What people see of a resource.
#[derive(Clone, PartialEq)]
pub(super) struct View {
    update: UpdateStatus,
    runtime: RuntimeStatus,
    hold: Option<Hold>,
    has_pending: bool,
    enable: EnableState,
    pid: u32,
    is_queued: bool,
    order: usize,
    mode: engine_model::TriggerMode,
    updates: (Option<resource::UpdateId>, Option<resource::UpdateId>),
}

impl View {
    fn of(it: &resource::Resource, order: usize) -> Self {
        Self {
            update: it.update_status(),
            runtime: it.runtime_status(),
            hold: it.hold.clone(),
            has_pending: it.has_pending_changes(),
            enable: it.enable,
            pid: it.last_pid,
            is_queued: !it.triggered.is_empty(),
            order,
            mode: it.trigger_mode,
            updates: (it.current.as_ref().map(|it| it.id), it.history.front().map(|it| it.id)),
        }
    }
}

impl Model {
    /// Compares the world with the account.
    pub(in super::super) fn check(&mut self, world: &World, changed: &BTreeSet<ObjectId>) {
        assert!(self.must_cancel.is_empty(), "not cancelled: {:?}", self.must_cancel);
        let unstopped = &self.must_cancel_syncs;
        assert!(unstopped.is_empty(), "still copied into: {unstopped:?}");
        assert!(self.must_remove.is_empty(), "not removed: {:?}", self.must_remove);
        let order: Vec<&ResourceName> = world.resources().iter().map(|it| &it.name).collect();
        assert!(order.into_iter().eq(&self.order), "resources keep their order");
        for (name, it) in &self.resources {
            let real = world.resource(name).expect("its order was checked");
            assert_eq!(real.enable, it.enable, "{name}");
            assert_eq!(real.trigger_mode, it.mode, "{name}");
            assert_eq!(real.triggered, it.triggered, "{name}");
            assert_eq!(real.next_reason(), it.reason(), "{name}");
            assert_eq!(real.last_ready.is_some(), it.was_ready, "{name}");
            assert_eq!(real.last_success, it.last_success, "{name}");
            assert_eq!(real.history.is_empty(), it.last.is_none(), "{name}");
            assert!(real.history.len() <= resource::HISTORY, "{name}");
            let running = it.running.as_ref().map(|it| it.id);
            let current = real.current.as_ref().filter(|it| !it.is_live);
            assert_eq!(current.map(|it| it.id), running, "{name}");
            let pending: BTreeSet<FilePath> =
                real.pending.iter().map(|it| it.path.clone()).collect();
            assert_eq!(pending, it.changed, "no change of {name} is lost");
            assert_eq!(real.update_status(), it.update_status(), "{name}");
            self.check_hold(world, real, it);
            self.check_server(real, it);
        }
        self.check_queue(world);
        self.check_touched(world, changed);
        self.forget_unwanted_servers();
    }

    /// A server that exited where none is wanted is history; if one is wanted again, it may start.
    fn forget_unwanted_servers(&mut self) {
        for (name, it) in &mut self.resources {
            let is_alive = self.servers.values().any(|it| it.resource == *name);
            if it.is_off() && !is_alive {
                it.served = None;
            }
        }
    }

    fn check_hold(&self, world: &World, real: &resource::Resource, it: &super::Resource) {
        let name = &real.name;
        let is_waiting = it.wants() && it.running.is_none() && it.live.is_none();
        assert!(is_waiting || real.hold.is_none(), "{name} waits for {:?}", real.hold);
        let slots_are_full = self.n_running() >= world.max_parallel();
        assert_eq!(world.max_parallel(), self.max_parallel());
        assert!(
            !is_waiting || real.hold.is_some() || slots_are_full,
            "{name} neither runs nor waits for anything"
        );
    }

    fn check_server(&self, real: &resource::Resource, it: &super::Resource) {
        let name = &real.name;
        let mut alive = self.servers.iter().filter(|(_, it)| it.resource == *name);
        let (first, second) = (alive.next(), alive.next());
        assert!(second.is_none(), "two servers of {name}");
        let wants_server =
            matches!(real.update_status(), UpdateStatus::Ok | UpdateStatus::NotApplicable)
                && it.local().is_some_and(|it| !it.serve_cmd.is_empty());
        if !wants_server {
            assert!(!it.is_off() || first.is_none_or(|it| it.1.is_stopping), "{name} still serves");
            return;
        }
        let is_stopping = first.is_some_and(|it| it.1.is_stopping);
        assert!(it.is_served() || is_stopping, "{name} has no server");
    }

    fn check_queue(&self, world: &World) {
        let queue: Vec<(&str, Reason)> = world.queue().collect();
        let names: BTreeSet<&str> = queue.iter().map(|it| it.0).collect();
        assert_eq!(names.len(), queue.len(), "nobody queues twice");
        assert!(queue.iter().all(|it| !it.1.is_empty()), "who queues has a reason");
        let expected: BTreeSet<&str> = self.queue.iter().map(|it| &**it).collect();
        assert_eq!(names, expected);
        let triggered = world.resources().iter().filter(|it| !it.triggered.is_empty());
        assert!(triggered.into_iter().all(|it| names.contains(&*it.name)));
    }

    /// Whatever looks different was reported.
    fn check_touched(&mut self, world: &World, changed: &BTreeSet<ObjectId>) {
        let touched: BTreeSet<&str> = changed.iter().map(|it| it.name.as_str()).collect();
        let all = world.resources().iter().enumerate();
        let views: BTreeMap<ResourceName, View> =
            all.map(|(order, it)| (it.name.clone(), View::of(it, order))).collect();
        for name in views.keys().chain(self.views.keys()) {
            let is_same = views.get(name) == self.views.get(name);
            assert!(is_same || touched.contains(&**name), "nobody was told that {name} changed");
        }
        self.views = views;
    }

    /// Nothing goes on, and whoever still waits has a reason that only the outside can lift.
    pub(in super::super) fn check_settled(&self, world: &World) {
        assert_eq!(self.n_running(), 0);
        for it in world.resources() {
            match &it.hold {
                None | Some(Hold::RebuildLoop { .. }) => {}
                Some(Hold::WaitingForDeps(deps)) => {
                    let was_ready =
                        |name: &str| world.resource(name).is_some_and(|it| it.last_ready.is_some());
                    assert!(deps.iter().all(|it| !was_ready(it)), "{}", it.name);
                }
                Some(hold) => panic!("{} waits for nothing: {hold:?}", it.name),
            }
        }
        assert!(self.servers.values().all(|it| it.is_ready && !it.is_stopping));
    }
}

//! The outside of a live update, as naive as it can be.

use std::collections::{BTreeMap, BTreeSet};

use engine_model::{FilePath, LiveUpdateSpec, LiveUpdateSync, Present, TargetId, path};

use super::{End, Op};
use crate::{
    live_update::{
        Container, ContainerState, Definition, Found, LiveUpdate, Mapping, Observed, Outcome, Root,
        Rules, SyncId, SyncPlan, SyncStep, UpdateMode,
    },
    time::Time,
};

/// Paths as text: the last but one is not UTF-8.
const FILES: [&str; 5] = ["/src/a", "/src/b", "/src/d/c", "/src/d/e�\u{e017f}", "/src/d/f/g"];
const FOLDER: &str = "/src/d";
const STOP_FILE: &str = "/src/stop";

/// Files by local path, wherever they are.
type Files = BTreeMap<String, u8>;

pub(super) struct Outside {
    live_update: LiveUpdate,
    latest: SyncId,
    sources: [TargetId; 2],
    now: Time,
    pub(super) local: Files,
    /// What the watcher has not told yet.
    unseen: BTreeSet<String>,
    image: Files,
    build: Build,
    pub(super) containers: Vec<Simulated>,
    n_containers: u32,
    flights: Vec<Flight>,
    is_list_wanted: bool,
}

pub(super) struct Simulated {
    pub(super) observed: Observed,
    pub(super) files: Files,
}

enum Build {
    Idle,
    Began(Time),
    Read(Time, Files),
}

/// An update of one container, with the paths that have not arrived yet, last first.
struct Flight {
    id: SyncId,
    container: Container,
    deletions: Vec<Mapping>,
    copies: Vec<Mapping>,
}

fn text(path: &FilePath) -> String {
    path::to_text(path.as_path()).into_owned()
}

fn is_below(dir: &str, file: &str) -> bool {
    file.strip_prefix(dir).is_some_and(|it| it.is_empty() || it.starts_with('/'))
}

impl Outside {
    pub(super) fn new(has_initial_sync: bool, is_manual: bool) -> Self {
        let spec = LiveUpdateSpec {
            stop_paths: vec![STOP_FILE.into()],
            syncs: vec![LiveUpdateSync {
                local_path: "/src".into(),
                container_path: "/app".into(),
            }],
            initial_sync: has_initial_sync.then_some(Present {}),
            ..LiveUpdateSpec::default()
        };
        let mode = if is_manual { UpdateMode::Manual } else { UpdateMode::Auto };
        let sources = ["app", "base"].map(|it| TargetId::Image(it.into()));
        let (rules, all) = (Rules::new(&spec), sources.to_vec());
        let definition = Definition { rules, mode, sources: all, ..Definition::default() };
        let local: Files = FILES.iter().map(|it| ((*it).to_owned(), 0)).collect();
        let mut world = Self {
            live_update: LiveUpdate::new(definition, "/".into()),
            sources,
            now: Time(0),
            // Files that are copied at the start need not be in the image.
            image: if has_initial_sync { Files::new() } else { local.clone() },
            local,
            unseen: BTreeSet::new(),
            latest: SyncId::default(),
            build: Build::Idle,
            containers: Vec::new(),
            n_containers: 0,
            flights: Vec::new(),
            is_list_wanted: false,
        };
        world.play(Op::Add);
        world
    }

    pub(super) fn play(&mut self, op: Op) {
        self.now.0 += 1;
        match op {
            Op::Save { file, content } => self.save(FILES[usize::from(file)], content),
            Op::SaveStopFile => self.save(STOP_FILE, 1),
            Op::PutBack => self.put_back(),
            Op::Delete { file } => {
                let file = FILES[usize::from(file)];
                if self.local.remove(file).is_some() {
                    self.unseen.insert(file.to_owned());
                }
            }
            Op::DeleteFolder => {
                self.local.retain(|file, _| !is_below(FOLDER, file));
                self.unseen.insert(FOLDER.to_owned());
            }
            Op::Notify { twice } => self.notify(twice),
            Op::Replace { container } => {
                if let Some(i) = self.choose_container(container) {
                    self.containers.remove(i);
                    self.add();
                }
            }
            Op::Add if self.containers.len() < 3 => self.add(),
            Op::Add => {}
            Op::Toggle { container } => {
                if let Some(i) = self.choose_container(container) {
                    let state = &mut self.containers[i].observed.state;
                    let is_running = *state == ContainerState::Running;
                    *state =
                        if is_running { ContainerState::Waiting } else { ContainerState::Running };
                }
            }
            Op::Arrive { flight } => {
                if let Some(i) = usize::from(flight).checked_rem(self.flights.len()) {
                    self.arrive(i);
                }
            }
            Op::End { flight, how } => {
                if let Some(i) = usize::from(flight).checked_rem(self.flights.len()) {
                    self.end(i, how);
                }
            }
            Op::Build => self.build(),
            Op::List => self.list(),
            Op::Trigger => self.live_update.begin(true),
        }
        self.step();
    }

    /// Nothing more happens outside; everything that was begun goes well.
    pub(super) fn settle(&mut self) {
        for it in &mut self.containers {
            it.observed.state = ContainerState::Running;
        }
        for _ in 0..40 {
            self.play(Op::Notify { twice: false });
            while !self.flights.is_empty() {
                self.play(Op::End { flight: 0, how: End::Well });
            }
            self.play(Op::List);
            while self.live_update.status().failed.is_some() || !matches!(self.build, Build::Idle) {
                self.play(Op::Build);
            }
            self.play(Op::Trigger);
            if self.flights.is_empty() && !self.is_list_wanted {
                return;
            }
        }
        panic!("it does not settle: {:?}", self.live_update);
    }

    fn save(&mut self, file: &str, content: u8) {
        let is_new_folder =
            is_below(FOLDER, file) && !self.local.keys().any(|it| is_below(FOLDER, it));
        self.local.insert(file.to_owned(), content);
        self.unseen.insert(file.to_owned());
        // Not every watcher tells of folders.
        if is_new_folder && content != 2 {
            self.unseen.insert(FOLDER.to_owned());
        }
    }

    fn put_back(&mut self) {
        if self.image.is_empty() {
            // Nothing was built yet that could be kept.
            return;
        }
        let old = std::mem::replace(&mut self.local, self.image.clone());
        let all: BTreeSet<&String> = old.keys().chain(self.image.keys()).collect();
        let changed = all.into_iter().filter(|it| old.get(*it) != self.image.get(*it));
        self.unseen.extend(changed.cloned());
        self.unseen.insert(STOP_FILE.to_owned());
    }

    /// The watcher tells what it finds now at the paths that changed, and what it missed in folders.
    fn notify(&mut self, twice: bool) {
        let mut paths = std::mem::take(&mut self.unseen);
        let has_folder = self.local.keys().any(|it| is_below(FOLDER, it));
        if paths.contains(FOLDER) && has_folder {
            paths.extend(FILES.iter().filter(|it| is_below(FOLDER, it)).map(|it| (*it).to_owned()));
        }
        let found = |path: &String| match self.local.get(path) {
            Some(_) => Found::PRESENT,
            None if path == FOLDER && has_folder => Found::PRESENT,
            None => Found::Absent,
        };
        let files: Vec<_> = paths.iter().map(|it| (FilePath::from_text(it), found(it))).collect();
        if !files.is_empty() {
            self.live_update.files_changed(&self.sources[0], self.now, files.clone());
            if twice {
                self.live_update.files_changed(&self.sources[1], self.now, files);
            }
        }
    }

    fn choose_container(&self, n: u8) -> Option<usize> {
        usize::from(n).checked_rem(self.containers.len())
    }

    fn add(&mut self) {
        self.n_containers += 1;
        let id = self.n_containers.to_string().into();
        let container = Container { pod: "pod".into(), id, ..Container::default() };
        let observed = Observed { container, state: ContainerState::Running };
        self.containers.push(Simulated { observed, files: self.image.clone() });
    }

    /// One path of an update arrives, with what is there by now.
    fn arrive(&mut self, i: usize) -> bool {
        let flight = &mut self.flights[i];
        let place = self.containers.iter_mut().find(|it| it.observed.container == flight.container);
        let Some(place) = place else { return false };
        if let Some(deleted) = flight.deletions.pop() {
            place.files.retain(|file, _| !is_below(&text(&deleted.local), file));
            return true;
        }
        let Some(mapping) = flight.copies.pop() else { return false };
        let root = text(&mapping.local);
        for (file, content) in self.local.iter().filter(|(it, _)| is_below(&root, it)) {
            place.files.insert(file.clone(), *content);
        }
        true
    }

    /// An update ends, for all its containers at once.
    fn end(&mut self, i: usize, how: End) {
        let id = self.flights[i].id;
        if matches!(how, End::Well | End::WithExecError) {
            for i in 0..self.flights.len() {
                while self.flights[i].id == id && self.arrive(i) {}
            }
        }
        let outcome = match how {
            End::Well => Outcome::Synced { exec_error: None },
            End::WithExecError => Outcome::Synced { exec_error: Some("no".into()) },
            End::Failed => Outcome::Failed("no".into()),
            End::Abandoned => Outcome::Abandoned,
        };
        let ended = self.flights.extract_if(.., |it| it.id == id);
        let ended = ended.map(|it| (it.container, outcome.clone())).collect();
        let _ = self.live_update.sync_ended(id, ended);
        self.live_update.begin(false);
    }

    /// The next part of a build; when it ends, all containers are replaced, unless it found all as it was.
    fn build(&mut self) {
        self.build = match std::mem::replace(&mut self.build, Build::Idle) {
            Build::Idle => Build::Began(self.now),
            Build::Began(began) => Build::Read(began, self.local.clone()),
            Build::Read(looked, files) if files == self.image => {
                for source in &self.sources {
                    self.live_update.image_kept(source, looked, self.now);
                }
                Build::Idle
            }
            Build::Read(began, files) => {
                self.image = files;
                for source in &self.sources {
                    self.live_update.image_built(source, began);
                }
                for _ in 0..self.containers.len() {
                    self.containers.remove(0);
                    self.add();
                }
                Build::Idle
            }
        };
    }

    fn list(&mut self) {
        if std::mem::take(&mut self.is_list_wanted) {
            let files = self.local.keys().filter(|it| *it != STOP_FILE);
            let files = files.map(|it| FilePath::from_text(it)).collect();
            self.live_update.files_listed(Ok(files));
        }
    }

    fn step(&mut self) {
        let observed = self.containers.iter().map(|it| it.observed.clone()).collect();
        self.live_update.containers_observed(observed);
        self.live_update.roots_found(&[("/src".into(), Root::Directory)].into());
        for step in self.live_update.step(self.now, &mut self.latest).unwrap_or_default() {
            match step {
                SyncStep::ListFiles => {
                    assert!(!self.is_list_wanted, "it is being made already");
                    self.is_list_wanted = true;
                }
                SyncStep::Sync { id, plan } => {
                    for container in plan.containers.clone() {
                        self.begin(id, container, &plan);
                    }
                }
                SyncStep::FallBack(_) => assert!(self.live_update.status().failed.is_some()),
            }
        }
    }

    fn begin(&mut self, id: SyncId, container: Container, plan: &SyncPlan) {
        assert!(self.flights.iter().all(|it| it.container != container), "one at a time");
        let place = self.containers.iter().find(|it| it.observed.container == container);
        let place = place.expect("it is updated only while it is there");
        assert_eq!(place.observed.state, ContainerState::Running);
        let (deletions, copies) = (plan.deletions.clone(), plan.copies.clone());
        self.flights.push(Flight { id, container, deletions, copies });
    }
}

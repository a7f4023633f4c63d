//! The watcher's thread: takes in events, keeps the tree, and tells targets what changed.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    path::Path,
    rc::Rc,
    sync::mpsc,
    thread,
    time::{Duration, Instant, SystemTime},
};

use engine_model::TargetId;

use self::changes::Pending;
use super::{
    Batch, BatchKind, Message, Target,
    dirs::Dirs,
    ignore::IgnoreCache,
    locate::{Locator, absolute},
    queue::Sink,
    row::Row,
    source::{Intake, Kind, Source},
    tree::Tree,
    views::RowId,
};

mod changes;

/// How often directories are looked at that cannot be watched.
const POLL: Duration = Duration::from_secs(1);

/// So many messages are handled before batches are looked at.
const MESSAGES_MAX: usize = 4096;

/// So long events gather while many files change: whoever writes them is not interrupted for each.
const GATHER: Duration = Duration::from_millis(1);

/// So long directories are visited before messages are looked at.
const VISIT_MAX: Duration = Duration::from_millis(5);

/// The reader of batches is gone, or the watcher was dropped.
struct Ended;

/// The state of the thread.
pub(super) struct Worker {
    inbox: mpsc::Receiver<Message>,
    intake: Intake,
    sink: Sink,
    tree: Tree,
    ignores: IgnoreCache,
    rows: HashMap<RowId, Row>,
    ids: HashMap<TargetId, RowId>,
    /// Targets whose updates have begun before they are watched.
    early: HashSet<TargetId>,
    n_rows: RowId,
    /// Rows with an open batch.
    active: BTreeSet<RowId>,
    pending: HashMap<Rc<Path>, Pending>,
    next_poll: Option<Instant>,
    /// Whether targets may have started, failed or recovered.
    has_news: bool,
}

impl Worker {
    pub(super) fn new(inbox: mpsc::Receiver<Message>, intake: Intake, sink: Sink) -> Self {
        Self {
            inbox,
            tree: Tree::new(Dirs::new(Source::new(intake.clone()))),
            intake,
            sink,
            ignores: IgnoreCache::new(),
            rows: HashMap::new(),
            ids: HashMap::new(),
            early: HashSet::new(),
            n_rows: 0,
            active: BTreeSet::new(),
            pending: HashMap::new(),
            next_poll: None,
            has_news: false,
        }
    }

    /// Works until the watcher is dropped or nobody reads batches.
    pub(super) fn run(mut self) {
        while self.turn().is_ok() {}
    }

    fn turn(&mut self) -> Result<(), Ended> {
        if let Some(message) = self.wait()? {
            self.handle(message)?;
            if self.is_in_burst() {
                thread::sleep(GATHER);
            }
        }
        for _ in 1..MESSAGES_MAX {
            let Ok(message) = self.inbox.try_recv() else { break };
            self.handle(message)?;
        }
        if self.intake.take_lost() {
            let seen = self.tree.rescan();
            self.see_all(seen);
        }
        self.visit();
        self.poll();
        self.tell_problems();
        self.flush_due();
        self.tell_early();
        if self.sink.is_closed() { Err(Ended) } else { Ok(()) }
    }

    fn is_in_burst(&self) -> bool {
        self.active.iter().filter_map(|it| self.rows.get(it)).any(|it| it.window.is_burst())
    }

    /// Waits for a message, unless there is work to do without one.
    fn wait(&mut self) -> Result<Option<Message>, Ended> {
        loop {
            match self.inbox.try_recv() {
                Ok(message) => return Ok(Some(message)),
                Err(mpsc::TryRecvError::Disconnected) => return Err(Ended),
                Err(mpsc::TryRecvError::Empty) => {}
            }
            let wake = self.next_wake();
            let now = Instant::now();
            if self.tree.is_visiting() || wake.is_some_and(|at| at <= now) {
                return Ok(None);
            }
            if self.tree.dirs.is_reading() {
                self.tree.dirs.read_some();
                continue;
            }
            return match wake {
                None => self.inbox.recv().map(Some).map_err(|_| Ended),
                Some(at) => match self.inbox.recv_timeout(at - now) {
                    Ok(message) => Ok(Some(message)),
                    Err(mpsc::RecvTimeoutError::Timeout) => Ok(None),
                    Err(mpsc::RecvTimeoutError::Disconnected) => Err(Ended),
                },
            };
        }
    }

    fn next_wake(&self) -> Option<Instant> {
        let rows = self.active.iter().filter_map(|row| self.rows.get(row));
        rows.filter_map(|row| row.window.deadline()).chain(self.next_poll).min()
    }

    fn handle(&mut self, message: Message) -> Result<(), Ended> {
        match message {
            Message::Seen(seen) => {
                self.intake.taken();
                self.see(Instant::now(), &seen);
            }
            Message::Set(targets) => self.set(targets),
            Message::Updating(id, is_updating) => {
                match self.ids.get(&id).and_then(|id| self.rows.get_mut(id)) {
                    Some(row) => row.set_updating(Instant::now(), is_updating),
                    None if is_updating => _ = self.early.insert(id),
                    None => _ = self.early.remove(&id),
                }
            }
            Message::Lost => {}
            Message::Stop => return Err(Ended),
        }
        Ok(())
    }

    fn set(&mut self, targets: Vec<Target>) {
        let mut locator = Locator::default();
        let mut left = Vec::new();
        let mut unnamed: HashMap<TargetId, RowId> = self.ids.clone();
        for target in targets {
            unnamed.remove(&target.id);
            let (id, is_new) = self.row_of(&target);
            let Some(row) = self.rows.get_mut(&id) else { continue };
            if !is_new && row.target == target {
                continue;
            }
            let ignores = self.ignores.get(&target.ignores);
            let paths: Vec<_> = target.paths.iter().map(|it| absolute(it)).collect();
            let views = self.tree.join(&mut locator, &paths, &ignores, id);
            let old = std::mem::replace(&mut row.views, views);
            left.extend(old.iter().filter(|it| !row.views.contains(it)).map(|&view| (id, view)));
            row.target = target;
            row.has_started = false;
        }
        for (name, id) in unnamed {
            self.ids.remove(&name);
            self.active.remove(&id);
            let views = self.rows.remove(&id).map(|row| row.views).unwrap_or_default();
            left.extend(views.into_iter().map(|view| (id, view)));
        }
        self.tree.leave(left);
        self.ignores.prune();
        let rows = &self.rows;
        self.pending.retain(|_, it| it.waiting.iter().any(|(row, _)| rows.contains_key(row)));
        self.has_news = true;
    }

    /// The row of a target, and whether it is new.
    fn row_of(&mut self, target: &Target) -> (RowId, bool) {
        if let Some(&id) = self.ids.get(&target.id) {
            return (id, false);
        }
        self.n_rows += 1;
        self.ids.insert(target.id.clone(), self.n_rows);
        let mut row = Row::new(target.clone());
        if self.early.remove(&target.id) {
            row.set_updating(Instant::now(), true);
        }
        self.rows.insert(self.n_rows, row);
        (self.n_rows, true)
    }

    /// Watches directories for a while, and announces targets once all are watched.
    fn visit(&mut self) {
        let start = Instant::now();
        while self.tree.is_visiting() && start.elapsed() < VISIT_MAX {
            self.tree.visit_next();
        }
        for found in self.tree.take_found() {
            self.note(Instant::now(), &found.path, Kind::Created, found.is_dir);
        }
    }

    fn post(&self, target: TargetId, kind: BatchKind) {
        self.sink.send(Batch { target, at: SystemTime::now(), kind });
    }

    /// Looks at what cannot be watched.
    fn poll(&mut self) {
        if !self.tree.has_problem() {
            self.next_poll = None;
            return;
        }
        let now = Instant::now();
        match self.next_poll {
            Some(at) if at <= now => {
                self.tree.retry_unplaced();
                let seen = self.tree.poll();
                self.see_all(seen);
                self.next_poll = Some(now + POLL);
            }
            Some(_) => {}
            None => self.next_poll = Some(now + POLL),
        }
    }

    /// Tells what went wrong or right again, and which targets are watched from now on.
    fn tell_problems(&mut self) {
        let has_problem = self.tree.has_problem();
        if self.tree.is_visiting() || !(self.has_news || has_problem) {
            return;
        }
        // Once more after the last problem has gone, to tell of that.
        self.has_news = has_problem;
        let mut problems = self.tree.problems();
        let mut told = Vec::new();
        for (id, row) in &mut self.rows {
            let problem = problems.remove(id);
            if problem != row.problem {
                row.problem.clone_from(&problem);
                told.push((
                    row.target.id.clone(),
                    match problem {
                        Some(message) => BatchKind::Failed { message },
                        None => BatchKind::Recovered,
                    },
                ));
            }
            if !row.has_started && row.problem.is_none() {
                row.has_started = true;
                told.push((row.target.id.clone(), BatchKind::Started));
            }
        }
        for (target, kind) in told {
            self.post(target, kind);
        }
    }
}

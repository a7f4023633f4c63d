//! The whole watcher against a real file system.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{PermissionsExt as _, symlink},
    },
    path::{Path, PathBuf},
    sync::atomic::Ordering,
    time::{Duration, SystemTime},
};

use notify::{Event, EventHandler as _, EventKind, event::Flag};
use tempfile::TempDir;
use tokio::{runtime::Runtime, time::timeout};

use engine_model::{IgnoreDef, TargetId};

use super::*;

/// Nothing takes this long, unless something is broken.
const DEADLINE: Duration = Duration::from_secs(20);

/// A target that watches nothing yet.
pub(super) fn target(id: &str) -> Target {
    Target {
        id: TargetId::Object(id.into()),
        object: String::new(),
        paths: Vec::new(),
        ignores: Vec::new(),
        is_early: false,
    }
}

/// A directory, a watcher, and one target `t` that also watches a marker file.
struct Fixture {
    dir: TempDir,
    watcher: Watcher,
    batches: Batches,
    runtime: Runtime,
    n_marks: usize,
}

impl Fixture {
    fn new() -> Self {
        let (sink, batches) = queue();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("p")).unwrap();
        fs::create_dir(dir.path().join("drafts")).unwrap();
        fs::write(dir.path().join("marker"), "").unwrap();
        let watcher = Watcher::start(sink).unwrap();
        Self { dir, watcher, batches, runtime, n_marks: 0 }
    }

    /// A path in the directory that tests use.
    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("p").join(name)
    }

    /// Writes a file in one step, so that nobody can see it half written.
    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let draft = self.dir.path().join("drafts/draft");
        fs::write(&draft, text).unwrap();
        fs::rename(draft, path).unwrap();
    }

    fn target(&self, paths: &[&str], ignores: &[&str]) -> Target {
        let mut target = target("t");
        target.paths = paths.iter().map(|it| absolute(&self.path(it))).collect();
        target.paths.push(self.dir.path().join("marker"));
        if !ignores.is_empty() {
            target.ignores.push(IgnoreDef {
                base_path: self.path("").to_string_lossy().into_owned(),
                patterns: ignores.iter().map(|&it| it.to_owned()).collect(),
            });
        }
        target
    }

    /// Watches paths and waits until they are.
    fn watch(&mut self, paths: &[&str], ignores: &[&str]) {
        self.watcher.set(vec![self.target(paths, ignores)]);
        assert_eq!(self.next().kind, BatchKind::Started);
    }

    fn next(&mut self) -> Batch {
        let batch = self.runtime.block_on(async { timeout(DEADLINE, self.batches.recv()).await });
        batch.expect("a batch in time").expect("a living watcher")
    }

    /// Changes the marker file and collects what came up to that, by path below the directory,
    /// each path once.
    fn seen(&mut self) -> Vec<String> {
        self.n_marks += 1;
        self.write("../marker", &self.n_marks.to_string());
        let marker = self.dir.path().join("marker");
        let mut seen = Vec::new();
        loop {
            let BatchKind::Changed { files, .. } = self.next().kind else { continue };
            let mut has_marker = false;
            for file in files {
                if file == marker {
                    has_marker = true;
                } else if let Ok(name) = file.strip_prefix(self.path("")) {
                    seen.push(name.to_string_lossy().into_owned());
                }
            }
            if has_marker {
                seen.sort();
                seen.dedup();
                return seen;
            }
        }
    }

    /// Waits until all the paths were reported.
    fn expect(&mut self, names: &[&str]) {
        let mut missing: Vec<PathBuf> = names.iter().map(|it| self.path(it)).collect();
        while !missing.is_empty() {
            if let BatchKind::Changed { files, .. } = self.next().kind {
                missing.retain(|it| !files.contains(it));
            }
        }
    }

    fn lose_events(&self, is_deaf: bool) {
        self.watcher.intake.faults.is_deaf.store(is_deaf, Ordering::SeqCst);
    }
}

fn absolute(path: &Path) -> PathBuf {
    locate::absolute(path)
}

#[test]
fn a_save_is_reported_by_the_name_that_the_target_uses() {
    let mut f = Fixture::new();
    f.write("src/a", "1");
    f.watch(&["src"], &[]);
    fs::write(f.path("src/a"), "2").unwrap();
    let batch = f.next();
    assert_eq!(batch.target.to_string(), "t");
    let files = vec![f.path("src/a")];
    assert_eq!(batch.kind, BatchKind::Changed { files, during_update: false });
}

#[test]
fn new_directories_are_reported_with_their_contents_and_watched() {
    let mut f = Fixture::new();
    f.write("src/a", "1");
    f.watch(&["src"], &[]);
    f.write("src/deep/er/three", "3");
    f.expect(&["src/deep", "src/deep/er", "src/deep/er/three"]);
    f.write("src/deep/er/four", "4");
    f.expect(&["src/deep/er/four"]);
    assert_eq!(f.seen(), [""; 0]);
}

#[test]
fn removals_and_moves_are_reported() {
    let mut f = Fixture::new();
    f.write("src/one", "1");
    f.write("src/sub/two", "2");
    f.watch(&["src"], &[]);
    fs::rename(f.path("src/one"), f.path("src/uno")).unwrap();
    assert_eq!(f.seen(), ["src/one", "src/uno"]);
    fs::rename(f.path("src/sub"), f.path("src/bus")).unwrap();
    assert_eq!(f.seen(), ["src/bus", "src/bus/two", "src/sub"]);
    f.write("src/bus/two", "3");
    f.expect(&["src/bus/two"]);
    fs::remove_dir_all(f.path("src/bus")).unwrap();
    assert_eq!(f.seen(), ["src/bus", "src/bus/two"]);
}

#[test]
fn of_a_watched_file_only_the_file_counts() {
    let mut f = Fixture::new();
    f.write("in", "1");
    f.watch(&["in"], &[]);
    f.write("other", "1");
    f.write("in.tmp", "2");
    fs::rename(f.path("in.tmp"), f.path("in")).unwrap();
    assert_eq!(f.seen(), ["in"]);
    fs::remove_file(f.path("in")).unwrap();
    f.write("in", "3");
    assert_eq!(f.seen(), ["in"]);
}

#[test]
fn a_missing_path_is_found_when_it_appears() {
    let mut f = Fixture::new();
    f.watch(&["a/b/c"], &[]);
    f.write("other/x", "1");
    f.write("a/beside", "1");
    assert_eq!(f.seen(), [""; 0]);
    fs::create_dir_all(f.path("a/b/c")).unwrap();
    assert_eq!(f.seen(), [""; 0], "the directory itself does not count");
    f.write("a/b/c/d", "1");
    f.expect(&["a/b/c/d"]);
    fs::remove_dir_all(f.path("a")).unwrap();
    f.expect(&["a/b/c"]);
    f.write("a/b/c/e", "1");
    f.expect(&["a/b/c/e"]);
}

#[test]
fn a_watched_directory_that_is_replaced_stays_watched() {
    let mut f = Fixture::new();
    f.write("src/a", "1");
    f.watch(&["src"], &[]);
    fs::rename(f.path("src"), f.path("old")).unwrap();
    f.write("src/b", "1");
    f.expect(&["src/b"]);
    f.write("old/a", "2");
    f.write("src/c", "1");
    assert_eq!(f.seen(), ["src/c"]);
}

#[test]
fn links_count_and_what_they_point_to_does_not() {
    let mut f = Fixture::new();
    f.write("elsewhere/x", "1");
    f.write("src/a", "1");
    f.watch(&["src"], &[]);
    symlink(f.path("elsewhere"), f.path("src/link")).unwrap();
    assert_eq!(f.seen(), ["src/link"]);
    f.write("elsewhere/x", "2");
    assert_eq!(f.seen(), [""; 0]);
    fs::remove_file(f.path("src/link")).unwrap();
    assert_eq!(f.seen(), ["src/link"]);
}

#[test]
fn one_directory_may_have_two_names() {
    let mut f = Fixture::new();
    f.write("real/sub/x", "1");
    symlink("real", f.path("link")).unwrap();
    f.watch(&["link/sub", "real/sub"], &[]);
    f.write("real/sub/x", "2");
    assert_eq!(f.seen(), ["link/sub/x", "real/sub/x"]);
}

#[test]
fn attributes_of_files_count_and_those_of_directories_do_not() {
    let mut f = Fixture::new();
    f.write("src/sub/a", "1");
    f.watch(&["src"], &[]);
    let chmod = |f: &Fixture, name: &str, mode| {
        fs::set_permissions(f.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    let touch = |f: &Fixture, name: &str| {
        let file = fs::File::open(f.path(name)).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(5)).unwrap();
    };
    chmod(&f, "src/sub", 0o700);
    touch(&f, "src/sub");
    touch(&f, "src");
    assert_eq!(f.seen(), [""; 0]);
    chmod(&f, "src/sub/a", 0o600);
    assert_eq!(f.seen(), ["src/sub/a"]);
    chmod(&f, "src/sub/a", 0o600);
    assert_eq!(f.seen(), [""; 0], "the mode is what it was");
    touch(&f, "src/sub/a");
    assert_eq!(f.seen(), ["src/sub/a"]);
}

#[test]
fn ignored_directories_cost_nothing() {
    let mut f = Fixture::new();
    for i in 0..20 {
        f.write(&format!("src/node_modules/m{i}/x"), "1");
    }
    // Room for `src`, for `src/.idea` and for the directory of the marker.
    f.watcher.intake.faults.n_watches.store(3, Ordering::SeqCst);
    f.watch(&["src"], &["**/node_modules"]);
    f.write("src/node_modules/m1/x", "2");
    f.write("src/node_modules/m99/x", "2");
    f.write("src/.a.swp", "2");
    f.write("src/.idea/x", "2");
    assert_eq!(f.seen(), ["src/.idea"], "the folder counts, what is in it does not");
}

#[test]
fn nothing_is_lost_when_the_queue_overflows() {
    let mut f = Fixture::new();
    for name in ["src/same", "src/modified", "src/removed", "src/sub/x", "src/gone/x", "one"] {
        f.write(name, "1");
    }
    f.watch(&["src", "one", "missing"], &[]);
    // The answer to a change shows that the index is as far as the files.
    f.write("src/ready", "1");
    f.expect(&["src/ready"]);
    f.lose_events(true);
    f.write("src/modified", "22");
    f.write("src/new/x", "1");
    f.write("src/sub/y", "1");
    f.write("one", "22");
    f.write("missing/x", "1");
    fs::remove_file(f.path("src/removed")).unwrap();
    fs::remove_dir_all(f.path("src/gone")).unwrap();
    let mut intake = f.watcher.intake.clone();
    intake.handle_event(Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan)));
    f.expect(&[
        "missing/x",
        "one",
        "src/gone",
        "src/modified",
        "src/new",
        "src/new/x",
        "src/removed",
        "src/sub/y",
    ]);
    f.lose_events(false);
    f.write("src/new/z", "1");
    assert_eq!(f.seen(), ["src/new/z"], "new directories are watched and old news is not repeated");
}

#[test]
fn directories_beyond_the_limit_are_looked_at() {
    let mut f = Fixture::new();
    f.write("src/sub/x", "1");
    f.watcher.intake.faults.n_watches.store(2, Ordering::SeqCst);
    f.watcher.set(vec![f.target(&["src"], &[])]);
    let BatchKind::Failed { message } = f.next().kind else { panic!("no failure was told") };
    assert!(message.contains("sudo sysctl fs.inotify.max_user_watches="), "{message}");
    f.write("src/sub/x", "22");
    f.expect(&["src/sub/x"]);
    f.write("src/sub/new/y", "1");
    f.expect(&["src/sub/new", "src/sub/new/y"]);

    f.watcher.intake.faults.n_watches.store(100, Ordering::SeqCst);
    assert_eq!(f.next().kind, BatchKind::Recovered);
    assert_eq!(f.next().kind, BatchKind::Started);
    f.write("src/sub/x", "333");
    assert_eq!(f.seen(), ["src/sub/x"]);
}

#[test]
fn the_root_directory_cannot_be_watched() {
    let f = Fixture::new();
    let Fixture { watcher, mut batches, runtime, .. } = f;
    watcher.set(vec![Target { paths: vec!["/".into()], ..target("t") }]);
    let message = "filewatch init: Finding ancestor of /: cannot watch root directory".to_owned();
    assert_eq!(runtime.block_on(batches.recv()).unwrap().kind, BatchKind::Failed { message });
}

#[test]
fn an_update_that_rewrites_its_own_files_does_not_cause_the_next_one() {
    let mut f = Fixture::new();
    f.write("src/out", "same");
    f.watch(&["src"], &[]);
    f.watcher.updating(&target("t").id, true);
    f.write("src/out", "same");
    let files = vec![f.path("src/out")];
    assert_eq!(f.next().kind, BatchKind::Changed { files, during_update: true });
    f.write("src/out", "same");
    assert_eq!(f.seen(), [""; 0], "its content is known by now");
    f.write("src/out", "other");
    assert_eq!(f.seen(), ["src/out"]);
    f.watcher.updating(&target("t").id, false);
    f.write("src/out", "other");
    assert_eq!(f.seen(), [""; 0], "writes arrive a little later than the end of an update");
}

#[test]
fn a_touch_outside_of_updates_counts() {
    let mut f = Fixture::new();
    f.write("src/in", "same");
    f.watch(&["src"], &[]);
    for _ in 0..2 {
        f.write("src/in", "same");
        f.expect(&["src/in"]);
    }
}

#[test]
fn a_checkout_gives_few_batches_and_every_file() {
    let mut f = Fixture::new();
    let names: Vec<String> = (0..500).map(|i| format!("src/d{}/f{i}", i % 20)).collect();
    for name in &names {
        f.write(name, "1");
    }
    f.watch(&["src"], &[]);
    for name in &names {
        fs::remove_file(f.path(name)).unwrap();
        f.write(name, "22");
    }
    let (mut n_batches, mut missing) = (0, names);
    while !missing.is_empty() {
        let BatchKind::Changed { files, .. } = f.next().kind else { continue };
        n_batches += 1;
        missing.retain(|name| !files.contains(&f.path(name)));
    }
    assert!(n_batches <= 5, "{n_batches} batches");
}

#[test]
fn targets_that_stay_the_same_are_not_disturbed() {
    let mut f = Fixture::new();
    f.write("a/x", "1");
    f.write("b/x", "1");
    f.watch(&["a"], &[]);
    let mut other = f.target(&["b"], &[]);
    other.id = TargetId::Object("other".into());
    other.paths.truncate(1);
    f.watcher.set(vec![f.target(&["a"], &[]), other]);
    let started = f.next();
    assert_eq!(
        (started.target, started.kind),
        (TargetId::Object("other".into()), BatchKind::Started)
    );
    f.write("b/x", "22");
    assert_eq!(f.next().target.to_string(), "other");
    f.watcher.set(vec![f.target(&["a"], &[])]);
    f.write("b/x", "333");
    f.write("a/x", "22");
    assert_eq!(f.seen(), ["a/x"]);
}

#[test]
fn names_need_not_be_text() {
    let mut f = Fixture::new();
    f.write("src/a", "1");
    f.watch(&["src"], &["*.tmp", "!x"]);
    let path = f.path("src").join(OsStr::from_bytes(b"\xff\xfe"));
    fs::write(&path, "1").unwrap();
    let files = vec![path];
    assert_eq!(f.next().kind, BatchKind::Changed { files, during_update: false });
}

#[test]
fn a_reader_that_does_not_read_holds_nobody_up() {
    let (sink, batches) = queue();
    let watcher = Watcher::start(sink).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let target = |i: usize| Target { paths: vec![dir.path().into()], ..target(&i.to_string()) };
    watcher.set((0..10).map(target).collect());
    drop(watcher);
    drop(batches);
}

//! What the user of a container puts in the way of a helper that runs as root: it is not followed, and nothing else
//! of the container changes or gets another owner.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink},
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use engine_helper::protocol::{CHUNK, Refusal, Reply, Request, RunEnd, Timestamp};
use tempfile::TempDir;

use crate::client::{Helper, NOBODY, file, folder, has_root, program, run, unprivileged};

/// A folder with a directory `app` of the container's user, and one that only root may look into.
struct Container {
    dir: TempDir,
}

impl Container {
    /// Nothing without root, who alone can give something to another user.
    fn new() -> Option<Self> {
        if !has_root() {
            return None;
        }
        let container = Self { dir: folder() };
        container.directory("app", NOBODY, 0o755);
        container.directory("priv", 0, 0o700);
        fs::write(container.path("priv/secret"), "secret").unwrap();
        fs::set_permissions(container.path("priv/secret"), fs::Permissions::from_mode(0o600))
            .unwrap();
        Some(container)
    }

    fn root(&self) -> &Path {
        self.dir.path()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    fn directory(&self, name: &str, owner: u32, mode: u32) {
        let path = self.path(name);
        fs::create_dir_all(&path).unwrap();
        chown(&path, Some(owner), Some(owner)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn link(&self, target: &str, name: &str, owner: u32) {
        symlink(target, self.path(name)).unwrap();
        lchown(self.path(name), Some(owner), Some(owner)).unwrap();
    }

    /// What nobody but root may see is as it was.
    fn check(&self, when: &str) {
        let names: Vec<_> =
            fs::read_dir(self.path("priv")).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(names, ["secret"], "{when}");
        assert_eq!(fs::read_to_string(self.path("priv/secret")).unwrap(), "secret", "{when}");
        for (name, mode) in [("priv", 0o700), ("priv/secret", 0o600)] {
            assert_eq!(owner(&self.path(name)), 0, "{name} {when}");
            let found = fs::metadata(self.path(name)).unwrap();
            assert_eq!(found.mode() & 0o7777, mode, "{name} {when}");
        }
    }
}

fn owner(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().uid()
}

fn refusals(replies: &[Reply]) -> Vec<Refusal> {
    let refusal = |it: &Reply| match it {
        Reply::Refused { refusal, .. } => Some(*refusal),
        _ => None,
    };
    replies.iter().filter_map(refusal).collect()
}

#[test]
fn root_follows_only_links_that_nobody_else_can_have_made() {
    let Some(container) = Container::new() else { return };
    let mut helper = Helper::start();
    for (at, (what, link_owner, dir_owner, dir_mode, is_followed)) in [
        ("root's link", 0, 0, 0o755, true),
        ("the user's link", NOBODY, 0, 0o755, false),
        ("root's link in a directory of the user", 0, NOBODY, 0o755, false),
        ("root's link where a group may write", 0, 0, 0o775, false),
        ("root's link where everybody may write", 0, 0, 0o1777, false),
    ]
    .into_iter()
    .enumerate()
    {
        let (dir, target) = (format!("dir{at}"), format!("target{at}"));
        container.directory(&dir, dir_owner, dir_mode);
        container.directory(&target, 0, 0o755);
        fs::write(container.path(&format!("{target}/old")), "old").unwrap();
        container.link(&format!("../{target}"), &format!("{dir}/sub"), link_owner);
        let mut batch = file(&format!("{dir}/sub/file"), 0o644, "new");
        batch.push(Request::Delete(format!("{dir}/sub/old").into()));
        batch.push(Request::Directory { path: format!("{dir}/sub").into(), mode: 0o700 });
        let replies = helper.batch(container.root(), batch);
        let expected = if is_followed { vec![] } else { vec![Refusal::Escapes; 3] };
        assert_eq!(refusals(&replies), expected, "{what}: {replies:?}");
        let is_there = |name: &str| container.path(&format!("{target}/{name}")).exists();
        assert_eq!((is_there("file"), is_there("old")), (is_followed, !is_followed), "{what}");
    }
    // Who is not root may go wherever it may go.
    container.directory("theirs", NOBODY, 0o755);
    container.link("../theirs", "app/sub", NOBODY);
    let mut helper = Helper::start_with(unprivileged(&mut Command::new(program())));
    let replies = helper.batch(container.root(), file("app/sub/file", 0o644, "new"));
    assert_eq!(replies, [Reply::Done { placed: 1 }]);
    assert!(container.path("theirs/file").exists());
}

#[test]
fn a_refused_link_is_named_with_the_reason() {
    let Some(container) = Container::new() else { return };
    container.link("../priv", "app/sub", NOBODY);
    // The user's link is refused as well if one of root's leads to it.
    container.link("app/sub", "way", 0);
    let mut helper = Helper::start();
    let link = container.path("app/sub").canonicalize().unwrap().parent().unwrap().join("app/sub");
    let words = "root does not follow a link that others than root can change";
    for path in ["app/sub/file", "way/file"] {
        let replies = helper.batch(container.root(), file(path, 0o644, "x"));
        let message = format!("{}: {words}", link.display());
        let refused = Reply::Refused { entry: 0, refusal: Refusal::Escapes, message };
        assert_eq!(replies, [refused, Reply::Done { placed: 0 }], "{path}");
    }
    container.check("after a refusal");
}

#[test]
fn a_draft_that_is_swapped_for_a_link_gives_nothing_away() {
    let Some(container) = Container::new() else { return };
    let mut helper = Helper::start();
    let (path, modified) = (b"app/large".to_vec(), Timestamp::default());
    let data = || Request::Data(vec![b'x'; CHUNK]);
    let root = container.root().to_str().unwrap().into();
    helper.send(&[Request::Root(root), Request::File { path, mode: 0o644, modified }]);
    helper.send(&[data(), data()]);
    let draft = loop {
        // It is there as soon as the second piece has arrived.
        let mut names = fs::read_dir(container.path("app")).unwrap();
        if let Some(found) = names.next() {
            break found.unwrap().path();
        }
        thread::yield_now();
    };
    fs::rename(&draft, container.path("app/away")).unwrap();
    symlink("../priv/secret", &draft).unwrap();
    helper.send(&[Request::EndOfFile, Request::Commit]);
    helper.replies();
    container.check("after a swapped draft");
    assert_eq!(owner(&container.path("app/away")), NOBODY, "the file itself was given away");
}

/// Ends the thread that swaps, also if the test fails.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_directory_that_is_swapped_for_a_link_all_the_time_leads_nowhere() {
    let Some(container) = Container::new() else { return };
    let (sub, real) = (container.path("app/sub"), container.path("app/real"));
    container.directory("app/sub", NOBODY, 0o755);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                // What the helper has made meanwhile is in the way now and then.
                let _ = fs::rename(&sub, &real);
                let _ = symlink("../priv", &sub);
                let _ = fs::remove_file(&sub);
                if fs::rename(&real, &sub).is_err() {
                    let _ = fs::remove_dir_all(&real);
                }
            }
        });
        let _ending = Ending(&is_over);
        let mut helper = Helper::start();
        for round in 0..2_000 {
            let mut batch = file("app/sub/secret", 0o644, "x");
            batch.push(Request::Directory { path: b"app/sub/dir".to_vec(), mode: 0o777 });
            batch.push(Request::Link { path: b"app/sub/link".to_vec(), target: b"x".to_vec() });
            batch.extend(file("app/sub/deep/er", 0o644, "x"));
            batch.push(Request::Delete(b"app/sub".to_vec()));
            helper.batch(container.root(), batch);
            if round % 100 == 0 {
                container.check("while directories are swapped");
            }
        }
    });
    container.check("after directories were swapped");
}

#[test]
fn a_restart_is_asked_for_by_the_file_itself_and_by_nothing_planted_there() {
    let Some(container) = Container::new() else { return };
    let at = |name: &str| container.path(name).to_str().unwrap().to_owned();
    container.link("../priv/secret", "app/link", NOBODY);
    container.link("../priv", "app/dir", NOBODY);
    fs::hard_link(container.path("priv/secret"), container.path("app/hard")).unwrap();
    assert!(Command::new("mkfifo").arg(at("app/fifo")).status().unwrap().success());
    fs::write(container.path("app/plain"), "a long text that is not a date at all").unwrap();
    for flags in [&[][..], &["--files-only"]] {
        let mut helper = Helper::start_as(&mut Command::new(program()), flags);
        let mut ended = |name: &str| {
            let command = run(&["sh", "-c", &format!("date > {}", at(name))]);
            let replies = helper.batch(container.root(), vec![command]);
            replies.iter().find_map(|it| match it {
                Reply::Ran { end, .. } => Some(*end),
                _ => None,
            })
        };
        for planted in ["app/link", "app/dir/new", "app/hard", "app/fifo"] {
            assert_eq!(ended(planted), Some(RunEnd::Exited(1)), "{planted} {flags:?}");
            container.check(planted);
        }
        for fine in ["app/plain", "app/made"] {
            assert_eq!(ended(fine), Some(RunEnd::Exited(0)), "{fine} {flags:?}");
            let text = fs::read_to_string(container.path(fine)).unwrap();
            assert!(text.trim().parse::<f64>().is_ok(), "{text}");
        }
    }
    // The first process of a container makes the file, if there is none.
    fs::remove_file(container.path("app/link")).unwrap();
    container.link("../priv/new", "app/link", NOBODY);
    let flag = format!("--watch-file={}", at("app/link"));
    let status = Command::new(program()).args(["run", &flag, "--", "true"]).status().unwrap();
    assert!(status.success());
    container.check("after a start");
}

#[test]
fn a_tree_goes_without_what_its_links_lead_to() {
    let Some(container) = Container::new() else { return };
    container.directory("app/tree/below", NOBODY, 0o755);
    container.link("../../priv", "app/tree/link", NOBODY);
    container.link("../../../priv/secret", "app/tree/below/link", NOBODY);
    let mut helper = Helper::start();
    let delete = || vec![Request::Delete(b"app/tree".to_vec())];
    assert_eq!(helper.batch(container.root(), delete()), [Reply::Done { placed: 1 }]);
    assert!(!container.path("app/tree").exists());
    container.check("after a deletion");
    // One that has no end in sight is left, with a reason.
    fs::create_dir_all(container.path(&format!("app/tree{}", "/d".repeat(1_000)))).unwrap();
    let replies = helper.batch(container.root(), delete());
    assert_eq!(refusals(&replies), [Refusal::Other], "{replies:?}");
    let replies = helper.batch(container.root(), file(&"d/".repeat(1_000), 0o644, "x"));
    assert_eq!(refusals(&replies), [Refusal::Other], "{replies:?}");
}

#[test]
fn what_root_makes_belongs_to_whom_it_should() {
    let Some(container) = Container::new() else { return };
    fs::write(container.path("app/kept"), "old").unwrap();
    chown(container.path("app/kept"), Some(7), Some(8)).unwrap();
    let mut helper = Helper::start();
    let mut batch = file("app/new", 0o640, "x");
    batch.extend(file("app/deep/er/file", 0o644, "x"));
    batch.extend(file("app/kept", 0o4750, "new"));
    batch.push(Request::Directory { path: b"app/dir".to_vec(), mode: 0o710 });
    batch.push(Request::Link { path: b"app/link".to_vec(), target: b"new".to_vec() });
    batch.extend(file("root/file", 0o644, "x"));
    assert_eq!(helper.batch(container.root(), batch), [Reply::Done { placed: 6 }]);
    for name in ["app/new", "app/deep", "app/deep/er", "app/deep/er/file", "app/dir", "app/link"] {
        assert_eq!(owner(&container.path(name)), NOBODY, "{name}");
    }
    assert_eq!(owner(&container.path("root/file")), 0);
    let kept = fs::metadata(container.path("app/kept")).unwrap();
    assert_eq!((kept.uid(), kept.gid(), kept.mode() & 0o7777), (7, 8, 0o4750));
}

#[test]
fn a_user_who_is_to_keep_owners_leaves_to_root_what_would_change_them() {
    let Some(container) = Container::new() else { return };
    container.directory("open", 0, 0o777);
    container.directory("mine", NOBODY, 0o755);
    fs::write(container.path("mine/roots"), "old").unwrap();
    let batch = || {
        let mut batch = file("open/new", 0o644, "x");
        batch.push(Request::Directory { path: b"open/dir".to_vec(), mode: 0o755 });
        batch.push(Request::Link { path: b"open/link".to_vec(), target: b"x".to_vec() });
        batch.extend(file("open/deep/file", 0o644, "x"));
        batch.extend(file("mine/roots", 0o644, "new"));
        batch.extend(file("mine/own/file", 0o644, "x"));
        batch
    };
    let mut command = Command::new(program());
    let mut careful = Helper::start_as(unprivileged(&mut command), &["--keep-owners"]);
    let replies = careful.batch(container.root(), batch());
    assert_eq!(refusals(&replies), [Refusal::Denied; 5], "{replies:?}");
    assert_eq!(fs::read_dir(container.path("open")).unwrap().count(), 0, "nothing is left behind");
    assert_eq!(owner(&container.path("mine/own/file")), NOBODY);
    assert_eq!(owner(&container.path("mine/roots")), 0);

    let mut free = Helper::start_with(unprivileged(&mut Command::new(program())));
    assert_eq!(free.batch(container.root(), batch()), [Reply::Done { placed: 6 }]);
    assert_eq!(owner(&container.path("mine/roots")), NOBODY);
}

#[test]
fn in_the_file_system_of_another_container_links_stay_inside_and_nothing_runs() {
    let Some(container) = Container::new() else { return };
    container.directory("usr/bin", 0, 0o755);
    container.link("/usr/bin", "bin", 0);
    container.link("../../../../usr/bin", "up", 0);
    let flag = format!("--root={}", container.root().display());
    let mut helper = Helper::start_as(&mut Command::new(program()), &[&flag]);
    let mut batch = file("bin/one", 0o755, "x");
    batch.extend(file("up/two", 0o755, "x"));
    let replies = helper.batch(Path::new("/"), batch);
    assert_eq!(replies, [Reply::Done { placed: 2 }]);
    assert!(container.path("usr/bin/one").exists() && container.path("usr/bin/two").exists());
    let replies = helper.batch(Path::new("/"), vec![run(&["/usr/bin/one"])]);
    assert_eq!(
        replies[1..3],
        [
            Reply::Output(
                b"/usr/bin/one: commands run only as the container's own user\n".to_vec()
            ),
            Reply::Ran { run: 0, end: RunEnd::Exited(1) },
        ]
    );
}

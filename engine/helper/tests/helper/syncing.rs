//! Files get to their place, and only there.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::Path,
    process::Command,
    time::UNIX_EPOCH,
};

use engine_helper::protocol::{CHUNK, Refusal, Reply, Request, RunEnd, Timestamp, VERSION};

use crate::client::{Helper, file, folder, program, run, unprivileged};

fn done(placed: u32) -> Vec<Reply> {
    vec![Reply::Done { placed }]
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn one_round_trip_brings_files_links_directories_and_deletions() {
    let dir = folder();
    let root = dir.path().join("not/there/yet");
    let mut helper = Helper::start();
    let mut batch = vec![
        Request::Directory { path: b"empty".to_vec(), mode: 0o750 },
        Request::Link { path: b"bin/link".to_vec(), target: b"../a/tool".to_vec() },
        Request::Delete(b"never/was".to_vec()),
    ];
    batch.extend(file("a/tool", 0o4755, "#!/bin/true"));
    batch.extend(file("a/empty", 0o600, ""));
    assert_eq!(helper.batch(&root, batch), done(5));

    let tool = root.join("a/tool");
    assert_eq!(fs::read_to_string(&tool).unwrap(), "#!/bin/true");
    assert_eq!(mode(&tool), 0o4755);
    let modified = fs::metadata(&tool).unwrap().modified().unwrap();
    assert_eq!(modified.duration_since(UNIX_EPOCH).unwrap().as_nanos(), 1_000_000_000_123_456_789);
    assert_eq!(mode(&root.join("empty")), 0o750);
    assert_eq!(fs::read_link(root.join("bin/link")).unwrap(), Path::new("../a/tool"));
    assert_eq!(names(&root.join("a")), ["empty", "tool"], "nothing is left behind");

    let gone = ["a", "bin/link", "empty"].map(|it| Request::Delete(it.into()));
    assert_eq!(helper.batch(&root, gone.to_vec()), done(3));
    assert_eq!(names(&root), ["bin"]);
    assert!(helper.end().success());
}

#[test]
fn whatever_is_in_the_way_of_another_kind_goes() {
    let dir = folder();
    let root = dir.path();
    fs::create_dir_all(root.join("was_dir/full")).unwrap();
    fs::write(root.join("was_file"), "old").unwrap();
    fs::write(root.join("target"), "untouched").unwrap();
    symlink("target", root.join("was_link")).unwrap();
    symlink("nowhere", root.join("was_dangling")).unwrap();
    let mut helper = Helper::start();
    let mut batch = file("was_dir", 0o644, "now a file");
    batch.extend(file("was_file/now/below", 0o644, "deep"));
    batch.extend(file("was_link", 0o644, "own"));
    batch.push(Request::Directory { path: b"was_dangling".to_vec(), mode: 0o755 });
    assert_eq!(helper.batch(root, batch), done(4));
    assert_eq!(fs::read_to_string(root.join("was_dir")).unwrap(), "now a file");
    assert_eq!(fs::read_to_string(root.join("was_file/now/below")).unwrap(), "deep");
    assert_eq!(fs::read_to_string(root.join("was_link")).unwrap(), "own");
    assert_eq!(fs::read_to_string(root.join("target")).unwrap(), "untouched");
    assert!(root.join("was_dangling").is_dir());

    let link = Request::Link { path: b"was_file".to_vec(), target: b"target".to_vec() };
    assert_eq!(helper.batch(root, vec![link]), done(1));
    assert_eq!(fs::read_to_string(root.join("was_file")).unwrap(), "untouched");
}

#[test]
fn no_link_leads_out_of_the_root_but_the_root_may_be_one() {
    let dir = folder();
    let outside = dir.path().join("outside");
    let real = dir.path().join("real");
    let root = dir.path().join("root");
    fs::create_dir_all(real.join("inside")).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("precious"), "x").unwrap();
    symlink("real", &root).unwrap();
    symlink("../outside", real.join("out")).unwrap();
    symlink("inside", real.join("in")).unwrap();
    let mut helper = Helper::start();
    let mut batch = file("out/file", 0o644, "x");
    batch.push(Request::Delete(b"out/precious".to_vec()));
    batch.extend(file("in/file", 0o644, "y"));
    batch.push(run(&["touch", dir.path().join("ran").to_str().unwrap()]));
    let replies = helper.batch(&root, batch);
    let escapes = |entry| Reply::Refused {
        entry,
        refusal: Refusal::Escapes,
        message: format!("{0}/out: leads out of {0}", root.display()),
    };
    assert_eq!(replies, [escapes(0), escapes(1), Reply::Done { placed: 1 }]);
    assert_eq!(names(&outside), ["precious"]);
    assert_eq!(fs::read_to_string(real.join("inside/file")).unwrap(), "y");
    assert!(!dir.path().join("ran").exists(), "a batch with refused entries runs nothing");
    // What a link leads to keeps its mode, and the root does not become a link.
    let directory = Request::Directory { path: b"out".to_vec(), mode: 0o700 };
    let before = mode(&outside);
    assert_eq!(helper.batch(&root, vec![directory]), done(1));
    assert_eq!(mode(&outside), before);
    let link = Request::Link { path: Vec::new(), target: b"outside".to_vec() };
    let replies = helper.batch(&root, vec![link]);
    assert!(matches!(replies[0], Reply::Refused { refusal: Refusal::BadPath, .. }));
    assert_eq!(fs::read_link(&root).unwrap(), Path::new("real"));
    // A dot at the end does not make it another path.
    assert_eq!(helper.batch(&root, file("in/.", 0o644, "z")), done(1));
    assert_eq!(fs::read_to_string(real.join("in")).unwrap(), "z");
    assert_eq!(names(&real.join("inside")), ["file"]);
    // The link itself may go.
    assert_eq!(helper.batch(&root, vec![Request::Delete(b"out".to_vec())]), done(1));
    assert_eq!(names(&outside), ["precious"]);
}

#[test]
fn the_root_itself_can_be_a_file_or_go() {
    let dir = folder();
    let root = dir.path().join("conf/app.yaml");
    let mut helper = Helper::start();
    assert_eq!(helper.batch(&root, file("", 0o644, "a: 1")), done(1));
    assert_eq!(fs::read_to_string(&root).unwrap(), "a: 1");
    assert_eq!(helper.batch(&root, vec![Request::Delete(Vec::new())]), done(1));
    assert_eq!(names(&dir.path().join("conf")), [""; 0]);
}

#[test]
fn a_file_in_a_directory_that_cannot_be_written_is_written_in_place() {
    let dir = folder();
    let root = dir.path().join("app");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("writable"), "much longer than the new one").unwrap();
    fs::write(root.join("precious"), "old").unwrap();
    fs::set_permissions(root.join("writable"), fs::Permissions::from_mode(0o666)).unwrap();
    fs::set_permissions(root.join("precious"), fs::Permissions::from_mode(0o444)).unwrap();
    fs::set_permissions(&root, fs::Permissions::from_mode(0o555)).unwrap();
    let mut helper = Helper::start_with(unprivileged(&mut Command::new(program())));
    let mut batch = file("writable", 0o666, "new");
    batch.extend(file("precious", 0o666, "new"));
    batch.extend(file("missing", 0o666, "new"));
    batch.extend(file("writable", 0o666, "newer"));
    let replies = helper.batch(&root, batch);
    let refused: Vec<_> = replies
        .iter()
        .filter_map(|it| match it {
            Reply::Refused { entry, refusal, .. } => Some((*entry, *refusal)),
            _ => None,
        })
        .collect();
    assert_eq!(refused, [(1, Refusal::Denied), (2, Refusal::Denied)]);
    assert_eq!(replies.last(), Some(&Reply::Done { placed: 2 }));
    assert_eq!(fs::read_to_string(root.join("writable")).unwrap(), "newer");
    assert_eq!(fs::read_to_string(root.join("precious")).unwrap(), "old");
    fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_file_that_is_still_there_need_not_be_sent_again() {
    let dir = folder();
    let root = dir.path();
    let was = Timestamp { seconds: 1_000_000_000, nanos: 123_456_789 };
    let modified = Timestamp { seconds: 1_100_000_000, nanos: 5 };
    let keep =
        |path: &str, was| Request::Keep { path: path.into(), mode: 0o755, size: 3, was, modified };
    let mut helper = Helper::start();
    let mut batch = file("same", 0o644, "abc");
    batch.extend(file("changed", 0o644, "abc"));
    helper.batch(root, batch);
    fs::write(root.join("changed"), "xyz").unwrap();
    let ran = root.join("ran");
    let replies = helper.batch(
        root,
        vec![
            keep("same", was),
            keep("changed", was),
            keep("gone", was),
            run(&["touch", ran.to_str().unwrap()]),
        ],
    );
    let missing = [Reply::Missing { entry: 1 }, Reply::Missing { entry: 2 }];
    assert_eq!(replies, [&missing[..], &done(1)].concat());
    assert!(!ran.exists());
    let found = fs::metadata(root.join("same")).unwrap();
    assert_eq!(Timestamp::from(found.modified().unwrap()), modified);
    assert_eq!(found.mode() & 0o777, 0o755);
    assert_eq!(helper.batch(root, vec![keep("same", modified)]), done(1));
}

#[test]
fn commands_run_after_the_files_and_up_to_the_first_that_fails() {
    let dir = folder();
    let root = dir.path();
    let mut helper = Helper::start_with(Command::new(program()).current_dir(root));
    let mut batch = file("x", 0o644, "content");
    batch.extend([
        run(&["cat", "x"]),
        run(&["sh", "-c", "echo out; echo err >&2; exit 3"]),
        run(&["touch", "never"]),
    ]);
    assert_eq!(
        helper.batch(root, batch),
        [
            Reply::Begins { run: 0 },
            Reply::Output(b"content".to_vec()),
            Reply::Ran { run: 0, end: RunEnd::Exited(0) },
            Reply::Begins { run: 1 },
            Reply::Output(b"out\nerr\n".to_vec()),
            Reply::Ran { run: 1, end: RunEnd::Exited(3) },
            Reply::Done { placed: 1 },
        ]
    );
    assert_eq!(names(root), ["x"]);

    let ends = |helper: &mut Helper, argv: &[&str]| {
        let replies = helper.batch(root, vec![run(argv)]);
        let mut ends = replies.into_iter().filter_map(|it| match it {
            Reply::Ran { end, .. } => Some(end),
            _ => None,
        });
        ends.next()
    };
    assert_eq!(ends(&mut helper, &["no-such-program"]), Some(RunEnd::NotStarted));
    assert_eq!(ends(&mut helper, &["sh", "-c", "kill -9 $$"]), Some(RunEnd::Signaled(9)));
    assert_eq!(ends(&mut helper, &[]), Some(RunEnd::NotStarted));
}

#[test]
fn a_command_ends_when_it_ends_whatever_it_leaves_in_the_background() {
    let dir = folder();
    let mut helper = Helper::start();
    let replies = helper.batch(dir.path(), vec![run(&["sh", "-c", "sleep 1000 & echo $!"])]);
    let [_, Reply::Output(pid), Reply::Ran { end: RunEnd::Exited(0), .. }, _] = &replies[..] else {
        panic!("{replies:?}")
    };
    let pid = String::from_utf8(pid.clone()).unwrap();
    assert!(Command::new("kill").arg(pid.trim()).status().unwrap().success());
}

#[test]
fn a_file_whose_source_vanishes_on_the_way_stays_what_it_was() {
    let dir = folder();
    let root = dir.path();
    fs::write(root.join("x"), "old").unwrap();
    let mut batch = file("x", 0o644, "half of the ne");
    *batch.last_mut().unwrap() = Request::AbortFile;
    let replies = Helper::start().batch(root, batch);
    assert!(matches!(replies[..], [Reply::Refused { entry: 0, .. }, Reply::Done { placed: 0 }]));
    assert_eq!(fs::read_to_string(root.join("x")).unwrap(), "old");
    assert_eq!(names(root), ["x"]);
}

#[test]
fn a_helper_of_another_version_says_so_and_ends() {
    let mut helper = Helper::start_silently(&mut Command::new(program()));
    helper.send(&[Request::Hello(VERSION + 1)]);
    assert_eq!(helper.receive(), Some(Reply::Hello(VERSION)));
    assert_eq!(helper.receive(), None);
    assert_eq!(helper.end().code(), Some(1));
}

#[test]
fn many_files_and_a_large_one_take_little_memory() {
    let dir = folder();
    let root = dir.path();
    let mut batch = vec![Request::Root(root.to_str().unwrap().into())];
    for i in 0..20_000 {
        batch.extend(file(&format!("{}/{i}", i % 100), 0o644, "x"));
    }
    batch.push(Request::File {
        path: b"large".to_vec(),
        mode: 0o644,
        modified: Timestamp::default(),
    });
    batch.extend((0..1_000).map(|_| Request::Data(vec![7; CHUNK])));
    batch.extend([Request::EndOfFile, Request::Commit]);
    let mut helper = Helper::start();
    let sender = helper.send_all(batch);
    assert_eq!(helper.replies(), done(20_001));
    assert_eq!(fs::read_dir(root.join("99")).unwrap().count(), 200);
    assert_eq!(fs::metadata(root.join("large")).unwrap().len(), 1_000 * CHUNK as u64);
    let status = fs::read_to_string(format!("/proc/{}/status", helper.id())).unwrap();
    let peak = status.lines().find_map(|it| it.strip_prefix("VmHWM:")).unwrap();
    let kilobytes: u32 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kilobytes < 8_000, "{kilobytes} kB");
    drop(sender.join().unwrap());
    assert!(helper.end().success());
}

#[test]
fn put_makes_a_file_of_what_it_reads() {
    let dir = folder();
    let path = dir.path().join("new/dir/tool");
    let source = dir.path().join("source");
    for content in ["first", "second, and longer"] {
        fs::write(&source, content).unwrap();
        let mut command = Command::new(program());
        command.args(["put", "--mode=751"]).arg(&path).stdin(fs::File::open(&source).unwrap());
        assert!(command.status().unwrap().success());
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
        assert_eq!(mode(&path), 0o751);
    }
    assert_eq!(names(path.parent().unwrap()), ["tool"]);
}

//! Requests that make no sense: nothing panics, and nothing outside of the root is touched.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::Path,
    process::{Command, Stdio},
};

use engine_helper::protocol::{Reply, Request, Timestamp};
use proptest::{prelude::*, test_runner::TestRunner};

use crate::client::{Helper, folder, give_away, program, unprivileged};

/// Paths that lead everywhere, with a few names so that they often meet.
fn path() -> impl Strategy<Value = Vec<u8>> {
    let parts = ["a", "b", "..", ".", "", "/", "link", "\0", "\u{fffd}", "x/../y"];
    let long = "n".repeat(300);
    let usual = ["a", "b", "a/b", "a/b/link", "link", "link/a"];
    prop_oneof![
        20 => prop::sample::select(usual.to_vec()).prop_map(|it| it.as_bytes().to_vec()),
        9 => prop::collection::vec(prop::sample::select(parts.to_vec()), 0..4)
            .prop_map(|it| it.join("/").into_bytes()),
        1 => Just(long.into_bytes()),
    ]
}

/// Something that could be asked for, or a part of it where it makes no sense.
fn requests() -> impl Strategy<Value = Vec<Request>> {
    let time = Timestamp { seconds: i64::MIN, nanos: 1 };
    let file = move |(path, mode)| Request::File { path, mode, modified: time };
    let stray = prop_oneof![
        (path(), any::<u32>()).prop_map(file),
        path().prop_map(Request::Data),
        Just(Request::EndOfFile),
        Just(Request::AbortFile),
    ];
    let entry = prop_oneof![
        (path(), any::<u32>()).prop_map(|(path, mode)| Request::Directory { path, mode }),
        (path(), prop::sample::select(vec!["..", "../precious", "../precious/dir", "a", ""]))
            .prop_map(|(path, target)| Request::Link { path, target: target.into() }),
        path().prop_map(move |path| {
            Request::Keep { path, mode: 0, size: 0, was: time, modified: time }
        }),
        path().prop_map(Request::Delete),
        Just(Request::Run(vec![b"\0".to_vec()])),
        Just(Request::Commit),
    ];
    prop_oneof![
        1 => stray.prop_map(|it| vec![it]),
        30 => entry.prop_map(|it| vec![it]),
        30 => (path(), any::<u32>(), any::<bool>()).prop_map(move |(path, mode, is_whole)| {
            let end = if is_whole { Request::EndOfFile } else { Request::AbortFile };
            vec![file((path, mode)), Request::Data(b"x".to_vec()), end]
        }),
    ]
}

/// Everything below a folder but the root, with modes.
fn outside(dir: &Path, root: &Path) -> Vec<String> {
    let mut found = vec![format!("{} {:o}", dir.display(), fs::metadata(dir).unwrap().mode())];
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && path != root {
            found.extend(outside(&path, root));
        } else if path != root {
            let mode = fs::symlink_metadata(&path).unwrap().mode();
            found.push(format!("{} {mode:o} {:?}", path.display(), fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

#[test]
fn strange_requests_neither_panic_nor_leave_the_root() {
    let config =
        ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() };
    let histories = prop::collection::vec(requests(), 0..60);
    let result = TestRunner::new(config).run(&histories, |history| {
        let dir = folder();
        let root = dir.path().join("root");
        let precious = dir.path().join("precious");
        fs::create_dir_all(precious.join("dir")).unwrap();
        fs::create_dir(&root).unwrap();
        fs::write(precious.join("file"), "x").unwrap();
        // Whoever serves may change all of this, and nothing else of the machine.
        for path in [dir.path(), &root, &precious, &precious.join("dir"), &precious.join("file")] {
            give_away(path);
        }
        let before = outside(dir.path(), &root);
        let mut command = Command::new(program());
        let mut helper = Helper::start_with(unprivileged(&mut command).stderr(Stdio::null()));
        helper.send(&[Request::Root(root.to_str().unwrap().into())]);
        helper.send(&history.concat());
        let status = helper.end();
        prop_assert!(matches!(status.code(), Some(0 | 1)), "{status}");
        prop_assert_eq!(outside(dir.path(), &root), before);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

#[test]
fn bytes_that_are_no_request_are_answered_and_end_the_helper() {
    for bytes in [&b"GET / HTTP/1.1\r\n"[..], b"\xff\0\0\0\0", b"h\x02\0\0\0ab"] {
        let mut helper = Helper::start_silently(Command::new(program()).stderr(Stdio::null()));
        helper.send_raw(bytes);
        assert!(matches!(helper.receive(), Some(Reply::Broken(_))), "{bytes:?}");
        assert_eq!(helper.receive(), None);
        assert_eq!(helper.end().code(), Some(1));
    }
}

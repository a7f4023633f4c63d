//! What ends up in archives.

use std::os::unix::fs::symlink;

use super::*;

fn listing(archive: &Archive) -> Vec<String> {
    let mut bytes = Vec::new();
    archive.write(&mut bytes).unwrap();
    let mut reader = tar::Archive::new(bytes.as_slice());
    let describe = |entry: io::Result<tar::Entry<'_, &[u8]>>| {
        let mut entry = entry.unwrap();
        let header = entry.header().clone();
        let mut text = String::new();
        entry.read_to_string(&mut text).unwrap();
        assert_eq!((header.uid().unwrap(), header.gid().unwrap()), (0, 0));
        let path = entry.path().unwrap().display().to_string();
        let link = entry.link_name().unwrap().map(|it| format!(" -> {}", it.display()));
        let mode = header.mode().unwrap();
        format!("{mode:o} {path}{} {text}", link.unwrap_or_default()).trim().to_owned()
    };
    reader.entries().unwrap().map(describe).collect()
}

fn write(dir: &Path, file: &str, text: &str, mode: u32) {
    let full = dir.join(file);
    fs::create_dir_all(full.parent().unwrap()).unwrap();
    fs::write(&full, text).unwrap();
    fs::set_permissions(&full, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_context_is_archived_with_modes_links_and_the_given_dockerfile() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "run.sh", "x", 0o755);
    write(dir.path(), "Dockerfile", "FROM disk", 0o600);
    write(dir.path(), "src/deep/a", "a", 0o644);
    fs::set_permissions(dir.path().join("src"), fs::Permissions::from_mode(0o750)).unwrap();
    symlink("src/deep/a", dir.path().join("link")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("socket")).unwrap();
    let context = BuildContext::new(dir.path().to_str().unwrap(), &[]).unwrap();
    let archive = Archive::of_context(&context, "FROM text").unwrap();
    assert_eq!(
        listing(&archive),
        [
            "777 link -> src/deep/a",
            "755 run.sh x",
            "750 src",
            "755 src/deep",
            "644 src/deep/a a",
            "644 Dockerfile FROM text",
        ]
    );
}

#[test]
fn of_two_files_for_one_place_the_later_counts_and_missing_ones_are_skipped() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "one/f", "one", 0o644);
    write(dir.path(), "two/f", "two", 0o644);
    let map = |local: &str, container: &str| PathMapping {
        local: dir.path().join(local),
        container: container.into(),
    };
    let paths =
        [map("one", "/app"), map("gone", "/gone"), map("two/f", "/app/"), map("one/f", "/etc/g")];
    let archive = Archive::of_paths(&paths, &Filter::default()).unwrap();
    assert_eq!(listing(&archive), ["755 app", "644 app/f two", "644 etc/g one"]);
}

#[test]
fn names_that_are_not_utf_8_survive() {
    let dir = tempfile::tempdir().unwrap();
    let odd = |bytes: &'static [u8]| Path::new(std::ffi::OsStr::from_bytes(bytes));
    let root = dir.path().join(odd(b"p\xff"));
    fs::create_dir(&root).unwrap();
    fs::write(root.join(odd(b"x\xfe")), "odd").unwrap();
    symlink(odd(b"x\xfe"), root.join("link")).unwrap();
    let context = BuildContext::new(&engine_model::path::to_text(&root), &[]).unwrap();
    let paths =
        [PathMapping { local: root.join(odd(b"x\xfe")), container: odd(b"/\xff/y").into() }];
    for (archive, name) in [
        (Archive::of_context(&context, "").unwrap(), odd(b"x\xfe")),
        (Archive::of_paths(&paths, &Filter::default()).unwrap(), odd(b"\xff/y")),
    ] {
        let mut bytes = Vec::new();
        archive.write(&mut bytes).unwrap();
        let mut reader = tar::Archive::new(bytes.as_slice());
        let mut entries = reader.entries().unwrap().map(Result::unwrap);
        let entry = entries.find(|it| it.path().unwrap() == name);
        assert_eq!(entry.expect("it is there").size(), 3);
    }
}

#[test]
fn long_names_survive() {
    let dir = tempfile::tempdir().unwrap();
    let long = format!("{}/{}", "d".repeat(120), "f".repeat(120));
    write(dir.path(), &long, "x", 0o644);
    let context = BuildContext::new(dir.path().to_str().unwrap(), &[]).unwrap();
    let archive = Archive::of_context(&context, "").unwrap();
    assert!(listing(&archive).contains(&format!("644 {long} x")));
}

#[test]
fn a_reader_that_stops_does_not_stop_the_others() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "big", &"x".repeat(3 * CHUNK), 0o644);
    let context = BuildContext::new(dir.path().to_str().unwrap(), &[]).unwrap();
    let archive = Archive::of_context(&context, "").unwrap();
    let (stopped, gone) = mpsc::channel(1);
    drop(gone);
    let (reads, mut reader) = mpsc::channel::<io::Result<Bytes>>(1);
    let counting = std::thread::spawn(move || {
        let mut count = 0;
        while let Some(chunk) = reader.blocking_recv() {
            count += chunk.unwrap().len();
        }
        count
    });
    archive.send(vec![stopped, reads]);
    assert!(counting.join().unwrap() > 3 * CHUNK);
}

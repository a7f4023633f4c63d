//! Which files travel to the engine, and that what arrives is what there is.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
    },
    time::UNIX_EPOCH,
};

use engine_docker::Docker;

use crate::docker::{
    proxy::Proxy,
    support::{build, context, docker, environment, is_there, spec, write},
};

const COPY_ALL: &str = "FROM busybox\nCOPY . /all\n";

#[tokio::test]
async fn only_changed_files_travel() {
    if !is_there() {
        return;
    }
    let proxy = Proxy::start();
    let docker = Docker::new(environment(&[("DOCKER_HOST", &proxy.host())])).unwrap();
    let dir = context(&[("small", "1")]);
    // Random text, so that nothing on the way makes it smaller.
    let big: String = (0..8000).map(|_| uuid::Uuid::new_v4().simple().to_string()).collect();
    write(&dir, "big", &big);
    let (first, _) = build(&docker, &spec(dir.path(), COPY_ALL)).await.unwrap();
    assert!(proxy.sent() > 200_000);
    // BuildKit may still hold what it got for a build when the next one begins, and asks for everything again then.
    let mut sent = u64::MAX;
    let mut second = None;
    for edit in 2..12 {
        write(&dir, "small", &edit.to_string());
        let (built, _) = build(&docker, &spec(dir.path(), COPY_ALL)).await.unwrap();
        assert_eq!(built.run(&["cat", "/all/small"]), edit.to_string());
        sent = sent.min(proxy.sent());
        second = Some(built);
    }
    assert!(sent < 50_000, "{sent} bytes were sent for one changed byte");
    let second = second.expect("it was built");
    assert_ne!(first.0.id, second.0.id);
}

#[tokio::test]
async fn only_files_that_are_copied_travel() {
    if !is_there() {
        return;
    }
    let proxy = Proxy::start();
    let docker = Docker::new(environment(&[("DOCKER_HOST", &proxy.host())])).unwrap();
    let dir = context(&[("deep/wanted", "x"), ("deep/other", "y")]);
    write(&dir, "big", &"x".repeat(1_000_000));
    let dockerfile = "FROM busybox\nCOPY deep/wanted /wanted\n";
    let (image, _) = build(&docker, &spec(dir.path(), dockerfile)).await.unwrap();
    assert_eq!(image.run(&["cat", "/wanted"]), "x");
    assert!(proxy.sent() < 50_000);
}

#[tokio::test]
async fn a_file_that_changes_behind_its_size_and_time_is_sent_all_the_same() {
    if !is_there() {
        return;
    }
    let docker = docker();
    let dir = context(&[]);
    let mut ids = Vec::new();
    for text in ["one", "two", "six"] {
        write(&dir, "file", text);
        let file = fs::File::options().write(true).open(dir.path().join("file")).unwrap();
        file.set_modified(UNIX_EPOCH).unwrap();
        let (image, _) = build(&docker, &spec(dir.path(), COPY_ALL)).await.unwrap();
        assert_eq!(image.run(&["cat", "/all/file"]), text);
        ids.push(image.0.id.clone());
    }
    ids.dedup();
    assert_eq!(ids.len(), 3);
}

#[tokio::test]
async fn modes_links_empty_directories_and_deletions_arrive() {
    if !is_there() {
        return;
    }
    let docker = docker();
    let dir = context(&[("run", "x"), ("sub/file", "y"), ("gone", "z")]);
    fs::set_permissions(dir.path().join("run"), fs::Permissions::from_mode(0o751)).unwrap();
    fs::create_dir(dir.path().join("empty")).unwrap();
    symlink("sub/file", dir.path().join("link")).unwrap();
    fs::hard_link(dir.path().join("run"), dir.path().join("twin")).unwrap();
    let show = "cd /all; for f in *; do stat -c '%A %u %n' $f; done; readlink link; cat twin";
    let (image, _) = build(&docker, &spec(dir.path(), COPY_ALL)).await.unwrap();
    assert_eq!(
        image.run(&["sh", "-c", show]),
        "drwxr-xr-x 0 empty\n-rw-r--r-- 0 gone\nlrwxrwxrwx 0 link\n-rwxr-x--x 0 run\n\
         drwxr-xr-x 0 sub\n-rwxr-x--x 0 twin\nsub/file\nx"
    );
    fs::remove_file(dir.path().join("gone")).unwrap();
    fs::remove_file(dir.path().join("link")).unwrap();
    fs::create_dir(dir.path().join("link")).unwrap();
    let (image, _) = build(&docker, &spec(dir.path(), COPY_ALL)).await.unwrap();
    assert_eq!(
        image.run(&["sh", "-c", "cd /all; ls -F | tr '\\n' ' '"]),
        "empty/ link/ run* sub/ twin*"
    );
}

#[tokio::test]
async fn names_that_are_not_utf_8_arrive_as_they_are() {
    if !is_there() {
        return;
    }
    let odd = |bytes: &'static [u8]| std::path::Path::new(OsStr::from_bytes(bytes));
    let dir = context(&[]);
    let root = dir.path().join(odd(b"p\xff"));
    fs::create_dir_all(root.join(odd(b"d\xfe"))).unwrap();
    fs::write(root.join(odd(b"d\xfe/x\xff")), "odd").unwrap();
    symlink(odd(b"d\xfe/x\xff"), root.join("link")).unwrap();
    let spec = spec(&root, COPY_ALL);
    for builder in ["1", "0"] {
        let docker = Docker::new(environment(&[("DOCKER_BUILDKIT", builder)])).unwrap();
        let (image, _) = build(&docker, &spec).await.unwrap();
        let show = "cd /all; cat \"$(printf 'd\\376/x\\377')\" link; ls d* | wc -l";
        assert_eq!(image.run(&["sh", "-c", show]), "oddodd1", "DOCKER_BUILDKIT={builder}");
    }
}

#[tokio::test]
async fn a_context_of_many_and_of_big_files_arrives_whole() {
    if !is_there() {
        return;
    }
    let docker = docker();
    let dir = context(&[]);
    for i in 0..8000 {
        write(&dir, &format!("d{}/f{i}", i % 50), &i.to_string());
    }
    write(&dir, "big", &"0123456789abcdef".repeat(400_000));
    let (image, _) = build(&docker, &spec(dir.path(), COPY_ALL)).await.unwrap();
    let sums = "cd /all; find . -type f | wc -l; cat d*/f* | wc -c; md5sum < big";
    let expected_sum = {
        let output = std::process::Command::new("md5sum").arg(dir.path().join("big")).output();
        String::from_utf8(output.unwrap().stdout).unwrap()[..32].to_owned()
    };
    let digits: usize = (0..8000).map(|i: i32| i.to_string().len()).sum();
    assert_eq!(image.run(&["sh", "-c", sums]), format!("8001\n{digits}\n{expected_sum}  -"));
}

#[tokio::test]
async fn builds_of_one_context_at_the_same_time_do_not_disturb_each_other() {
    if !is_there() {
        return;
    }
    let docker = docker();
    let dir = context(&[("a", "1"), ("b", "2")]);
    let spec = spec(dir.path(), COPY_ALL);
    let (one, two) = tokio::join!(build(&docker, &spec), build(&docker, &spec));
    let ((one, _), (two, _)) = (one.unwrap(), two.unwrap());
    assert_eq!(one.run(&["cat", "/all/a", "/all/b"]), "12");
    assert_eq!(one.0.id, two.0.id);
}

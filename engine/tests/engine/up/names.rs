//! Names of files and folders that are not UTF-8: bytes for the system, `�` for people.

use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt, path::Path};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::support::{Project, until};

fn odd(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}

/// The files that the watch of a resource has seen.
fn seen_files(project: &Project, resource: &str) -> Vec<Value> {
    let watch = project.json(&["get", "filewatch", &format!("local:{resource}"), "-o", "json"]);
    let events = watch["status"]["fileEvents"].as_array().cloned().unwrap_or_default();
    events.iter().flat_map(|it| it["seenFiles"].as_array().cloned().unwrap_or_default()).collect()
}

#[test]
fn a_file_whose_name_is_not_utf_8_causes_an_update_and_is_shown() {
    let project = Project::new("local_resource('a', 'ls src | wc -l >> runs', deps=['src'])");
    fs::create_dir(project.path("src")).expect("a directory");
    let instance = project.up();
    until("the first update", || (project.lines("runs") == 1).then_some(()));
    instance.wait_for_update("a", "ok");

    project.write(Path::new("src").join(odd(b"x\xff")), "new");
    until("an update", || (project.lines("runs") == 2).then_some(()));
    let why = instance.wait_for_update("a", "ok");
    let shown = project.path("src/x�").display().to_string();
    assert_eq!(why["lastRun"]["files"][0]["path"], shown);
    assert_eq!(seen_files(&project, "a"), [shown.as_str()]);
    assert!(project.log().contains("1 File Changed: [src/x�]"), "{}", project.log());
    assert!(project.out(&["why", "a"]).contains("src/x�"));

    fs::remove_file(project.path(Path::new("src").join(odd(b"x\xff")))).expect("it is there");
    until("an update", || (project.lines("runs") == 3).then_some(()));
    instance.signal(Signal::SIGTERM);
    assert!(instance.wait().success(), "{}", project.log());
}

#[test]
fn a_project_in_a_folder_whose_name_is_not_utf_8_works() {
    let tiltfile = "\
local_resource('a', 'cat src/* > out; pwd > dir', deps=['src'], ignore=['src/*.tmp'])
local_resource('s', serve_cmd='touch served; exec sleep 1000', serve_dir='sub')
if config.main_dir != os.getcwd() or listdir('src') != [os.path.join(os.getcwd(), 'src/f')]:
    fail('the paths differ')
local('cp src/f loaded')
watch_file('watched')
load('./sub/Tiltfile', 'text')
print(text, read_file('src/f'), os.path.exists(config.main_path))
";
    let project = Project::below(odd(b"odd \xff\xfe"), tiltfile);
    for dir in ["src", "sub"] {
        fs::create_dir(project.path(dir)).expect("a directory");
    }
    project.write("sub/Tiltfile", "text = str(read_file('../src/f'))");
    project.write("src/f", "one");
    let instance = project.up();
    until("the first update", || (project.read("out") == "one").then_some(()));
    until("the server", || project.path("sub/served").exists().then_some(()));
    instance.wait_for_update("a", "ok");
    assert_eq!(project.read("loaded"), "one");
    assert!(project.log().contains("one one True"), "{}", project.log());
    let dir = fs::read(project.path("dir")).expect("it was written");
    assert_eq!(Path::new(odd(dir.trim_ascii_end())), project.path("").components().as_path());

    project.write("src/f.tmp", "ignored");
    project.write("src/f", "two");
    until("an update", || (project.read("out") == "twoignored").then_some(()));
    let why = instance.wait_for_update("a", "ok");
    assert_eq!(why["lastRun"]["files"][0]["path"], project.path("src/f").display().to_string());

    project.write("Tiltfile", "local_resource('b', 'touch b')");
    until("the other Tiltfile", || project.path("b").exists().then_some(()));
    instance.signal(Signal::SIGTERM);
    assert!(instance.wait().success(), "{}", project.log());
    let result = project.json(&["alpha", "tiltfile-result"]);
    let shown = project.path("Tiltfile").display().to_string();
    assert!(result["ConfigFiles"].as_array().is_some_and(|it| it.contains(&shown.into())));
}

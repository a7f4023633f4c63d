//! What can be done with running containers.

use std::{fs, os::unix::fs::PermissionsExt, sync::Arc, time::Duration};

use engine_docker::{Archive, Exec, Filter, PathMapping};
use futures_util::StreamExt;

use crate::docker::support::{Running, cli, context, docker, is_there, unique, words, write};

fn exec(argv: &[&str]) -> Exec {
    Exec { argv: words(argv), ..Exec::default() }
}

#[tokio::test]
async fn containers_are_found_by_label_and_described() {
    if !is_there() {
        return;
    }
    let docker = docker();
    let label = format!("test={}", unique("label"));
    let name = unique("named");
    let running = Running::start(&[
        "--label",
        &label,
        "--name",
        &name,
        "--user",
        "1000",
        "--read-only",
        "busybox",
        "sleep",
        "1000",
    ]);
    let found = docker.containers(std::slice::from_ref(&label)).await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!((&found[0].id, found[0].state.as_str()), (&running.0, "running"));
    assert_eq!(found[0].names, [name.as_str()]);
    let container = docker.container(&running.0).await.unwrap().unwrap();
    assert!(container.is_running && container.is_read_only, "{container:?}");
    assert_eq!((container.user.as_str(), container.image.as_str()), ("1000", "busybox"));
    assert!(container.started.is_some() && container.finished.is_none());
    assert!(docker.container(&unique("absent")).await.unwrap().is_none());
}

#[tokio::test]
async fn commands_get_input_and_give_output_and_an_exit_code() {
    if !is_there() {
        return;
    }
    let docker = docker();
    let running = Running::start(&["busybox", "sleep", "1000"]);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut collect = |it: engine_docker::Output| {
        if it.is_stderr { err.extend(it.bytes) } else { out.extend(it.bytes) }
    };
    let input = "x".repeat(200_000);
    let command = Exec {
        user: Some("1000".into()),
        env: words(&["WORD=w"]),
        workdir: Some("/tmp".into()),
        ..exec(&["sh", "-c", "wc -c; echo $WORD $(id -u) $(pwd); echo oops >&2; exit 4"])
    };
    let stdin: &mut (dyn tokio::io::AsyncRead + Send + Unpin) = &mut input.as_bytes();
    let code = docker.exec(&running.0, &command, Some(stdin), &mut collect).await.unwrap();
    assert_eq!(code, 4);
    assert_eq!(String::from_utf8(out).unwrap(), "200000\nw 1000 /tmp\n");
    assert_eq!(String::from_utf8(err).unwrap(), "oops\n");
    let absent = docker.exec(&running.0, &exec(&["/absent"]), None, &mut |_| {}).await.unwrap();
    assert!([126, 127].contains(&absent), "{absent}");
}

#[tokio::test]
async fn one_archive_reaches_many_containers_and_tells_which_failed() {
    if !is_there() {
        return;
    }
    let docker = docker();
    let dir = context(&[("app/run", "new"), ("app/sub/file", "deep")]);
    fs::set_permissions(dir.path().join("app/run"), fs::Permissions::from_mode(0o755)).unwrap();
    write(&dir, "app/big", &"x".repeat(3_000_000));
    let running: Vec<_> = (0..3).map(|_| Running::start(&["busybox", "sleep", "1000"])).collect();
    let mut ids: Vec<String> = running.iter().map(|it| it.0.clone()).collect();
    ids.insert(1, unique("absent"));
    let paths = [PathMapping { local: dir.path().join("app"), container: "/srv/app".into() }];
    let archive = Arc::new(Archive::of_paths(&paths, &Filter::default()).unwrap());
    let results = docker.upload(&ids, "/", archive).await.unwrap();
    assert_eq!(results.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true, true]);
    for Running(id) in &running {
        let script = "cd /srv/app; stat -c %a run; cat run sub/file; wc -c < big";
        assert_eq!(cli(&["exec", id, "sh", "-c", script]), "755\nnewdeep3000000");
    }
}

#[tokio::test]
async fn files_get_into_a_container_that_has_nothing_inside() {
    if !is_there() {
        return;
    }
    let docker = docker();
    let running = Running(cli(&["create", "--network", "none", "bare", "/nothing"]));
    let dir = context(&[("file", "content")]);
    let paths = [PathMapping { local: dir.path().join("file"), container: "/deep/file".into() }];
    let archive = Arc::new(Archive::of_paths(&paths, &Filter::default()).unwrap());
    docker.upload(std::slice::from_ref(&running.0), "/", archive).await.unwrap().remove(0).unwrap();
    let copied = dir.path().join("copied");
    cli(&["cp", &format!("{}:/deep/file", running.0), copied.to_str().unwrap()]);
    assert_eq!(fs::read_to_string(copied).unwrap(), "content");
}

#[tokio::test]
async fn a_restart_is_quick_and_shows_in_logs_and_events() {
    if !is_there() {
        return;
    }
    let docker = docker();
    let name = unique("restarted");
    let mut events = docker.events(&[("container", &name)]).await.unwrap();
    let mut next_event = async || {
        let event = tokio::time::timeout(Duration::from_mins(1), events.next()).await;
        event.expect("nothing happens").unwrap().unwrap()
    };
    let script = "trap '' TERM; echo started; while :; do sleep 1000; done";
    let running = Running::start(&["--name", &name, "busybox", "sh", "-c", script]);
    let container = docker.container(&running.0).await.unwrap().unwrap();
    let mut logs = docker.logs(&container, None).await.unwrap();
    let first = logs.next().await.unwrap().unwrap();
    assert_eq!((first.output.is_stderr, &first.output.bytes[..]), (false, &b"started\n"[..]));
    docker.restart(&running.0).await.unwrap();
    let mut actions = Vec::new();
    while actions.last().map(String::as_str) != Some("restart") {
        let event = next_event().await;
        assert_eq!((event.kind.as_str(), &event.id), ("container", &running.0));
        actions.push(event.action);
    }
    assert!(actions.iter().any(|it| it == "die"), "{actions:?}");
    let mut logs = docker.logs(&container, None).await.unwrap();
    let mut next_line = async || logs.next().await.unwrap().unwrap();
    assert_eq!(next_line().await, first);
    let second = next_line().await;
    assert_eq!(second.output, first.output);
    assert!(second.at > first.at);
    let mut logs = docker.logs(&container, second.at).await.unwrap();
    assert_eq!(logs.next().await.unwrap().unwrap(), second, "not the one a moment before");
    assert!(docker.container(&running.0).await.unwrap().unwrap().is_running);
}

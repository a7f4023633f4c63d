//! Services of Docker Compose: brought up, watched, switched off, and taken down.

use crate::docker::ground::{Project, docker, is_in_order, services, until, why};

const TILTFILE: &str = "docker_compose('compose.yml', project_name='PROJECT')\n";
const SLEEP: &str = "exec sleep 1000";

#[test]
fn services_start_in_order_print_and_stay_when_the_engine_ends() {
    let file = services(&[
        ("db", "echo db is up; exec sleep 1000", ""),
        ("job", "echo job is done", ""),
        ("web", "echo web is up; exec sleep 1000", "depends_on: [db, job]"),
    ]);
    let Some(mut project) = Project::new(TILTFILE, &file) else { return };
    let mut instance = project.up();
    until(&mut instance, "web", "ok", "ok");
    until(&mut instance, "job", "ok", "ok");
    instance.until("it is in the log", |it| it.log().contains("web │ web is up"));
    let log = instance.log();
    let at = |text: &str| log.find(text).unwrap_or_else(|| panic!("no {text:?} in {log}"));
    assert!(at("db │ STEP 1/1 — Deploying") < at("web │ Initial Build"), "{log}");
    assert!(log.contains("job │ job is done"), "{log}");

    let before = project.containers("web");
    for earlier in ["db", "job"] {
        assert!(is_in_order(&project.containers(earlier)[0], &before[0]), "{earlier}: {log}");
    }
    instance.stop();
    assert_eq!(docker(&["inspect", "-f", "{{.State.Running}}", &before[0]]), "true");
    instance.restart();
    until(&mut instance, "web", "ok", "ok");
    assert_eq!(project.containers("web"), before, "the next run takes it over");
}

#[test]
fn a_service_that_crashes_says_so_and_a_trigger_makes_it_anew() {
    let file = services(&[("crash", "echo soon; exit 3", ""), ("other", SLEEP, "")]);
    let Some(mut project) = Project::new(TILTFILE, &file) else { return };
    let mut instance = project.up();
    until(&mut instance, "crash", "ok", "error");
    let id = project.containers("crash").remove(0);
    let answer = why(&instance, "crash");
    assert_eq!(answer["runtimeError"], format!("Container {id} exited with 3"), "{answer}");
    assert_eq!(answer["container"]["status"], "exited", "{answer}");

    instance.trigger("crash");
    instance.until("there is another container", |_| {
        project.containers("crash").first().is_some_and(|it| *it != id)
    });
    until(&mut instance, "crash", "ok", "error");
    assert!(instance.log().contains("crash │ STEP 1/2 — Force update"), "{}", instance.log());
}

#[test]
fn what_somebody_removes_by_hand_is_not_taken_for_running() {
    let file = services(&[("web", SLEEP, "")]);
    let Some(mut project) = Project::new(TILTFILE, &file) else { return };
    let mut instance = project.up();
    until(&mut instance, "web", "ok", "ok");
    docker(&["rm", "--force", &project.containers("web")[0]]);
    // It was killed; or it is gone before anybody could see how it ended.
    instance.until("it does not run any more", |it| {
        let status = &why(it, "web")["runtimeStatus"];
        status == "error" || status == "unknown"
    });
}

#[test]
fn services_that_are_switched_off_are_removed_together_and_come_back() {
    let file = services(&[("a", SLEEP, ""), ("b", SLEEP, ""), ("c", SLEEP, "")]);
    let Some(mut project) = Project::new(TILTFILE, &file) else { return };
    let mut instance = project.up();
    for name in ["a", "b", "c"] {
        until(&mut instance, name, "ok", "ok");
    }
    instance.client(&["disable", "a", "b"]);
    instance.until("they are gone", |_| {
        project.containers("a").is_empty() && project.containers("b").is_empty()
    });
    assert!(!instance.log().contains("Going to remove"), "{}", instance.log());
    assert_eq!(project.containers("c").len(), 1);
    instance.client(&["enable", "a"]);
    until(&mut instance, "a", "ok", "ok");
    assert_eq!(project.containers("a").len(), 1);
    assert!(project.containers("b").is_empty());
}

#[test]
fn a_service_that_leaves_the_file_is_removed_and_one_that_changes_is_replaced() {
    let keep = ("keep", SLEEP, "");
    let before = services(&[keep, ("gone", SLEEP, ""), ("web", "echo one; exec sleep 1000", "")]);
    let Some(mut project) = Project::new(TILTFILE, &before) else { return };
    let mut instance = project.up();
    for name in ["keep", "gone", "web"] {
        until(&mut instance, name, "ok", "ok");
    }
    let kept = project.containers("keep");
    // Nothing but the removal happens at first: no other update takes orphans away.
    let fewer = services(&[keep, ("web", "echo one; exec sleep 1000", "")]);
    instance.write("compose.yml", &fewer);
    instance.until("it is gone", |_| project.containers("gone").is_empty());
    instance.write("compose.yml", &fewer.replace("echo one", "echo two"));
    instance.until("it is replaced", |it| it.log().contains("web │ two"));
    until(&mut instance, "web", "ok", "ok");
    assert_eq!(project.containers("keep"), kept);
    assert!(!instance.log().contains("ERROR"), "{}", instance.log());
}

#[test]
fn an_update_that_fails_says_why_and_leaves_the_last_good_state_alone() {
    let Some(mut project) = Project::new(TILTFILE, &services(&[("web", SLEEP, "")])) else {
        return;
    };
    let mut instance = project.up();
    until(&mut instance, "web", "ok", "ok");
    let running = project.containers("web");
    let missing = services(&[("web", SLEEP, "")]).replace("busybox", "localhost:1/no/such");
    instance.write("compose.yml", &missing);
    until(&mut instance, "web", "error", "ok");
    assert_eq!(project.containers("web"), running);
    let error = why(&instance, "web")["lastRun"]["error"].as_str().unwrap_or_default().to_owned();
    assert!(error.contains("\"up\" \"--no-deps\"") && error.contains("exit status 1"), "{error}");
    assert!(instance.log().contains("connection refused"), "{}", instance.log());
}

#[test]
fn compose_builds_images_and_builds_them_again_when_files_change() {
    let file = services(&[("web", "cat /x/text; exec sleep 1000", "build: web")])
        .replace("    image: busybox\n", "");
    let Some(mut project) = Project::new(TILTFILE, &file) else { return };
    project.write("web/Dockerfile", "FROM busybox\nCOPY . /x\n");
    project.write("web/text", "first text\n");
    let mut instance = project.up();
    instance.until("it prints", |it| it.log().contains("web │ first text"));
    until(&mut instance, "web", "ok", "ok");
    assert!(instance.log().contains("STEP 1/1 — Building & deploying"), "{}", instance.log());
    instance.write("web/text", "second text\n");
    instance.until("it prints", |it| it.log().contains("web │ second text"));
    assert_eq!(project.containers("web").len(), 1);
}

#[test]
fn ci_succeeds_when_all_run_although_a_crash_of_an_earlier_run_is_left() {
    let ok = services(&[("job", "exit 0", ""), ("web", SLEEP, "depends_on: [job]")]);
    let Some(project) = Project::new(TILTFILE, &ok) else { return };
    project.write("compose.yml", &ok.replace("exit 0", "exit 4"));
    let failed = project.engine(None, &["ci", "--port", "0"]);
    let stderr = String::from_utf8_lossy(&failed.stderr);
    assert_eq!(failed.status.code(), Some(1), "{failed:?}");
    assert!(stderr.contains("exited with 4"), "{stderr}");

    project.write("compose.yml", &ok);
    let passed = project.engine(None, &["ci", "--port", "0"]);
    assert_eq!(passed.status.code(), Some(0), "{passed:?}");
    assert_eq!(project.containers("web").len(), 1, "deployments stay");
}

#[test]
fn down_removes_containers_and_networks_and_volumes_if_asked() {
    let file = services(&[("db", SLEEP, "volumes: ['data:/data']"), ("web", SLEEP, "")]);
    let Some(project) = Project::new(TILTFILE, &format!("{file}volumes: {{data: {{}}}}\n")) else {
        return;
    };
    let passed = project.engine(None, &["ci", "--port", "0"]);
    assert_eq!(passed.status.code(), Some(0), "{passed:?}");
    let volume = format!("{}_data", project.name);
    let has_volume = || docker(&["volume", "ls", "-q", "-f", &format!("name={volume}")]) == volume;
    let down = project.engine(None, &["down"]);
    assert_eq!(down.status.code(), Some(0), "{down:?}");
    assert!(project.containers("db").is_empty() && project.containers("web").is_empty());
    assert!(has_volume(), "volumes stay unless somebody asks");
    let down = project.engine(None, &["down", "--delete-volumes"]);
    assert_eq!(down.status.code(), Some(0), "{down:?}");
    assert!(!has_volume());
}

//! Commands that Tilt does not have, beside a running engine and without one.

use serde_json::{Value, json};

use crate::support::{Project, until};

const TILTFILE: &str = "
local_resource('db', 'echo db >> order', trigger_mode=TRIGGER_MODE_MANUAL, auto_init=False)
local_resource('app', 'echo app >> order', resource_deps=['db'],
    trigger_mode=TRIGGER_MODE_MANUAL, auto_init=False)
local_resource('first', 'touch first')
for name in str(local('cat names', quiet=True)).split():
    local_resource(name, 'touch ' + name, resource_deps=['first'])
";

fn project() -> Project {
    let project = Project::new(TILTFILE);
    project.write("names", "second");
    project
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

#[test]
fn a_trigger_with_dependencies_first_updates_those_that_never_ran() {
    let project = project();
    let instance = project.up();
    instance.wait_for_update("first", "ok");
    project.out(&["trigger", "--with-deps", "--wait", "app"]);
    assert_eq!(project.read("order"), "db\napp\n");
    // Dependencies that ran are not updated again.
    project.out(&["trigger", "--with-deps", "--wait", "app"]);
    assert_eq!(project.read("order"), "db\napp\napp\n");
}

#[test]
fn a_tiltfile_finds_the_engine_as_tilt() {
    let tiltfile = "load('ext://min_tilt_version', 'min_tilt_version')\nmin_tilt_version('0.20')\n";
    Project::new(tiltfile).json(&["alpha", "tiltfile-result"]);
}

#[test]
fn without_an_engine_the_tiltfile_is_asked() {
    let project = project();
    let plan = project.json(&["plan", "--json"]);
    let expected = json!([
        {"resource": "first", "work": ["run touch first"]},
        {"resource": "second", "work": ["run touch second"]},
    ]);
    assert_eq!(plan["run"], expected, "{plan}");
    assert_eq!(names(&plan["idle"]), ["db", "app"], "{plan}");
    let graph = project.json(&["graph", "--json"]);
    assert_eq!(graph["resources"][1]["deps"], json!(["db"]), "{graph}");
    assert_eq!(graph["resources"][3]["name"], "second", "{graph}");
    let why = project.engine(&["why", "app"]);
    assert_eq!(why.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&why.stderr).starts_with("Error: no engine is running"),
        "{why:?}"
    );
    assert!(!project.path("first").exists(), "nothing has run");
}

#[test]
fn a_running_engine_says_what_it_would_do_what_it_did_and_what_it_waits_for() {
    let project = project();
    let instance = project.up();
    instance.wait_for_update("second", "ok");

    let unknown = project.engine(&["why", "nobody"]);
    assert_eq!(unknown.status.code(), Some(1));
    let words = String::from_utf8_lossy(&unknown.stderr);
    assert!(words.starts_with("Error: no resource \"nobody\""), "{words}");

    let plan = project.json(&["plan", "--json"]);
    assert_eq!(names(&plan["keep"]), ["db", "app", "first", "second"], "{plan}");
    project.write("names", "third");
    let plan = project.json(&["plan", "--json"]);
    assert_eq!(names(&plan["start"]), ["third"], "{plan}");
    assert_eq!(names(&plan["remove"]), ["second"], "{plan}");
    assert!(!project.path("third").exists(), "nothing has run");

    let why = project.json(&["why", "--json", "second"]);
    assert_eq!(why["lastRun"]["waitedFor"]["resource"], "first", "{why}");
    project.out(&["trigger", "app"]);
    let why = until("the hold", || {
        let why = project.json(&["why", "--json", "app"]);
        (why["hold"]["reason"] == "waiting-for-dep").then_some(why)
    });
    assert_eq!(why["hold"]["on"][0]["resource"], "db", "{why}");
    assert_eq!(why["hold"]["on"][0]["needsTrigger"], true, "{why}");
    assert!(project.out(&["why", "app"]).contains("`engine trigger db` starts it"));

    let graph = project.json(&["graph", "--json"]);
    let app = &graph["resources"][1];
    assert_eq!((&app["name"], &app["hold"]), (&json!("app"), &json!("waiting-for-dep")), "{graph}");
    assert!(project.out(&["graph"]).contains("app ("));
}

#[test]
fn docs_leads_to_functions_topics_and_extensions() {
    let project = project();
    let shown = project.out(&["docs", "docker_build"]);
    assert!(shown.starts_with("docker_build\n\n    docker_build(\n"), "{shown}");
    assert!(shown.contains("\nExample:\n\n    docker_build('web', '.'"), "{shown}");
    // Nobody sits in front of a pipe: no pager, no colors.
    assert!(!shown.contains('\x1b'), "{shown}");
    let shown = project.out(&["docs", "live_update"]);
    assert!(shown.contains("fall_back_on('requirements.txt')") && shown.contains("- `sync`: "));
    let shown = project.out(&["docs", "ext://restart_process"]);
    assert!(shown.contains("docker_build_with_restart("), "{shown}");
    let index = project.out(&["docs"]);
    assert!(index.starts_with("TOPICS\n  tiltfile "), "{index}");
    assert!(index.lines().count() < 300, "{index}");
    let all = project.json(&["docs", "-o", "json"]);
    let entries = all.as_array().into_iter().flatten().filter(|it| it["chapter"].is_string());
    assert!(entries.clone().count() > 150 && entries.clone().all(|it| it["example"] != ""));
    let refused = project.engine(&["docs", "docker_buid"]);
    let error = String::from_utf8_lossy(&refused.stderr);
    assert!(error.contains("did you mean docker_build?"), "{error}");
}

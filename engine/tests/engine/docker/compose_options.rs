//! What a Compose project and its services can be told: files, profiles, variables, names and checks.

use std::fs;

use serde_json::Value;

use crate::{
    docker::ground::{Project, docker, is_in_order, services, until, why},
    support::Instance,
};

const TILTFILE: &str = "docker_compose('compose.yml', project_name='PROJECT')\n";
const SLEEP: &str = "exec sleep 1000";

/// An object, as the API has it.
fn object(instance: &Instance, kind: &str, name: &str) -> Value {
    let text = instance.client(&["get", kind, name, "-o", "json"]);
    serde_json::from_str(&text).expect("it is JSON")
}

fn names(instance: &Instance) -> Vec<String> {
    let all = instance.client(&["get", "uiresource", "-o", "name"]);
    let names = all.lines().filter_map(|it| it.rsplit('/').next()).map(ToOwned::to_owned);
    names.filter(|it| it != "(Tiltfile)").collect()
}

#[test]
fn profiles_decide_which_services_there_are() {
    let file = services(&[
        ("always", SLEEP, ""),
        ("debug", SLEEP, "profiles: [debug]"),
        ("other", SLEEP, "profiles: [other]"),
    ]);
    let tiltfile = "docker_compose('compose.yml', project_name='PROJECT', profiles=['debug'])\n";
    let Some(mut project) = Project::new(tiltfile, &file) else { return };
    let mut instance = project.up();
    for name in ["always", "debug"] {
        until(&mut instance, name, "ok", "ok");
    }
    assert_eq!(names(&instance), ["always", "debug"]);

    let Some(project) = Project::new(TILTFILE, &file) else { return };
    let mut project = project.with_env("COMPOSE_PROFILES", "other");
    let mut instance = project.up();
    for name in ["always", "other"] {
        until(&mut instance, name, "ok", "ok");
    }
    assert_eq!(names(&instance), ["always", "other"]);
}

#[test]
fn several_files_and_an_env_file_make_one_project() {
    let file = services(&[("web", "echo $$WORD ${FROM_FILE} ${FROM_ENV}; exec sleep 1000", "")]);
    let tiltfile = "docker_compose(['compose.yml', 'more.yml', encode_yaml({'services': {'web': \
                    {'environment': {'WORD': 'overridden'}}}})], env_file='my.env', project_name='PROJECT')\n";
    let Some(project) = Project::new(tiltfile, &file) else { return };
    let mut project = project.with_env("FROM_ENV", "of-env");
    project.write("my.env", "FROM_FILE=of-file\nFROM_ENV=not-this\n");
    let more = services(&[("extra", "echo extra too; exec sleep 1000", "")]);
    project.write("more.yml", &format!("{more}  web:\n    environment: {{WORD: first}}\n"));
    let mut instance = project.up();
    for name in ["web", "extra"] {
        until(&mut instance, name, "ok", "ok");
    }
    for words in ["web │ overridden of-file of-env\n", "extra │ extra too\n"] {
        instance.until("it prints", |it| it.log().contains(words));
    }
    assert_eq!(project.containers("web").len(), 1);
}

#[test]
fn two_projects_run_beside_each_other_and_go_down_together() {
    let tiltfile = "docker_compose('compose.yml', project_name='PROJECT')\n\
                    dc_resource('web', new_name='first')\n\
                    docker_compose('other.yml', project_name='PROJECT-other')\n";
    let Some(project) = Project::new(tiltfile, &services(&[("web", SLEEP, "")])) else { return };
    project.write("other.yml", &services(&[("web", SLEEP, "")]));
    let label = format!("label=com.docker.compose.project={}-other", project.name);
    let others = || docker(&["ps", "--all", "--quiet", "--filter", &label]).lines().count();
    let passed = project.engine(None, &["ci", "--port", "0"]);
    assert_eq!(passed.status.code(), Some(0), "{passed:?}");
    assert_eq!((project.containers("web").len(), others()), (1, 1));
    let down = project.engine(None, &["down"]);
    assert_eq!(down.status.code(), Some(0), "{down:?}");
    assert_eq!((project.containers("web").len(), others()), (0, 0));
}

#[test]
fn dc_resource_says_more_about_a_service() {
    let file = services(&[
        ("db", SLEEP, ""),
        ("web", "echo web is up; exec sleep 1000", "ports: ['127.0.0.1::80']"),
        ("later", SLEEP, ""),
        ("hand", "echo one; exec sleep 1000", ""),
    ]);
    let tiltfile = format!(
        "{TILTFILE}
local_resource('first', 'echo first is done')
dc_resource('db', new_name='database', labels=['storage'])
dc_resource('web', links=[link('http://localhost:1/x', 'x')], resource_deps=['first', 'database'])
dc_resource('later', auto_init=False)
dc_resource('hand', trigger_mode=TRIGGER_MODE_MANUAL)
"
    );
    let Some(mut project) = Project::new(&tiltfile, &file) else { return };
    let mut instance = project.up();
    for name in ["database", "web", "hand"] {
        until(&mut instance, name, "ok", "ok");
    }
    assert!(project.containers("later").is_empty());
    let log = instance.log();
    let at = |text: &str| log.find(text).unwrap_or_else(|| panic!("no {text:?} in {log}"));
    assert!(at("first │ first is done") < at("web │ Initial Build"), "{log}");
    assert!(is_in_order(&project.containers("db")[0], &project.containers("web")[0]), "{log}");
    let database = object(&instance, "uiresource", "database");
    assert_eq!(database["metadata"]["labels"]["storage"], "storage", "{database}");
    let web = object(&instance, "uiresource", "web");
    let links: Vec<&str> = web["status"]["endpointLinks"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|it| it["url"].as_str())
        .collect();
    let port = docker(&["port", &project.containers("web")[0], "80"]);
    let port = port.rsplit(':').next().expect("it has a port");
    assert_eq!(links, [format!("http://localhost:{port}/"), "http://localhost:1/x".to_owned()]);

    instance.trigger("later");
    until(&mut instance, "later", "ok", "ok");
    let path = instance.dir.path().join("compose.yml");
    let text = fs::read_to_string(&path).expect("it can be read");
    instance.write("compose.yml", &text.replace("echo one", "echo two"));
    instance.until("it waits to be asked", |it| why(it, "hand")["pending"]["needsTrigger"] == true);
    assert!(!instance.log().contains("hand │ two"));
    instance.trigger("hand");
    instance.until("it is replaced", |it| it.log().contains("hand │ two"));
}

#[test]
fn a_health_check_is_shown_and_a_crash_that_docker_repairs_too() {
    let checks = "healthcheck: {test: 'echo not yet; test -e /ready', interval: 1s, retries: 1}";
    let file = services(&[
        ("web", SLEEP, checks),
        ("crash", "test -e /was && exec sleep 1000; touch /was; exit 3", ""),
    ]);
    let Some(mut project) = Project::new(TILTFILE, &file) else { return };
    let mut instance = project.up();
    // Tilt takes a service that runs for ready, whatever its check says.
    until(&mut instance, "web", "ok", "ok");
    let health = |it: &Instance| {
        let service = object(it, "dockercomposeservice", "web");
        service["status"]["containerState"]["healthStatus"].as_str().unwrap_or_default().to_owned()
    };
    instance.until("it is not well", |it| health(it) == "unhealthy");
    instance.until("it is told", |it| it.log().contains("healthcheck: not yet"));
    docker(&["exec", &project.containers("web")[0], "touch", "/ready"]);
    instance.until("it is well", |it| health(it) == "healthy");

    until(&mut instance, "crash", "ok", "error");
    docker(&["start", &project.containers("crash")[0]]);
    until(&mut instance, "crash", "ok", "ok");
}

/// The numbers that a service has counted, as far as they were printed.
fn counted(log: &str) -> Vec<u32> {
    let lines = log.lines().filter_map(|it| it.split("web │ n").nth(1));
    lines.filter_map(|it| it.trim().parse().ok()).collect()
}

/// Whether each number follows the one before.
fn check_gapless(numbers: &[u32]) {
    let wrong = numbers.windows(2).find(|it| it[1] != it[0] + 1);
    assert!(wrong.is_none(), "{wrong:?} in {numbers:?}");
}

#[test]
fn lines_are_printed_once_however_often_the_engine_starts() {
    let count = "i=0; while true; do echo n$$i; i=$$((i+1)); sleep 0.01; done";
    let Some(mut project) = Project::new(TILTFILE, &services(&[("web", count, "")])) else {
        return;
    };
    let mut instance = project.up();
    instance.until("it counts", |it| counted(&it.log()).len() > 100);
    instance.stop();
    let first = counted(&instance.log());
    check_gapless(&first);
    assert_eq!(first[0], 0, "{first:?}");
    let before = instance.log().len();
    instance.restart();
    instance.until("it counts", |it| counted(&it.log()[before..]).len() > 100);
    instance.stop();
    let second = counted(&instance.log()[before..]);
    check_gapless(&second);
    assert!(first.last() < second.first(), "what was printed before is not printed again");
}

#[test]
fn a_container_that_restarts_is_read_from_its_beginning_and_only_once() {
    let count = "for i in 0 1 2 3 4 5 6 7 8 9; do echo n$$i; done; exec sleep 1000";
    let Some(mut project) = Project::new(TILTFILE, &services(&[("web", count, "")])) else {
        return;
    };
    let mut instance = project.up();
    until(&mut instance, "web", "ok", "ok");
    for runs in 1..4 {
        instance.until("it has counted", |it| counted(&it.log()).len() >= 10 * runs);
        let one: Vec<u32> = (0..10).collect();
        assert_eq!(counted(&instance.log()), one.repeat(runs));
        docker(&["restart", "--time", "0", &project.containers("web")[0]]);
    }
}

//! Why a resource is red or waits: every surface says the same, and it names the cause.

use std::{os::unix::fs::symlink, process::Command};

use crate::support::{Instance, Project, Surfaces, with_files};

/// One resource for each state that needs neither Docker nor a cluster. Nobody listens on port 1.
const TILTFILE: &str = "
def serve(name, probe):
    local_resource(name, serve_cmd='exec sleep 1000', readiness_probe=probe, allow_parallel=True)

local_resource('exit', 'echo oops >&2; exit 7')
local_resource('missing', 'no-such-tool --now')
local_resource('killed', 'kill -KILL $$')
local_resource('after-exit', 'true', resource_deps=['exit'])
local_resource('chain', 'true', resource_deps=['after-exit'])

local_resource('server-exit', serve_cmd='echo cannot bind >&2; exit 3')
local_resource('server-missing', serve_cmd=['no-such-server', '--now'])
local_resource('server-killed', serve_cmd='kill -SEGV $$')
serve('http', probe(period_secs=1, http_get=http_get_action(port=1, path='/healthz')))
serve('tcp', probe(period_secs=1, tcp_socket=tcp_socket_action(port=1)))

serve('exec', probe(period_secs=1, exec=exec_action(['sh', '-c', 'echo not yet; exit 4'])))
local_resource('after-exec', 'true', resource_deps=['exec'])
local_resource('manual', 'true', auto_init=False, trigger_mode=TRIGGER_MODE_MANUAL)
local_resource('after-manual', 'true', resource_deps=['manual'])
local_resource('off', 'true')

local_resource('busy', 'sleep 1000')
local_resource('queued', 'true')
";

/// Starts an engine with some of the resources; all others are disabled.
fn surfaces(resources: &[&str]) -> Surfaces {
    let dir = with_files(&[("Tiltfile", TILTFILE)]);
    Surfaces::of(Instance::start_on_terminal(dir, Vec::new(), resources))
}

#[test]
fn updates_that_fail_and_whatever_waits_for_them_say_why() {
    let mut all = surfaces(&["missing", "killed", "chain"]);
    all.show(&[
        ("exit", "`echo oops >&2; exit 7` failed: exit status 7"),
        ("missing", "`no-such-tool --now` failed: exit status 127: *no-such-tool: not found"),
        ("killed", "`kill -KILL $$` failed: signal: killed"),
        ("after-exit", "waiting for exit: `echo oops >&2; exit 7` failed: exit status 7"),
        ("chain", "waiting for after-exit, which waits for exit: `echo oops >&2; exit 7` failed: exit status 7"),
        ("server-exit", "disabled"),
    ]);
    all.finish();
}

#[test]
fn servers_that_end_or_are_not_ready_say_why() {
    let mut all = surfaces(&["server-exit", "server-missing", "server-killed", "http", "tcp"]);
    all.show(&[
        ("server-exit", "server exited after *: exit status 3"),
        ("server-missing", "server failed to start: *no-such-server*"),
        ("server-killed", "server exited after *: signal: segmentation fault"),
        ("http", "server is not ready: its readiness probe (HTTP /healthz on port 1) fails: *connection refused*"),
        ("tcp", "server is not ready: its readiness probe (TCP port 1) fails: *connection refused*"),
    ]);
    all.finish();
}

#[test]
fn what_waits_for_a_probe_for_people_or_for_others_says_so() {
    let mut all = surfaces(&["after-exec", "after-manual", "off"]);
    all.instance.client(&["disable", "off"]);
    let probe =
        "server is not ready: its readiness probe (`sh -c echo not yet; exit 4`) fails: *not yet*";
    all.show(&[
        ("exec", probe),
        ("after-exec", &format!("waiting for exec: {probe}")),
        ("manual", "not started: starts when it is triggered"),
        ("after-manual", "waiting for manual: not started: starts when it is triggered"),
        ("off", "disabled"),
    ]);
    all.finish();

    let mut all = surfaces(&["busy", "queued"]);
    all.show(&[("queued", "waiting for busy: updating: Initial Build")]);
    all.finish();
}

/// Kubeconfigs: a cluster that nobody reaches, and one that may be production.
fn kubeconfig(context: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: {context}\n\
         contexts: [{{name: {context}, context: {{cluster: {context}, user: u}}}}]\n\
         clusters: [{{name: {context}, cluster: {{server: 'http://127.0.0.1:1'}}}}]\n\
         users: [{{name: u, user: {{}}}}]\n"
    )
}

/// A Tiltfile with one object.
const OBJECT: &str = "
k8s_yaml(blob('apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: a}\\n'))
k8s_resource(new_name='objects', objects=['a:configmap'])
";

const COMPOSE: &str = "services: {web: {image: busybox, command: [sleep, '1000']}}\n";

#[test]
fn tiltfiles_and_what_they_need_from_outside_say_what_is_wrong() {
    let (away, production) = (kubeconfig("kind-away"), kubeconfig("production"));
    let nobody = [("DOCKER_HOST".to_owned(), "unix:///nobody/listens/here.sock".to_owned())];
    let main = "(Tiltfile)";
    for (files, resource, form) in [
        (vec![("Tiltfile", "fail('no luck')")], main, "*no luck*"),
        (vec![("Tiltfile", "def f(:\n")], main, "*got ':'*"),
        (vec![("Tiltfile", "local_resorce('a', 'true')")], main, "*local_resorce*"),
        (vec![("Tiltfile", "local('exit 5')")], main, "*exit status 5*"),
        (vec![("Tiltfile", OBJECT)], "objects", "waiting for Kubernetes: *no kubeconfig*"),
        (
            vec![("Tiltfile", OBJECT), ("kubeconfig", &away)],
            "objects",
            "waiting for Kubernetes: *127.0.0.1:1*connection refused*",
        ),
        (
            vec![("Tiltfile", OBJECT), ("kubeconfig", &production)],
            main,
            "*production might be production*",
        ),
        (
            vec![("Tiltfile", "docker_compose('compose.yml')"), ("compose.yml", COMPOSE)],
            "web",
            "waiting for Docker: *nobody/listens*",
        ),
    ] {
        let dir = with_files(&files);
        let mut all = Surfaces::of(Instance::start_on_terminal(dir, nobody.to_vec(), &[]));
        all.show(&[(resource, form)]);
        all.finish();
    }
}

#[test]
fn ci_ends_with_a_summary_unless_it_is_quiet_or_stands_in_for_tilt() {
    let project = Project::new(
        r"
local_resource('good', 'true')
local_resource('bad', ['sh', '-c', 'seq 20; printf \'\\033[31mred\\033[0m\\n\'; exit 3'], resource_deps=['good'])
",
    );
    let output = project.engine(&["ci"]);
    assert_eq!(output.status.code(), Some(1));
    let stdout = String::from_utf8_lossy(&output.stdout);
    let (log, summary) = stdout.split_once("\n\n✖ bad: ").unwrap_or_else(|| panic!("{stdout}"));
    assert!(log.contains("bad │ ERROR: Build Failed: "), "{log}");
    let lines: Vec<&str> = summary.lines().collect();
    assert!(lines[0].ends_with("failed: exit status 3"), "{summary}");
    assert_eq!(lines[1..4], ["    12", "    13", "    14"]);
    assert_eq!(lines[9..12], ["    20", "    red", "Slowest updates"]);
    assert!(lines[lines.len() - 1].starts_with("1 failed · 1 ok · "), "{summary}");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.starts_with("Error: Command ") && stderr.lines().count() == 1, "{stderr}");

    let quiet = project.engine(&["ci", "--quiet"]);
    assert_eq!((quiet.status.code(), &quiet.stderr), (Some(1), &output.stderr));
    let like = project.command(&["ci"]);
    let tilt = project.path("tilt");
    symlink(like.get_program(), &tilt).expect("it can be linked");
    let mut command = Command::new(tilt);
    command.args(like.get_args()).env_clear().current_dir(project.path(""));
    command.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let tilt = command.output().expect("it starts");
    assert_eq!(tilt.stderr, output.stderr);
    for stdout in [quiet.stdout, tilt.stdout].map(|it| String::from_utf8_lossy(&it).into_owned()) {
        assert!(
            stdout.contains("bad │ ERROR: Build Failed: ") && !stdout.contains('✖'),
            "{stdout}"
        );
    }
}

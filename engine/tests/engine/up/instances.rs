//! Which instance a command means: the only engine of a folder, none, or a Tilt that lacks what engines have.

use std::{
    fs,
    future::IntoFuture,
    net::TcpStream,
    os::unix::fs::symlink,
    process::{Child, Command, Output},
};

use axum::{
    Json, Router,
    response::{Html, IntoResponse},
    routing::get,
};
use serde_json::json;
use tokio::{net::TcpListener, runtime::Runtime};

use crate::support::{Project, until};

const TILTFILE: &str = "local_resource('a', 'true')";

/// Where commands look if nobody says where.
const DEFAULT_PORT: u16 = 10350;

fn err(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A command that nobody tells a port.
fn without_port(project: &Project, args: &[&str]) -> Command {
    let mut command = project.command(args);
    command.env_remove("TILT_PORT");
    command
}

#[test]
fn every_command_says_that_nothing_runs_and_what_does() {
    let commands: [&[&str]; 14] = [
        &["get", "uiresources"],
        &["describe", "uiresource", "a"],
        &["logs"],
        &["logs", "a"],
        &["trigger", "a"],
        &["trigger", "--wait", "a"],
        &["enable", "a"],
        &["disable", "a"],
        &["args", "--clear"],
        &["why", "a"],
        &["open", "--no-open"],
        &["dump", "tasks"],
        &["dump", "engine"],
        &["stop"],
    ];
    let project = Project::new(TILTFILE);
    for command in commands {
        let said = err(&project.engine(command));
        assert_eq!(said, "Error: no engine is running (`engine up` starts one)\n", "{command:?}");
    }
    let _instance = project.up();
    let (port, folder) = (project.port(), project.path(""));
    let folder = folder.display().to_string();
    let expected = format!(
        "Error: nothing runs on port 1. Running: port {port} ({}). Use --port {port}\n",
        folder.trim_end_matches('/')
    );
    for command in commands {
        let mut other = project.command(command);
        assert_eq!(err(&other.env("TILT_PORT", "1").output().expect("it starts")), expected);
    }
    let status = project.command(&["status"]).env("TILT_PORT", "1").output().expect("it starts");
    assert_eq!(status.status.code(), Some(7), "{status:?}");
    assert_eq!(String::from_utf8_lossy(&status.stderr), expected);

    let taken = err(&project.engine(&["up", "--port", &port]));
    assert!(taken.contains(&format!("already uses port {port} (process ")), "{taken}");
    assert!(taken.contains(folder.trim_end_matches('/')), "{taken}");
}

#[test]
fn through_a_link_named_tilt_the_words_are_those_of_tilt() {
    let project = Project::new(TILTFILE);
    let link = project.temp().join("tilt");
    symlink(env!("CARGO_BIN_EXE_engine"), &link).expect("it can be made");
    let tilt = |args: &[&str]| {
        let own = project.command(args);
        let mut command = Command::new(&link);
        command.args(args).env_clear().current_dir(project.path(""));
        command.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.output().expect("it starts")
    };
    assert_eq!(err(&tilt(&["get", "uiresources"])), "Error: No tilt apiserver found: tilt-1\n");
    assert!(err(&tilt(&["trigger", "a"])).starts_with("Could not connect to Tilt at http://"));
    let url = "http://localhost:1/api/websocket_token";
    let expected = format!(
        "Error: fetching websocket token: connecting to Tilt at {url}: Get \"{url}\": \
         dial tcp 127.0.0.1:1: connect: connection refused\n"
    );
    assert_eq!(err(&tilt(&["logs"])), expected);

    let instance = project.up();
    instance.wait_for_update("a", "ok");
    let table = tilt(&["get", "uiresources"]).stdout;
    assert!(table.starts_with(b"NAME         CREATED AT\n"), "{}", String::from_utf8_lossy(&table));
    assert!(tilt(&["disable", "a"]).stdout.is_empty());
    assert!(tilt(&["logs", "nosuch"]).status.success());
    let described = tilt(&["describe", "uiresource/a"]).stdout;
    assert!(!String::from_utf8_lossy(&described).contains("\nReason: "));
}

#[test]
fn the_only_engine_of_a_folder_is_the_one_that_is_meant() {
    if TcpStream::connect(("localhost", DEFAULT_PORT)).is_ok() {
        eprintln!("skipped: something listens on the default port");
        return;
    }
    let project = Project::new(TILTFILE);
    let instance = project.up();
    instance.wait_for_update("a", "ok");
    fs::create_dir(project.path("below")).expect("it can be made");
    let port = project.port();

    let get = ["get", "uiresource", "a", "-o", "name"];
    let mut below = without_port(&project, &get);
    let found = below.current_dir(project.path("below")).output().expect("it starts");
    assert_eq!(String::from_utf8_lossy(&found.stdout), "uiresource.tilt.dev/a\n");
    let said = String::from_utf8_lossy(&found.stderr);
    assert_eq!(said, format!("using the engine on port {port}\n"));

    let mut elsewhere = without_port(&project, &get);
    let said = err(&elsewhere.current_dir(project.home()).output().expect("it starts"));
    assert!(said.starts_with("Error: nothing runs on port 10350. Running: port "), "{said}");
    let chosen = without_port(&project, &[&get[..], &["--port", "10350"]].concat());
    assert!(err(&{ chosen }.output().expect("it starts")).contains("nothing runs on port 10350"));

    let mut second = project.command(&["up", "--stream"]);
    second.env("TILT_PORT", "auto");
    let _second = project.up_with(second);
    let said = err(&without_port(&project, &get).output().expect("it starts"));
    assert!(said.ends_with("Use --port with one of them\n"), "{said}");
}

/// A program that answers as Tilt does: pages everywhere, and objects for those who ask for them.
struct FakeTilt {
    port: u16,
    process: Child,
    _runtime: Runtime,
}

impl FakeTilt {
    fn start(project: &Project) -> Self {
        let process = Command::new("sleep").arg("1000").spawn().expect("it starts");
        let session = json!({
            "metadata": {"name": "Tiltfile"},
            "spec": {"tiltfilePath": "/there/Tiltfile"},
            "status": {"pid": process.id()},
        });
        let ui_session = json!({"status": {"runningTiltBuild": {"version": "0.37.6"}}});
        let objects = "/apis/tilt.dev/v1alpha1";
        let app = Router::new()
            .route(&format!("{objects}/sessions/Tiltfile"), get(async || Json(session)))
            .route(&format!("{objects}/uisessions/Tiltfile"), get(async || Json(ui_session)))
            .route(
                &format!("{objects}/uiresources"),
                get(async || Json(json!({"items": [{"metadata": {"name": "a"}}]}))),
            )
            .route("/engine", get(async || axum::http::StatusCode::NOT_FOUND.into_response()))
            .fallback(async || Html("<!doctype html>"));
        let runtime = Runtime::new().expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
        let port = listener.local_addr().expect("it listens").port();
        runtime.spawn(axum::serve(listener, app).into_future());
        let config = format!(
            "clusters: [{{name: tilt-{port}, cluster: {{server: 'http://127.0.0.1:{port}'}}}}]\n\
             contexts: [{{name: tilt-{port}, context: {{cluster: tilt-{port}, user: tilt-{port}}}}}]\n\
             users: [{{name: tilt-{port}, user: {{token: secret}}}}]\n"
        );
        let folder = project.home().join(".tilt-dev");
        fs::create_dir_all(&folder).expect("it can be made");
        fs::write(folder.join("config"), config).expect("it can be written");
        project.look_at(&format!("http://localhost:{port}/"));
        Self { port, process, _runtime: runtime }
    }
}

impl Drop for FakeTilt {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn beside_a_tilt_commands_say_what_it_lacks_and_leave_it_running() {
    let project = Project::new(TILTFILE);
    let mut tilt = FakeTilt::start(&project);
    let port = tilt.port;
    for (command, name) in [
        (&["why", "a"][..], "why"),
        (&["plan"], "plan"),
        (&["graph"], "graph"),
        (&["status"], "status"),
        (&["open"], "open"),
        (&["dump", "tasks"], "dump tasks"),
    ] {
        let said = err(&project.engine(command));
        let expected = format!("Error: localhost:{port} is Tilt v0.37.6, which has no `{name}`");
        assert!(said.starts_with(&expected), "{said}");
    }
    // What Tilt can answer is answered, as by Tilt.
    assert!(project.out(&["get", "uiresources"]).starts_with("NAME   CREATED AT\n"));

    let said = err(&project.engine(&["stop"]));
    assert!(said.contains("is Tilt v0.37.6, and not an engine; --force ends it"), "{said}");
    let said = err(&project.engine(&["stop", "--all"]));
    assert!(said.starts_with(&format!("Left alone: port {port} (Tilt v0.37.6, /there)")), "{said}");
    assert!(said.ends_with("Error: no engine is running\n"), "{said}");
    assert_eq!(tilt.process.try_wait().expect("it is a child"), None);

    let taken = err(&project.engine(&["up", "--port", &port.to_string()]));
    assert!(
        taken.contains(&format!("Tilt v0.37.6 for /there already uses port {port}")),
        "{taken}"
    );

    project.out(&["stop", "--force"]);
    until("the end of it", || tilt.process.try_wait().expect("it is a child"));
}

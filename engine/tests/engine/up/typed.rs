//! What is typed beside a running engine: flags that are given twice, files from elsewhere, waiting
//! for an update, and engines in the background.

use std::{
    io::{Read, Write},
    net::TcpListener,
    process::{Output, Stdio},
    thread,
};

use crate::support::{Project, until};

const TILTFILE: &str = "
local_resource('base', 'echo from base; test -e good', trigger_mode=TRIGGER_MODE_MANUAL, auto_init=False)
local_resource('app', 'echo from app', resource_deps=['base'],
    trigger_mode=TRIGGER_MODE_MANUAL, auto_init=False)
";

const CONFIG_MAP: &str = "\
apiVersion: tilt.dev/v1alpha1
kind: ConfigMap
metadata: {name: typed}
data: {text: hello}
";

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn waiting_for_an_update_shows_its_log_and_fails_with_it() {
    let project = Project::new(TILTFILE);
    let instance = project.up();
    instance.wait_for_update("base", "none");

    let failed = project.engine(&["trigger", "--wait", "--with-deps", "app"]);
    let (out, err) = texts(&failed);
    assert_eq!(failed.status.code(), Some(1), "{out}{err}");
    assert!(out.contains("         base │ from base\n"), "{out}");
    assert!(!out.contains("from app"), "{out}");
    assert!(err.starts_with("Error: the update of resource \"base\" failed\nbase: "), "{err}");
    assert!(err.contains("\n  last output: from base\n"), "{err}");
    assert!(err.contains("\n  to do: save one of its files or run `engine trigger base`"), "{err}");
    assert!(err.ends_with("\nresource \"app\" waits for resource \"base\"\n"), "{err}");
    let late = project.engine(&["trigger", "--wait", "--timeout", "10ms", "app"]);
    let (_, err) = texts(&late);
    assert!(err.contains("has not ended in time\napp: waiting for base: "), "{err}");

    // A dependency that failed is tried again.
    project.write("good", "");
    let out = project.out(&["trigger", "--wait", "--with-deps", "app"]);
    let order = [out.find("from base\n"), out.find("from app\n")];
    assert!(order[0].is_some() && order[0] < order[1], "{out}");

    let out = project.out(&["trigger", "--wait", "app"]);
    assert!(out.ends_with("\nCLI Trigger\nRunning cmd: echo from app\nfrom app\n"), "{out}");
    let result = project.json(&["trigger", "--wait", "--json", "app"]);
    assert_eq!(result["succeeded"], true, "{result}");
}

#[test]
fn waiting_for_an_update_shows_nothing_of_the_one_before() {
    let project = Project::new(
        "local_resource('slow', 'echo begin; touch begun; while ! test -e go; do sleep 0.01; done; echo end',\n\
         trigger_mode=TRIGGER_MODE_MANUAL, auto_init=False)",
    );
    let instance = project.up();
    instance.wait_for_update("slow", "none");
    project.out(&["trigger", "slow"]);
    project.wait_for("begun");
    let mut second = project.command(&["trigger", "--wait", "slow"]);
    let mut second = second.stdout(Stdio::piped()).spawn().expect("it starts");
    until("the second trigger", || {
        let queued = ["get", "uiresource", "slow", "-o", "jsonpath={.status.queued}"];
        (project.out(&queued) == "true").then_some(())
    });
    project.write("go", "");
    let mut out = String::new();
    let printed = second.stdout.take().expect("it is piped").read_to_string(&mut out);
    printed.expect("it is text");
    assert!(second.wait().expect("it is a child").success());
    let head = "Successfully triggered update for resource: \"slow\"\n";
    assert!(
        out.starts_with(&format!("{head}CLI Trigger\n"))
            || out.starts_with(&format!("{head}\nCLI Trigger\n")),
        "{out}"
    );
    assert_eq!(out.matches("end\n").count(), 1 + out.matches("echo end\n").count(), "{out}");
}

#[test]
fn of_flags_that_are_given_twice_the_last_counts() {
    let project = Project::new(TILTFILE);
    let instance = project.up();
    instance.wait_for_update("base", "none");
    let line = ["get", "uiresource", "app", "-o", "json", "--no-headers", "-oname"];
    assert_eq!(project.out(&line), "uiresource.tilt.dev/app\n");
    let line = ["get", "uiresource", "app", "-o", "name", "--watch", "--watch=false"];
    assert_eq!(project.out(&line), "uiresource.tilt.dev/app\n");
}

#[test]
fn objects_come_from_urls_and_editors_too() {
    let project = Project::new(TILTFILE);
    let instance = project.up();
    instance.wait_for_update("base", "none");
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = server.local_addr().expect("it listens");
    let serving = thread::spawn(move || {
        let answers = [
            "HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n".to_owned(),
            format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{CONFIG_MAP}", CONFIG_MAP.len()),
        ];
        for answer in answers {
            let (mut stream, _) = server.accept().expect("a client");
            let mut request = [0; 1024];
            let _ = stream.read(&mut request).expect("a request");
            stream.write_all(answer.as_bytes()).expect("the client listens");
        }
    });
    let url = format!("http://{address}/here");
    assert_eq!(project.out(&["apply", "-f", &url]), "configmap.tilt.dev/typed created\n");
    serving.join().expect("it served");
    let missing = project.engine(&["apply", "-f", &url]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(texts(&missing).1.contains("was refused"), "{missing:?}");

    project.write("edited.yaml", &CONFIG_MAP.replace("typed", "edited"));
    let mut create = project.command(&["create", "-f", "edited.yaml", "--edit"]);
    create.env("KUBE_EDITOR", "sed -i s/hello/goodbye/");
    let created = create.output().expect("it starts");
    assert_eq!(texts(&created), ("configmap.tilt.dev/edited created\n".to_owned(), String::new()));
    let line = ["get", "configmap", "edited", "-o", "jsonpath={.data.text}"];
    assert_eq!(project.out(&line), "goodbye");
}

#[test]
fn an_engine_in_the_background_is_found_and_stopped() {
    let project = Project::new(TILTFILE);
    let none = project.engine(&["stop"]);
    assert_eq!(none.status.code(), Some(1));
    assert!(
        texts(&none).1.starts_with("Error: no engine is running (`engine up` starts one)"),
        "{none:?}"
    );

    let started = project.json(&["up", "--detach", "--json"]);
    assert!(started["pid"].as_u64().is_some_and(|it| it > 1), "{started}");
    project.look_at(started["url"].as_str().unwrap_or_default());
    assert_eq!(project.out(&["get", "uiresource", "(Tiltfile)", "-o", "name"]).lines().count(), 1);
    let again = project.engine(&["up", "--detach", "--port", &project.port()]);
    assert_eq!(again.status.code(), Some(1));
    assert!(texts(&again).1.contains("already uses port"), "{again:?}");

    let other = project.engine(&["stop", "--port", "1"]);
    assert!(texts(&other).1.contains("nothing runs on port 1. Running: port "), "{other:?}");
    let stopped = project.json(&["stop", "--all", "--json"]);
    assert_eq!(stopped["pid"], started["pid"], "{stopped}");
    assert_eq!(project.engine(&["stop"]).status.code(), Some(1));
}

#[test]
fn an_engine_takes_a_free_port_and_says_which() {
    let project = Project::new("local_resource('a', 'echo $TILT_PORT > port')");
    let of_variable = project.up();
    of_variable.wait_for_update("a", "ok");
    let first = project.port();
    assert_eq!(project.read("port"), format!("{first}\n"));

    let mut up = project.command(&["up", "--stream", "--port", "auto"]);
    up.env_remove("TILT_PORT");
    let of_flag = project.up_with(up);
    of_flag.wait_for_update("a", "ok");
    let second = project.port();
    assert_ne!(first, second);
    until("its own port", || (project.read("port") == format!("{second}\n")).then_some(()));
    project.out(&["stop", "--all"]);
    assert!(of_variable.wait().success() && of_flag.wait().success());

    let client = project.engine(&["get", "uiresource", "--port", "auto"]);
    assert!(texts(&client).1.contains("a whole number"), "{client:?}");
}

#[test]
fn an_engine_without_a_page_is_found_by_its_port_0() {
    let project = Project::new("local_resource('a', 'echo $TILT_PORT > port')");
    // Who sets the variable gets it as it is.
    let mut up = project.command(&["up", "--stream", "--port", "0"]);
    up.env_remove("TILT_PORT").stdout(Stdio::null()).stderr(Stdio::null());
    let mut up = up.spawn().expect("it starts");
    project.wait_for("port");
    let listed = project.engine(&["get", "uiresource", "-o", "name", "--port", "0"]);
    let stopped = project.json(&["stop", "--port", "0", "--json"]);
    assert_eq!(stopped["pid"], up.id());
    assert!(up.wait().expect("it is a child").success());
    let names = "uiresource.tilt.dev/(Tiltfile)\nuiresource.tilt.dev/a\n";
    assert_eq!(texts(&listed), (names.to_owned(), String::new()));
    assert_eq!(project.read("port"), "0\n");
}

#[test]
fn nothing_is_deleted_when_names_and_all_are_given() {
    let project = Project::new(TILTFILE);
    let instance = project.up();
    instance.wait_for_update("base", "none");
    project.write("map.yaml", CONFIG_MAP);
    project.out(&["create", "-f", "map.yaml"]);
    for line in [
        &["delete", "configmap", "typed", "--all"][..],
        &["delete", "-f", "map.yaml", "configmap", "typed"],
    ] {
        let refused = project.engine(line);
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    }
    assert_eq!(project.out(&["get", "configmap", "typed", "-oname"]), "configmap.tilt.dev/typed\n");
}

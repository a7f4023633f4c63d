//! `status` and its kin: each resource with its state and the reason for it.

use std::{
    io::{BufRead, BufReader},
    process::Stdio,
};

use crate::support::{Project, until};

const TILTFILE: &str = "
local_resource('broken', 'echo no such luck; exit 3', labels=['tests'])
local_resource('crashy', serve_cmd='echo panic: cannot bind; exit 2', labels=['servers'])
local_resource('slow', serve_cmd='exec sleep 1000', labels=['servers'],
    readiness_probe=probe(period_secs=1, exec=exec_action(['sh', '-c', 'echo not yet; exit 1'])))
local_resource('fine', 'true', links=['http://localhost:1234/'])
local_resource('manual', 'true', auto_init=False, trigger_mode=TRIGGER_MODE_MANUAL)
local_resource('off', 'true', auto_init=False)
config.set_enabled_resources(['broken', 'crashy', 'slow', 'fine', 'manual', 'blocked'])
local_resource('blocked', 'true', resource_deps=['broken'])
";

/// Waits until the reason of a resource says this.
fn wait_for_reason(project: &Project, resource: &str, words: &str) {
    until(words, || {
        let status = project.engine(&["status", "--json", resource]);
        let text = String::from_utf8_lossy(&status.stdout).into_owned();
        text.contains(words).then_some(())
    });
}

#[test]
fn all_resources_are_shown_with_their_reasons_failures_first() {
    let project = Project::new(TILTFILE);
    let _instance = project.up();
    wait_for_reason(&project, "broken", "exit status 3");
    wait_for_reason(&project, "crashy", "server exited");
    wait_for_reason(&project, "slow", "not yet");
    wait_for_reason(&project, "fine", "up to date");
    wait_for_reason(&project, "blocked", "waiting for broken");

    let code = |args: &[&str]| project.engine(&[&["status"], args].concat()).status.code();
    assert_eq!(code(&[]), Some(1));
    assert_eq!(code(&["slow"]), Some(3));
    assert_eq!(code(&["blocked", "fine"]), Some(3));
    assert_eq!(code(&["fine", "manual", "off"]), Some(0));
    assert_eq!(code(&["-l", "servers"]), Some(1));

    let all = project.engine(&["ps"]);
    let all = String::from_utf8_lossy(&all.stdout).into_owned();
    let first = all.lines().next().unwrap_or_default();
    assert!(first.ends_with(&format!("Tiltfile on port {}", project.port())), "{all}");
    let names = ["✖ crashy", "… slow", "✖ broken", "… blocked", "✔ fine", "· manual", "· off"];
    let places: Vec<_> =
        names.iter().map(|it| all.find(it).unwrap_or_else(|| panic!("{it}: {all}"))).collect();
    assert!(places[0] < places[1] && places[3] < places[4], "{all}");
    for words in ["servers\n", "tests\n", "not yet", "http://localhost:1234/", "2 failed"] {
        assert!(all.contains(words), "{words}: {all}");
    }

    let table = project.out(&["get", "uiresources"]);
    let header: Vec<&str> = table.lines().next().unwrap_or_default().split_whitespace().collect();
    assert_eq!(header, ["NAME", "CREATED", "AT", "UPDATE", "RUNTIME", "AGE", "REASON"]);
    let row = table.lines().find(|it| it.starts_with("crashy ")).unwrap_or_default();
    assert!(row.contains("error") && row.contains("server exited"), "{table}");
    let one = project.out(&["get", "uiresource/crashy", "--no-headers"]);
    assert!(one.contains("server exited"), "{one}");
    let wide = project.out(&["get", "uiresources", "-o", "wide"]);
    assert!(wide.starts_with("NAME         CREATED AT\n"), "{wide}");
    let described = project.out(&["describe", "uiresource/crashy"]);
    let (_, reason) = described.split_once("\nReason: ").expect(&described);
    assert!(reason.starts_with("server exited"), "{reason}");
    assert!(reason.contains("last output: panic: cannot bind\n  since "), "{reason}");
    assert!(project.out(&["graph"]).contains("blocked (waiting)\n  waits for broken\n"));
}

#[test]
fn a_watched_status_goes_on_until_the_engine_ends() {
    let project = Project::new("local_resource('a', 'test -e good', deps=['good'])");
    let instance = project.up();
    let mut watch = project.command(&["status", "--watch"]);
    let mut watch = watch.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(watch.stdout.take().expect("it is piped")).lines();
    let mut line_with = |words: &str| {
        lines.find(|it| it.as_ref().expect("it is text").contains(words)).expect(words).expect("it")
    };
    line_with("✖ a ");
    project.write("good", "");
    line_with("✔ a ");
    project.out(&["stop"]);
    assert!(instance.wait().success());
    assert_eq!(watch.wait().expect("it is a child").code(), Some(7));
}

#[test]
fn bad_input_is_told_in_one_line_and_changes_nothing() {
    let project = Project::new(TILTFILE);
    let instance = project.up();
    instance.wait_for_update("fine", "ok");
    let lists = "(`engine status` lists all)";
    for (args, words) in [
        (&["why", "fnie"][..], format!("no resource \"fnie\"; did you mean fine? {lists}")),
        (&["trigger", "brken"], format!("no resource \"brken\"; did you mean broken? {lists}")),
        (&["logs", "nosuch"], format!("no resource \"nosuch\" {lists}")),
        (&["status", "nosuch"], format!("no resource \"nosuch\" {lists}")),
        (&["enable", "off", "nosuch"], format!("no resource \"nosuch\" {lists}")),
        (
            &["disable", "-l", "server"],
            format!("no resource has the label \"server\"; did you mean servers? {lists}"),
        ),
        (&["graph", "-o", "xx"], "invalid value \"xx\" for --output: text, dot or json".to_owned()),
        (
            &["logs", "--level", "foo"],
            "invalid value \"foo\" for --level: warn or error".to_owned(),
        ),
        (
            &["logs", "--source", "foo"],
            "invalid value \"foo\" for --source: all, build or runtime".to_owned(),
        ),
        (&["audit", "--last", "x"], "invalid value \"x\" for --last: a whole number".to_owned()),
        (
            &["stauts"],
            "unknown command \"stauts\"; did you mean status? (`engine --help` lists all)"
                .to_owned(),
        ),
    ] {
        let output = project.engine(args);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(output.stdout.is_empty(), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), format!("Error: {words}\n"));
    }
    assert!(project.out(&["status", "off"]).contains("disabled"));
    let formats = project.out(&["__completeNoDesc", "graph", "-o", ""]);
    assert_eq!(formats, "text\ndot\njson\n:4\n");

    assert_eq!(project.out(&["enable", "off"]), "Enabled off.\n");
    assert_eq!(project.out(&["disable", "off", "fine"]), "Disabled fine, off.\n");
    assert_eq!(project.out(&["snapshot", "create", "shot"]), "Wrote a snapshot to shot.\n");
    assert_eq!(project.out(&["audit"]), "No writes recorded.\n");
    assert!(project.out(&["verify-install"]).ends_with(" runs.\n"));
    let doctor = project.out(&["doctor"]);
    let running = format!("\nRunning: port {} (", project.port());
    for words in ["\nKubernetes: no kubeconfig: looked at ", "\nExtensions: ", &running] {
        assert!(doctor.contains(words), "{doctor}");
    }
}

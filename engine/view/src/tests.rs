//! What people and programs see of small worlds: resources, sessions, answers, and what a load declares.

use std::{collections::BTreeMap, sync::Arc};

use engine_core::{
    Action, Effects, Event, Loaded, Time, World,
    live_update::{Found, Roots},
    reason::Reason,
    resource::{EnableState, UpdateId},
    tiltfile::{LoadError, LoadId, MAIN},
    world::{DockerEvent, ServiceEvent, StartLoad},
};
use engine_model::{
    Caller, Cmd, CmdSpec, ComposeProject, ComposeSpec, ComposeTarget, Container, DeployTarget,
    Excerpt, Link, Load, LocalTarget, Manifest, Place, Port, Report, ResourceName, TargetId,
    TriggerMode, Url,
    container::{PROJECT_LABEL, SERVICE_LABEL},
    names,
};
use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::{
    declare::{self, DeclareSettings, Declarer},
    explain::explain,
    graph::graph,
    queue, reason, resource, session, tiltfile,
};

/// The start of time in these worlds: 2020-01-01.
const START: i64 = 1_577_836_800_000_000;

/// A world, and what it has asked for.
struct Rig {
    world: World,
    now: Time,
    updates: BTreeMap<ResourceName, UpdateId>,
    load: Option<LoadId>,
}

impl Rig {
    /// A world in which these resources have been loaded.
    fn new(manifests: Vec<Manifest>) -> Self {
        let (world, updates) = (World::default(), BTreeMap::new());
        let mut rig = Self { world, now: Time(START), updates, load: None };
        rig.step(Event::ClusterChanged { cluster: names::DOCKER, is_usable: true });
        rig.step(Event::TiltfileAdded { name: MAIN.into(), args: Vec::new() });
        let enabled =
            manifests.iter().map(|it| (it.name.as_str().into(), EnableState::Enabled)).collect();
        let manifests = manifests.into_iter().map(Arc::new).collect();
        let id = rig.load.expect("the Tiltfile runs");
        let loaded = Loaded { manifests, enabled, max_parallel: None };
        rig.step(Event::LoadEnded { id, result: Ok(loaded) });
        rig
    }

    /// Takes in an event; each takes a second.
    fn step(&mut self, event: Event) {
        self.now = self.now.plus_millis(1_000);
        let Effects { actions, .. } = self.world.step(self.now, event);
        for action in actions {
            match action {
                Action::StartUpdate { id, resource, .. } => drop(self.updates.insert(resource, id)),
                Action::StartLoad(StartLoad { id, .. }) => self.load = Some(id),
                _ => {}
            }
        }
    }

    fn end(&mut self, resource: &str, error: Option<&str>) {
        let id = self.updates[resource];
        self.step(Event::UpdateEnded { id, error: error.map(str::to_owned) });
    }

    fn change(&mut self, resource: &str, file: &str) {
        self.step(Event::FilesChanged {
            resource: resource.into(),
            target: TargetId::Local(resource.into()),
            files: vec![(file.into(), Found::PRESENT)],
            at: self.now,
            roots: Roots::new(),
        });
    }

    fn status(&self, name: &str) -> Value {
        let warnings = |span: &str| match span {
            "build:1" => vec!["deprecated".to_owned()],
            _ => Vec::new(),
        };
        let since = [Time(START); 2];
        resource::status(&self.world, name, since, &warnings).expect("it is known")
    }

    #[track_caller]
    fn check_resource(&self, name: &str, expected: &Expect) {
        check(&self.status(name), expected);
    }
}

#[track_caller]
fn check(value: &Value, expected: &Expect) {
    expected.assert_eq(&lines(value));
}

/// A line for each field; what is within one is short.
fn lines(value: &Value) -> String {
    let Some(fields) = value.as_object() else { return format!("{value}\n") };
    let lines: Vec<_> = fields.iter().map(|(key, value)| format!("{key}: {value}\n")).collect();
    lines.concat()
}

/// A local resource, from `name:dependency` or `name`.
fn local(notation: &str) -> Manifest {
    let (name, deps) = notation.split_once(':').unwrap_or((notation, ""));
    let deps = deps.split(',').filter(|it| !it.is_empty()).map(str::to_owned).collect();
    let target = LocalTarget {
        update_cmd_spec: Some(CmdSpec { args: vec!["make".to_owned()], ..CmdSpec::default() }),
        name: name.to_owned(),
        serve_cmd: Cmd::default(),
        links: None,
        deps: Some(vec![format!("/src/{name}")]),
        file_watch_ignores: None,
        allow_parallel: false,
        readiness_probe: None,
        serve_cmd_disable_source: None,
    };
    manifest(name, deps, DeployTarget::Local(Box::new(target)))
}

fn manifest(name: &str, deps: Vec<String>, deploy_target: DeployTarget) -> Manifest {
    Manifest {
        name: name.to_owned(),
        image_targets: None,
        deploy_target,
        trigger_mode: TriggerMode::Auto,
        resource_dependencies: Some(deps),
        source_tiltfile: String::new(),
        labels: BTreeMap::new(),
    }
}

/// A Compose service with a link.
fn service(name: &str) -> Manifest {
    let project = ComposeProject::default();
    let target = ComposeTarget {
        spec: ComposeSpec { service: name.to_owned(), project, image_maps: Vec::new() },
        name: name.to_owned(),
        service_yaml: String::new(),
        links: Some(vec![Link { url: url("http://example.com"), name: "docs".to_owned() }]),
        published_ports: Vec::new(),
        infer_links: None,
    };
    manifest(name, Vec::new(), DeployTarget::Compose(Box::new(target)))
}

fn url(text: &str) -> Url {
    Url { text: text.to_owned(), ..Url::default() }
}

#[test]
fn a_resource_that_waits_for_another_names_it() {
    let rig = Rig::new(vec![local("db"), local("web:db")]);
    rig.check_resource("web", &expect![[r#"
        lastDeployTime: null
        pendingBuildSince: null
        localResourceInfo: {}
        runtimeStatus: "not_applicable"
        updateStatus: "pending"
        specs: [{"id":"local:web","type":"local"}]
        order: 3
        disableStatus: {"enabledCount":1,"disabledCount":0,"state":"Enabled","sources":[{"configMap":{"name":"web-disable","key":"isDisabled"}}]}
        waiting: {"reason":"waiting-for-local","on":[{"group":"tilt.dev","apiVersion":"v1alpha1","kind":"UIResource","name":"db"}]}
        conditions: [{"type":"UpToDate","status":"False","lastTransitionTime":"2020-01-01T00:00:00.000000Z","reason":"UpdatePending"},{"type":"Ready","status":"False","lastTransitionTime":"2020-01-01T00:00:00.000000Z","reason":"UpdatePending"}]
    "#]]);
}

#[test]
fn a_resource_that_builds_shows_where_it_writes() {
    let rig = Rig::new(vec![local("web")]);
    rig.check_resource("web", &expect![[r#"
        lastDeployTime: null
        currentBuild: {"startTime":"2020-01-01T00:00:03.000000Z","spanID":"build:1"}
        pendingBuildSince: null
        localResourceInfo: {}
        runtimeStatus: "not_applicable"
        updateStatus: "in_progress"
        specs: [{"id":"local:web","type":"local"}]
        order: 2
        disableStatus: {"enabledCount":1,"disabledCount":0,"state":"Enabled","sources":[{"configMap":{"name":"web-disable","key":"isDisabled"}}]}
        conditions: [{"type":"UpToDate","status":"False","lastTransitionTime":"2020-01-01T00:00:00.000000Z","reason":"Unknown"},{"type":"Ready","status":"False","lastTransitionTime":"2020-01-01T00:00:00.000000Z","reason":"Unknown"}]
    "#]]);
}

#[test]
fn a_resource_that_failed_shows_its_error_and_warnings() {
    let mut rig = Rig::new(vec![local("web")]);
    rig.end("web", Some("exit 1"));
    rig.check_resource("web", &expect![[r#"
        lastDeployTime: null
        buildHistory: [{"startTime":"2020-01-01T00:00:03.000000Z","finishTime":"2020-01-01T00:00:04.000000Z","spanID":"build:1","error":"exit 1","warnings":["deprecated"]}]
        pendingBuildSince: null
        localResourceInfo: {}
        runtimeStatus: "not_applicable"
        updateStatus: "error"
        specs: [{"id":"local:web","type":"local"}]
        order: 2
        disableStatus: {"enabledCount":1,"disabledCount":0,"state":"Enabled","sources":[{"configMap":{"name":"web-disable","key":"isDisabled"}}]}
        conditions: [{"type":"UpToDate","status":"False","lastTransitionTime":"2020-01-01T00:00:00.000000Z","reason":"UpdateError"},{"type":"Ready","status":"False","lastTransitionTime":"2020-01-01T00:00:00.000000Z","reason":"UpdateError"}]
    "#]]);
}

#[test]
fn a_disabled_resource_shows_nothing_of_its_past() {
    let mut rig = Rig::new(vec![local("web")]);
    rig.end("web", Some("exit 1"));
    let state = EnableState::Disabled;
    rig.step(Event::EnableChanged { resource: "web".into(), state });
    rig.check_resource("web", &expect![[r#"
        lastDeployTime: null
        pendingBuildSince: null
        localResourceInfo: {}
        runtimeStatus: "none"
        updateStatus: "none"
        specs: [{"id":"local:web","type":"local"}]
        order: 2
        disableStatus: {"enabledCount":0,"disabledCount":1,"state":"Disabled","sources":[{"configMap":{"name":"web-disable","key":"isDisabled"}}]}
        conditions: [{"type":"UpToDate","status":"False","lastTransitionTime":"2020-01-01T00:00:00.000000Z","reason":"Disabled"},{"type":"Ready","status":"False","lastTransitionTime":"2020-01-01T00:00:00.000000Z","reason":"Disabled"}]
    "#]]);
}

#[test]
fn ports_of_a_service_come_before_its_links() {
    let mut rig = Rig::new(vec![service("db")]);
    let port = |host_port| Port { host_port, ..Port::default() };
    let label = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let container = Container {
        health: Some("healthy".to_owned()),
        is_running: true,
        ports: vec![port(80), port(8080)],
        labels: [label(PROJECT_LABEL, ""), label(SERVICE_LABEL, "db")].into(),
        ..Container::default()
    };
    let (resource, result) = ("db".into(), Ok(Some(Box::new(container))));
    rig.step(Event::Service(ServiceEvent::Applied { resource, started: rig.now, result }));
    let status = rig.status("db");
    check(
        &status["endpointLinks"],
        &expect![[r#"
        [{"url":"http://localhost:80/"},{"url":"http://localhost:8080/"},{"url":"http://example.com","name":"docs"}]
    "#]],
    );
    check(
        &status["composeResourceInfo"],
        &expect![[r#"
        healthStatus: "healthy"
    "#]],
    );
}

#[test]
fn a_tiltfile_is_shown_as_a_resource_and_as_an_object() {
    let mut rig = Rig::new(vec![local("web")]);
    rig.check_resource(MAIN, &expect![[r#"
        lastDeployTime: "2020-01-01T00:00:03.000000Z"
        pendingBuildSince: null
        runtimeStatus: "not_applicable"
        updateStatus: "ok"
        order: 1
        disableStatus: {"enabledCount":0,"disabledCount":0,"state":"Enabled","sources":null}
        conditions: [{"type":"UpToDate","status":"True","lastTransitionTime":"2020-01-01T00:00:00.000000Z"},{"type":"Ready","status":"True","lastTransitionTime":"2020-01-01T00:00:00.000000Z"}]
        buildHistory: [{"startTime":"2020-01-01T00:00:02.000000Z","finishTime":"2020-01-01T00:00:03.000000Z","spanID":"tiltfile:(Tiltfile):1"}]
    "#]]);
    let status = |rig: &Rig| tiltfile::status(&rig.world, MAIN).expect("there is one");
    check(
        &status(&rig),
        &expect![[r#"
        terminated: {"startedAt":"2020-01-01T00:00:02.000000Z","finishedAt":"2020-01-01T00:00:03.000000Z"}
    "#]],
    );
    rig.end("web", None);
    let reason = Reason::TRIGGER_CLI;
    rig.step(Event::Triggered { resource: MAIN.into(), reason, with_deps: false });
    check(
        &status(&rig),
        &expect![[r#"
        running: {"startedAt":"2020-01-01T00:00:05.000000Z"}
    "#]],
    );
}

#[test]
fn the_queue_lists_names_and_reasons() {
    let mut rig = Rig::new(vec![local("a"), local("b")]);
    assert_eq!(queue::config_map(&rig.world).spec, Value::Null);
    let reason = Reason::TRIGGER_CLI;
    rig.step(Event::Triggered { resource: "b".into(), reason, with_deps: false });
    check(
        &queue::config_map(&rig.world).spec,
        &expect![[r#"
        0-name: "b"
        0-reason-code: "32"
    "#]],
    );
}

#[test]
fn a_session_lists_what_is_waited_for_and_how_it_ended() {
    let mut rig = Rig::new(vec![local("db"), local("web:db")]);
    let status = |rig: &Rig, verdict| {
        let status = session::status(&rig.world, (7, Time(START)), verdict, rig.now);
        let targets: String =
            status["targets"].as_array().into_iter().flatten().map(lines).collect();
        format!("done: {}, error: {}\n{targets}", status["done"], status["error"])
    };
    expect![[r#"
        done: false, error: null
        name: "db:update"
        type: "job"
        resources: ["db"]
        state: {"active":{"startTime":"2020-01-01T00:00:03.000000Z","ready":false,"lastReadyTime":null}}
        name: "tiltfile:update"
        type: "job"
        resources: ["(Tiltfile)"]
        state: {"terminated":{"startTime":"2020-01-01T00:00:02.000000Z","finishTime":"2020-01-01T00:00:03.000000Z"}}
        name: "web:update"
        type: "job"
        resources: ["web"]
        state: {"waiting":{"waitReason":"waiting-for-local"}}
    "#]].assert_eq(&status(&rig, None));
    rig.end("db", Some("exit 1"));
    expect![[r#"
        done: true, error: "exit 1"
        name: "db:update"
        type: "job"
        resources: ["db"]
        state: {"terminated":{"startTime":"2020-01-01T00:00:03.000000Z","finishTime":"2020-01-01T00:00:04.000000Z","error":"exit 1"}}
        name: "tiltfile:update"
        type: "job"
        resources: ["(Tiltfile)"]
        state: {"terminated":{"startTime":"2020-01-01T00:00:02.000000Z","finishTime":"2020-01-01T00:00:03.000000Z"}}
        name: "web:update"
        type: "job"
        resources: ["web"]
        state: {"waiting":{"waitReason":"waiting-for-dep"}}
    "#]].assert_eq(&status(&rig, Some("exit 1")));
}

#[test]
fn why_follows_a_chain_of_causes_down_to_a_file() {
    let mut rig = Rig::new(vec![local("gen"), local("web:gen")]);
    rig.end("gen", None);
    rig.end("web", None);
    rig.change("gen", "/src/gen/a");
    rig.change("web", "/src/web/made");
    rig.end("gen", None);
    let why = |rig: &Rig| explain(&rig.world, "web").expect("there is such a resource");
    check(
        &why(&rig)["lastRun"],
        &expect![[r#"
            update: 4
            startedAt: "2020-01-01T00:00:08.000000Z"
            reason: "Changed Files"
            isOnlyReason: true
            files: [{"path":"/src/web/made","changedAt":"2020-01-01T00:00:06.000000Z","during":[{"resource":"gen","update":3,"run":{"update":3,"startedAt":"2020-01-01T00:00:06.000000Z","reason":"Changed Files","isOnlyReason":true,"endedAt":"2020-01-01T00:00:08.000000Z","error":null,"files":[{"path":"/src/gen/a","changedAt":"2020-01-01T00:00:05.000000Z","during":[{"resource":"web","update":2,"run":{"update":2,"startedAt":"2020-01-01T00:00:04.000000Z","reason":"Initial Build","isOnlyReason":true,"endedAt":"2020-01-01T00:00:05.000000Z","error":null,"waitedFor":{"resource":"gen","update":1,"run":{"update":1,"startedAt":"2020-01-01T00:00:03.000000Z","reason":"Initial Build","isOnlyReason":true,"endedAt":"2020-01-01T00:00:04.000000Z","error":null}}}}]}],"moreFiles":null}}]}]
            moreFiles: null
        "#]],
    );
}

#[test]
fn why_names_what_is_waited_for() {
    let why = |rig: &Rig, name: &str| explain(&rig.world, name).expect("there is such a resource");
    let mut rig = Rig::new(vec![service("cache")]);
    rig.step(Event::Docker(DockerEvent::Lost { error: "no Docker".to_owned() }));
    rig.end("cache", Some("no answer"));
    check(
        &why(&rig, "cache")["hold"],
        &expect![[r#"
        reason: "waiting-for-cluster"
        on: [{"cluster":"docker","error":"no Docker"}]
    "#]],
    );
    let mut rig = Rig::new(vec![local("db"), local("web:db")]);
    rig.end("db", Some("exit 1"));
    check(
        &why(&rig, "web"),
        &expect![[r#"
            resource: "web"
            updateStatus: "pending"
            runtimeStatus: "not_applicable"
            runtimeError: null
            server: null
            container: null
            pod: null
            kept: []
            triggerMode: 0
            disabled: false
            running: false
            lastRun: null
            pending: {"reason":"Initial Build","isOnlyReason":true,"files":[],"moreFiles":null,"configFiles":null,"moreConfigFiles":null,"since":null,"needsTrigger":false}
            hold: {"reason":"waiting-for-dep","on":[{"resource":"db","updateStatus":"error","runtimeStatus":"not_applicable","disabled":false,"needsTrigger":false,"error":"exit 1"}]}
        "#]],
    );
}

#[test]
fn the_graph_has_all_resources() {
    let mut rig = Rig::new(vec![local("db"), local("web:db")]);
    rig.end("db", None);
    let graph = graph(&rig.world, rig.now.plus_millis(3_000));
    let nodes: String = graph["resources"].as_array().into_iter().flatten().map(lines).collect();
    expect![[r#"
        name: "db"
        deps: []
        updateStatus: "ok"
        runtimeStatus: "not_applicable"
        triggerMode: 0
        disabled: false
        hold: null
        lastUpdateSecondsAgo: 3
        name: "web"
        deps: ["db"]
        updateStatus: "in_progress"
        runtimeStatus: "not_applicable"
        triggerMode: 0
        disabled: false
        hold: null
        lastUpdateSecondsAgo: null
    "#]]
    .assert_eq(&nodes);
}

#[test]
fn a_load_declares_objects_switches_and_targets() {
    let load = Load {
        manifests: vec![local("web"), service("db")],
        enabled_manifests: Some(vec!["web".to_owned()]),
        config_files: vec!["/src/Tiltfile".to_owned()],
        ..Load::default()
    };
    let labels = BTreeMap::from([("team".to_owned(), "a".to_owned())]);
    let declarer = Declarer { name: MAIN, path: "/src/Tiltfile", labels: &labels };
    let settings = DeclareSettings {
        is_ci: false,
        tiltfile: "/src/Tiltfile",
        context: None,
        namespace: Some("dev"),
    };
    let declared = declare::load(&World::default(), &declarer, &load, &settings);
    let mut out = String::new();
    for it in declared.objects.iter().chain(&declared.switches) {
        assert_eq!(it.owner.as_ref().map(|it| it.name.as_str()), Some(MAIN));
        let notes = json!([it.labels, it.annotations]);
        out += &format!("{:?} {}: {} {notes}\n", it.id.kind, it.id.name, it.spec);
    }
    for it in &declared.targets {
        out += &format!("target {}: {:?}\n", it.id, it.paths);
    }
    expect![[r#"
        UIResource web: {} [{"team":"a"},{"tilt.dev/resource":"web"}]
        UIButton web-stopbuild: {"location":{"componentID":"web","componentType":"Resource"},"text":"Stop Build","iconName":"cancel"} [{"team":"a"},{"tilt.dev/resource":"(Tiltfile)","tilt.dev/uibutton-type":"StopBuild"}]
        ToggleButton web-disable: {"location":{"componentID":"web","componentType":"Resource"},"on":{"text":"Enable Resource"},"off":{"text":"Disable Resource","requiresConfirmation":true},"defaultOn":false,"stateSource":{"configMap":{"name":"web-disable","key":"isDisabled","onValue":"true","offValue":"false"}}} [{"team":"a"},{"tilt.dev/resource":"(Tiltfile)","tilt.dev/uibutton-type":"DisableToggle"}]
        Cmd web:update: {"args":["make"],"disableSource":{"configMap":{"name":"web-disable","key":"isDisabled"}}} [{"team":"a"},{"tilt.dev/log-span-id":"cmd:web:update","tilt.dev/managed-by":"local_resource","tilt.dev/resource":"web"}]
        UIResource db: {} [{"team":"a"},{"tilt.dev/resource":"db"}]
        UIButton db-stopbuild: {"location":{"componentID":"db","componentType":"Resource"},"text":"Stop Build","iconName":"cancel"} [{"team":"a"},{"tilt.dev/resource":"(Tiltfile)","tilt.dev/uibutton-type":"StopBuild"}]
        ToggleButton db-disable: {"location":{"componentID":"db","componentType":"Resource"},"on":{"text":"Enable Resource"},"off":{"text":"Disable Resource","requiresConfirmation":true},"defaultOn":false,"stateSource":{"configMap":{"name":"db-disable","key":"isDisabled","onValue":"true","offValue":"false"}}} [{"team":"a"},{"tilt.dev/resource":"(Tiltfile)","tilt.dev/uibutton-type":"DisableToggle"}]
        DockerComposeService db: {"service":"db","project":{},"disableSource":{"configMap":{"name":"db-disable","key":"isDisabled"}}} [{"team":"a"},{"tilt.dev/log-span-id":"dockercompose:db","tilt.dev/managed-by":"buildcontrol","tilt.dev/resource":"db"}]
        Cluster docker: {"connection":{"docker":{}}} [{"team":"a"},{"tilt.dev/resource":"(Tiltfile)"}]
        Session Tiltfile: {"tiltfilePath":"/src/Tiltfile","exitCondition":"manual","ci":{"timeout":"30m0s","readinessTimeout":"5m0s"}} [{"team":"a"},{"tilt.dev/resource":"(Tiltfile)"}]
        UIResource (Tiltfile): {} [{"team":"a"},{"tilt.dev/resource":"(Tiltfile)"}]
        FileWatch local:web: {"watchedPaths":["/src/web"],"disableSource":{"configMap":{"name":"web-disable","key":"isDisabled"}}} [{"team":"a"},{"tilt.dev/resource":"web","tilt.dev/target-id":"local:web"}]
        FileWatch configs:(Tiltfile): {"watchedPaths":["/src/Tiltfile"]} [{"team":"a"},{"tilt.dev/resource":"(Tiltfile)","tilt.dev/target-id":"configs:(Tiltfile)"}]
        ConfigMap web-disable: {"isDisabled":"false"} [{},{"tilt.dev/resource":"(Tiltfile)"}]
        ConfigMap db-disable: {"isDisabled":"true"} [{},{"tilt.dev/resource":"(Tiltfile)"}]
        target local:web: ["/src/web"]
        target configs:(Tiltfile): ["/src/Tiltfile"]
    "#]].assert_eq(&out);
}

#[test]
fn the_reason_of_a_tiltfile_error_shows_the_lines_around_it() {
    let mut rig = Rig::new(vec![local("db")]);
    rig.step(Event::ArgsChanged { tiltfile: MAIN.into(), args: vec!["a".to_owned()] });
    let place = |line, column| Place { file: "/src/Tiltfile".to_owned(), line, column };
    let report = Report {
        text: "Traceback: hunter2".to_owned(),
        headline: "Tiltfile:9:17: fail: no (did you mean hunter2?)".to_owned(),
        more: vec!["because of hunter2".to_owned()],
        code: "tiltfile::evaluation".to_owned(),
        place: Some(place(9, 6)),
        excerpt: Some(Excerpt {
            first_line: 8,
            lines: vec!["def f():".to_owned(), "\tx = hunter2('no')".to_owned(), String::new()],
            width: 7,
        }),
        stack: vec![Caller { place: Some(place(12, 1)), function: "<toplevel>".to_owned() }],
        help: Some("did you mean `x`?".to_owned()),
    };
    let id = rig.load.expect("the Tiltfile runs");
    rig.step(Event::LoadEnded { id, result: Err(LoadError::Tiltfile(Box::new(report))) });
    let found = reason::reason(&rig.world, MAIN).expect("it is known");
    let shown = json!(found.presented("engine", |it| it.replace("hunter2", "[secret]")));
    expect![[r#"
        resource: "(Tiltfile)"
        state: "failed"
        headline: "Tiltfile:9:17: fail: no (did you mean [secret]?)"
        detail: ["because of [secret]"," 8 │ def f():"," 9 │ \tx = [secret]('no')","   │ \t    ^^^^^^^","10 │","called from <toplevel> at /src/Tiltfile:12:1"]
        since: "2020-01-01T00:00:05.000000Z"
        waitsFor: []
        cause: null
        wayOut: "did you mean `x`? fix the Tiltfile; saving it loads it again"
        place: {"file":"/src/Tiltfile","line":9,"column":6}
        firstError: {"file":"/src/Tiltfile","line":9,"column":6,"message":"Tiltfile:9:17: fail: no (did you mean [secret]?)"}
        report: {"text":"Traceback: [secret]","headline":"Tiltfile:9:17: fail: no (did you mean [secret]?)","more":["because of [secret]"],"code":"tiltfile::evaluation","place":{"file":"/src/Tiltfile","line":9,"column":6},"excerpt":{"firstLine":8,"lines":["def f():","\tx = [secret]('no')",""],"width":7},"stack":[{"place":{"file":"/src/Tiltfile","line":12,"column":1},"function":"<toplevel>"}],"help":"did you mean `x`?"}
    "#]].assert_eq(&lines(&shown));
}

#[test]
fn a_reason_follows_what_it_waits_for_to_the_root_cause() {
    let mut rig = Rig::new(vec![local("db"), local("api:db"), local("web:api")]);
    let all = |rig: &Rig| {
        let find = |it: &str| reason::reason(&rig.world, it).map(Arc::new);
        let line = |name| {
            let found = reason::resolve(name, &find)
                .expect("it is known")
                .presented("engine", str::to_owned);
            let way_out = found.way_out.map_or(String::new(), |it| format!(" ({it})"));
            format!("{name}: {:?}: {}{way_out}\n", found.state, found.headline)
        };
        ["db", "api", "web"].map(line).concat()
    };
    expect![[r#"
        db: Updating: updating: Initial Build
        api: Waiting: waiting for db: updating: Initial Build (allow_parallel=True lets local resources update at the same time)
        web: Waiting: waiting for db: updating: Initial Build (allow_parallel=True lets local resources update at the same time)
    "#]].assert_eq(&all(&rig));
    rig.end("db", Some("exit 1"));
    expect![[r#"
        db: Failed: exit 1 (save one of its files or run `engine trigger db` to try again; `engine logs db` shows the output)
        api: Waiting: waiting for db: exit 1 (save one of its files or run `engine trigger db` to try again; `engine logs db` shows the output)
        web: Waiting: waiting for api, which waits for db: exit 1 (save one of its files or run `engine trigger db` to try again; `engine logs db` shows the output)
    "#]].assert_eq(&all(&rig));
}

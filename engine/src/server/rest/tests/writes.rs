//! What clients create, change and delete.

use expect_test::expect;
use serde_json::json;

use super::*;

#[tokio::test]
async fn objects_are_created_once_and_if_they_make_sense() {
    let server = Server::new();
    for (path, body, expected) in [
        (
            "cmds?fieldValidation=Strict",
            r#"{"apiVersion":"tilt.dev/v1alpha1","kind":"Cmd","metadata":{"name":"x","namespace":"default"},"spec":{"dir":"","args":["a"]}}"#,
            expect![[
                r#"201 {"kind":"Cmd","apiVersion":"tilt.dev/v1alpha1","metadata":{"name":"x"},"spec":{"args":["a"]},"status":{}}"#
            ]],
        ),
        (
            "cmds",
            r#"{"metadata":{"name":"x"}}"#,
            expect![[r#"409 cmds.tilt.dev "x" already exists"#]],
        ),
        (
            "filewatches",
            r#"{"metadata":{"name":"bad"},"spec":{"watchedPaths":[]}}"#,
            expect![[
                r#"422 FileWatch.tilt.dev "bad" is invalid: spec.watchedPaths: Required value: cannot be an empty list"#
            ]],
        ),
        (
            "portforwards",
            r#"{"metadata":{"name":"pf"},"spec":{"podName":"p","forwards":[{"containerPort":0,"localPort":8000}]}}"#,
            expect![[
                r#"422 PortForward.tilt.dev "pf" is invalid: spec.forwards[0].containerPort: Invalid value: 0: ContainerPort must be in the range (0, 65535]"#
            ]],
        ),
        (
            "uibuttons",
            r#"{"metadata":{"name":"b"},"spec":{"text":"","location":{"componentID":"","componentType":"x"}}}"#,
            expect![[
                r#"422 UIButton.tilt.dev "b" is invalid: [spec.text: Required value: Button text cannot be empty, spec.location.componentID: Required value: Parent component ID is required]"#
            ]],
        ),
        (
            "togglebuttons",
            r#"{"metadata":{"name":"b"},"spec":{"stateSource":{"configMap":{"name":"c","key":"k","onValue":"x","offValue":"x"}}}}"#,
            expect![[
                r#"422 ToggleButton.tilt.dev "b" is invalid: Spec.StateSource.ConfigMap: Invalid value: {"name":"c","key":"k","onValue":"x","offValue":"x"}: OnValue and OffValue must differ"#
            ]],
        ),
        (
            "kubernetesdiscoveries",
            r#"{"metadata":{"name":"kd"},"spec":{"watches":[{"namespace":"n"}]}}"#,
            expect![[
                r#"201 {"kind":"KubernetesDiscovery","apiVersion":"tilt.dev/v1alpha1","metadata":{"name":"kd"},"spec":{"watches":[{"namespace":"n"}],"cluster":"default"},"status":{"monitorStartTime":null,"pods":null}}"#
            ]],
        ),
    ] {
        server.check("POST", path, JSON, body, expected).await;
    }
}

#[tokio::test]
async fn what_cannot_be_understood_is_not_created() {
    let server = Server::new();
    for (path, body, expected) in [
        (
            "cmds",
            r#"{"metadata":{"name":"a/b"}}"#,
            expect![[
                r#"422 Cmd.tilt.dev "a/b" is invalid: metadata.name: Invalid value: "a/b": may not contain '/'"#
            ]],
        ),
        (
            "cmds",
            r#"{"metadata":{}}"#,
            expect![[
                r#"422 Cmd.tilt.dev "" is invalid: metadata.name: Required value: name or generateName is required"#
            ]],
        ),
        (
            "configmaps",
            r#"{"metadata":{"name":"x"},"data":{"a":true}}"#,
            expect![[
                r#"400 ConfigMap in version "v1alpha1" cannot be handled as a ConfigMap: json: cannot unmarshal bool into Go struct field ConfigMap.data of type string"#
            ]],
        ),
        (
            "cmds",
            r#"{"kind":"FileWatch","metadata":{"name":"x3"}}"#,
            expect![[
                r#"400 FileWatch in version "v1alpha1" cannot be handled as a Cmd: converting (v1alpha1.FileWatch) to (v1alpha1.Cmd): unknown conversion"#
            ]],
        ),
        (
            "cmds",
            r#"{"metadata":{"name":"x3"},"spec":[]}"#,
            expect![[
                r#"400 Cmd in version "v1alpha1" cannot be handled as a Cmd: json: cannot unmarshal array into Go struct field Cmd.spec of type v1alpha1.CmdSpec"#
            ]],
        ),
        (
            "cmds?fieldValidation=Strict",
            r#"{"metadata":{"name":"x3","foo":1},"spec":{"bogus":1,"readinessProbe":{"foo":1}},"zzz":1}"#,
            expect![[
                r#"400 Cmd in version "v1alpha1" cannot be handled as a Cmd: strict decoding error: unknown field "metadata.foo", unknown field "spec.bogus", unknown field "spec.readinessProbe.foo", unknown field "zzz""#
            ]],
        ),
        (
            "cmds",
            "nonsense",
            expect![
                "400 the object provided is unrecognized (must be of type Cmd): couldn't get version/kind; json parse error: invalid character 'o' in literal null (expecting 'u') (6e6f6e73656e7365)"
            ],
        ),
        (
            "cmds",
            "",
            expect![
                "400 the object provided is unrecognized (must be of type Cmd): couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)"
            ],
        ),
        (
            "cmds?dryRun=x",
            r#"{"metadata":{"name":"dry"}}"#,
            expect![[
                r#"422 CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["x"]: supported values: "All""#
            ]],
        ),
        (
            "cmds/x",
            "{}",
            expect!["405 the server does not allow this method on the requested resource"],
        ),
        ("bogus", "{}", expect!["404 the server could not find the requested resource"]),
    ] {
        server.check("POST", path, JSON, body, expected).await;
    }
}

#[tokio::test]
async fn a_dry_run_stores_nothing() {
    let server = Server::new();
    let body = r#"{"metadata":{"name":"dry"},"spec":{"args":["x"]}}"#;
    let (status, text) = server.text("POST", "cmds?dryRun=All", &[], body).await;
    assert_eq!(status, 201, "{text}");
    assert!(server.store.get(Kind::Cmd, "dry").is_none());
    let before = server.store.version();
    server
        .text(
            "PATCH",
            "cmds/web%3Aupdate?dryRun=All",
            &[("Content-Type", MERGE)],
            r#"{"spec":{"dir":"/x"}}"#,
        )
        .await;
    server.text("DELETE", "cmds/web%3Aupdate?dryRun=All", &[], "").await;
    assert_eq!(server.store.version(), before);
}

#[tokio::test]
async fn unknown_fields_are_warned_about() {
    let server = Server::new();
    let body = r#"{"metadata":{"name":"x"},"spec":{"bogus":1}}"#;
    let response = server.send("POST", "cmds", &[], body).await;
    assert_eq!(response.headers()["warning"], r#"299 - "unknown field \"spec.bogus\"""#);
}

#[tokio::test]
async fn a_replacement_needs_the_version_that_was_read() {
    let server = Server::new();
    let version = server.store.get(Kind::Cmd, "web:update").unwrap().resource_version();
    let modified = r#"409 Operation cannot be fulfilled on cmds.tilt.dev "web:update": the object has been modified; please apply your changes to the latest version and try again"#;
    for (name, body, expected) in [
        ("web:update", r#"{"metadata":{"name":"web:update"}}"#.to_owned(), modified),
        ("web:update", r#"{"metadata":{"name":"web:update","resourceVersion":"1"}}"#.to_owned(), modified),
        ("web:update", r#"{"metadata":{"resourceVersion":"1"}}"#.to_owned(), "400 the name of the object (web:update based on URL) was undeterminable: name must be provided"),
        ("web:update", r#"{"metadata":{"name":"d"}}"#.to_owned(), "400 the name of the object (d) does not match the name on the URL (web:update)"),
        ("nope", r#"{"metadata":{"name":"nope","resourceVersion":"1"}}"#.to_owned(), r#"404 cmds.tilt.dev "nope" not found"#),
        (
            "web:update",
            json!({"metadata": {"name": "web:update", "resourceVersion": version.to_string()}, "spec": {"dir": "/x"}, "status": {"ready": true}}).to_string(),
            r#"200 {"kind":"Cmd","apiVersion":"tilt.dev/v1alpha1","metadata":{"name":"web:update"},"spec":{"dir":"/x"},"status":{}}"#,
        ),
    ] {
        let (status, text) = server.text("PUT", &format!("cmds/{name}"), &[], &body).await;
        let mut value: Value = serde_json::from_str(&text).unwrap();
        strip(&mut value);
        let shown = if value["kind"] == "Status" { value["message"].as_str().unwrap().to_owned() } else { value.to_string() };
        assert_eq!(format!("{status} {shown}"), expected);
    }
}

#[tokio::test]
async fn the_status_is_written_apart_from_the_rest() {
    let server = Server::new();
    server
        .check(
            "PATCH",
            "cmds/web:update/status",
            MERGE,
            r#"{"status":{"ready":true},"spec":{"dir":"/zzz"},"metadata":{"labels":{"a":"b"}}}"#,
            expect![[r#"200 {"kind":"Cmd","apiVersion":"tilt.dev/v1alpha1","metadata":{"name":"web:update"},"spec":{"args":["true"]},"status":{"ready":true}}"#]],
        )
        .await;
    server
        .check(
            "PATCH",
            "cmds/web:update",
            MERGE,
            r#"{"status":{"ready":false},"spec":{"dir":"/y"}}"#,
            expect![[r#"200 {"kind":"Cmd","apiVersion":"tilt.dev/v1alpha1","metadata":{"name":"web:update"},"spec":{"args":["true"],"dir":"/y"},"status":{"ready":true}}"#]],
        )
        .await;
    let put = r#"{"metadata":{"name":"cm"}}"#;
    server
        .check(
            "PUT",
            "configmaps/cm/status",
            JSON,
            put,
            expect!["404 the server could not find the requested resource"],
        )
        .await;
}

#[tokio::test]
async fn patches_of_every_format_are_applied() {
    let server = Server::new();
    for (path, media_type, body, expected) in [
        (
            "configmaps/cm",
            MERGE,
            r#"{"data":{"one":null,"two":"2"}}"#,
            expect![[
                r#"200 {"kind":"ConfigMap","apiVersion":"tilt.dev/v1alpha1","metadata":{"name":"cm","labels":{"l":"m"}},"data":{"two":"2"}}"#
            ]],
        ),
        (
            "configmaps/cm",
            STRATEGIC,
            r#"{"data":{"three":"3"}}"#,
            expect![[
                r#"200 {"kind":"ConfigMap","apiVersion":"tilt.dev/v1alpha1","metadata":{"name":"cm","labels":{"l":"m"}},"data":{"three":"3","two":"2"}}"#
            ]],
        ),
        (
            "configmaps/cm",
            "application/json-patch+json",
            r#"[{"op":"remove","path":"/data/two"}]"#,
            expect![[
                r#"200 {"kind":"ConfigMap","apiVersion":"tilt.dev/v1alpha1","metadata":{"name":"cm","labels":{"l":"m"}},"data":{"three":"3"}}"#
            ]],
        ),
        (
            "configmaps/cm?fieldManager=me",
            "application/apply-patch+yaml",
            "apiVersion: tilt.dev/v1alpha1\nkind: ConfigMap\nmetadata: {name: cm}\ndata: {four: '4'}",
            expect![[
                r#"200 {"kind":"ConfigMap","apiVersion":"tilt.dev/v1alpha1","metadata":{"name":"cm","labels":{"l":"m"}},"data":{"four":"4","three":"3"}}"#
            ]],
        ),
        (
            "configmaps/new?fieldManager=me",
            "application/apply-patch+yaml",
            "apiVersion: tilt.dev/v1alpha1\nkind: ConfigMap\nmetadata: {name: new}\ndata: {a: b}",
            expect![[
                r#"201 {"kind":"ConfigMap","apiVersion":"tilt.dev/v1alpha1","metadata":{"name":"new"},"data":{"a":"b"}}"#
            ]],
        ),
        (
            "configmaps/new",
            "application/apply-patch+yaml",
            "data: {a: b}",
            expect![[
                r#"422 PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch"#
            ]],
        ),
        ("configmaps/nope", MERGE, "{}", expect![[r#"404 configmaps.tilt.dev "nope" not found"#]]),
        (
            "configmaps/cm",
            STRATEGIC,
            r#"{"data":{"q":7}}"#,
            expect![[
                r#"422  "" is invalid: patch: Invalid value: "map[data:map[q:7]]": cannot convert int64 to string"#
            ]],
        ),
        (
            "configmaps/cm?fieldValidation=Strict",
            STRATEGIC,
            r#"{"bogus":{"q":7}}"#,
            expect![[
                r#"422  "" is invalid: patch: Invalid value: "map[bogus:map[q:7]]": strict decoding error: unknown field "bogus""#
            ]],
        ),
        (
            "configmaps/cm",
            MERGE,
            r#"{"metadata":{"name":"other"}}"#,
            expect!["400 the name of the object (other) does not match the name on the URL (cm)"],
        ),
        (
            "configmaps/cm",
            MERGE,
            r#"{"metadata":{"uid":"1"}}"#,
            expect![[
                r#"422 ConfigMap.tilt.dev "cm" is invalid: metadata.uid: Invalid value: "1": field is immutable"#
            ]],
        ),
        (
            "configmaps/cm",
            MERGE,
            r#"{"metadata":{"resourceVersion":"1"}}"#,
            expect![[
                r#"409 Operation cannot be fulfilled on configmaps.tilt.dev "cm": the object has been modified; please apply your changes to the latest version and try again"#
            ]],
        ),
        ("configmaps/cm", JSON, "{}", expect!["415 415: Unsupported Media Type"]),
    ] {
        server.check("PATCH", path, media_type, body, expected).await;
    }
}

#[tokio::test]
async fn a_patch_without_effect_changes_nothing() {
    let server = Server::new();
    let before = server.store.version();
    let (status, _) = server
        .text("PATCH", "configmaps/cm", &[("Content-Type", MERGE)], r#"{"data":{"one":"1"}}"#)
        .await;
    assert_eq!((status, server.store.version()), (200, before));
}

#[tokio::test]
async fn yaml_is_read_and_deep_nesting_refused() {
    let server = Server::new();
    let yaml = [("Content-Type", "application/yaml")];
    let (status, text) =
        server.text("POST", "configmaps", &yaml, "metadata:\n  name: z\ndata:\n  a: 'yes'\n").await;
    assert_eq!(status, 201, "{text}");
    assert_eq!(server.store.get(Kind::ConfigMap, "z").unwrap().spec(), json!({"a": "yes"}));
    let (status, _) = server.text("POST", "configmaps", &yaml, &"[".repeat(9_000)).await;
    assert_eq!(status, 400);
    let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    for media_type in ["application/yaml", "application/json"] {
        let (status, _) =
            server.text("POST", "configmaps", &[("Content-Type", media_type)], &deep).await;
        assert_eq!(status, 400);
    }
}

#[tokio::test]
async fn deletion_waits_for_finalizers() {
    let server = Server::new();
    let body = r#"{"metadata":{"name":"x","finalizers":["a.b/c"]}}"#;
    server.text("POST", "cmds", &[], body).await;
    let (status, text) = server.text("DELETE", "cmds/x", &[], "").await;
    assert!(status == 200 && text.contains("deletionTimestamp"), "{text}");
    assert!(server.store.get(Kind::Cmd, "x").is_some());
    server
        .text("PATCH", "cmds/x", &[("Content-Type", MERGE)], r#"{"metadata":{"finalizers":null}}"#)
        .await;
    assert!(server.store.get(Kind::Cmd, "x").is_none());
    let (status, _) =
        server.text("DELETE", "cmds/web:update", &[], r#"{"preconditions":{"uid":"other"}}"#).await;
    assert_eq!(status, 409);
    let (status, _) = server.text("DELETE", "configmaps?labelSelector=l", &[], "").await;
    assert_eq!((status, server.store.list(Kind::ConfigMap).len()), (200, 0));
}

#[tokio::test]
async fn fields_that_are_given_twice_are_told() {
    let server = Server::new();
    let body = r#"{"metadata": {"name": "d"}, "data": {"a": "1", "a": "2"}, "zz": 1}"#;
    server
        .check(
            "POST",
            "configmaps?fieldValidation=Strict",
            JSON,
            body,
            expect![[
                r#"400 ConfigMap in version "v1alpha1" cannot be handled as a ConfigMap: strict decoding error: duplicate field "data.a", unknown field "zz""#
            ]],
        )
        .await;
    let response = server.send("POST", "configmaps", &[("Content-Type", JSON)], body).await;
    let warnings: Vec<_> = response.headers().get_all(header::WARNING).iter().collect();
    assert_eq!(
        warnings,
        [r#"299 - "duplicate field \"data.a\"""#, r#"299 - "unknown field \"zz\"""#]
    );
}

#[tokio::test]
async fn an_object_that_is_being_deleted_gets_no_new_finalizers() {
    let server = Server::new();
    let body = r#"{"metadata": {"name": "f", "finalizers": ["x.io/a"]}}"#;
    server.send("POST", "configmaps", &[("Content-Type", JSON)], body).await;
    let (_, text) = server.text("DELETE", "configmaps/f", &[], "").await;
    let marked: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], 0);
    server
        .check(
            "PATCH",
            "configmaps/f",
            MERGE,
            r#"{"metadata": {"finalizers": ["x.io/a", "x.io/b"]}}"#,
            expect![[
                r#"422 ConfigMap.tilt.dev "f" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"x.io/b"}"#
            ]],
        )
        .await;
    let patch = r#"{"metadata": {"finalizers": null}}"#;
    server.send("PATCH", "configmaps/f", &[("Content-Type", MERGE)], patch).await;
    assert_eq!(server.send("GET", "configmaps/f", &[], "").await.status(), 404);
}

#[tokio::test]
async fn what_is_applied_has_to_make_sense_by_itself() {
    let server = Server::new();
    for (body, expected) in [
        ("metadata: {name: new}", expect!["400 invalid object type: /, Kind="]),
        (
            "apiVersion: tilt.dev/v1alpha1\nkind: ConfigMap\nmetadata: {name: new}\nbogus: 1",
            expect![
                "500 failed to create typed patch object (/new; tilt.dev/v1alpha1, Kind=ConfigMap): .bogus: field not declared in schema"
            ],
        ),
    ] {
        let path = "configmaps/new?fieldManager=me";
        server.check("PATCH", path, "application/apply-patch+yaml", body, expected).await;
    }
}

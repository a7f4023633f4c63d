//! Checks of the pure parts of applying: the three-way merge, the patches and the order.

use serde_json::{Value, json};

use super::{
    Drift, Entry, Step,
    merge::merge,
    ownership::{Operation, is_as_written, owns},
    patch::{of_this_version, patch, written},
    path, shape, tiers,
};

/// Merges, and tells the patch that would be sent and what is kept.
fn check(
    (group, kind): (&str, &str),
    (original, wanted, live): (Value, Value, Value),
    drift: Drift,
    expected: &Value,
    kept: &[&str],
) {
    let original = Some(&original).filter(|it| !it.is_null());
    let merged = merge(original, &wanted, &live, shape::of_kind(group, kind), drift);
    let sent = told_patch(&patch(&live, &merged.object));
    assert_eq!(&sent, expected, "{wanted} over {live}");
    let told: Vec<String> = merged
        .kept
        .iter()
        .map(|it| {
            let theirs = it.theirs.as_ref().map_or_else(|| "nothing".to_owned(), Value::to_string);
            format!("{}: {theirs}, not {}", path(&it.path), it.ours)
        })
        .collect();
    assert_eq!(told, kept, "{wanted} over {live}");
}

/// A patch as the changed fields of an object: null for what is removed.
fn told_patch(operations: &[Value]) -> Value {
    let mut told = Value::Null;
    for operation in operations.iter().filter(|it| it["op"] != "test") {
        let mut place = &mut told;
        for key in operation["path"].as_str().unwrap().split('/').skip(1) {
            place = &mut place[key.replace("~1", "/").replace("~0", "~")];
        }
        *place = operation["value"].clone();
    }
    told
}

const CONFIG_MAP: (&str, &str) = ("", "ConfigMap");
const CUSTOM: (&str, &str) = ("example.com", "Widget");
const POD: (&str, &str) = ("", "Pod");
const SERVICE: (&str, &str) = ("", "Service");

#[test]
fn a_field_is_written_when_what_is_wanted_of_it_changed() {
    let keep = Drift::Keep;
    for (original, wanted, live, sent) in [
        // Changed, added, taken away.
        (json!({"a": 1}), json!({"a": 2}), json!({"a": 1}), json!({"a": 2})),
        (json!({"a": 1}), json!({"a": 1, "b": 2}), json!({"a": 1}), json!({"b": 2})),
        (json!({"a": 1, "b": 2}), json!({"a": 1}), json!({"a": 1, "b": 2}), json!({"b": null})),
        // Somebody else was faster, or changed it to a third value.
        (json!({"a": 1}), json!({"a": 2}), json!({"a": 2}), Value::Null),
        (json!({"a": 1}), json!({"a": 2}), json!({"a": 3}), json!({"a": 2})),
        (json!({"a": 1}), json!({}), json!({"a": 3}), json!({"a": null})),
        // The first apply writes all that differs, and takes nothing away.
        (Value::Null, json!({"a": 2}), json!({"a": 1, "b": 1}), json!({"a": 2})),
        (Value::Null, json!({"a": 1}), json!({"a": 1, "b": 1}), Value::Null),
        // An empty part was never ours.
        (json!({"a": {}}), json!({}), json!({"a": {"default": 1}}), Value::Null),
        // Null is a wish that the field be not there.
        (json!({"a": 1}), json!({"a": null}), json!({"a": 1}), json!({"a": null})),
        (json!({"a": null}), json!({"a": null}), json!({"a": 1}), Value::Null),
    ] {
        let wrap = |it: Value| if it.is_null() { it } else { json!({"data": it}) };
        check(CONFIG_MAP, (wrap(original), wrap(wanted), wrap(live)), keep, &wrap(sent), &[]);
    }
}

#[test]
fn a_field_that_others_changed_is_kept_until_it_is_to_be_overwritten() {
    let sides = || {
        let wanted =
            json!({"spec": {"replicas": 1, "paused": true, "tolerations": [{"key": "a"}]}});
        let live = json!({"spec": {"replicas": 5, "tolerations": [{"key": "b"}], "more": 1}});
        (wanted.clone(), wanted, live)
    };
    check(
        CUSTOM,
        sides(),
        Drift::Keep,
        &Value::Null,
        &[
            "spec.replicas: 5, not 1",
            "spec.paused: nothing, not true",
            r#"spec.tolerations: [{"key":"b"}], not [{"key":"a"}]"#,
        ],
    );
    let all = json!({"spec": {"replicas": 1, "tolerations": [{"key": "a"}], "paused": true}});
    check(CUSTOM, sides(), Drift::Overwrite, &all, &[]);
}

#[test]
fn one_changed_field_does_not_undo_what_others_did_beside_it() {
    let original = json!({"data": {"a": "1", "b": "1"}});
    let wanted = json!({"data": {"a": "2", "b": "1"}});
    let live = json!({"data": {"a": "1", "b": "by hand", "c": "theirs"}});
    let sent = json!({"data": {"a": "2"}});
    check(
        CONFIG_MAP,
        (original, wanted, live),
        Drift::Keep,
        &sent,
        &[r#"data.b: "by hand", not "1""#],
    );
}

#[test]
fn containers_merge_by_name() {
    let image = |name: &str, image: &str| json!({"name": name, "image": image});
    let original = json!({"spec": {"containers": [image("app", "a:1"), image("old", "o:1")]}});
    let wanted = json!({"spec": {"containers": [image("app", "a:2"), image("new", "n:1")]}});
    let live = json!({"spec": {"containers": [
        image("sidecar", "s:1"),
        {"name": "app", "image": "a:1", "imagePullPolicy": "Always"},
        image("old", "o:1"),
    ]}});
    let sent = json!({"spec": {"containers": [
        image("sidecar", "s:1"),
        {"name": "app", "image": "a:2", "imagePullPolicy": "Always"},
        image("new", "n:1"),
    ]}});
    check(POD, (original, wanted, live), Drift::Keep, &sent, &[]);
}

#[test]
fn a_container_that_others_changed_is_told_by_its_name() {
    let spec = |image: &str, env: Value| json!({"spec": {"containers": [{"name": "app", "image": image, "env": env}]}});
    let wanted = spec("a:1", json!([{"name": "A", "value": "1"}]));
    let live = spec("a:2", json!([{"name": "B", "value": "2"}, {"name": "A", "value": "3"}]));
    check(
        POD,
        (wanted.clone(), wanted, live),
        Drift::Keep,
        &Value::Null,
        &[
            r#"spec.containers[app].image: "a:2", not "a:1""#,
            r#"spec.containers[app].env[A].value: "3", not "1""#,
        ],
    );
}

#[test]
fn ports_of_one_number_are_told_apart_by_their_protocol() {
    let original = json!({"spec": {"ports": [{"port": 53, "name": "tcp"},
        {"port": 53, "protocol": "UDP", "name": "udp"}]}});
    let live = json!({"spec": {"ports": [
        {"port": 53, "protocol": "TCP", "name": "tcp", "targetPort": 53, "nodePort": 30001},
        {"port": 53, "protocol": "UDP", "name": "udp", "targetPort": 53, "nodePort": 30002},
    ]}});
    let sides = (original.clone(), original.clone(), live.clone());
    check(SERVICE, sides, Drift::Overwrite, &Value::Null, &[]);
    let mut wanted = original.clone();
    wanted["spec"]["ports"][1]["targetPort"] = 54.into();
    let mut ports = live["spec"]["ports"].clone();
    ports[1]["targetPort"] = 54.into();
    check(SERVICE, (original, wanted, live), Drift::Keep, &json!({"spec": {"ports": ports}}), &[]);
}

#[test]
fn items_without_a_key_of_their_own_are_one_value() {
    let list = |value: &str| json!({"spec": {"containers": [{"image": value}]}});
    let sent = list("b");
    check(POD, (list("a"), list("b"), list("a")), Drift::Keep, &sent, &[]);
}

#[test]
fn items_follow_the_wanted_order_only_when_it_changed() {
    let env = |names: &[&str]| {
        let env: Vec<Value> = names.iter().map(|it| json!({"name": it, "value": it})).collect();
        json!({"spec": {"containers": [{"name": "app", "env": env}]}})
    };
    let keep = Drift::Keep;
    check(
        POD,
        (env(&["A", "B"]), env(&["B", "A"]), env(&["A", "B"])),
        keep,
        &env(&["B", "A"]),
        &[],
    );
    check(POD, (env(&["A", "B"]), env(&["A", "B"]), env(&["B", "A"])), keep, &Value::Null, &[]);
    check(
        POD,
        (env(&["A"]), env(&["A", "B"]), env(&["X", "A"])),
        keep,
        &env(&["X", "A", "B"]),
        &[],
    );
}

#[test]
fn finalizers_of_others_stay() {
    let finalizers = |all: &[&str]| json!({"metadata": {"finalizers": all}});
    let sides = (finalizers(&["a"]), finalizers(&["a", "b"]), finalizers(&["x", "a"]));
    check(CUSTOM, sides, Drift::Keep, &finalizers(&["x", "a", "b"]), &[]);
    let sides = (finalizers(&["a"]), finalizers(&[]), finalizers(&["x", "a"]));
    check(CUSTOM, sides, Drift::Keep, &finalizers(&["x"]), &[]);
}

#[test]
fn labels_of_others_stay_when_none_of_ours_are_wanted_any_more() {
    let labels = |all: Value| json!({"metadata": {"labels": all}});
    let live = labels(json!({"a": "1", "theirs": "2"}));
    let sides = (labels(json!({"a": "1"})), json!({"metadata": {}}), live);
    check(CUSTOM, sides, Drift::Keep, &labels(json!({"a": null})), &[]);
    let remembered = json!({"metadata": {"annotations": {}}});
    let live = json!({"metadata": {"annotations": {"theirs": "2"}}});
    check(CUSTOM, (remembered, json!({"metadata": {}}), live), Drift::Keep, &Value::Null, &[]);
}

#[test]
fn a_union_loses_the_member_that_is_not_wanted_any_more() {
    let rolling = json!({"spec": {"replicas": 1}});
    let recreate = json!({"spec": {"replicas": 1, "strategy": {"type": "Recreate"}}});
    let live = json!({"spec": {"replicas": 1, "strategy": {"type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": "25%"}}}});
    let sent = json!({"spec": {"strategy": {"rollingUpdate": null, "type": "Recreate"}}});
    let sides = (rolling, recreate.clone(), live);
    check(("apps", "Deployment"), sides, Drift::Keep, &sent, &[]);
    let sides = (recreate.clone(), recreate.clone(), recreate);
    check(("apps", "Deployment"), sides, Drift::Keep, &Value::Null, &[]);
}

#[test]
fn what_the_server_adds_and_drops_by_itself_is_no_change() {
    let wanted = json!({"spec": {"rules": [{"port": 80}], "note": "", "none": {}, "off": false}});
    let live = json!({"spec": {"rules": [{"port": 80, "protocol": "TCP"}]}});
    let sides = (wanted.clone(), wanted.clone(), live.clone());
    check(CUSTOM, sides, Drift::Overwrite, &Value::Null, &[]);
    // A part that is not wanted any more is no default.
    let original = json!({"spec": {"rules": [{"port": 80, "protocol": "TCP"}]}});
    let wanted = json!({"spec": {"rules": [{"port": 80}]}});
    check(CUSTOM, (original, wanted.clone(), live), Drift::Keep, &wanted, &[]);
}

#[test]
fn what_others_may_have_written_meanwhile_is_tested() {
    let list = json!({"a": [1], "b/c~d": 1});
    let changed = json!({"a": [2], "b/c~d": 2});
    assert_eq!(
        Value::from(patch(&list, &changed)),
        json!([
            {"op": "test", "path": "/a", "value": [1]},
            {"op": "add", "path": "/a", "value": [2]},
            {"op": "add", "path": "/b~1c~0d", "value": 2},
        ])
    );
    assert_eq!(
        Value::from(patch(&json!({"b": 1}), &json!({"a": [2]}))),
        json!([
            {"op": "remove", "path": "/b"},
            {"op": "test", "path": "/a", "value": null},
            {"op": "add", "path": "/a", "value": [2]},
        ])
    );
    assert_eq!(patch(&list, &list), Vec::<Value>::new());
}

#[test]
fn the_servers_book_tells_who_wrote_a_field() {
    let fields = json!({"f:spec": {"f:replicas": {}, "f:template": {"f:containers": {
        r#"k:{"name":"app"}"#: {".": {}, "f:image": {}}}}}});
    let field = |name: &str| Step::Field(name.to_owned());
    let item = |name: &str| Step::Item(vec![("name", name.into())]);
    let image = |container: &str| {
        vec![field("spec"), field("template"), field("containers"), item(container), field("image")]
    };
    assert!(owns(&fields, &[field("spec"), field("replicas")]));
    assert!(owns(&fields, &image("app")));
    assert!(!owns(&fields, &image("other")));
    assert!(!owns(&fields, &[field("spec"), field("paused")]));
}

#[test]
fn an_object_is_as_written_if_our_fields_are_the_wanted_ones_and_as_wanted() {
    let book = json!([{"manager": "tilt", "operation": "Apply", "fieldsV1": {
        "f:metadata": {"f:labels": {"f:a": {}}},
        "f:spec": {"f:ports": {r#"k:{"port":80,"protocol":"TCP"}"#: {".": {}, "f:port": {}}},
                   "f:selector": {}}}}]);
    let live = |selector: &str| {
        json!({"metadata": {"labels": {"a": "1", "b": "2"}, "managedFields": book},
               "spec": {"ports": [{"port": 80, "protocol": "TCP"}], "selector": {"app": selector}}})
    };
    let wanted = json!({"metadata": {"labels": {"a": "1"}},
        "spec": {"ports": [{"port": 80}], "selector": {"app": "x"}}});
    assert!(is_as_written(&live("x"), &wanted, Operation::Apply));
    assert!(!is_as_written(&live("x"), &wanted, Operation::Update), "written in another way");
    assert!(!is_as_written(&live("y"), &wanted, Operation::Apply), "changed since");
    let mut more = wanted.clone();
    more["spec"]["type"] = "NodePort".into();
    assert!(!is_as_written(&live("x"), &more, Operation::Apply), "not written yet");
    let mut less = wanted;
    less["metadata"]["labels"] = json!({});
    assert!(!is_as_written(&live("x"), &less, Operation::Apply), "still to be taken away");
}

#[test]
fn tiers_follow_the_order_of_kinds_and_end_at_a_duplicate() {
    let object = |text: &str| {
        let (kind, name) = text.split_once('/').unwrap();
        json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}})
    };
    let given = ["Job/z", "Service/a", "Pod/a", "Namespace/n", "Service/b", "Job/z", "Widget/w"];
    let entries =
        given.iter().enumerate().map(|(place, it)| Entry { place, object: object(it), seen: None });
    let tiers: Vec<Vec<&str>> = tiers(entries.collect())
        .iter()
        .map(|tier| tier.iter().map(|it| given[it.place]).collect())
        .collect();
    assert_eq!(
        tiers,
        [
            vec!["Namespace/n"],
            vec!["Service/a", "Service/b"],
            vec!["Job/z", "Pod/a"],
            vec!["Job/z", "Widget/w"],
        ]
    );
}

#[test]
fn a_patch_is_written_as_the_server_would_write_it() {
    let patch = json!([{"op": "test", "path": "/a~1b", "value": ["2>&1", "<é>", "\u{2028}\n\""]}]);
    let text = written(&patch);
    assert_eq!(
        text,
        r#"[{"op":"test","path":"/a~1b","value":["2\u003e\u00261","\u003cé\u003e","\u2028\n\""]}]"#
    );
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), patch);
}

#[test]
fn a_patch_of_one_version_tests_nothing_but_the_version() {
    let live = json!({"metadata": {"resourceVersion": "7"}, "list": [1], "text": "a"});
    let patch =
        patch(&live, &json!({"metadata": {"resourceVersion": "7"}, "list": [2], "text": "b"}));
    assert_eq!(
        of_this_version(patch, &live),
        [
            json!({"op": "test", "path": "/metadata/resourceVersion", "value": "7"}),
            json!({"op": "add", "path": "/list", "value": [2]}),
            json!({"op": "add", "path": "/text", "value": "b"}),
        ]
    );
}

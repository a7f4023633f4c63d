//! What is written, and above all what is not.

use engine_kubernetes::{Cluster, WriteOutcome};
use serde_json::{Value, json};

use crate::cluster::support::{
    Ground, config_map, definition, deployment, job, options, version, widget,
};

fn all() -> Vec<Value> {
    vec![
        deployment("web", "busybox"),
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
               "spec": {"selector": {"app": "web"}, "ports": [{"port": 53, "name": "t"}, {"port": 53, "name": "d",
               "protocol": "UDP"}]}}),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys"},
               "stringData": {"password": "hunter2"}, "data": {"user": "bWU="}}),
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "web",
               "creationTimestamp": null}}),
        json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
               "metadata": {"name": "web"}, "spec": {"podSelector": {},
               "ingress": [{"ports": [{"port": 80}]}]}}),
        json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "web"},
               "spec": {"rules": [{"http": {"paths": [{"path": "/", "pathType": "Prefix",
               "backend": {"service": {"name": "web", "port": {"number": 80}}}}]}}]}}),
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "web"},
               "spec": {"accessModes": ["ReadWriteOnce"],
               "resources": {"requests": {"storage": "1024Mi"}}}}),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
               "metadata": {"name": "web"}, "rules": [{"apiGroups": [""], "resources": ["pods"],
               "verbs": ["get"]}]}),
        job("init", "hello"),
        config_map("settings", json!({"a": "1"})),
    ]
}

#[tokio::test]
async fn objects_are_created_in_the_order_of_their_kinds_and_told_in_the_given_order() {
    let ground = Ground::new("first").await;
    let applied = ground.apply(&all()).await;
    assert_eq!(applied.error, None);
    assert_eq!(applied.n_writes, 10);
    assert_eq!(applied.kept, []);
    let kinds: Vec<&str> = applied.objects.iter().map(|it| it["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds[..3], ["Deployment", "Service", "Secret"]);
    assert!(applied.objects.iter().all(|it| it["metadata"]["uid"].is_string()));
    let audit = ground.audit();
    assert!(audit.iter().all(|it| it.outcome == WriteOutcome::Done && it.cause == "a test"));
    let kinds: Vec<&str> = audit.iter().map(|it| it.object.kind.as_str()).collect();
    assert_eq!(
        kinds[..7],
        [
            "ServiceAccount",
            "Role",
            "PersistentVolumeClaim",
            "ConfigMap",
            "Secret",
            "Service",
            "Deployment",
        ]
    );
}

#[tokio::test]
async fn objects_that_are_as_wanted_are_not_written_again() {
    let ground = Ground::new("same").await;
    let first = ground.apply(&all()).await;
    assert_eq!(first.error, None);
    let second = ground.apply(&all()).await;
    assert_eq!((second.error, second.n_writes), (None, 0), "{:?}", ground.audit());
    assert_eq!(second.kept, []);
    assert_eq!(second.objects.len(), first.objects.len());
    // A trigger writes like `kubectl apply`, which is nothing either.
    let third = ground.apply_with(&all(), &crate::cluster::support::overwriting()).await;
    assert_eq!((third.error, third.n_writes), (None, 0), "{:?}", ground.audit());
}

#[tokio::test]
async fn only_the_object_that_changed_is_written_and_only_its_changed_fields() {
    let ground = Ground::new("changed").await;
    let mut objects =
        vec![deployment("web", "busybox"), config_map("a", json!({"x": "1", "y": "1"}))];
    ground.applied(&objects).await;
    ground.writes();
    objects[1]["data"] = json!({"x": "2"});
    let applied = ground.apply(&objects).await;
    assert_eq!((applied.error, ground.writes()), (None, vec!["patch ConfigMap/a".to_owned()]));
    assert_eq!(applied.objects[1]["data"], json!({"x": "2"}));

    objects[0]["spec"]["template"]["spec"]["containers"][0]["image"] = "alpine".into();
    let changed = ground.applied(&objects).await;
    assert_eq!(ground.writes(), ["patch Deployment/web"]);
    let container = &changed["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "alpine");
    assert_eq!(container["imagePullPolicy"], "Always", "the server's default stays");
}

#[tokio::test]
async fn a_list_with_any_characters_is_written_at_the_first_attempt() {
    let ground = Ground::new("characters").await;
    let mut web = deployment("web", "busybox");
    let container = "/spec/template/spec/containers/0";
    let command = json!(["sh", "-c", "exec sleep 1000 </dev/null 2>&1 \u{2028}\u{b}\u{c}\u{7f}é"]);
    web.pointer_mut(container).unwrap()["command"] = command;
    ground.applied(&[web.clone()]).await;
    ground.writes();
    web.pointer_mut(container).unwrap()["image"] = "alpine".into();
    let changed = ground.applied(&[web]).await;
    assert_eq!(changed.pointer(container).unwrap()["image"], "alpine");
    assert_eq!(ground.writes(), ["patch Deployment/web"]);
}

#[tokio::test]
async fn what_kubectl_applied_is_taken_over_and_given_back() {
    let ground = Ground::new("kubectl").await;
    let file = tempfile::NamedTempFile::new().unwrap();
    let by_kubectl = |objects: &Value| {
        std::fs::write(file.path(), objects.to_string()).unwrap();
        ground.kubectl(&["apply", "-f", file.path().to_str().unwrap()])
    };
    by_kubectl(&config_map("a", json!({"x": "1", "y": "1"})));
    let applied = ground.apply(&[config_map("a", json!({"x": "1", "y": "1"}))]).await;
    assert_eq!((applied.error, applied.n_writes), (None, 0));
    let object = ground.applied(&[config_map("a", json!({"x": "1"}))]).await;
    assert_eq!(object["data"], json!({"x": "1"}));
    assert_eq!(by_kubectl(&config_map("a", json!({"x": "1"}))), "configmap/a unchanged");
}

#[tokio::test]
async fn a_custom_object_can_come_with_its_definition() {
    let mut ground = Ground::new("custom").await;
    let group = format!("{}.example.com", ground.namespace);
    ground.global.push(format!("crd/widgets.{group}"));
    // The kind was asked for before it was there.
    let missing = ground.apply(&[widget(&group, &json!({"size": 1}))]).await;
    assert_eq!(
        missing.error.unwrap(),
        format!(
            "kubernetes apply: error mapping {group}/Widget: no matches for kind \"Widget\" in \
             version \"{group}/v1\""
        )
    );
    let objects = [widget(&group, &json!({"size": 1, "list": [1, 2]})), definition(&group)];
    let applied = ground.apply(&objects).await;
    assert_eq!(applied.error, None);
    assert_eq!(applied.objects[0]["spec"]["size"], 1);
    let again = ground.apply(&objects).await;
    assert_eq!((again.error, again.n_writes), (None, 0), "{:?}", ground.audit());
    let object = ground.applied(&[widget(&group, &json!({"size": 2, "list": [2]}))]).await;
    assert_eq!(object["spec"], json!({"size": 2, "list": [2]}));
}

#[tokio::test]
async fn a_namespace_and_what_lives_in_it_come_together() {
    let mut ground = Ground::new("outer").await;
    let inner = format!("{}-inner", ground.namespace);
    ground.global.push(format!("namespace/{inner}"));
    let mut inside = config_map("a", json!({"x": "1"}));
    inside["metadata"]["namespace"] = inner.clone().into();
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": inner}});
    let object = ground.applied(&[inside, namespace]).await;
    assert_eq!(object["metadata"]["namespace"], inner);
}

#[tokio::test]
async fn a_pod_can_come_with_its_namespace_and_its_quota() {
    let mut ground = Ground::new("early").await;
    let inner = format!("{}-inner", ground.namespace);
    ground.global.push(format!("namespace/{inner}"));
    // The service account of a namespace and the count of a quota come a moment after them.
    let objects = [
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": inner},
               "spec": {"nodeSelector": {"no": "node"}, "terminationGracePeriodSeconds": 0,
               "containers": [{"name": "c", "image": "busybox"}]}}),
        json!({"apiVersion": "v1", "kind": "ResourceQuota",
               "metadata": {"name": "some", "namespace": inner}, "spec": {"hard": {"pods": "5"}}}),
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": inner}}),
    ];
    ground.applied(&objects).await;
}

#[tokio::test]
async fn sixty_objects_that_are_as_wanted_are_not_written() {
    let ground = Ground::new("sixty").await;
    let mut objects = Vec::new();
    for n in 0..20 {
        objects.push(deployment(&format!("web-{n}"), "busybox"));
        objects.push(config_map(&format!("settings-{n}"), json!({"n": n.to_string()})));
        objects.push(json!({"apiVersion": "v1", "kind": "Service",
            "metadata": {"name": format!("web-{n}")}, "spec": {"ports": [{"port": 80}]}}));
    }
    let started = std::time::Instant::now();
    ground.applied(&objects).await;
    let first = started.elapsed();
    ground.writes();
    // Another run of the program knows nothing yet.
    let kubeconfig = crate::cluster::support::kubeconfig();
    let fresh = Cluster::new(&kubeconfig, Some(&ground.namespace)).await.unwrap();
    let identity = fresh.identity().await.unwrap();
    fresh.pin(identity);
    let started = std::time::Instant::now();
    let applied = fresh.apply(objects, &options(), &|_| {}).await;
    println!("60 objects: first {first:?}, unchanged {:?}", started.elapsed());
    assert_eq!((applied.error, applied.n_writes, applied.objects.len()), (None, 0, 60));
}

#[tokio::test]
async fn an_object_that_is_listed_twice_ends_as_its_last_version() {
    let ground = Ground::new("twice").await;
    let objects = [config_map("a", json!({"x": "1"})), config_map("a", json!({"x": "2"}))];
    ground.applied(&objects).await;
    let live = ground.get("v1", "ConfigMap", "a").await.unwrap();
    assert_eq!(live["data"]["x"], "2");
}

#[tokio::test]
async fn an_object_without_a_name_is_refused_in_kubectls_words() {
    let ground = Ground::new("nameless").await;
    let mut object = config_map("", json!({}));
    object["metadata"] = json!({"generateName": "some-"});
    let applied = ground.apply(&[object]).await;
    assert_eq!(applied.error.unwrap(), "from some-: cannot use generate name with apply");
}

#[tokio::test]
async fn an_apply_that_is_given_up_stops_writing() {
    let ground = Ground::new("dropped").await;
    let object = ground.applied(&[config_map("a", json!({"x": "1"}))]).await;
    let wanted = [config_map("a", json!({"x": "2"}))];
    drop(ground.apply(&wanted));
    let live = ground.get("v1", "ConfigMap", "a").await.unwrap();
    assert_eq!(version(&live), version(&object));
}

//! What is deleted, in which order, and what is not.

use std::time::Duration;

use engine_kubernetes::{DeleteOptions, DeleteOrder};
use serde_json::json;

use crate::cluster::support::{Ground, config_map, deleting, deployment, job};

#[tokio::test]
async fn objects_are_deleted_against_the_order_of_applying() {
    let ground = Ground::new("delete").await;
    let objects = [
        config_map("a", json!({})),
        deployment("web", "busybox"),
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
               "spec": {"ports": [{"port": 80}]}}),
    ];
    ground.applied(&objects).await;
    ground.writes();
    let options = DeleteOptions { wait: Some(Duration::from_secs(30)), ..deleting() };
    ground.delete(&objects, &options).await;
    assert_eq!(
        ground.writes(),
        ["delete Deployment/web", "delete Service/web", "delete ConfigMap/a"]
    );
    assert_eq!(
        ground.said(),
        ["Deleting kubernetes objects:", "→ Deployment/web", "→ Service/web", "→ ConfigMap/a",]
    );
    assert_eq!(ground.get("apps/v1", "Deployment", "web").await, None);
    // What is gone, and what never was, is as good as deleted.
    let unknown = json!({"apiVersion": "x.example.com/v1", "kind": "X", "metadata": {"name": "x"}});
    let mut all = objects.to_vec();
    all.push(unknown);
    let options = DeleteOptions { order: DeleteOrder::Given, ..deleting() };
    ground.delete(&all, &options).await;
    assert_eq!(
        ground.writes(),
        ["delete ConfigMap/a", "delete Deployment/web", "delete Service/web"]
    );
}

#[tokio::test]
async fn namespaces_and_what_asks_to_be_kept_stay_unless_told_otherwise() {
    let mut ground = Ground::new("keep").await;
    let inner = format!("{}-inner", ground.namespace);
    ground.global.push(format!("namespace/{inner}"));
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": inner}});
    let mut kept = config_map("kept", json!({}));
    kept["metadata"]["annotations"] = json!({"tilt.dev/down-policy": "keep"});
    let objects = [namespace, kept];
    ground.applied(&objects).await;
    ground.writes();
    let options = DeleteOptions { honor_down_policy: true, ..deleting() };
    ground.delete(&objects, &options).await;
    assert_eq!(ground.writes(), Vec::<String>::new());
    let options = DeleteOptions { with_namespaces: true, ..deleting() };
    ground.delete(&objects, &options).await;
    assert_eq!(
        ground.writes(),
        ["delete ConfigMap/kept".to_owned(), format!("delete Namespace/{inner}")]
    );
}

#[tokio::test]
async fn what_does_not_go_away_in_time_is_told() {
    let ground = Ground::new("stays").await;
    let mut held = job("held", "one");
    held["metadata"]["finalizers"] = json!(["example.com/held"]);
    ground.applied(std::slice::from_ref(&held)).await;
    let options = DeleteOptions { wait: Some(Duration::from_millis(300)), ..deleting() };
    let error = ground.cluster.delete(&[held], &options, &|_| {}).await.unwrap_err();
    assert_eq!(error.to_string(), "timeout waiting for delete: held");
    ground.kubectl(&[
        "patch",
        "job",
        "held",
        "--type=merge",
        "-p",
        r#"{"metadata":{"finalizers":null}}"#,
    ]);
}

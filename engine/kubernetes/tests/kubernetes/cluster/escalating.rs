//! Updates that do not work in place.

use std::time::Duration;

use engine_kubernetes::ApplyOptions;
use serde_json::json;

use crate::cluster::support::{Ground, config_map, deployment, job, options};

#[tokio::test]
async fn a_job_that_changed_is_made_anew() {
    let ground = Ground::new("job").await;
    let first = ground.applied(&[job("init", "one")]).await;
    ground.writes();
    let second = ground.applied(&[job("init", "two")]).await;
    assert_ne!(second["metadata"]["uid"], first["metadata"]["uid"]);
    // The job's controller may write at the same time, so the patch may be tried again.
    let writes = ground.writes();
    assert_eq!(writes[writes.len() - 2..], ["delete Job/init", "create Job/init"]);
    let said = ground.said();
    assert!(said[0].starts_with(r#"Updating "init" failed: Job.batch "init" is invalid: spec.t"#));
    assert_eq!(said[1..], ["Attempting to delete and re-create", r#"Updating "init" succeeded!"#]);
    let again = ground.apply(&[job("init", "two")]).await;
    assert_eq!((again.error, again.n_writes), (None, 0));
}

#[tokio::test]
async fn a_deployment_with_another_selector_is_made_anew() {
    let ground = Ground::new("selector").await;
    let mut wanted = deployment("web", "busybox");
    let first = ground.applied(std::slice::from_ref(&wanted)).await;
    wanted["spec"]["selector"]["matchLabels"] = json!({"tier": "web"});
    wanted["spec"]["template"]["metadata"]["labels"] = json!({"tier": "web"});
    let second = ground.applied(&[wanted]).await;
    assert_ne!(second["metadata"]["uid"], first["metadata"]["uid"]);
    assert_eq!(second["spec"]["selector"], json!({"matchLabels": {"tier": "web"}}));
}

#[tokio::test]
async fn a_pod_that_changed_is_made_anew() {
    let ground = Ground::new("pod").await;
    let pod = |command: &str| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {
            "terminationGracePeriodSeconds": 0, "nodeSelector": {"no": "node"},
            "containers": [{"name": "c", "image": "busybox", "command": [command]}]}})
    };
    let first = ground.applied(&[pod("one")]).await;
    let second = ground.applied(&[pod("two")]).await;
    assert_ne!(second["metadata"]["uid"], first["metadata"]["uid"]);
    let said = ground.said();
    assert!(said[0].contains("spec: Forbidden: pod updates may not change fields"), "{said:?}");
}

#[tokio::test]
async fn the_address_of_a_service_cannot_be_changed_and_that_is_told() {
    let ground = Ground::new("service").await;
    let service = |spec| json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": spec});
    ground.applied(&[service(json!({"ports": [{"port": 80}]}))]).await;
    let wanted = service(json!({"ports": [{"port": 80}], "clusterIP": "None"}));
    let error = ground.apply(&[wanted]).await.error.unwrap();
    assert!(error.starts_with(r#"Service "web" is invalid: "#), "{error}");
    assert!(error.contains("may not change once set"), "{error}");
}

#[tokio::test]
async fn an_object_too_large_to_be_remembered_is_replaced_and_not_sent_again() {
    let ground = Ground::new("large").await;
    let large = |c: &str| config_map("large", json!({"text": c.repeat(300_000), "more": "1"}));
    ground.applied(&[large("a")]).await;
    assert_eq!(
        ground.said(),
        [
            r#"Updating "large" failed: ConfigMap "large" is invalid: metadata.annotations: Too long: may not be more than 262144 bytes"#,
            "Attempting to create or replace",
            r#"Updating "large" succeeded!"#,
        ]
    );
    let again = ground.apply(&[large("a")]).await;
    assert_eq!((again.error, again.n_writes), (None, 0), "{:?}", ground.said());
    let mut less = large("b");
    less["data"].as_object_mut().unwrap().shift_remove("more");
    let object = ground.applied(&[less]).await;
    assert_eq!(object["data"], json!({"text": "b".repeat(300_000)}));
}

#[tokio::test]
async fn an_object_that_is_being_deleted_is_waited_for_and_made_anew() {
    let ground = Ground::new("deleting").await;
    let mut held = config_map("a", json!({"x": "1"}));
    held["metadata"]["finalizers"] = json!(["example.com/held"]);
    let first = ground.applied(&[held]).await;
    ground.kubectl(&["delete", "configmap", "a", "--wait=false"]);
    let wanted = [config_map("a", json!({"x": "1"}))];
    let release = async {
        // Only once it is seen to be waited for.
        while ground.said().is_empty() {
            tokio::task::yield_now().await;
        }
        let free = r#"{"metadata":{"finalizers":null}}"#;
        ground.kubectl(&["patch", "configmap", "a", "--type=merge", "-p", free]);
    };
    let (second, ()) = tokio::join!(ground.applied(&wanted), release);
    assert_ne!(second["metadata"]["uid"], first["metadata"]["uid"]);
}

#[tokio::test]
async fn an_object_that_does_not_go_away_ends_with_the_time_of_the_object() {
    let ground = Ground::new("stuck").await;
    let mut held = job("held", "one");
    held["metadata"]["finalizers"] = json!(["example.com/held"]);
    ground.applied(&[held]).await;
    ground.kubectl(&["delete", "job", "held", "--wait=false"]);
    let options = ApplyOptions { timeout: Duration::from_secs(1), ..options() };
    let applied = ground.apply_with(&[job("held", "two")], &options).await;
    assert_eq!(applied.error.unwrap(), "Killed kubectl. Hit timeout of 1s applying Job/held.");
    assert_eq!(
        ground.said(),
        [
            "Resource held is currently being deleted. Waiting 1m for deletion before retrying...",
            "Blocked by: finalizer example.com/held",
        ]
    );
    ground.kubectl(&[
        "patch",
        "job",
        "held",
        "--type=merge",
        "-p",
        r#"{"metadata":{"finalizers":null}}"#,
    ]);
}

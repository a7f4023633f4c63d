//! Pods of a resource, from whatever made them.

use std::collections::{BTreeMap, BTreeSet};

use engine_kubernetes::{Cluster, ContainerState, Interest, Pod, PodOwner, Seen};
use serde_json::{Value, json};

use super::place::{Place, pod, spec};
use crate::cluster::support::kubeconfig;

fn deployment(replicas: u32, word: &str) -> Value {
    let mut template =
        json!({"metadata": {"labels": {"app": "web"}}, "spec": spec("Always", "sleep 1000")});
    template["spec"]["containers"][0]["env"] = json!([{"name": "WORD", "value": word}]);
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template},
    })
}

#[tokio::test]
async fn pods_of_a_deployment_are_found_and_those_of_its_last_rollout_count() {
    let place = Place::new("rollout").await;
    let made = place.make(&deployment(2, "one"));
    let mut sights = place.follow(&[made.clone()]);
    let first = sights
        .pods(|pods| (pods.iter().filter(|it| it.all_ready()).count() == 2).then(|| pods.to_vec()))
        .await;
    for pod in &first {
        assert_eq!(pod.status, "Running");
        assert_eq!(pod.ancestor_uid.as_ref(), Some(&made.1));
        let owner = pod.owner.as_ref().unwrap();
        assert_eq!((owner.kind.as_str(), owner.created.is_some()), ("ReplicaSet", true));
    }
    place.make(&deployment(2, "two"));
    let old: BTreeSet<String> = first.iter().map(|it| it.uid.clone()).collect();
    // As soon as there is a pod of the new set, none of the old one counts.
    let new = sights
        .pods(|pods| {
            let age = |it: &PodOwner| (it.created, it.revision);
            let newest = pods.iter().max_by_key(|it| it.owner.as_ref().map(age))?;
            (!old.contains(&newest.uid)).then(|| newest.uid.clone())
        })
        .await;
    assert!(!old.contains(&new));
    sights
        .pods(|pods| {
            (pods.len() == 2 && pods.iter().all(|it| !old.contains(&it.uid))).then_some(())
        })
        .await;
}

#[tokio::test]
async fn a_pod_that_crashes_again_and_again_says_so() {
    let place = Place::new("crash").await;
    let made = place.make(&pod("crash", "echo why > /dev/termination-log; exit 3"));
    let mut sights = place.follow(&[made]);
    let pod = sights
        .pods(|pods| {
            let crashed = pods.iter().find(|it| it.status == "CrashLoopBackOff");
            crashed.filter(|it| it.restarts() > 0).cloned()
        })
        .await;
    assert!(pod.containers[0].state.is_error());
    assert_eq!(pod.errors[0], "why\n");
    assert!(pod.errors[1].starts_with("back-off "), "{:?}", pod.errors);
    sights
        .until(|seen| {
            seen.iter().find_map(|it| match it {
                Seen::Event { message, is_warning: true, .. } => {
                    message.contains("Back-off restarting failed container").then_some(())
                }
                _ => None,
            })
        })
        .await;
}

#[tokio::test]
async fn a_job_completes_and_its_pod_is_kept_after_it_is_gone() {
    let place = Place::new("job").await;
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "init"},
        "spec": {"template": {"spec": spec("Never", "exit 0")}},
    });
    let made = place.make(&job);
    let mut sights = place.follow(&[made.clone()]);
    let done = |pods: &[Pod]| pods.iter().find(|it| it.phase == "Succeeded").cloned();
    let pod = sights.pods(done).await;
    assert_eq!((pod.status.as_str(), pod.ancestor_uid), ("Completed", Some(made.1)));
    assert!(matches!(pod.containers[0].state, ContainerState::Terminated { exit_code: 0, .. }));
    place.kubectl(&["delete", "pod", &pod.name]);
    assert_eq!(sights.pods(done).await.uid, pod.uid);
}

#[tokio::test]
async fn an_image_that_cannot_be_pulled_is_an_error_with_its_reason() {
    let place = Place::new("pull").await;
    let mut given = pod("pull", "");
    given["spec"]["containers"][0]["image"] = json!("no-such-image-here:1");
    let made = place.make(&given);
    let mut sights = place.follow(&[made]);
    let pod = sights
        .pods(|pods| {
            let failed = ["ErrImagePull", "ImagePullBackOff"];
            pods.iter().find(|it| failed.contains(&it.status.as_str())).cloned()
        })
        .await;
    assert!(pod.errors[0].contains("no-such-image-here:1"), "{:?}", pod.errors);
    let expected = format!("[event: pod {}/pull] Failed to pull image", place.namespace);
    sights
        .until(|seen| {
            let is_it = |it: &&Seen| matches!(it, Seen::Event { message, .. } if message.starts_with(&expected));
            seen.iter().find(is_it).map(drop)
        })
        .await;
}

#[tokio::test]
async fn pods_are_found_by_labels_alone_if_asked() {
    let place = Place::new("labels").await;
    let by_uid = place.make(&pod("by-uid", "sleep 1000"));
    place.make(&pod("by-label", "sleep 1000"));
    let interest = Interest {
        deployed: vec![by_uid],
        extra_selectors: vec![BTreeMap::from([("app".to_owned(), "by-label".to_owned())])],
        ..Interest::default()
    };
    let only = Interest { selectors_only: true, ..interest.clone() };
    let mut sights = place.follow_as(interest);
    let names = |pods: &[Pod]| {
        let names: BTreeSet<String> = pods.iter().map(|it| it.name.clone()).collect();
        names.into_iter().collect::<Vec<_>>().join(" ")
    };
    sights.pods(|pods| (names(pods) == "by-label by-uid").then_some(())).await;
    sights.tracker.follow("web", only);
    sights.pods(|pods| (names(pods) == "by-label").then_some(())).await;
}

#[tokio::test]
async fn what_is_not_permitted_is_said_once() {
    let mut place = Place::new("forbidden").await;
    place.kubectl(&["create", "serviceaccount", "nobody"]);
    let token = place.kubectl(&["create", "token", "nobody"]);
    let mut config = String::new();
    for line in kubeconfig().lines() {
        // The token comes in place of the certificate.
        let is_key = line.trim_start().starts_with("client-key-data:");
        let is_certificate = line.trim_start().starts_with("client-certificate-data:");
        let indent = &line[..line.len() - line.trim_start().len()];
        match (is_key, is_certificate) {
            (true, _) => config.push_str(&format!("{indent}token: {token}\n")),
            (_, true) => {}
            _ => config.push_str(&format!("{line}\n")),
        }
    }
    let made = place.make(&pod("hidden", "sleep 1000"));
    place.cluster = Cluster::new(&config, Some(&place.namespace)).await.unwrap();
    let mut sights = place.follow(&[made]);
    let expected = format!("kubectl get pods -n \"{}\"", place.namespace);
    let is_it = |it: &&Seen| matches!(it, Seen::Warning(text) if text.contains(&expected));
    sights.until(|seen| seen.iter().find(is_it).map(drop)).await;
    // Once it is permitted, the pods are found; nothing was said twice until then.
    let subject = format!("--serviceaccount={}:nobody", place.namespace);
    place.kubectl(&["create", "rolebinding", "see", "--clusterrole=view", &subject]);
    sights.pods(|pods| pods.iter().find(|it| it.name == "hidden").map(drop)).await;
    assert_eq!(sights.seen.borrow().iter().filter(is_it).count(), 1);
}

//! Logs of containers, also of those that end and start again.

use engine_kubernetes::{ContainerState, Pod, PodContainer};
use serde_json::json;

use super::place::{Place, Sights, pod};

/// Waits for a run of a container other than those known.
async fn next_run(sights: &mut Sights, known: &[String]) -> (Pod, PodContainer) {
    sights
        .pods(|pods| {
            let pod = pods.first()?;
            let all = pod.init_containers.iter().chain(&pod.containers);
            let has_started = |it: &&PodContainer| {
                !matches!(it.state, ContainerState::Waiting { .. } | ContainerState::Unknown)
            };
            let found =
                all.filter(has_started).find(|it| !it.id.is_empty() && !known.contains(&it.id));
            Some((pod.clone(), found?.clone()))
        })
        .await
}

#[tokio::test]
async fn each_run_of_a_container_has_its_own_whole_log() {
    let place = Place::new("runs").await;
    // The volume outlives the runs.
    let script = "n=$(cat /n/n 2>/dev/null || echo 0); n=$((n+1)); echo $n > /n/n; \
                  for i in 1 2 3; do echo run $n line $i; done; printf 'no end of line'; \
                  [ $n = 1 ] && exit 1; sleep 1000";
    let mut given = pod("runs", script);
    given["spec"]["volumes"] = json!([{"name": "n", "emptyDir": {}}]);
    given["spec"]["containers"][0]["volumeMounts"] = json!([{"name": "n", "mountPath": "/n"}]);
    let made = place.make(&given);
    let mut sights = place.follow(&[made]);
    let (pod, first) = next_run(&mut sights, &[]).await;
    let text = place.read(&pod, &first).all().await;
    assert_eq!(text, "run 1 line 1\nrun 1 line 2\nrun 1 line 3\nno end of line\n");
    let (pod, second) = next_run(&mut sights, std::slice::from_ref(&first.id)).await;
    let mut reading = place.read(&pod, &second);
    reading.line("run 2 line 3").await;
    // The log of the first run can still be read while the second one goes on.
    assert_eq!(place.read(&pod, &first).all().await, text);
    place.kubectl(&["delete", "pod", "runs", "--now"]);
    let text = reading.all().await;
    assert!(text.starts_with("run 2 line 1\nrun 2 line 2\nrun 2 line 3\n"), "{text}");
}

#[tokio::test]
async fn init_containers_have_logs_too() {
    let place = Place::new("init").await;
    let mut given = pod("init", "echo main; sleep 1000");
    given["spec"]["initContainers"] = json!([{
        "name": "prepare", "image": "busybox", "imagePullPolicy": "IfNotPresent",
        "command": ["echo", "prepared"],
    }]);
    let made = place.make(&given);
    let mut sights = place.follow(&[made]);
    let (pod, prepare) = next_run(&mut sights, &[]).await;
    assert_eq!(prepare.name, "prepare");
    assert_eq!(place.read(&pod, &prepare).all().await, "prepared\n");
    let (pod, main) = next_run(&mut sights, std::slice::from_ref(&prepare.id)).await;
    assert_eq!(main.name, "main");
    place.read(&pod, &main).line("main").await;
}

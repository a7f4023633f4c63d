//! Objects are applied, their pods followed, and ports forwarded to them.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::{
    cluster::ground::{Project, config_map, deployment, get, page, until},
    support::named_port,
};

const TILTFILE: &str = "k8s_yaml('objects.yaml')\n";
const SLEEP: &str = "echo it runs; exec sleep 1000";

#[test]
fn objects_are_applied_and_their_pods_are_followed_until_they_are_ready() {
    let yaml = deployment("web", SLEEP) + &config_map("settings", "one");
    let Some(mut project) = Project::new(TILTFILE, &yaml) else { return };
    let mut instance = project.up();
    until(&mut instance, "web", "ok", "ok");
    until(&mut instance, "uncategorized", "ok", "ok");
    instance.until("its output is in the log", |it| it.log().contains("web │ it runs"));
    let log = instance.log();
    for line in [
        "web │ STEP 1/1 — Deploying",
        "web │      Applying YAML to cluster",
        "web │      Objects applied to cluster:",
        "web │        → web:deployment",
        "web │ Tracking new pod rollout (web-",
        "uncategorized │        → settings:configmap",
    ] {
        assert!(log.contains(line), "no {line:?} in {log}");
    }
    let apply = get(&instance, "kubernetesapply", "web");
    let uid = project.field("deployment/web", ".metadata.uid");
    assert!(apply["status"]["resultYAML"].as_str().is_some_and(|it| it.contains(&uid)), "{apply}");
    let discovery = get(&instance, "kubernetesdiscovery", "web");
    assert_eq!(discovery["spec"]["watches"][0]["uid"], uid, "{discovery}");
    let pod = &discovery["status"]["pods"][0];
    assert_eq!(pod["ancestorUID"], uid, "{pod}");
    let info = get(&instance, "uiresource", "web")["status"]["k8sResourceInfo"].clone();
    assert_eq!(info["podName"], pod["name"], "{info}");
    assert_eq!(info["allContainersReady"], true, "{info}");
    assert_eq!(info["displayNames"][0], "web:deployment", "{info}");
}

#[test]
fn another_engine_finds_everything_as_it_is_and_writes_nothing() {
    let yaml = deployment("web", SLEEP) + &config_map("settings", "one");
    let Some(mut project) = Project::new(TILTFILE, &yaml) else { return };
    let mut instance = project.up();
    until(&mut instance, "web", "ok", "ok");
    until(&mut instance, "uncategorized", "ok", "ok");
    let version = |it: &str| project.field(it, ".metadata.resourceVersion");
    let generation = || project.field("deployment/web", ".metadata.generation");
    let before = (version("configmap/settings"), generation(), project.names("pods"));
    instance.stop();
    let audit = project.engine(Some(&instance), &["audit"]).stdout;
    instance.restart();
    until(&mut instance, "web", "ok", "ok");
    until(&mut instance, "uncategorized", "ok", "ok");
    assert_eq!((version("configmap/settings"), generation(), project.names("pods")), before);
    let after = project.engine(Some(&instance), &["audit"]).stdout;
    assert_eq!(String::from_utf8_lossy(&after), String::from_utf8_lossy(&audit));
    assert!(!audit.is_empty(), "the first run has written");
    assert!(instance.log().contains("Attaching to existing pod (web-"), "{}", instance.log());
}

#[test]
fn what_changes_in_the_yaml_reaches_the_cluster_and_what_others_changed_stays() {
    let yaml = config_map("a", "one") + &config_map("b", "one");
    let Some(mut project) = Project::new(TILTFILE, &yaml) else { return };
    let mut instance = project.up();
    until(&mut instance, "uncategorized", "ok", "ok");
    project.kubectl(&["patch", "configmap", "a", "-p", r#"{"data":{"key":"by hand"}}"#]);
    let yaml = project.text(&(config_map("a", "one") + &config_map("b", "two")));
    instance.write("objects.yaml", &yaml);
    instance.until("it is applied", |_| project.field("configmap/b", ".data.key") == "two");
    until(&mut instance, "uncategorized", "ok", "ok");
    assert_eq!(project.field("configmap/a", ".data.key"), "by hand");
    let log = instance.log();
    assert!(log.contains("Kept these fields"), "{log}");
    assert!(log.contains("data.key: is \"by hand\""), "{log}");

    instance.trigger("uncategorized");
    instance.until("it is overwritten", |_| project.field("configmap/a", ".data.key") == "one");
}

#[test]
fn a_tiltfile_that_says_the_same_deploys_nothing_again() {
    let yaml = deployment("web", SLEEP) + &config_map("settings", "one");
    let Some(mut project) = Project::new(TILTFILE, &yaml) else { return };
    let mut instance = project.up();
    until(&mut instance, "web", "ok", "ok");
    until(&mut instance, "uncategorized", "ok", "ok");
    // What is said in another second must not count for something else.
    let second = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let now = second();
    instance.until("the next second has begun", |_| second() > now);
    instance.write("Tiltfile", &format!("{TILTFILE}# a comment\n"));
    instance.until("it is loaded again", |it| it.log().matches("Successfully loaded").count() == 2);
    instance.write("Tiltfile", &format!("{TILTFILE}local_resource('later', 'echo it is later')\n"));
    until(&mut instance, "later", "ok", "not_applicable");
    let log = instance.log();
    assert_eq!(log.matches("Applying YAML to cluster").count(), 2, "{log}");
}

#[test]
fn a_pod_that_cannot_start_says_why() {
    let yaml = deployment("web", SLEEP).replace("image: busybox", "image: localhost:1/nothing:no");
    let Some(mut project) = Project::new(TILTFILE, &yaml) else { return };
    let mut instance = project.up();
    until(&mut instance, "web", "ok", "error");
    let error = instance.client(&["why", "web"]);
    assert!(error.starts_with("web: pod web-") && error.contains("ImagePull"), "{error}");
    instance.until("the event is in the log", |it| it.log().contains("web │ [event: pod "));
}

#[test]
fn ports_lead_to_the_pod_that_is_there_also_after_another_took_its_place() {
    let port = named_port();
    let server = "mkdir /www; hostname > /www/index.html; exec httpd -f -p 8000 -h /www";
    let tiltfile = format!("{TILTFILE}k8s_resource('web', port_forwards='{port}:8000')\n");
    let Some(mut project) = Project::new(&tiltfile, &deployment("web", server)) else { return };
    let mut instance = project.up();
    until(&mut instance, "web", "ok", "ok");
    let pod = project.names("pods").remove(0);
    instance.until("the pod answers", |_| page(port, "/").trim() == pod);
    let resource = get(&instance, "uiresource", "web");
    let url = format!("http://localhost:{port}/");
    assert_eq!(resource["status"]["endpointLinks"][0]["url"], url, "{resource}");

    project.kubectl(&["delete", "pod", &pod, "--wait=false"]);
    instance.until("the next pod answers", |_| {
        let names = project.names("pods");
        let answer = page(port, "/");
        let answer = answer.trim();
        answer != pod && names.iter().any(|it| it == answer)
    });
}

#[test]
fn a_container_that_is_started_again_is_noticed_and_its_log_goes_on() {
    let command = "echo run of $HOSTNAME; sleep 2; exit 1";
    let Some(mut project) = Project::new(TILTFILE, &deployment("web", command)) else { return };
    let mut instance = project.up();
    instance.until("the restart is told", |it| {
        let log = it.log();
        log.contains("Detected container restart. Pod: web-")
            && log.matches("web │ run of web-").count() > 1
    });
}

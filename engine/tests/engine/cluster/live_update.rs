//! Changed files in containers of pods: what gets there, whatever the image has inside, and after restarts.

use std::{fs, process::Command};

use crate::{
    cluster::ground::{Project, deployment, get, until},
    support::Instance,
};

const BUSYBOX: &str = "FROM busybox\nCOPY src /app\nCMD [\"sh\", \"-c\", \"exec sleep 1000\"]\n";

/// A Deployment of so many pods with an image of the project.
fn objects(replicas: usize) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web, namespace: NAMESPACE}}\n\
         spec:\n  replicas: {replicas}\n  selector: {{matchLabels: {{app: web}}}}\n  template:\n\
         \x20   metadata: {{labels: {{app: web}}}}\n    spec:\n      terminationGracePeriodSeconds: 0\n\
         \x20     containers: [{{name: main, image: NAMESPACE-web}}]\n"
    )
}

/// A resource `web` with the files of `src` in `/app`, which runs.
fn start(dockerfile: &str, steps: &str, replicas: usize) -> Option<(Project, Instance)> {
    let tiltfile = format!(
        "k8s_yaml('objects.yaml')\ndocker_build('NAMESPACE-web', '.', live_update=[{steps}])\n"
    );
    start_with(&tiltfile, dockerfile, &objects(replicas))
}

/// A resource `web` of some Tiltfile, which runs.
fn start_with(tiltfile: &str, dockerfile: &str, yaml: &str) -> Option<(Project, Instance)> {
    let mut project = Project::new(tiltfile, yaml)?;
    project.write("Dockerfile", &format!("{dockerfile}LABEL of=NAMESPACE\n"));
    project.write(".dockerignore", "home\nlog\n");
    project.write("src/a", "first\n");
    let mut instance = project.up();
    until(&mut instance, "web", "ok", "ok");
    Some((project, instance))
}

fn pods(project: &Project) -> Vec<String> {
    let query = "--output=jsonpath={.items[?(@.status.phase=='Running')].metadata.name}";
    let found = project.kubectl(&["get", "pods", "--selector=app=web", query]);
    found.split_whitespace().map(ToOwned::to_owned).collect()
}

/// Waits until a command prints the same in all of so many pods.
fn until_inside(
    instance: &mut Instance,
    project: &Project,
    n_pods: usize,
    command: &str,
    text: &str,
) {
    instance.until(&format!("`{command}` is {text:?} in {n_pods} pods"), |_| {
        let pods = pods(project);
        let inside = |pod: &String| project.kubectl(&["exec", pod, "--", "sh", "-c", command]);
        pods.len() == n_pods && pods.iter().all(|it| inside(it) == text)
    });
}

#[test]
fn what_changes_here_changes_in_all_pods_and_in_those_that_replace_them() {
    let Some((project, mut instance)) = start(BUSYBOX, "sync('src', '/app')", 3) else { return };
    // A Deployment is ready in Tilt's eyes when its newest pod is.
    instance.until("all pods run", |_| pods(&project).len() == 3);
    let before = pods(&project);
    instance.write("src/a", "second\n");
    until_inside(&mut instance, &project, 3, "cat /app/a", "second");
    instance.write("src/deep/er", "new\n");
    until_inside(&mut instance, &project, 3, "cat /app/deep/er", "new");
    fs::remove_dir_all(instance.dir.path().join("src/deep")).expect("it is there");
    until_inside(&mut instance, &project, 3, "ls /app; ls -A / | grep engine", "a");
    assert_eq!(pods(&project), before, "they were replaced:\n{}", instance.log());
    let log = instance.log();
    assert!(log.contains("Will copy 1 file(s) to container(s): [web-"), "{log}");
    let object = get(&instance, "liveupdate", &format!("web:{}-web", project.namespace));
    let selector = &object["spec"]["selector"]["kubernetes"];
    assert_eq!(selector["discoveryName"], "web", "{object}");
    assert_eq!(object["status"]["containers"].as_array().map_or(0, Vec::len), 3, "{object}");

    // A new pod has what the image has; it gets all that changed since.
    project.kubectl(&["delete", "pod", &before[0], "--wait=false"]);
    instance.until("another pod runs", |_| {
        let now = pods(&project);
        now.len() == 3 && !now.contains(&before[0])
    });
    until_inside(&mut instance, &project, 3, "cat /app/a", "second");
}

#[test]
fn a_container_that_crashed_gets_its_changes_again() {
    let dockerfile = "FROM busybox\nCOPY src /app\n\
                      CMD [\"sh\", \"-c\", \"while [ ! -e /die ]; do sleep 0.1; done; exit 1\"]\n";
    let Some((project, mut instance)) = start(dockerfile, "sync('src', '/app')", 1) else { return };
    instance.write("src/a", "second\n");
    until_inside(&mut instance, &project, 1, "cat /app/a", "second");
    let before = pods(&project);
    project.kubectl(&["exec", &before[0], "--", "touch", "/die"]);
    instance.until("it was restarted", |_| {
        let path = ".status.containerStatuses[0].restartCount";
        project.field(&format!("pod/{}", before[0]), path) == "1"
    });
    until_inside(&mut instance, &project, 1, "cat /app/a", "second");
    assert_eq!(pods(&project), before, "it is the same pod");
}

#[test]
fn commands_run_in_pods_and_their_errors_are_no_reason_for_a_build() {
    let steps = "sync('src', '/app'), run('cat /app/a >> /ran; echo told'), \
                 run('test ! -e /app/bad')";
    let Some((project, mut instance)) = start(BUSYBOX, steps, 1) else { return };
    let before = pods(&project);
    instance.write("src/a", "run\n");
    until_inside(&mut instance, &project, 1, "cat /ran", "run");
    instance.until("the output is told", |it| it.log().contains("│ told"));
    instance.write("src/bad", "bad\n");
    instance.until("the error is told", |it| {
        it.log().contains("command \"test ! -e /app/bad\" failed with exit code: 1")
    });
    until(&mut instance, "web", "error", "ok");
    fs::remove_file(instance.dir.path().join("src/bad")).expect("it is there");
    until(&mut instance, "web", "ok", "ok");
    assert_eq!(pods(&project), before, "they were replaced:\n{}", instance.log());
}

#[test]
fn root_updates_what_the_user_of_a_pod_may_not_write_and_follows_none_of_its_links() {
    let dockerfile = "FROM busybox\nCOPY src /app\nCOPY --chown=1000:1000 src /own\nCOPY src /priv\nUSER 1000\n\
                      CMD [\"sh\", \"-c\", \"exec sleep 1000\"]\n";
    let tiltfile = "k8s_yaml('objects.yaml')\n\
        docker_build('NAMESPACE-web', '.', live_update=[\n\
        \x20   sync('src', '/app'), sync('own', '/own'), run('id -u > /tmp/ran')])\n";
    let Some(mut project) = Project::new(tiltfile, &objects(1)) else { return };
    project.write("Dockerfile", &format!("{dockerfile}LABEL of=NAMESPACE\n"));
    project.write(".dockerignore", "home\nlog\n");
    project.write("src/a", "first\n");
    project.write("own/a", "first\n");
    let mut instance = project.up();
    until(&mut instance, "web", "ok", "ok");
    let before = pods(&project);
    instance.write("src/a", "second\n");
    until_inside(&mut instance, &project, 1, "cat /app/a", "second");
    until_inside(&mut instance, &project, 1, "cat /tmp/ran; stat -c %u /app/a", "1000\n0");
    assert_eq!(pods(&project), before, "it was replaced:\n{}", instance.log());
    project.kubectl(&["exec", &before[0], "--", "ln", "-s", "/priv", "/own/sub"]);
    instance.write("own/sub/a", "overwritten\n");
    let words = "/own/sub: root does not follow a link that others than root can change";
    instance.until(words, |it| it.log().contains(words));
}

/// A program that says which file it found and sleeps, and needs nothing.
fn sleeper(dir: &std::path::Path) -> bool {
    let source = dir.join("sleeper.rs");
    let text = "fn main() {
        print!(\"begun with {}\", std::fs::read_to_string(\"/app/a\").unwrap_or_default());
        loop { std::thread::park() }
    }";
    fs::write(&source, text).expect("it can be written");
    let flags = ["-Ctarget-feature=+crt-static", "-Copt-level=1", "-o"];
    let built = Command::new("rustc").args(flags).arg(dir.join("sleeper")).arg(&source).status();
    built.is_ok_and(|it| it.success())
}

#[test]
fn an_image_without_shell_and_root_is_updated_too() {
    let tiltfile = "k8s_yaml('objects.yaml')\n\
                    docker_build('NAMESPACE-web', '.', live_update=[sync('src', '/app')])\n";
    let Some(mut project) = Project::new(tiltfile, &objects(1)) else { return };
    assert!(sleeper(project.dir()), "rustc makes a static program");
    let dockerfile = "FROM scratch\nCOPY sleeper /sleeper\nCOPY src /app\nUSER 1000\n\
                      CMD [\"/sleeper\"]\nLABEL of=NAMESPACE\n";
    project.write("Dockerfile", dockerfile);
    project.write(".dockerignore", "home\nlog\n");
    project.write("src/a", "first\n");
    let mut instance = project.up();
    until(&mut instance, "web", "ok", "ok");
    let before = pods(&project);
    instance.write("src/a", "second\n");
    instance.until("the file is in the container", |_| inside_nothing(&project) == "second");
    instance.write("src/a", "third\n");
    instance.until("the file is in the container", |_| inside_nothing(&project) == "third");
    assert_eq!(pods(&project), before, "it was replaced:\n{}", instance.log());
}

#[test]
fn a_process_is_restarted_without_shell_and_root() {
    let tiltfile = "load('ext://restart_process', 'docker_build_with_restart')\n\
                    k8s_yaml('objects.yaml')\n\
                    docker_build_with_restart('NAMESPACE-web', '.', ['/sleeper'], [sync('src', '/app')])\n";
    // The user may write the files, or may not.
    for files in
        ["COPY src /app\n", "COPY src /app\nUSER 1000\n", "COPY --chown=1000 src /app\nUSER 1000\n"]
    {
        let Some(mut project) = Project::new(tiltfile, &objects(1)) else { return };
        assert!(sleeper(project.dir()), "rustc makes a static program");
        let dockerfile =
            format!("FROM scratch\nCOPY sleeper /sleeper\n{files}LABEL of=NAMESPACE\n");
        project.write("Dockerfile", &dockerfile);
        project.write(".dockerignore", "home\nlog\n");
        project.write("src/a", "first\n");
        let mut instance = project.up();
        until(&mut instance, "web", "ok", "ok");
        let before = pods(&project);
        for text in ["second", "third"] {
            instance.write("src/a", &format!("{text}\n"));
            let line = format!("begun with {text}");
            instance.until(&line, |it| it.log().contains(&line));
        }
        assert_eq!(pods(&project), before, "it was replaced:\n{}", instance.log());
    }
}

/// What is in a file of a container that has no programs, seen by its process from outside.
fn inside_nothing(project: &Project) -> String {
    let Some(pod) = pods(project).first().cloned() else { return String::new() };
    let path = ".status.containerStatuses[0].containerID";
    let id = project.field(&format!("pod/{pod}"), path);
    let id = id.rsplit('/').next().unwrap_or_default();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let path = entry.path();
        let is_it = fs::read_to_string(path.join("cgroup")).is_ok_and(|it| it.contains(id));
        if is_it && let Ok(text) = fs::read_to_string(path.join("root/app/a")) {
            return text.trim().to_owned();
        }
    }
    String::new()
}

#[test]
fn a_file_that_no_rule_covers_causes_a_build_and_a_new_pod() {
    let Some((project, mut instance)) = start(BUSYBOX, "sync('src', '/app')", 1) else { return };
    let before = pods(&project);
    instance.write("src/a", "second\n");
    until_inside(&mut instance, &project, 1, "cat /app/a", "second");
    instance.write("other", "built\n");
    instance.until("another pod runs", |_| {
        let now = pods(&project);
        now.len() == 1 && now != before
    });
    until_inside(&mut instance, &project, 1, "cat /app/a", "second");
    let log = instance.log();
    assert!(log.contains("UpdateStopped: Found file(s) not matching any sync (files: [other])"));
}

#[test]
fn pods_that_only_a_selector_leads_to_are_updated_too() {
    let tiltfile = "k8s_yaml('objects.yaml')\n\
        docker_build('NAMESPACE-web', '.', live_update=[sync('src', '/app')])\n\
        k8s_resource('web', extra_pod_selectors=[{'app': 'web'}], discovery_strategy='selectors-only')\n";
    let Some((project, mut instance)) = start_with(tiltfile, BUSYBOX, &objects(1)) else { return };
    let before = pods(&project);
    let found = get(&instance, "kubernetesdiscovery", "web")["status"]["pods"].clone();
    assert_eq!(found.as_array().map_or(0, Vec::len), 1, "those of other namespaces too: {found}");
    instance.write("src/a", "second\n");
    until_inside(&mut instance, &project, 1, "cat /app/a", "second");
    assert_eq!(pods(&project), before, "they were replaced:\n{}", instance.log());
}

#[test]
fn an_image_that_others_build_is_only_updated_until_a_file_asks_for_a_new_pod() {
    let tiltfile = "k8s_yaml('objects.yaml')\n\
        custom_build('busybox', ':', deps=['src', 'special'], disable_push=True, skips_local_docker=True,\n\
        \x20            live_update=[sync('src', '/app')])\n";
    let yaml = deployment("web", "exec sleep 1000");
    let Some((project, mut instance)) = start_with(tiltfile, BUSYBOX, &yaml) else { return };
    let before = pods(&project);
    instance.write("src/a", "second\n");
    until_inside(&mut instance, &project, 1, "cat /app/a", "second");
    assert_eq!(pods(&project), before, "they were replaced:\n{}", instance.log());

    instance.write("special", "new\n");
    instance.until("it is deployed again", |it| {
        let log = it.log();
        let told = log.split_once("1 File Changed: [special]");
        told.is_some_and(|(_, after)| after.contains("STEP 1/1 — Deploying"))
    });
    instance.write("src/a", "third\n");
    until_inside(&mut instance, &project, 1, "cat /app/a", "third");
}

#[test]
fn what_a_command_deploys_is_updated_in_place_unless_a_file_asks_for_the_command() {
    let tiltfile = "k8s_custom_deploy('web',\n\
        \x20   apply_cmd='kubectl delete --ignore-not-found -f objects.yaml >&2; kubectl create -o yaml -f objects.yaml',\n\
        \x20   delete_cmd='kubectl delete --ignore-not-found -f objects.yaml',\n\
        \x20   deps=['src', 'again'], image_selector='busybox',\n\
        \x20   live_update=[fall_back_on('again'), sync('src', '/app')])\n";
    let yaml = deployment("web", "exec sleep 1000");
    let Some((project, mut instance)) = start_with(tiltfile, BUSYBOX, &yaml) else { return };
    let before = pods(&project);
    instance.write("src/a", "second\n");
    until_inside(&mut instance, &project, 1, "cat /app/a", "second");
    assert_eq!(pods(&project), before, "they were replaced:\n{}", instance.log());

    instance.write("again", "now\n");
    instance.until("another pod runs", |_| {
        let now = pods(&project);
        now.len() == 1 && now != before
    });
    // It is what the image has: that it changed was before the command.
    until_inside(&mut instance, &project, 1, "ls /app 2>&1 | grep -c a$", "0");
}

//! Images are built, get into the cluster, and are what pods run.

use crate::cluster::ground::{Project, deployment, until};

const TILTFILE: &str = "docker_build('NAMESPACE-app', 'app')\nk8s_yaml('objects.yaml')\n";
const DOCKERFILE: &str = "FROM busybox\nCOPY text /text\n";

fn app() -> Option<Project> {
    let yaml = deployment("web", "cat /text; exec sleep 1000")
        .replace("image: busybox", "image: NAMESPACE-app");
    let project = Project::new("", &yaml)?;
    project.write("Tiltfile", TILTFILE);
    project.write("app/Dockerfile", DOCKERFILE);
    project.write("app/text", "first\n");
    Some(project)
}

#[test]
fn an_image_is_built_pushed_and_run_and_again_when_its_files_change() {
    let Some(mut project) = app() else { return };
    let mut instance = project.up();
    until(&mut instance, "web", "ok", "ok");
    instance.until("its content is there", |it| it.log().contains("web │ first"));
    let log = instance.log();
    for line in [
        "STEP 1/3 — Building Dockerfile: [",
        "STEP 2/3 — Pushing ",
        "STEP 3/3 — Deploying",
        "→ web:deployment",
    ] {
        assert!(log.contains(line), "no {line:?} in {log}");
    }
    let image = "deployment/web";
    let before = project.field(image, ".spec.template.spec.containers[0].image");
    assert!(before.contains(":tilt-"), "{before}");

    instance.write("app/text", "second\n");
    instance.until("the new content is there", |it| it.log().contains("web │ second"));
    until(&mut instance, "web", "ok", "ok");
    let after = project.field(image, ".spec.template.spec.containers[0].image");
    assert_ne!(after, before);
}

#[test]
fn an_image_whose_files_did_not_change_is_not_built_by_the_next_engine() {
    let Some(mut project) = app() else { return };
    let mut instance = project.up();
    until(&mut instance, "web", "ok", "ok");
    let image = || project.field("deployment/web", ".spec.template.spec.containers[0].image");
    let (before, pods) = (image(), project.names("pods"));
    instance.stop();
    let n_builds = instance.log().matches("Building Dockerfile").count();
    instance.restart();
    until(&mut instance, "web", "ok", "ok");
    let log = instance.log();
    assert!(log.contains("Loading cached images"), "{log}");
    assert_eq!(log.matches("Building Dockerfile").count(), n_builds, "{log}");
    assert_eq!((image(), project.names("pods")), (before, pods));
}

#[test]
fn two_tags_of_a_name_are_two_images_each_on_its_own_base() {
    let tiltfile = "k8s_yaml('objects.yaml')\n\
        docker_build('NAMESPACE-base', 'base')\ndocker_build('NAMESPACE-base:other', 'other-base')\n\
        docker_build('NAMESPACE-app', 'app')\ndocker_build('NAMESPACE-app:other', 'other-app')\n";
    let command = "cat /text; exec sleep 1000";
    let yaml = deployment("web", command).replace("image: busybox", "image: NAMESPACE-app")
        + &deployment("other", command).replace("image: busybox", "image: NAMESPACE-app:other");
    let Some(mut project) = Project::new(tiltfile, &yaml) else { return };
    for (prefix, tag) in [("", ""), ("other-", ":other")] {
        project.write(&format!("{prefix}base/Dockerfile"), "FROM busybox\nCOPY text /from\n");
        project.write(&format!("{prefix}base/text"), &format!("first {prefix}text\n"));
        let dockerfile = format!("FROM busybox\nCOPY --from=NAMESPACE-base{tag} /from /text\n");
        project.write(&format!("{prefix}app/Dockerfile"), &dockerfile);
    }
    let mut instance = project.up();
    until(&mut instance, "web", "ok", "ok");
    until(&mut instance, "other", "ok", "ok");
    instance.until("each has its content", |it| {
        let log = it.log();
        log.contains("web │ first text") && log.contains("other │ first other-text")
    });
    let image = |it: &str| project.field(it, ".spec.template.spec.containers[0].image");
    let before = image("deployment/web");
    instance.write("other-base/text", "second\n");
    instance.until("the new content is there", |it| it.log().contains("other │ second"));
    until(&mut instance, "other", "ok", "ok");
    assert_eq!(image("deployment/web"), before);
}

//! Why services are red: every surface says the same, and it names the cause.

use crate::docker::{
    ground::{Project, docker, services},
    images,
};

const TILTFILE: &str = "docker_compose('compose.yml', project_name='PROJECT')\n";

/// A health check that says no, and why.
const SICK: &str =
    "healthcheck: {test: 'echo the disk is on fire; exit 1', interval: 1s, retries: 1}";

#[test]
fn services_that_end_or_are_not_healthy_say_why() {
    let file = services(&[("crash", "echo soon; exit 3", ""), ("sick", "exec sleep 1000", SICK)]);
    let Some(mut project) = Project::new(TILTFILE, &file) else { return };
    let mut all = project.surfaces();
    all.show(&[
        ("crash", "container *crash* exited with status 3"),
        ("sick", "container *sick* is unhealthy: the disk is on fire"),
    ]);
    docker(&["kill", "--signal", "KILL", &project.containers("sick")[0]]);
    all.show(&[("sick", "container *sick* exited with status 137")]);
    all.finish();
}

#[test]
fn images_that_cannot_be_built_or_are_not_there_say_why() {
    let Some(mut project) = images::project(
        &["web"],
        "docker_build('PROJECT-web', 'web')\n",
        &[("web/Dockerfile", "FROM busybox\nRUN echo no disk && exit 3\n")],
    ) else {
        return;
    };
    let mut all = project.surfaces();
    all.show(&[("web", "*exit code: 3*")]);
    all.finish();

    let file = services(&[("web", "true", "")]).replace("busybox", "localhost:1/no/such");
    let Some(mut project) = Project::new(TILTFILE, &file) else { return };
    let mut all = project.surfaces();
    all.show(&[("web", "docker compose failed: exit status 1: *localhost:1/*")]);
    all.finish();
}

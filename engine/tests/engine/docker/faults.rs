//! Docker that is killed, and Docker whose disk is full.

use std::fs;

use crate::docker::{
    ground::{Project, until, until_failed, why},
    private::Private,
};

const TILTFILE: &str = "docker_compose('compose.yml', project_name='PROJECT')\n";

/// A service that runs an image of its own, which is built on a Docker engine of its own.
fn project(docker: &Private, build: &str, dockerfile: &str) -> Project {
    let tiltfile = format!("{TILTFILE}docker_build('PROJECT-web', 'web'{build})\n");
    let project = Project::new(&tiltfile, "").expect("there is Docker").at_host(&docker.host());
    let service = format!(
        "services:\n  web:\n    image: {}-web\n    command: [sh, -c, exec sleep 1000]\n    \
         stop_grace_period: 0s\n    network_mode: none\n",
        project.name
    );
    project.write("compose.yml", &service);
    project.write("web/Dockerfile", dockerfile);
    project
}

#[test]
fn a_build_is_done_again_when_docker_was_killed_and_is_back() {
    let Some(docker) = Private::start() else { return };
    docker.kill();
    // What the step does is decided by something that nobody watches.
    let dockerfile = "FROM busybox\nCOPY a /a\nRUN --mount=type=secret,id=s,required=true \
                      test \"$(cat /run/secrets/s)\" = go || sleep 1000\n";
    let mut project = project(&docker, ", secret='id=s,src=secret'", dockerfile);
    project.write("web/a", "first");
    project.write("secret", "wait");
    let mut instance = project.up();
    instance.until("it is known why it waits", |it| {
        let output =
            project.engine(Some(it), &["why", "--json", "web", "--port", &it.port.to_string()]);
        String::from_utf8_lossy(&output.stdout).contains("Docker is not running at")
    });

    docker.up();
    instance.until("the step runs", |it| it.log().contains("RUN --mount=type=secret"));
    docker.kill();
    instance.until("it has failed", |it| it.log().contains("ERROR: Build Failed: "));
    instance
        .until("it is known why", |it| why(it, "web")["hold"]["reason"] == "waiting-for-cluster");
    instance.write("secret", "go");

    docker.up();
    until(&mut instance, "web", "ok", "ok");
    assert!(instance.log().contains("web │ Retry After Outage"), "{}", instance.log());
    assert_eq!(why(&instance, "web")["lastRun"]["reason"], "Retry After Outage");

    instance.write("web/a", "second");
    let container = || docker.docker(&["ps", "--quiet", "--filter", "name=web"]);
    instance.until("it is built as before", |_| {
        docker.docker(&["exec", &container(), "cat", "/a"]) == "second"
    });
}

#[test]
fn a_full_disk_is_named_and_when_there_is_room_the_image_is_built() {
    let Some(docker) = Private::with_disk(64) else { return };
    let filler = docker.fill(2);
    let mut project = project(&docker, "", "FROM busybox\nCOPY . /app\n");
    project.write("web/big", &"x".repeat(8 << 20));
    let mut instance = project.up();
    let error = until_failed(&mut instance, "web");
    assert!(error.contains("no space left on device"), "{error}");
    let log = instance.log();
    assert!(log.contains("Docker is out of disk space: try `docker system prune`"), "{log}");

    fs::remove_file(filler).expect("it is there");
    instance.trigger("web");
    until(&mut instance, "web", "ok", "ok");
}

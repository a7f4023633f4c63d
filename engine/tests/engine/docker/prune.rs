//! Docker prune: what goes, and what has to stay.

use crate::docker::{
    ground::{Project, until},
    private::Private,
};

const DOCKERFILE: &str = "FROM busybox\nCOPY . /app\n";
const ALL: &str = "docker_prune_settings(max_age_mins=-1, keep_recent=0, num_builds=1)\n";

/// A service that runs an image of its own.
fn project(docker: &Private, more: &str) -> Project {
    let tiltfile = format!(
        "docker_compose('compose.yml', project_name='PROJECT')\n\
         docker_build('PROJECT-web', 'web')\n{more}"
    );
    let project = Project::new(&tiltfile, "").expect("there is Docker").at_host(&docker.host());
    let service = format!(
        "services:\n  web:\n    image: {}-web\n    command: [sh, -c, exec sleep 1000]\n    \
         stop_grace_period: 0s\n    network_mode: none\n",
        project.name
    );
    project.write("compose.yml", &service);
    project.write("web/Dockerfile", DOCKERFILE);
    project.write("web/a", "1");
    project
}

fn images(docker: &Private, project: &Project) -> usize {
    let named = docker.docker(&["images", "--quiet", &format!("{}-web", project.name)]);
    let mut ids: Vec<&str> = named.lines().collect();
    ids.sort_unstable();
    ids.dedup();
    ids.len()
}

#[test]
fn what_was_built_and_is_not_used_goes_with_its_containers_and_caches() {
    let Some(docker) = Private::start() else { return };
    let project = project(
        &docker,
        "if config.tilt_subcommand == 'docker-prune':\n    docker_prune_settings(max_age_mins=-1, keep_recent=0)\n",
    );
    for text in ["1", "2"] {
        project.write("web/a", text);
        let output = project.engine(None, &["ci", "--port", "0"]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
    assert_eq!(images(&docker, &project), 2);
    // One that is stopped, of an image that was built here, and one that nobody here has made.
    let image = format!("{}-web", project.name);
    let stopped = docker.docker(&["run", "--detach", "--network=none", &image, "true"]);
    let foreign = docker.docker(&["run", "--detach", "--network=none", "busybox", "true"]);
    docker.docker(&["wait", &stopped, &foreign]);

    let output = project.engine(None, &["docker-prune", "--debug"]);
    let words = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{words}");
    for want in
        ["removed 1 containers", "- untagged: ", "- deleted: sha256:", " caches, reclaimed "]
    {
        assert!(words.contains(want), "{want} in {words}");
    }
    let containers = docker.docker(&["ps", "--all", "--quiet", "--no-trunc"]);
    assert!(!containers.contains(&stopped), "{words}");
    assert!(containers.contains(&foreign), "{words}");
    assert_eq!(images(&docker, &project), 1, "the one that runs stays: {words}");

    assert!(!docker.docker(&["images", "--quiet", "busybox"]).is_empty(), "it was built elsewhere");
}

#[test]
fn a_running_engine_prunes_after_builds_if_the_tiltfile_says_so() {
    let Some(docker) = Private::start() else { return };
    let mut project = project(&docker, ALL);
    let mut instance = project.up();
    until(&mut instance, "web", "ok", "ok");
    instance.write("web/a", "2");
    instance.until("the first image is gone", |it| {
        it.log().contains("[Docker Prune] removed ") && images(&docker, &project) == 1
    });
    until(&mut instance, "web", "ok", "ok");
}

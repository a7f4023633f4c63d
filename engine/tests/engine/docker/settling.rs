//! Whatever happens between two saves, the container ends up with what the directory has.

use std::{fs, process::Command};

use crate::{
    docker::{
        ground::{Project, docker, until},
        outage::Way,
    },
    support::Instance,
};

const N_ROUNDS: usize = 50;
const DOCKERFILE: &str =
    "FROM busybox\nCOPY src /app\nCOPY other /other\nCMD [\"sh\", \"-c\", \"exec sleep 1000\"]\n";
const LISTING: &str = "find . -type f | sort | xargs md5sum";

/// What a command prints in a directory of the project.
fn here(instance: &Instance, dir: &str) -> String {
    let dir = instance.dir.path().join(dir);
    let output = Command::new("sh").args(["-c", LISTING]).current_dir(dir).output();
    String::from_utf8_lossy(&output.expect("it starts").stdout).trim().to_owned()
}

fn container(project: &Project) -> String {
    project.containers("web").first().cloned().unwrap_or_default()
}

fn settle(instance: &mut Instance, project: &Project, round: usize) {
    let expected = here(instance, "src");
    instance.until(&format!("round {round}: the container has {expected}"), |_| {
        let listing = format!("cd /app && {LISTING}");
        docker(&["exec", &container(project), "sh", "-c", &listing]) == expected
    });
}

#[test]
fn fifty_edits_during_builds_crashes_and_outages_all_arrive() {
    let tiltfile = "docker_compose('compose.yml', project_name='PROJECT')\n\
                    docker_build('PROJECT-web', '.', live_update=[sync('src', '/app')])\n";
    let Some(project) = Project::new(tiltfile, "") else { return };
    let sockets = tempfile::tempdir().expect("a directory");
    let way = Way::new(&sockets.path().join("docker.sock"));
    way.open();
    let mut project = project.at_host(&way.host());
    let image = format!("image: {}-web", project.name);
    let service =
        format!("services: {{web: {{{image}, stop_grace_period: 0s, network_mode: none}}}}\n");
    project.write("compose.yml", &service);
    project.write("Dockerfile", &format!("{DOCKERFILE}LABEL of={}\n", project.name));
    project.write(".dockerignore", "home\nlog\n");
    project.write("src/a", "0\n");
    project.write("other/b", "0\n");
    let mut instance = project.up();
    until(&mut instance, "web", "ok", "ok");
    for round in 0..N_ROUNDS {
        let text = format!("{round}\n");
        match round % 10 {
            // A build that is on its way when the next file is saved.
            1 | 6 => instance.write("other/b", &text),
            2 => drop(docker(&["restart", "--time", "0", &container(&project)])),
            // Nobody starts it again: only a build helps.
            3 => drop(docker(&["kill", &container(&project)])),
            4 => {
                way.cut();
                instance.write("src/cut", &text);
                way.open();
            }
            7 => {
                for i in 0..200 {
                    instance.write(&format!("src/many/f{i}"), &text);
                }
            }
            8 => fs::remove_dir_all(instance.dir.path().join("src/many")).expect("it is there"),
            _ => {}
        }
        instance.write("src/a", &text);
        instance.write(&format!("src/f{}", round % 3), &text);
        settle(&mut instance, &project, round);
    }
}

//! Images with many files: a few that changed are put over what was built before, and the result is what a build of all
//! of them gives.

use std::fs;

use crate::{
    docker::{
        ground::{Project, until},
        images::{inside, project, until_inside},
    },
    support::Instance,
};

/// More than it takes to be worth the while.
const N_FILES: usize = 1_100;

const PATCHED: &str = "changed file(s) over ";

fn start(dockerfile: &str) -> Option<(Project, Instance)> {
    let tiltfile = "docker_build('PROJECT-web', 'web', dockerfile='Dockerfile')";
    let files = [("Dockerfile", dockerfile), ("web/of", "PROJECT")];
    let mut project = project(&["web"], tiltfile, &files)?;
    for i in 0..N_FILES {
        project.write(&format!("web/d{}/f{i}", i % 10), "as it was");
    }
    let mut instance = project.up();
    until(&mut instance, "web", "ok", "ok");
    Some((project, instance))
}

/// All files of the image with their content and mode, or all files here.
const LIST: &str =
    "find . -type f -exec stat -c '%n %a' {} + | sort; find . -type f | sort | xargs cat";

fn assert_same(instance: &Instance, project: &Project) {
    let here = std::process::Command::new("sh")
        .args(["-c", LIST])
        .current_dir(instance.dir.path().join("web"))
        .output()
        .expect("there is a shell");
    let there = inside(project, "web", &format!("cd /app; {LIST}"));
    assert_eq!(there, String::from_utf8_lossy(&here.stdout).trim(), "{}", instance.log());
}

fn n_patches(instance: &Instance) -> usize {
    instance.log().matches(PATCHED).count()
}

#[test]
fn changed_files_are_put_over_the_image_and_anything_else_is_built() {
    let dockerfile = "FROM busybox\nCOPY of /\nRUN echo ran\nCOPY . /app/\nCOPY --from=busybox /bin/busybox /x\n";
    let Some((project, mut instance)) = start(dockerfile) else { return };
    instance.write("web/d1/f1", "other");
    until_inside(&mut instance, &project, "web", ("/app/d1/f1", "other"));
    instance.write("web/new/dir/file", "new");
    until_inside(&mut instance, &project, "web", ("/app/new/dir/file", "new"));
    assert_eq!(n_patches(&instance), 2, "{}", instance.log());
    assert_same(&instance, &project);

    // What a command of the Dockerfile sees, and what is gone, takes a build of all of it.
    instance.write("web/of", "another");
    until_inside(&mut instance, &project, "web", ("/app/of", "another"));
    assert_eq!(inside(&project, "web", "cat /of"), "another");
    fs::remove_file(instance.dir.path().join("web/d2/f2")).expect("it is there");
    instance.until("the file is gone", |_| {
        inside(&project, "web", "test -e /app/d2/f2 || echo gone") == "gone"
    });
    assert_eq!(n_patches(&instance), 2, "{}", instance.log());
    assert_same(&instance, &project);

    // Another engine has only names and digests of what was built.
    instance.stop();
    instance.restart();
    until(&mut instance, "web", "ok", "ok");
    instance.write("web/d3/f3", "other");
    until_inside(&mut instance, &project, "web", ("/app/d3/f3", "other"));
    assert_same(&instance, &project);
}

#[test]
fn a_trigger_builds_all_of_an_image() {
    let Some((project, mut instance)) = start("FROM busybox\nCOPY . /app\n") else { return };
    let n_done = |it: &Instance| it.log().matches("DONE IN").count();
    instance.until("it is deployed", |it| n_done(it) == 1);
    instance.trigger("web");
    instance.until("it is built", |it| n_done(it) == 2);
    assert_eq!(n_patches(&instance), 0, "{}", instance.log());
    instance.write("web/d1/f1", "other");
    until_inside(&mut instance, &project, "web", ("/app/d1/f1", "other"));
    assert_eq!(n_patches(&instance), 1, "{}", instance.log());
    assert_same(&instance, &project);
}

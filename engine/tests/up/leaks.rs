//! Whatever becomes of the engine, nothing that it started outlives it.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::instance::{Project, until};

/// A script that stays, with children of all kinds: in its group, in sessions of their own, and such
/// whose parents have ended.
const FAMILY: &str = "
sleep 1000 &
setsid sleep 1000 &
(setsid sleep 1000 &)
(sleep 1000 &)
exec sleep 1000
";

/// How many processes that makes.
const SLEEPERS: usize = 5;

/// What runs the script, and when.
const SCENES: [(&str, &str); 4] = [
    ("while loading", "local('sh family.sh')"),
    ("while a command runs", "local_resource('a', 'sh family.sh')"),
    ("with a server", "local_resource('a', serve_cmd='sh family.sh')"),
    (
        "with a probe",
        "local_resource('a', serve_cmd='exec sleep 2000', readiness_probe=probe(
             exec=exec_action(['sh', 'family.sh']), period_secs=1000, timeout_secs=1000))",
    ),
];

/// A project whose script runs, with all of its children.
fn project(tiltfile: &str) -> Project {
    let project = Project::new(tiltfile);
    project.write("family.sh", FAMILY);
    project
}

fn wait_for_family(project: &Project) {
    until("the family", || {
        let sleepers = project.processes().into_iter().filter(|it| it.1 == "sleep 1000 ");
        (sleepers.count() == SLEEPERS).then_some(())
    });
}

#[test]
fn a_killed_engine_leaves_no_process_and_its_port() {
    for (scene, tiltfile) in SCENES {
        let project = project(tiltfile);
        let instance = project.up();
        wait_for_family(&project);
        instance.kill();
        project.wait_until_all_are_gone(scene);

        project.write("Tiltfile", "local_resource('next', 'touch next')");
        let next = project.up();
        project.wait_for("next");
        next.wait_for_update("next", "ok");
    }
}

#[test]
fn an_engine_that_is_asked_to_end_leaves_no_process() {
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        for (scene, tiltfile) in SCENES {
            let project = project(tiltfile);
            let instance = project.up();
            wait_for_family(&project);
            instance.signal(signal);
            assert!(instance.wait().code().is_some(), "{scene}: {signal} ended it by itself");
            project.wait_until_all_are_gone(scene);
        }
    }
}

#[test]
fn a_server_may_take_its_time_to_end_until_a_second_signal() {
    let server = "trap 'touch asked' TERM; touch ready; while :; do sleep 0.01; done";
    let project = Project::new(&format!("local_resource('a', serve_cmd=\"{server}\")"));
    let instance = project.up();
    project.wait_for("ready");
    instance.signal(Signal::SIGINT);
    project.wait_for("asked");
    let start = Instant::now();
    instance.signal(Signal::SIGINT);
    assert!(!instance.wait().success(), "something had to be killed");
    assert!(start.elapsed() < Duration::from_secs(1), "it took {:?}", start.elapsed());
    project.wait_until_all_are_gone("after a second signal");
}

#[test]
fn a_server_that_asks_for_nothing_ends_in_order() {
    let server = "trap 'touch stopped; exit' TERM; touch ready; while :; do sleep 0.01; done";
    let project = Project::new(&format!("local_resource('a', serve_cmd=\"{server}\")"));
    let instance = project.up();
    project.wait_for("ready");
    instance.signal(Signal::SIGTERM);
    assert!(instance.wait().success(), "{}", project.log());
    project.wait_until_all_are_gone("after the end");
    assert!(project.path("stopped").exists(), "it was asked before it was killed");
}

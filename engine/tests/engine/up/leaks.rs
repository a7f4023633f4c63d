//! Whatever becomes of the engine, nothing that it started outlives it.

use std::{
    fs,
    time::{Duration, Instant},
};

use nix::sys::signal::{Signal, kill};

use crate::support::{Project, until};

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
        let port = project.port();
        let next = project.up_with(project.command(&["up", "--stream", "--port", &port]));
        project.wait_for("next");
        next.wait_for_update("next", "ok");
    }
}

/// Kills all guards, or the launcher, and returns how many that were.
fn kill_named(project: &Project, name: &str) -> usize {
    let is_meant = |pid| {
        let comm = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        comm.trim() == name
    };
    let meant = project.processes().into_iter().map(|it| it.0).filter(|it| is_meant(*it));
    meant.filter(|it| kill(*it, Signal::SIGKILL).is_ok()).count()
}

fn sleepers(project: &Project, seconds: u32) -> usize {
    let line = format!("sleep {seconds} ");
    project.processes().into_iter().filter(|it| it.1 == line).count()
}

#[test]
fn a_killed_guard_or_launcher_leaves_no_process_and_its_command_has_failed() {
    for (name, reason) in [
        ("cmd-guard", "its guard was killed (signal 9), as the kernel does"),
        ("cmd-launcher", "the process that starts commands was killed, as the kernel does"),
    ] {
        for (scene, tiltfile) in SCENES {
            let project = project(tiltfile);
            let instance = project.up();
            wait_for_family(&project);
            assert!(kill_named(&project, name) > 0, "{scene}");
            until(&format!("the end of the family {scene}"), || {
                (sleepers(&project, 1000) + sleepers(&project, 2000) == 0).then_some(())
            });
            until(&format!("{reason} {scene}"), || project.log().contains(reason).then_some(()));

            project.write("Tiltfile", "local_resource('next', 'touch next')");
            project.wait_for("next");
            instance.wait_for_update("next", "ok");
        }
    }
}

#[test]
fn what_finished_commands_have_left_outlives_guards_launcher_and_engine() {
    let daemon = |name: &str, seconds: u32| {
        let script = format!("touch {name}; exec sleep {seconds}");
        let start = format!("setsid sh -c '{script}' >/dev/null 2>&1 &");
        format!("{start} until test -e {name}; do sleep 0.01; done")
    };
    let project = project(&format!(
        "local(\"{}\")\nlocal_resource('left', \"{}\")\nlocal_resource('server', serve_cmd='sh family.sh')",
        daemon("call", 3000),
        daemon("task", 4000),
    ));
    let instance = project.up();
    instance.wait_for_update("left", "ok");
    wait_for_family(&project);
    let alive = || sleepers(&project, 3000) + sleepers(&project, 4000);
    assert_eq!(kill_named(&project, "cmd-guard"), 3, "of the server, and those that stay");
    until("the end of the family", || (sleepers(&project, 1000) == 0).then_some(()));
    assert_eq!(alive(), 2);
    kill_named(&project, "cmd-launcher");
    instance.kill();
    until("nothing else", || (project.processes().len() == 2).then_some(()));
    assert_eq!(alive(), 2);
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

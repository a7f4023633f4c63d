//! A server that prints as fast as it can costs neither memory nor the attention for others; what a command prints
//! that fast is kept.

use std::{
    env, thread,
    time::{Duration, Instant},
};

use crate::support::{Project, TIMEOUT, until};

/// How long the server prints at least.
const FLOOD: Duration = Duration::from_secs(4);

/// What clients are told when the log was full.
const IS_MISSING: &str = "older lines were dropped";

/// Who saves again and again within milliseconds of an update is taken for a part of it.
const PAUSE: Duration = Duration::from_millis(200);

/// What the engine may use meanwhile, in megabytes.
const RESIDENT_MAX: u64 = 150;

const TILTFILE: &str = "
local_resource('flood', serve_cmd='echo begin; yes \"$(printf %0500d 0)\"')
local_resource('other', 'cp dep seen', deps=['dep'], allow_parallel=True)
";

#[test]
fn a_flood_of_output_is_bounded_and_what_is_missing_is_said() {
    let project = Project::new(TILTFILE);
    project.write("dep", "0");
    let instance = project.up();
    project.wait_for("seen");
    let start = Instant::now();
    let mut peak = 0;
    for round in 1.. {
        project.write("dep", &round.to_string());
        until("an update during the flood", || {
            peak = peak.max(instance.resident());
            (project.read("seen") == round.to_string()).then_some(())
        });
        // A slow machine needs longer to fill the log.
        if start.elapsed() > FLOOD && missing(&project) {
            break;
        }
        assert!(start.elapsed() < TIMEOUT, "the log does not get full");
        thread::sleep(PAUSE);
    }
    project.out(&["disable", "flood"]);
    until("the end of the flood", || {
        project.processes().iter().all(|it| !it.1.starts_with("yes ")).then_some(())
    });
    assert!(peak < RESIDENT_MAX, "{peak} MB");

    let output = project.engine(&["logs", "flood"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let lines = output.stdout.split(|it| *it == b'\n').count();
    assert!(said.contains(IS_MISSING), "{lines} lines, {said}");
    assert!(lines > 10_000, "{lines} lines are left");
    // What others wrote is still there: the loudest loses its lines first.
    let other = project.out(&["logs", "other"]);
    assert!(other.contains("Initial Build"), "{other}");
}

fn missing(project: &Project) -> bool {
    String::from_utf8_lossy(&project.engine(&["logs", "flood"]).stderr).contains(IS_MISSING)
}

/// Lines of 78 bytes, which is 20 MB of log; `make stress` does it many times.
const MANY: &str = "local_resource('many', 'seq -f \"%06.0f $(printf %070d 0)\" 200000')";

#[test]
fn two_hundred_thousand_lines_at_once_are_all_kept() {
    let rounds = env::var("ENGINE_STRESS_ROUNDS").ok().and_then(|it| it.parse().ok()).unwrap_or(1);
    for round in 1..=rounds {
        let project = Project::new(MANY);
        let _instance = project.up();
        until("the last line", || {
            let output = project.engine(&["logs", "--tail", "1", "many"]);
            let printed = String::from_utf8_lossy(&output.stdout);
            (output.status.success() && printed.contains("200000 0")).then_some(())
        });
        let output = project.engine(&["logs", "many"]);
        let said = String::from_utf8_lossy(&output.stderr);
        let printed = String::from_utf8_lossy(&output.stdout);
        let lines = printed.lines().filter(|it| it.ends_with(&"0".repeat(70))).count();
        assert_eq!((lines, &*said), (200_000, ""), "round {round} of {rounds}");
    }
}

//! A server that prints as fast as it can costs neither memory nor the attention for others.

use std::{
    thread,
    time::{Duration, Instant},
};

use crate::instance::{Project, until};

/// How long the server prints, which is enough to fill the log many times over.
const FLOOD: Duration = Duration::from_secs(4);

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
        if start.elapsed() > FLOOD {
            break;
        }
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
    assert!(said.contains("older lines are not kept anymore"), "{lines} lines, {said}");
    assert!(lines > 10_000, "{lines} lines are left");
    // What others wrote is still there: the loudest loses its lines first.
    let other = project.out(&["logs", "other"]);
    assert!(other.contains("Initial Build"), "{other}");
}

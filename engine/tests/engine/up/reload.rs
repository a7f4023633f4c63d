//! A Tiltfile that is edited while it runs.

use crate::support::{Project, until};

const GOOD: &str = "
local_resource('server', serve_cmd='echo $$ >> pids; exec sleep 1000')
local_resource('task', 'cp dep seen', deps=['dep'])
";

#[test]
fn a_broken_tiltfile_stops_nothing_and_recovers() {
    let project = Project::new(GOOD);
    project.write("dep", "0");
    let instance = project.up();
    until("the server", || (project.lines("pids") == 1).then_some(()));
    until("the task", || (project.read("seen") == "0").then_some(()));

    project.write("Tiltfile", &format!("{GOOD}\nfail('broken on purpose')"));
    let answer = instance.wait_for_update("(Tiltfile)", "error");
    let error = answer["lastRun"]["error"].as_str().unwrap_or_default();
    assert!(error.contains("broken on purpose"), "{answer}");
    project.write("dep", "1");
    until("an update", || (project.read("seen") == "1").then_some(()));
    let graph = project.json(&["graph", "--json"]);
    assert_eq!(graph["resources"].as_array().map(Vec::len), Some(2), "{graph}");

    project.write("Tiltfile", &format!("{GOOD}\nlocal_resource('new', 'touch new')"));
    project.wait_for("new");
    instance.wait_for_update("(Tiltfile)", "ok");
    assert_eq!(project.lines("pids"), 1, "the server was not started again");
}

//! Updates that change their own inputs.

use crate::support::{Project, until};

/// A second resource whose file is saved after the first one ran: what the watcher had to say about
/// the first has been said when the second has run.
const SENTINEL: &str =
    "local_resource('sentinel', 'cp late seen', deps=['late'], allow_parallel=True)";

#[test]
fn an_update_that_writes_its_input_again_as_it_was_does_not_repeat() {
    // The file is empty for a while, as it is on a busy machine.
    let cmd = "echo run >> runs; cp dep copy; { sleep 0.2; cat copy; } > dep; mv copy dep";
    let project = Project::new(&format!("local_resource('a', '{cmd}', deps=['dep'])\n{SENTINEL}"));
    project.write("dep", "text");
    project.write("late", "0");
    let instance = project.up();
    for round in 1..=3 {
        until("an update", || (project.lines("runs") >= round).then_some(()));
        instance.wait_for_update("a", "ok");
        project.write("late", &round.to_string());
        until("the sentinel", || (project.read("seen") == round.to_string()).then_some(()));
        let runs = project.lines("runs");
        assert!(runs <= round + 1, "{runs} runs for {round} changes\n{}", project.log());
        project.write("dep", &format!("text {round}"));
    }
}

#[test]
fn a_tiltfile_that_writes_what_it_reads_again_as_it_was_is_not_loaded_forever() {
    let tiltfile = format!(
        "local('echo run >> runs; cp input made.new; cp made.new made; mv made.new made')\n\
         read_file('made')\n{SENTINEL}"
    );
    let project = Project::new(&tiltfile);
    project.write("input", "text");
    project.write("late", "0");
    let _instance = project.up();
    until("the first run", || (project.lines("runs") == 1).then_some(()));
    let mut runs = 1;
    for round in 1..=3 {
        project.write("late", &round.to_string());
        until("the sentinel", || (project.read("seen") == round.to_string()).then_some(()));
        project.write("Tiltfile", &format!("{tiltfile}\n# {round}"));
        until("another run", || (project.lines("runs") > runs).then_some(()));
        // It runs once more if it is not known yet what the file was like before.
        project.write("late", &format!("{round} again"));
        until("the sentinel", || (project.read("seen") == format!("{round} again")).then_some(()));
        runs = project.lines("runs");
        assert!(runs <= 2 + round, "{runs} runs for {round} changes\n{}", project.log());
    }
}

#[test]
fn a_tiltfile_that_changes_what_it_reads_each_time_leaves_the_others_their_turn() {
    let tiltfile = format!(
        "local('echo run >> runs; cp runs made')\nread_file('made')\nread_file('input')\n{SENTINEL}"
    );
    let project = Project::new(&tiltfile);
    project.write("input", "text");
    project.write("late", "0");
    let _instance = project.up();
    until("the first run", || (project.read("seen") == "0").then_some(()));
    project.write("input", "other text");
    let words = "Each run of the Tiltfile changes a file that it reads";
    until("the warning", || project.log().contains(words).then_some(()));
    let runs = project.lines("runs");
    assert!(runs <= 15, "{runs} runs\n{}", project.log());
    assert!(project.log().contains(&project.path("made").display().to_string()));
    project.write("late", "1");
    until("the sentinel", || (project.read("seen") == "1").then_some(()));
    // It goes on by itself, and at once for others' changes.
    until("another run", || (project.lines("runs") > runs).then_some(()));
}

#[test]
fn updates_that_keep_causing_each_other_are_held_and_say_why() {
    let project = Project::new(
        "local_resource('a', 'echo run >> runs; echo run >> dep', deps=['dep'])\n\
         local_resource('b', 'touch b', deps=['other'], allow_parallel=True)",
    );
    project.write("dep", "");
    let _instance = project.up();
    let answer = until("the hold", || {
        let output = project.engine(&["why", "--json", "a"]);
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
        (answer["hold"]["reason"] == "rebuild-loop").then_some(answer)
    });
    let dep = project.path("dep").display().to_string();
    assert_eq!(answer["hold"]["file"], *dep);
    assert_eq!(answer["hold"]["on"][0]["resource"], "a");
    let runs = project.lines("runs");
    assert!(runs <= 15, "{runs} runs");
    let words = project.out(&["why", "a"]);
    assert!(words.contains("paused after 10 updates in a row: each one changes"), "{words}");
    assert!(words.contains(&dep), "{words}");

    // Others go on, and a trigger lifts the hold.
    project.wait_for("b");
    project.out(&["trigger", "a"]);
    until("another run", || (project.lines("runs") > runs).then_some(()));
}

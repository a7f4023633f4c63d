//! Which containers get files, when, and what their failures mean.

use expect_test::expect;

use super::*;

#[test]
fn a_crashing_container_fails_only_when_there_are_files_and_until_a_build() {
    let mut world = Rig::new(&spec(), UpdateMode::Auto);
    world.containers(&[("pod", "id1", ContainerState::CrashLoopBackOff)]);
    world.change(&["/p/src/a"]);
    world.containers(&[("pod", "id1", ContainerState::Running)]);
    world.build();
    world.change(&["/p/src/a"]);
    world.check(&expect![[r#"
        nothing
        LiveUpdate "app:img" CrashLoopBackOff: Cannot live update because container crashing. Pod: pod
        nothing
        nothing
        Will copy 1 file(s) to container: [pod/c]
        - '/p/src/a' --> '/app/a'
        run ["sh", "-c", "make all"]
    "#]]);
}

#[test]
fn a_container_that_starts_later_gets_everything_since_the_build() {
    let mut world = Rig::new(&spec(), UpdateMode::Auto);
    world.change(&["/p/src/before"]);
    world.build();
    world.containers(&[("pod", "", ContainerState::Waiting)]);
    world.change(&["/p/src/a"]);
    world.statuses();
    world.containers(&[("pod", "id1", ContainerState::Running)]);
    world.end_well();
    // It is replaced, and the new one starts from the image.
    world.containers(&[("pod", "id2", ContainerState::Running)]);
    world.check(&expect![[r#"
        nothing
        nothing
        nothing
        nothing
        pod/c synced=None waiting=Some("ContainerWaiting") error=None
        Will copy 1 file(s) to container: [pod/c]
        - '/p/src/a' --> '/app/a'
        run ["sh", "-c", "make all"]
        nothing
        Will copy 1 file(s) to container: [pod/c]
        - '/p/src/a' --> '/app/a'
        run ["sh", "-c", "make all"]
    "#]]);
}

#[test]
fn only_ended_containers_ask_for_a_full_build() {
    let mut world = Rig::new(&spec(), UpdateMode::Auto);
    let (old, new) = (("old", "id1", ContainerState::Terminated), ("new", "id2"));
    world.containers(&[old, (new.0, new.1, ContainerState::Running)]);
    world.change(&["/p/src/a"]);
    world.end_well();
    world.containers(&[old]);
    world.check(&expect![[r#"
        nothing
        Will copy 1 file(s) to container: [new/c]
        - '/p/src/a' --> '/app/a'
        run ["sh", "-c", "make all"]
        nothing
        LiveUpdate "app:img" Terminated: Container for live update is stopped. Pod name: old
    "#]]);
}

#[test]
fn in_manual_mode_files_wait_for_a_trigger() {
    let mut world = Rig::new(&spec(), UpdateMode::Manual);
    world.containers(&[("pod", "id1", ContainerState::Running)]);
    world.change(&["/p/src/a"]);
    world.statuses();
    world.live_update.begin(true);
    world.step();
    world.check(&expect![[r#"
        nothing
        nothing
        pod/c synced=None waiting=Some("Trigger") error=None
        Will copy 1 file(s) to container: [pod/c]
        - '/p/src/a' --> '/app/a'
        run ["sh", "-c", "make all"]
    "#]]);
}

#[test]
fn containers_that_lack_the_same_are_updated_together() {
    let running = ContainerState::Running;
    let mut world = Rig::new(&spec(), UpdateMode::Auto);
    world.containers(&[("one", "id1", running), ("two", "id2", running)]);
    world.change(&["/p/src/a"]);
    world.end_well();
    world.change(&["/p/src/b"]);
    world.end_well();
    // The third lacks both files.
    world.containers(&[
        ("one", "id1", running),
        ("two", "id2", running),
        ("three", "id3", running),
    ]);
    world.check(&expect![[r#"
        nothing
        Will copy 1 file(s) to container(s): [one/c two/c]
        - '/p/src/a' --> '/app/a'
        run ["sh", "-c", "make all"]
        nothing
        Will copy 1 file(s) to container(s): [one/c two/c]
        - '/p/src/b' --> '/app/b'
        run ["sh", "-c", "make all"]
        nothing
        Will copy 2 file(s) to container: [three/c]
        - '/p/src/a' --> '/app/a'
        - '/p/src/b' --> '/app/b'
        run ["sh", "-c", "make all"]
    "#]]);
}

#[test]
fn a_failed_command_is_no_reason_for_a_build_but_a_failed_copy_is() {
    let argv = ["sh", "-c", "make all"].map(str::to_owned);
    let container = pod("pod", "0123456789abcdef");
    let Some(RunError::Command(error)) =
        RunError::of(&container, &argv, "\"make all\"", RunEnd::Exited(2))
    else {
        panic!("it is the command's fault")
    };
    let mut world = Rig::running(&spec());
    world.change(&["/p/src/a"]);
    world.end(&Outcome::Synced { exec_error: Some(error) });
    world.statuses();
    world.change(&["/p/src/b"]);
    world.end(&Outcome::Failed("connection reset".into()));
    world.check(&expect![[r#"
        nothing
        Will copy 1 file(s) to container: [pod/c]
        - '/p/src/a' --> '/app/a'
        run ["sh", "-c", "make all"]
        nothing
        pod/c synced=Some(2) waiting=None error=Some("executing on container 0123456789: command \"make all\" failed with exit code: 2")
        Will copy 1 file(s) to container: [pod/c]
        - '/p/src/b' --> '/app/b'
        run ["sh", "-c", "make all"]
        LiveUpdate "app:img" UpdateFailed: Updating pod pod: connection reset
    "#]]);
}

#[test]
fn the_words_for_a_failed_command_say_whose_fault_it_is() {
    let compose = Container { id: "0123456789abcdef".into(), ..Container::default() };
    let text = |argv: &[&str], end| {
        let argv: Vec<_> = argv.iter().map(|it| (*it).to_owned()).collect();
        match RunError::of(&compose, &argv, &format!("<{}>", argv.join(" ")), end) {
            None => "fine".to_owned(),
            Some(RunError::Command(text)) => format!("command: {text}"),
            Some(RunError::Container(text)) => format!("container: {text}"),
        }
    };
    let all = [
        text(&["true"], RunEnd::Exited(0)),
        text(&["a b", "c"], RunEnd::Exited(127)),
        text(&["x"], RunEnd::Exited(137)),
        text(&["sh", "-c", "echo \"x\""], RunEnd::NotStarted),
    ];
    expect![[r#"
        fine
        command: executing on container 0123456789: command <a b c> failed with exit code: 127 (not found in PATH or not executable)
        container: executing on container 0123456789: command <x> failed with exit code: 137 (killed by container runtime)
        command: executing on container 0123456789: command <sh -c echo "x"> failed with exit code: 127 (not found in PATH or not executable)
        The container has no shell. Write the command as a list of arguments, run(['program', 'argument']), or use an image with a shell."#]]
    .assert_eq(&all.join("\n"));
}

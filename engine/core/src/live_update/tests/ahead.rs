//! Which files may go into containers before a burst of changes has ended.

use engine_model::Present;
use expect_test::expect;

use super::*;

fn ahead(world: &mut Rig, files: &[&str]) -> Option<Vec<String>> {
    let files: Vec<FilePath> = files.iter().map(|it| (*it).into()).collect();
    let update = world.live_update.files_changing(&files)?;
    assert!(update.runs.is_empty() && update.deletions.is_empty() && !update.restarts);
    let names = update.containers.iter().map(|it| it.id.to_string());
    Some(names.chain(update.copies.iter().map(|it| it.container.to_string())).collect())
}

fn without_stop() -> LiveUpdateSpec {
    LiveUpdateSpec { stop_paths: Vec::new(), ..spec() }
}

#[test]
fn running_containers_get_files_of_a_burst_ahead() {
    let mut world = Rig::new(&without_stop(), UpdateMode::Auto);
    world.containers(&[
        ("a", "id1", ContainerState::Running),
        ("b", "id2", ContainerState::Waiting),
        ("c", "id3", ContainerState::Running),
    ]);
    let files = ["/p/src/x", "/p/src/y"];
    let expected = ["id1", "id3", "/app/x", "/app/y"].map(ToOwned::to_owned);
    assert_eq!(ahead(&mut world, &files), Some(expected.to_vec()));
}

#[test]
fn nothing_goes_ahead_where_a_build_or_a_trigger_may_be_needed() {
    let running = [("a", "id1", ContainerState::Running)];
    // A file that asks for a build may follow.
    assert_eq!(ahead(&mut Rig::running(&spec()), &["/p/src/x"]), None);
    assert_eq!(ahead(&mut Rig::running(&without_stop()), &["/p/src/x", "/p/other"]), None);
    let mut manual = Rig::new(&without_stop(), UpdateMode::Manual);
    manual.containers(&running);
    assert_eq!(ahead(&mut manual, &["/p/src/x"]), None);
    let mut failed = Rig::running(&without_stop());
    failed.change(&["/p/other"]);
    assert_eq!(ahead(&mut failed, &["/p/src/x"]), None);
}

#[test]
fn a_container_that_gets_all_files_first_gets_none_ahead() {
    let spec = LiveUpdateSpec { initial_sync: Some(Present {}), ..without_stop() };
    assert_eq!(ahead(&mut Rig::running(&spec), &["/p/src/x"]), None);
}

#[test]
fn what_went_ahead_is_copied_again_where_the_image_that_was_kept_differs() {
    let mut world = Rig::running(&without_stop());
    ahead(&mut world, &["/p/src/x"]).unwrap();
    world.change(&["/p/src/x", "/p/other"]);
    world.keep();
    world.check(&expect![[r#"
        nothing
        LiveUpdate "app:img" UpdateStopped: Found file(s) not matching any sync (files: [other])
        Will copy 1 file(s) to container: [pod/c]
        - '/p/src/x' --> '/app/x'
        run ["sh", "-c", "make all"]
    "#]]);
}

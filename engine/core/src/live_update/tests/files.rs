//! Which files go where, which commands follow, and which files need a full build.

use engine_model::Present;
use expect_test::expect;

use super::*;

#[test]
fn a_changed_file_is_copied_and_the_commands_that_it_triggers_run() {
    let mut world = Rig::running(&spec());
    world.change(&["/p/src/a.py"]);
    world.end_well();
    world.change(&["/p/src/reqs", "/p/src/b"]);
    world.end_well();
    world.statuses();
    world.check(&expect![[r#"
        nothing
        Will copy 1 file(s) to container: [pod/c]
        - '/p/src/a.py' --> '/app/a.py'
        run ["sh", "-c", "make all"]
        nothing
        Will copy 2 file(s) to container: [pod/c]
        - '/p/src/b' --> '/app/b'
        - '/p/src/reqs' --> '/app/reqs'
        run ["sh", "-c", "make all"]
        run ["pip"]
        nothing
        pod/c synced=Some(5) waiting=None error=None
    "#]]);
}

#[test]
fn a_missing_file_is_deleted_and_a_file_keeps_its_name_below_a_slash() {
    let mut world = Rig::running(&spec());
    world.change_to(&[("/p/src/old", Found::Absent), ("/p/conf.yaml", Found::PRESENT)]);
    world.check(&expect![[r#"
        nothing
        Will delete 1 file(s) from container: [pod/c]
        - '/app/old' (matched local path: '/p/src/old')
        Will copy 1 file(s) to container: [pod/c]
        - '/p/conf.yaml' --> '/etc/app/conf.yaml'
        run ["sh", "-c", "make all"]
    "#]]);
}

#[test]
fn the_first_sync_that_contains_a_file_decides() {
    let mut spec = spec();
    spec.syncs =
        vec![sync("src", "/first"), sync("src/lib", "/second"), sync("lone", "/x/renamed")];
    let mut world = Rig::running(&spec);
    world.roots.insert("/p/lone".into(), Root::File);
    world.change(&["/p/src/lib/a", "/p/lone"]);
    world.check(&expect![[r#"
        nothing
        Will copy 2 file(s) to container: [pod/c]
        - '/p/lone' --> '/x/renamed'
        - '/p/src/lib/a' --> '/first/lib/a'
        run ["sh", "-c", "make all"]
    "#]]);
}

#[test]
fn files_without_a_sync_ask_for_a_full_build() {
    let mut world = Rig::running(&spec());
    world.change(&["/p/1", "/p/2", "/p/3", "/p/4", "/p/5", "/p/6", "/p/src/package.json"]);
    world.change(&["/p/src/fine"]);
    world.statuses();
    world.build();
    world.statuses();
    world.check(&expect![[r#"
        nothing
        LiveUpdate "app:img" UpdateStopped: Found file(s) not matching any sync (files: [1 2 3 4 5 ...])
        nothing
        failed: UpdateStopped since 3
        nothing
        pod/c synced=None waiting=None error=None
    "#]]);
}

#[test]
fn a_stop_path_asks_for_a_full_build_also_while_files_are_copied() {
    let mut world = Rig::running(&spec());
    world.change(&["/p/src/a"]);
    world.change(&["/p/src/package.json"]);
    world.end_well();
    world.check(&expect![[r#"
        nothing
        Will copy 1 file(s) to container: [pod/c]
        - '/p/src/a' --> '/app/a'
        run ["sh", "-c", "make all"]
        LiveUpdate "app:img" UpdateStopped: Detected change to stop file "/p/src/package.json"
        nothing
    "#]]);
}

#[test]
fn a_sync_without_a_source_asks_for_a_full_build() {
    let mut world = Rig::running(&spec());
    let missing = Root::Missing("stat /p/src: no such file or directory".into());
    world.roots.insert("/p/src".into(), missing);
    world.change_to(&[("/p/src/a", Found::Absent)]);
    world.check(&expect![[r#"
        nothing
        LiveUpdate "app:img" UpdateStopped: No update plan: error stat'ing: stat /p/src: no such file or directory
    "#]]);
}

#[test]
fn names_that_are_not_utf_8_stay_as_they_are() {
    let mut world = Rig::running(&LiveUpdateSpec { execs: Vec::new(), ..spec() });
    let path = |bytes: &[u8]| FilePath::from(bytes);
    let files = [(path(b"/p/src/x\xff"), Found::PRESENT), (path(b"/p/src/x\xfe"), Found::Absent)];
    world.now.0 += 1;
    world.live_update.files_changed(&world.source, world.now, files);
    world.step();
    let (_, plan) = world.last.first().expect("an update has begun");
    let mapping = |local, container| Mapping { local: path(local), container: path(container) };
    assert_eq!(plan.copies, [mapping(b"/p/src/x\xff", b"/app/x\xff")]);
    assert_eq!(plan.deletions, [mapping(b"/p/src/x\xfe", b"/app/x\xfe")]);
    world.check(&expect![[r#"
        nothing
        Will delete 1 file(s) from container: [pod/c]
        - '/app/x�' (matched local path: '/p/src/x�')
        Will copy 1 file(s) to container: [pod/c]
        - '/p/src/x�' --> '/app/x�'
    "#]]);
}

#[test]
fn a_base_path_that_is_not_utf_8_is_the_one_that_is_meant() {
    let base = engine_model::path::to_text(FilePath::from(&b"/p\xff"[..]).as_path()).into_owned();
    let rules = Rules::new(&LiveUpdateSpec { base_path: base, ..spec() });
    let covers = |file: &[u8]| rules.cover(&[FilePath::from(file)]);
    assert!(covers(b"/p\xff/src/a"));
    assert!(!covers(b"/p\xfe/src/a") && !covers("/p�/src/a".as_bytes()));
}

#[test]
fn a_save_during_an_update_follows_it() {
    let mut world = Rig::running(&spec());
    world.change(&["/p/src/a"]);
    world.change(&["/p/src/a"]);
    world.end_well();
    world.end_well();
    world.check(&expect![[r#"
        nothing
        Will copy 1 file(s) to container: [pod/c]
        - '/p/src/a' --> '/app/a'
        run ["sh", "-c", "make all"]
        nothing
        Will copy 1 file(s) to container: [pod/c]
        - '/p/src/a' --> '/app/a'
        run ["sh", "-c", "make all"]
        nothing
    "#]]);
}

#[test]
fn a_new_container_gets_all_files_first_if_the_steps_say_so() {
    let mut spec = spec();
    spec.initial_sync = Some(Present {});
    spec.restart = Some("always");
    let mut world = Rig::running(&spec);
    // Saved while the list is made: it follows.
    world.change(&["/p/src/late"]);
    world.live_update.files_listed(Ok(vec!["/p/src/b".into(), "/p/src/reqs".into()]));
    world.step();
    world.end_well();
    world.end_well();
    world.containers(&[("pod", "id2", ContainerState::Running)]);
    world.live_update.files_listed(Err(ListError::Lost("permission denied".into())));
    world.step();
    world.check(&expect![[r#"
        list files
        nothing
        Initial sync: will copy sync paths to container: [pod/c]
        - '/p/src' --> '/app'
        - '/p/conf.yaml' --> '/etc/app/'
        run ["sh", "-c", "make all"]
        run ["pip"]
        restart
        Will copy 1 file(s) to container: [pod/c]
        - '/p/src/late' --> '/app/late'
        run ["sh", "-c", "make all"]
        restart
        nothing
        list files
        LiveUpdate "app:img" InitialSyncError: Failed to collect files for initial sync: permission denied
    "#]]);
}

#[test]
fn other_rules_forget_containers_but_not_changes() {
    let mut world = Rig::running(&spec());
    world.change(&["/p/src/a"]);
    world.end_well();
    let spec = LiveUpdateSpec { syncs: vec![sync("src", "/other")], ..spec() };
    world.live_update.redefine(definition(&spec, UpdateMode::Auto, &world.source));
    world.step();
    world.check(&expect![[r#"
        nothing
        Will copy 1 file(s) to container: [pod/c]
        - '/p/src/a' --> '/app/a'
        run ["sh", "-c", "make all"]
        nothing
        Will copy 1 file(s) to container: [pod/c]
        - '/p/src/a' --> '/other/a'
        run ["sh", "-c", "make all"]
    "#]]);
}

#[test]
fn what_an_image_that_was_kept_has_is_not_copied_and_asks_for_nothing() {
    let mut world = Rig::running(&spec());
    world.change(&["/p/other", "/p/src/a"]);
    world.keep();
    world.change(&["/p/src/b"]);
    world.check(&expect![[r#"
        nothing
        LiveUpdate "app:img" UpdateStopped: Found file(s) not matching any sync (files: [other])
        nothing
        Will copy 1 file(s) to container: [pod/c]
        - '/p/src/b' --> '/app/b'
        run ["sh", "-c", "make all"]
    "#]]);
}

#[test]
fn what_was_copied_into_a_container_is_made_as_in_the_image_that_was_kept() {
    let mut world = Rig::running(&spec());
    world.change(&["/p/src/a"]);
    world.end_well();
    world.change(&["/p/other", "/p/src/a"]);
    world.keep();
    world.end_well();
    // A container without copies has all of it.
    world.containers(&[("pod", "id2", ContainerState::Running)]);
    world.check(&expect![[r#"
        nothing
        Will copy 1 file(s) to container: [pod/c]
        - '/p/src/a' --> '/app/a'
        run ["sh", "-c", "make all"]
        nothing
        LiveUpdate "app:img" UpdateStopped: Found file(s) not matching any sync (files: [other])
        Will copy 1 file(s) to container: [pod/c]
        - '/p/src/a' --> '/app/a'
        run ["sh", "-c", "make all"]
        nothing
        nothing
    "#]]);
}

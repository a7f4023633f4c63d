//! Changes that running containers take.

use expect_test::expect;

use super::check;

#[test]
fn a_running_container_takes_changes_of_its_image_without_a_build() {
    check(&expect![[r#"
        > load a/compose,image,live
          update a: Initial Build
        > ok a
        > healthy a
        > change-image a x
          live update a: changed x
        > ok a
        > status
          a: update ok, runtime ok, up to date: yes, ready: yes
    "#]]);
}

#[test]
fn a_change_during_a_live_update_is_taken_next() {
    check(&expect![[r#"
        > load a/compose,image,live
          update a: Initial Build
        > ok a
        > healthy a
        > change-image a x
          live update a: changed x
        > +5
        > change-image a y
        > ok a
          live update a: changed y
        > ok a
    "#]]);
}

#[test]
fn what_a_container_cannot_take_is_built_and_then_it_is_tried_again() {
    check(&expect![[r#"
        > load a/compose,image,live
          update a: Initial Build
        > ok a
        > healthy a
        > change-image a x
          live update a: changed x
        > +5
        > change-image a x y
        > fell-back a
          update a: changed x y
        > ok a
        > change-image a x
          live update a: changed x
    "#]]);
}

#[test]
fn a_failed_build_leaves_no_other_way_than_a_build() {
    check(&expect![[r#"
        > load a/compose,image,live
          update a: Initial Build
        > ok a
        > healthy a
        > change-image a x
          live update a: changed x
        > fell-back a
          update a: changed x
        > fail a
        > change-image a x
          update a: changed x
    "#]]);
}

#[test]
fn changes_wait_for_a_container_that_is_about_to_run() {
    check(&expect![[r#"
        > load a/compose,image,live
          update a: Initial Build
        > ok a
        > coming a
        > change-image a x
          a waits: waiting-for-deploy []
        > healthy a
          live update a: changed x
        > ok a
        > down a
        > change-image a x
          live update a: changed x
    "#]]);
}

#[test]
fn nothing_but_changed_files_is_a_live_update() {
    check(&expect![[r#"
        > load a/compose,image,live b/compose,image
          update a: Initial Build
          b waits: building-component [shared]
        > ok a
          update b: Initial Build
        > healthy a
        > ok b
        > healthy b
        > change-image b x
          update b: changed x
        > ok b
        > trigger a
          update a: CLI Trigger, full rebuild
        > ok a
        > change-image a x
          live update a: changed x
        > trigger a
        > ok a
          update a: CLI Trigger, full rebuild
        > ok a
        > change a other
          update a: changed other
        > ok a
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
        > load a/compose,image,live,v2 b/compose,image
          update a: changed Tiltfile (Config Changed)
        > change-image a x
    "#]]);
}

#[test]
fn a_manual_resource_takes_changes_when_somebody_asks() {
    check(&expect![[r#"
        > load a/compose,image,live,manual
          update a: Initial Build
        > ok a
        > healthy a
        > change-image a x
        > trigger a
          live update a: changed x (CLI Trigger)
        > ok a
        > trigger a
          update a: CLI Trigger, full rebuild
        > ok a
        > change-image a y
        > trigger a
          live update a: changed y (CLI Trigger)
        > fell-back a
          update a: changed y (CLI Trigger)
    "#]]);
}

#[test]
fn live_updates_take_no_slot_and_wait_for_nobody() {
    check(&expect![[r#"
        > load a/compose,image,live b max=1
          update b: Initial Build
          a waits: waiting-for-local [b]
        > ok b
          update a: Initial Build
        > ok a
        > healthy a
        > change b x
          update b: changed x
        > change-image a y
          live update a: changed y
        > ok a
        > ok b
    "#]]);
}

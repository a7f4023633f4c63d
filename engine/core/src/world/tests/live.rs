//! Changes that running containers take.

use expect_test::expect;

use super::{check, check_in};
use crate::world::{Settings, fixture::with_clusters};

#[test]
fn a_running_container_takes_changes_of_its_image_without_a_build() {
    check(&expect![[r#"
        > load a/compose,image,live
          update a: Initial Build
        > ok a
        > healthy a
        > containers a c1
        > change-image a x -y
          a | liveupdate:shared BuildEvent: 2 Files Changed: [x y]
          sync a #1: -/app/y /app/x to c1
        > live a
          a:shared:
            c1 synced None, waiting None, None
        > synced a
        > status
          a: update ok, runtime ok, up to date: yes, ready: yes
        > live a
          a:shared:
            c1 synced Some(0), waiting None, None
    "#]]);
}

#[test]
fn without_a_container_there_is_nothing_to_do() {
    check(&expect![[r#"
        > load a/compose,image,live
          update a: Initial Build
        > ok a
        > healthy a
        > change-image a x
          a | liveupdate:shared BuildEvent: 1 File Changed: [x]
        > containers a c1
          sync a #1: /app/x to c1
        > +5
        > change-image a y
          a | liveupdate:shared BuildEvent: 1 File Changed: [y]
        > synced a
          sync a #2: /app/y to c1
        > synced a
    "#]]);
}

#[test]
fn a_change_during_a_live_update_is_taken_next() {
    check(&expect![[r#"
        > load a/compose,image,live
          update a: Initial Build
        > ok a
        > healthy a
        > containers a c1
        > change-image a x
          a | liveupdate:shared BuildEvent: 1 File Changed: [x]
          sync a #1: /app/x to c1
        > +5
        > change-image a y
        > synced a
          sync a #2: /app/y to c1
        > synced a
          a | liveupdate:shared BuildEvent: 1 File Changed: [y]
    "#]]);
}

#[test]
fn a_new_container_gets_what_changed_since_the_build() {
    check(&expect![[r#"
        > load a/compose,image,live
          update a: Initial Build
        > built a
        > ok a
        > healthy a
        > containers a c1
        > +5
        > change-image a x
          a | liveupdate:shared BuildEvent: 1 File Changed: [x]
          sync a #1: /app/x to c1
        > containers a c1 c2:waiting
        > synced a
        > containers a c1 c2
          sync a #2: /app/x to c2
        > synced a
        > live a
          a:shared:
            c1 synced Some(5), waiting None, None
            c2 synced Some(5), waiting None, None
    "#]]);
}

#[test]
fn an_update_waits_for_containers_that_are_gone() {
    check(&expect![[r#"
        > load a/compose,image,live
          update a: Initial Build
        > ok a
        > healthy a
        > containers a c1
        > change-image a x
          a | liveupdate:shared BuildEvent: 1 File Changed: [x]
          sync a #1: /app/x to c1
        > containers a
        > status
          a: update in_progress, runtime ok, up to date: Unknown, ready: yes, pending changes
        > synced a
        > status
          a: update ok, runtime ok, up to date: yes, ready: yes
    "#]]);
}

#[test]
fn other_rules_copy_again_and_what_was_on_its_way_still_ends_the_update() {
    check(&expect![[r#"
        > load a/compose,image,live
          update a: Initial Build
        > ok a
        > healthy a
        > containers a c1
        > change-image a x
          a | liveupdate:shared BuildEvent: 1 File Changed: [x]
          sync a #1: /app/x to c1
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
        > load a/compose,image,live,other
        > containers a c1
          sync a #2: /other/x to c1
        > synced a
        > synced a
          update a: changed Tiltfile (Config Changed)
        > status
          a: update in_progress, runtime ok, up to date: Unknown, ready: yes, pending changes
    "#]]);
}

#[test]
fn without_its_live_update_everything_is_built() {
    check(&expect![[r#"
        > load a/compose,image,live
          update a: Initial Build
        > ok a
        > healthy a
        > containers a c1
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
        > load a/compose,image
          update a: changed Tiltfile (Config Changed)
        > live a
          none
        > change-image a x
    "#]]);
}

#[test]
fn new_containers_get_all_files_first_if_the_steps_say_so() {
    check(&expect![[r#"
        > load a/compose,image,live,first
          update a: Initial Build
        > ok a
        > healthy a
        > containers a c1
          list files of a below /src
        > change-image a late
          a | liveupdate:shared BuildEvent: 1 File Changed: [late]
        > listed a x y
          sync a #1: all of /app to c1
        > synced a
          sync a #2: /app/late to c1
        > synced a
        > live a
          a:shared:
            c1 synced Some(0), waiting None, None
    "#]]);
}

#[test]
fn files_of_a_burst_go_ahead_one_lot_after_the_other() {
    check(&expect![[r#"
        > load a/compose,image,live
          update a: Initial Build
        > ok a
        > healthy a
        > containers a c1
        > early x
          send ahead of a: /app/x to c1
        > early y
        > early z
        > went-ahead a
          send ahead of a: /app/y /app/z to c1
        > went-ahead a
        > early x
          send ahead of a: /app/x to c1
        > change-image a x y z
          a | liveupdate:shared BuildEvent: 3 Files Changed: [x y z]
          sync a #1: /app/x /app/y /app/z to c1
        > early w
        > went-ahead a
          send ahead of a: /app/w to c1
        > synced a
    "#]]);
}

#[test]
fn an_image_that_is_as_it_was_asks_for_nothing() {
    check(&expect![[r#"
        > load a/compose,image,live
          update a: Initial Build
        > built a
        > ok a
        > healthy a
        > containers a c1
        > +5
        > change-image a x
          a | liveupdate:shared BuildEvent: 1 File Changed: [x]
          sync a #1: /app/x to c1
        > +5
        > kept a
        > deployed a
        > containers a c1 c2
        > live a
          a:shared:
            c1 synced None, waiting None, None
            c2 synced None, waiting None, None
        > change-image a y
        > synced a
          sync a #2: /app/y to c1 c2
    "#]]);
}

#[test]
fn changes_wait_for_a_container_that_is_about_to_run() {
    check(&expect![[r#"
        > load a/compose,image,live
          update a: Initial Build
        > ok a
        > coming a
        > containers a c1:waiting
        > change-image a x
          a waits: waiting-for-deploy []
        > healthy a
          a | liveupdate:shared BuildEvent: 1 File Changed: [x]
          a waits no more
        > containers a c1
          sync a #1: /app/x to c1
        > synced a
        > down a
        > change-image a x
          a | liveupdate:shared BuildEvent: 1 File Changed: [x]
          sync a #2: /app/x to c1
    "#]]);
}

#[test]
fn a_change_during_a_build_is_copied_into_what_runs() {
    check(&expect![[r#"
        > load a/compose,image,live
          update a: Initial Build
        > ok a
        > healthy a
        > containers a c1
        > trigger a
          update a: CLI Trigger, full rebuild
        > change-image a x
        > containers a c1 c2
          sync a #1: /app/x to c1 c2
        > synced a
        > ok a
          a | liveupdate:shared BuildEvent: 1 File Changed: [x]
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
        > containers a c1
        > change-image b x
          update b: changed /src/x
        > ok b
        > trigger a
          update a: CLI Trigger, full rebuild
        > ok a
        > change-image a x
          a | liveupdate:shared BuildEvent: 1 File Changed: [x]
          sync a #1: /app/x to c1
        > trigger a
        > synced a
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
        > containers a c1
        > change-image a x
        > live a
          a:shared:
            c1 synced None, waiting Some("Trigger"), None
        > trigger a
          a | liveupdate:shared BuildEvent: 1 File Changed: [x]
          sync a #1: /app/x to c1
        > synced a
        > trigger a
          update a: CLI Trigger, full rebuild
        > ok a
        > change-image a y
        > trigger a
          a | liveupdate:shared BuildEvent: 1 File Changed: [y]
          sync a #2: /app/y to c1
        > not-synced a
          a | liveupdate:shared Info: LiveUpdate "a:shared" UpdateFailed: Updating container c1: no route
          update a: changed /src/y (CLI Trigger)
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
        > containers a c1
        > change b x
          update b: changed x
        > change-image a y
          a | liveupdate:shared BuildEvent: 1 File Changed: [y]
          sync a #1: /app/y to c1
        > synced a
        > ok b
    "#]]);
}

#[test]
fn resources_that_share_an_image_each_update_their_own_containers() {
    check(&expect![[r#"
        > load a/compose,image,live b/compose,image,live
          update a: Initial Build
          b waits: building-component [shared]
        > ok a
          update b: Initial Build
        > ok b
        > healthy a
        > healthy b
        > containers a c1
        > containers b c2
        > change-image a x
          a | liveupdate:shared BuildEvent: 1 File Changed: [x]
          sync a #1: /app/x to c1
        > change-image b x
          b | liveupdate:shared BuildEvent: 1 File Changed: [x]
          sync b #2: /app/x to c2
        > synced b
        > synced a
    "#]]);
}

#[test]
fn containers_of_a_pod_are_found_like_those_of_a_service() {
    check(&expect![[r#"
        > load a/k8s,image,live
          update a: Initial Build
        > ok a
        > healthy a
        > containers a c1
        > change-image a x
          a | liveupdate:shared BuildEvent: 1 File Changed: [x]
          sync a #1: /app/x to c1
        > +5
        > deployed a
        > synced a
        > live a
          a:shared:
            c1 synced Some(0), waiting None, None
        > containers a c2
    "#]]);
}

#[test]
fn ci_builds_whatever_changes() {
    let settings = Settings { has_live_updates: false, ..Settings::default() };
    let transcript = expect![[r#"
        > load a/compose,image,live
          update a: Initial Build
        > ok a
        > healthy a
        > live a
          none
        > containers a c1
        > change-image a x
          update a: changed /src/x
    "#]];
    check_in(with_clusters(settings), &transcript);
}

//! Changes that running containers cannot take, or that somebody stops on their way.

use expect_test::expect;

use super::check;

#[test]
fn a_failed_command_is_the_error_of_the_update() {
    check(&expect![[r#"
        > load a/compose,image,live
          update a: Initial Build
        > ok a
        > healthy a
        > containers a c1 c2
        > change-image a x
          a | liveupdate:shared BuildEvent: 1 File Changed: [x]
          sync a #1: /app/x to c1 c2
        > exec-error a
          a | liveupdate:shared Error: Build Failed: make failed
        > status
          a: update error, runtime ok, up to date: UpdateError, ready: yes
        > live a
          a:shared:
            c1 synced Some(0), waiting None, Some("make failed")
            c2 synced Some(0), waiting None, Some("make failed")
        > change-image a y
          a | liveupdate:shared BuildEvent: 1 File Changed: [y]
          sync a #2: /app/y to c1 c2
        > synced a
        > status
          a: update ok, runtime ok, up to date: yes, ready: yes
    "#]]);
}

#[test]
fn a_failed_command_of_a_copy_that_nobody_waits_for_is_no_error_of_an_update() {
    check(&expect![[r#"
        > load a/compose,image,live
          update a: Initial Build
        > ok a
        > healthy a
        > change-image a x
          a | liveupdate:shared BuildEvent: 1 File Changed: [x]
        > containers a c1
          sync a #1: /app/x to c1
        > exec-error a
        > status
          a: update ok, runtime ok, up to date: yes, ready: yes
        > live a
          a:shared:
            c1 synced Some(0), waiting None, Some("make failed")
    "#]]);
}

#[test]
fn what_a_container_cannot_take_is_built_and_then_it_is_tried_again() {
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
        > change-image a x y
        > not-synced a
          a | liveupdate:shared Info: LiveUpdate "a:shared" UpdateFailed: Updating container c1: no route
          update a: changed /src/x /src/y
        > live a
          a:shared: failed: UpdateFailed
        > +5
        > built a
        > deployed a
        > ok a
        > containers a c2
        > change-image a x
          a | liveupdate:shared BuildEvent: 1 File Changed: [x]
          sync a #2: /app/x to c2
    "#]]);
}

#[test]
fn files_that_belong_to_no_container_are_built() {
    check(&expect![[r#"
        > load a/compose,image,live
          update a: Initial Build
        > ok a
        > healthy a
        > containers a c1
        > change-image a /else
          a | liveupdate:shared BuildEvent: 1 File Changed: [/else]
          a | liveupdate:shared Info: LiveUpdate "a:shared" UpdateStopped: Found file(s) not matching any sync (files: [/else])
          update a: changed /else
        > change-image a x
        > live a
          a:shared: failed: UpdateStopped
        > +5
        > kept a
        > deployed a
        > ok a
          a | liveupdate:shared BuildEvent: 1 File Changed: [x]
        > change-image a y
          a | liveupdate:shared BuildEvent: 1 File Changed: [y]
          sync a #1: /app/y to c1
    "#]]);
}

#[test]
fn without_the_directory_everything_is_built() {
    check(&expect![[r#"
        > load a/compose,image,live
          update a: Initial Build
        > ok a
        > healthy a
        > containers a c1
        > change-image a -x missing
          a | liveupdate:shared BuildEvent: 1 File Changed: [x]
          a | liveupdate:shared Info: LiveUpdate "a:shared" UpdateStopped: No update plan: error stat'ing: stat /src: no such file or directory
          update a: changed /src/x
        > +5
        > built a
        > ok a
        > change-image a x
          a | liveupdate:shared BuildEvent: 1 File Changed: [x]
          sync a #1: /app/x to c1
    "#]]);
}

#[test]
fn a_file_that_only_a_build_takes_ends_an_update_that_copies() {
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
        > change-image a /else
        > containers a c1 c2:waiting
          a | liveupdate:shared Info: LiveUpdate "a:shared" UpdateStopped: Found file(s) not matching any sync (files: [/else])
          update a: changed /else /src/x
        > synced a
    "#]]);
}

#[test]
fn a_failure_that_is_known_is_not_told_again() {
    check(&expect![[r#"
        > load a/compose,image,live
          update a: Initial Build
        > ok a
        > healthy a
        > containers a c1:crashing
        > change-image a x
          a | liveupdate:shared BuildEvent: 1 File Changed: [x]
          a | liveupdate:shared Info: LiveUpdate "a:shared" CrashLoopBackOff: Cannot live update because container crashing. Pod: 
          update a: changed /src/x
        > fail a
          a | build:3 Error: Build Failed: boom
        > trigger a
          update a: CLI Trigger, full rebuild
        > containers a c1:crashing
        > live a
          a:shared: failed: CrashLoopBackOff
    "#]]);
}

#[test]
fn a_crash_without_changes_is_no_failure() {
    check(&expect![[r#"
        > load a/compose,image,live
          update a: Initial Build
        > ok a
        > healthy a
        > containers a c1:crashing
        > live a
          a:shared:
            c1 synced None, waiting Some("ContainerWaiting"), None
        > containers a c1:ended
        > change-image a x
          a | liveupdate:shared BuildEvent: 1 File Changed: [x]
          a | liveupdate:shared Info: LiveUpdate "a:shared" Terminated: Container for live update is stopped. Pod name: 
          update a: changed /src/x
    "#]]);
}

#[test]
fn a_failed_build_leaves_no_other_way_than_a_build() {
    check(&expect![[r#"
        > load a/compose,image,live
          update a: Initial Build
        > ok a
        > healthy a
        > containers a c1
        > change-image a x
          a | liveupdate:shared BuildEvent: 1 File Changed: [x]
          sync a #1: /app/x to c1
        > not-synced a
          a | liveupdate:shared Info: LiveUpdate "a:shared" UpdateFailed: Updating container c1: no route
          update a: changed /src/x
        > fail a
          a | build:3 Error: Build Failed: boom
        > change-image a x
          update a: changed /src/x
    "#]]);
}

#[test]
fn what_was_broken_off_is_copied_again() {
    check(&expect![[r#"
        > load a/compose,image,live
          update a: Initial Build
        > ok a
        > healthy a
        > containers a c1
        > change-image a x
          a | liveupdate:shared BuildEvent: 1 File Changed: [x]
          sync a #1: /app/x to c1
        > abandoned a
          sync a #2: /app/x to c1
        > synced a
        > status
          a: update ok, runtime ok, up to date: yes, ready: yes
    "#]]);
}

#[test]
fn somebody_stops_an_update_and_nothing_is_copied_before_the_next_one() {
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
        > stop a
          a | liveupdate:shared Error: Build Failed: build canceled
          cancel syncs of a
        > status
          a: update error, runtime ok, up to date: UpdateError, ready: yes
        > abandoned a
        > containers a c1
        > change-image a y
          a | liveupdate:shared BuildEvent: 1 File Changed: [y]
          sync a #2: /app/x /app/y to c1
        > synced a
        > status
          a: update ok, runtime ok, up to date: yes, ready: yes
    "#]]);
}

#[test]
fn what_is_stopped_may_still_be_on_its_way_when_the_next_one_starts() {
    check(&expect![[r#"
        > load a/compose,image,live
          update a: Initial Build
        > ok a
        > healthy a
        > containers a c1
        > change-image a x
          a | liveupdate:shared BuildEvent: 1 File Changed: [x]
          sync a #1: /app/x to c1
        > stop a
          a | liveupdate:shared Error: Build Failed: build canceled
          cancel syncs of a
        > change-image a y
          a | liveupdate:shared BuildEvent: 1 File Changed: [y]
        > abandoned a
          sync a #2: /app/x /app/y to c1
        > synced a
        > status
          a: update ok, runtime ok, up to date: yes, ready: yes
    "#]]);
}

#[test]
fn a_build_after_a_stop_lets_copies_go_on() {
    check(&expect![[r#"
        > load a/compose,image,live
          update a: Initial Build
        > ok a
        > healthy a
        > containers a c1
        > change-image a x
          a | liveupdate:shared BuildEvent: 1 File Changed: [x]
          sync a #1: /app/x to c1
        > stop a
          a | liveupdate:shared Error: Build Failed: build canceled
          cancel syncs of a
        > abandoned a
        > +5
        > deployed a
        > containers a c1
        > live a
          a:shared:
            c1 synced None, waiting None, None
    "#]]);
}

#[test]
fn a_disabled_resource_stops_its_copies_and_leaves_no_trace() {
    check(&expect![[r#"
        > load a/compose,image,live
          update a: Initial Build
        > ok a
        > healthy a
        > containers a c1
        > change-image a x
          a | liveupdate:shared BuildEvent: 1 File Changed: [x]
          sync a #1: /app/x to c1
        > off a
          a | liveupdate:shared Error: Build Failed: build canceled
          a | disabletoggle-a Info: Resource "a" disabled. To enable/disable it, use the Tilt Web UI.
          cancel syncs of a
        > abandoned a
        > on a
          a | disabletoggle-a Info: Resource "a" enabled. To enable/disable it, use the Tilt Web UI.
          update a: Initial Build
    "#]]);
}

#[test]
fn a_removed_resource_stops_its_copies() {
    check(&expect![[r#"
        > load a/compose,image,live b
          update b: Initial Build
          a waits: waiting-for-local [b]
        > ok b
          update a: Initial Build
        > ok a
        > healthy a
        > containers a c1
        > change-image a x
          a | liveupdate:shared BuildEvent: 1 File Changed: [x]
          sync a #1: /app/x to c1
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
        > load b
          a | liveupdate:shared Error: Build Failed: build canceled
          cancel syncs of a
          a is gone
        > abandoned a
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
        > load a/compose,image,live b
          update a: Initial Build
    "#]]);
}

#[test]
fn files_that_cannot_be_listed_ask_for_a_build() {
    check(&expect![[r#"
        > load a/compose,image,live,first
          update a: Initial Build
        > ok a
        > healthy a
        > containers a c1
          list files of a below /src
        > not-listed a
          a | liveupdate:shared Info: LiveUpdate "a:shared" InitialSyncError: Failed to collect files for initial sync: permission denied
        > live a
          a:shared: failed: InitialSyncError
        > change-image a x
          a | liveupdate:shared BuildEvent: 1 File Changed: [x]
          list files of a below /src
    "#]]);
}

#[test]
fn nothing_goes_ahead_where_a_build_is_needed() {
    check(&expect![[r#"
        > load a/compose,image,live b/compose,image,live,manual
          update a: Initial Build
          b waits: building-component [shared]
        > ok a
          update b: Initial Build
        > ok b
        > healthy a
        > healthy b
        > containers b c2
        > early x
        > containers a c1
        > early x /else
        > went-ahead a
        > change-image a /else
          a | liveupdate:shared BuildEvent: 1 File Changed: [/else]
          a | liveupdate:shared Info: LiveUpdate "a:shared" UpdateStopped: Found file(s) not matching any sync (files: [/else])
          update a: changed /else
        > early x
    "#]]);
}

#[test]
fn nobody_waits_for_a_live_update_that_is_gone() {
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
        > load a/compose,image
          update a: changed Tiltfile (Config Changed)
        > synced a
        > ok a
        > status
          a: update ok, runtime ok, up to date: yes, ready: yes
    "#]]);
}

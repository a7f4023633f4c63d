//! Enabling, disabling and stopping, in every phase.

use expect_test::expect;

use super::check;

#[test]
fn a_disabled_resource_does_nothing_and_forgets_what_it_did() {
    check(&expect![[r#"
        > load a/off b
          update b: Initial Build
        > ok b
        > change a x
        > status
          a: update none, runtime none, up to date: Disabled, ready: Disabled
          b: update ok, runtime not_applicable, up to date: yes, ready: yes
        > on a
          a | disabletoggle-a Info: Resource "a" enabled. To enable/disable it, use the Tilt Web UI.
          update a: Initial Build
        > ok a
        > off a
          a | disabletoggle-a Info: Resource "a" disabled. To enable/disable it, use the Tilt Web UI.
        > change a y
        > status
          a: update none, runtime none, up to date: Disabled, ready: Disabled
          b: update ok, runtime not_applicable, up to date: yes, ready: yes
        > on a
          a | disabletoggle-a Info: Resource "a" enabled. To enable/disable it, use the Tilt Web UI.
          update a: Initial Build
    "#]]);
}

#[test]
fn disabling_cancels_a_running_update_which_leaves_no_trace() {
    check(&expect![[r#"
        > load a
          update a: Initial Build
        > change a x
        > trigger a
        > off a
          a | disabletoggle-a Info: Resource "a" disabled. To enable/disable it, use the Tilt Web UI.
          cancel a
        > queue
          empty
        > ok a
        > status
          a: update none, runtime none, up to date: Disabled, ready: Disabled
        > on a
          a | disabletoggle-a Info: Resource "a" enabled. To enable/disable it, use the Tilt Web UI.
          update a: Initial Build
    "#]]);
}

#[test]
fn enabling_before_the_cancelled_update_has_ended_waits_for_its_end() {
    check(&expect![[r#"
        > load a/parallel
          update a: Initial Build
        > off a
          a | disabletoggle-a Info: Resource "a" disabled. To enable/disable it, use the Tilt Web UI.
          cancel a
        > on a
          a | disabletoggle-a Info: Resource "a" enabled. To enable/disable it, use the Tilt Web UI.
        > status
          a: update in_progress, runtime not_applicable, up to date: Unknown, ready: Unknown
        > fail a
          a | build:1 Error: Build Failed: boom
          update a: Initial Build
    "#]]);
}

#[test]
fn disabling_a_resource_in_the_queue_takes_it_out() {
    check(&expect![[r#"
        > load a b/manual
          update a: Initial Build
          b waits: waiting-for-local [a]
        > ok a
          update b: Initial Build
        > ok b
        > change a x
          update a: changed x
        > trigger b
          b waits: waiting-for-local [a]
        > off b
          b | disabletoggle-b Info: Resource "b" disabled. To enable/disable it, use the Tilt Web UI.
          b waits no more
        > queue
          empty
        > on b
          b | disabletoggle-b Info: Resource "b" enabled. To enable/disable it, use the Tilt Web UI.
          b waits: waiting-for-local [a]
        > ok a
          update b: Initial Build
    "#]]);
}

#[test]
fn a_manual_resource_stays_idle_when_it_is_enabled_again() {
    check(&expect![[r#"
        > load a/manual-noinit
        > trigger a
          update a: CLI Trigger, full rebuild
        > ok a
        > off a
          a | disabletoggle-a Info: Resource "a" disabled. To enable/disable it, use the Tilt Web UI.
        > on a
          a | disabletoggle-a Info: Resource "a" enabled. To enable/disable it, use the Tilt Web UI.
        > status
          a: update none, runtime not_applicable, up to date: Unknown, ready: Unknown
    "#]]);
}

#[test]
fn disabling_stops_the_server_and_enabling_starts_a_new_one() {
    check(&expect![[r#"
        > load a/serve
          update a: Initial Build
        > ok a
          serve a #1
        > run a
        > off a
          a | disabletoggle-a Info: Resource "a" disabled. To enable/disable it, use the Tilt Web UI.
          stop server of a #1, disabled
        > status
          a: update none, runtime none, up to date: Disabled, ready: Disabled
        > exit a
        > on a
          a | disabletoggle-a Info: Resource "a" enabled. To enable/disable it, use the Tilt Web UI.
          update a: Initial Build
        > ok a
          serve a #2
    "#]]);
}

#[test]
fn enabling_before_the_server_has_ended_waits_for_its_end() {
    check(&expect![[r#"
        > load a/nocmd,serve
          update a: Initial Build
        > ok a
          serve a #1
        > run a
        > off a
          a | disabletoggle-a Info: Resource "a" disabled. To enable/disable it, use the Tilt Web UI.
          stop server of a #1, disabled
        > on a
          a | disabletoggle-a Info: Resource "a" enabled. To enable/disable it, use the Tilt Web UI.
          update a: Initial Build
        > ok a
        > exit a
          serve a #2
        > run a
        > status
          a: update not_applicable, runtime ok, up to date: yes, ready: yes
    "#]]);
}

#[test]
fn what_the_tiltfile_changed_meanwhile_counts_when_a_resource_is_enabled() {
    check(&expect![[r#"
        > load a/noinit
        > trigger a
          update a: CLI Trigger, full rebuild
        > ok a
        > off a
          a | disabletoggle-a Info: Resource "a" disabled. To enable/disable it, use the Tilt Web UI.
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
        > load a/noinit,v2
        > status
          a: update none, runtime none, up to date: Disabled, ready: Disabled, pending changes
        > on a
          a | disabletoggle-a Info: Resource "a" enabled. To enable/disable it, use the Tilt Web UI.
          update a: changed Tiltfile (Config Changed)
    "#]]);
}

#[test]
fn a_switch_that_cannot_be_read_counts_as_enabled_for_updates() {
    check(&expect![[r#"
        > load a/off,serve
        > error a
          update a: Initial Build
        > ok a
          serve a #1
        > run a
        > on a
        > off a
          a | disabletoggle-a Info: Resource "a" disabled. To enable/disable it, use the Tilt Web UI.
          stop server of a #1, disabled
    "#]]);
}

#[test]
fn a_switch_that_is_gone_holds_everything_and_stops_nothing() {
    check(&expect![[r#"
        > load a/serve b
          update a: Initial Build
          b waits: waiting-for-local [a]
        > ok a
          update b: Initial Build
          serve a #1
        > ok b
        > run a
        > unknown a
        > change b x
          update b: changed x
        > change a x
          a waits: tiltfile-reload [a]
        > on a
          a waits: waiting-for-local [b]
    "#]]);
}

#[test]
fn stopping_cancels_what_is_running_and_nothing_that_starts_later() {
    check(&expect![[r#"
        > load a
          update a: Initial Build
        > +1
        > stop a
          cancel a
        > stop a
          cancel a
        > fail a
          a | build:1 Error: Build Failed: boom
        > stop a
        > change a x
          update a: changed x
        > -5
        > stop a
    "#]]);
}

#[test]
fn stopping_what_does_not_run_does_nothing() {
    check(&expect![[r#"
        > load a
          update a: Initial Build
        > ok a
        > stop a
        > stop ghost
    "#]]);
}

#[test]
fn results_of_what_is_not_known_any_more_are_ignored() {
    check(&expect![[r#"
        > load a/serve
          update a: Initial Build
        > ok a
          serve a #1
        > ok a
        > fail a
        > run a
        > exit a
        > exit a
        > run a
        > ready a
        > status
          a: update ok, runtime error, up to date: yes, ready: RuntimeError
    "#]]);
}

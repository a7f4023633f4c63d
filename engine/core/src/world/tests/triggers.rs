//! Trigger modes, the trigger queue, and what a trigger does.

use expect_test::expect;

use super::check;

#[test]
fn a_manual_resource_starts_by_itself_once_and_then_shows_what_is_pending() {
    check(&expect![[r#"
        > load a/manual
          update a: Initial Build
        > ok a
        > change a x
        > status
          a: update ok, runtime not_applicable, up to date: yes, ready: yes, pending changes
        > trigger a
          update a: changed x (CLI Trigger)
        > status
          a: update in_progress, runtime not_applicable, up to date: Unknown, ready: Unknown, pending changes
        > ok a
        > status
          a: update ok, runtime not_applicable, up to date: yes, ready: yes
    "#]]);
}

#[test]
fn a_resource_without_auto_init_stays_idle_until_it_is_triggered() {
    check(&expect![[r#"
        > load a/manual-noinit
        > status
          a: update none, runtime not_applicable, up to date: Unknown, ready: Unknown
        > change a x
        > status
          a: update none, runtime not_applicable, up to date: Unknown, ready: Unknown, pending changes
        > trigger a
          update a: changed x (CLI Trigger)
        > ok a
        > status
          a: update ok, runtime not_applicable, up to date: yes, ready: yes
    "#]]);
}

#[test]
fn a_change_starts_an_automatic_resource_that_does_not_start_by_itself() {
    check(&expect![[r#"
        > load a/noinit
        > status
          a: update none, runtime not_applicable, up to date: Unknown, ready: Unknown
        > change a x
          update a: changed x
    "#]]);
}

#[test]
fn a_trigger_of_something_automatic_rebuilds_everything() {
    check(&expect![[r#"
        > load a
          update a: Initial Build
        > ok a
        > trigger a
          update a: CLI Trigger, full rebuild
        > ok a
        > change a x
          update a: changed x
        > trigger a
        > ok a
          update a: CLI Trigger, full rebuild
    "#]]);
}

#[test]
fn a_trigger_of_something_manual_applies_changes_or_rebuilds_everything() {
    check(&expect![[r#"
        > load a/manual
          update a: Initial Build
        > ok a
        > trigger a web
          update a: Web Trigger, full rebuild
        > ok a
        > change a x
        > trigger a
          update a: changed x (CLI Trigger)
        > ok a
    "#]]);
}

#[test]
fn the_queue_is_first_come_first_served_and_asking_twice_keeps_the_place() {
    check(&expect![[r#"
        > load a b/manual c/manual
          update a: Initial Build
          b waits: waiting-for-local [a]
          c waits: waiting-for-local [a]
        > ok a
          update b: Initial Build
          c waits: waiting-for-local [b]
        > ok b
          update c: Initial Build
        > ok c
        > change a x
          update a: changed x
        > trigger c
          c waits: waiting-for-local [a]
        > trigger b
          b waits: waiting-for-local [a]
        > trigger c web
        > trigger a
        > queue
          c (Web Trigger), b (CLI Trigger), a (CLI Trigger)
        > ok a
          update c: Web Trigger, full rebuild
          a waits: waiting-for-local [c]
          b waits: waiting-for-local [c]
        > ok c
          update b: CLI Trigger, full rebuild
          a waits: waiting-for-local [b]
        > queue
          a (CLI Trigger)
        > ok b
          update a: CLI Trigger, full rebuild
        > queue
          empty
    "#]]);
}

#[test]
fn a_queued_resource_that_is_held_lets_the_next_one_pass() {
    check(&expect![[r#"
        > load dep/manual-noinit a:dep/manual-noinit,parallel b/manual-noinit,parallel
        > trigger a
          a waits: waiting-for-dep [dep]
        > trigger b
          update b: CLI Trigger, full rebuild
        > queue
          a (CLI Trigger)
    "#]]);
}

#[test]
fn a_trigger_that_comes_from_nowhere_has_a_reason_too() {
    check(&expect![[r#"
        > load a
          update a: Initial Build
        > ok a
        > trigger a nobody
          update a: Unknown Trigger, full rebuild
    "#]]);
}

#[test]
fn a_trigger_before_the_first_update_is_merged_with_it() {
    check(&expect![[r#"
        > load a b:a
          update a: Initial Build
          b waits: waiting-for-local [a]
        > trigger b
        > queue
          b (CLI Trigger)
        > ok a
          update b: Initial Build (CLI Trigger), full rebuild, released by a
        > queue
          empty
        > ok b
    "#]]);
}

#[test]
fn a_trigger_during_an_update_causes_another_one() {
    check(&expect![[r#"
        > load a
          update a: Initial Build
        > trigger a
        > status
          a: update in_progress, runtime not_applicable, up to date: Unknown, ready: Unknown
        > ok a
          update a: CLI Trigger, full rebuild
        > ok a
    "#]]);
}

#[test]
fn what_is_unknown_or_disabled_cannot_be_triggered() {
    check(&expect![[r#"
        > load a/off
        > trigger a
        > trigger ghost
        > queue
          empty
    "#]]);
}

#[test]
fn a_triggered_tiltfile_runs_again_once() {
    check(&expect![[r#"
        > load a
          update a: Initial Build
        > ok a
        > trigger (Tiltfile) web
          load (Tiltfile): Web Trigger
        > trigger (Tiltfile)
        > queue
          (Tiltfile) (CLI Trigger)
        > load a
          load (Tiltfile): CLI Trigger
        > queue
          empty
        > load a
    "#]]);
}

#[test]
fn a_trigger_with_dependencies_starts_manual_ones_that_never_ran() {
    check(&expect![[r#"
        > load base/manual-noinit mid:base top:mid/manual-noinit
          mid waits: waiting-for-dep [base]
        > with-deps top
          update base: CLI Trigger, full rebuild
          mid waits: waiting-for-local [base]
          top waits: waiting-for-local [base]
        > queue
          top (CLI Trigger)
        > ok base
          update mid: Initial Build, released by base
          top waits: waiting-for-local [mid]
        > ok mid
          update top: CLI Trigger, full rebuild, released by mid
        > ok top
        > with-deps top
          update top: CLI Trigger, full rebuild
    "#]]);
}

#[test]
fn a_trigger_with_dependencies_tries_those_again_that_failed() {
    check(&expect![[r#"
        > load base top:base/manual-noinit
          update base: Initial Build
        > fail base
          base | build:1 Error: Build Failed: boom
        > with-deps top
          update base: CLI Trigger, full rebuild
          top waits: waiting-for-local [base]
        > ok base
          update top: CLI Trigger, full rebuild, released by base
    "#]]);
}

#[test]
fn a_trigger_with_dependencies_waits_for_them_even_if_it_ran_before() {
    check(&expect![[r#"
        > load a/parallel
          update a: Initial Build
        > ok a
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
        > load a:b/parallel b/manual-noinit,parallel
        > with-deps a
          update b: CLI Trigger, full rebuild
          a waits: waiting-for-dep [b]
        > change a x
        > ok b
          update a: changed x (CLI Trigger), full rebuild, released by b
    "#]]);
}

#[test]
fn a_trigger_without_dependencies_does_not_wait_for_them_any_longer() {
    check(&expect![[r#"
        > load a
          update a: Initial Build
        > ok a
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
        > load a:b b/manual-noinit
        > off b
          b | disabletoggle-b Info: Resource "b" disabled. To enable/disable it, use the Tilt Web UI.
        > with-deps a
          a waits: waiting-for-dep [b]
        > trigger a
          update a: CLI Trigger, full rebuild
    "#]]);
}

#[test]
fn another_trigger_mode_counts_at_once_and_until_the_next_load() {
    check(&expect![[r#"
        > load a/manual b/manual-noinit
          update a: Initial Build
        > ok a
        > change a x
        > mode a auto
          update a: changed x
        > ok a
        > mode b manual
          update b: Initial Build
        > ok b
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
        > load a/manual b/manual-noinit
        > change a x
        > status
          a: update ok, runtime not_applicable, up to date: yes, ready: yes, pending changes
          b: update ok, runtime not_applicable, up to date: yes, ready: yes
    "#]]);
}

#[test]
fn manual_dependencies_queue_deepest_first() {
    check(&expect![[r#"
        > load other top:mid/manual-noinit mid:base/manual-noinit base/manual-noinit
          update other: Initial Build
        > with-deps top
          top waits: waiting-for-local [other]
          mid waits: waiting-for-local [other]
          base waits: waiting-for-local [other]
        > queue
          base (CLI Trigger), mid (CLI Trigger), top (CLI Trigger)
        > ok other
          update base: CLI Trigger, full rebuild
          top waits: waiting-for-local [base]
          mid waits: waiting-for-local [base]
        > ok base
          update mid: CLI Trigger, full rebuild, released by base
          top waits: waiting-for-local [mid]
        > ok mid
          update top: CLI Trigger, full rebuild, released by mid
    "#]]);
}

//! What becomes of resources when a Tiltfile runs again.

use expect_test::expect;

use super::check;

#[test]
fn a_new_resource_starts_and_comes_last() {
    check(&expect![[r#"
        > load b
          update b: Initial Build
        > ok b
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
        > load a b
          update a: Initial Build
        > status
          b: update ok, runtime not_applicable, up to date: yes, ready: yes
          a: update in_progress, runtime not_applicable, up to date: Unknown, ready: Unknown
    "#]]);
}

#[test]
fn a_resource_that_did_not_change_keeps_its_state() {
    check(&expect![[r#"
        > load a/manual,serve
          update a: Initial Build
        > ok a
          serve a #1
        > run a
        > change a x
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
        > load a/manual,serve
        > status
          a: update ok, runtime ok, up to date: yes, ready: yes, pending changes
    "#]]);
}

#[test]
fn a_change_that_matters_causes_an_update_named_after_the_file() {
    check(&expect![[r#"
        > load a/serve
          update a: Initial Build
        > ok a
          serve a #1
        > run a
        > edit Tiltfile conf
          load (Tiltfile): changed Tiltfile conf
        > load a/serve,v2
          update a: changed Tiltfile conf (Config Changed)
        > ok a
          stop server of a #1
        > exit a
          serve a #2
    "#]]);
}

#[test]
fn a_change_that_matters_forgets_older_changes() {
    check(&expect![[r#"
        > load a/manual
          update a: Initial Build
        > ok a
        > change a x
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
        > load a/manual,v2
        > status
          a: update ok, runtime not_applicable, up to date: yes, ready: yes, pending changes
        > trigger a
          update a: changed Tiltfile (CLI Trigger), full rebuild
    "#]]);
}

#[test]
fn a_manual_resource_shows_a_change_that_matters_and_applies_it_when_triggered() {
    check(&expect![[r#"
        > load a/manual
          update a: Initial Build
        > ok a
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
        > load a/manual,v2
        > status
          a: update ok, runtime not_applicable, up to date: yes, ready: yes, pending changes
        > trigger a
          update a: changed Tiltfile (CLI Trigger), full rebuild
        > ok a
        > status
          a: update ok, runtime not_applicable, up to date: yes, ready: yes
    "#]]);
}

#[test]
fn a_change_that_matters_during_an_update_causes_another_one() {
    check(&expect![[r#"
        > load a
          update a: Initial Build
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
        > load a/v2
        > status
          a: update in_progress, runtime not_applicable, up to date: Unknown, ready: Unknown, pending changes
        > ok a
          update a: changed Tiltfile (Config Changed)
        > ok a
    "#]]);
}

#[test]
fn a_failed_update_consumes_the_change_of_the_tiltfile() {
    check(&expect![[r#"
        > load a
          update a: Initial Build
        > ok a
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
        > load a/v2
          update a: changed Tiltfile (Config Changed)
        > fail a
          a | build:2 Error: Build Failed: boom
        > status
          a: update error, runtime not_applicable, up to date: UpdateError, ready: UpdateError
    "#]]);
}

#[test]
fn another_trigger_mode_causes_no_update_but_lets_what_waits_start() {
    check(&expect![[r#"
        > load a/manual b/manual-noinit c
          update a: Initial Build
          c waits: waiting-for-local [a]
        > ok a
          update c: Initial Build
        > ok c
        > change a x
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
        > load a b/manual c/manual
          update b: Initial Build
          a waits: waiting-for-local [b]
        > ok a
        > ok b
          update a: changed x
        > change c x
    "#]]);
}

#[test]
fn another_kind_begins_from_nothing() {
    check(&expect![[r#"
        > load a/serve
          update a: Initial Build
        > ok a
          serve a #1
        > run a
        > change a x
          update a: changed x
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
        > load a/k8s
          cancel a
          stop server of a #1
          a waits: tiltfile-reload [a]
        > status
          a: update pending, runtime pending, up to date: UpdatePending, ready: UpdatePending
        > ok a
        > on a
          update a: Initial Build
        > exit a
    "#]]);
}

#[test]
fn work_of_the_former_kind_must_end_before_the_new_one_starts() {
    check(&expect![[r#"
        > load a/parallel
          update a: Initial Build
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
        > load a/k8s
          cancel a
          a waits: tiltfile-reload [a]
        > on a
          a waits: waiting-for-local [a]
        > fail a
          update a: Initial Build
    "#]]);
}

#[test]
fn a_removed_resource_is_stopped_and_counts_until_it_has_ended() {
    check(&expect![[r#"
        > load a/serve b
          update a: Initial Build
          b waits: waiting-for-local [a]
        > ok a
          update b: Initial Build
          serve a #1
        > run a
        > trigger a
          a waits: waiting-for-local [b]
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
          a waits: tiltfile-reload [(Tiltfile)]
        > load b c
          stop server of a #1
          a is gone
          c waits: waiting-for-local [b]
        > ok b
          update c: Initial Build
        > exit a
        > fail a
    "#]]);
}

#[test]
fn a_removed_exclusive_update_lets_nothing_start_until_it_has_ended() {
    check(&expect![[r#"
        > load a b
          update a: Initial Build
          b waits: waiting-for-local [a]
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
          b waits: tiltfile-reload [(Tiltfile)]
        > load b
          cancel a
          a is gone
          b waits: waiting-for-local [a]
        > fail a
          update b: Initial Build
    "#]]);
}

#[test]
fn a_removed_parallel_update_takes_a_slot_until_it_has_ended() {
    check(&expect![[r#"
        > load max=1 a/parallel b/parallel
          update a: Initial Build
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
          b waits: tiltfile-reload [(Tiltfile)]
        > load max=1 b/parallel
          cancel a
          a is gone
          b waits no more
        > fail a
          update b: Initial Build
    "#]]);
}

#[test]
fn a_server_of_a_removed_resource_must_end_before_the_next_one_of_that_name() {
    check(&expect![[r#"
        > load a/nocmd,serve b
          update a: Initial Build
          b waits: is-unparallelizable-local []
        > ok a
          update b: Initial Build
          serve a #1
        > ok b
        > run a
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
        > load b
          stop server of a #1
          a is gone
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
        > load b a/nocmd,serve
          update a: Initial Build
        > ok a
        > exit a
          serve a #2
    "#]]);
}

#[test]
fn a_removed_resource_leaves_the_queue() {
    check(&expect![[r#"
        > load a b
          update a: Initial Build
          b waits: waiting-for-local [a]
        > trigger b
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
          b waits: tiltfile-reload [(Tiltfile)]
        > load a
          b is gone
        > queue
          empty
    "#]]);
}

#[test]
fn a_broken_tiltfile_changes_nothing_and_its_repair_neither() {
    check(&expect![[r#"
        > load a
          update a: Initial Build
        > ok a
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
        > broken oops
        > status
          a: update ok, runtime not_applicable, up to date: yes, ready: yes
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
        > load a
        > status
          a: update ok, runtime not_applicable, up to date: yes, ready: yes
    "#]]);
}

#[test]
fn changes_wait_for_a_broken_tiltfile_only_until_it_has_run() {
    check(&expect![[r#"
        > load a
          update a: Initial Build
        > ok a
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
        > change a x
          a waits: tiltfile-reload [(Tiltfile)]
        > broken oops
          update a: changed x
    "#]]);
}

#[test]
fn other_arguments_run_the_tiltfile_again_and_reset_the_switches() {
    check(&expect![[r#"
        > load a b/off
          update a: Initial Build
        > args b
          load (Tiltfile) ["b"]: Tilt Args, switches are reset
        > status
          a: update in_progress, runtime not_applicable, up to date: Unknown, ready: Unknown
          b: update none, runtime none, up to date: Disabled, ready: Disabled
        > load a/off b
          a | disabletoggle-a Info: Resource "a" disabled. To enable/disable it, use the Tilt Web UI.
          cancel a
    "#]]);
}

#[test]
fn arguments_that_change_while_it_runs_make_it_run_again() {
    check(&expect![[r#"
        > args b
        > load a
          load (Tiltfile) ["b"]: Tilt Args, switches are reset
          update a: Initial Build
        > load a
    "#]]);
}

#[test]
fn a_stopped_load_ends_like_any_other() {
    check(&expect![[r#"
        > stop (Tiltfile)
          cancel load
        > broken build canceled
        > -10
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
        > -10
        > stop (Tiltfile)
    "#]]);
}

//! The server of a resource: when it starts, is replaced, and stays.

use expect_test::expect;

use super::check;

#[test]
fn a_server_starts_after_the_first_good_update() {
    check(&expect![[r#"
        > load a/serve
          update a: Initial Build
        > status
          a: update in_progress, runtime pending, up to date: Unknown, ready: Unknown
        > fail a
          a | build:1 Error: Build Failed: boom
        > status
          a: update error, runtime unknown, up to date: UpdateError, ready: UpdateError
        > trigger a
          update a: CLI Trigger, full rebuild
        > ok a
          serve a #1
        > status
          a: update ok, runtime pending, up to date: yes, ready: RuntimePending
        > run a
        > status
          a: update ok, runtime ok, up to date: yes, ready: yes
    "#]]);
}

#[test]
fn every_good_update_replaces_the_server_and_a_failed_one_leaves_it() {
    check(&expect![[r#"
        > load a/serve
          update a: Initial Build
        > ok a
          serve a #1
        > run a
        > change a x
          update a: changed x
        > status
          a: update in_progress, runtime ok, up to date: Unknown, ready: yes, pending changes
        > fail a
          a | build:2 Error: Build Failed: boom
        > status
          a: update error, runtime ok, up to date: UpdateError, ready: yes
        > change a x
          update a: changed x
        > ok a
          stop server of a #1
        > status
          a: update ok, runtime ok, up to date: yes, ready: yes
        > exit a
          serve a #2
        > status
          a: update ok, runtime pending, up to date: yes, ready: RuntimePending
        > run a
        > status
          a: update ok, runtime ok, up to date: yes, ready: yes
    "#]]);
}

#[test]
fn a_server_is_replaced_even_if_both_updates_end_at_the_same_time() {
    check(&expect![[r#"
        > load a/nocmd,serve
          update a: Initial Build
        > ok a
          serve a #1
        > run a
        > trigger a
          update a: CLI Trigger, full rebuild
        > ok a
          stop server of a #1
        > exit a
          serve a #2
    "#]]);
}

#[test]
fn a_server_that_exits_stays_down_until_the_next_good_update() {
    check(&expect![[r#"
        > load a/serve
          update a: Initial Build
        > ok a
          serve a #1
        > run a
        > exit a
        > status
          a: update ok, runtime error, up to date: yes, ready: RuntimeError
        > change a x
          update a: changed x
        > status
          a: update in_progress, runtime error, up to date: Unknown, ready: RuntimeError, pending changes
        > ok a
          serve a #2
        > run a
        > status
          a: update ok, runtime ok, up to date: yes, ready: yes
    "#]]);
}

#[test]
fn a_server_that_never_ran_is_an_error_too() {
    check(&expect![[r#"
        > load a/serve
          update a: Initial Build
        > ok a
          serve a #1
        > exit a
        > status
          a: update ok, runtime error, up to date: yes, ready: RuntimeError
    "#]]);
}

#[test]
fn a_server_waits_while_another_update_is_due() {
    check(&expect![[r#"
        > load a/serve
          update a: Initial Build
        > change a x
        > ok a
          update a: changed x
        > ok a
          serve a #1
    "#]]);
}

#[test]
fn a_probe_decides_about_readiness_and_can_take_it_back() {
    check(&expect![[r#"
        > load a/probe b/nocmd,probe
          update a: Initial Build
          b waits: waiting-for-local [a]
        > ok a
          update b: Initial Build
          serve a #1
        > ok b
          serve b #2
        > run a
        > run b
        > status
          a: update ok, runtime pending, up to date: yes, ready: RuntimePending
          b: update not_applicable, runtime pending, up to date: yes, ready: Unknown
        > ready a
        > ready b
        > status
          a: update ok, runtime ok, up to date: yes, ready: yes
          b: update not_applicable, runtime ok, up to date: yes, ready: yes
        > unready a
        > status
          a: update ok, runtime pending, up to date: yes, ready: RuntimePending
          b: update not_applicable, runtime ok, up to date: yes, ready: yes
    "#]]);
}

#[test]
fn another_server_command_waits_for_the_update_and_no_command_stops_at_once() {
    check(&expect![[r#"
        > load a/serve
          update a: Initial Build
        > ok a
          serve a #1
        > run a
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
        > load a/serve,v2
          update a: changed Tiltfile (Config Changed)
        > ok a
          stop server of a #1
        > exit a
          serve a #2
        > run a
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
        > load a
          update a: changed Tiltfile (Config Changed)
          stop server of a #2
        > exit a
        > status
          a: update in_progress, runtime not_applicable, up to date: Unknown, ready: Unknown, pending changes
    "#]]);
}

#[test]
fn a_server_that_must_stop_while_it_starts_is_stopped_once() {
    check(&expect![[r#"
        > load a/serve
          update a: Initial Build
        > ok a
          serve a #1
        > trigger a
          update a: CLI Trigger, full rebuild
        > ok a
          stop server of a #1
        > run a
        > trigger a
          update a: CLI Trigger, full rebuild
        > ok a
        > exit a
          serve a #2
    "#]]);
}

#[test]
fn readiness_before_the_process_is_known_does_not_count() {
    check(&expect![[r#"
        > load a/probe
          update a: Initial Build
        > ok a
          serve a #1
        > ready a
        > run a
        > status
          a: update ok, runtime pending, up to date: yes, ready: RuntimePending
    "#]]);
}

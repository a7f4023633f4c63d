//! Updates that cause each other are found, and those of a busy user are not taken for it.

use expect_test::expect;

use super::check;

#[test]
fn an_update_that_changes_its_own_input_is_held_after_ten_rounds() {
    check(&expect![[r#"
        > load a
          update a: Initial Build
        > ok a
        > +1000
        > change a in
          update a: changed in
        > 10 times change a out, ok a
          10 updates
        > change a out
        > ok a
          a waits: rebuild-loop [a] by out
        > status
          a: update pending, runtime not_applicable, up to date: UpdatePending, ready: UpdatePending, pending changes
    "#]]);
}

#[test]
fn updates_of_two_resources_that_cause_each_other_are_held() {
    check(&expect![[r#"
        > load a b
          update a: Initial Build
          b waits: waiting-for-local [a]
        > ok a
          update b: Initial Build
        > ok b
        > +1000
        > change a in
          update a: changed in
        > 5 times change b from-a, ok a, change a from-b, ok b
          10 updates
        > change b from-a
          b waits: waiting-for-local [a]
        > ok a
          b waits: rebuild-loop [a] by from-a
    "#]]);
}

#[test]
fn a_change_just_after_the_end_is_the_updates_doing() {
    check(&expect![[r#"
        > load a
          update a: Initial Build
        > ok a
        > +1000
        > change a in
          update a: changed in
        > 10 times ok a, +50, change a out
          10 updates
        > ok a
        > +50
        > change a out
          a waits: rebuild-loop [a] by out
    "#]]);
}

#[test]
fn a_change_some_time_after_the_end_is_somebody_elses() {
    check(&expect![[r#"
        > load a
          update a: Initial Build
        > ok a
        > +1000
        > change a in
          update a: changed in
        > 30 times ok a, +51, change a out
          30 updates
    "#]]);
}

#[test]
fn an_outside_change_lifts_the_hold() {
    check(&expect![[r#"
        > load a
          update a: Initial Build
        > ok a
        > +1000
        > change a in
          update a: changed in
        > 10 times change a out, ok a
          10 updates
        > change a out
        > ok a
          a waits: rebuild-loop [a] by out
        > +500
        > change a in
          update a: changed in out
        > ok a
    "#]]);
}

#[test]
fn an_outside_change_of_the_same_file_lifts_the_hold() {
    check(&expect![[r#"
        > load a
          update a: Initial Build
        > ok a
        > +1000
        > change a in
          update a: changed in
        > 10 times change a out, ok a
          10 updates
        > change a out
        > ok a
          a waits: rebuild-loop [a] by out
        > +500
        > change a out
          update a: changed out
        > ok a
    "#]]);
}

#[test]
fn an_outside_change_lifts_the_hold_even_while_something_else_runs() {
    check(&expect![[r#"
        > load a/parallel b/parallel
          update a: Initial Build
          update b: Initial Build
        > ok a
        > ok b
        > +1000
        > change a in
          update a: changed in
        > 10 times change a out, ok a
          10 updates
        > change a out
        > ok a
          a waits: rebuild-loop [a] by out
        > +500
        > change b x
          update b: changed x
        > +200
        > change a out
          update a: changed out
    "#]]);
}

#[test]
fn a_trigger_lifts_the_hold() {
    check(&expect![[r#"
        > load a
          update a: Initial Build
        > ok a
        > +1000
        > change a in
          update a: changed in
        > 10 times change a out, ok a
          10 updates
        > change a out
        > ok a
          a waits: rebuild-loop [a] by out
        > trigger a
          update a: changed out (CLI Trigger), full rebuild
        > 10 times change a out, ok a
          10 updates
        > ok a
    "#]]);
}

#[test]
fn a_change_of_the_tiltfile_lifts_the_hold() {
    check(&expect![[r#"
        > load a
          update a: Initial Build
        > ok a
        > +1000
        > change a in
          update a: changed in
        > 10 times change a out, ok a
          10 updates
        > change a out
        > ok a
          a waits: rebuild-loop [a] by out
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
          a waits: tiltfile-reload [(Tiltfile)]
        > load a/v2
          update a: changed Tiltfile (Config Changed)
    "#]]);
}

#[test]
fn a_user_who_saves_often_while_something_else_runs_is_not_held() {
    check(&expect![[r#"
        > load a/parallel b/parallel
          update a: Initial Build
          update b: Initial Build
        > ok a
        > 30 times +200, change a in, +20, ok a
          30 updates
    "#]]);
}

#[test]
fn a_user_who_saves_while_the_update_runs_is_not_held_once_it_is_quiet() {
    check(&expect![[r#"
        > load a
          update a: Initial Build
        > ok a
        > +1000
        > change a in
          update a: changed in
        > 10 times +500, change a in, ok a
          10 updates
        > +500
        > ok a
        > 5 times +500, change a in, ok a
          5 updates
    "#]]);
}

#[test]
fn a_real_loop_is_tried_again_three_times_and_then_no_more() {
    check(&expect![[r#"
        > load a
          update a: Initial Build
        > ok a
        > +1000
        > change a in
          update a: changed in
        > 10 times change a out, ok a
          10 updates
        > change a out
        > ok a
          a waits: rebuild-loop [a] by out
        > +999
        > +1
          update a: changed out
        > change a out
        > ok a
          a waits: rebuild-loop [a] by out
        > +1999
        > +1
          update a: changed out
        > change a out
        > ok a
          a waits: rebuild-loop [a] by out
        > +4000
          update a: changed out
        > change a out
        > ok a
          a waits: rebuild-loop [a] by out
        > +3600000
        > status
          a: update pending, runtime not_applicable, up to date: UpdatePending, ready: UpdatePending, pending changes
    "#]]);
}

#[test]
fn who_saves_during_ten_updates_in_a_row_ends_up_to_date() {
    check(&expect![[r#"
        > load a
          update a: Initial Build
        > ok a
        > +1000
        > change a in
          update a: changed in
        > 10 times +500, change a in, +500, ok a
          10 updates
        > +500
        > change a in
        > +500
        > ok a
          a waits: rebuild-loop [a] by in
        > +1000
          update a: changed in
        > +500
        > ok a
        > status
          a: update ok, runtime not_applicable, up to date: yes, ready: yes
        > 10 times +500, change a in, +500, ok a
          10 updates
    "#]]);
}

#[test]
fn who_saves_in_a_pause_waits_no_longer() {
    check(&expect![[r#"
        > load a
          update a: Initial Build
        > ok a
        > +1000
        > change a in
          update a: changed in
        > 10 times +500, change a in, +500, ok a
          10 updates
        > +500
        > change a in
        > ok a
          a waits: rebuild-loop [a] by in
        > +400
        > change a in
          update a: changed in
        > ok a
    "#]]);
}

#[test]
fn a_resource_beside_a_loop_updates_at_once() {
    check(&expect![[r#"
        > load a/parallel b/parallel
          update a: Initial Build
          update b: Initial Build
        > ok a
        > ok b
        > +1000
        > change a in
          update a: changed in
        > 10 times change a out, ok a
          10 updates
        > change b x
          update b: changed x
        > ok b
        > change a out
        > ok a
          a waits: rebuild-loop [a] by out
        > +1000
          update a: changed out
        > change b x
          update b: changed x
        > ok b
    "#]]);
}

#[test]
fn a_change_is_the_doing_of_what_ran_when_it_was_made() {
    check(&expect![[r#"
        > load gen/parallel lib:gen/parallel tests:lib/parallel
          update gen: Initial Build
          lib waits: waiting-for-dep [gen]
          tests waits: waiting-for-dep [lib]
        > +100
        > ok gen
          update lib: Initial Build, released by gen
        > +20
        > made 50 tests out
        > +20
        > ok lib
          update tests: Initial Build, released by lib
        > why tests
          tests: Initial Build
            after lib
              lib: Initial Build
                after gen
            out changed while gen
              gen: Initial Build
    "#]]);
}

#[test]
fn what_ended_just_before_a_change_did_not_make_it() {
    check(&expect![[r#"
        > load a
          update a: Initial Build
        > +100
        > ok a
        > +30
        > made 10 a in
          update a: changed in
        > why a
          a: Changed Files
        > ok a
        > +30
        > change a in
          update a: changed in
        > why a
          a: Changed Files
            in changed while a
              a: Changed Files
    "#]]);
}

//! What is chosen, and what the others are told: the rules in their order.

use expect_test::expect;

use super::check;

#[test]
fn nothing_starts_while_a_tiltfile_that_changed_is_loading() {
    check(&expect![[r#"
        > load a b
          update a: Initial Build
          b waits: waiting-for-local [a]
        > ok a
          update b: Initial Build
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
        > change a x
          a waits: tiltfile-reload [(Tiltfile)]
        > ok b
        > load a b
          update a: changed x
    "#]]);
}

#[test]
fn updates_go_on_while_a_tiltfile_runs_for_other_reasons() {
    check(&expect![[r#"
        > load a
          update a: Initial Build
        > ok a
        > trigger (Tiltfile)
          load (Tiltfile): CLI Trigger
        > change a x
          update a: changed x
        > load a
    "#]]);
}

#[test]
fn a_tiltfile_that_changes_while_it_runs_runs_again_and_still_holds_updates() {
    check(&expect![[r#"
        > load a
          update a: Initial Build
        > ok a
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
        > +5
        > edit Tiltfile
        > change a x
          a waits: tiltfile-reload [(Tiltfile)]
        > load a
          load (Tiltfile): changed Tiltfile
        > load a
          update a: changed x
    "#]]);
}

#[test]
fn a_change_of_the_tiltfile_seen_before_its_run_began_is_known_to_it() {
    check(&expect![[r#"
        > load a
          update a: Initial Build
        > ok a
        > +20
        > trigger (Tiltfile)
          load (Tiltfile): CLI Trigger
        > +5
        > late-edit 10 conf
        > load a
        > late-edit 10 conf
        > late-edit 2 conf
          load (Tiltfile): changed conf
    "#]]);
}

#[test]
fn nothing_starts_until_all_switches_are_known() {
    check(&expect![[r#"
        > load a b/unset c/unset
          a waits: tiltfile-reload [b c]
          b waits: tiltfile-reload [b c]
          c waits: tiltfile-reload [b c]
        > on b
          a waits: tiltfile-reload [c]
          b waits: tiltfile-reload [c]
          c waits: tiltfile-reload [c]
        > on c
          update a: Initial Build
          b waits: waiting-for-local [a]
          c waits: waiting-for-local [a]
    "#]]);
}

#[test]
fn an_exclusive_update_lets_nothing_start_beside_it() {
    check(&expect![[r#"
        > load a b/parallel c:a/parallel
          update a: Initial Build
          b waits: waiting-for-local [a]
          c waits: waiting-for-local [a]
        > ok a
          update b: Initial Build
          update c: Initial Build, released by a
    "#]]);
}

#[test]
fn an_exclusive_update_waits_until_nothing_runs_and_its_dependencies_are_not_told() {
    check(&expect![[r#"
        > load a/parallel b:a c/parallel
          update a: Initial Build
          update c: Initial Build
          b waits: is-unparallelizable-local []
        > ok a
        > ok c
          update b: Initial Build, released by a
    "#]]);
}

#[test]
fn a_resource_without_a_command_is_never_exclusive() {
    check(&expect![[r#"
        > load a/nocmd,serve b/nocmd,serve c/parallel
          update a: Initial Build
          update b: Initial Build
          update c: Initial Build
    "#]]);
}

#[test]
fn objects_without_a_workload_hold_the_cluster_but_not_the_rest() {
    check(&expect![[r#"
        > load db/k8s uncategorized/ignore-pods web/k8s c/compose
          update uncategorized: Initial Build
          update c: Initial Build
          db waits: waiting-for-uncategorized [uncategorized]
          web waits: waiting-for-uncategorized [uncategorized]
        > ok uncategorized
          update db: Initial Build
          update web: Initial Build
    "#]]);
}

#[test]
fn resources_that_share_an_image_are_not_built_at_once() {
    check(&expect![[r#"
        > load web/k8s,image worker/k8s,image db/k8s
          update db: Initial Build
          update web: Initial Build
          worker waits: building-component [shared]
        > ok web
          update worker: Initial Build
    "#]]);
}

#[test]
fn first_updates_go_by_kind_then_by_order() {
    check(&expect![[r#"
        > load max=1 web/k8s,image svc/compose db/k8s uncategorized/ignore-pods b a
          update b: Initial Build
          web waits: waiting-for-local [b]
          svc waits: waiting-for-local [b]
          db waits: waiting-for-local [b]
          uncategorized waits: waiting-for-local [b]
          a waits: waiting-for-local [b]
        > ok b
          update a: Initial Build
          web waits: waiting-for-local [a]
          svc waits: waiting-for-local [a]
          db waits: waiting-for-local [a]
          uncategorized waits: waiting-for-local [a]
        > ok a
          update uncategorized: Initial Build
          web waits: waiting-for-uncategorized [uncategorized]
          svc waits no more
          db waits: waiting-for-uncategorized [uncategorized]
        > ok uncategorized
          update db: Initial Build
          web waits no more
        > ok db
          update web: Initial Build
        > ok web
          update svc: Initial Build
    "#]]);
}

#[test]
fn first_updates_come_before_triggers_and_triggers_before_changes() {
    check(&expect![[r#"
        > load max=1 a b c/noinit
          update a: Initial Build
          b waits: waiting-for-local [a]
        > ok a
          update b: Initial Build
        > ok b
        > change a x
          update a: changed x
        > trigger c
          c waits: waiting-for-local [a]
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
          c waits: tiltfile-reload [(Tiltfile)]
        > load max=1 a b c/noinit d
          c waits: waiting-for-local [a]
          d waits: waiting-for-local [a]
        > ok a
          update d: Initial Build
          c waits: waiting-for-local [d]
        > change a y
          a waits: waiting-for-local [d]
        > trigger b
          b waits: waiting-for-local [d]
        > ok d
          update c: CLI Trigger, full rebuild
          a waits: waiting-for-local [c]
          b waits: waiting-for-local [c]
        > ok c
          update b: CLI Trigger, full rebuild
          a waits: waiting-for-local [b]
        > ok b
          update a: changed y
    "#]]);
}

#[test]
fn the_oldest_change_is_taken_first_and_equal_ones_in_order() {
    check(&expect![[r#"
        > load max=1 a b c d
          update a: Initial Build
          b waits: waiting-for-local [a]
          c waits: waiting-for-local [a]
          d waits: waiting-for-local [a]
        > ok a
          update b: Initial Build
          c waits: waiting-for-local [b]
          d waits: waiting-for-local [b]
        > ok b
          update c: Initial Build
          d waits: waiting-for-local [c]
        > ok c
          update d: Initial Build
        > ok d
        > change d x
          update d: changed x
        > +1
        > change c x
          c waits: waiting-for-local [d]
        > +1
        > change b x
          b waits: waiting-for-local [d]
        > change a x
          a waits: waiting-for-local [d]
        > +1
        > change c x
        > ok d
          update a: changed x
          b waits: waiting-for-local [a]
          c waits: waiting-for-local [a]
        > ok a
          update b: changed x
          c waits: waiting-for-local [b]
        > ok b
          update c: changed x
    "#]]);
}

#[test]
fn slots_are_limited_and_waiting_for_one_is_no_hold() {
    check(&expect![[r#"
        > load a/parallel b/parallel c/parallel d/parallel
          update a: Initial Build
          update b: Initial Build
          update c: Initial Build
        > status
          a: update in_progress, runtime not_applicable, up to date: Unknown, ready: Unknown
          b: update in_progress, runtime not_applicable, up to date: Unknown, ready: Unknown
          c: update in_progress, runtime not_applicable, up to date: Unknown, ready: Unknown
          d: update pending, runtime not_applicable, up to date: UpdatePending, ready: UpdatePending
        > ok b
          update d: Initial Build
    "#]]);
}

#[test]
fn fewer_slots_let_running_updates_end_first() {
    check(&expect![[r#"
        > load a/parallel b/parallel c/parallel d/parallel
          update a: Initial Build
          update b: Initial Build
          update c: Initial Build
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
          d waits: tiltfile-reload [(Tiltfile)]
        > load max=1 a/parallel b/parallel c/parallel d/parallel
          d waits no more
        > ok a
        > ok b
        > ok c
          update d: Initial Build
    "#]]);
}

#[test]
fn no_slots_at_all_count_as_one() {
    check(&expect![[r#"
        > load max=0 a/parallel b/parallel
          update a: Initial Build
    "#]]);
}

#[test]
fn what_docker_cuts_off_fails_and_runs_again_when_docker_is_back() {
    check(&expect![[r#"
        > load web/compose
          update web: Initial Build
        > gone
        > fail web
          web | build:1 Error: Build Failed: boom
          web waits: waiting-for-cluster [docker]
        > back
          update web: Retry After Outage
        > fail web
          web | build:2 Error: Build Failed: boom
    "#]]);
}

#[test]
fn what_was_refused_runs_again_when_it_is_due_unless_another_update_ran_since() {
    check(&expect![[r#"
        > load web/compose
          update web: Initial Build
        > fail web
          web | build:1 Error: Build Failed: boom
        > retry web
          update web: Retry
        > retry web
        > fail web
          web | build:2 Error: Build Failed: boom
        > off web
          web | disabletoggle-web Info: Resource "web" disabled. To enable/disable it, use the Tilt Web UI.
        > retry web
        > on web
          web | disabletoggle-web Info: Resource "web" enabled. To enable/disable it, use the Tilt Web UI.
          update web: Initial Build
    "#]]);
}

//! Who waits for whom, and until when.

use expect_test::expect;

use super::check;

#[test]
fn first_updates_wait_for_dependencies_that_were_never_ready() {
    check(&expect![[r#"
        > load a b:a c:a,b
          update a: Initial Build
          b waits: waiting-for-local [a]
          c waits: waiting-for-local [a]
        > fail a
          a | build:1 Error: Build Failed: boom
          b waits: waiting-for-dep [a]
          c waits: waiting-for-dep [a b]
        > change c x
        > trigger a
          update a: CLI Trigger, full rebuild
          b waits: waiting-for-local [a]
          c waits: waiting-for-local [a]
        > ok a
          update b: Initial Build, released by a
          c waits: waiting-for-local [b]
        > ok b
          update c: Initial Build, released by b
        > ok c
    "#]]);
}

#[test]
fn a_dependency_with_a_probe_is_ready_when_the_probe_says_so() {
    check(&expect![[r#"
        > load db/probe web:db
          update db: Initial Build
          web waits: waiting-for-local [db]
        > ok db
          serve db #1
          web waits: waiting-for-dep [db]
        > run db
        > ready db
          update web: Initial Build, released by db
        > unready db
    "#]]);
}

#[test]
fn a_server_without_a_command_satisfies_dependents_before_it_runs() {
    check(&expect![[r#"
        > load db/nocmd,serve web:db
          update db: Initial Build
          web waits: is-unparallelizable-local []
        > ok db
          update web: Initial Build, released by db
          serve db #1
    "#]]);
}

#[test]
fn objects_in_a_cluster_satisfy_dependents_by_what_is_seen_of_them() {
    check(&expect![[r#"
        > load namespace/ignore-pods db/k8s a:namespace/parallel b:db/parallel
          update namespace: Initial Build
          update db: Initial Build
          a waits: waiting-for-dep [namespace]
          b waits: waiting-for-dep [db]
        > ok namespace
          update a: Initial Build, released by namespace
        > ok db
        > healthy db
          update b: Initial Build, released by db
    "#]]);
}

#[test]
fn a_dependency_that_does_not_exist_holds_forever() {
    check(&expect![[r#"
        > load a:ghost
          a waits: waiting-for-dep [ghost]
    "#]]);
}

#[test]
fn dependencies_do_not_count_after_the_first_update() {
    check(&expect![[r#"
        > load a b
          update a: Initial Build
          b waits: waiting-for-local [a]
        > ok a
          update b: Initial Build
        > ok b
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
        > load a b:c c/manual-noinit
        > change b x
          update b: changed x
    "#]]);
}

#[test]
fn a_dependency_that_was_ready_once_satisfies_even_when_it_is_disabled() {
    check(&expect![[r#"
        > load a b:a/manual-noinit
          update a: Initial Build
        > ok a
        > off a
          a | disabletoggle-a Info: Resource "a" disabled. To enable/disable it, use the Tilt Web UI.
        > trigger b
          update b: CLI Trigger, full rebuild
    "#]]);
}

#[test]
fn a_change_while_the_first_update_is_held_is_consumed_by_it() {
    check(&expect![[r#"
        > load a b:a
          update a: Initial Build
          b waits: waiting-for-local [a]
        > change b x
        > status
          a: update in_progress, runtime not_applicable, up to date: Unknown, ready: Unknown
          b: update pending, runtime not_applicable, up to date: UpdatePending, ready: UpdatePending, pending changes
        > ok a
          update b: Initial Build, released by a
        > ok b
    "#]]);
}

#[test]
fn who_let_a_resource_start_is_told() {
    check(&expect![[r#"
        > load a/parallel b/parallel c:a,b/parallel
          update a: Initial Build
          update b: Initial Build
          c waits: waiting-for-dep [a b]
        > ok b
          c waits: waiting-for-dep [a]
        > +1
        > ok a
          update c: Initial Build, released by a
    "#]]);
}

#[test]
fn the_update_that_made_a_dependency_ready_is_the_one_that_was_waited_for() {
    check(&expect![[r#"
        > load a b:a
          update a: Initial Build
          b waits: waiting-for-local [a]
        > ok a
          update b: Initial Build, released by a
        > ok b
        > +1000
        > change a x
          update a: changed x
        > ok a
        > why b
          b: Initial Build
            after a
              a: Initial Build
    "#]]);
}

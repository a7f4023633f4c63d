//! Compose services: how their containers do, whose log is read, and when they are removed.

use expect_test::expect;

use super::{check, check_in};
use crate::world::World;

#[test]
fn a_service_is_up_with_its_container_and_lets_dependents_start() {
    check(&expect![[r#"
        > load a/compose b:a/compose max=1
          update a: Initial Build
          b waits: waiting-for-dep [a]
        > container a c
          read log of a in c
          b waits no more
        > brought-up a c
        > service a
          container c, Some(Ok), error None, ports [], health None, log true
        > ok a
          update b: Initial Build, released by a
        > service b
          nothing is known
    "#]]);
}

#[test]
fn docker_is_found_for_images_and_followed_for_services() {
    check_in(
        World::default(),
        &expect![[r#"
            > load a
              update a: Initial Build
            > edit x
              load (Tiltfile): changed x
            > load a b/image
              find Docker
              b waits: waiting-for-local [a]
            > edit x
              load (Tiltfile): changed x
              b waits: tiltfile-reload [(Tiltfile)]
            > load a b/image c/compose
              follow Docker
              b waits: waiting-for-local [a]
              c waits: waiting-for-local [a]
            > docker-up
            > edit x
              load (Tiltfile): changed x
              b waits: tiltfile-reload [(Tiltfile)]
              c waits: tiltfile-reload [(Tiltfile)]
            > load a b/image c/compose
              b waits: waiting-for-local [a]
              c waits: waiting-for-local [a]
        "#]],
    );
}

#[test]
fn a_list_says_nothing_about_services_before_their_first_update() {
    check(&expect![[r#"
        > load a/compose
          update a: Initial Build
        > listed-containers a=old
        > service a
          nothing is known
        > brought-up a c
          read log of a in c
        > listed-containers a=c
        > listed-containers
          stop reading the log of a
        > service a
          container none, Some(Unknown), error None, ports [], health None, log true
    "#]]);
}

#[test]
fn a_failing_health_check_is_logged_once_for_each_text() {
    check(&expect![[r#"
        > load a/compose
          update a: Initial Build
        > brought-up a c
          read log of a in c
        > ok a
        > container a c unhealthy=refused
          a | dc Warn: healthcheck: refused
        > container a c unhealthy=refused started=1
        > container a c unhealthy=timeout
          a | dc Warn: healthcheck: timeout
        > container a c healthy
        > container a c unhealthy=timeout
          a | dc Warn: healthcheck: timeout
        > service a
          container c, Some(Ok), error None, ports [], health Some("unhealthy"), log true
    "#]]);
}

#[test]
fn the_end_of_a_container_is_an_error_with_another_code_than_zero_but_not_while_it_is_replaced() {
    check(&expect![[r#"
        > load a/compose
          update a: Initial Build
        > brought-up a c
          read log of a in c
        > ok a
        > container a c exited=0 port=80
        > service a
          container c, Some(Ok), error None, ports [], health None, log true
        > container a c exited=3
        > service a
          container c, Some(Error), error Some("Container c exited with 3"), ports [], health None, log true
        > trigger a
          update a: CLI Trigger, full rebuild
        > container a c exited=137
        > service a
          container c, Some(Error), error Some("Container c exited with 3"), ports [], health None, log true
        > brought-up a d
          read log of a in d
        > fail a
          a | build:2 Error: Build Failed: boom
        > settled a
        > service a
          container d, Some(Ok), error None, ports [], health None, log true
        > trigger a
          update a: CLI Trigger, full rebuild
        > container a d exited=137
        > fail a
          a | build:3 Error: Build Failed: boom
        > settled a
        > service a
          container d, Some(Error), error Some("Container d exited with 137"), ports [], health None, log true
    "#]]);
}

#[test]
fn ports_of_a_container_that_ended_are_still_links() {
    check(&expect![[r#"
        > load a/compose
          update a: Initial Build
        > brought-up a
        > container a c port=8080
          read log of a in c
        > container a c exited=0
        > service a
          container c, Some(Ok), error None, ports [8080], health None, log true
    "#]]);
}

#[test]
fn of_two_containers_the_newer_one_counts_and_one_off_containers_do_not() {
    check(&expect![[r#"
        > load a/compose
          update a: Initial Build
        > brought-up a
        > container a c created=5
          read log of a in c
        > container a d created=4
        > container a e one-off created=6
        > service a
          container c, Some(Ok), error None, ports [], health None, log true
        > container a f created=6 new
        > service a
          container f, Some(Pending), error None, ports [], health None, log true
        > container a f created=6 started=7
          read log of a in f
        > service a
          container f, Some(Ok), error None, ports [], health None, log true
    "#]]);
}

#[test]
fn a_container_that_is_removed_is_unknown_and_one_that_ended_before_is_still_shown() {
    check(&expect![[r#"
        > load a/compose
          update a: Initial Build
        > brought-up a c
          read log of a in c
        > ok a
        > container-gone x
        > container-gone c
          stop reading the log of a
        > service a
          container none, Some(Unknown), error None, ports [], health None, log true
        > container a d created=2
          read log of a in d
        > container a d created=2 exited=1
        > container-gone d
        > service a
          container d, Some(Error), error Some("Container d exited with 1"), ports [], health None, log true
    "#]]);
}

#[test]
fn a_container_that_runs_again_is_read_on() {
    check(&expect![[r#"
        > load a/compose
          update a: Initial Build
        > brought-up a c
          read log of a in c
        > container a c exited=0
        > container a c started=5
          read log of a in c
        > container a c started=5 healthy
    "#]]);
}

#[test]
fn services_that_are_disabled_together_are_removed_together_unless_they_are_enabled_again() {
    check(&expect![[r#"
        > load a/compose b/compose c/compose
          update a: Initial Build
          update b: Initial Build
          update c: Initial Build
        > brought-up a ca
          read log of a in ca
        > brought-up b cb
          read log of b in cb
        > brought-up c cc
          read log of c in cc
        > ok a
        > ok b
        > ok c
        > off a
          a | disabletoggle-a Info: Resource "a" disabled. To enable/disable it, use the Tilt Web UI.
          stop reading the log of a
        > +100
        > off b
          b | disabletoggle-b Info: Resource "b" disabled. To enable/disable it, use the Tilt Web UI.
          stop reading the log of b
        > off c
          c | disabletoggle-c Info: Resource "c" disabled. To enable/disable it, use the Tilt Web UI.
          stop reading the log of c
        > on c
          c | disabletoggle-c Info: Resource "c" enabled. To enable/disable it, use the Tilt Web UI.
          update c: Initial Build
        > +100
          remove a b
        > +200
        > service a
          container none, Some(Ok), error None, ports [], health None, log false
    "#]]);
}

#[test]
fn a_service_that_the_tiltfile_does_not_have_any_more_is_removed_as_gone() {
    check(&expect![[r#"
        > load a/compose b/compose
          update a: Initial Build
          update b: Initial Build
        > brought-up a ca
          read log of a in ca
        > ok a
        > ok b
        > edit x
          load (Tiltfile): changed x
        > load b/compose
          stop reading the log of a
          a is gone
        > +200
          remove a (gone)
    "#]]);
}

#[test]
fn a_container_of_a_disabled_service_is_removed_once_for_each_run() {
    check(&expect![[r#"
        > load a/compose
          update a: Initial Build
        > off a
          a | disabletoggle-a Info: Resource "a" disabled. To enable/disable it, use the Tilt Web UI.
          cancel a
        > container a c
        > container a c healthy
        > +200
          remove a
        > container a c exited=0
        > container a c started=9
        > +200
          remove a
        > service a
          container none, None, error None, ports [], health None, log false
    "#]]);
}

#[test]
fn a_lost_docker_is_logged_once_and_what_it_cut_off_runs_again() {
    check(&expect![[r#"
        > load a/compose
          update a: Initial Build
        > docker-lost no route
           |  Error: no route
        > docker-lost no route
        > fail a
          a | build:1 Error: Build Failed: boom
          a waits: waiting-for-cluster [docker]
        > docker-lost refused
           |  Error: refused
        > docker-up
          update a: Retry After Outage
        > docker-lost no route
           |  Error: no route
    "#]]);
}

#[test]
fn a_service_that_cannot_be_brought_up_has_no_status() {
    check(&expect![[r#"
        > load a/compose
          update a: Initial Build
        > not-brought-up a
        > fail a
          a | build:1 Error: Build Failed: boom
        > settled a
        > service a
          container none, Some(Unknown), error None, ports [], health None, log false
    "#]]);
}

#[test]
fn containers_of_live_updates_are_found_when_they_change() {
    check(&expect![[r#"
        > load a/compose,image,live
          update a: Initial Build
        > brought-up a c
          read log of a in c
          find containers of a
        > ok a
        > container-gone c
          stop reading the log of a
          find containers of a
    "#]]);
}

#[test]
fn of_an_update_and_its_container_that_both_failed_the_update_fails_ci_first() {
    check(&expect![[r#"
        > load a/compose
          update a: Initial Build
        > container a c exited=1
          read log of a in c
        > fail a
          a | build:1 Error: Build Failed: boom
        > ci
          a:runtime (server): inactive
          a:update (job): terminated Some("boom")
          tiltfile:update (job): terminated None
          Failure("boom")
        > settled a
        > ci
          a:runtime (server): terminated Some("Container c exited with 1")
          a:update (job): terminated Some("boom")
          tiltfile:update (job): terminated None
          Failure("Container c exited with 1")
    "#]]);
}

//! How `ci` ends.

use expect_test::expect;

use engine_model::{GoDuration, Kind, ObjectId, Spec, SpecChange, spec::CiLimits};

use super::{check, check_in};
use crate::{
    cluster::ClusterEvent,
    objects::ObjectEvent,
    session::Verdict,
    tiltfile::{LoadId, MAIN},
    time::Time,
    world::{
        DockerEvent, Event, Loaded, Settings, World,
        fixture::{manifest, with_clusters},
    },
};

fn ci() -> World {
    with_clusters(Settings { ci_started: Some(Time(0)), ..Settings::default() })
}

#[test]
fn it_waits_for_the_tiltfile() {
    check(&expect![[r#"
        > ci
          tiltfile:update (job): active, ready: false
          Undecided(Some(Time(60000001)))
        > broken oops
        > ci
          tiltfile:update (job): terminated Some("oops")
          Failure("oops")
    "#]]);
}

#[test]
fn it_succeeds_when_every_update_has_ended_and_every_server_is_ready() {
    check(&expect![[r#"
        > load c/nocmd,probe a b:a/serve
          update c: Initial Build
          a waits: is-unparallelizable-local []
          b waits: is-unparallelizable-local []
        > ci
          a:update (job): waiting is-unparallelizable-local
          b:serve (server): waiting is-unparallelizable-local
          b:update (job): waiting is-unparallelizable-local
          c:serve (server): waiting unknown
          tiltfile:update (job): terminated None
          Undecided(Some(Time(60000001)))
        > ok c
          update a: Initial Build
          serve c #1
          b waits: waiting-for-local [a]
        > run c
        > ok a
          update b: Initial Build, released by a
        > ci
          a:update (job): terminated None
          b:serve (server): waiting unknown
          b:update (job): active, ready: false
          c:serve (server): active, ready: false
          tiltfile:update (job): terminated None
          Undecided(Some(Time(10000001)))
        > ok b
          serve b #2
        > run b
        > ready c
        > +250
        > ci
          a:update (job): terminated None
          b:serve (server): active, ready: true
          b:update (job): terminated None
          c:serve (server): active, ready: true
          tiltfile:update (job): terminated None
          Success
    "#]]);
}

#[test]
fn the_first_failed_update_by_name_fails_it() {
    check(&expect![[r#"
        > load b/parallel a/parallel
          update b: Initial Build
          update a: Initial Build
        > fail b
          b | build:1 Error: Build Failed: boom
        > fail a
          a | build:2 Error: Build Failed: boom
        > ci
          a:update (job): terminated Some("boom")
          b:update (job): terminated Some("boom")
          tiltfile:update (job): terminated None
          Failure("boom")
    "#]]);
}

#[test]
fn a_server_that_exits_fails_it() {
    check(&expect![[r#"
        > load a/serve
          update a: Initial Build
        > ok a
          serve a #1
        > run a
        > exit a
        > ci
          a:serve (server): terminated Some("Process 7 exited with non-zero status")
          a:update (job): terminated None
          tiltfile:update (job): terminated None
          Failure("Process 7 exited with non-zero status")
    "#]]);
}

#[test]
fn a_server_must_stay_up_for_a_moment() {
    check(&expect![[r#"
        > load a/serve
          update a: Initial Build
        > ok a
          serve a #1
        > run a
        > +249
        > ci
          a:serve (server): active, ready: true
          a:update (job): terminated None
          tiltfile:update (job): terminated None
          Undecided(Some(Time(250000)))
        > +1
        > ci
          a:serve (server): active, ready: true
          a:update (job): terminated None
          tiltfile:update (job): terminated None
          Success
        > -1000
        > ci
          a:serve (server): active, ready: true
          a:update (job): terminated None
          tiltfile:update (job): terminated None
          Success
        > exit a
        > ci
          a:serve (server): terminated Some("Process 7 exited with non-zero status")
          a:update (job): terminated None
          tiltfile:update (job): terminated None
          Failure("Process 7 exited with non-zero status")
    "#]]);
}

#[test]
fn resources_that_nobody_asked_for_do_not_count() {
    check(&expect![[r#"
        > load a/manual-noinit b/noinit,serve c/off
        > ci
          a:update (job): inactive
          b:serve (server): inactive
          b:update (job): inactive
          c:update (job): disabled
          tiltfile:update (job): terminated None
          Success
    "#]]);
}

#[test]
fn a_tiltfile_alone_says_nothing() {
    check(&expect![[r#"
        > load a/nocmd
          update a: Initial Build
        > ok a
        > ci
          tiltfile:update (job): terminated None
          Undecided(Some(Time(60000001)))
    "#]]);
}

#[test]
fn what_an_update_consumes_is_waiting_until_it_has_ended() {
    check(&expect![[r#"
        > load a
          update a: Initial Build
        > ok a
        > change a x
          update a: changed x
        > ci
          a:update (job): waiting unknown
          tiltfile:update (job): terminated None
          Undecided(Some(Time(60000001)))
    "#]]);
}

#[test]
fn a_server_that_does_not_become_ready_in_time_fails_it() {
    check(&expect![[r#"
        > load a/probe
          update a: Initial Build
        > ok a
          serve a #1
        > run a
        > +10000
        > ci
          a:serve (server): active, ready: false
          a:update (job): terminated None
          tiltfile:update (job): terminated None
          Undecided(Some(Time(10000001)))
        > +1
        > ci
          a:serve (server): active, ready: false
          a:update (job): terminated None
          tiltfile:update (job): terminated None
          Failure("Readiness timeout after 10s: target a:serve not ready")
    "#]]);
}

#[test]
fn a_server_that_is_not_ready_any_more_is_given_time_since_it_became_ready() {
    check(&expect![[r#"
        > load a/probe
          update a: Initial Build
        > ok a
          serve a #1
        > run a
        > +9000
        > ready a
        > +9000
        > unready a
        > ci
          a:serve (server): active, ready: false
          a:update (job): terminated None
          tiltfile:update (job): terminated None
          Undecided(Some(Time(19000001)))
        > +1001
        > ci
          a:serve (server): active, ready: false
          a:update (job): terminated None
          tiltfile:update (job): terminated None
          Failure("Readiness timeout after 10s: target a:serve not ready")
    "#]]);
}

#[test]
fn readiness_of_jobs_has_no_limit() {
    check(&expect![[r#"
        > load a
          update a: Initial Build
        > +20000
        > ci
          a:update (job): active, ready: false
          tiltfile:update (job): terminated None
          Undecided(Some(Time(60000001)))
    "#]]);
}

#[test]
fn it_gives_up_after_a_while_and_says_what_it_was_waiting_for() {
    check(&expect![[r#"
        > load c/nocmd,probe a b:a
          update c: Initial Build
          a waits: is-unparallelizable-local []
          b waits: is-unparallelizable-local []
        > ok c
          update a: Initial Build
          serve c #1
          b waits: waiting-for-local [a]
        > run c
        > +60000
        > ready c
        > ci
          a:update (job): active, ready: false
          b:update (job): waiting waiting-for-local
          c:serve (server): active, ready: true
          tiltfile:update (job): terminated None
          Undecided(Some(Time(60000001)))
        > +1
        > ci
          a:update (job): active, ready: false
          b:update (job): waiting waiting-for-local
          c:serve (server): active, ready: true
          tiltfile:update (job): terminated None
          Failure("Timeout after 1m0s: 1 resources waiting (b:update waiting-for-local), 1 resources not ready (a:update)")
    "#]]);
}

#[test]
fn cluster_targets_are_jobs_or_servers_and_may_be_left_out() {
    check(&expect![[r#"
        > load job/job web/k8s ns/ignore-pods svc/compose
          update job: Initial Build
          update web: Initial Build
          update ns: Initial Build
        > ci
          job:runtime (job): waiting waiting-for-pod
          job:update (job): active, ready: false
          ns:runtime (server): waiting waiting-for-pod
          ns:update (job): active, ready: false
          svc:runtime (server): waiting unknown
          svc:update (job): waiting unknown
          tiltfile:update (job): terminated None
          web:runtime (server): waiting waiting-for-pod
          web:update (job): active, ready: false
          Undecided(Some(Time(60000001)))
        > ok job
          update svc: Initial Build
        > ok web
        > ok ns
        > healthy web
        > ci
          job:runtime (job): waiting waiting-for-pod
          job:update (job): terminated None
          ns:update (job): terminated None
          svc:runtime (server): waiting unknown
          svc:update (job): active, ready: false
          tiltfile:update (job): terminated None
          web:runtime (server): active, ready: true
          web:update (job): terminated None
          Undecided(Some(Time(60000001)))
    "#]]);
}

#[test]
fn a_server_between_two_runs_is_active_and_not_ready() {
    check(&expect![[r#"
        > load a/serve
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
        > ci
          a:serve (server): active, ready: false
          a:update (job): terminated None
          tiltfile:update (job): terminated None
          Undecided(Some(Time(10000001)))
    "#]]);
}

#[test]
fn the_failure_that_ends_it_starts_nothing_else() {
    check_in(
        ci(),
        &expect![[r#"
            > load a b c/parallel,noinit
              update a: Initial Build
              b waits: waiting-for-local [a]
            > fail a
              a | build:1 Error: Build Failed: boom
            > trigger c
            > ci
              a:update (job): terminated Some("boom")
              b:update (job): active, ready: false
              c:update (job): inactive
              tiltfile:update (job): terminated None
              Failure("boom")
        "#]],
    );
}

/// A world in which `ci` waits for one resource, with these limits.
fn waiting(notation: &str, limits: CiLimits) -> World {
    let mut world = ci();
    world.step(Time(0), Event::TiltfileAdded { name: MAIN.into(), args: Vec::new() });
    let id = ObjectId::new(Kind::Session, "Tiltfile");
    let change = SpecChange { id, version: 1, spec: Some(Spec::Session(limits)) };
    let (changes, is_load) = (vec![change], true);
    world.step(Time(0), Event::Object(ObjectEvent::SpecsChanged { changes, is_load }));
    let manifests = vec![manifest(notation).into()];
    let result = Ok(Loaded { manifests, ..Loaded::default() });
    world.step(Time(0), Event::LoadEnded { id: LoadId(1), result });
    world
}

#[test]
fn it_is_judged_when_something_changes_or_is_due_and_not_all_the_time() {
    let timeout = GoDuration::from_secs(1);
    let mut world = waiting("a", CiLimits { timeout, ..CiLimits::default() });
    assert_eq!(world.judge_at(Time(0)), None, "nobody has looked yet");
    assert_eq!(world.judge(Time(0)), Verdict::Undecided(Some(Time(1_000_001))));
    assert_eq!(world.judge_at(Time(100)), Some(Time(1_000_001)), "nothing has changed");
    world.step(Time(100), Event::ClusterChanged { cluster: "docker", is_usable: false });
    assert_eq!(world.judge_at(Time(100)), None, "what is wrong with a cluster counts");
    world.judge(Time(100));
    world.step(Time(110), Event::ClusterChanged { cluster: "docker", is_usable: false });
    assert_eq!(world.judge_at(Time(110)), Some(Time(120)), "it was just judged");
    assert_eq!(world.judge_at(Time(120)), None);
    let late = Time(1_000_001);
    assert_eq!(world.judge_at(late), None);
    let Verdict::Failure(error) = world.judge(late) else { panic!("time is up") };
    assert_eq!(error, "Timeout after 1s: 1 resources waiting (a:update tiltfile-reload)");
}

#[test]
fn what_is_deployed_needs_a_cluster_that_answers() {
    for (notation, expected) in [
        ("a", None),
        ("a/compose", Some("Failed to connect to Docker: refused")),
        ("a/k8s", Some("cluster connection failed")),
    ] {
        let mut world = waiting(notation, CiLimits::default());
        world.step(Time(0), Event::Docker(DockerEvent::Lost { error: "refused".to_owned() }));
        let problem = "gone".to_owned();
        world.step(Time(0), Event::Cluster(ClusterEvent::NotFound { problem, help: None }));
        let verdict = world.judge(Time(0));
        let error = match verdict {
            Verdict::Failure(error) => Some(error),
            Verdict::Success | Verdict::Undecided(_) => None,
        };
        assert_eq!(error.as_deref(), expected, "{notation}");
    }
}

//! Pods, logs, forwards, deletions and retries of what resources deploy to a cluster.

use expect_test::expect;

use super::{check, check_in};
use crate::{
    time::Time,
    world::{Settings, fixture::with_clusters},
};

#[test]
fn the_newest_pod_decides_when_dependents_start() {
    check(&expect![[r#"
        > load db/k8s web:db/k8s
          update db: Initial Build
          web waits: waiting-for-dep [db]
        > cluster one
          connect
        > connect
        > deploying db
        > applied db StatefulSet/db@s
          follow db: s
        > ok db
        > ended db
        > pods db db0:Pending^s
          db | monitor0 Info: 
        Tracking new pod rollout (db0):
          db | monitor0 Progress("Scheduled"):      ┊ Scheduled       - (…) Pending
          db | monitor0 Progress("Initialized"):      ┊ Initialized     - (…) Pending
          db | monitor0 Progress("Ready"):      ┊ Ready           - (…) Pending
          read log of db: db0-1
        > status
          db: update ok, runtime pending, up to date: yes, ready: RuntimePending
          web: update pending, runtime pending, up to date: UpdatePending, ready: UpdatePending
        > pods db db0~^s
        > pods db db0^s
          db | monitor0 Progress("Scheduled"):      ┊ Scheduled       - (…) Pending
          db | monitor0 Progress("Initialized"):      ┊ Initialized     - (…) Pending
          db | monitor0 Progress("Ready"):      ┊ Ready           - 
          update web: Initial Build, released by db
        > status
          db: update ok, runtime ok, up to date: yes, ready: yes
          web: update in_progress, runtime pending, up to date: Unknown, ready: Unknown
        > pod db
          db0; logs: db0-1; links []; Done { started: Time(0), at: Time(0), input_hash: "", has_complete_job: false }
    "#]]);
}

#[test]
fn a_pod_that_cannot_start_is_an_error_and_one_that_crashed_while_running_is_waited_for() {
    check(&expect![[r#"
        > load web/k8s
          update web: Initial Build
        > cluster one
          connect
        > connect
        > deploying web
        > applied web Deployment/web@d
          follow web: d
        > ok web
        > pods web p:Pending!ImagePullBackOff^d
          web | monitor:p Info: 
        Tracking new pod rollout (p):
          web | monitor:p Progress("Scheduled"):      ┊ Scheduled       - (…) Pending
          web | monitor:p Progress("Initialized"):      ┊ Initialized     - (…) Pending
          web | monitor:p Progress("Ready"):      ┊ Ready           - (…) Pending
        > pod web
          p, Pod p in error state due to container c: ImagePullBackOff; logs:; links []; Done { started: Time(0), at: Time(0), input_hash: "", has_complete_job: false }
        > status
          web: update ok, runtime error, up to date: yes, ready: RuntimeError
        > pods web p:Running!CrashLoopBackOff*1^d
          web | pod:p Warn: Detected container restart. Pod: p. Container: c.
        > status
          web: update ok, runtime pending, up to date: yes, ready: RuntimePending
        > pods web p*2^d
          web | pod:p Warn: Detected container restart. Pod: p. Container: c.
          web | monitor:p Progress("Scheduled"):      ┊ Scheduled       - (…) Pending
          web | monitor:p Progress("Initialized"):      ┊ Initialized     - (…) Pending
          web | monitor:p Progress("Ready"):      ┊ Ready           - 
          read log of web: p-3
        > status
          web: update ok, runtime ok, up to date: yes, ready: yes
        > pods web p:Failed^d
          web | monitor:p Progress("Scheduled"):      ┊ Scheduled       - (…) Pending
          web | monitor:p Progress("Initialized"):      ┊ Initialized     - (…) Pending
          web | monitor:p Progress("Ready"):      ┊ Ready           - (…) Pending
          read log of web: p-1
        > pod web
          p, Pod "p" failed; logs: p-1 p-3; links []; Done { started: Time(0), at: Time(0), input_hash: "", has_complete_job: false }
        > status
          web: update ok, runtime error, up to date: yes, ready: RuntimeError
    "#]]);
}

#[test]
fn an_eviction_is_logged_once() {
    check(&expect![[r#"
        > load web/k8s
          update web: Initial Build
        > cluster one
          connect
        > connect
        > deploying web
        > applied web Deployment/web@d
          follow web: d
        > ok web
        > pods web p^d
          web | monitor:p Info: 
        Tracking new pod rollout (p):
          web | monitor:p Progress("Scheduled"):      ┊ Scheduled       - (…) Pending
          web | monitor:p Progress("Initialized"):      ┊ Initialized     - (…) Pending
          web | monitor:p Progress("Ready"):      ┊ Ready           - 
          read log of web: p-1
        > pods web p&^d
          web | pod:p Warn: Pod p was evicted: make room (Because)
        > pods web p&-^d
    "#]]);
}

#[test]
fn a_pod_that_replaces_another_one_gets_forwards_and_a_log_reader() {
    check(&expect![[r#"
        > load web/k8s,forward
          update web: Initial Build
        > cluster one
          connect
        > connect
        > deploying web
        > applied web Deployment/web@d
          follow web: d
        > ok web
        > pods web p1=1^d
          web | monitor:p1 Info: 
        Tracking new pod rollout (p1):
          web | monitor:p1 Progress("Scheduled"):      ┊ Scheduled       - (…) Pending
          web | monitor:p1 Progress("Initialized"):      ┊ Initialized     - (…) Pending
          web | monitor:p1 Progress("Ready"):      ┊ Ready           - 
          read log of web: p1-1
          forward web to p1: 8000:80
        > forwarded web p1
        > pods web p1=1^d p2:Pending!ContainerCreating=2^d
          web | monitor:p2 Info: 
        Tracking new pod rollout (p2):
          web | monitor:p2 Progress("Scheduled"):      ┊ Scheduled       - (…) Pending
          web | monitor:p2 Progress("Initialized"):      ┊ Initialized     - (…) Pending
          web | monitor:p2 Progress("Ready"):      ┊ Ready           - (…) Pending
        > pods web p1-=1^d p2=2^d
          web | monitor:p2 Progress("Scheduled"):      ┊ Scheduled       - (…) Pending
          web | monitor:p2 Progress("Initialized"):      ┊ Initialized     - (…) Pending
          web | monitor:p2 Progress("Ready"):      ┊ Ready           - 
          read log of web: p2-1
          stop forward of web
          forward web to p2: 8000:80
        > not-forwarded web p1
        > not-forwarded web p2
          web | kubernetesapply Info: Reconnecting... Error port-forwarding web (8000 -> 80): lost
        > pods web p2=2^d
          stop log of web: p1-1
        > log-lost web p2-1
        > log-read web p1-1
        > pod web
          p2; logs: p2-1 (no route), forward to p2 broken; links []; Done { started: Time(0), at: Time(0), input_hash: "", has_complete_job: false }
        > pods web
          stop log of web: p2-1
          stop forward of web
        > pod web
          no pod; logs:; links []; Done { started: Time(0), at: Time(0), input_hash: "", has_complete_job: false }
    "#]]);
}

#[test]
fn a_job_is_done_when_its_pod_has_succeeded_or_it_had_completed_before() {
    check(&expect![[r#"
        > load job/job web:job/k8s
          update job: Initial Build
          web waits: waiting-for-dep [job]
        > cluster one
          connect
        > connect
        > deploying job
        > applied job Job/job@j
          follow job: j
        > ok job
        > pods job p^j
          job | monitor:p Info: 
        Tracking new pod rollout (p):
          job | monitor:p Progress("Scheduled"):      ┊ Scheduled       - (…) Pending
          job | monitor:p Progress("Initialized"):      ┊ Initialized     - (…) Pending
          job | monitor:p Progress("Ready"):      ┊ Ready           - 
          read log of job: p-1
        > status
          job: update ok, runtime pending, up to date: yes, ready: RuntimePending
          web: update pending, runtime pending, up to date: UpdatePending, ready: UpdatePending
        > pods job p:Succeeded^j
          job | monitor:p Progress("Scheduled"):      ┊ Scheduled       - (…) Pending
          job | monitor:p Progress("Initialized"):      ┊ Initialized     - (…) Pending
          job | monitor:p Progress("Ready"):      ┊ Ready           - (…) Pending
          update web: Initial Build, released by job
        > status
          job: update ok, runtime ok, up to date: yes, ready: yes
          web: update in_progress, runtime pending, up to date: Unknown, ready: Unknown
        > deploying web
        > applied web Job/old@o!
          follow web: o
        > ok web
        > ended web
        > status
          job: update ok, runtime ok, up to date: yes, ready: yes
          web: update ok, runtime ok, up to date: yes, ready: yes
    "#]]);
}

#[test]
fn pods_older_than_the_engine_are_only_named() {
    let settings = Settings { started: Time(10_500_000), ..Settings::default() };
    let transcript = expect![[r#"
        > load web/k8s
          update web: Initial Build
        > cluster one
          connect
        > connect
        > deploying web
        > applied web Deployment/web@d
          follow web: d
        > ok web
        > pods web old:Pending^d=9
          web | monitor:old Info: 
        Attaching to existing pod (old). Only new logs will be streamed.
          read log of web: old-1
        > pods web old^d=9
          web | monitor:old Progress("Scheduled"):      ┊ Scheduled       - (…) Pending
          web | monitor:old Progress("Initialized"):      ┊ Initialized     - (…) Pending
          web | monitor:old Progress("Ready"):      ┊ Ready           - 
        > pods web old^d=9 new^d=10
          web | monitor:new Info: 
        Tracking new pod rollout (new):
          web | monitor:new Progress("Scheduled"):      ┊ Scheduled       - (…) Pending
          web | monitor:new Progress("Initialized"):      ┊ Initialized     - (…) Pending
          web | monitor:new Progress("Ready"):      ┊ Ready           - 
          read log of web: new-1
    "#]];
    check_in(with_clusters(settings), &transcript);
}

#[test]
fn pods_of_another_apply_do_not_count() {
    check(&expect![[r#"
        > load web/k8s
          update web: Initial Build
        > cluster one
          connect
        > connect
        > deploying web
        > applied web Deployment/web@d
          follow web: d
        > ok web
        > pods web old^gone
          read log of web: old-1
        > pod web
          no pod; logs: old-1; links []; Done { started: Time(0), at: Time(0), input_hash: "", has_complete_job: false }
        > status
          web: update ok, runtime pending, up to date: yes, ready: RuntimePending
    "#]]);
}

#[test]
fn what_happens_in_the_cluster_is_logged_unless_the_resource_is_off() {
    check(&expect![[r#"
        > load web/k8s
          update web: Initial Build
        > cluster one
          connect
        > connect
        > deploying web
        > applied web Service/web@s
          follow web: s
        > noticed web [event: pod p] Back-off
          web | events Info: [event: pod p] Back-off
        > services web http://1.2.3.4/
        > pod web
          no pod; logs:; links ["http://1.2.3.4/"]; Done { started: Time(0), at: Time(0), input_hash: "", has_complete_job: false }
        > warned no permission to watch
           |  Warn: no permission to watch
        > off web
          web | disabletoggle-web Info: Resource "web" disabled. To enable/disable it, use the Tilt Web UI.
          cancel web
          delete Service/web, deleting disabled Kubernetes objects of web
          unfollow web
        > noticed web [event: pod p] Back-off
        > pods web p^s
        > pod web
          no pod; logs:; links []; None
    "#]]);
}

#[test]
fn objects_that_are_not_applied_any_more_are_deleted_unless_others_have_them() {
    check(&expect![[r#"
        > load a/k8s b/k8s
          update a: Initial Build
          update b: Initial Build
        > cluster one
          connect
        > connect
        > deploying a
        > applied a ConfigMap/x@1 ConfigMap/y@2 ConfigMap/kept@3+
          follow a: 1 2 3
        > ok a
        > deploying b
        > applied b ConfigMap/y@2
          follow b: 2
        > ok b
        > trigger a
          update a: CLI Trigger, full rebuild
        > deploying a
        > applied a ConfigMap/z@4
          delete ConfigMap/x, garbage collecting removed Kubernetes objects of a
          follow a: 4
    "#]]);
}

#[test]
fn what_a_resource_deployed_goes_when_it_is_switched_off() {
    check(&expect![[r#"
        > load web/k8s,forward
          update web: Initial Build
        > cluster one
          connect
        > connect
        > deploying web
        > applied web Deployment/web@d
          follow web: d
        > ok web
        > pods web p^d
          web | monitor:p Info: 
        Tracking new pod rollout (p):
          web | monitor:p Progress("Scheduled"):      ┊ Scheduled       - (…) Pending
          web | monitor:p Progress("Initialized"):      ┊ Initialized     - (…) Pending
          web | monitor:p Progress("Ready"):      ┊ Ready           - 
          read log of web: p-1
          forward web to p: 8000:80
        > off web
          web | disabletoggle-web Info: Resource "web" disabled. To enable/disable it, use the Tilt Web UI.
          delete Deployment/web, deleting disabled Kubernetes objects of web
          unfollow web
          stop log of web: p-1
          stop forward of web
        > status
          web: update none, runtime none, up to date: Disabled, ready: Disabled
        > pod web
          no pod; logs:; links []; None
        > on web
          web | disabletoggle-web Info: Resource "web" enabled. To enable/disable it, use the Tilt Web UI.
          update web: Initial Build
    "#]]);
}

#[test]
fn an_update_that_is_cut_short_may_have_deployed_everything() {
    check(&expect![[r#"
        > load a/k8s,yaml b/k8s
          update a: Initial Build
          update b: Initial Build
        > cluster one
          connect
        > connect
        > deploying b
        > applied b ConfigMap/x@1
          follow b: 1
        > deploying a
        > off a
          a | disabletoggle-a Info: Resource "a" disabled. To enable/disable it, use the Tilt Web UI.
          cancel a
          delete what of "YAML of a" is not in ["ConfigMap/x in ns"], deleting disabled Kubernetes objects of a
          unfollow a
    "#]]);
}

#[test]
fn a_removed_resource_leaves_what_others_have() {
    check(&expect![[r#"
        > load a/k8s b/k8s c/k8s
          update a: Initial Build
          update b: Initial Build
          update c: Initial Build
        > cluster one
          connect
        > connect
        > deploying a
        > applied a ConfigMap/x@1 ConfigMap/y@2
          follow a: 1 2
        > deploying b
        > applied b ConfigMap/x@1
          follow b: 1
        > deploying c
        > applied c ConfigMap/y@2
          follow c: 2
        > edit Tiltfile
          load (Tiltfile): changed Tiltfile
        > load c/k8s
          cancel a
          unfollow a, gone
          a is gone
          cancel b
          delete ConfigMap/x, garbage collecting Kubernetes objects of b
          unfollow b, gone
          b is gone
    "#]]);
}

#[test]
fn what_a_command_deployed_is_deleted_by_a_command() {
    check(&expect![[r#"
        > load web/k8s,delete-cmd
          update web: Initial Build
        > cluster one
          connect
        > connect
        > deploying web
        > by-command web ConfigMap/x@1
          follow web: 1
        > ok web
        > trigger web
          update web: CLI Trigger, full rebuild
        > deploying web
        > by-command web ConfigMap/y@2
          follow web: 2
        > ok web
        > off web
          web | disabletoggle-web Info: Resource "web" disabled. To enable/disable it, use the Tilt Web UI.
          delete by remove web, deleting disabled Kubernetes objects of web
          unfollow web
    "#]]);
}

#[test]
fn an_apply_that_failed_says_so_and_leaves_what_was_deployed() {
    check(&expect![[r#"
        > load web/k8s
          update web: Initial Build
        > cluster one
          connect
        > connect
        > deploying web
        > not-applied web
        > fail web
          web | build:1 Error: Build Failed: boom
        > ended web
        > pod web
          no pod; logs:; links []; Failed { started: Time(0), at: Time(0), error: "refused" }
        > trigger web
          update web: CLI Trigger, full rebuild
        > deploying web
        > force-deleted web
        > pod web
          no pod; logs:; links []; None
    "#]]);
}

#[test]
fn an_update_runs_again_when_its_obstacle_is_gone() {
    check(&expect![[r#"
        > load web/k8s
          update web: Initial Build
        > cluster one
          connect
        > connect
        > deploying web
        > fail web
          web | build:1 Error: Build Failed: boom
        > ended web refused 403
          try obstacle of web after 1000 ms
        > tried web 403
          try obstacle of web after 1500 ms
        > tried web failed
          try obstacle of web after 2250 ms
        > tried web 409
          update web: Retry
        > fail web
          web | build:2 Error: Build Failed: boom
        > ended web refused 403
          try obstacle of web after 2000 ms
        > tried web accepted
          update web: Retry
        > ok web
        > ended web
        > trigger web
          update web: CLI Trigger, full rebuild
        > fail web
          web | build:4 Error: Build Failed: boom
        > ended web refused 403
          try obstacle of web after 1000 ms
        > trigger web
          stop trying for web
          update web: CLI Trigger, full rebuild
        > tried web accepted
    "#]]);
}

#[test]
fn a_namespace_that_is_missing_is_made_again_by_its_owner() {
    check(&expect![[r#"
        > load ns/k8s web/k8s
          update ns: Initial Build
          update web: Initial Build
        > cluster one
          connect
        > connect
        > deploying ns
        > applied ns Namespace/n@1
          follow ns: 1
        > ok ns
        > deploying web
        > fail web
          web | build:2 Error: Build Failed: boom
        > ended web missing n
          try obstacle of web after 1000 ms
          update ns: Retry
    "#]]);
}

#[test]
fn silence_of_a_cluster_that_is_lost_waits_for_the_cluster() {
    check(&expect![[r#"
        > load web/k8s
          update web: Initial Build
        > cluster one
          connect
        > connect
        > deploying web
        > unwell
          (Tiltfile) | cluster Error: Cluster status error: it is ill
        > fail web
          web | build:1 Error: Build Failed: boom
          web waits: waiting-for-cluster [default]
        > ended web silence
        > well
          (Tiltfile) | cluster Info: The Kubernetes cluster answers again
          update web: Retry After Outage
        > fail web
          web | build:2 Error: Build Failed: boom
        > ended web silence
          try obstacle of web after 1000 ms
        > off web
          web | disabletoggle-web Info: Resource "web" disabled. To enable/disable it, use the Tilt Web UI.
          stop trying for web
          delete what of "" is not in [], deleting disabled Kubernetes objects of web
          unfollow web
        > tried web accepted
    "#]]);
}

#[test]
fn a_cluster_that_is_lost_is_waited_for_and_one_that_was_replaced_is_taken_by_the_next_load() {
    check(&expect![[r#"
        > load web/k8s
          update web: Initial Build
        > no-cluster
          (Tiltfile) | cluster Error: Cluster status error: Tilt encountered an error connecting to your Kubernetes cluster:
        	no kubeconfig
        > no-cluster
        > cluster one
          connect
        > unreachable
          (Tiltfile) | cluster Error: Cluster status error: Tilt encountered an error connecting to your Kubernetes cluster:
        	no route
        > connect
        > cluster two
        > deploying web
        > applied web Deployment/web@d
          follow web: d
        > ok web
        > well
        > unwell
          (Tiltfile) | cluster Error: Cluster status error: it is ill
        > unwell
        > cluster one
        > well
          (Tiltfile) | cluster Info: The Kubernetes cluster answers again
        > replaced
          (Tiltfile) | cluster Error: Cluster status error: another
        > cluster one
          connect again
        > pods web p^d
          web | monitor:p Info: 
        Tracking new pod rollout (p):
          web | monitor:p Progress("Scheduled"):      ┊ Scheduled       - (…) Pending
          web | monitor:p Progress("Initialized"):      ┊ Initialized     - (…) Pending
          web | monitor:p Progress("Ready"):      ┊ Ready           - 
        > connect
          follow web: d
        > pods web p^d
          read log of web: p-1
    "#]]);
}

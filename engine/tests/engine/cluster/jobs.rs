//! Jobs, and how `ci` ends.

use crate::cluster::ground::{Project, deployment, until};

const TILTFILE: &str = "k8s_yaml('objects.yaml')\n";

fn job(command: &str) -> String {
    format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: task, namespace: NAMESPACE}}\n\
         spec:\n  backoffLimit: 0\n  template:\n    spec:\n      restartPolicy: Never\n      containers:\n\
         \x20     - {{name: main, image: busybox, imagePullPolicy: IfNotPresent, command: [sh, -c, {command:?}]}}\n---\n"
    )
}

#[test]
fn ci_ends_well_when_jobs_are_done_and_servers_ready() {
    let yaml = job("echo done with it") + &deployment("web", "exec sleep 1000");
    let tiltfile = format!("{TILTFILE}k8s_resource('web', resource_deps=['task'])\n");
    let Some(project) = Project::new(&tiltfile, &yaml) else { return };
    let ci = project.engine(None, &["ci", "--port", "0"]);
    let output = String::from_utf8_lossy(&ci.stdout);
    assert!(ci.status.success(), "{output}{ci:?}");
    assert!(output.contains("task │ done with it"), "{output}");
    assert!(output.contains("SUCCESS. All workloads are healthy."), "{output}");
    let at = |text: &str| output.find(text).unwrap_or_else(|| panic!("no {text:?} in {output}"));
    assert!(at("done with it") < at("web │ Initial Build"), "{output}");

    let again = project.engine(None, &["ci", "--port", "0"]);
    assert!(again.status.success(), "a job that is done is done: {again:?}");
}

#[test]
fn ci_fails_with_a_job_that_fails() {
    let Some(project) = Project::new(TILTFILE, &job("echo oh no; exit 1")) else { return };
    let ci = project.engine(None, &["ci", "--port", "0"]);
    let error = String::from_utf8_lossy(&ci.stderr);
    assert!(!ci.status.success(), "{ci:?}");
    // Whether the container or the pod is seen to have failed first is up to the cluster.
    assert!(error.contains("Error: Pod ") && error.contains("task-"), "{error}");
}

#[test]
fn dependents_wait_until_a_job_has_succeeded() {
    let yaml = job("sleep 1; echo ready now") + &deployment("web", "exec sleep 1000");
    let tiltfile = format!("{TILTFILE}k8s_resource('web', resource_deps=['task'])\n");
    let Some(mut project) = Project::new(&tiltfile, &yaml) else { return };
    let mut instance = project.up();
    until(&mut instance, "web", "ok", "ok");
    until(&mut instance, "task", "ok", "ok");
}

#[test]
fn a_job_that_is_done_is_not_run_again_although_its_pod_is_gone() {
    let Some(project) = Project::new(TILTFILE, &job("echo done with it")) else { return };
    let ci = project.engine(None, &["ci", "--port", "0"]);
    assert!(ci.status.success(), "{ci:?}");
    project.kubectl(&["delete", "pod", "--all"]);
    let again = project.engine(None, &["ci", "--port", "0"]);
    assert!(again.status.success(), "{again:?}");
    assert_eq!(project.names("pods"), [""; 0]);
}

#[test]
fn a_job_that_the_cluster_removes_when_it_is_done_stays_done() {
    let limit = "backoffLimit: 0";
    let yaml =
        job("echo done with it").replace(limit, &format!("{limit}\n  ttlSecondsAfterFinished: 1"));
    let tiltfile = format!("{TILTFILE}local_resource('after', 'true', resource_deps=['task'])\n");
    let Some(mut project) = Project::new(&tiltfile, &yaml) else { return };
    let mut instance = project.up();
    until(&mut instance, "after", "ok", "not_applicable");
    instance.until("the job and its pod are gone", |_| {
        project.names("jobs").is_empty() && project.names("pods").is_empty()
    });
    // Whoever sees a later pod has seen that this one is gone.
    let yaml = yaml + &deployment("web", "exec sleep 1000");
    instance.write("objects.yaml", &project.text(&yaml));
    until(&mut instance, "web", "ok", "ok");
    until(&mut instance, "task", "ok", "ok");
    let log = instance.log();
    assert_eq!(log.matches("task │ done with it").count(), 1, "{log}");
}

//! Jobs, and how `ci` ends.

use crate::ground::{Project, deployment, until};

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

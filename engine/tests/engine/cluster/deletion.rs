//! What is deleted from the cluster: what a Tiltfile does not have any more, what is switched off, and `down`.

use crate::cluster::ground::{Project, config_map, deployment, kubectl, until};

const TILTFILE: &str = "k8s_yaml('objects.yaml')\n";
const SLEEP: &str = "exec sleep 1000";

#[test]
fn objects_that_left_the_yaml_are_deleted_but_not_by_a_tiltfile_that_fails() {
    let yaml = config_map("a", "one") + &config_map("b", "one");
    let Some(mut project) = Project::new(TILTFILE, &yaml) else { return };
    let mut instance = project.up();
    until(&mut instance, "uncategorized", "ok", "ok");
    instance.write("Tiltfile", "fail('broken')\n");
    until(&mut instance, "uncategorized", "ok", "ok");
    instance.until("it has failed", |it| it.log().contains("broken"));
    assert_eq!(project.field("configmap/a", ".data.key"), "one");

    instance.write("objects.yaml", &project.text(&config_map("a", "one")));
    instance.write("Tiltfile", TILTFILE);
    instance.until("it is gone", |_| !project.names("configmaps").contains(&"b".to_owned()));
    assert_eq!(project.field("configmap/a", ".data.key"), "one");
    let log = instance.log();
    assert!(log.contains("Beginning garbage collecting removed Kubernetes objects"), "{log}");
    assert!(log.contains("→ ConfigMap/b"), "{log}");
}

#[test]
fn a_resource_that_is_switched_off_is_deleted_and_comes_back() {
    let yaml = deployment("web", SLEEP) + &deployment("other", SLEEP);
    let Some(mut project) = Project::new(TILTFILE, &yaml) else { return };
    let mut instance = project.up();
    until(&mut instance, "web", "ok", "ok");
    until(&mut instance, "other", "ok", "ok");
    instance.client(&["disable", "web"]);
    instance.until("it is gone", |_| project.names("deployments") == ["other"]);
    until(&mut instance, "web", "none", "none");
    instance.client(&["enable", "web"]);
    until(&mut instance, "web", "ok", "ok");
    assert_eq!(project.names("deployments"), ["other", "web"]);

    instance.write("objects.yaml", &project.text(&deployment("other", SLEEP)));
    instance.until("it is gone for good", |_| project.names("deployments") == ["other"]);
}

#[test]
fn a_trigger_deletes_and_makes_everything_anew() {
    let Some(mut project) = Project::new(TILTFILE, &deployment("web", SLEEP)) else { return };
    let mut instance = project.up();
    until(&mut instance, "web", "ok", "ok");
    let uid = || project.field("deployment/web", ".metadata.uid");
    let before = uid();
    instance.trigger("web");
    instance.until("there is another one", |_| !uid().is_empty() && uid() != before);
    until(&mut instance, "web", "ok", "ok");
    let log = instance.log();
    for line in ["STEP 1/2 — Force update", "Beginning force update", "STEP 2/2 — Deploying"] {
        assert!(log.contains(line), "no {line:?} in {log}");
    }
}

#[test]
fn down_deletes_what_was_deployed_except_namespaces_and_what_asks_to_stay() {
    let kept = config_map("kept", "one").replace(
        "namespace: NAMESPACE}",
        "namespace: NAMESPACE, annotations: {tilt.dev/down-policy: keep}}",
    );
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: NAMESPACE-more}\n---\n";
    let yaml = deployment("web", SLEEP) + &kept + &config_map("gone", "one") + namespace;
    let Some(project) = Project::new(TILTFILE, &yaml) else { return };
    let ci = project.engine(None, &["ci", "--port", "0"]);
    assert!(ci.status.success(), "{ci:?}");
    let down = project.engine(None, &["down"]);
    let output = String::from_utf8_lossy(&down.stdout);
    assert!(down.status.success(), "{down:?}");
    assert!(output.contains(&project.text("Not deleting namespaces: NAMESPACE-more")), "{output}");
    assert!(output.contains("Deleting kubernetes objects:\n"), "{output}");
    assert!(output.contains("→ Deployment/web\n"), "{output}");
    assert!(project.names("configmaps").contains(&"kept".to_owned()));
    assert!(!project.names("configmaps").contains(&"gone".to_owned()));

    let down = project.engine(None, &["down", "--delete-namespaces"]);
    assert!(down.status.success(), "{down:?}");
    let more = project.text("namespace/NAMESPACE-more");
    let phase = kubectl(&["get", &more, "--output", "jsonpath={.status.phase}"]);
    assert!(phase != "Active", "{phase}");
}

#[test]
fn commands_deploy_and_delete_instead_of_us() {
    let tiltfile = r"
k8s_custom_deploy(
    'custom',
    apply_cmd='kubectl apply -f objects.yaml -o yaml && echo applied >&2',
    delete_cmd='kubectl delete -f objects.yaml --wait=false',
    deps=['objects.yaml'],
)
";
    let Some(mut project) = Project::new(tiltfile, &deployment("web", SLEEP)) else { return };
    let mut instance = project.up();
    until(&mut instance, "custom", "ok", "ok");
    let log = instance.log();
    for line in
        ["custom │      Running cmd: kubectl apply", "custom │      applied", "→ web:deployment"]
    {
        assert!(log.contains(line), "no {line:?} in {log}");
    }
    instance.write("objects.yaml", &project.text(&deployment("web", "exec sleep 2000")));
    instance.until("it is applied again", |_| {
        project
            .field("deployment/web", ".spec.template.spec.containers[0].command[2]")
            .contains("2000")
    });
    until(&mut instance, "custom", "ok", "ok");
    instance.client(&["disable", "custom"]);
    instance.until("it is gone", |_| project.names("deployments").is_empty());
}

/// A kind of its own for each test, and one object of it.
const MACHINE: &str = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n\
    metadata: {name: machines.NAMESPACE.example.com}\nspec:\n  group: NAMESPACE.example.com\n  scope: Namespaced\n\
    \x20 names: {plural: machines, singular: machine, kind: Machine}\n  versions:\n  - name: v1\n    served: true\n\
    \x20   storage: true\n    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}\n\
    ---\napiVersion: NAMESPACE.example.com/v1\nkind: Machine\nmetadata: {name: app, namespace: NAMESPACE}\n\
    spec: {image: app, other: app}\n";

#[test]
fn a_kind_and_an_object_of_it_are_deployed_together_and_down_deletes_what_is_there_of_them() {
    let tiltfile = "k8s_yaml('objects.yaml')\ndocker_build('app', 'app')\n\
                    k8s_kind('Machine', image_json_path='{.spec.image}')\n";
    let Some(mut project) = Project::new(tiltfile, MACHINE) else { return };
    project.write("app/Dockerfile", "FROM busybox\nLABEL of=NAMESPACE\n");
    let definition = project.text("crd/machines.NAMESPACE.example.com");
    let machine = project.text("machines.NAMESPACE.example.com/app");
    let down = project.engine(None, &["down"]);
    assert!(down.status.success(), "where there is nothing: {down:?}");

    let mut instance = project.up();
    until(&mut instance, "app", "ok", "pending");
    let image = project.field(&machine, ".spec.image");
    assert!(image.contains("app:tilt-"), "it is the image that was built: {image}");
    assert_eq!(project.field(&machine, ".spec.other"), "app");
    instance.stop();
    project.kubectl(&["delete", &machine]);
    let down = project.engine(Some(&instance), &["down"]);
    assert!(down.status.success(), "where there is no object: {down:?}");
    kubectl(&["wait", "--for=delete", &definition, "--timeout=60s"]);
    assert_eq!(kubectl(&["get", &definition, "--ignore-not-found", "--output=name"]), "");
}

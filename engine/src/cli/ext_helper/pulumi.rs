//! Runs `pulumi up` for a `pulumi_resource`, and prints the Kubernetes objects of the stack.

use std::env;

use engine_cli::Printer;
use serde_json::Value;

use super::{
    HelperError,
    process::{self, words},
};

/// The kinds that are printed, by their names in Pulumi's charts.
const CHART_KINDS: [(&str, &str); 6] = [
    ("ConfigMap/v1", "configmaps"),
    ("Deployment.apps/apps/v1", "deployments"),
    ("Secret/v1", "secrets"),
    ("Service/v1", "services"),
    ("ServiceAccount/v1", "serviceaccounts"),
    ("StatefulSets.apps/apps/v1", "statefulsets"),
];

/// An object of the cluster.
#[derive(Debug, PartialEq, Eq)]
struct Named {
    namespace: String,
    kind: String,
    name: String,
}

/// Runs `pulumi up` with these configuration keys for the images.
pub(super) fn apply(keys: &[String], printer: Printer) -> Result<(), HelperError> {
    let stack = env::var("STACK").ok().filter(|it| !it.is_empty());
    let stack: Vec<String> = stack.into_iter().flat_map(|it| ["--stack".to_owned(), it]).collect();
    let mut up = words(["pulumi", "up", "--refresh", "-y"]);
    for (i, key) in keys.iter().enumerate() {
        let name = format!("TILT_IMAGE_{i}");
        let image = env::var(&name).map_err(|_| HelperError::NotSet(name))?;
        up.extend(["--config".to_owned(), format!("{key}={image}")]);
    }
    process::run(&[up, stack.clone()].concat(), printer)?;
    let export = [words(["pulumi", "stack", "export"]), stack].concat();
    let state = process::output(&export, None)?;
    let state: Value = serde_json::from_str(&state)?;
    for object in objects(&state) {
        let mut get = words(["kubectl", "get", &object.kind, &object.name, "-o=yaml"]);
        if !object.namespace.is_empty() {
            get.extend(["-n".to_owned(), object.namespace]);
        }
        printer.out(&format!("{}\n---\n", process::output(&get, None)?));
    }
    Ok(())
}

/// The objects that a stack has made.
fn objects(state: &Value) -> Vec<Named> {
    let resources = state["deployment"]["resources"].as_array();
    let mut found = Vec::new();
    for resource in resources.into_iter().flatten() {
        let outputs = &resource["outputs"];
        match resource["type"].as_str().unwrap_or_default() {
            "kubernetes:helm.sh/v3:Release" => found.extend(of_chart(outputs)),
            other if other.starts_with("kubernetes:helm.sh/") => {}
            other if other.starts_with("kubernetes:") => found.extend(of_object(outputs)),
            _ => {}
        }
    }
    found
}

fn of_object(outputs: &Value) -> Option<Named> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (kind, metadata) = (text(&outputs["kind"]).to_lowercase(), &outputs["metadata"]);
    let (name, namespace) = (text(&metadata["name"]), text(&metadata["namespace"]));
    (!kind.is_empty() && !name.is_empty()).then_some(Named { namespace, kind, name })
}

fn of_chart(outputs: &Value) -> Vec<Named> {
    let default = outputs["namespace"].as_str().unwrap_or_default();
    let mut found = Vec::new();
    for (kind, names) in outputs["resourceNames"].as_object().into_iter().flatten() {
        let Some((_, kind)) = CHART_KINDS.iter().find(|(it, _)| it == kind) else { continue };
        for name in names.as_array().into_iter().flatten().filter_map(Value::as_str) {
            let (namespace, name) = name.split_once('/').unwrap_or((default, name));
            found.push(Named {
                namespace: namespace.to_owned(),
                kind: (*kind).to_owned(),
                name: name.to_owned(),
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_of_a_stack_and_of_its_charts_are_found() {
        let state = json!({"deployment": {"resources": [
            {"type": "pulumi:pulumi:Stack"},
            {"type": "kubernetes:apps/v1:Deployment",
             "outputs": {"kind": "Deployment", "metadata": {"name": "a", "namespace": "n"}}},
            {"type": "kubernetes:helm.sh/v3:Release", "outputs": {
                "namespace": "d",
                "resourceNames": {"Service/v1": ["x/s", "t"], "CronJob.batch/batch/v1": ["c"]}}},
        ]}});
        let named = |namespace: &str, kind: &str, name: &str| Named {
            namespace: namespace.to_owned(),
            kind: kind.to_owned(),
            name: name.to_owned(),
        };
        assert_eq!(
            objects(&state),
            [
                named("n", "deployment", "a"),
                named("x", "services", "s"),
                named("d", "services", "t")
            ]
        );
    }
}

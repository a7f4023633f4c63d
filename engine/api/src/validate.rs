//! Validates objects that clients write, in the words of Tilt.

use std::collections::BTreeSet;

use engine_formats::{golang::label, v1alpha1};
use serde_json::{Map, Value, json};

use super::{Kind, error::FieldError};

type Fields = Map<String, Value>;

/// How much annotations may hold together.
const MAX_ANNOTATIONS: usize = 256 << 10;

/// What is wrong with a spec.
pub(super) fn spec(kind: Kind, spec: &Fields) -> Vec<FieldError> {
    let printed =
        |problems: Vec<String>| problems.iter().map(|it| FieldError::printed(it)).collect();
    match kind {
        Kind::Cluster => cluster(spec),
        Kind::ExtensionRepo => printed(v1alpha1::extension_repo(spec)),
        Kind::FileWatch => printed(v1alpha1::file_watch(spec)),
        Kind::KubernetesApply => printed(v1alpha1::kubernetes_apply(spec)),
        Kind::KubernetesDiscovery => printed(v1alpha1::kubernetes_discovery(spec)),
        Kind::LiveUpdate => live_update(spec),
        Kind::PortForward => port_forward(spec),
        Kind::Session => session(spec),
        Kind::ToggleButton => toggle_button(spec),
        Kind::UiButton => printed(v1alpha1::ui_button(spec)),
        Kind::Cmd
        | Kind::CmdImage
        | Kind::ConfigMap
        | Kind::DockerComposeLogStream
        | Kind::DockerComposeService
        | Kind::DockerImage
        | Kind::Extension
        | Kind::ImageMap
        | Kind::PodLogStream
        | Kind::Tiltfile
        | Kind::UiResource
        | Kind::UiSession => Vec::new(),
    }
}

/// Fields that have a value although nobody gave one.
pub(super) fn fill_in(kind: Kind, spec: &mut Fields) {
    let has_cluster =
        [Kind::KubernetesApply, Kind::KubernetesDiscovery, Kind::PodLogStream, Kind::PortForward];
    if has_cluster.contains(&kind) && text(spec, "cluster").is_empty() {
        spec.insert("cluster".to_owned(), json!("default"));
    }
}

/// What is wrong with a name that is to be part of a path.
pub(super) fn name(name: &str) -> Vec<FieldError> {
    invalid("metadata.name", name, &label::path_segment_errors(name))
}

/// What is wrong with labels and annotations.
pub(super) fn metadata(metadata: &Fields) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (key, value) in map(metadata, "labels") {
        errors.extend(qualified_name("metadata.labels", key));
        errors.extend(label_value("metadata.labels", value.as_str().unwrap_or_default()));
    }
    let mut size = 0;
    for (key, value) in map(metadata, "annotations") {
        errors.extend(qualified_name("metadata.annotations", &key.to_lowercase()));
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > MAX_ANNOTATIONS {
        let message = format!("Too long: may not be more than {MAX_ANNOTATIONS} bytes");
        errors.push(FieldError { field: "metadata.annotations".to_owned(), message });
    }
    errors.extend(owners(metadata));
    for finalizer in list(metadata, "finalizers") {
        let name = finalizer.as_str().unwrap_or_default();
        errors.extend(qualified_name("metadata.finalizers", name));
    }
    errors
}

/// What is wrong with the objects that an object belongs to.
fn owners(metadata: &Fields) -> Vec<FieldError> {
    let field = "metadata.ownerReferences";
    let owners = list(metadata, "ownerReferences");
    let mut errors = Vec::new();
    for owner in owners {
        for (key, detail) in [
            ("apiVersion", "version must not be empty"),
            ("kind", "must not be empty"),
            ("name", "must not be empty"),
            ("uid", "must not be empty"),
        ] {
            if owner[key] == "" {
                errors.push(FieldError::invalid(&format!("{field}.{key}"), &json!(""), detail));
            }
        }
    }
    let controllers = owners.iter().filter(|it| it["controller"] == true);
    let controllers: Vec<String> = controllers
        .map(|it| {
            let text = |key: &str| it[key].as_str().unwrap_or_default().to_owned();
            format!("{}/{}", text("kind"), text("name"))
        })
        .collect();
    if let [first, second, ..] = controllers.as_slice() {
        let detail = format!(
            "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {second}"
        );
        errors.push(FieldError::invalid(field, &json!(owners), &detail));
    }
    errors
}

/// What is wrong with the value of a label.
pub(super) fn label_value(field: &str, value: &str) -> Vec<FieldError> {
    invalid(field, value, &label::label_value_errors(value))
}

/// What is wrong with the finalizers of an object that is being deleted: none may be added.
pub(super) fn new_finalizers(old: &Value, metadata: &Fields) -> Option<FieldError> {
    let known = old.as_array().map_or(&[][..], Vec::as_slice);
    let new: Vec<String> = list(metadata, "finalizers")
        .iter()
        .filter(|it| !known.contains(it))
        .map(Value::to_string)
        .collect();
    let message = format!(
        "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
        new.join(", ")
    );
    (!new.is_empty()).then(|| FieldError { field: "metadata.finalizers".to_owned(), message })
}

/// A name with an optional prefix, as labels have.
pub(super) fn qualified_name(field: &str, key: &str) -> Vec<FieldError> {
    invalid(field, key, &label::qualified_name_errors(key))
}

fn invalid(field: &str, value: &str, problems: &[String]) -> Vec<FieldError> {
    problems.iter().map(|it| FieldError::invalid(field, &json!(value), it)).collect()
}

fn port_forward(spec: &Fields) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if text(spec, "podName").is_empty() {
        errors.push(FieldError::required("spec.podName", "PodName cannot be empty"));
    }
    let forwards = list(spec, "forwards");
    if forwards.is_empty() {
        errors.push(FieldError::required("spec.forwards", "At least one Forward is required"));
    }
    let mut seen = BTreeSet::new();
    for (index, forward) in forwards.iter().enumerate() {
        let local = forward["localPort"].as_i64().unwrap_or(0);
        let container = forward["containerPort"].as_i64().unwrap_or(0);
        let field = |name: &str| format!("spec.forwards[{index}].{name}");
        if local != 0 && !seen.insert(local) {
            let detail = "\"Cannot bind more than one forward to same LocalPort\"";
            errors.push(FieldError {
                field: field("localPort"),
                message: format!("Duplicate value: {detail}"),
            });
        }
        if !(0..=65535).contains(&local) {
            let detail = "LocalPort must be in the range [0, 65535]";
            errors.push(FieldError::invalid(&field("localPort"), &json!(local), detail));
        }
        if !(1..=65535).contains(&container) {
            let detail = "ContainerPort must be in the range (0, 65535]";
            errors.push(FieldError::invalid(&field("containerPort"), &json!(container), detail));
        }
    }
    errors
}

fn session(spec: &Fields) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if text(spec, "tiltfilePath").is_empty() {
        errors.push(FieldError::required("tiltfilePath", "cannot be empty"));
    }
    let condition = text(spec, "exitCondition");
    if !["manual", "ci"].contains(&condition) {
        errors.push(FieldError::invalid(
            "exitCondition",
            &json!(condition),
            "valid values: manual, ci",
        ));
    }
    errors
}

fn toggle_button(spec: &Fields) -> Vec<FieldError> {
    let source = &spec["stateSource"];
    let Some(map) = source.get("configMap") else {
        let detail = "must specify exactly one kind of StateSource";
        return vec![FieldError::invalid("Spec.StateSource", source, detail)];
    };
    if map.get("onValue") == map.get("offValue") {
        let detail = "OnValue and OffValue must differ";
        return vec![FieldError::invalid("Spec.StateSource.ConfigMap", map, detail)];
    }
    Vec::new()
}

fn live_update(spec: &Fields) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let syncs = list(spec, "syncs");
    if syncs.is_empty() && list(spec, "execs").is_empty() {
        let detail = "must contain at least 1 sync or 1 exec to run on live update";
        errors.push(FieldError::invalid("spec.syncs", &Value::Null, detail));
    }
    for (index, sync) in syncs.iter().enumerate() {
        let target = &sync["containerPath"];
        if !target.as_str().is_some_and(|it| it.starts_with('/')) {
            let field = format!("spec.syncs[{index}]");
            errors.push(FieldError::invalid(&field, target, "sync destination is not absolute"));
        }
    }
    let selector = &spec["selector"];
    if let Some(kubernetes) = selector.get("kubernetes") {
        errors.extend(kubernetes_selector(kubernetes));
    } else if selector.get("dockerCompose").is_some_and(|it| it["service"] == "") {
        let detail = "DockerCompose service name is required";
        errors.push(FieldError::required("spec.selector.dockerCompose.service", detail));
    }
    errors
}

fn kubernetes_selector(selector: &Value) -> Vec<FieldError> {
    let path = "spec.selector.kubernetes";
    let mut errors = Vec::new();
    if selector["discoveryName"] == "" {
        let detail = "KubernetesDiscovery name is required";
        errors.push(FieldError::required(&format!("{path}.discoveryName"), detail));
    }
    let ways =
        [("image", "image"), ("containerName", "containerName"), ("imageMapName", "imageMap")];
    let given: Vec<&str> = ways
        .iter()
        .filter(|(field, _)| selector.get(field).is_some())
        .map(|(_, shown)| *shown)
        .collect();
    match given.as_slice() {
        [] => errors.push(FieldError::required(
            path,
            "exactly one of image, imageMap, or containerName is required",
        )),
        [_] => {}
        many => errors.extend(many.iter().map(|field| {
            FieldError {
                field: format!("{path}.{field}"),
                message:
                    "Forbidden: cannot specify more than one of image, imageMap, or containerName"
                        .to_owned(),
            }
        })),
    }
    errors
}

fn cluster(spec: &Fields) -> Vec<FieldError> {
    match spec.get("defaultRegistry") {
        Some(registry) if registry["host"] == "" => {
            vec![FieldError::required(".spec.defaultRegistry.host", "")]
        }
        _ => Vec::new(),
    }
}

fn text<'a>(fields: &'a Fields, name: &str) -> &'a str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(fields: &'a Fields, name: &str) -> &'a [Value] {
    fields.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn map<'a>(fields: &'a Fields, name: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    fields.get(name).and_then(Value::as_object).into_iter().flatten()
}

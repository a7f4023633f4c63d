//! Compares with recordings of the reference: what is applied for given objects, images and locators.

use engine_model::{
    BuildDetails, ComposeBuild, ImageLocator, ImageObject, ImageTarget, LiveUpdateSpec,
    ObjectSelectorSpec, OverrideArgs, OverrideCommand,
};
use serde_json::{Value, json};

use super::super::to_yaml;
use super::{InjectedImage, Injection, inject, pod_template_hashes};

fn text(case: &Value, key: &str) -> String {
    case.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn flag(case: &Value, key: &str) -> bool {
    case.get(key).and_then(Value::as_bool).unwrap_or_default()
}

fn items<'a>(case: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    case.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn words(case: &Value, key: &str) -> Vec<String> {
    items(case, key).filter_map(Value::as_str).map(str::to_owned).collect()
}

fn target(image: &Value) -> ImageTarget {
    let spec = &image["spec"];
    ImageTarget {
        selector: text(spec, "selector"),
        match_exact: flag(spec, "matchExact"),
        match_in_env_vars: flag(spec, "matchInEnvVars"),
        override_command: spec
            .get("overrideCommand")
            .map(|it| OverrideCommand { command: words(it, "command") }),
        override_args: spec
            .get("overrideArgs")
            .map(|it| OverrideArgs { args: it.get("args").map(|_| words(it, "args")) }),
        live_update_name: String::new(),
        live_update_spec: LiveUpdateSpec::default(),
        live_update_reconciler: false,
        docker_image_name: String::new(),
        cmd_image_name: String::new(),
        build_details: BuildDetails::Compose(ComposeBuild::default()),
        is_live_update_only: false,
        file_watch_ignores: None,
        image_map_name: text(image, "name"),
    }
}

fn locator(case: &Value) -> ImageLocator {
    let selector = &case["objectSelector"];
    ImageLocator {
        object_selector: ObjectSelectorSpec {
            api_version_regexp: text(selector, "apiVersionRegexp"),
            kind_regexp: text(selector, "kindRegexp"),
            name_regexp: text(selector, "nameRegexp"),
            namespace_regexp: text(selector, "namespaceRegexp"),
        },
        path: text(case, "path"),
        object: case.get("object").map(|it| ImageObject {
            repo_field: text(it, "repoField"),
            tag_field: text(it, "tagField"),
        }),
    }
}

fn outcome(case: &Value) -> Value {
    let references: Vec<_> = items(case, "images").map(|it| text(it, "ref")).collect();
    let targets: Vec<_> = items(case, "images").map(target).collect();
    let images: Vec<_> = targets
        .iter()
        .zip(&references)
        .map(|(target, reference)| InjectedImage { target, reference })
        .collect();
    let locators: Vec<_> = items(case, "locators").map(locator).collect();
    match inject(&text(case, "yaml"), &Injection { images: &images, locators: &locators }) {
        Ok(objects) => json!({"out": to_yaml(&objects).expect("the objects can be written")}),
        Err(error) => json!({"err": error.to_string()}),
    }
}

#[test]
fn objects_are_applied_as_recorded() {
    let cases = include_str!("tests/injections.jsonl").lines();
    for line in cases.filter(|line| !line.starts_with('#')) {
        let case: Value = serde_json::from_str(line).expect("a case is JSON");
        assert_eq!(outcome(&case), case["expected"], "{line}");
    }
}

#[test]
fn the_hashes_of_pod_templates_can_be_read_back() {
    let yaml = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}\n---\n\
                {apiVersion: v1, kind: Pod, metadata: {name: b}}\n";
    let injection = Injection { images: &[], locators: &[] };
    let objects = inject(yaml, &injection).expect("the objects are fine");
    let hashes = pod_template_hashes(&objects);
    assert_eq!(hashes.len(), 1);
    assert!(hashes[0].len() == 20 && hashes[0].bytes().all(|it| it.is_ascii_hexdigit()));
}

//! Compares with recordings of the reference: how manifests are read and written, and what is found in them.
//!
//! Each file has one JSON object per line; lines that start with `#` are comments.

use engine_model::{ImageObject, ObjectSelectorSpec};
use serde_json::{Value, json};

use super::locator::ImageLocator;
use super::names::{Fragment, FragmentError, Fragments, unique_names};
use super::order::sort_for_apply;
use super::selector::ObjectSelector;
use super::services::ServiceIndex;
use super::{Object, images, parse, secrets, to_yaml};
use crate::docker::reference::Reference;
use crate::docker::selector::RefSelector;

fn lines(data: &str) -> impl Iterator<Item = Value> {
    data.lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| serde_json::from_str(line).expect("a case is JSON"))
}

fn text<'a>(case: &'a Value, key: &str) -> &'a str {
    case.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[test]
fn manifests_are_written_as_recorded() {
    for case in lines(include_str!("tests/manifests.jsonl")) {
        let result = match parse(text(&case, "yaml")) {
            Ok(objects) => json!({"out": to_yaml(&objects).expect("the manifest can be written")}),
            Err(error) => json!({"err": error.to_string()}),
        };
        assert_eq!(result, case["expected"], "{}", text(&case, "yaml"));
    }
}

#[test]
fn writing_is_stable() {
    for case in lines(include_str!("tests/manifests.jsonl")) {
        let Ok(objects) = parse(text(&case, "yaml")) else { continue };
        // Go's zero time and a few odd quantities change once more when they are read again.
        let once = to_yaml(&objects).expect("the manifest can be written");
        let twice = to_yaml(&parse(&once).expect("what was written can be read"))
            .expect("it can be written again");
        let thrice = to_yaml(&parse(&twice).expect("what was written can be read"))
            .expect("it can be written again");
        assert_eq!(twice, thrice);
    }
}

#[test]
fn questions_are_answered_as_recorded() {
    let mut cases = lines(include_str!("tests/questions.jsonl"));
    let manifests = cases.next().expect("the first line has the manifests");
    for case in cases {
        let objects =
            parse(text(&manifests, text(&case, "manifest"))).expect("the manifest is fine");
        let result =
            answer(&case, objects).map_or_else(|error| error, |answers| json!({"refs": answers}));
        assert_eq!(result, case["expected"], "{case}");
    }
}

fn answer(case: &Value, mut objects: Vec<Object>) -> Result<Vec<String>, Value> {
    let fail = |error: String| json!({"err": error});
    match text(case, "op") {
        "path" | "object" => located(case, &objects),
        "images" => found(case, &objects),
        "names" => Ok(unique_names(&objects.iter().collect::<Vec<_>>())),
        "fragment" => {
            let fragment =
                Fragment::parse(text(case, "text")).map_err(|error| fail(error.to_string()))?;
            Ok(objects.iter().map(|object| fragment.matches(object).to_string()).collect())
        }
        "selector" => {
            let spec = ObjectSelectorSpec {
                kind_regexp: text(case, "text").to_owned(),
                ..ObjectSelectorSpec::default()
            };
            let selector =
                ObjectSelector::partial(&spec).map_err(|error| fail(error.to_string()))?;
            Ok(objects.iter().map(|object| selector.matches(object).to_string()).collect())
        }
        "services" => Ok(objects.iter().map(|workload| services(workload, &objects)).collect()),
        "sort" => {
            sort_for_apply(&mut objects);
            Ok(objects
                .iter()
                .map(|object| format!("{}/{}", object.kind(), object.name()))
                .collect())
        }
        "namespace" => {
            for object in &mut objects {
                object.default_namespace(text(case, "text"));
            }
            Ok(vec![to_yaml(&objects).expect("the manifest can be written")])
        }
        other => panic!("no such question: {other}"),
    }
}

fn located(case: &Value, objects: &[Object]) -> Result<Vec<String>, Value> {
    let everything = ObjectSelector::partial(&ObjectSelectorSpec::default())
        .expect("no pattern is a fine pattern");
    let object = (text(case, "op") == "object").then(|| ImageObject {
        repo_field: text(case, "repo").to_owned(),
        tag_field: text(case, "tag").to_owned(),
    });
    let locator = ImageLocator::new(everything, text(case, "path"), object)
        .map_err(|error| json!({"syntax": error.to_string()}))?;
    let mut references = Vec::new();
    for object in objects {
        let images = locator.images(object, |image: &str| Reference::parse(image));
        let images = images.map_err(|error| json!({"err": error.to_string()}))?;
        references.extend(images.iter().map(ToString::to_string));
    }
    Ok(references)
}

fn found(case: &Value, objects: &[Object]) -> Result<Vec<String>, Value> {
    let wanted = case["env"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let wanted: Vec<_> = wanted
        .map(|image| RefSelector::new(Reference::parse(image).expect("an image reference")))
        .collect();
    let env_matches = |reference: &Reference| {
        wanted.iter().filter(|selector| selector.matches(reference)).count()
    };
    let mut references = Vec::new();
    for object in objects {
        let images =
            images::find_images(object, [], |image: &str| Reference::parse(image), env_matches);
        let images = images.map_err(|error| json!({"err": error.to_string()}))?;
        references.extend(images.iter().map(ToString::to_string));
    }
    Ok(references)
}

fn services(workload: &Object, objects: &[Object]) -> String {
    let places = ServiceIndex::new(objects).matching(workload);
    let selected = objects.iter().enumerate().filter(|(_, object)| {
        let mut labels = workload.pod_template_labels().into_iter();
        labels.any(|labels| object.selects(labels, workload.namespace()))
    });
    assert_eq!(places, selected.map(|(place, _)| place).collect::<Vec<_>>());
    places
        .iter()
        .fold(format!("{}:", workload.name()), |line, place| line + " " + objects[*place].name())
}

#[test]
fn fragments_must_name_one_object() {
    let objects = parse(
        "{apiVersion: v1, kind: Secret, metadata: {name: bar}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: \
         bar}}\n---\n{apiVersion: apps/v1, kind: Deployment, metadata: {name: foo, namespace: x}}\n",
    )
    .expect("the manifest is fine");
    let fragments = Fragments::new(&objects);
    assert_eq!(fragments.find("FOO:deployment:x"), Ok(2));
    assert_eq!(fragments.find("bar:secret"), Ok(0));
    let error =
        |fragment| fragments.find(fragment).expect_err("the fragment is not good").to_string();
    assert_eq!(
        error("bar"),
        r#""bar" is not a unique fragment. Objects that match "bar" are "bar:Secret:default", "bar:Namespace:default""#
    );
    assert_eq!(
        error("ba"),
        r#"No object identified by the fragment "ba" could be found. Possible objects are: "bar:Secret:default", "bar:Namespace:default", "foo:Deployment:x""#
    );
    let taken = FragmentError::Taken {
        fragment: "foo".to_owned(),
        remaining: vec!["bar:Secret:default".to_owned()],
    };
    assert_eq!(
        taken.to_string(),
        r#"No object identified by the fragment "foo" could be found in remaining YAML. Valid remaining fragments are: "bar:Secret:default""#
    );
}

#[test]
fn secrets_are_those_of_built_in_secret_objects() {
    let objects = parse(
        "{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: aGVsbG8=, z: null}, stringData: {b: plain}}\n---\n\
         {apiVersion: x/v1, kind: Secret, metadata: {name: t}, data: {a: aGVsbG8=}}\n",
    )
    .expect("the manifest is fine");
    let secrets: Vec<_> = objects.iter().flat_map(secrets::secret_values).collect();
    let shown: Vec<_> = secrets
        .iter()
        .map(|secret| format!("{}:{}={}", secret.name, secret.key, secret.value.escape_ascii()))
        .collect();
    assert_eq!(shown, ["s:a=hello", "s:z=", "s:b=plain"]);
}

#[test]
fn labels_of_custom_objects_count_only_if_all_are_text() {
    let objects = parse(
        "{apiVersion: x/v1, kind: Foo, metadata: {labels: {a: b, c: null}}}\n---\n\
         {apiVersion: x/v1, kind: Foo, metadata: {labels: {a: b, c: 1}}}\n",
    )
    .expect("the manifest is fine");
    assert!(objects[0].has_labels([("a", "b"), ("c", "")]));
    assert!(!objects[1].has_labels([("a", "b")]));
    assert!(objects[1].has_labels([]));
}

#[test]
fn deep_nesting_is_refused_and_not_fatal() {
    let deep = |depth: usize| {
        let open = "{\"additionalProperties\":".repeat(depth);
        let close = "}".repeat(depth);
        format!(
            "# yaml\n{{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {{name: x}}, \
             spec: {{versions: [{{schema: {{openAPIV3Schema: {open}true{close}}}}}]}}}}"
        )
    };
    let on_big_stack = |depth| {
        let thread = std::thread::Builder::new().stack_size(64 << 20);
        thread
            .spawn(move || parse(&deep(depth)).is_ok())
            .expect("a thread starts")
            .join()
            .expect("it does not panic")
    };
    assert!(on_big_stack(200));
    assert!(!on_big_stack(5_000));
}

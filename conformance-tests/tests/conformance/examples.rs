//! Every example evaluates, and to what its README says.
//!
//! The golden files hold for Tilt as well: `ENGINE_BIN=path/to/tilt cargo test --release examples`.
//! `UPDATE_EXPECT=1` writes them anew.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use conformance_tests::{Case, Runner, Verbosity};
use expect_test::expect_file;
use serde_json::Value;

use crate::{engine, repository};

const KUBECONFIG: &str = r#"
apiVersion: v1
kind: Config
current-context: kind-kind
contexts: [{name: kind-kind, context: {cluster: kind-kind, user: dev}}]
clusters: [{name: kind-kind, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: dev, user: {token: none}}]
"#;

#[test]
fn every_example_evaluates_to_its_golden_summary() {
    for name in example_names() {
        let dir = tempfile::tempdir().unwrap();
        let copy = dir.path().join(&name);
        copy_folder(&repository().join("examples").join(&name), &copy);
        // Some run kubectl, which would ask for a password.
        fs::write(copy.join("kube.yaml"), KUBECONFIG).unwrap();
        fs::write(copy.join("env"), "KUBECONFIG=$DIR/kube.yaml\n").unwrap();
        let summary = summary_of(&copy);
        expect_file![format!("golden/{name}.txt")].assert_eq(&summary);
    }
}

#[test]
fn every_example_teaches() {
    for name in example_names() {
        let readme = repository().join("examples").join(&name).join("README.md");
        let text =
            fs::read_to_string(&readme).unwrap_or_else(|_| panic!("{name} has no README.md"));
        assert!(text.starts_with("# "), "{name}/README.md has no title");
        assert!(text.contains("Try it:"), "{name}/README.md has nothing to try");
    }
}

#[test]
fn arguments_select_services_of_the_monorepo() {
    check_enabled(&["cart"], &["cart"]);
    check_enabled(&["web", "--debug"], &["cart", "catalog", "web"]);
    check_enabled(&[], &["cart", "catalog", "web", "catalog-data"]);
}

#[test]
fn this_repository_evaluates_without_docker_or_a_cluster() {
    let dir = tempfile::tempdir().unwrap();
    fs::copy(repository().join("Tiltfile"), dir.path().join("Tiltfile")).unwrap();
    expect_file!["golden/this-repository.txt"].assert_eq(&summary_of(dir.path()));
}

fn example_names() -> Vec<String> {
    let dirs = fs::read_dir(repository().join("examples")).unwrap();
    let mut names: Vec<String> =
        dirs.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert!(names.len() >= 6, "examples are missing: {names:?}");
    names
}

fn check_enabled(args: &[&str], expected: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let copy = dir.path().join("monorepo");
    copy_folder(&repository().join("examples/monorepo"), &copy);
    fs::write(copy.join("args"), args.join("\n")).unwrap();
    assert_eq!(evaluate(&copy)["EnabledManifests"], Value::from(expected), "{args:?}");
}

fn copy_folder(from: &Path, to: &PathBuf) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_folder(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// The result of a fresh copy of a folder, in the environment of the conformance cases.
fn evaluate(dir: &Path) -> Value {
    let case = Case { label: dir.display().to_string(), dir: dir.to_owned() };
    let outcome = Runner::binary(engine()).run(&case, Verbosity::Verbose).unwrap();
    assert!(outcome.succeeded(), "{}: {}", dir.display(), outcome.stderr.join("\n"));
    outcome.value.unwrap()
}

/// The facts about a project that a reader of its Tiltfile would expect.
fn summary_of(dir: &Path) -> String {
    let result = evaluate(dir);
    let mut text = String::new();
    for manifest in items(&result["Manifests"]) {
        let target = &manifest["DeployTarget"];
        writeln!(text, "{}: {}", string(&manifest["Name"]), kind_of(target)).unwrap();
        let images = items(&manifest["ImageTargets"]);
        line(&mut text, "images", images.map(|it| string(&it["selector"])));
        let syncs =
            items(&manifest["ImageTargets"]).flat_map(|it| items(&it["LiveUpdateSpec"]["syncs"]));
        line(&mut text, "syncs", syncs.map(|it| string(&it["containerPath"])));
        line(&mut text, "runs", items(&target["UpdateCmdSpec"]["args"]).map(string));
        line(&mut text, "serves", items(&target["ServeCmd"]["Argv"]).map(string));
        line(&mut text, "watches", items(&target["Deps"]).map(string));
        let forwards = items(&target["portForwardTemplateSpec"]["forwards"]);
        line(&mut text, "forwards", forwards.map(|it| it["localPort"].to_string()));
        line(&mut text, "after", items(&manifest["ResourceDependencies"]).map(string));
        let labels = manifest["Labels"].as_object().into_iter().flatten();
        line(&mut text, "labels", labels.map(|(key, _)| key.clone()));
    }
    line(&mut text, "config files", items(&result["ConfigFiles"]).map(string));
    text
}

fn line(text: &mut String, name: &str, values: impl Iterator<Item = String>) {
    let values: Vec<_> = values.collect();
    if !values.is_empty() {
        writeln!(text, "  {name}: {}", values.join(", ")).unwrap();
    }
}

fn kind_of(target: &Value) -> &'static str {
    if target.get("yaml").is_some() {
        "Kubernetes"
    } else if target.get("ServiceYAML").is_some() {
        "Docker Compose"
    } else if target.get("UpdateCmdSpec").is_some() {
        "local"
    } else {
        "something else"
    }
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

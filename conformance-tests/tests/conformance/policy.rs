//! Rules of the repository that no compiler checks: who may depend on whom, licenses, leftover words.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use serde_json::Value;

use crate::repository;

/// Licenses that may enter the dependency tree.
const LICENSES: [&str; 10] = [
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    // Of notify: a waiver of all rights.
    "CC0-1.0",
    "ISC",
    "MIT",
    "MPL-2.0",
    "Unicode-3.0",
    "Zlib",
];

/// Crates that only one package of the workspace may name, because it guards a boundary.
const WRAPPERS: [(&str, &[&str]); 17] = [
    ("starlark", &["builtins"]),
    ("starlark_syntax", &["builtins"]),
    ("starlark_derive", &["builtins"]),
    ("starlark_map", &["builtins"]),
    ("petgraph", &["engine-core"]),
    ("axum", &["engine"]),
    ("bollard", &["engine-docker"]),
    ("bollard-buildkit-proto", &["engine-docker"]),
    ("hyper", &["engine", "engine-docker", "engine-kubernetes"]),
    ("k8s-openapi", &["engine-kubernetes"]),
    ("kube", &["engine-kubernetes"]),
    ("notify", &["engine"]),
    ("rcgen", &["engine"]),
    ("rustls", &["engine", "engine-docker", "engine-kubernetes"]),
    ("tar", &["engine-docker"]),
    ("tokio", &["engine", "engine-docker", "engine-kubernetes"]),
    ("tonic", &["engine-docker"]),
];

/// Packages that stay small, with every crate of other people that they may name.
const ALLOWED: [(&str, &[&str]); 5] = [
    ("engine-model", &["serde", "serde_json"]),
    ("engine-core", &["engine-model", "petgraph"]),
    ("engine-formats", &["globset", "regex", "regex-syntax", "serde_json", "thiserror"]),
    ("engine-helper", &[]),
    ("stdlib", &[]),
];

static METADATA: LazyLock<Value> = LazyLock::new(|| {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--locked", "--offline"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .current_dir(repository())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
});

fn packages() -> impl Iterator<Item = &'static Value> {
    METADATA["packages"].as_array().unwrap().iter()
}

fn is_member(package: &Value) -> bool {
    METADATA["workspace_members"].as_array().unwrap().contains(&package["id"])
}

/// The crates that the code of a package may use, those for its tests left out.
fn dependencies(package: &'static Value) -> impl Iterator<Item = &'static str> {
    let all = package["dependencies"].as_array().unwrap().iter();
    all.filter(|it| it["kind"] != "dev").map(|it| it["name"].as_str().unwrap())
}

#[test]
fn packages_depend_only_on_what_the_architecture_allows() {
    for package in packages().filter(|it| is_member(it)) {
        let name = package["name"].as_str().unwrap();
        for dependency in dependencies(package) {
            if let Some((_, wrappers)) = WRAPPERS.iter().find(|(it, _)| *it == dependency) {
                assert!(wrappers.contains(&name), "`{name}` may not depend on `{dependency}`");
            }
            if let Some((_, allowed)) = ALLOWED.iter().find(|(it, _)| *it == name) {
                assert!(allowed.contains(&dependency), "`{name}` may not depend on `{dependency}`");
            }
        }
    }
}

#[test]
fn licenses_and_sources_of_dependencies_are_known() {
    for package in packages().filter(|it| !is_member(it)) {
        let name = package["name"].as_str().unwrap();
        let license = package["license"].as_str().unwrap_or("none");
        assert!(is_allowed(license), "`{name}` has the license `{license}`");
        let source = package["source"].as_str().unwrap_or("none");
        assert!(
            source == "registry+https://github.com/rust-lang/crates.io-index",
            "`{name}` comes from `{source}`"
        );
    }
}

/// Whether a license expression can be met: every part joined by `AND`, one of those joined by `OR`.
fn is_allowed(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ").replace(['(', ')'], " ");
    expression.split(" AND ").all(|all| {
        all.split(" OR ").any(|one| {
            LICENSES.contains(&one.split_whitespace().collect::<Vec<_>>().join(" ").as_str())
        })
    })
}

#[test]
fn a_direct_dependency_has_one_version() {
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in packages() {
        let version = package["version"].as_str().unwrap();
        versions.entry(package["name"].as_str().unwrap()).or_default().insert(version);
    }
    // Named by the workspace in another version than crates of other people use: starlark's line
    // editor, rcgen's reader of PEM files, and the websockets of axum and kube.
    let has_second = ["nix", "base64", "sha1", "tokio-tungstenite"];
    for name in packages().filter(|it| is_member(it)).flat_map(dependencies) {
        let found = versions.get(name).map_or(0, BTreeSet::len);
        assert!(found <= 1 || has_second.contains(&name), "{name}: {:?}", versions[name]);
    }
}

#[test]
fn deny_toml_says_the_same() {
    let text = fs::read_to_string(repository().join("deny.toml")).unwrap();
    for license in LICENSES {
        assert!(text.contains(&format!("\"{license}\"")), "deny.toml does not allow {license}");
    }
    for (name, _) in WRAPPERS {
        assert!(text.contains(&format!("name = \"{name}\"")), "deny.toml does not pin {name}");
    }
}

#[test]
fn no_leftovers_are_in_the_sources() {
    let leftovers = ["dbg!", "todo!", "fixme", "unimplemented!"];
    let mut found = Vec::new();
    for file in sources(&repository()) {
        if file.ends_with("conformance-tests/tests/conformance/policy.rs") {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        for (i, line) in text.lines().enumerate() {
            let lower = line.to_lowercase();
            if leftovers.iter().any(|it| lower.contains(it)) {
                found.push(format!("{}:{}: {}", file.display(), i + 1, line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn every_source_file_says_what_it_is_for() {
    let silent: Vec<_> = sources(&repository())
        .into_iter()
        .filter(|file| file.extension().is_some_and(|it| it == "rs"))
        .filter(|file| !fs::read_to_string(file).unwrap().starts_with("//!"))
        .collect();
    assert!(silent.is_empty(), "these do not start with `//!`: {silent:#?}");
}

/// Rust files and scripts of the repository, without generated ones and the recorded cases.
fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_symlink() || name.starts_with('.') || ["target", "cases"].contains(&&*name) {
            continue;
        }
        if path.is_dir() {
            found.extend(sources(&path));
        } else if name == "Tiltfile" || path.extension().is_some_and(|it| it == "rs" || it == "sh")
        {
            found.push(path);
        }
    }
    found
}

#[test]
fn license_expressions_are_understood() {
    for allowed in [
        "MIT",
        "MIT OR Apache-2.0",
        "Apache-2.0 / MIT",
        "Unlicense OR MIT",
        "(MIT OR GPL-3.0) AND Zlib",
    ] {
        assert!(is_allowed(allowed), "{allowed}");
    }
    for refused in ["GPL-3.0", "MIT AND GPL-3.0", "none"] {
        assert!(!is_allowed(refused), "{refused}");
    }
}

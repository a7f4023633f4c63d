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
    ("starlark", &["builtins-language"]),
    ("starlark_syntax", &["builtins-language"]),
    ("starlark_derive", &[]),
    ("starlark_map", &[]),
    ("petgraph", &["engine-core"]),
    ("axum", &["engine"]),
    ("bollard", &["engine-docker"]),
    ("bollard-buildkit-proto", &["engine-docker"]),
    ("hyper", &["engine", "engine-cli", "engine-docker", "engine-kubernetes"]),
    ("k8s-openapi", &["engine-kubernetes"]),
    ("kube", &["engine-kubernetes"]),
    ("notify", &["engine"]),
    ("rcgen", &["engine"]),
    ("rustls", &["engine", "engine-cli", "engine-docker", "engine-kubernetes"]),
    ("tar", &["engine-docker"]),
    ("tokio", &["engine", "engine-api", "engine-cli", "engine-docker", "engine-kubernetes"]),
    ("tonic", &["engine-docker"]),
];

/// Packages that stay small, with every crate of other people that they may name.
const ALLOWED: [(&str, &[&str]); 10] = [
    ("engine-json", &["serde_json"]),
    ("engine-model", &["engine-json", "serde"]),
    ("engine-core", &["engine-model", "petgraph"]),
    (
        "engine-formats",
        &[
            "base64",
            "engine-json",
            "engine-model",
            "globset",
            "indexmap",
            "regex",
            "regex-syntax",
            "serde",
            "sha1",
            "thiserror",
        ],
    ),
    (
        "engine-api",
        &[
            "engine-formats",
            "engine-json",
            "engine-model",
            "jiff",
            "json-patch",
            "percent-encoding",
            "serde",
            "sha2",
            "thiserror",
            "tokio",
            "uuid",
        ],
    ),
    (
        "builtins-language",
        &[
            "allocative",
            "engine-formats",
            "num-bigint",
            "num-traits",
            "regex",
            "regex-syntax",
            "serde",
            "starlark",
            "thiserror",
        ],
    ),
    (
        "engine-cli",
        &[
            "base64",
            "bytes",
            "clap",
            "engine-api",
            "engine-files",
            "engine-formats",
            "engine-json",
            "engine-model",
            "futures-util",
            "gotmpl",
            "http-body-util",
            "hyper",
            "hyper-util",
            "jiff",
            "json-patch",
            "memchr",
            "nix",
            "rustls",
            "serde",
            "tempfile",
            "terminal_size",
            "thiserror",
            "tokio",
            "tokio-rustls",
            "tokio-tungstenite",
            "unicode-width",
        ],
    ),
    ("engine-files", &["nix", "uuid"]),
    ("engine-helper", &[]),
    ("stdlib", &[]),
];

/// Dependencies that no source names, and what they are for.
const UNNAMED: [(&str, &str, &str); 0] = [];

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
fn every_dependency_is_named_by_the_code_that_it_is_for() {
    for package in packages().filter(|it| is_member(it)) {
        let name = package["name"].as_str().unwrap();
        let (code, tests) = code_of(Path::new(package["manifest_path"].as_str().unwrap()));
        for dependency in package["dependencies"].as_array().unwrap() {
            let called = dependency["rename"].as_str().or(dependency["name"].as_str()).unwrap();
            let text = if dependency["kind"] == "dev" { &tests } else { &code };
            assert!(
                is_named(text, &called.replace('-', "_"))
                    || UNNAMED.iter().any(|it| (it.0, it.1) == (name, called)),
                "`{name}` does not name `{called}` (or only its tests do): drop it, or make it a dev-dependency"
            );
        }
    }
}

#[test]
fn every_dependency_of_the_workspace_is_one_of_a_package() {
    let members = packages().filter(|it| is_member(it));
    let all = members.flat_map(|it| it["dependencies"].as_array().unwrap());
    let used: BTreeSet<_> =
        all.map(|it| it["rename"].as_str().or(it["name"].as_str()).unwrap()).collect();
    let text = fs::read_to_string(repository().join("Cargo.toml")).unwrap();
    let (_, list) = text.split_once("[workspace.dependencies]\n").unwrap();
    let lines = list.lines().take_while(|it| !it.starts_with('['));
    for name in lines.filter_map(|it| Some(it.split_once(" = ")?.0)) {
        assert!(used.contains(name), "no package uses `{name}`");
    }
}

/// The code of a package without its tests, and all of it with them.
fn code_of(manifest: &Path) -> (String, String) {
    let dir = manifest.parent().unwrap();
    let folders = ["src", "build", "tests"].map(|it| dir.join(it)).into_iter();
    let files = folders.filter(|it| it.is_dir()).flat_map(|it| sources(&it));
    let files =
        files.chain([dir.join("build.rs")]).filter(|it| it.extension() == Some("rs".as_ref()));
    let (mut code, mut tests) = (String::new(), String::new());
    for file in files.filter(|it| it.exists()) {
        let text = fs::read_to_string(&file).unwrap();
        tests.push_str(&text);
        let below = file.strip_prefix(dir).unwrap().with_extension("");
        if !below.components().any(|it| it.as_os_str() == "tests") {
            // A module of tests is at the end of its file.
            code.push_str(text.split("#[cfg(test)]\nmod ").next().unwrap());
        }
    }
    (code, tests)
}

/// Whether code uses a crate: `name::…`, or `use name…`.
fn is_named(code: &str, name: &str) -> bool {
    let lines = code.lines().filter(|it| !it.trim_start().starts_with("//"));
    let is_word = |it: char| it.is_alphanumeric() || it == '_';
    lines.into_iter().any(|line| {
        line.match_indices(name).any(|(at, _)| {
            let (before, after) = (&line[..at], &line[at + name.len()..]);
            let is_used = before.ends_with("use ") && !after.starts_with(is_word);
            !before.ends_with(is_word)
                && !before.ends_with("::")
                && (after.starts_with("::") || is_used)
        })
    })
}

#[test]
fn uses_of_crates_are_found() {
    for code in ["use tar;", "use tar::Builder;", "let x = tar::Builder::new();", "#[tar::main]"] {
        assert!(is_named(code, "tar"), "{code}");
    }
    for code in ["use tarpc::X;", "a::tar::b();", "// tar::x", "let tar = 1;", "star::x()"] {
        assert!(!is_named(code, "tar"), "{code}");
    }
}

#[test]
fn no_json_is_made_of_paths() {
    // What others call `serde_json` is `engine-json`, whose `json!` takes no paths.
    for package in packages().filter(|it| is_member(it) && it["name"] != "engine-json") {
        let mut named = package["dependencies"].as_array().unwrap().iter();
        assert!(named.all(|it| it["name"] != "serde_json"), "{}", package["name"]);
    }
    // A derived `Serialize` would take them.
    for file in sources(&repository()) {
        let text = fs::read_to_string(&file).unwrap();
        for item in serialized_types(&text) {
            let code = item.lines().filter(|it| !it.trim_start().starts_with("//"));
            let mut words = code.flat_map(|it| it.split(|it: char| !it.is_alphanumeric()));
            assert!(words.all(|it| it != "PathBuf" && it != "Path"), "{}: {item}", file.display());
        }
    }
}

/// The declarations of types that derive `Serialize`.
fn serialized_types(text: &str) -> impl Iterator<Item = &str> {
    text.split("#[derive(").skip(1).filter_map(|derived| {
        let (traits, item) = derived.split_once(")]")?;
        traits.split(',').any(|it| it.trim() == "Serialize").then_some(())?;
        let mut depth = 0;
        let end = item.find(|char| {
            depth += i32::from(char == '{') - i32::from(char == '}');
            depth == 0 && matches!(char, '}' | ';')
        });
        Some(&item[..end.unwrap_or(item.len())])
    })
}

#[test]
fn types_that_are_serialized_are_found() {
    let text = "#[derive(Debug)]\nstruct A { a: PathBuf }\n#[derive(Debug, Serialize)]\nstruct B { b: u8 }\n\
                struct C(PathBuf);\n#[derive(\n    Serialize,\n)]\nstruct D(PathBuf);\nstruct E;";
    let found: Vec<_> = serialized_types(text).map(str::trim).collect();
    assert_eq!(found, ["struct B { b: u8 ", "struct D(PathBuf)"].map(str::trim));
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
    // editor and its widths, rcgen's reader of PEM files, and the websockets of axum and kube.
    let has_second = ["nix", "base64", "sha1", "tokio-tungstenite", "unicode-width"];
    for name in packages().filter(|it| is_member(it)).flat_map(dependencies) {
        let found = versions.get(name).map_or(0, BTreeSet::len);
        assert!(found <= 1 || has_second.contains(&name), "{name}: {:?}", versions[name]);
    }
}

#[test]
fn second_versions_of_crates_are_listed() {
    let text = fs::read_to_string(repository().join("deny.toml")).unwrap();
    let (_, list) = text.split_once("\nskip = [\n").unwrap();
    let mut skipped: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for line in list.lines().take_while(|it| *it != "]") {
        let mut words = line.split('"').skip(1).step_by(2);
        let name = words.next().unwrap();
        skipped.entry(name).or_default().push(format!("{}.", words.next().unwrap()));
    }
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in packages() {
        let version = package["version"].as_str().unwrap();
        versions.entry(package["name"].as_str().unwrap()).or_default().push(version);
    }
    for (name, versions) in versions {
        let skipped = skipped.remove(name).unwrap_or_default();
        let is_listed = |it: &&&str| skipped.iter().any(|skip| it.starts_with(skip.as_str()));
        let n_listed = versions.iter().filter(is_listed).count();
        assert_eq!(
            n_listed,
            skipped.len(),
            "deny.toml skips what is not there: {name} {skipped:?}"
        );
        let message = "one of them has to go, or into the list of deny.toml";
        assert_eq!(n_listed + 1, versions.len(), "{name} {versions:?}: {message}");
    }
    assert!(skipped.is_empty(), "deny.toml skips what is not there: {skipped:?}");
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

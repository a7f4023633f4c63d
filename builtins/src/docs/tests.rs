//! The reference lists exactly the names that Tiltfiles can use, and its examples work.

use std::{collections::BTreeSet, sync::Arc};

use expect_test::expect;

use super::*;
use crate::{Request, evaluate, host::OsHost};

/// What examples read.
const FILES: [(&str, &str); 13] = [
    (".git/HEAD", "ref: refs/heads/main\n"),
    ("Dockerfile", "FROM busybox\nCOPY . /app\n"),
    ("VERSION", "1.2.3\n"),
    ("k8s.yaml", include_str!("tests/k8s.yaml")),
    ("redis.yaml", include_str!("tests/redis.yaml")),
    ("lib.tilt", "def greet(name):\n    print('hello', name)\ndefault_title = 'you'\n"),
    ("local.tilt", ""),
    ("package.json", "{\"name\": \"web\"}"),
    ("settings.yaml", "replicas: 2\n"),
    ("frontend/Tiltfile", "local_resource('frontend', 'true')\n"),
    ("manifests/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"),
    ("config/a.txt", ""),
    ("kubeconfig", include_str!("tests/kubeconfig.yaml")),
];

/// Calls that run a program.
const RUN_PROGRAMS: [&str; 5] = ["helm(", "kustomize(", "docker_compose(", "local(", "ext://"];

/// What evaluating a text ends with.
fn outcome(text: &str) -> String {
    let dir = tempfile::tempdir().expect("there is room for a file");
    for (name, text) in FILES.iter().chain(&[("Tiltfile", text)]) {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().expect("it has a folder")).expect("it is ours");
        std::fs::write(&path, text).expect("the folder is ours");
    }
    let path = dir.path().join("Tiltfile");
    let kubeconfig = dir.path().join("kubeconfig").to_string_lossy().into_owned();
    let env = [("HOME", "/nonexistent"), ("KUBECONFIG", &kubeconfig)];
    let env = env.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let host = OsHost::new(env, Box::new(|_, _| {}));
    let request = Request::new(&path.to_string_lossy(), "alpha tiltfile-result");
    let evaluation = evaluate(&request, Arc::new(host));
    evaluation.failure.map(|it| it.text).unwrap_or_default()
}

#[test]
fn every_entry_says_what_it_means() {
    for entry in entries() {
        assert!(entry.doc.ends_with('.'), "{}: {:?}", entry.name, entry.doc);
        assert!(!entry.name.contains([' ', '(']), "{}", entry.name);
    }
    let names: BTreeSet<&str> = entries().map(|it| it.name).collect();
    assert_eq!(names.len(), entries().count(), "a name is explained twice");
}

#[test]
fn every_list_of_parameters_is_that_of_the_signature() {
    for chapter in REFERENCE.iter().filter(|it| it.title != "The language") {
        for entry in &chapter.entries {
            // A few take what another function takes.
            let is_alike = entry.name == "test" || entry.name == "experimental_metrics_settings";
            for param in entry.params().iter().filter(|_| !is_alike) {
                assert!(!param.doc.is_empty(), "{}({}) is not explained", entry.name, param.name);
            }
        }
    }
}

#[test]
fn every_predeclared_name_is_explained() {
    let explained: BTreeSet<&str> = entries().map(|it| it.name).collect();
    let known: Vec<String> =
        builtins_language::globals().build().names().map(|it| it.as_str().to_owned()).collect();
    let of_language = known.iter().filter(|it| !it.starts_with("__"));
    for name in of_language.filter(|it| !["None", "True", "False"].contains(&it.as_str())) {
        assert!(explained.contains(name.as_str()), "{name} is not explained");
    }
}

#[test]
fn every_name_exists() {
    let mut text = String::new();
    for entry in entries().filter(|it| it.name != "load") {
        text.push_str(&format!("x = {}\n", entry.name));
    }
    text.push_str("fail('all names are there')\n");
    assert!(outcome(&text).contains("all names are there"), "{}", outcome(&text));
}

#[test]
fn every_parameter_is_accepted_by_its_name() {
    let functions = entries().filter(|it| !it.params().is_empty() && it.name != "load");
    let of_api = functions.filter(|it| !is_of_language(it.name));
    for entry in of_api {
        for param in entry.params().iter().filter(|it| !it.is_rest()) {
            let error = outcome(&format!("{}({}=None)\n", entry.name, param.name));
            assert!(
                !error.contains("unexpected keyword argument"),
                "{}({}): {error}",
                entry.name,
                param.name
            );
        }
    }
}

/// All examples, with where they stand.
fn examples() -> Vec<(&'static str, String)> {
    let of_entries = entries().map(|it| (it.name, it.example.to_owned()));
    let of_topics = TOPICS.iter().flat_map(|topic| {
        let fenced = topic.text.split(parse::FENCE).skip(1);
        fenced.map(|it| (topic.name, it.split("```").next().unwrap_or_default().to_owned()))
    });
    of_entries.chain(of_topics).collect()
}

#[test]
fn every_name_has_an_example_that_is_a_tiltfile() {
    let is_builtin = |name: &str| ["None", "True", "False"].contains(&name) || find(name).is_some();
    for (name, example) in examples() {
        assert!(!example.is_empty(), "{name} has no example");
        assert!(example.lines().all(|it| it.len() <= 120), "{name}: a line is too long");
        let parsed = builtins_language::syntax::check(&example, &is_builtin);
        assert!(parsed.is_ok(), "{name}: {:?}", parsed.err());
    }
    for entry in entries().filter(|it| it.name != "test" && it.name != "v1alpha1") {
        let last = entry.name.rsplit('.').next().unwrap_or_default();
        assert!(entry.example.contains(last), "{}: the example does not use it", entry.name);
    }
}

#[test]
fn examples_evaluate_without_errors() {
    let pure =
        examples().into_iter().filter(|(_, it)| !RUN_PROGRAMS.iter().any(|run| it.contains(run)));
    let (mut n_run, mut failed) = (0, Vec::new());
    for (name, example) in pure {
        let lines = example.lines().map(|line| match line.split_once("  # => ") {
            Some((expression, value)) => {
                format!("if repr({expression}) != r'''{value}''': fail(repr({expression}))")
            }
            None => line.to_owned(),
        });
        let error = outcome(&lines.collect::<Vec<_>>().join("\n"));
        if !error.is_empty() {
            failed.push(format!("{name}:\n{example}\n{error}\n"));
        }
        n_run += 1;
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(n_run > 120, "only {n_run} examples were evaluated");
}

#[test]
fn topics_name_what_exists() {
    for topic in TOPICS.iter() {
        assert!(!topic.title.is_empty() && !topic.text.is_empty(), "{}", topic.name);
        assert!(!topic.see.is_empty(), "{}", topic.name);
        for name in &topic.see {
            assert!(find(name).is_some(), "{}: {name}", topic.name);
        }
    }
}

#[test]
fn required_parameters_are_required() {
    for entry in entries().filter(|it| !is_of_language(it.name) && it.name != "load") {
        let Shape::Function { params, .. } = &entry.shape else { continue };
        let error = outcome(&format!("{}()\n", entry.name));
        let missing = params.iter().find(|it| it.is_required());
        let is_told = error.contains("missing argument for");
        assert_eq!(missing.is_some(), is_told, "{}: {error}", entry.name);
    }
}

#[test]
fn names_lead_to_all_that_they_mean() {
    let of = |name: &str| -> Vec<String> {
        let pages = look_up(name);
        pages.iter().map(|it| format!("{} {}", kind(it), it.name())).take(3).collect()
    };
    assert_eq!(of("docker_build"), ["entry docker_build"]);
    assert_eq!(of("live_update"), ["topic live_update"]);
    assert_eq!(of("config"), ["topic config", "entry config", "entry config.define_string"]);
    assert_eq!(of("getenv"), ["entry os.getenv"]);
    assert_eq!(of("ext://restart_process"), ["extension ext://restart_process"]);
    assert_eq!(of("helm_resource"), ["extension ext://helm_resource"]);
    assert_eq!(of("cmd_button"), ["function cmd_button"]);
    assert_eq!(of("docker_buid"), [""; 0]);
}

fn kind(page: &Page) -> &'static str {
    match page {
        Page::Topic(_) => "topic",
        Page::Entry(..) => "entry",
        Page::Extension(_) => "extension",
        Page::Function(_) => "function",
    }
}

#[test]
fn misspelled_names_have_suggestions() {
    let check = |name: &str, meant: &[&str]| assert_eq!(similar(name), meant, "{name}");
    check("docker_buid", &["docker_build"]);
    check("restart_proces", &["ext://restart_process"]);
    check("ext://restart_proces", &["ext://restart_process"]);
    check("live_updat", &["live_update"]);
    check("os.getnv", &["os.getenv"]);
    check("qqqqqqqqqq", &[]);
}

#[test]
fn names_say_on_one_line_what_they_are() {
    for (name, about) in names() {
        assert!(!name.contains(char::is_whitespace), "{name:?}");
        assert!(!about.contains('\n'), "{name}: {about:?}");
    }
}

#[test]
fn terminals_get_lines_that_fit() {
    let text = "# A title\n\nSome words about `local_resource` that\ngo on.\n\n- `a`: is an item that is long\n- b\n\n```python\nx = 1\n```\n";
    let layout = Layout { width: 24, has_colors: false };
    expect![[r"
        A title

        Some words about
        `local_resource` that go
        on.

        - `a`: is an item that
          is long
        - b

            x = 1
    "]]
    .assert_eq(&layout.terminal(text));
    let colored = Layout { width: 24, has_colors: true }.terminal("# A\n`b` c\n");
    assert_eq!(colored, "\x1b[1mA\x1b[0m\n\x1b[36mb\x1b[0m c\n");
}

#[test]
fn the_index_has_a_line_for_each_name() {
    let index = index(Layout { width: 60, has_colors: false });
    assert!(index.lines().all(|it| it.chars().count() <= 60), "{index}");
    for (heading, name) in [
        ("TOPICS", "live_update"),
        ("KUBERNETES", "k8s_resource"),
        ("EXTENSIONS", "ext://helm_resource"),
    ] {
        let section = index.split(heading).nth(1).unwrap_or_default();
        assert!(section.lines().any(|it| it.starts_with(&format!("  {name} "))), "{index}");
    }
}

//! When a command runs again, and when it does not.

use std::{
    cell::Cell,
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
};

use engine_formats::compose::ProjectRequest;

use super::{
    ComposeConfigInputs, HelmInputs, HelmVersionInputs, Inputs, Key, KustomizeInputs,
    ReleaseNamespace, Uncacheable, key_of, remember_in, store::Store,
};
use crate::host::{Host, OsHost};

/// A machine with tools that look genuine, a chart and an overlay.
struct World {
    root: tempfile::TempDir,
    host: OsHost,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name).to_str().unwrap().to_owned();
        let env = [("HOME", at("home")), ("PATH", at("bin")), ("HELM_NAMESPACE", "a".to_owned())];
        let host =
            OsHost::new(env.map(|(name, value)| (name.to_owned(), value)), Box::new(|_, _| {}));
        let world = Self { root, host };
        for (tool, package) in [
            ("helm", "helm.sh/helm/v3"),
            ("kubectl", "sigs.k8s.io/kustomize/api"),
            ("docker-compose", "github.com/docker/compose/v2"),
        ] {
            world.program(tool, &format!("\x7fELF {package}"));
        }
        for (file, text) in [
            ("chart/Chart.yaml", "name: c"),
            ("chart/templates/a.yaml", "a: {{ .Values.a }}"),
            ("chart/charts/sub/Chart.yaml", "name: sub"),
            ("values/dev.yaml", "a: 1"),
            ("near/Chart.yaml", "name: near"),
            ("home/.kube/config", "contexts: []"),
            ("unrelated.txt", "x"),
            ("base/kustomization.yaml", "resources: [web.yaml]\nnamePrefix: maybe.yaml\n"),
            ("base/web.yaml", "kind: Pod"),
            (
                "overlay/kustomization.yaml",
                "Resources: [../base]\npatches: [{path: p.yaml}]\nconfigMapGenerator:\n- name: m\n  files: [k=f.txt]\n  envs: [vars.env]\n",
            ),
            ("overlay/p.yaml", "kind: Pod"),
            ("overlay/f.txt", "f"),
            ("overlay/vars.env", "A=1\nFROM_OUTSIDE\n"),
            ("compose.yaml", "services: {web: {image: $IMAGE}}"),
        ] {
            world.write(file, text);
        }
        world
    }

    fn path(&self, name: &str) -> String {
        self.root.path().join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, text: &str) {
        let file = self.root.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    fn program(&self, name: &str, text: &str) {
        let name = format!("bin/{name}");
        self.write(&name, text);
        fs::set_permissions(self.path(&name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn store(&self) -> Store<'_> {
        Store::at(&self.host, self.path("cache")).expect("the directory is ours")
    }

    fn key(&self, inputs: &dyn Inputs) -> Result<Key, Uncacheable> {
        key_of(&self.store(), &self.host, inputs)
    }

    fn helm(&self, change: impl FnOnce(&mut Helm)) -> Result<Key, Uncacheable> {
        let mut helm = Helm {
            argv: vec!["helm".to_owned(), "template".to_owned()],
            release: "chart".to_owned(),
            values: vec!["values/dev.yaml".to_owned()],
            has_namespace: false,
        };
        change(&mut helm);
        self.key(&HelmInputs {
            argv: &helm.argv,
            dir: &self.path(""),
            release: &helm.release,
            chart: &self.path("chart"),
            subcharts: &["../near".to_owned()],
            values: &helm.values,
            namespace: if helm.has_namespace {
                ReleaseNamespace::Given
            } else {
                ReleaseNamespace::OfContext(None)
            },
        })
    }

    fn kustomize(&self) -> Result<Key, Uncacheable> {
        let argv = ["kubectl", "kustomize", "overlay"].map(str::to_owned);
        self.key(&KustomizeInputs {
            argv: &argv,
            program_words: 2,
            dir: &self.path(""),
            overlay: &self.path("overlay"),
        })
    }

    fn compose(&self) -> Result<Key, Uncacheable> {
        let request = ProjectRequest {
            config_paths: vec![self.path("compose.yaml").into()],
            project_dir: self.path("").into(),
            ..ProjectRequest::default()
        };
        self.key(&ComposeConfigInputs {
            command: &["docker-compose".to_owned()],
            args: &["config".to_owned()],
            dir: &self.path(""),
            request: &request,
        })
    }
}

struct Helm {
    argv: Vec<String>,
    release: String,
    values: Vec<String>,
    has_namespace: bool,
}

type Change = (&'static str, fn(&World));

/// Applies each change to a fresh world, and says whether the key changed too.
fn check(key: fn(&World) -> Result<Key, Uncacheable>, is_input: bool, changes: &[Change]) {
    for (name, change) in changes {
        let world = World::new();
        let before = key(&world).unwrap_or_else(|why| panic!("{name}: {}", why.0));
        assert_eq!(key(&world), Ok(before), "{name}: keys are stable");
        change(&world);
        let after = key(&world).unwrap_or_else(|why| panic!("{name}: {}", why.0));
        assert_eq!(before != after, is_input, "{name}");
    }
}

#[test]
fn every_input_of_a_chart_changes_its_key() {
    check(
        |it| it.helm(|_| {}),
        true,
        &[
            ("a template", |it| it.write("chart/templates/a.yaml", "a: {{ .Values.b }}")),
            ("a template of the same size", |it| {
                it.write("chart/templates/a.yaml", "b: {{ .Values.a }}");
            }),
            ("a new file", |it| it.write("chart/templates/b.yaml", "")),
            ("a renamed file", |it| {
                fs::rename(it.path("chart/templates/a.yaml"), it.path("chart/templates/b.yaml"))
                    .unwrap();
            }),
            ("an empty directory", |it| fs::create_dir(it.path("chart/crds")).unwrap()),
            ("a mode", |it| {
                let mode = fs::Permissions::from_mode(0o755);
                fs::set_permissions(it.path("chart/templates/a.yaml"), mode).unwrap();
            }),
            ("a link instead of a file", |it| {
                fs::rename(it.path("chart/Chart.yaml"), it.path("real.yaml")).unwrap();
                symlink("../real.yaml", it.path("chart/Chart.yaml")).unwrap();
            }),
            ("a linked directory", |it| {
                symlink("../../near", it.path("chart/charts/near")).unwrap();
            }),
            ("a vendored subchart", |it| it.write("chart/charts/sub/Chart.yaml", "name: sub2")),
            ("a subchart elsewhere", |it| it.write("near/Chart.yaml", "name: near2")),
            ("a values file", |it| it.write("values/dev.yaml", "a: 2")),
            ("the kubeconfig", |it| it.write("home/.kube/config", "contexts: [x]")),
            ("a variable of Helm", |it| it.host.set_env("HELM_NAMESPACE", Some("b"))),
            ("a new variable of Helm", |it| it.host.set_env("HELM_DEBUG", Some("1"))),
            ("another configuration", |it| it.host.set_env("XDG_CONFIG_HOME", Some("/x"))),
            ("another Helm", |it| it.program("helm", "\x7fELF helm.sh/helm/v3 and more")),
            ("a Helm of the same size", |it| {
                fs::remove_file(it.path("bin/helm")).unwrap();
                it.program("helm", "\x7fELF helm.sh/helm/v4");
            }),
        ],
    );
    let world = World::new();
    let key = |change: fn(&mut Helm)| world.helm(change).unwrap();
    assert_ne!(key(|_| {}), key(|it| it.argv.push("--include-crds".to_owned())));
    assert_ne!(key(|_| {}), key(|it| it.values.clear()));
    assert_ne!(
        key(|it| it.argv.extend(["ab".to_owned(), "c".to_owned()])),
        key(|it| it.argv.extend(["a".to_owned(), "bc".to_owned()])),
    );
}

#[test]
fn what_helm_does_not_read_changes_no_key() {
    check(
        |it| it.helm(|_| {}),
        false,
        &[
            ("another file", |it| it.write("unrelated.txt", "y")),
            ("another variable", |it| it.host.set_env("EDITOR", Some("vi"))),
            ("a file written again", |it| it.write("chart/Chart.yaml", "name: c")),
            ("another tool", |it| it.program("kubectl", "\x7fELF other")),
        ],
    );
    check(
        |it| it.helm(|given| given.has_namespace = true),
        false,
        &[("the kubeconfig", |it| it.write("home/.kube/config", "contexts: [x]"))],
    );
}

#[test]
fn every_input_of_an_overlay_changes_its_key() {
    check(
        World::kustomize,
        true,
        &[
            ("a resource of a base", |it| it.write("base/web.yaml", "kind: Job")),
            ("a base", |it| it.write("base/kustomization.yaml", "resources: [web.yaml]")),
            ("a patch", |it| it.write("overlay/p.yaml", "kind: Job")),
            ("a generated file with a key", |it| it.write("overlay/f.txt", "g")),
            ("a file of variables", |it| it.write("overlay/vars.env", "A=2\nFROM_OUTSIDE\n")),
            ("a variable that such a file mentions", |it| {
                it.host.set_env("FROM_OUTSIDE", Some("1"));
            }),
            ("a file that did not exist", |it| it.write("base/maybe.yaml", "")),
            ("defaults of kubectl", |it| it.write("home/.kube/kuberc", "x")),
            ("a variable of Kustomize", |it| it.host.set_env("KUSTOMIZE_PLUGIN_HOME", Some("/x"))),
            ("a file that is now a link", |it| {
                fs::rename(it.path("overlay/f.txt"), it.path("f.txt")).unwrap();
                symlink("../f.txt", it.path("overlay/f.txt")).unwrap();
            }),
            ("the program", |it| it.program("kubectl", "\x7fELF sigs.k8s.io/kustomize/ more")),
        ],
    );
    check(
        World::kustomize,
        false,
        &[
            ("a file beside", |it| it.write("overlay/readme.md", "x")),
            ("the kubeconfig", |it| it.write("home/.kube/config", "x")),
            ("another variable", |it| it.host.set_env("A", Some("x"))),
        ],
    );
}

#[test]
fn every_input_of_a_compose_project_changes_its_key() {
    check(
        World::compose,
        true,
        &[
            ("a file", |it| it.write("compose.yaml", "services: {}")),
            ("variables in a file", |it| it.write(".env", "IMAGE=x")),
            ("any variable", |it| it.host.set_env("IMAGE", Some("x"))),
        ],
    );
    for text in
        ["include: [x.yaml]", "services: {a: {env_file: x}}", "services: {a: {extends: b}}", "a: ["]
    {
        let world = World::new();
        world.write("compose.yaml", text);
        assert!(world.compose().is_err(), "{text}");
    }
}

#[test]
fn what_may_change_by_itself_is_not_kept() {
    let cases: &[Change] = &[
        ("a template of chance", |it| it.write("chart/templates/a.yaml", "{{ randAlphaNum 5 }}")),
        ("a vendored template of chance", |it| {
            it.write("chart/charts/sub/templates/a.tpl", "{{ now }}");
        }),
        ("values that are templates", |it| it.write("values/dev.yaml", "a: '{{ uuidv4 }}'")),
        ("a broken archive", |it| {
            fs::write(it.path("chart/charts/x.tgz"), [0x1f, 0x8b, 8, 0]).unwrap();
        }),
        ("a broken link", |it| symlink("nowhere", it.path("chart/x")).unwrap()),
        ("a link in a circle", |it| symlink(".", it.path("chart/x")).unwrap()),
        ("a missing values file", |it| fs::remove_file(it.path("values/dev.yaml")).unwrap()),
        ("a script", |it| it.program("helm", "#!/bin/sh\n# helm.sh/helm/v3\n")),
        ("a version manager", |it| it.program("helm", "\x7fELF mise")),
        ("no Helm", |it| fs::remove_file(it.path("bin/helm")).unwrap()),
    ];
    for (name, change) in cases {
        let world = World::new();
        change(&world);
        assert!(world.helm(|_| {}).is_err(), "{name}");
    }
    let world = World::new();
    let refused = |change: fn(&mut Helm)| assert!(world.helm(change).is_err());
    refused(|it| it.release = "--post-renderer=x".to_owned());
    refused(|it| it.values.push("https://example.com/values.yaml".to_owned()));
    refused(|it| it.values.push("values/dev.yaml,other.yaml".to_owned()));
    refused(|it| it.values.push("-".to_owned()));
    refused(|it| it.argv.push("a={{ now }}".to_owned()));
}

#[test]
fn overlays_that_reach_out_are_not_kept() {
    for text in [
        "resources: [https://example.com/x.yaml]",
        "resources: ['github.com/org/repo//base?ref=v1']",
        "bases: ['git@example.com:org/repo']",
        "components: [ssh://git@example.com/repo]",
        "resources: [missing.yaml]",
        "resources: [../chart]",
        "generators: [g.yaml]",
        "transformers: [t.yaml]",
        "validators: ['inline: true']",
        "helmCharts: [{name: x}]",
        "HelmCharts: [{name: x}]",
        "helmGlobals: {chartHome: x}",
        "a: [",
    ] {
        let world = World::new();
        world.write("overlay/kustomization.yaml", text);
        assert!(world.kustomize().is_err(), "{text}");
    }
    for text in ["", "generators: []\nhelmCharts:\n", "resources: [../base]\ncomponents: [../base]"]
    {
        let world = World::new();
        world.write("overlay/kustomization.yaml", text);
        assert!(world.kustomize().is_ok(), "{text}");
    }
    let world = World::new();
    world.write("overlay/kustomization.yml", "");
    assert!(world.kustomize().is_err(), "two files");
}

/// Runs a command, and says whether it really ran.
fn run(world: &World, answer: Result<&str, &str>) -> (Result<String, String>, bool) {
    let ran = Cell::new(false);
    let result = remember_in(Some(&world.store()), &world.host, &HelmVersionInputs, || {
        ran.set(true);
        answer.map(str::to_owned).map_err(str::to_owned)
    });
    (result, ran.get())
}

#[test]
fn a_command_runs_once_unless_it_fails() {
    let world = World::new();
    assert_eq!(run(&world, Err("no")), (Err("no".to_owned()), true));
    assert_eq!(run(&world, Ok("v3\n")), (Ok("v3\n".to_owned()), true));
    assert_eq!(run(&world, Ok("v4\n")), (Ok("v3\n".to_owned()), false));
}

#[test]
fn inputs_that_change_meanwhile_are_not_kept() {
    let world = World::new();
    let result: Result<_, ()> =
        remember_in(Some(&world.store()), &world.host, &HelmVersionInputs, || {
            world.host.set_env("HELM_NAMESPACE", Some("other"));
            Ok("v3".to_owned())
        });
    assert_eq!(result, Ok("v3".to_owned()));
    assert_eq!(run(&world, Ok("v4")), (Ok("v4".to_owned()), true));
    world.host.set_env("HELM_NAMESPACE", Some("a"));
    assert_eq!(run(&world, Ok("v5")), (Ok("v5".to_owned()), true));
}

#[test]
fn damaged_entries_are_ignored() {
    let damages: &[fn(&Path)] = &[
        |file| fs::write(file, "").unwrap(),
        |file| fs::write(file, "engine cache 1\n").unwrap(),
        |file| {
            let mut bytes = fs::read(file).unwrap();
            *bytes.last_mut().unwrap() ^= 1;
            fs::write(file, bytes).unwrap();
        },
        |file| {
            let bytes = fs::read(file).unwrap();
            fs::write(file, &bytes[..bytes.len() - 1]).unwrap();
        },
        |file| fs::write(file, [fs::read(file).unwrap(), b"more".to_vec()].concat()).unwrap(),
    ];
    for damage in damages {
        let world = World::new();
        let store = world.store();
        let key = Key([7; 32]);
        store.put(&key, "text");
        assert_eq!(store.get(&key).as_deref(), Some("text"));
        let file = world.root.path().join("cache").join(key.hex());
        damage(&file);
        assert_eq!(store.get(&key), None);
        store.put(&key, "text");
        assert_eq!(store.get(&key).as_deref(), Some("text"));
        // An entry is not found under another name.
        fs::rename(&file, world.root.path().join("cache").join(Key([8; 32]).hex())).unwrap();
        assert_eq!(store.get(&Key([8; 32])), None);
    }
}

#[test]
fn old_entries_make_room() {
    let world = World::new();
    let store = world.store().bounded(4_000, 100);
    for n in 0..50 {
        store.put(&Key([n; 32]), &"x".repeat(500));
        let total: u64 = fs::read_dir(world.path("cache"))
            .unwrap()
            .map(|it| it.unwrap().metadata().unwrap().len())
            .sum();
        assert!(total <= 4_000, "{total}");
        assert!(store.get(&Key([n; 32])).is_some(), "the newest entry stays");
    }
    let store = world.store().bounded(1 << 20, 8);
    for n in 0..50 {
        store.put(&Key([n; 32]), "x");
        assert!(fs::read_dir(world.path("cache")).unwrap().count() <= 8);
    }
}

#[test]
fn the_cache_is_private() {
    let world = World::new();
    world.store().put(&Key([1; 32]), "secret");
    let mode = |path: &str| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&world.path("cache")), 0o700);
    assert_eq!(mode(&format!("{}/{}", world.path("cache"), Key([1; 32]).hex())), 0o600);
    fs::set_permissions(world.path("cache"), fs::Permissions::from_mode(0o777)).unwrap();
    assert!(Store::at(&world.host, world.path("cache")).is_none(), "others may write there");

    assert!(Store::open(&world.host).is_some());
    for home in [None, Some(""), Some("relative")] {
        world.host.set_env("HOME", home);
        assert!(Store::open(&world.host).is_none(), "{home:?}");
    }
    world.host.set_env("XDG_CACHE_HOME", Some(&world.path("xdg")));
    let store = Store::open(&world.host).expect("there is a place");
    store.put(&Key([2; 32]), "x");
    assert!(Path::new(&world.path("xdg/tilt-dev/engine")).is_dir());
}

//! Charts and overlays with the real tools: what comes from the cache is what the tools print, and costs no process.

#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]

use std::{
    env, fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use builtins::{
    Request, evaluate,
    host::{Command, DirEntry, FileInfo, Host, Level, OsHost, Output, RunError},
};

/// The machine, with a record of what was run and said.
struct Recorder {
    machine: OsHost,
    runs: Mutex<Vec<String>>,
    lines: Mutex<String>,
}

impl Host for Recorder {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        self.machine.read(path)
    }
    fn stat(&self, path: &str) -> io::Result<FileInfo> {
        self.machine.stat(path)
    }
    fn lstat(&self, path: &str) -> io::Result<FileInfo> {
        self.machine.lstat(path)
    }
    fn read_link(&self, path: &str) -> io::Result<String> {
        self.machine.read_link(path)
    }
    fn list(&self, dir: &str) -> io::Result<Vec<DirEntry>> {
        self.machine.list(dir)
    }
    fn write(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.machine.write(path, bytes)
    }
    fn remove(&self, path: &str) -> io::Result<()> {
        self.machine.remove(path)
    }
    fn write_scratch(&self, name: &str, text: &[u8]) -> io::Result<String> {
        self.machine.write_scratch(name, text)
    }
    fn env(&self, name: &str) -> Option<String> {
        self.machine.env(name)
    }
    fn env_vars(&self) -> Vec<(String, String)> {
        self.machine.env_vars()
    }
    fn set_env(&self, name: &str, value: Option<&str>) {
        self.machine.set_env(name, value);
    }
    fn find_program(&self, name: &str) -> Option<String> {
        self.machine.find_program(name)
    }
    fn run(
        &self,
        command: &Command,
        output: &mut dyn FnMut(Output, &[u8]),
    ) -> Result<i32, RunError> {
        self.runs.lock().unwrap().push(command.argv.join(" "));
        self.machine.run(command, output)
    }
    fn log(&self, _: Level, text: &str) {
        // The last line tells the time it took.
        if !text.starts_with("Successfully loaded") {
            self.lines.lock().unwrap().push_str(text);
        }
    }
    fn canceled(&self) -> bool {
        self.machine.canceled()
    }
}

/// What an evaluation comes to.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    result: String,
    log: String,
}

struct Project {
    root: tempfile::TempDir,
}

impl Project {
    fn new(files: &[(&str, &str)]) -> Self {
        let project = Self { root: tempfile::tempdir().unwrap() };
        for (name, text) in files {
            project.write(name, text);
        }
        project
    }

    fn write(&self, name: &str, text: &str) {
        let file = self.root.path().join("work").join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    fn at(&self, name: &str) -> String {
        self.root.path().join(name).to_str().unwrap().to_owned()
    }

    /// Evaluates, and also says what was run.
    fn evaluate(&self, use_cache: bool) -> (Outcome, Vec<String>) {
        let env =
            [("HOME", self.at("home")), ("PATH", search_path()), ("KUBECONFIG", self.at("none"))];
        let machine =
            OsHost::new(env.map(|(name, value)| (name.to_owned(), value)), Box::new(|_, _| {}));
        let host = Arc::new(Recorder { machine, runs: Mutex::default(), lines: Mutex::default() });
        let mut request = Request::new(&self.at("work/Tiltfile"), "alpha tiltfile-result");
        request.use_cache = use_cache;
        "2026-01-01T00:00:00Z".clone_into(&mut request.start_time);
        let evaluation = evaluate(&request, Arc::clone(&host) as Arc<dyn Host>);
        let failure = evaluation.failure.map(|it| format!("{it:?}"));
        let load = format!("{:?}", evaluation.load.manifests);
        let result = format!("{failure:?}\n{load}\n{:?}", evaluation.load.config_files);
        let outcome = Outcome { result, log: host.lines.lock().unwrap().clone() };
        let runs = host.runs.lock().unwrap().clone();
        (outcome, runs)
    }

    /// Checks that an evaluation runs the tools if and only if it has to, and what the tools say.
    fn check(&self, is_hit: bool, mentions: &str) {
        let (fresh, _) = self.evaluate(false);
        let (outcome, runs) = self.evaluate(true);
        assert_eq!(runs.is_empty(), is_hit, "{runs:?}");
        assert_eq!(outcome, fresh);
        assert!(outcome.result.contains(mentions), "`{mentions}` is missing: {}", outcome.result);
    }
}

/// The project's tools, then the caller's path without folders that hold a `kustomize`.
fn search_path() -> String {
    let set = |name: &str| env::var(name).ok().filter(|it| !it.is_empty());
    let tools = set("ENGINE_TOOLS_DIR").map_or_else(
        || {
            let cache = set("XDG_CACHE_HOME").map(PathBuf::from);
            cache
                .unwrap_or_else(|| Path::new(&set("HOME").unwrap_or_default()).join(".cache"))
                .join("engine-tools")
        },
        PathBuf::from,
    );
    assert!(
        tools.join("bin/helm").is_file(),
        "`helm` is not in `{}`: run `make tools`",
        tools.display()
    );
    let inherited = set("PATH").unwrap_or_default();
    let others = inherited.split(':').filter(|it| !Path::new(it).join("kustomize").exists());
    std::iter::once(tools.join("bin").to_str().unwrap()).chain(others).collect::<Vec<_>>().join(":")
}

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: NAME}\nspec: {containers: [{name: c, image: IMAGE}]}\n";

fn pod(name: &str, image: &str) -> String {
    POD.replace("NAME", name).replace("IMAGE", image)
}

fn chart(template: &str) -> Project {
    Project::new(&[
        ("Tiltfile", "k8s_yaml(helm('chart', namespace='ns', values='dev.yaml', set=['tag=7']))"),
        ("dev.yaml", "image: dev"),
        ("chart/Chart.yaml", "apiVersion: v2\nname: shop\nversion: 0.1.0\n"),
        ("chart/values.yaml", "image: base\ntag: 1\n"),
        ("chart/templates/pod.yaml", template),
        ("chart/templates/tests/t.yaml", &pod("test", "test")),
        (
            "chart/crds/crd.yaml",
            "apiVersion: example.dev/v1\nkind: Gadget\nmetadata: {name: gadget}\n",
        ),
    ])
}

#[test]
fn an_unchanged_chart_is_rendered_once() {
    let project = chart(&pod("{{ .Release.Name }}", "{{ .Values.image }}:{{ .Values.tag }}"));
    project.check(false, "image: dev:7");
    project.check(true, "image: dev:7");
    project.write("dev.yaml", "image: other");
    project.check(false, "image: other:7");
    project.check(true, "image: other:7");
    project.write("dev.yaml", "image: dev");
    project.check(true, "image: dev:7");

    project.write("chart/templates/pod.yaml", &pod("web", "changed"));
    project.check(false, "image: changed");
    project.write("chart/templates/more.yaml", &pod("extra", "more"));
    project.check(false, "image: more");
    project.write("beside.txt", "x");
    project.check(true, "image: more");

    // A subchart that is a link to a folder elsewhere.
    project.write("sub/Chart.yaml", "apiVersion: v2\nname: sub\nversion: 0.1.0\n");
    project.write("sub/templates/pod.yaml", &pod("sub", "sub"));
    fs::create_dir(project.at("work/chart/charts")).unwrap();
    symlink("../../sub", project.at("work/chart/charts/sub")).unwrap();
    project.check(false, "image: sub");
    project.check(true, "image: sub");
    project.write("sub/templates/pod.yaml", &pod("sub", "sub2"));
    project.check(false, "image: sub2");
}

#[test]
fn a_chart_of_chance_is_rendered_each_time() {
    let project = chart(&pod("{{ randAlphaNum 8 | lower }}", "x"));
    for _ in 0..2 {
        let (outcome, runs) = project.evaluate(true);
        assert!(runs.iter().any(|it| it.starts_with("helm template")), "{runs:?}");
        assert!(outcome.result.contains("image: x"), "{}", outcome.result);
    }
    let names = || project.evaluate(true).0.result;
    assert_ne!(names(), names());
}

#[test]
fn a_chart_that_fails_is_tried_again() {
    let project = chart("{{ fail \"broken\" }}");
    project.check(false, "broken");
    project.check(false, "broken");
    project.write("chart/templates/pod.yaml", &pod("web", "fixed"));
    project.check(false, "image: fixed");
    project.check(true, "image: fixed");
}

#[test]
fn an_unchanged_overlay_is_built_once() {
    let project = Project::new(&[
        ("Tiltfile", "k8s_yaml(kustomize('overlay'))"),
        ("base/kustomization.yaml", "resources: [pod.yaml]\n"),
        ("base/pod.yaml", &pod("web", "web")),
        (
            "overlay/kustomization.yaml",
            "resources: [../base]\nnamePrefix: dev-\npatches: [{path: p.yaml}]\nconfigMapGenerator: [{name: m, files: [f.txt]}]\n",
        ),
        (
            "overlay/p.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: web, labels: {patched: once}}\n",
        ),
        ("overlay/f.txt", "text"),
    ]);
    project.check(false, "patched: once");
    project.check(true, "patched: once");
    project.write(
        "overlay/p.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web, labels: {patched: twice}}\n",
    );
    project.check(false, "patched: twice");
    project.write("base/pod.yaml", &pod("web", "newer"));
    project.check(false, "image: newer");
    project.check(true, "image: newer");
    project.write("overlay/f.txt", "other text");
    project.check(false, "other text");
}

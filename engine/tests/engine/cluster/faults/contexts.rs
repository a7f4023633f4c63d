//! Kubeconfigs that change under a running engine: whatever they say, no other cluster hears of it, neither from the
//! engine nor from the commands that it runs.

use std::{
    fs,
    io::Read,
    net::TcpListener,
    path::Path,
    process::Command,
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use crate::{
    cluster::{
        faults::{Recovery, rounds},
        ground::{Project, config_map, until},
        way::Way,
    },
    support::Instance,
};

/// What a command may do with the cluster: it writes, says which contexts it knows, and would like to write elsewhere.
const TILTFILE: &str = r"
k8s_yaml('objects.yaml')
print('evaluated for ' + k8s_context())
local('kubectl --namespace NAMESPACE create configmap tiltfile --dry-run=client --output yaml')
local_resource(
    'child',
    'kubectl config get-contexts --output name | sed s/^/knows:/ && '
    + 'kubectl --namespace NAMESPACE create configmap child-$(cat n) && '
    + '! kubectl --context kind-other --namespace NAMESPACE create configmap astray',
    deps=['n'],
)
";

/// Another cluster, of which nobody is to hear: it notes who comes.
struct Other {
    port: u16,
    visits: Arc<Mutex<Vec<String>>>,
}

impl Other {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("it has an address").port();
        let visits: Arc<Mutex<Vec<String>>> = Arc::default();
        let noted = Arc::clone(&visits);
        // It ends with the test program.
        thread::spawn(move || {
            for mut visitor in listener.incoming().flatten() {
                let _ = visitor.set_read_timeout(Some(Duration::from_millis(500)));
                let mut said = [0; 200];
                let n_bytes = visitor.read(&mut said).unwrap_or(0);
                let said = String::from_utf8_lossy(&said[..n_bytes]).into_owned();
                noted.lock().expect("no thread panics").push(said);
            }
        });
        Self { port, visits }
    }

    /// Adds its context to a kubeconfig; that alone is no reason to use it.
    fn add_to(&self, kubeconfig: &Path, name: &str) {
        let server = format!("--server=http://127.0.0.1:{}", self.port);
        config(kubeconfig, &["set-cluster", name, &server]);
        config(kubeconfig, &["set-credentials", name, "--token=t"]);
        let (cluster, user) = (format!("--cluster={name}"), format!("--user={name}"));
        config(kubeconfig, &["set-context", name, &cluster, &user]);
    }

    /// Nobody has come.
    fn was_left_alone(&self) {
        let visits = self.visits.lock().expect("no thread panics");
        assert!(visits.is_empty(), "another cluster was asked: {visits:?}");
    }
}

/// Changes a kubeconfig as `kubectl config` does.
fn config(kubeconfig: &Path, args: &[&str]) -> String {
    let mut command = Command::new("kubectl");
    command.arg("config").arg("--kubeconfig").arg(kubeconfig).args(args);
    let output = command.output().expect("kubectl is in the PATH");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A project whose kubeconfig has two contexts, of which the one of the test cluster is in use.
struct World {
    project: Project,
    instance: Instance,
    way: Way,
    other: Other,
    context: String,
}

impl World {
    fn start() -> Option<Self> {
        let (mut project, way) = Way::project(TILTFILE, &config_map("a", "0"))?;
        way.open();
        let other = Other::new();
        let path = project.dir().join("way");
        let context = config(&path, &["current-context"]);
        other.add_to(&path, "kind-other");
        project.write("n", "0");
        let mut instance = project.up();
        until(&mut instance, "uncategorized", "ok", "ok");
        until(&mut instance, "child", "ok", "not_applicable");
        Some(Self { project, instance, way, other, context })
    }

    fn kubeconfig(&self) -> std::path::PathBuf {
        self.instance.dir.path().join("way")
    }

    /// Saves an object, what a command depends on, and the Tiltfile.
    fn save(&self, n: u64) {
        let project = &self.project;
        self.instance.write("objects.yaml", &project.text(&config_map("a", &n.to_string())));
        self.instance.write("n", &n.to_string());
        self.instance.write("Tiltfile", &project.text(&format!("{TILTFILE}# {n}\n")));
    }

    /// All of it is in the cluster that the run began with, and nobody knows of another one.
    fn arrives(&mut self, n: u64, recovery: &Recovery) {
        let Self { project, instance, .. } = self;
        recovery.until(instance, "the object arrives", |_| {
            project.field("configmap/a", ".data.key") == n.to_string()
        });
        recovery.until(instance, "the command has written", |_| {
            project.names("configmaps").contains(&format!("child-{n}"))
        });
        recovery.until_well(instance, "uncategorized");
        let log = instance.log();
        let known = log.lines().filter_map(|it| it.split_once("│ knows:")).map(|it| it.1.trim());
        assert!(known.clone().all(|it| it == self.context), "{:?}", known.collect::<Vec<_>>());
        let evaluated = log.lines().filter_map(|it| it.split_once("evaluated for "));
        assert!(evaluated.clone().all(|it| it.1 == self.context), "{log}");
        self.other.was_left_alone();
    }
}

#[test]
fn another_current_context_redirects_nothing() {
    let Some(mut world) = World::start() else { return };
    let path = world.kubeconfig();
    rounds("switched context", |n| {
        let to = if n % 2 == 1 { "kind-other" } else { world.context.as_str() };
        config(&path, &["use-context", to]);
        world.save(n);
        let recovery = Recovery::begins();
        world.arrives(n, &recovery);
        recovery.took()
    });
}

#[test]
fn another_kubeconfig_in_the_place_of_the_first_one_redirects_nothing() {
    let Some(mut world) = World::start() else { return };
    let path = world.kubeconfig();
    let original = fs::read_to_string(&path).expect("it can be read");
    rounds("switched kubeconfig", |n| {
        let new = path.with_extension("new");
        if n % 2 == 1 {
            world.other.add_to(&new, "kind-other");
            config(&new, &["use-context", "kind-other"]);
        } else {
            fs::write(&new, &original).expect("it can be written");
        }
        fs::rename(&new, &path).expect("it takes its place");
        world.save(n);
        let recovery = Recovery::begins();
        world.arrives(n, &recovery);
        recovery.took()
    });
}

#[test]
fn a_cluster_that_is_away_is_not_replaced_by_the_one_that_is_current_now() {
    let Some(mut world) = World::start() else { return };
    let path = world.kubeconfig();
    rounds("switched context while the cluster is away", |n| {
        world.way.cut();
        config(&path, &["use-context", "kind-other"]);
        let before = world.instance.log().len();
        let text = world.project.text(&config_map("a", &n.to_string()));
        world.instance.write("objects.yaml", &text);
        world.instance.until("it is noticed", |it| {
            it.log()[before..].contains("ERROR: Cluster status error: ")
        });
        // Everything is decided anew, and still for the same cluster.
        world.save(n);
        world.instance.until("the Tiltfile is loaded", |it| {
            let log = &it.log()[before..];
            log.matches("Successfully loaded Tiltfile").count() >= 2
        });
        world.other.was_left_alone();
        world.way.open();
        let recovery = Recovery::begins();
        world.instance.until("it is applied", |_| {
            world.project.field("configmap/a", ".data.key") == n.to_string()
        });
        recovery.until_well(&mut world.instance, "uncategorized");
        world.other.was_left_alone();
        config(&path, &["use-context", &world.context]);
        recovery.took()
    });
}

#[test]
fn a_context_that_may_be_production_is_refused_and_a_better_one_is_used_when_it_is_there() {
    let Some(mut project) = Project::new(TILTFILE, &config_map("a", "0")) else { return };
    let other = Other::new();
    let path = project.dir().join("two");
    fs::copy(std::env::var("KUBECONFIG").expect("it is set"), &path).expect("it can be copied");
    let good = config(&path, &["current-context"]);
    other.add_to(&path, "prod");
    config(&path, &["use-context", "prod"]);
    project.write("n", "0");
    project = project.with_env("KUBECONFIG", &path.display().to_string());
    let mut instance = project.up();
    instance.until("it is refused with the way out", |it| {
        let log = it.log();
        log.contains("prod might be ") && log.contains("allow_k8s_contexts('prod')")
    });
    instance.write("objects.yaml", &project.text(&config_map("a", "1")));
    other.was_left_alone();
    config(&instance.dir.path().join("two"), &["use-context", &good]);
    instance.write("Tiltfile", &project.text(&format!("{TILTFILE}# again\n")));
    let recovery = Recovery::begins();
    recovery.until(&mut instance, "it is applied to the other one", |_| {
        project.field("configmap/a", ".data.key") == "1"
    });
    other.was_left_alone();
}

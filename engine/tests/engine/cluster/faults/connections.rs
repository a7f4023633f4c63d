//! Connections that are cut, freeze, or cannot be made for a while: what is saved meanwhile arrives, logs go on where they
//! stopped, and ports lead to their pods.

use std::{thread, time::Duration};

use crate::{
    cluster::{
        faults::{Recovery, outage, rounds, why},
        ground::{Project, config_map, page, until},
        way::Way,
    },
    support::{Instance, named_port},
};

const TILTFILE: &str = r"
docker_build('NAMESPACE-web', 'app', live_update=[sync('app/www', '/www')])
k8s_yaml('objects.yaml')
k8s_resource('web', port_forwards='PORT:8000')
if str(read_file('extra')).strip() == 'on':
    k8s_yaml('extra.yaml')
    k8s_resource('extra', pod_readiness='ignore')
";

/// Serves the files that change, and counts, so that a line that is lost or told twice is noticed.
const DOCKERFILE: &str = "FROM busybox\nCOPY www /www\nLABEL of=NAMESPACE\n\
    CMD [\"sh\", \"-c\", \"httpd -p 8000 -h /www; while true; do i=$((i+1)); echo line $i; usleep 50000; done\"]\n";

const WEB: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: NAMESPACE}\nspec:\n\
    \x20 selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n\
    \x20     terminationGracePeriodSeconds: 0\n      containers: [{name: main, image: NAMESPACE-web}]\n---\n";

const EXTRA: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: extra, namespace: NAMESPACE}\nspec:\n\
    \x20 replicas: 0\n  selector: {matchLabels: {app: extra}}\n  template:\n    metadata: {labels: {app: extra}}\n\
    \x20   spec: {containers: [{name: main, image: busybox}]}\n";

/// A project with a bit of everything, on a way to the cluster that can fail.
struct World {
    project: Project,
    instance: Instance,
    way: Way,
    port: u16,
    pods: Vec<String>,
}

impl World {
    fn start() -> Option<Self> {
        let port = named_port();
        let tiltfile = TILTFILE.replace("PORT", &port.to_string());
        let (mut project, way) = Way::project(&tiltfile, &objects(0))?;
        way.open();
        project.write("extra.yaml", EXTRA);
        project.write("extra", "on");
        project.write("app/Dockerfile", DOCKERFILE);
        project.write("app/www/a", "0\n");
        let mut instance = project.up();
        for resource in ["web", "uncategorized", "extra"] {
            until(&mut instance, resource, "ok", "ok");
        }
        instance.until("the pod answers", |_| page(port, "/a") == "0\n");
        let pods = project.names("pods");
        Some(Self { project, instance, way, port, pods })
    }

    /// Saves something for each way into the cluster: a file, an object, and a resource that comes or goes.
    fn save(&self, n: u64) {
        self.instance.write("app/www/a", &format!("{n}\n"));
        self.instance.write("objects.yaml", &self.project.text(&objects(n)));
        self.instance.write("extra", extra(n));
    }

    /// Waits until what was saved is in the cluster, and everything works as before.
    fn recovers(&mut self, n: u64, recovery: &Recovery) {
        let Self { project, instance, port, .. } = self;
        recovery.until(instance, "the object arrives", |_| {
            project.field("configmap/a", ".data.key") == n.to_string()
        });
        recovery.until(instance, "the file arrives, and its port leads there", |_| {
            page(*port, "/a") == format!("{n}\n")
        });
        let has_extra = extra(n) == "on";
        recovery.until(instance, "the other resource has come or gone", |_| {
            project.names("deployments").contains(&"extra".to_owned()) == has_extra
        });
        let n_lines = lines(&instance.log()).len();
        recovery.until(instance, "the log goes on", |it| lines(&it.log()).len() > n_lines);
        recovery.until_well(instance, "web");
        recovery.until_well(instance, "uncategorized");
        recovery.until(instance, "its forward does well", |it| {
            let forwards = it.client(&["get", "portforward", "-o", "json"]);
            let forwards: serde_json::Value = serde_json::from_str(&forwards).expect("it is JSON");
            let status = &forwards["items"][0]["status"]["forwardStatuses"][0];
            status["error"].is_null() && !status["startedAt"].is_null()
        });
        self.check();
    }

    /// Nothing was lost, told twice, or replaced for no good reason.
    fn check(&self) {
        let log = self.instance.log();
        for (index, line) in lines(&log).into_iter().enumerate() {
            assert_eq!(line, (index + 1).to_string(), "a line is lost or told twice:\n{log}");
        }
        assert_eq!(self.project.names("pods"), self.pods, "the pod was replaced:\n{log}");
    }
}

/// The lines that the pod has counted.
fn lines(log: &str) -> Vec<&str> {
    log.lines().filter_map(|it| Some(it.split_once("web │ line ")?.1)).collect()
}

fn objects(n: u64) -> String {
    config_map("a", &n.to_string()) + WEB
}

fn extra(n: u64) -> &'static str {
    if n.is_multiple_of(2) { "on" } else { "off" }
}

#[test]
fn connections_that_are_dropped_again_and_again_lose_nothing() {
    let Some(mut world) = World::start() else { return };
    rounds("watch dropped", |n| {
        world.save(n);
        for _ in 0..20 {
            world.way.drop_all();
            thread::sleep(Duration::from_millis(50));
        }
        let recovery = Recovery::begins();
        world.recovers(n, &recovery);
        recovery.took()
    });
}

#[test]
fn an_api_server_that_is_away_is_told_and_gets_everything_when_it_is_back() {
    let Some(mut world) = World::start() else { return };
    rounds("API server away", |n| {
        let before = world.instance.log().len();
        world.way.cut();
        world.save(n);
        let instance = &mut world.instance;
        instance.until("it is known what the object waits for", |it| {
            let hold = why(it, "uncategorized")["hold"].clone();
            hold["reason"] == "waiting-for-cluster" && hold["on"][0]["error"].is_string()
        });
        let shown = instance.client(&["why", "uncategorized"]);
        assert!(shown.contains("waiting for Kubernetes"), "{shown}");
        let log = instance.log()[before..].to_owned();
        assert!(log.contains("ERROR: Cluster status error: "), "{log}");
        instance.until("it is told that the file waits too", |it| {
            it.log()[before..].contains("The cluster does not answer; the files follow as soon")
        });
        thread::sleep(outage());
        world.way.open();
        let recovery = Recovery::begins();
        world.recovers(n, &recovery);
        let log = &world.instance.log()[before..];
        assert!(log.contains("The Kubernetes cluster answers again"), "{log}");
        recovery.took()
    });
}

#[test]
fn connections_that_are_dead_without_saying_so_are_noticed() {
    let Some(mut world) = World::start() else { return };
    rounds("half-open connections", |n| {
        world.way.freeze();
        world.save(n);
        thread::sleep(outage());
        world.way.open();
        let recovery = Recovery::begins();
        world.recovers(n, &recovery);
        recovery.took()
    });
}

//! A cluster that is not there, goes away, and comes back; and another one in its place.

use std::{
    fs, io,
    net::{Shutdown, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use crate::{
    ground::{Project, config_map, deployment, until},
    instance::Instance,
};

const TILTFILE: &str = "k8s_yaml('objects.yaml')\n";

/// A way to the real cluster that can be cut.
struct Way {
    server: String,
    listener: TcpListener,
    is_open: Arc<Mutex<bool>>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Way {
    /// A way that nobody can go yet, and the kubeconfig that leads there.
    fn new() -> (Self, String) {
        let path = std::env::var("KUBECONFIG").expect("it is set");
        let text = fs::read_to_string(path).expect("it can be read");
        let line = text.lines().find(|it| it.trim_start().starts_with("server:"));
        let url = line.and_then(|it| it.split_once("server:")).expect("it names a server").1.trim();
        let server = url.trim_start_matches("https://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("it has an address").port();
        let here = format!("https://127.0.0.1:{port}");
        let way = Self { server, listener, is_open: Arc::default(), open: Arc::default() };
        way.listen();
        (way, text.replace(url, &here))
    }

    fn listen(&self) {
        let listener = self.listener.try_clone().expect("it can be shared");
        let (server, open) = (self.server.clone(), Arc::clone(&self.open));
        let is_open = Arc::clone(&self.is_open);
        // It ends with the test program.
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if !*is_open.lock().expect("no thread panics") {
                    continue;
                }
                let Ok(server) = TcpStream::connect(&server) else { continue };
                let mut open = open.lock().expect("no thread panics");
                open.extend([client.try_clone(), server.try_clone()].into_iter().flatten());
                forward(&client, &server);
                forward(&server, &client);
            }
        });
    }

    /// From now on the cluster can be reached.
    fn open(&self) {
        *self.is_open.lock().expect("no thread panics") = true;
    }

    /// Nobody can reach the cluster any more, and those who did are cut off.
    fn cut(&self) {
        *self.is_open.lock().expect("no thread panics") = false;
        for stream in self.open.lock().expect("no thread panics").drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn forward(from: &TcpStream, to: &TcpStream) {
    let (Ok(mut from), Ok(mut to)) = (from.try_clone(), to.try_clone()) else { return };
    thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
}

/// A project that reaches the cluster by a way that can be cut.
fn project(yaml: &str) -> Option<(Project, Way)> {
    let project = Project::new(TILTFILE, yaml)?;
    let (way, kubeconfig) = Way::new();
    project.write("way", &kubeconfig);
    let path = project.dir().join("way").display().to_string();
    Some((project.with_env("KUBECONFIG", &path), way))
}

fn hold(instance: &Instance, resource: &str) -> serde_json::Value {
    let answer = instance.client(&["why", "--json", resource]);
    let answer: serde_json::Value = serde_json::from_str(&answer).expect("it is JSON");
    answer["hold"].clone()
}

#[test]
fn resources_wait_for_a_cluster_and_deploy_when_it_comes_up() {
    let Some((mut project, way)) = project(&config_map("a", "one")) else { return };
    let mut instance = project.up();
    until(&mut instance, "uncategorized", "pending", "pending");
    instance.until("it is known why", |it| {
        let hold = hold(it, "uncategorized");
        let error = hold["on"][0]["error"].as_str().unwrap_or_default().to_owned();
        hold["reason"] == "waiting-for-cluster" && error.contains("Kubernetes cluster")
    });
    way.open();
    until(&mut instance, "uncategorized", "ok", "ok");
    assert_eq!(project.field("configmap/a", ".data.key"), "one");
}

#[test]
fn an_update_without_a_cluster_fails_in_words_and_runs_again_when_it_is_back() {
    let Some((mut project, way)) = project(&config_map("a", "one")) else { return };
    way.open();
    let mut instance = project.up();
    until(&mut instance, "uncategorized", "ok", "ok");
    way.cut();
    instance.write("objects.yaml", &project.text(&config_map("a", "two")));
    instance.until("it is held", |it| hold(it, "uncategorized")["reason"] == "waiting-for-cluster");
    assert!(instance.log().contains("ERROR: Cluster status error: "), "{}", instance.log());
    way.open();
    instance.until("it is applied", |_| project.field("configmap/a", ".data.key") == "two");
    until(&mut instance, "uncategorized", "ok", "ok");
}

#[test]
fn pods_and_logs_are_followed_again_after_the_connection_broke() {
    let yaml = deployment("web", "while true; do sleep 0.2; date +tick%s; done");
    let Some((mut project, way)) = project(&yaml) else { return };
    way.open();
    let mut instance = project.up();
    instance.until("it prints", |it| it.log().contains("web │ tick"));
    way.cut();
    let before = instance.log().len();
    way.open();
    instance.until("it prints again", |it| it.log()[before..].contains("web │ tick"));
    let pod = project.names("pods").remove(0);
    project.kubectl(&["delete", "pod", &pod, "--wait=false"]);
    instance.until("the next pod is seen", |it| {
        it.log()[before..].contains("Tracking new pod rollout (web-")
    });
    until(&mut instance, "web", "ok", "ok");
}

#[test]
fn ci_ends_at_once_when_there_is_no_cluster() {
    let Some((project, _way)) = project(&config_map("a", "one")) else { return };
    let output = project.engine(None, &["ci", "--port", "0"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{output:?}");
    assert!(stderr.contains("Error: cluster connection failed"), "{stderr}");
}

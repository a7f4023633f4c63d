//! A namespace of its own, what runs in it, and what is reported of it.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine_kubernetes::{
    Cluster, ContainerLog, ContainerPlace, Interest, ObjectKey, Pod, PodContainer, Seen, Tracker,
    read_log, uid,
};
use engine_model::Time;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::cluster::support::{kubeconfig, kubectl};

/// How long anything may take on a machine with much to do.
pub(crate) const LONG: Duration = Duration::from_mins(2);

/// A namespace, which is removed again.
pub(crate) struct Place {
    pub(crate) cluster: Cluster,
    pub(crate) namespace: String,
}

impl Place {
    pub(crate) async fn new(name: &str) -> Self {
        Self::with(name, &kubeconfig()).await
    }

    /// A namespace that is reached in another way than by the cluster's own kubeconfig.
    pub(crate) async fn with(name: &str, kubeconfig: &str) -> Self {
        let random = tempfile::Builder::new().rand_bytes(8).tempdir().unwrap();
        let random = random.path().to_str().unwrap().to_lowercase();
        let random: String = random.chars().filter(char::is_ascii_alphanumeric).collect();
        let namespace = format!("read-{name}-{}", &random[random.len() - 8..]);
        kubectl(&["create", "namespace", &namespace]);
        let cluster = Cluster::new(kubeconfig, Some(&namespace)).await.unwrap();
        Self { cluster, namespace }
    }

    /// Does something by hand in the namespace.
    pub(crate) fn kubectl(&self, words: &[&str]) -> String {
        kubectl(&[&["-n", &self.namespace], words].concat())
    }

    /// Makes an object by hand; the answer is what names it.
    pub(crate) fn make(&self, object: &Value) -> (ObjectKey, String) {
        let words = ["-n", &self.namespace, "apply", "-o", "json", "-f", "-"];
        let made = feed(&words, &object.to_string());
        let made: Value = serde_json::from_str(&made).unwrap();
        (ObjectKey::of(&made), uid(&made).to_owned())
    }

    /// Follows objects as those of a resource `web`.
    pub(crate) fn follow(&self, deployed: &[(ObjectKey, String)]) -> Sights {
        self.follow_as(Interest { deployed: deployed.to_vec(), ..Interest::default() })
    }

    pub(crate) fn follow_as(&self, interest: Interest) -> Sights {
        let (sender, seen) = watch::channel(Vec::new());
        let report = move |it| sender.send_modify(|all: &mut Vec<Seen>| all.push(it));
        let since = Timestamp::now() - Duration::from_mins(1);
        let since = Time(since.as_microsecond());
        let tracker = Tracker::new(self.cluster.clone(), since, Arc::new(report));
        tracker.follow("web", interest);
        Sights { tracker, seen }
    }

    /// Makes a pod, and waits until its containers run.
    pub(crate) async fn run(&self, pod: &Value) -> Pod {
        let made = self.make(pod);
        let mut sights = self.follow(&[made]);
        sights.pods(|pods| pods.iter().find(|it| it.all_ready()).cloned()).await
    }

    pub(crate) fn container(&self, pod: &str, container: &str) -> ContainerPlace {
        let [pod, container] = [pod, container].map(str::to_owned);
        ContainerPlace { namespace: self.namespace.clone(), pod, container }
    }

    /// Reads the log of a run of a container while the test goes on.
    pub(crate) fn read(&self, pod: &Pod, container: &PodContainer) -> Reading {
        let of = ContainerLog {
            namespace: self.namespace.clone(),
            pod: pod.name.clone(),
            container: container.name.clone(),
            container_id: container.id.clone(),
            since: None,
        };
        let (sender, text) = watch::channel(String::new());
        let troubles = Arc::new(Mutex::new(Vec::new()));
        let (told, cluster) = (Arc::clone(&troubles), self.cluster.clone());
        let task = tokio::spawn(async move {
            let write = |line: &str| sender.send_modify(|all| all.push_str(line));
            let trouble = |error: &str| told.lock().unwrap().push(error.to_owned());
            read_log(cluster, of, write, trouble).await;
        });
        Reading { task, text, troubles }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let words = ["delete", "namespace", &self.namespace, "--wait=false"];
        let _ = Command::new("kubectl").args(words).output();
    }
}

/// Gives `kubectl` something to read.
fn feed(words: &[&str], input: &str) -> String {
    let mut command = Command::new("kubectl");
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What a tracker reports.
pub(crate) struct Sights {
    pub(crate) tracker: Tracker,
    pub(crate) seen: watch::Receiver<Vec<Seen>>,
}

impl Sights {
    /// Waits until the newest pods of the resource are as wanted.
    pub(crate) async fn pods<T>(&mut self, wanted: impl Fn(&[Pod]) -> Option<T>) -> T {
        self.until(|seen| {
            let newest = seen.iter().rev().find_map(|it| match it {
                Seen::Pods { pods, .. } => Some(pods),
                _ => None,
            });
            wanted(newest?)
        })
        .await
    }

    /// Waits until what was reported is as wanted.
    pub(crate) async fn until<T>(&mut self, wanted: impl Fn(&[Seen]) -> Option<T>) -> T {
        let mut found = None;
        let waited = self.seen.wait_for(|seen| {
            found = wanted(seen);
            found.is_some()
        });
        let waited = tokio::time::timeout(LONG, waited).await.map(drop);
        waited.unwrap_or_else(|_| panic!("not seen in {:#?}", self.words()));
        found.unwrap()
    }
}

impl Sights {
    /// What was reported, in short.
    fn words(&self) -> Vec<String> {
        let short = |seen: &Seen| match seen {
            Seen::Pods { pods, .. } => {
                let pods = pods.iter().map(|it| format!("{} {}", it.name, it.status));
                pods.collect::<Vec<_>>().join(", ")
            }
            other => format!("{other:?}"),
        };
        self.seen.borrow().iter().map(short).collect()
    }
}

/// A log that is read.
pub(crate) struct Reading {
    pub(crate) task: tokio::task::JoinHandle<()>,
    pub(crate) text: watch::Receiver<String>,
    pub(crate) troubles: Arc<Mutex<Vec<String>>>,
}

impl Reading {
    /// Waits for a line.
    pub(crate) async fn line(&mut self, line: &str) {
        let waited = self.text.wait_for(|it| it.lines().any(|it| it == line));
        let waited = tokio::time::timeout(LONG, waited).await.map(drop);
        waited.unwrap_or_else(|_| panic!("no {line} in {}", *self.text.borrow()));
    }

    /// Waits until the run of the container is over; the answer is all of its log.
    pub(crate) async fn all(self) -> String {
        tokio::time::timeout(LONG, self.task).await.unwrap().unwrap();
        self.text.borrow().clone()
    }
}

/// Data of which no part is like another one.
pub(crate) fn noise(n_bytes: u32) -> Vec<u8> {
    (0..n_bytes / 4).flat_map(u32::to_le_bytes).collect()
}

/// A pod with one container that runs a script.
pub(crate) fn pod(name: &str, script: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": spec("Always", script),
    })
}

pub(crate) fn spec(restart: &str, script: &str) -> Value {
    json!({
        "restartPolicy": restart,
        "terminationGracePeriodSeconds": 1,
        "containers": [{"name": "main", "image": "busybox", "command": ["sh", "-c", script],
                        "imagePullPolicy": "IfNotPresent"}],
    })
}

//! The cluster of the test ground, and namespaces that are removed again.

use std::{
    process::Command,
    sync::{Arc, Mutex},
    time::Duration,
};

use engine_kubernetes::{
    Applied, ApplyOptions, Cluster, DeleteOptions, DeleteOrder, Drift, ObjectKey, Verb, Write,
};
use serde_json::{Value, json};

/// The kubeconfig of the test cluster.
pub(crate) fn kubeconfig() -> String {
    let path = std::env::var("KUBECONFIG")
        .expect("KUBECONFIG is not set: run this with `scripts/cluster.sh run cargo test …`");
    std::fs::read_to_string(path).unwrap()
}

/// Does something by hand, as a person would.
pub(crate) fn kubectl(words: &[&str]) -> String {
    let output = Command::new("kubectl").args(words).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A namespace of its own in the cluster.
pub(crate) struct Ground {
    pub(crate) cluster: Cluster,
    pub(crate) namespace: String,
    writes: Arc<Mutex<Vec<Write>>>,
    said: Mutex<Vec<String>>,
    /// What is in no namespace, as `kubectl delete` takes it.
    pub(crate) global: Vec<String>,
}

impl Ground {
    pub(crate) async fn new(name: &str) -> Self {
        let random = tempfile::Builder::new().rand_bytes(8).tempdir().unwrap();
        let random = random.path().to_str().unwrap().to_lowercase();
        let random: String = random.chars().filter(char::is_ascii_alphanumeric).collect();
        let namespace = format!("write-{name}-{}", &random[random.len() - 8..]);
        let writes = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&writes);
        let cluster = Cluster::new(&kubeconfig(), Some(&namespace)).await.unwrap();
        let cluster = cluster.observed(Arc::new(move |write| sink.lock().unwrap().push(write)));
        let (said, global) = (Mutex::default(), Vec::new());
        let ground = Self { cluster, namespace, writes, said, global };
        kubectl(&["create", "namespace", &ground.namespace]);
        ground
    }

    pub(crate) async fn apply(&self, objects: &[Value]) -> Applied {
        self.apply_with(objects, &options()).await
    }

    pub(crate) async fn apply_with(&self, objects: &[Value], options: &ApplyOptions) -> Applied {
        let say = |line: &str| self.said.lock().unwrap().push(line.to_owned());
        self.cluster.apply(objects.to_vec(), options, &say).await
    }

    /// Applies what must work, and gives the first object as the server has it.
    pub(crate) async fn applied(&self, objects: &[Value]) -> Value {
        let applied = self.apply(objects).await;
        assert_eq!(applied.error, None);
        assert_eq!(applied.objects.len(), objects.len());
        applied.objects[0].clone()
    }

    pub(crate) async fn delete(&self, objects: &[Value], options: &DeleteOptions) {
        let say = |line: &str| self.said.lock().unwrap().push(line.to_owned());
        self.cluster.delete(objects, options, &say).await.unwrap();
    }

    /// An object of this namespace.
    pub(crate) async fn get(&self, api_version: &str, kind: &str, name: &str) -> Option<Value> {
        let [api_version, kind, name] = [api_version, kind, name].map(str::to_owned);
        let namespace = self.namespace.clone();
        self.cluster.get(&ObjectKey { api_version, kind, namespace, name }).await.unwrap()
    }

    /// What was written since the last time, such as `create ConfigMap/a`.
    pub(crate) fn writes(&self) -> Vec<String> {
        let writes = std::mem::take(&mut *self.writes.lock().unwrap());
        let tell = |it: &Write| format!("{} {}/{}", it.verb.name(), it.object.kind, it.object.name);
        writes.iter().map(tell).collect()
    }

    /// What was written since the last time, as it was told.
    pub(crate) fn audit(&self) -> Vec<Write> {
        std::mem::take(&mut *self.writes.lock().unwrap())
    }

    /// What was said since the last time.
    pub(crate) fn said(&self) -> Vec<String> {
        std::mem::take(&mut *self.said.lock().unwrap())
    }

    /// Does something by hand in this namespace.
    pub(crate) fn kubectl(&self, words: &[&str]) -> String {
        kubectl(&[&["-n", &self.namespace], words].concat())
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        let delete = |words: &[&str]| {
            let options = ["delete", "--ignore-not-found", "--wait=false"];
            let _ = Command::new("kubectl").args(options).args(words).output();
        };
        for it in &self.global {
            delete(&[it]);
        }
        delete(&["namespace", &self.namespace]);
    }
}

pub(crate) fn options() -> ApplyOptions {
    ApplyOptions {
        server_side: false,
        timeout: Duration::from_secs(30),
        drift: Drift::Keep,
        cause: "a test".to_owned(),
    }
}

pub(crate) fn overwriting() -> ApplyOptions {
    ApplyOptions { drift: Drift::Overwrite, ..options() }
}

pub(crate) fn deleting() -> DeleteOptions {
    DeleteOptions {
        order: DeleteOrder::Reverse,
        with_namespaces: false,
        honor_down_policy: false,
        timeout: Duration::from_secs(30),
        wait: None,
        cause: "a test".to_owned(),
    }
}

pub(crate) fn config_map(name: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

/// A workload without pods, as those are not what these tests are about.
pub(crate) fn deployment(name: &str, image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{
                    "name": "app", "image": image, "env": [{"name": "A", "value": ""}],
                    "ports": [{"containerPort": 80}],
                    "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}},
                }]},
            },
        },
    })
}

pub(crate) fn job(name: &str, word: &str) -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
        "spec": {"suspend": true, "template": {"spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "job", "image": "busybox", "command": ["echo", word]}],
        }}},
    })
}

pub(crate) fn version(object: &Value) -> &str {
    object["metadata"]["resourceVersion"].as_str().unwrap()
}

/// The definition of a kind, in a group of its own.
pub(crate) fn definition(group: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("widgets.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {
                "openAPIV3Schema": {"type": "object", "properties": {"spec": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}],
        },
    })
}

pub(crate) fn widget(group: &str, spec: &Value) -> Value {
    json!({"apiVersion": format!("{group}/v1"), "kind": "Widget",
        "metadata": {"name": "one"}, "spec": spec})
}

/// What a write did, for tests that look at one.
pub(crate) fn verbs(writes: &[Write]) -> Vec<Verb> {
    writes.iter().map(|it| it.verb).collect()
}

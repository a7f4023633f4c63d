//! A cluster that was taken away and made again is another one.

use std::process::Command;

use engine_kubernetes::{Cluster, ObjectKey};
use serde_json::json;

use crate::support::{config_map, options};

/// An API server of its own with its store, which is taken away in the end.
struct Control {
    dir: tempfile::TempDir,
}

impl Control {
    fn new() -> Self {
        let control = Self { dir: tempfile::tempdir_in("/tmp").unwrap() };
        control.script(&["up"]);
        control
    }

    fn command(&self, words: &[&str]) -> Command {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/cluster.sh");
        let mut command = Command::new(script);
        command.args(words).env("ENGINE_CLUSTER_DIR", self.dir.path());
        command.env("ENGINE_CLUSTER_PARTS", "api");
        command
    }

    fn script(&self, words: &[&str]) {
        let output = self.command(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    async fn cluster(&self) -> Cluster {
        let kubeconfig = std::fs::read_to_string(self.dir.path().join("kubeconfig")).unwrap();
        Cluster::new(&kubeconfig, None).await.unwrap()
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = self.command(&["down"]).output();
    }
}

#[tokio::test]
async fn a_cluster_that_was_made_again_with_the_same_keys_gets_nothing_until_it_is_pinned() {
    let control = Control::new();
    let cluster = control.cluster().await;
    cluster.pin(cluster.identity().await.unwrap());
    let wanted = || vec![config_map("a", json!({"x": "1"}))];
    let applied = cluster.apply(wanted(), &options(), &|_| {}).await;
    assert_eq!((applied.error, applied.n_writes), (None, 1));

    // Away: nothing is hidden, and nothing hangs.
    control.script(&["stop", "apiserver"]);
    let error = cluster.apply(wanted(), &options(), &|_| {}).await.error.unwrap();
    assert!(error.ends_with(": connect: connection refused"), "{error}");

    // Back as another cluster, with the same keys at the same place.
    control.script(&["stop", "etcd"]);
    std::fs::remove_dir_all(control.dir.path().join("data")).unwrap();
    control.script(&["up"]);
    let mut said = String::new();
    while !said.starts_with("another cluster answers at ") {
        // The new server may not have made the namespace yet that tells who it is.
        said = cluster.apply(wanted(), &options(), &|_| {}).await.error.unwrap();
    }
    let again = control.cluster().await;
    let key = ObjectKey { namespace: "default".to_owned(), ..key_of_a() };
    assert_eq!(again.get(&key).await.unwrap(), None, "nothing was written");
    again.pin(again.identity().await.unwrap());
    let applied = again.apply(wanted(), &options(), &|_| {}).await;
    assert_eq!((applied.error, applied.n_writes), (None, 1));
}

fn key_of_a() -> ObjectKey {
    ObjectKey::of(&config_map("a", json!({})))
}

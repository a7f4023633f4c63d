//! A cluster that was taken away and made again is another one.

use std::path::Path;

use engine_kubernetes::{Cluster, ObjectKey};
use serde_json::json;

use crate::cluster::{
    control::Control,
    support::{config_map, options},
};

async fn connect(control: &Control) -> Cluster {
    let kubeconfig = std::fs::read_to_string(control.kubeconfig()).unwrap();
    Cluster::new(&kubeconfig, None).await.unwrap()
}

#[tokio::test]
async fn a_cluster_that_was_made_again_with_the_same_keys_gets_nothing_until_it_is_pinned() {
    let control = Control::new(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    let cluster = connect(&control).await;
    cluster.pin(cluster.identity().await.unwrap());
    let wanted = || vec![config_map("a", json!({"x": "1"}))];
    let applied = cluster.apply(wanted(), &options(), &|_| {}).await;
    assert_eq!((applied.error, applied.n_writes), (None, 1));

    // Away: nothing is hidden, and nothing hangs.
    control.run(&["stop", "apiserver"]);
    let error = cluster.apply(wanted(), &options(), &|_| {}).await.error.unwrap();
    assert!(error.ends_with(": connect: connection refused"), "{error}");

    // Back as another cluster, with the same keys at the same place.
    control.make_again();
    let mut said = String::new();
    while !said.starts_with("another cluster answers at ") {
        // The new server may not have made the namespace yet that tells who it is.
        said = cluster.apply(wanted(), &options(), &|_| {}).await.error.unwrap();
    }
    let again = connect(&control).await;
    let key = ObjectKey { namespace: "default".to_owned(), ..key_of_a() };
    assert_eq!(again.get(&key).await.unwrap(), None, "nothing was written");
    again.pin(again.identity().await.unwrap());
    let applied = again.apply(wanted(), &options(), &|_| {}).await;
    assert_eq!((applied.error, applied.n_writes), (None, 1));
}

fn key_of_a() -> ObjectKey {
    ObjectKey::of(&config_map("a", json!({})))
}

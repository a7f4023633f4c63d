//! Reaching the cluster in the ways that kubeconfigs name.

use std::{
    os::unix::fs::PermissionsExt as _,
    sync::{Arc, Mutex},
};

use engine_kubernetes::{Cluster, Identity, KubernetesError};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use crate::cluster::support::{kubeconfig, kubectl};

#[tokio::test]
async fn a_cluster_says_its_version_its_health_its_nodes_and_who_it_is() {
    let cluster = Cluster::new(&kubeconfig(), None).await.unwrap();
    assert!(cluster.version().await.unwrap().git_version.starts_with("v1."));
    cluster.check_health().await.unwrap();
    assert!(!cluster.nodes().await.unwrap().is_empty());
    assert_eq!(cluster.namespace(), "default");
    let uid = kubectl(&["get", "namespace", "kube-system", "-o", "jsonpath={.metadata.uid}"]);
    let identity = cluster.identity().await.unwrap();
    assert_eq!(identity, Identity::Uid(uid));
    cluster.pin(identity);
    cluster.check_health().await.unwrap();
}

/// The kubeconfig with credentials of another kind.
fn with_user(user: &str) -> String {
    let server =
        kubectl(&["config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}"]);
    format!(
        "{{apiVersion: v1, kind: Config, current-context: c, contexts: [{{name: c, context: \
         {{cluster: c, user: u}}}}], clusters: [{{name: c, cluster: {{server: '{server}', \
         insecure-skip-tls-verify: true}}}}], users: [{{name: u, user: {user}}}]}}"
    )
}

#[tokio::test]
async fn a_token_and_a_plugin_that_gives_one_are_used_without_trusted_certificates() {
    let token = kubectl(&["-n", "default", "create", "token", "default"]);
    let cluster = Cluster::new(&with_user(&format!("{{token: {token}}}")), None).await.unwrap();
    assert!(cluster.version().await.is_ok());
    // This account may not look at that namespace.
    assert!(matches!(cluster.identity().await.unwrap(), Identity::Server { .. }));

    let dir = tempfile::tempdir().unwrap();
    let plugin = dir.path().join("plugin");
    let credential = format!(
        "#!/bin/sh\necho '{{\"apiVersion\":\"client.authentication.k8s.io/v1\",\
         \"kind\":\"ExecCredential\",\"status\":{{\"token\":\"{token}\"}}}}'\n"
    );
    std::fs::write(&plugin, credential).unwrap();
    std::fs::set_permissions(&plugin, std::fs::Permissions::from_mode(0o755)).unwrap();
    let user = format!(
        "{{exec: {{apiVersion: client.authentication.k8s.io/v1, command: '{}', interactiveMode: \
         Never}}}}",
        plugin.display()
    );
    let cluster = Cluster::new(&with_user(&user), None).await.unwrap();
    let error = cluster.nodes().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "nodes is forbidden: User \"system:serviceaccount:default:default\" cannot list resource \
         \"nodes\" in API group \"\" at the cluster scope"
    );
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_in_gos_words() {
    let kubeconfig = "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, \
                      context: {cluster: c, user: u}}], clusters: [{name: c, cluster: {server: \
                      'http://127.0.0.1:1'}}], users: [{name: u, user: {}}]}";
    let cluster = Cluster::new(kubeconfig, None).await.unwrap();
    assert_eq!(
        cluster.version().await.unwrap_err(),
        KubernetesError::Unreachable(
            "Get \"http://127.0.0.1:1/version\": dial tcp 127.0.0.1:1: connect: connection refused"
                .to_owned()
        )
    );
}

#[tokio::test]
async fn the_proxy_of_the_kubeconfig_leads_to_the_cluster() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let heads = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&heads);
    let proxy = async move {
        let mut connections = JoinSet::new();
        while let Ok((mut client, _)) = listener.accept().await {
            let heads = Arc::clone(&kept);
            connections.spawn(async move {
                let mut head = String::new();
                while !head.ends_with("\r\n\r\n") {
                    head.push(client.read_u8().await.unwrap().into());
                }
                let to = head.split(' ').nth(1).unwrap().to_owned();
                heads.lock().unwrap().push(head);
                let mut server = TcpStream::connect(to).await.unwrap();
                client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            });
        }
    };
    let line = format!("    proxy-url: http://me:pass%40word@{address}\n    server:");
    let kubeconfig = kubeconfig().replace("    server:", &line);
    let cluster = Cluster::new(&kubeconfig, None).await.unwrap();
    tokio::select! {
        () = proxy => panic!("the proxy ended"),
        version = cluster.version() => assert!(version.unwrap().git_version.starts_with("v1.")),
    }
    let heads = heads.lock().unwrap();
    assert!(heads[0].starts_with("CONNECT "), "{heads:?}");
    assert!(heads[0].to_lowercase().contains("proxy-authorization: basic "), "{heads:?}");
    assert!(
        heads[0].contains("bWU6cGFzc0B3b3Jk"),
        "the password is meant as it was before escaping"
    );
}

//! Which cluster is used, for files written in JSON, which is YAML, too.

use std::collections::HashMap;

use super::*;

struct Files(HashMap<&'static str, &'static str>);

impl crate::Files for Files {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let text = path.to_str().and_then(|it| self.0.get(it)).ok_or(io::ErrorKind::NotFound)?;
        Ok(text.as_bytes().to_vec())
    }
}

const KIND: &str = r#"{"apiVersion": "v1", "kind": "Config", "current-context": "kind-kind",
    "clusters": [{"name": "kind-kind", "cluster": {"server": "https://127.0.0.1:1"}}],
    "contexts": [{"name": "kind-kind", "context": {"cluster": "kind-kind", "user": "kind-kind"}}],
    "users": [{"name": "kind-kind", "user": {}}]}"#;
const OTHER: &str = r#"{"current-context": "other", "preferences": {"colors": true},
    "clusters": [{"name": "kind-kind", "cluster": {"server": "https://x"}},
        {"name": "other", "cluster": {"server": "https://o", "certificate-authority": "ca.crt"}}],
    "contexts": [{"name": "other", "context": {"cluster": "other", "user": "u", "namespace": "ns"}},
        {"name": "lost", "context": {"cluster": "kind-kind", "user": "zip"}}],
    "users": [{"name": "u", "user": {"token": "abc", "password": null, "exec":
        {"command": "./x", "args": ["a"], "apiVersion": "client.authentication.k8s.io/v1beta1"}}}]}"#;

fn files() -> Files {
    Files(HashMap::from([
        ("/k/kind", KIND),
        ("sub/other", OTHER),
        ("/cwd/sub/ca.crt", "CERT"),
        ("/empty", ""),
        ("/bad", "{"),
        ("/v2", r#"{"apiVersion": "v2"}"#),
    ]))
}

fn load(paths: &[&str], context: Option<&str>) -> Result<KubeConfig, KubeConfigError> {
    let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
    let overrides = Overrides { context: context.map(str::to_owned), namespace: None };
    KubeConfig::load(&paths, &overrides, "/cwd", &files())
}

#[test]
fn the_first_file_wins() {
    for (paths, context, expected) in [
        (&["/k/kind"][..], None, "kind-kind default kind-kind kind https://127.0.0.1:1"),
        (&["/k/kind", "sub/other"], None, "kind-kind default kind-kind kind https://127.0.0.1:1"),
        (&["sub/other", "/k/kind"], None, "other ns other unknown https://o"),
        (&["/missing", "", "sub/other"], None, "other ns other unknown https://o"),
        (&["/empty", "/k/kind", "sub/other"], Some("other"), "other ns other unknown https://o"),
        (&["sub/other"], Some("lost"), "lost default kind-kind kind https://x"),
    ] {
        let config = load(paths, context).unwrap();
        let cluster = &config.clusters[config.cluster_name()];
        let found = format!(
            "{} {} {} {} {}",
            config.current_context,
            config.namespace(),
            config.cluster_name(),
            config.product("/home/me"),
            cluster.server
        );
        assert_eq!(found, expected, "{paths:?}");
    }
}

#[test]
fn a_context_that_cannot_be_used_is_an_error() {
    let none = "Loading Kubernetes config: invalid configuration: no configuration has been \
        provided, try setting KUBERNETES_MASTER environment variable";
    for (paths, context, expected) in [
        (&[][..], None, none),
        (&["/empty"], None, none),
        (&["/missing"], None, none),
        (
            &["/k/kind"],
            Some("nope"),
            "Loading Kubernetes config: invalid configuration: [context was not found for \
             specified context: nope, cluster has no server defined]",
        ),
        (
            &["/bad", "/k/kind"],
            None,
            "Loading Kubernetes config: error loading config file \"/bad\": yaml: line 1: \
             did not find expected node content",
        ),
    ] {
        assert_eq!(load(paths, context).unwrap_err().to_string(), expected);
    }
    assert!(load(&["/v2"], None).unwrap_err().to_string().contains("no kind \"Config\""));
}

#[test]
fn commands_see_only_the_context_in_use() {
    let pinned = |context: &str| {
        let pinned = load(&["sub/other"], Some(context)).unwrap().pinned(&files());
        pinned.map_or_else(|error| error.to_string(), |value| value.to_string())
    };
    assert_eq!(
        pinned("other"),
        r#"{"apiVersion":"v1","clusters":[{"cluster":{"certificate-authority-data":"Q0VSVA==","server":"https://o"},"name":"other"}],"contexts":[{"context":{"cluster":"other","namespace":"ns","user":"u"},"name":"other"}],"current-context":"other","kind":"Config","preferences":{"colors":true},"users":[{"name":"u","user":{"exec":{"apiVersion":"client.authentication.k8s.io/v1beta1","args":["a"],"command":"/cwd/sub/x","env":null,"interactiveMode":"IfAvailable","provideClusterInfo":false},"token":"abc"}}]}"#
    );
    assert_eq!(
        pinned("lost"),
        "internal error generating kubeconfig: minifying Kubernetes config: cannot locate user zip"
    );
}

#[test]
fn products_are_told_by_cluster_name_and_place() {
    let home = "/home/me";
    for (cluster, origin, authority, expected, dev) in [
        ("minikube", "", "", "minikube", true),
        ("minikube.eksctl.io", "", "", "minikube", true),
        ("docker-desktop", "", "", "docker-desktop", true),
        ("docker-for-desktop-cluster", "", "", "docker-desktop", true),
        ("gke_a_b_c", "", "", "gke", false),
        ("arn:aws:eks:x", "", "", "eks", false),
        ("x.us-east-1.eksctl.io", "", "", "eks", false),
        ("kind-x.eksctl.io", "", "", "eks", false),
        ("kind", "", "", "kind", true),
        ("kind-x", "", "", "kind", true),
        ("kindly", "", "", "unknown", false),
        ("microk8s-cluster", "", "", "microk8s", true),
        ("api-crc-testing:6443", "", "", "crc", true),
        ("krucible-x", "", "", "krucible", true),
        ("k3d-x", "", "", "k3d", true),
        ("rancher-desktop", "", "", "rancher-desktop", true),
        ("colima-x", "", "", "colima", true),
        ("orbstack", "", "", "orbstack", true),
        ("orbstack2", "", "", "unknown", false),
        ("x", "/home/me/.config/k3d/c", "", "k3d", true),
        ("x", "/home/me/.config/k3d2/c", "", "unknown", false),
        ("x", "", "/home/me/.minikube/ca.crt", "minikube", true),
        ("x", "/tmp/kind-config-1", "", "kind", true),
    ] {
        let mut context = Context::default();
        cluster.clone_into(&mut context.cluster);
        origin.clone_into(&mut context.origin);
        let mut place = Cluster::default();
        authority.clone_into(&mut place.certificate_authority);
        let config = KubeConfig {
            current_context: "c".to_owned(),
            contexts: IndexMap::from([("c".to_owned(), context)]),
            clusters: IndexMap::from([(cluster.to_owned(), place)]),
            ..KubeConfig::default()
        };
        let product = config.product(home);
        assert_eq!(
            (product.to_string().as_str(), product.is_dev_cluster()),
            (expected, dev),
            "{cluster}"
        );
    }
    assert_eq!(KubeConfig::default().product(home), Product::None);
}

#[test]
fn the_environment_lists_files_like_a_path() {
    assert_eq!(paths(None, "/home/me"), ["/home/me/.kube/config"]);
    assert_eq!(paths(Some(""), "/home/me"), ["/home/me/.kube/config"]);
    assert_eq!(paths(Some("/a::b:/a"), "/home/me"), ["/a", "b"]);
}

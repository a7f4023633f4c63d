//! The servers on real ports, and the stock client of Kubernetes against them.

use std::{fs, path::Path};

use engine_api::{Kind, Meta};
use serde_json::json;
use tokio::process::Command;

use super::*;

/// How clients find an instance without a page.
const CONTEXT: &str = "tilt-0";

async fn start(dir: &Path, store: &Store) -> Serving {
    let options = ServerOptions {
        host: "127.0.0.1".to_owned(),
        port: Some(0),
        token: "token".to_owned(),
        start_time: jiff::Timestamp::now(),
        config_file: Some(dir.join("config")),
    };
    let bound = bind(options).await.unwrap();
    let (handle, _) = Handle::new();
    bound.serve(store.clone(), Logs::default(), handle).await.unwrap()
}

#[tokio::test]
async fn a_port_that_is_taken_is_named() {
    let options = |port| ServerOptions {
        host: "localhost".to_owned(),
        port,
        token: String::new(),
        start_time: jiff::Timestamp::now(),
        config_file: None,
    };
    let first = bind(options(None)).await.unwrap();
    let port = first.port();
    assert_eq!(first.greeting(), format!("Tilt started on http://localhost:{port}/"));
    assert!(bind(options(Some(0))).await.unwrap().page().is_none());
    let error = bind(options(Some(port))).await.unwrap_err();
    assert!(matches!(error, BindError::PortTaken { .. }), "{error}");
    assert!(error.to_string().contains(&format!("another process on port {port}\n")), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_works() {
    if Command::new("kubectl").arg("version").arg("--client").output().await.is_err() {
        println!("skipped: kubectl is not on PATH");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let store = Store::new();
    store.put(Kind::ConfigMap, "cm", &Meta::default(), &json!({"one": "1"}));
    store.put(Kind::UiResource, "web", &Meta::default(), &json!({}));
    let condition = json!([{"type": "Ready", "status": "True"}]);
    store.set_status(
        Kind::UiResource,
        "web",
        &json!({"updateStatus": "ok", "conditions": condition}),
    );
    let serving = start(dir.path(), &store).await;
    let manifest = dir.path().join("cm.yaml");
    fs::write(
        &manifest,
        "apiVersion: tilt.dev/v1alpha1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: '1'}\n",
    )
    .unwrap();
    let bogus = dir.path().join("bogus.yaml");
    fs::write(
        &bogus,
        "apiVersion: tilt.dev/v1alpha1\nkind: Cmd\nmetadata: {name: z}\nspec: {bogus: 1}\n",
    )
    .unwrap();
    let unknown = dir.path().join("unknown.yaml");
    fs::write(&unknown, "apiVersion: tilt.dev/v1alpha1\nkind: Bogus\nmetadata: {name: z}\n")
        .unwrap();
    let run = async |args: &str| {
        let args = args
            .replace("$M", manifest.to_str().unwrap())
            .replace("$B", bogus.to_str().unwrap())
            .replace("$U", unknown.to_str().unwrap());
        let output = Command::new("kubectl")
            .arg("--kubeconfig")
            .arg(dir.path().join("config"))
            .args(["--context", CONTEXT])
            .args(args.split_whitespace())
            .env("HOME", dir.path())
            .output()
            .await
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        String::from_utf8(text).unwrap()
    };
    for (args, expected) in [
        ("get uiresources -o name", "uiresource.tilt.dev/web\n"),
        ("get uiresource web -o jsonpath={.status.updateStatus}", "ok"),
        ("get uiresource", "NAME   CREATED AT"),
        ("describe configmap cm", "API Version:  tilt.dev/v1alpha1"),
        ("explain cmd.spec.args", "FIELD: args <[]string>"),
        (
            "wait --for=condition=Ready uiresource/web --timeout=5s",
            "uiresource.tilt.dev/web condition met\n",
        ),
        ("apply -f $M", "configmap.tilt.dev/x created\n"),
        ("apply -f $M", "configmap.tilt.dev/x unchanged\n"),
        ("apply -f $B", "unknown field \"spec.bogus\""),
        ("apply -f $U", "no matches for kind \"Bogus\" in version \"tilt.dev/v1alpha1\""),
        ("apply --server-side -f $M", "configmap.tilt.dev/x serverside-applied\n"),
        ("patch configmap x -p {\"data\":{\"b\":\"2\"}}", "configmap.tilt.dev/x patched\n"),
        (
            "patch configmap x -p {\"data\":{\"b\":\"2\"}}",
            "configmap.tilt.dev/x patched (no change)\n",
        ),
        ("label configmap x k=v", "configmap.tilt.dev/x labeled\n"),
        ("get configmap -l k=v -o name", "configmap.tilt.dev/x\n"),
        ("get configmap x -o name --watch --request-timeout=1s", "configmap.tilt.dev/x\n"),
        ("delete configmap x", "configmap.tilt.dev \"x\" deleted"),
        ("get configmap x", "Error from server (NotFound): configmaps.tilt.dev \"x\" not found\n"),
        ("get pods", "error: the server doesn't have a resource type \"pods\"\n"),
    ] {
        let text = run(args).await;
        assert!(text.contains(expected), "kubectl {args}\n{text}");
    }
    serving.shutdown().await;
    let config = fs::read_to_string(dir.path().join("config")).unwrap();
    assert!(!config.contains(CONTEXT), "{config}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_does_not_wait_for_those_who_watch() {
    let dir = tempfile::tempdir().unwrap();
    let serving = start(dir.path(), &Store::new()).await;
    let open =
        tokio::net::TcpStream::connect(("127.0.0.1", serving_port(dir.path()))).await.unwrap();
    let started = time::Instant::now();
    serving.shutdown().await;
    assert!(started.elapsed() < GRACE * 3);
    drop(open);
}

/// The port of the API server, as clients find it.
fn serving_port(dir: &Path) -> u16 {
    let config = fs::read_to_string(dir.join("config")).unwrap();
    let server = config.split("server: https://127.0.0.1:").nth(1).unwrap();
    server.split_whitespace().next().unwrap().parse().unwrap()
}

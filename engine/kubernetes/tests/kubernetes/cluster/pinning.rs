//! No write reaches a cluster that is not the pinned one.

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use engine_kubernetes::{Cluster, KubernetesError};
use http_body_util::Full;
use hyper::{Method, Request, Response, StatusCode, body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};

use crate::cluster::support::{config_map, options};

/// An API server with one namespace and room for writes, of which it keeps a list.
struct Server {
    address: SocketAddr,
    writes: Arc<Mutex<Vec<String>>>,
    _tasks: JoinSet<()>,
}

impl Server {
    async fn new(uid: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let writes = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = JoinSet::new();
        let kept = Arc::clone(&writes);
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let writes = Arc::clone(&kept);
                let service = service_fn(move |request: Request<Incoming>| {
                    let answer = answer(uid, &request, &writes);
                    async move { Ok::<_, Infallible>(answer) }
                });
                connections.spawn(async move {
                    let http = hyper::server::conn::http1::Builder::new();
                    let _ = http.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Self { address, writes, _tasks: tasks }
    }

    fn writes(&self) -> Vec<String> {
        self.writes.lock().unwrap().clone()
    }
}

fn answer(
    uid: &str,
    request: &Request<Incoming>,
    writes: &Mutex<Vec<String>>,
) -> Response<Full<hyper::body::Bytes>> {
    let path = request.uri().path();
    if request.method() != Method::GET {
        writes.lock().unwrap().push(format!("{} {path}", request.method()));
    }
    let object: Option<Value> = match path {
        "/api/v1/namespaces/kube-system" => Some(json!({"metadata": {"uid": uid}})),
        "/api/v1" => Some(json!({"resources": [
            {"name": "configmaps", "kind": "ConfigMap", "namespaced": true}]})),
        _ if request.method() == Method::POST => Some(config_map("a", json!({}))),
        _ => None,
    };
    let body = object.clone().unwrap_or_else(|| json!({"kind": "Status", "message": "gone"}));
    let mut answer = Response::new(Full::from(body.to_string()));
    if object.is_none() {
        *answer.status_mut() = StatusCode::NOT_FOUND;
    }
    answer
}

/// One address behind which the server can change; a change ends what is open.
async fn switch(mut target: watch::Receiver<SocketAddr>) -> (SocketAddr, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                Ok((mut client, _)) = listener.accept() => {
                    let to = *target.borrow();
                    connections.spawn(async move {
                        let mut server = TcpStream::connect(to).await.unwrap();
                        let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                    });
                }
                changed = target.changed() => {
                    connections.abort_all();
                    if changed.is_err() {
                        return;
                    }
                }
            }
        }
    });
    (address, tasks)
}

async fn cluster_at(address: SocketAddr) -> Cluster {
    let kubeconfig = format!(
        "{{apiVersion: v1, kind: Config, current-context: c, contexts: [{{name: c, context: \
         {{cluster: c, user: u}}}}], clusters: [{{name: c, cluster: {{server: 'http://{address}'}}}}], \
         users: [{{name: u, user: {{token: t}}}}]}}"
    );
    Cluster::new(&kubeconfig, None).await.unwrap()
}

#[tokio::test]
async fn nothing_is_written_to_another_cluster_behind_the_same_address() {
    let (mine, other) = (Server::new("mine").await, Server::new("other").await);
    let (target, targets) = watch::channel(mine.address);
    let (address, _switch) = switch(targets).await;
    let cluster = cluster_at(address).await;
    cluster.pin(cluster.identity().await.unwrap());

    let wanted = || vec![config_map("a", json!({"x": "1"}))];
    let applied = cluster.apply(wanted(), &options(), &|_| {}).await;
    assert_eq!(applied.error, None);
    assert_eq!(mine.writes(), ["POST /api/v1/namespaces/default/configmaps"]);

    target.send(other.address).unwrap();
    for _ in 0..3 {
        let error = cluster.apply(wanted(), &options(), &|_| {}).await.error.unwrap();
        assert_eq!(
            error,
            format!(
                "another cluster answers at http://{address}/: it is cluster other, not cluster mine"
            )
        );
        let deleted =
            cluster.delete(&wanted(), &crate::cluster::support::deleting(), &|_| {}).await;
        assert!(matches!(deleted, Err(KubernetesError::OtherCluster { .. })), "{deleted:?}");
    }
    assert_eq!(other.writes(), Vec::<String>::new());
    // Who is there can still be asked.
    assert_eq!(cluster.identity().await.unwrap().to_string(), "cluster other");

    target.send(mine.address).unwrap();
    let applied = cluster.apply(wanted(), &options(), &|_| {}).await;
    assert_eq!(applied.error, None);
    assert_eq!(mine.writes().len(), 2);
    assert_eq!(other.writes(), Vec::<String>::new());
}

#[tokio::test]
async fn a_server_that_asks_for_patience_is_asked_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let cluster = cluster_at(listener.local_addr().unwrap()).await;
    let n_asked = std::sync::atomic::AtomicUsize::new(0);
    let serve = async {
        let (stream, _) = listener.accept().await.unwrap();
        let service = service_fn(async |_: Request<Incoming>| {
            let mut answer = Response::new(Full::from(json!({"gitVersion": "v1.2.3"}).to_string()));
            if n_asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < 2 {
                *answer.status_mut() = StatusCode::TOO_MANY_REQUESTS;
                answer.headers_mut().insert("retry-after", "0".parse().unwrap());
            }
            Ok::<Response<Full<hyper::body::Bytes>>, Infallible>(answer)
        });
        let http = hyper::server::conn::http1::Builder::new();
        let _ = http.serve_connection(TokioIo::new(stream), service).await;
    };
    tokio::select! {
        () = serve => panic!("the server ended"),
        version = cluster.version() => assert_eq!(version.unwrap().git_version, "v1.2.3"),
    }
}

#[tokio::test]
async fn a_server_that_hangs_ends_with_the_time_of_the_object() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let cluster = cluster_at(listener.local_addr().unwrap()).await;
    let options = engine_kubernetes::ApplyOptions {
        timeout: std::time::Duration::from_millis(300),
        ..options()
    };
    let applied = cluster.apply(vec![config_map("a", json!({}))], &options, &|_| {}).await;
    assert_eq!(
        applied.error.unwrap(),
        "Killed kubectl. Hit timeout of 300ms applying ConfigMap/a."
    );
}

//! Forwards of local ports.

use std::sync::Arc;

use engine_kubernetes::{Forward, ForwardStatus, Forwarder, PodPorts};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::place::{LONG, Place, noise, pod};

/// Sends back what it gets, to many at a time.
const ECHO: &str = "exec nc -ll -p 8080 -e cat";

struct Forwards {
    _forwarder: Forwarder,
    statuses: watch::Receiver<Vec<ForwardStatus>>,
}

impl Forwards {
    fn start(place: &Place, pod: &str, local_port: u16, container_port: u16) -> Self {
        let forward = Forward { local_port, container_port, host: String::new() };
        let (sender, statuses) = watch::channel(Vec::new());
        let report = move |it| sender.send_modify(|all: &mut Vec<ForwardStatus>| all.push(it));
        let ports = PodPorts {
            namespace: place.namespace.clone(),
            pod: pod.to_owned(),
            forwards: vec![forward],
        };
        let report: engine_kubernetes::ForwardReport = Arc::new(report);
        Self { _forwarder: Forwarder::start(&place.cluster, ports, &report), statuses }
    }

    async fn status(&mut self, wanted: impl Fn(&ForwardStatus) -> bool) -> ForwardStatus {
        let waited = self.statuses.wait_for(|all| all.iter().any(&wanted));
        let waited = tokio::time::timeout(LONG, waited).await.map(drop);
        waited.unwrap_or_else(|_| panic!("not told in {:#?}", self.statuses.borrow()));
        self.statuses.borrow().iter().rev().find(|it| wanted(it)).cloned().unwrap()
    }

    async fn port(&mut self) -> u16 {
        self.status(|it| it.started.is_some()).await.local_port
    }
}

/// Says something to a port, ends what it says, and gives the answer.
async fn say(port: u16, text: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut socket = TcpStream::connect(("localhost", port)).await?;
    let mut answer = vec![0; text.len()];
    let (mut read, mut write) = socket.split();
    let (written, read) = tokio::join!(write.write_all(text), read.read_exact(&mut answer));
    written?;
    read?;
    Ok(answer)
}

#[tokio::test]
async fn data_goes_both_ways_over_many_connections() {
    let place = Place::new("forward").await;
    let running = place.run(&pod("echo", ECHO)).await;
    let mut forwards = Forwards::start(&place, &running.name, 0, 8080);
    let port = forwards.port().await;
    let large = noise(3_000_000);
    let (a, b, c) = tokio::join!(say(port, b"hello"), say(port, b"you"), say(port, &large));
    assert_eq!((a.unwrap(), b.unwrap()), (b"hello".to_vec(), b"you".to_vec()));
    assert!(c.unwrap() == large);
    assert!(forwards.statuses.borrow().iter().all(|it| it.error.is_none()));
}

#[tokio::test]
async fn an_answer_comes_also_after_the_client_said_all() {
    let place = Place::new("half").await;
    let server =
        "while true; do nc -l -p 8080 -e sh -c 'cat > /dev/null & sleep 1; echo done'; done";
    let running = place.run(&pod("half", server)).await;
    let mut forwards = Forwards::start(&place, &running.name, 0, 8080);
    let port = forwards.port().await;
    let mut socket = TcpStream::connect(("localhost", port)).await.unwrap();
    socket.write_all(b"question").await.unwrap();
    socket.shutdown().await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    assert_eq!(answer, "done\n");
}

#[tokio::test]
async fn a_port_that_nobody_listens_on_is_told_and_works_once_somebody_does() {
    let place = Place::new("refused").await;
    let script = "until [ -e /go ]; do usleep 50000; done; exec nc -ll -p 8080 -e cat";
    let running = place.run(&pod("late", script)).await;
    let mut forwards = Forwards::start(&place, &running.name, 0, 8080);
    let port = forwards.port().await;
    assert!(say(port, b"hello").await.is_err());
    let status = forwards.status(|it| it.error.is_some()).await;
    let error = status.error.unwrap();
    assert!(error.contains("refused"), "{error}");
    let argv = ["touch".to_owned(), "/go".to_owned()];
    let at = place.container(&running.name, "main");
    let session = place.cluster.exec(&at, &argv, false).await.unwrap();
    assert_eq!(session.finish().await.unwrap().0, 0);
    let answer = tokio::time::timeout(LONG, async {
        loop {
            if let Ok(answer) = say(port, b"again").await {
                return answer;
            }
        }
    });
    assert_eq!(answer.await.unwrap(), b"again");
}

#[tokio::test]
async fn a_pod_that_dies_is_told_and_the_next_one_gets_the_port() {
    let place = Place::new("death").await;
    let running = place.run(&pod("one", ECHO)).await;
    let mut forwards = Forwards::start(&place, &running.name, 0, 8080);
    let port = forwards.port().await;
    let mut socket = TcpStream::connect(("localhost", port)).await.unwrap();
    socket.write_all(b"x").await.unwrap();
    assert_eq!(socket.read_u8().await.unwrap(), b'x');
    place.kubectl(&["delete", "pod", "one", "--now"]);
    // The connection ends with its pod, and a new one finds no pod.
    let mut rest = Vec::new();
    let ended = tokio::time::timeout(LONG, socket.read_to_end(&mut rest)).await;
    ended.unwrap().ok();
    let told = tokio::time::timeout(LONG, async {
        while forwards.statuses.borrow().iter().all(|it| it.error.is_none()) {
            let _ = say(port, b"y").await;
        }
    });
    told.await.unwrap();
    let next = place.run(&pod("two", ECHO)).await;
    drop(forwards);
    let mut forwards = Forwards::start(&place, &next.name, port, 8080);
    assert_eq!(forwards.port().await, port);
    assert_eq!(say(port, b"hello").await.unwrap(), b"hello");
    assert!(forwards.statuses.borrow().iter().all(|it| it.error.is_none()));
}

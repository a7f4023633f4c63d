//! Connections that are cut, freeze, or cannot be made for a while.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::place::{LONG, Place, pod};
use super::proxy::Proxy;

/// Counts, fast enough that a line may be lost or told twice wherever a connection ends.
const COUNT: &str = "i=0; while true; do i=$((i+1)); echo line $i; usleep 10000; done";

/// The lines up to the last whole one are those of a count, each once.
fn assert_counted(text: &str) {
    for (index, line) in text.lines().enumerate() {
        assert_eq!(line, format!("line {}", index + 1));
    }
}

#[tokio::test]
async fn connections_that_are_cut_lose_no_line_and_no_pod() {
    let proxy = Proxy::new().await;
    let place = Place::with("cut", &proxy.kubeconfig()).await;
    let running = place.run(&pod("count", COUNT)).await;
    let next = place.make(&pod("first", "sleep 1000"));
    let mut sights = place.follow(&[next]);
    sights.pods(|pods| pods.iter().find(|it| it.name == "first").map(drop)).await;
    let mut reading = place.read(&running, &running.containers[0]);
    for round in 1..=5 {
        reading.line(&format!("line {}", round * 200)).await;
        proxy.cut();
    }
    reading.line("line 1200").await;
    assert_counted(&reading.text.borrow());
    place.kubectl(&["delete", "pod", "first", "--now"]);
    sights.pods(|pods| pods.iter().all(|it| it.is_deleting).then_some(())).await;
}

#[tokio::test]
async fn an_api_server_that_is_away_is_said_once_and_nothing_is_lost() {
    let proxy = Proxy::new().await;
    let place = Place::with("away", &proxy.kubeconfig()).await;
    let running = place.run(&pod("count", COUNT)).await;
    let made = place.make(&pod("next", "sleep 1000"));
    let mut sights = place.follow(&[made]);
    sights.pods(|pods| pods.iter().find(|it| it.all_ready()).map(drop)).await;
    let mut reading = place.read(&running, &running.containers[0]);
    reading.line("line 100").await;
    proxy.go_away();
    let is_warning = |it: &&engine_kubernetes::Seen| matches!(it, engine_kubernetes::Seen::Warning(text) if text.starts_with("Pausing k8s "));
    sights.until(|seen| seen.iter().find(is_warning).map(drop)).await;
    place.kubectl(&["delete", "pod", "next", "--now"]);
    proxy.cut();
    sights.pods(|pods| pods.iter().all(|it| it.is_deleting).then_some(())).await;
    assert_eq!(sights.seen.borrow().iter().filter(is_warning).count(), 1);
    reading.line("line 1000").await;
    assert_counted(&reading.text.borrow());
    assert!(!reading.troubles.lock().unwrap().is_empty());
}

#[tokio::test]
async fn connections_that_freeze_are_noticed() {
    let proxy = Proxy::new().await;
    let place = Place::with("freeze", &proxy.kubeconfig()).await;
    let running = place.run(&pod("count", COUNT)).await;
    let made = place.make(&pod("next", "sleep 1000"));
    let mut sights = place.follow(&[made]);
    sights.pods(|pods| pods.iter().find(|it| it.all_ready()).map(drop)).await;
    let mut reading = place.read(&running, &running.containers[0]);
    reading.line("line 100").await;
    proxy.freeze();
    place.kubectl(&["delete", "pod", "next", "--now"]);
    sights.pods(|pods| pods.iter().all(|it| it.is_deleting).then_some(())).await;
    // More than what was under way when the connection froze.
    let n_lines = reading.text.borrow().lines().count() + 500;
    reading.line(&format!("line {n_lines}")).await;
    assert_counted(&reading.text.borrow());
}

#[tokio::test]
async fn a_command_whose_connection_is_cut_ends() {
    let proxy = Proxy::new().await;
    let place = Place::with("cut-exec", &proxy.kubeconfig()).await;
    let running = place.run(&pod("idle", "sleep 1000")).await;
    let at = place.container(&running.name, "main");
    let argv = ["cat".to_owned()];
    let session = place.cluster.exec(&at, &argv, true).await.unwrap();
    let (mut stdin, mut stdout, _stderr, status) = session.split();
    stdin.as_mut().unwrap().write_all(b"x").await.unwrap();
    assert_eq!(stdout.read_u8().await.unwrap(), b'x');
    proxy.cut();
    let mut rest = Vec::new();
    let ended = tokio::time::timeout(LONG, async {
        let _ = stdout.read_to_end(&mut rest).await;
        status.wait().await
    });
    assert!(ended.await.unwrap().is_err());
}

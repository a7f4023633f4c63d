//! Commands in containers, and containers that are put into pods.

use std::time::{Duration, Instant};

use engine_kubernetes::EphemeralContainer;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::place::{Place, noise, pod};

fn words(text: &[&str]) -> Vec<String> {
    text.iter().map(|it| (*it).to_owned()).collect()
}

#[tokio::test]
async fn commands_tell_their_output_and_their_exit_code() {
    let place = Place::new("exec").await;
    let running = place.run(&pod("idle", "sleep 1000")).await;
    let at = place.container(&running.name, "main");
    for (argv, expected) in [
        (&["echo", "hello there"][..], (0, "hello there\n", "")),
        (&["sh", "-c", "echo out; echo err >&2; exit 7"], (7, "out\n", "err\n")),
        (&["false"], (1, "", "")),
    ] {
        let session = place.cluster.exec(&at, &words(argv), false).await.unwrap();
        let (code, out, err) = session.finish().await.unwrap();
        let told = (code, &*String::from_utf8(out).unwrap(), &*String::from_utf8(err).unwrap());
        assert_eq!(told, expected, "{argv:?}");
    }
    let session = place.cluster.exec(&at, &words(&["no-such-program"]), false).await;
    let error = match session {
        Ok(session) => session.finish().await.unwrap_err(),
        Err(error) => error,
    };
    assert!(error.to_string().contains("no-such-program"), "{error}");
    let nowhere = place.container("no-such-pod", "main");
    let error = place.cluster.exec(&nowhere, &words(&["true"]), false).await.unwrap_err();
    assert_eq!(error.to_string(), "pods \"no-such-pod\" not found");
}

#[tokio::test]
async fn large_data_goes_both_ways_and_small_messages_are_quick() {
    let place = Place::new("data").await;
    let running = place.run(&pod("idle", "sleep 1000")).await;
    let at = place.container(&running.name, "main");
    let data = noise(8_000_000);
    let session = place.cluster.exec(&at, &words(&["cat"]), true).await.unwrap();
    let (stdin, mut stdout, _stderr, status) = session.split();
    let mut stdin = stdin.unwrap();
    let start = Instant::now();
    let mut echoed = Vec::new();
    let write = async {
        stdin.write_all(&data).await.unwrap();
        drop(stdin);
    };
    let ((), read) = tokio::join!(write, stdout.read_to_end(&mut echoed));
    read.unwrap();
    assert!(echoed == data, "{} of {} bytes came back", echoed.len(), data.len());
    assert_eq!(status.wait().await.unwrap(), 0);
    println!("8 MB there and back: {:?}", start.elapsed());

    let session = place.cluster.exec(&at, &words(&["cat"]), true).await.unwrap();
    let (stdin, mut stdout, _stderr, status) = session.split();
    let mut stdin = stdin.unwrap();
    let mut times = Vec::new();
    for n in 0..500_u32 {
        let start = Instant::now();
        stdin.write_u32(n).await.unwrap();
        assert_eq!(stdout.read_u32().await.unwrap(), n);
        times.push(start.elapsed());
    }
    times.sort();
    println!("one small message there and back: {:?}", times[times.len() / 2]);
    drop(stdin);
    assert_eq!(status.wait().await.unwrap(), 0);
}

#[tokio::test]
async fn a_container_can_be_put_into_a_pod_that_has_nothing_inside() {
    let place = Place::new("bare").await;
    let mut given = pod("bare", "");
    given["spec"]["containers"][0]["image"] = json!("bare");
    given["spec"]["containers"][0].as_object_mut().unwrap().shift_remove("command");
    let running = place.run(&given).await;
    let helper = EphemeralContainer {
        name: "helper".to_owned(),
        image: "busybox".to_owned(),
        command: words(&["sleep", "1000"]),
        target: "main".to_owned(),
        user: Some(0),
        capabilities: words(&["SYS_PTRACE"]),
        with_stdin: false,
    };
    for _ in 0..2 {
        // The second time it is there already.
        place
            .cluster
            .add_ephemeral_container(&place.namespace, &running.name, &helper)
            .await
            .unwrap();
    }
    let at = place.container(&running.name, "helper");
    place.cluster.wait_ephemeral(&at, Duration::from_mins(1)).await.unwrap();
    let script = "echo synced > /proc/1/root/file && cat /proc/1/root/file";
    let session = place.cluster.exec(&at, &words(&["sh", "-c", script]), false).await.unwrap();
    let (code, out, err) = session.finish().await.unwrap();
    assert_eq!(
        (code, &*out, &*err),
        (0, &b"synced\n"[..], &b""[..]),
        "{}",
        String::from_utf8_lossy(&err)
    );
    let missing = EphemeralContainer {
        name: "other".to_owned(),
        image: "no-such-image".to_owned(),
        ..helper
    };
    place.cluster.add_ephemeral_container(&place.namespace, &running.name, &missing).await.unwrap();
    let at = place.container(&running.name, "other");
    let error = place.cluster.wait_ephemeral(&at, Duration::from_mins(1)).await.unwrap_err();
    assert!(error.to_string().starts_with("container other cannot start: "), "{error}");
}

//! A way to the engine that can be cut, and that counts what is sent over it.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
    task::{AbortHandle, JoinSet},
};

use crate::docker::support::ground;

pub(crate) struct Proxy {
    dir: TempDir,
    sent: Arc<AtomicU64>,
    serving: Mutex<Option<AbortHandle>>,
}

impl Proxy {
    pub(crate) fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let proxy = Self { dir, sent: Arc::default(), serving: Mutex::default() };
        proxy.resume();
        proxy
    }

    fn socket(&self) -> PathBuf {
        self.dir.path().join("docker.sock")
    }

    pub(crate) fn host(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    /// Bytes that went to the engine since the last call.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.swap(0, Ordering::Relaxed)
    }

    /// Ends all connections, and takes no new ones.
    pub(crate) fn cut(&self) {
        if let Some(serving) = self.serving.lock().unwrap().take() {
            serving.abort();
        }
        std::fs::remove_file(self.socket()).unwrap();
    }

    /// Takes connections again.
    pub(crate) fn resume(&self) {
        let listener = UnixListener::bind(self.socket()).unwrap();
        let engine = ground("DOCKER_HOST").trim_start_matches("unix://").to_owned();
        let sent = Arc::clone(&self.sent);
        let serving = tokio::spawn(async move {
            // The connections end with this task.
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                connections.spawn(relay(client, PathBuf::from(&engine), Arc::clone(&sent)));
            }
        });
        *self.serving.lock().unwrap() = Some(serving.abort_handle());
    }
}

async fn relay(client: UnixStream, engine: impl AsRef<Path>, sent: Arc<AtomicU64>) {
    let Ok(engine) = UnixStream::connect(engine).await else { return };
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_engine, mut to_engine) = engine.into_split();
    let up = async {
        let mut chunk = vec![0; 64 * 1024];
        while let Ok(len @ 1..) = from_client.read(&mut chunk).await {
            sent.fetch_add(len as u64, Ordering::Relaxed);
            if to_engine.write_all(&chunk[..len]).await.is_err() {
                break;
            }
        }
        let _ = to_engine.shutdown().await;
    };
    let down = async {
        let _ = tokio::io::copy(&mut from_engine, &mut to_client).await;
        let _ = to_client.shutdown().await;
    };
    tokio::join!(up, down);
}

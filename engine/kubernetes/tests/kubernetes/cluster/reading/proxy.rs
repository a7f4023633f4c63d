//! A way to the API server that can be cut or frozen.

use std::sync::Arc;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::cluster::support::kubeconfig;

/// What happens to connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weather {
    /// Those up to this number are frozen: nothing comes through any more, and they stay open.
    Frozen(usize),
    /// Those up to this number are cut.
    Cut(usize),
    /// All are cut, and no new ones are taken.
    Away,
}

/// A proxy in front of the API server. Dropping it ends it.
pub(crate) struct Proxy {
    weather: Arc<watch::Sender<Weather>>,
    n_taken: watch::Receiver<usize>,
    port: u16,
    _task: JoinSet<()>,
}

impl Proxy {
    pub(crate) async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (weather, changes) = watch::channel(Weather::Cut(0));
        let (count, n_taken) = watch::channel(0);
        let server = server();
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (socket, _) = listener.accept().await.unwrap();
                count.send_modify(|it| *it += 1);
                let number = *count.borrow();
                connections.spawn(carry(socket, server.clone(), number, changes.clone()));
            }
        });
        Self { weather: Arc::new(weather), n_taken, port, _task: task }
    }

    /// The kubeconfig of the test cluster, through this proxy.
    pub(crate) fn kubeconfig(&self) -> String {
        let host = server().rsplit_once(':').unwrap().0.to_owned();
        let through =
            format!("server: https://127.0.0.1:{}\n    tls-server-name: {host}", self.port);
        kubeconfig().replace(&format!("server: https://{}", server()), &through)
    }

    /// Cuts all connections; new ones work.
    pub(crate) fn cut(&self) {
        self.weather.send_replace(Weather::Cut(*self.n_taken.borrow()));
    }

    /// Freezes all connections; new ones work.
    pub(crate) fn freeze(&self) {
        self.weather.send_replace(Weather::Frozen(*self.n_taken.borrow()));
    }

    /// Cuts all connections and lets no new one through.
    pub(crate) fn go_away(&self) {
        self.weather.send_replace(Weather::Away);
    }
}

async fn carry(
    mut here: TcpStream,
    to: String,
    number: usize,
    mut weather: watch::Receiver<Weather>,
) {
    if *weather.borrow() == Weather::Away {
        return;
    }
    let Ok(mut there) = TcpStream::connect(to).await else { return };
    let is_over = |it: &Weather| match it {
        Weather::Frozen(until) | Weather::Cut(until) => number <= *until,
        Weather::Away => true,
    };
    let is_frozen = tokio::select! {
        _ = copy_bidirectional(&mut here, &mut there) => return,
        it = weather.wait_for(is_over) => matches!(it.as_deref(), Ok(Weather::Frozen(_))),
    };
    if is_frozen {
        std::future::pending::<()>().await;
    }
}

/// Host and port of the API server.
fn server() -> String {
    let config = kubeconfig();
    let line = config.lines().find_map(|it| it.trim().strip_prefix("server: https://"));
    line.unwrap().to_owned()
}

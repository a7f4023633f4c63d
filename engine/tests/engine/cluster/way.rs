//! A way to the real cluster on which a test can let connections fail.

use std::{
    fs,
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    path::Path,
    sync::{Arc, Mutex, MutexGuard},
    thread,
};

use crate::cluster::ground::Project;

/// What becomes of connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Weather {
    /// New ones are closed at once.
    #[default]
    Closed,
    /// New ones lead to the cluster.
    Open,
    /// New ones are taken, and nobody says anything on them.
    Silent,
}

/// What is known of all connections.
#[derive(Default)]
struct Traffic {
    weather: Weather,
    n_taken: usize,
    /// Those up to this number are dead, and nobody was told.
    n_dead: usize,
    open: Vec<TcpStream>,
}

/// A way to the real cluster. Nobody can go it before it is opened.
pub(crate) struct Way {
    traffic: Arc<Mutex<Traffic>>,
}

impl Way {
    /// A way to the cluster of the tests, and the kubeconfig that leads there.
    pub(crate) fn new() -> (Self, String) {
        Self::of(Path::new(&std::env::var("KUBECONFIG").expect("it is set")))
    }

    /// A way to the cluster of a kubeconfig, and another kubeconfig that leads there.
    pub(crate) fn of(kubeconfig: &Path) -> (Self, String) {
        let text = fs::read_to_string(kubeconfig).expect("it can be read");
        let line = text.lines().find(|it| it.trim_start().starts_with("server:"));
        let url = line.and_then(|it| it.split_once("server:")).expect("it names a server").1.trim();
        let server = url.trim_start_matches("https://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("it has an address").port();
        let here = format!("https://127.0.0.1:{port}");
        let way = Self { traffic: Arc::default() };
        let traffic = Arc::clone(&way.traffic);
        // It ends with the test program.
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                take(&traffic, client, &server);
            }
        });
        (way, text.replace(url, &here))
    }

    /// A project that reaches the cluster by a way.
    pub(crate) fn project(tiltfile: &str, yaml: &str) -> Option<(Project, Self)> {
        let project = Project::new(tiltfile, yaml)?;
        let (way, kubeconfig) = Self::new();
        project.write("way", &kubeconfig);
        let path = project.dir().join("way").display().to_string();
        Some((project.with_env("KUBECONFIG", &path), way))
    }

    fn traffic(&self) -> MutexGuard<'_, Traffic> {
        self.traffic.lock().expect("no thread panics")
    }

    /// From now on the cluster can be reached. Connections that are dead stay so.
    pub(crate) fn open(&self) {
        self.traffic().weather = Weather::Open;
    }

    /// Those who reach the cluster are cut off; others can reach it.
    pub(crate) fn drop_all(&self) {
        for stream in self.traffic().open.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Nobody can reach the cluster any more, and those who did are cut off.
    pub(crate) fn cut(&self) {
        self.traffic().weather = Weather::Closed;
        self.drop_all();
    }

    /// Nothing comes through any more on any connection, and nobody is told: all stay open, and new ones are taken.
    pub(crate) fn freeze(&self) {
        let mut traffic = self.traffic();
        traffic.weather = Weather::Silent;
        traffic.n_dead = traffic.n_taken;
    }
}

fn take(traffic: &Arc<Mutex<Traffic>>, client: TcpStream, server: &str) {
    let mut all = traffic.lock().expect("no thread panics");
    all.n_taken += 1;
    let number = all.n_taken;
    match all.weather {
        Weather::Closed => {}
        Weather::Silent => {
            all.n_dead = number;
            all.open.push(client);
        }
        Weather::Open => {
            let Ok(server) = TcpStream::connect(server) else { return };
            all.open.extend([client.try_clone(), server.try_clone()].into_iter().flatten());
            forward(traffic, number, &client, &server);
            forward(traffic, number, &server, &client);
        }
    }
}

fn forward(traffic: &Arc<Mutex<Traffic>>, number: usize, from: &TcpStream, to: &TcpStream) {
    let (Ok(mut from), Ok(mut to)) = (from.try_clone(), to.try_clone()) else { return };
    let traffic = Arc::clone(traffic);
    thread::spawn(move || {
        let mut chunk = vec![0; 32 * 1024];
        loop {
            let n_read = from.read(&mut chunk).unwrap_or(0);
            // What is said on a dead connection is heard by nobody, and its end is seen by nobody.
            let is_dead = number <= traffic.lock().expect("no thread panics").n_dead;
            if n_read == 0 {
                if !is_dead {
                    let _ = to.shutdown(Shutdown::Write);
                }
                return;
            }
            if !is_dead && to.write_all(&chunk[..n_read]).is_err() {
                return;
            }
        }
    });
}

//! Docker that is not there, goes away, and comes back.

use std::{
    fs, io,
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    thread,
};

use crate::{
    docker::ground::{Project, docker, services, until, why},
    support::Instance,
};

const TILTFILE: &str = "docker_compose('compose.yml', project_name='PROJECT')\n";
const SLEEP: &str = "exec sleep 1000";

/// A way to the real Docker that can be cut.
pub(crate) struct Way {
    path: PathBuf,
    open: Arc<Mutex<Vec<UnixStream>>>,
}

impl Way {
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), open: Arc::default() }
    }

    pub(crate) fn host(&self) -> String {
        format!("unix://{}", self.path.display())
    }

    /// From now on Docker can be reached.
    pub(crate) fn open(&self) {
        let listener = UnixListener::bind(&self.path).expect("nobody listens there");
        let docker = std::env::var("DOCKER_HOST").unwrap_or_default();
        let docker = docker.strip_prefix("unix://").expect("the ground has a socket").to_owned();
        let open = Arc::clone(&self.open);
        // It ends with the test program; after `cut` nobody finds it any more.
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = UnixStream::connect(&docker) else { continue };
                if let Ok(mut open) = open.lock() {
                    open.extend([client.try_clone(), server.try_clone()].into_iter().flatten());
                }
                forward(&client, &server);
                forward(&server, &client);
            }
        });
    }

    /// Nobody can reach Docker any more, and those who did are cut off.
    pub(crate) fn cut(&self) {
        fs::remove_file(&self.path).expect("it was open");
        for stream in self.open.lock().expect("no thread panics").drain(..) {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }
}

fn forward(from: &UnixStream, to: &UnixStream) {
    let (Ok(mut from), Ok(mut to)) = (from.try_clone(), to.try_clone()) else { return };
    thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(std::net::Shutdown::Write);
    });
}

#[test]
fn services_wait_for_docker_and_start_when_it_comes_up() {
    let file = services(&[("web", SLEEP, "")]);
    let tiltfile = format!("{TILTFILE}local_resource('local', 'true')\n");
    let Some(project) = Project::new(&tiltfile, &file) else { return };
    let sockets = tempfile::tempdir().expect("a directory");
    let way = Way::new(&sockets.path().join("docker.sock"));
    let mut project = project.at_host(&way.host());
    let mut instance = project.up();
    until(&mut instance, "local", "ok", "not_applicable");
    until(&mut instance, "web", "pending", "pending");
    let hold = why(&instance, "web")["hold"].clone();
    assert_eq!(hold["reason"], "waiting-for-cluster", "{hold}");
    instance.until("it is known why", |it| {
        let error = why(it, "web")["hold"]["on"][0]["error"].clone();
        error.as_str().is_some_and(|it| it.contains("Docker is not running at"))
    });
    way.open();
    until(&mut instance, "web", "ok", "ok");
}

#[test]
fn an_update_that_docker_cuts_off_fails_in_words_and_runs_again_when_it_is_back() {
    let file = services(&[("web", "echo one; exec sleep 1000", "")]);
    let Some(project) = Project::new(TILTFILE, &file) else { return };
    let sockets = tempfile::tempdir().expect("a directory");
    let way = Way::new(&sockets.path().join("docker.sock"));
    way.open();
    let mut project = project.at_host(&way.host());
    let mut instance = project.up();
    until(&mut instance, "web", "ok", "ok");

    // The new container takes its time to become ready, which is when the connection breaks.
    let slow = "healthcheck: {test: 'test -e /ready', interval: 1s, retries: 1000}";
    let tiltfile = TILTFILE.replace("PROJECT", &project.name).replace(')', ", wait=True)");
    instance.write("Tiltfile", &tiltfile);
    instance.write("compose.yml", &services(&[("web", "echo two; exec sleep 1000", slow)]));
    instance.until("it is deployed", |it| it.log().contains("web │ two"));
    way.cut();
    instance.until("it failed", |it| it.log().contains("ERROR: Build Failed: "));
    instance
        .until("it is known why", |it| why(it, "web")["hold"]["reason"] == "waiting-for-cluster");
    assert!(instance.is_alive());

    docker(&["exec", &project.containers("web")[0], "touch", "/ready"]);
    way.open();
    until(&mut instance, "web", "ok", "ok");
    assert_eq!(project.containers("web").len(), 1);
}

#[test]
fn what_a_service_prints_is_followed_again_after_the_connection_broke() {
    let count = "i=0; while true; do echo n$$i.; i=$$((i+1)); sleep 0.02; done";
    let file = services(&[("web", count, "")]);
    let Some(project) = Project::new(TILTFILE, &file) else { return };
    let sockets = tempfile::tempdir().expect("a directory");
    let way = Way::new(&sockets.path().join("docker.sock"));
    way.open();
    let mut project = project.at_host(&way.host());
    let mut instance = project.up();
    let counted = |it: &mut Instance| -> Vec<u32> {
        let log = it.log();
        let lines = log.lines().filter_map(|it| it.split("web │ n").nth(1));
        lines.filter_map(|it| it.strip_suffix('.')?.parse().ok()).collect()
    };
    instance.until("it counts", |it| counted(it).len() > 20);
    way.cut();
    instance.until("it is noticed", |it| it.log().contains("ERROR: "));
    let before = counted(&mut instance).len();
    way.open();
    instance.until("it counts again", |it| counted(it).len() > before + 20);
    let all = counted(&mut instance);
    let wrong = all.windows(2).find(|it| it[1] != it[0] + 1);
    assert!(wrong.is_none(), "{wrong:?} in {all:?}");
    until(&mut instance, "web", "ok", "ok");
}

#[test]
fn ci_ends_at_once_when_there_is_no_docker() {
    let Some(project) = Project::new(TILTFILE, &services(&[("web", SLEEP, "")])) else { return };
    let project = project.at_host("unix:///nobody/listens/here.sock");
    let output = project.engine(None, &["ci", "--port", "0"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(stderr.contains("Failed to connect to Docker: Docker is not running at"), "{stderr}");
}

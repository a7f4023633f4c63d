//! Which instances of this user run: engines, and Tilts beside them.

use std::{
    path::{Path, PathBuf},
    thread,
};

use engine_api::Kind;
use nix::unistd::Pid;
use serde_json::Value;

use super::{
    client::{ApiClient, instances},
    connect::{ConnectFlags, DEFAULT_PORT},
    failure::Failure,
    is_tilt, program,
};

/// The path of the API server that only engines have.
pub const ENGINE_PATH: &str = "/engine";

/// The object that holds the process id and the Tiltfile.
const SESSION: &str = "Tiltfile";

/// The object that says which version runs.
const UI_SESSION: &str = "Tiltfile";

/// An instance that answers.
#[derive(Debug)]
pub struct Instance {
    /// The name under which it is registered.
    name: String,
    /// Its process.
    pub(crate) pid: Option<Pid>,
    tiltfile: PathBuf,
    /// What a Tilt calls itself; nothing for an engine.
    tilt: Option<String>,
}

impl Instance {
    /// The instance of a name; nothing if there is none, or none that answers.
    pub fn find(name: &str) -> Result<Option<Self>, Failure> {
        // A runtime of the caller would not let requests have one of their own.
        thread::scope(|scope| scope.spawn(|| Self::ask(name)).join().unwrap_or(Ok(None)))
    }

    /// All instances of this user that answer.
    pub fn all() -> Vec<Self> {
        instances().iter().filter_map(|it| Self::find(it).ok().flatten()).collect()
    }

    fn ask(name: &str) -> Result<Option<Self>, Failure> {
        if !instances().iter().any(|it| it == name) {
            return Ok(None);
        }
        let client = ApiClient::impatient(name)?;
        let session = match client.get(Kind::Session, SESSION) {
            Ok(session) => session,
            // It was killed, and what it wrote about itself is still there.
            Err(failure) if failure.is_unreachable() => return Ok(None),
            Err(failure) => return Err(failure),
        };
        let is_engine = client.raw(ENGINE_PATH).is_ok();
        Ok(Some(Self {
            name: name.to_owned(),
            pid: process_of(&session),
            tiltfile: session["spec"]["tiltfilePath"].as_str().unwrap_or_default().into(),
            tilt: (!is_engine).then(|| tilt_version(&client)),
        }))
    }

    /// The web port that its name stands for.
    pub fn port(&self) -> Option<i64> {
        match self.name.strip_prefix("tilt-")? {
            "default" => Some(DEFAULT_PORT),
            port => port.parse().ok(),
        }
    }

    /// The folder of its Tiltfile.
    pub fn folder(&self) -> &Path {
        self.tiltfile.parent().unwrap_or(Path::new(""))
    }

    /// What a Tilt calls itself; nothing for an engine.
    pub fn tilt(&self) -> Option<&str> {
        self.tilt.as_deref()
    }

    /// Where it is, for a list: `port 24101 (/path/of/project)`.
    pub fn place(&self) -> String {
        let program = self.tilt().map_or(String::new(), |it| format!("{it}, "));
        let port = self.port().map_or_else(|| self.name.clone(), |it| format!("port {it}"));
        format!("{port} ({program}{})", self.folder().display())
    }
}

/// Why a port cannot be had, if it is an instance that has it.
pub fn port_taken(port: u16) -> Option<String> {
    if is_tilt() {
        return None;
    }
    let found = Instance::find(&name_of_port(port.into())).ok()??;
    let (folder, program) = (found.folder().display(), program());
    let process = found.pid.map_or(String::new(), |it| format!(" (process {it})"));
    Some(match found.tilt() {
        None => format!(
            "an engine for {folder} already uses port {port}{process}; \
             `{program} stop --port {port}` ends it, and --port auto takes a free port"
        ),
        Some(tilt) => format!(
            "{tilt} for {folder} already uses port {port}{process}; --port auto takes a free port"
        ),
    })
}

/// Nobody answers where a command looks: Tilt's words for it, or those that say who could have been meant instead.
pub(crate) fn not_running(connect: &ConnectFlags, of_tilt: Failure) -> Failure {
    if is_tilt() { of_tilt } else { nothing_runs(connect) }
}

/// Nobody answers where a command looks; who could have been meant instead is part of the answer.
pub(crate) fn nothing_runs(connect: &ConnectFlags) -> Failure {
    let place = match connect.host() {
        "localhost" => format!("port {}", connect.port()),
        _ => connect.address(),
    };
    let others: Vec<(Option<i64>, String)> =
        Instance::all().iter().map(|it| (it.port(), it.place())).collect();
    Failure::NotRunning(nothing_runs_text(&place, &others, program()))
}

fn nothing_runs_text(place: &str, others: &[(Option<i64>, String)], program: &str) -> String {
    let places: Vec<&str> = others.iter().map(|it| it.1.as_str()).collect();
    let hint = match others {
        [] => return format!("no {} is running (`{program} up` starts one)", noun()),
        [(Some(port), _)] => format!("Use --port {port}"),
        _ => "Use --port with one of them".to_owned(),
    };
    format!("nothing runs on {place}. Running: {}. {hint}", places.join(", "))
}

/// The name under which the instance of a web port is registered.
pub(crate) fn name_of_port(port: i64) -> String {
    match port {
        DEFAULT_PORT => "tilt-default".to_owned(),
        port => format!("tilt-{port}"),
    }
}

/// The process of a session; never a process group or all processes, which small numbers mean.
pub fn process_of(session: &Value) -> Option<Pid> {
    let pid = i32::try_from(session["status"]["pid"].as_i64()?).ok()?;
    (pid > 1).then(|| Pid::from_raw(pid))
}

fn tilt_version(client: &ApiClient) -> String {
    let session = client.get(Kind::UiSession, UI_SESSION).unwrap_or_default();
    match session["status"]["runningTiltBuild"]["version"].as_str() {
        Some(version) if !version.is_empty() => format!("Tilt v{version}"),
        _ => "Tilt".to_owned(),
    }
}

/// What is not running, in words that fit the name of the program.
pub(crate) fn noun() -> &'static str {
    if is_tilt() { "instance" } else { "engine" }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_real_processes_are_stopped() {
        for (pid, want) in [
            (json!(1234), Some(1234)),
            (json!(1), None),
            (json!(0), None),
            (json!(-1), None),
            (json!(5_000_000_000_i64), None),
            (Value::Null, None),
        ] {
            let session = json!({"status": {"pid": &pid}});
            assert_eq!(process_of(&session).map(Pid::as_raw), want, "{pid}");
        }
    }

    #[test]
    fn the_default_port_has_a_name_of_its_own() {
        for (port, name) in
            [(10350, "tilt-default"), (10351, "tilt-10351"), (0, "tilt-0"), (-1, "tilt--1")]
        {
            assert_eq!(name_of_port(port), name);
        }
    }

    #[test]
    fn who_looks_at_the_wrong_port_is_told_the_right_one() {
        let check = |others: &[(i64, &str)], want: &str| {
            let others: Vec<(Option<i64>, String)> =
                others.iter().map(|(port, place)| (Some(*port), (*place).to_owned())).collect();
            assert_eq!(nothing_runs_text("port 10350", &others, "engine"), want);
        };
        check(&[], "no engine is running (`engine up` starts one)");
        check(
            &[(24101, "port 24101 (/a)")],
            "nothing runs on port 10350. Running: port 24101 (/a). Use --port 24101",
        );
        check(
            &[(1, "port 1 (/a)"), (2, "port 2 (Tilt v0.37.6, /b)")],
            "nothing runs on port 10350. Running: port 1 (/a), port 2 (Tilt v0.37.6, /b). Use --port with one of them",
        );
    }
}

//! Lends an ssh agent to a build: steps may have something signed, and nothing else.
//!
//! Keys that are given as files go into an agent of our own, which ends with the build.

use std::{
    collections::HashMap,
    io,
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
    pin::Pin,
    process::Stdio,
    time::Duration,
};

use bollard_buildkit_proto::moby::sshforward::v1::{
    BytesMessage, CheckAgentRequest, CheckAgentResponse, ssh_server::Ssh,
};
use engine_model::path::{to_os, to_path};
use futures_util::{Stream, StreamExt, stream};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    process::Child,
};
use tonic::{Request, Response, Status, Streaming, async_trait};

use super::status;
use crate::{environment::Environment, program};

const DEFAULT_ID: &str = "default";
const ID_KEY: &str = "buildkit.ssh.id";
/// How long our own agent may take to start.
const AGENT_TIMEOUT: Duration = Duration::from_secs(10);
/// Runs an agent until nobody holds our end of the pipe any more, even if we were killed: it has somebody's keys.
/// Nothing of it is left then, also of its directory.
const RUN_AGENT: &str = "command -v ssh-agent >/dev/null || exit 127
ssh-agent -D -a \"$0\" &
read -r _
kill $!
wait
rm -f \"$0\"
rmdir \"${0%/*}\" 2>/dev/null";
/// The longest message to an agent, in bytes.
const MESSAGE_MAX: usize = 256 * 1024;
const REQUEST_IDENTITIES: u8 = 11;
const SIGN: u8 = 13;
/// An agent's answer to what it does not do, with its length.
const FAILURE: [u8; 5] = [0, 0, 0, 1, 5];

/// The agents that a build may use.
#[derive(Debug)]
pub(crate) struct Agents {
    sockets: HashMap<String, PathBuf>,
    /// Ours; each ends when it is dropped.
    _own: Vec<(Child, TempDir)>,
}

/// Why a build has no ssh agent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AgentError {
    #[error("invalid empty ssh agent socket: make sure SSH_AUTH_SOCK is set")]
    NoSocket,
    #[error("invalid combination of keys and sockets")]
    KeysAndSockets,
    #[error("duplicate agent ID {0:?}")]
    Duplicate(String),
    #[error("{what}: {source}")]
    Run { what: &'static str, source: io::Error },
    #[error("cannot run ssh-agent")]
    Ended,
    #[error("ssh-agent did not start")]
    Slow,
    #[error("failed to add {key} to agent: {why}")]
    Key { key: String, why: String },
}

impl Agents {
    /// Reads specifications such as `default` or `id=path`, and starts agents for keys in files.
    pub(crate) async fn open(
        specs: &[String],
        environment: &Environment,
    ) -> Result<Self, AgentError> {
        let (mut sockets, mut own) = (HashMap::new(), Vec::new());
        for spec in specs {
            let (id, paths) = spec.split_once('=').unwrap_or((spec, ""));
            let id = if id.is_empty() { DEFAULT_ID } else { id };
            let paths: Vec<&str> = paths.split(',').filter(|it| !it.is_empty()).collect();
            let socket = match paths.as_slice() {
                [] => environment
                    .var("SSH_AUTH_SOCK")
                    .map(|it| to_path(it).into_owned())
                    .ok_or(AgentError::NoSocket)?,
                [path] if is_socket(&to_path(path)) => to_path(path).into_owned(),
                paths if paths.iter().any(|it| is_socket(&to_path(it))) => {
                    return Err(AgentError::KeysAndSockets);
                }
                keys => {
                    let (child, dir) = start_agent(keys, environment).await?;
                    let socket = dir.path().join("agent");
                    own.push((child, dir));
                    socket
                }
            };
            if sockets.insert(id.to_owned(), socket).is_some() {
                return Err(AgentError::Duplicate(id.to_owned()));
            }
        }
        Ok(Self { sockets, _own: own })
    }

    fn socket(&self, id: &str) -> Result<&PathBuf, Status> {
        let id = if id.is_empty() { DEFAULT_ID } else { id };
        self.sockets.get(id).ok_or_else(|| Status::not_found(format!("unset ssh forward key {id}")))
    }
}

fn is_socket(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|it| it.file_type().is_socket())
}

/// Starts an agent that has only these keys.
async fn start_agent(
    keys: &[&str],
    environment: &Environment,
) -> Result<(Child, TempDir), AgentError> {
    let failed = |what| move |source| AgentError::Run { what, source };
    let dir = tempfile::tempdir().map_err(failed("ssh agent"))?;
    let socket = dir.path().join("agent");
    let mut agent = environment.command("sh");
    agent.args(["-c", RUN_AGENT]).arg(&socket).kill_on_drop(false);
    agent.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = agent.spawn().map_err(failed("cannot run ssh-agent"))?;
    // `wait` would close the pipe.
    let pipe = child.stdin.take();
    let listening = async {
        while UnixStream::connect(&socket).await.is_err() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        () = listening => {}
        _ = child.wait() => return Err(AgentError::Ended),
        () = tokio::time::sleep(AGENT_TIMEOUT) => return Err(AgentError::Slow),
    }
    child.stdin = pipe;
    for key in keys {
        let mut add = environment.command("ssh-add");
        add.arg("-q")
            .arg(to_os(key))
            .env("SSH_AUTH_SOCK", &socket)
            .env("SSH_ASKPASS_REQUIRE", "never");
        let added = program::run(add, "").await.map_err(failed("cannot run ssh-add"))?;
        if !added.status.success() {
            let (key, why) = ((*key).to_owned(), added.stderr.trim().to_owned());
            return Err(AgentError::Key { key, why });
        }
    }
    Ok((child, dir))
}

#[async_trait]
impl Ssh for Agents {
    type ForwardAgentStream = Messages;

    async fn check_agent(
        &self,
        request: Request<CheckAgentRequest>,
    ) -> Result<Response<CheckAgentResponse>, Status> {
        self.socket(&request.get_ref().id)?;
        Ok(Response::new(CheckAgentResponse {}))
    }

    async fn forward_agent(
        &self,
        request: Request<Streaming<BytesMessage>>,
    ) -> Result<Response<Self::ForwardAgentStream>, Status> {
        let id = request.metadata().get(ID_KEY).and_then(|it| it.to_str().ok()).unwrap_or_default();
        let socket = self.socket(id)?;
        let agent = UnixStream::connect(socket).await.map_err(|error| {
            status(&format!("failed to connect to {}: {error}", socket.display()))
        })?;
        Ok(Response::new(forward(agent, request.into_inner())))
    }
}

type Messages = Pin<Box<dyn Stream<Item = Result<BytesMessage, Status>> + Send>>;

/// Connects a step with an agent.
fn forward(
    agent: UnixStream,
    incoming: impl Stream<Item = Result<BytesMessage, Status>> + Send + 'static,
) -> Messages {
    let (answers, agent) = agent.into_split();
    let answers = stream::unfold(answers, read_answer);
    Box::pin(stream::select(answers, relay(Box::pin(incoming), agent)))
}

async fn read_answer(
    mut answers: OwnedReadHalf,
) -> Option<(Result<BytesMessage, Status>, OwnedReadHalf)> {
    let mut data = vec![0; 32 * 1024];
    match answers.read(&mut data).await {
        Ok(0) | Err(_) => None,
        Ok(len) => {
            data.truncate(len);
            Some((Ok(BytesMessage { data }), answers))
        }
    }
}

/// Passes allowed requests on to the agent; the items are refusals of all others.
fn relay(
    incoming: Messages,
    agent: OwnedWriteHalf,
) -> impl Stream<Item = Result<BytesMessage, Status>> + Send {
    let state = (incoming, agent, Requests::default());
    let refusals = stream::unfold(state, |(mut incoming, mut agent, mut requests)| async move {
        let Some(Ok(message)) = incoming.next().await else {
            let _ = agent.shutdown().await;
            return None;
        };
        requests.bytes.extend_from_slice(&message.data);
        let mut refused = Vec::new();
        loop {
            match requests.next() {
                Next::Incomplete => break,
                Next::Allowed(request) => agent.write_all(&request).await.ok()?,
                Next::Refused => refused.extend_from_slice(&FAILURE),
                Next::TooLong => return None,
            }
        }
        Some((refused, (incoming, agent, requests)))
    });
    let refusals = refusals.filter(|it| std::future::ready(!it.is_empty()));
    refusals.map(|data| Ok(BytesMessage { data }))
}

/// Requests to an agent, as they come in.
#[derive(Default)]
struct Requests {
    bytes: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq)]
enum Next {
    Incomplete,
    Allowed(Vec<u8>),
    Refused,
    TooLong,
}

impl Requests {
    fn next(&mut self) -> Next {
        let Some(length) = self.bytes.first_chunk::<4>() else { return Next::Incomplete };
        let length = u32::from_be_bytes(*length) as usize;
        if length > MESSAGE_MAX {
            return Next::TooLong;
        }
        if self.bytes.len() < 4 + length {
            return Next::Incomplete;
        }
        let rest = self.bytes.split_off(4 + length);
        let request = std::mem::replace(&mut self.bytes, rest);
        match request.get(4) {
            Some(&(REQUEST_IDENTITIES | SIGN)) => Next::Allowed(request),
            _ => Next::Refused,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listing_and_signing_reach_the_agent() {
        let mut requests = Requests::default();
        requests.bytes.extend([0, 0, 0, 1, 11, 0, 0, 0, 1, 19, 0, 0]);
        assert_eq!(requests.next(), Next::Allowed(vec![0, 0, 0, 1, 11]));
        assert_eq!(requests.next(), Next::Refused, "removing all keys");
        assert_eq!(requests.next(), Next::Incomplete);
        requests.bytes.extend([0, 2, 13, 7]);
        assert_eq!(requests.next(), Next::Allowed(vec![0, 0, 0, 2, 13, 7]));
        requests.bytes.extend([255, 0, 0, 0]);
        assert_eq!(requests.next(), Next::TooLong);
    }

    #[tokio::test]
    async fn a_key_in_a_file_can_be_used_and_not_removed() {
        let dir = tempfile::tempdir().unwrap();
        let key = dir.path().join("key").to_str().unwrap().to_owned();
        let made = std::process::Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-C", "our comment", "-f", &key])
            .status();
        assert!(made.unwrap().success());
        let specs = [format!("default={key}")];
        let agents = Agents::open(&specs, &Environment::of_process()).await.unwrap();
        let agent = UnixStream::connect(agents.socket("").unwrap()).await.unwrap();
        let (requests, incoming) = tokio::sync::mpsc::channel(1);
        let incoming = stream::unfold(incoming, |mut it| async { Some((it.recv().await?, it)) });
        let mut answers = forward(agent, incoming);
        let mut ask = async |kind: u8| {
            let data = vec![0, 0, 0, 1, kind];
            requests.send(Ok(BytesMessage { data })).await.unwrap();
            answers.next().await.unwrap().unwrap().data
        };
        let lists_key = |answer: &[u8]| String::from_utf8_lossy(answer).contains("our comment");
        assert!(lists_key(&ask(REQUEST_IDENTITIES).await));
        assert_eq!(ask(19).await, FAILURE, "removing all keys");
        assert!(lists_key(&ask(REQUEST_IDENTITIES).await));
    }

    #[tokio::test]
    async fn an_agent_whose_owner_was_killed_leaves_nothing() {
        let (mut child, dir) = start_agent(&[], &Environment::of_process()).await.unwrap();
        // Nobody is left to remove it.
        let dir = dir.keep();
        assert!(dir.join("agent").exists());
        drop(child.stdin.take());
        child.wait().await.unwrap();
        assert!(!dir.exists());
    }

    #[tokio::test]
    async fn specifications_that_cannot_work_say_why() {
        let environment = Environment::new([]);
        for (specs, want) in [
            (vec!["default"], "SSH_AUTH_SOCK"),
            (vec!["a=/nowhere/key"], "failed to add /nowhere/key to agent"),
        ] {
            let specs: Vec<String> = specs.iter().map(|&it| it.to_owned()).collect();
            let error = Agents::open(&specs, &environment).await.unwrap_err().to_string();
            assert!(error.contains(want), "{error}");
        }
    }
}

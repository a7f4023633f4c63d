//! A container of a pod: how the helper gets into it, whatever it has inside.
//!
//! Where there is a shell, that puts the helper into a directory that can be written to and becomes it; images of
//! `restart_process` have one inside. Elsewhere, or where the container's user may not write what is to be written, a
//! container beside it reaches into its file system.

use std::{fmt, io, sync::Arc, time::Duration};

use engine_core::live_update::{ContainerCommand, RunEnd, RunError};
use engine_docker::Archive;
use engine_helper::{carried, restart::WRAPPER};
use engine_kubernetes::{Cluster, ContainerPlace, EphemeralContainer, ExecSession, ObjectKey};
use engine_model::FilePath;
use futures_util::{Stream, StreamExt, stream};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    task::spawn_blocking,
};

use super::{
    AFTER_BREAK, BREAKS_MAX, TRY_AGAIN,
    commands::is_not_found,
    error::{CopyError, SyncError},
    helper_image::HelperImage,
    session::{HELPER, Printed, START, Session, SessionError},
    tail::{KEPT_MAX, Tail},
    upload,
};
use crate::{
    exec::Text,
    logs::{Level, LogWriter},
};

/// Getting an image and starting it may take a while.
const START_BESIDE: Duration = Duration::from_mins(1);

/// Where the helper is in its image.
pub(super) const HELPER_PROGRAM: &str = "/engine-helper";

/// Finds a directory that can be written to, puts what it reads there and becomes it.
const BOOT: &str = r#"
set -- / /tmp /var/tmp
[ -r /proc/mounts ] && while read -r _ dir _ options _; do
  case ",$options," in *,ro,*|*,noexec,*) ;; *) set -- "$@" "$dir" ;; esac
done < /proc/mounts
for dir; do
  file="${dir%/}/NAME"
  if (: > "$file") 2>/dev/null; then
    head -c SIZE > "$file" && chmod 755 "$file" && echo "ready $file" && exec "$file" serve
    rm -f "$file"; exit 1
  fi
done
echo "nothing can be written" >&2; exit 1
"#;

/// A container, with what has to be known of it.
#[derive(Clone)]
pub struct PodTarget {
    /// The cluster.
    pub cluster: Cluster,
    /// Which container.
    pub at: ContainerPlace,
    /// Which run of it.
    pub id: String,
    /// What its node is, such as `amd64`.
    pub arch: String,
    /// The helper as an image, if the cluster can get one.
    pub helper_image: Option<HelperImage>,
}

impl fmt::Debug for PodTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PodTarget").field("at", &self.at).finish_non_exhaustive()
    }
}

impl PodTarget {
    /// Starts a helper in the container, or beside it.
    pub(super) async fn open(&self) -> Result<Session, SessionError> {
        let inside = match self.open_inside().await {
            Ok(session) => return Ok(session),
            Err(error) if error.is_unreachable() => return Err(error),
            Err(error) => error,
        };
        // Whoever cannot be helped either way is told about the first.
        self.open_beside().await.map_err(|beside| match beside {
            beside if beside.is_unreachable() => beside,
            beside => SessionError::Ended(format!("{inside}; beside the container: {beside}")),
        })
    }

    fn program(&self) -> Result<&'static [u8], SessionError> {
        let not_carried = || SessionError::NotCarried(self.arch.clone());
        carried::helper_for(&self.arch).ok_or_else(not_carried)
    }

    /// Has a shell of the container put the helper in its place and become it. Without a shell, the helper may be
    /// there already.
    pub(super) async fn open_inside(&self) -> Result<Session, SessionError> {
        let booted = tokio::time::timeout(START, self.boot()).await;
        let error = match booted.map_err(|_| SessionError::Slow)? {
            Ok(session) => return Ok(session),
            Err(error) if error.is_unreachable() => return Err(error),
            Err(error) => error,
        };
        let found = tokio::time::timeout(START, self.join_wrapper()).await;
        found.ok().and_then(Result::ok).ok_or(error)
    }

    /// Starts the helper once more that an image of `restart_process` starts with.
    async fn join_wrapper(&self) -> Result<Session, SessionError> {
        let argv = [format!("/{WRAPPER}"), "--serve".to_owned()];
        let (input, output) = streams(self.cluster.exec(&self.at, &argv, true).await?);
        Session::begin(input, output, None, false).await
    }

    async fn boot(&self) -> Result<Session, SessionError> {
        let program = self.program()?;
        let script = BOOT.replace("NAME", HELPER).replace("SIZE", &program.len().to_string());
        let argv = ["sh", "-c", &script].map(ToOwned::to_owned);
        let session = self.cluster.exec(&self.at, &argv, true).await?;
        let (mut input, mut output) = streams(session);
        let sent = async {
            // One that ends early says why.
            if input.write_all(program).await.is_ok() {
                let _ = input.flush().await;
            }
        };
        let ((), path) = tokio::join!(sent, ready(&mut output));
        Session::begin(input, output, Some(&path?), false).await
    }

    /// Puts a container with the helper beside this one, from where it reaches into its file system.
    pub(super) async fn open_beside(&self) -> Result<Session, SessionError> {
        let image = self.helper_image.as_ref().ok_or(SessionError::NoPlace)?;
        if self.shares_processes().await? {
            return Err(SessionError::SharedProcesses);
        }
        let image = image.name().await?.to_owned();
        // It lives as long as this run of the container, and is found again by another engine.
        let id: String = self.id.chars().take(10).collect();
        let at = ContainerPlace { container: format!("engine-helper-{id}"), ..self.at.clone() };
        let container = EphemeralContainer {
            name: at.container.clone(),
            image,
            command: vec![HELPER_PROGRAM.to_owned(), "serve".to_owned()],
            target: self.at.container.clone(),
            user: Some(0),
            capabilities: vec!["SYS_PTRACE".to_owned()],
            with_stdin: true,
        };
        let (namespace, pod) = (&self.at.namespace, &self.at.pod);
        self.cluster.add_ephemeral_container(namespace, pod, &container).await?;
        self.cluster.wait_ephemeral(&at, START_BESIDE).await?;
        let argv = [HELPER_PROGRAM, "serve", "--root=/proc/1/root"].map(ToOwned::to_owned);
        let (input, output) = streams(self.cluster.exec(&at, &argv, true).await?);
        let begun = Session::begin(input, output, None, true);
        tokio::time::timeout(START, begun).await.map_err(|_| SessionError::Slow)?
    }

    /// Whether the first process that is seen from beside is not that of this container.
    async fn shares_processes(&self) -> Result<bool, SessionError> {
        let key = ObjectKey {
            api_version: "v1".to_owned(),
            kind: "Pod".to_owned(),
            namespace: self.at.namespace.clone(),
            name: self.at.pod.clone(),
        };
        let pod = self.cluster.get(&key).await?.unwrap_or_default();
        Ok(pod["spec"]["shareProcessNamespace"] == true || pod["spec"]["hostPID"] == true)
    }

    /// Runs a command.
    pub(super) async fn execute(
        &self,
        run: &ContainerCommand,
        log: &LogWriter,
    ) -> Result<RunEnd, RunError> {
        let failed = |error: engine_kubernetes::KubernetesError| {
            let error = error.to_string();
            if is_not_found(&error) {
                Ok(RunEnd::NotStarted)
            } else {
                Err(RunError::Container(error))
            }
        };
        let session = match self.cluster.exec(&self.at, &run.argv, false).await {
            Ok(session) => session,
            Err(error) => return failed(error),
        };
        let (_, stdout, stderr, status) = session.split();
        let mut printed = std::pin::pin!(merge(stdout, stderr));
        let show = async {
            let (mut text, mut write) = (Text::default(), |it: &str| log.write(Level::Info, it));
            while let Some(Ok(it)) = printed.next().await {
                text.take(&it.bytes, &mut write);
            }
        };
        match tokio::join!(status.wait(), show).0 {
            Ok(code) => Ok(RunEnd::Exited(code)),
            Err(error) => failed(error),
        }
    }

    /// Removes and copies files with what the container itself has; again if an answer got lost on its way.
    pub(super) async fn copy(
        &self,
        deletions: &[FilePath],
        archive: &Arc<Archive>,
    ) -> Result<(), SyncError> {
        let mut n_breaks = 0;
        loop {
            match self.try_copy(deletions, archive).await {
                Ok(()) => return Ok(()),
                Err(error) if error.is_unreachable() => tokio::time::sleep(TRY_AGAIN).await,
                Err(error) if error.is_disconnect() && n_breaks < BREAKS_MAX => {
                    n_breaks += 1;
                    tokio::time::sleep(AFTER_BREAK).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn try_copy(
        &self,
        deletions: &[FilePath],
        archive: &Arc<Archive>,
    ) -> Result<(), SyncError> {
        if !deletions.is_empty() {
            let (argv, names) = upload::removal(deletions);
            let removed = match names {
                None => self.feed(&argv, None::<&mut &[u8]>).await,
                Some(names) => self.feed(&argv, Some(&mut names.as_slice())).await,
            };
            removed.map_err(|error| SyncError::Remove(Arc::new(error)))?;
        }
        let archive = Arc::clone(archive);
        let written = spawn_blocking(move || upload::write_down(&archive)).await;
        let file = written
            .map_err(io::Error::other)
            .and_then(|it| it)
            .map_err(|error| SyncError::Archive(Arc::new(error.into())))?;
        let argv = ["tar", "-C", "/", "-x", "-f", "-"].map(ToOwned::to_owned);
        let mut file = tokio::fs::File::from_std(file);
        let unpacked = self.feed(&argv, Some(&mut file)).await;
        unpacked.map_err(SyncError::copying)
    }

    /// Runs a command with an input; what it prints matters only if it fails.
    async fn feed(
        &self,
        argv: &[String],
        input: Option<&mut (impl AsyncRead + Unpin)>,
    ) -> Result<(), CopyError> {
        let mut session = self.cluster.exec(&self.at, argv, input.is_some()).await?;
        let stdin = session.stdin.take();
        let writing = async {
            if let (Some(mut stdin), Some(input)) = (stdin, input) {
                // A command that does not read all of it says why.
                let _ = tokio::io::copy(input, &mut stdin).await;
                let _ = stdin.shutdown().await;
            }
        };
        match tokio::join!(writing, session.finish()).1 {
            Ok((0, _, _)) => Ok(()),
            Ok((code, _, stderr)) => {
                let stderr = String::from_utf8_lossy(&stderr).trim_end().to_owned();
                let command = argv.first().cloned().unwrap_or_default();
                Err(CopyError::Exit { command, code, stderr })
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Waits until the shell says where it has put the helper.
async fn ready(output: &mut super::session::Answers) -> Result<String, SessionError> {
    let (mut line, mut complaint) = (Vec::new(), Tail::default());
    while let Some(printed) = output.next().await {
        let printed = printed?;
        if printed.is_stderr {
            complaint.push(&printed.bytes);
            continue;
        }
        line.extend(printed.bytes);
        if line.len() > KEPT_MAX {
            return Err(SessionError::Ended("its shell prints without an end".to_owned()));
        }
        if let Some(line) = line.strip_suffix(b"\n") {
            let line = String::from_utf8_lossy(line);
            let path = line.strip_prefix("ready ").map(ToOwned::to_owned);
            return path.ok_or_else(|| SessionError::Ended(line.into_owned()));
        }
    }
    Err(SessionError::Ended(complaint.text()))
}

/// The streams of a command; they end with it, and it ends with them.
fn streams(session: ExecSession) -> (super::session::Input, super::session::Answers) {
    let (stdin, stdout, stderr, status) = session.split();
    let input: super::session::Input = match stdin {
        Some(stdin) => Box::pin(stdin),
        None => Box::pin(tokio::io::sink()),
    };
    // Why a command could not be started is said only in the end.
    let end = stream::once(status.wait()).filter_map(async |it| it.err().map(|it| Err(it.into())));
    (input, Box::pin(merge(stdout, stderr).chain(end)))
}

/// What is printed, as it comes.
fn merge(
    stdout: impl AsyncRead + Unpin + Send,
    stderr: impl AsyncRead + Unpin + Send,
) -> impl Stream<Item = Result<Printed, SessionError>> + Send {
    stream::select(pieces(stdout, false), pieces(stderr, true))
}

fn pieces(
    reader: impl AsyncRead + Unpin + Send,
    is_stderr: bool,
) -> impl Stream<Item = Result<Printed, SessionError>> + Send {
    stream::unfold(reader, move |mut reader| async move {
        let mut bytes = Vec::with_capacity(16 * 1024);
        match reader.read_buf(&mut bytes).await {
            Ok(n) if n > 0 => Some((Ok(Printed { is_stderr, bytes }), reader)),
            _ => None,
        }
    })
}

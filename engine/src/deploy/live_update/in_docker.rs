//! A container of a Docker engine: where in it the helper can be put, and as whom it runs there.
//!
//! It runs as the container's own user, who may write most of what is synced. Root helps where that user may not, but
//! runs nothing that the user could have put there: no command, and no helper from a directory that others may write.

use engine_core::live_update::{Container, ContainerCommand, RunEnd, RunError};
use engine_docker::{Docker, DockerError, Exec};
use engine_helper::carried;
use futures_util::StreamExt;

use super::{
    commands::is_not_found,
    session::{HELPER, Printed, START, Session, SessionError},
};
use crate::{
    exec::Text,
    logs::{Level, LogWriter},
};

/// Where only root can write, in nearly all images.
const TOP: &str = "/";

/// As whom the helper runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    /// As the container does.
    Own,
    /// As root, although the container does not.
    Root,
}

/// A container, with what has to be known of it.
#[derive(Clone, Debug)]
pub struct DockerTarget {
    pub(super) docker: Docker,
    pub(super) id: String,
    layout: Layout,
}

/// What there is in a container.
#[derive(Clone, Debug, Default)]
struct Layout {
    is_read_only: bool,
    volumes: Vec<String>,
    user: String,
}

impl Layout {
    /// Directories that can be written to, best first.
    fn dirs(&self) -> impl Iterator<Item = &str> {
        let root = (!self.is_read_only).then_some(TOP);
        root.into_iter().chain(self.volumes.iter().map(String::as_str))
    }

    /// Whether somebody else than the container's own user could do more, started from where nobody else can write.
    fn has_root(&self) -> bool {
        !self.is_roots() && !self.is_read_only
    }

    /// Whether all runs as root anyway.
    fn is_roots(&self) -> bool {
        matches!(self.user.as_str(), "" | "0" | "root" | "0:0" | "root:root")
    }
}

impl DockerTarget {
    /// The place of a container.
    pub fn of(docker: &Docker, container: &engine_model::Container) -> Self {
        let layout = Layout {
            is_read_only: container.is_read_only,
            volumes: container.volumes.clone(),
            user: container.user.clone(),
        };
        Self { docker: docker.clone(), id: container.id.clone(), layout }
    }

    /// Whether all runs as root anyway, so that nobody could plant anything for root to follow.
    pub(super) fn is_roots(&self) -> bool {
        self.layout.is_roots()
    }

    /// Puts the helper into the container and starts it, as the container's own user if that is possible.
    pub(super) async fn open(&self) -> Result<Session, SessionError> {
        let mut last = SessionError::NoPlace;
        for dir in self.layout.dirs() {
            match self.put_and_start(dir, Who::Own).await {
                Ok(session) => {
                    if session.leaves_file() && dir == TOP && self.may_start_as_root().await {
                        // It removes the file, and that is all.
                        let _ = self.start(dir, Who::Root).await;
                    }
                    return Ok(session);
                }
                Err(error) => last = error,
            }
        }
        self.open_as_root().await.map_err(|_| last)
    }

    /// Puts the helper into the container and starts it as root, for files that the container's own user may not write.
    pub(super) async fn open_as_root(&self) -> Result<Session, SessionError> {
        if !self.may_start_as_root().await {
            return Err(SessionError::NoPlace);
        }
        self.put_and_start(TOP, Who::Root).await
    }

    /// Whether nobody but root can put a program in the place of the helper.
    async fn may_start_as_root(&self) -> bool {
        self.layout.has_root() && self.docker.is_of_root(&self.id, TOP).await.unwrap_or(false)
    }

    async fn put_and_start(&self, dir: &str, who: Who) -> Result<Session, SessionError> {
        let arch = self.docker.server().await?.arch;
        let not_carried = || SessionError::NotCarried(arch.clone());
        let program = carried::helper_for(&arch).ok_or_else(not_carried)?;
        self.docker.put_program(&self.id, dir, HELPER, program).await?;
        self.start(dir, who).await
    }

    async fn start(&self, dir: &str, who: Who) -> Result<Session, SessionError> {
        let begun = tokio::time::timeout(START, self.begin(dir, who));
        begun.await.unwrap_or(Err(SessionError::Slow))
    }

    async fn begin(&self, dir: &str, who: Who) -> Result<Session, SessionError> {
        let path = format!("{}/{HELPER}", dir.trim_end_matches('/'));
        // Root is asked for what would get another owner, where it can be.
        let flag = match who {
            Who::Own => (self.layout.has_root() && dir == TOP).then_some("--keep-owners"),
            Who::Root => Some("--files-only"),
        };
        let argv = [path.as_str(), "serve"].into_iter().chain(flag);
        let exec = Exec {
            argv: argv.map(ToOwned::to_owned).collect(),
            user: (who == Who::Root).then(|| "0".to_owned()),
            ..Exec::default()
        };
        let attached = self.docker.attach(&self.id, &exec).await?;
        let output = attached.output.map(|it| {
            let it = it?;
            Ok(Printed { is_stderr: it.is_stderr, bytes: it.bytes.to_vec() })
        });
        Session::begin(attached.input, Box::pin(output), Some(&path), who == Who::Root).await
    }

    /// Runs a command.
    pub(super) async fn execute(
        &self,
        container: &Container,
        run: &ContainerCommand,
        log: &LogWriter,
    ) -> Result<RunEnd, RunError> {
        let exec = Exec { argv: run.argv.clone(), ..Exec::default() };
        let (mut text, mut is_missing) = (Text::default(), false);
        let mut write = |it: &str| {
            is_missing |= is_not_found(it);
            log.write(Level::Info, it);
        };
        let mut take = |it: engine_docker::Output| text.take(&it.bytes, &mut write);
        let ended = self.docker.exec(&container.id, &exec, None, &mut take).await;
        match ended {
            Ok(126 | 127) if is_missing => Ok(RunEnd::NotStarted),
            Ok(code) => Ok(RunEnd::Exited(i32::try_from(code).unwrap_or(-1))),
            Err(DockerError::Refused { message, .. }) if is_not_found(&message) => {
                Ok(RunEnd::NotStarted)
            }
            Err(error) => Err(RunError::Container(error.to_string())),
        }
    }

    /// Starts the container's process again.
    pub(super) async fn restart(&self) -> Result<(), DockerError> {
        self.docker.restart(&self.id).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(is_read_only: bool, volumes: &[&str], user: &str) -> Layout {
        let volumes = volumes.iter().map(|&it| it.to_owned()).collect();
        Layout { is_read_only, volumes, user: user.to_owned() }
    }

    #[test]
    fn a_volume_takes_the_helper_if_the_root_cannot() {
        assert_eq!(layout(false, &["/data"], "").dirs().collect::<Vec<_>>(), ["/", "/data"]);
        assert_eq!(layout(true, &["/data"], "").dirs().collect::<Vec<_>>(), ["/data"]);
        assert_eq!(layout(true, &[], "").dirs().count(), 0);
    }

    #[test]
    fn root_helps_only_others_and_only_where_they_cannot_write() {
        for (is_read_only, user, has_root) in [
            (false, "1000", true),
            (false, "app:app", true),
            (false, "0:1000", true),
            (false, "", false),
            (false, "root", false),
            (true, "1000", false),
        ] {
            assert_eq!(layout(is_read_only, &["/data"], user).has_root(), has_root, "{user}");
        }
    }
}

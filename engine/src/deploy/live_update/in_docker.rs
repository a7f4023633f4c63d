//! A container of a Docker engine: where in it the helper can be put, and as whom it runs there.

use engine_core::live_update::{Container, Run, RunEnd, RunError};
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

/// A container, with what has to be known of it.
#[derive(Clone, Debug)]
pub struct DockerPlace {
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
        let root = (!self.is_read_only).then_some("/");
        root.into_iter().chain(self.volumes.iter().map(String::as_str))
    }

    /// As whom the helper is started: root can write everywhere; nobody in particular is the container's own user.
    fn users(&self) -> Vec<Option<&'static str>> {
        if self.is_roots() { vec![None] } else { vec![Some("0"), None] }
    }

    /// Whether all runs as root anyway, so that the helper can run commands as the container would.
    fn is_roots(&self) -> bool {
        matches!(self.user.as_str(), "" | "0" | "root" | "0:0" | "root:root")
    }
}

impl DockerPlace {
    /// The place of a container.
    #[must_use]
    pub fn of(docker: &Docker, container: &engine_docker::Container) -> Self {
        let layout = Layout {
            is_read_only: container.is_read_only,
            volumes: container.volumes.clone(),
            user: container.user.clone(),
        };
        Self { docker: docker.clone(), id: container.id.clone(), layout }
    }

    /// Puts the helper into the container and starts it, as root if that is possible.
    pub(super) async fn open(&self) -> Result<Session, SessionError> {
        let arch = self.docker.server().await?.arch;
        let not_carried = || SessionError::NotCarried(carried::how_to_build(&arch));
        let program = carried::helper_for(&arch).ok_or_else(not_carried)?;
        let mut last = SessionError::NoPlace;
        for dir in self.layout.dirs() {
            if let Err(error) = self.docker.put_program(&self.id, dir, HELPER, program).await {
                last = error.into();
                continue;
            }
            for user in self.layout.users() {
                match tokio::time::timeout(START, self.start(dir, user)).await {
                    Ok(Ok(session)) => return Ok(session),
                    Ok(Err(error)) => last = error,
                    Err(_) => last = SessionError::Slow,
                }
            }
        }
        Err(last)
    }

    async fn start(&self, dir: &str, user: Option<&str>) -> Result<Session, SessionError> {
        let path = format!("{}/{HELPER}", dir.trim_end_matches('/'));
        let exec = Exec {
            argv: vec![path.clone(), "serve".to_owned()],
            user: user.map(ToOwned::to_owned),
            ..Exec::default()
        };
        let attached = self.docker.attach(&self.id, &exec).await?;
        let output = attached.output.map(|it| {
            let it = it?;
            Ok(Printed { is_stderr: it.is_stderr, bytes: it.bytes.to_vec() })
        });
        Session::begin(attached.input, Box::pin(output), Some(&path), !self.layout.is_roots()).await
    }

    /// Runs a command.
    pub(super) async fn execute(
        &self,
        container: &Container,
        run: &Run,
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
    fn root_is_tried_before_the_own_user_of_a_container() {
        assert_eq!(layout(false, &[], "").users(), [None]);
        assert_eq!(layout(false, &[], "1000").users(), [Some("0"), None]);
        assert!(!layout(false, &[], "0:1000").is_roots());
    }
}

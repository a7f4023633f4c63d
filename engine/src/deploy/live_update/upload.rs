//! The way into containers where no helper can run: Docker unpacks an archive, or the container's own `tar` does.

use std::{
    fs::File,
    io::{self, BufWriter, Seek},
    sync::Arc,
};

use engine_core::live_update::{Container, permission_denied};
use engine_docker::{Archive, Docker, DockerError, Exec};
use futures_util::future::join_all;
use tokio::{io::AsyncRead, task::spawn_blocking};

use super::in_docker::DockerPlace;

/// Removes and copies files; says of each container how that went.
pub(super) async fn update(
    places: &[(Container, Arc<DockerPlace>)],
    deletions: &[String],
    archive: &Arc<Archive>,
) -> Vec<Result<(), String>> {
    // All of them are on the one engine that there is.
    let Some(docker) = places.first().map(|(_, it)| &it.docker) else { return Vec::new() };
    let containers: Vec<Container> = places.iter().map(|(it, _)| it.clone()).collect();
    let removed = join_all(containers.iter().map(|it| remove(docker, it, deletions))).await;
    let copied = copy(docker, &containers, archive).await;
    removed.into_iter().zip(copied).map(|(removed, copied)| removed.and(copied)).collect()
}

/// Removes what is gone here.
async fn remove(docker: &Docker, container: &Container, paths: &[String]) -> Result<(), String> {
    if paths.is_empty() {
        return Ok(());
    }
    let mut argv = vec!["rm".to_owned(), "-rf".to_owned()];
    argv.extend_from_slice(paths);
    execute(docker, container, argv, &mut tokio::io::empty())
        .await
        .map_err(|error| format!("Error deleting files from container: {error}"))
}

/// Sends one archive to all containers.
async fn copy(
    docker: &Docker,
    containers: &[Container],
    archive: &Arc<Archive>,
) -> Vec<Result<(), String>> {
    if archive.is_empty() {
        return vec![Ok(()); containers.len()];
    }
    let ids: Vec<String> = containers.iter().map(|it| it.id.to_string()).collect();
    let uploaded = match docker.upload(&ids, "/", Arc::clone(archive)).await {
        Ok(uploaded) => uploaded,
        Err(error) => {
            return vec![Err(format!("copying changed files: {error}")); containers.len()];
        }
    };
    let finished = containers.iter().zip(uploaded).map(|(container, uploaded)| async move {
        match uploaded {
            // What Docker cannot write to may still have places that the container itself can.
            Err(error) if is_read_only(&error) => unpack(docker, container, archive).await,
            uploaded => uploaded.map_err(|error| error.to_string()),
        }
        .map_err(|error| explain(&error))
    });
    join_all(finished).await
}

fn is_read_only(error: &DockerError) -> bool {
    matches!(error, DockerError::Refused { message, .. } if message.contains("read-only"))
}

pub(super) fn explain(error: &str) -> String {
    let error = format!("copying changed files: {error}");
    let is_denied =
        ["ermission denied", "cannot open", "ead-only"].iter().any(|it| error.contains(it));
    if is_denied { permission_denied(&error) } else { error }
}

/// Has the container unpack an archive.
async fn unpack(
    docker: &Docker,
    container: &Container,
    archive: &Arc<Archive>,
) -> Result<(), String> {
    let archive = Arc::clone(archive);
    let written = spawn_blocking(move || write_down(&archive)).await;
    let file = written.map_err(|it| it.to_string())?.map_err(|it| it.to_string())?;
    let argv = ["tar", "-C", "/", "-x", "-f", "-"].map(ToOwned::to_owned).to_vec();
    execute(docker, container, argv, &mut tokio::fs::File::from_std(file)).await
}

/// An archive on disk, as it may be larger than the memory.
pub(super) fn write_down(archive: &Archive) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    archive.write(BufWriter::new(&mut file))?;
    file.rewind()?;
    Ok(file)
}

/// Runs a command; what it prints matters only if it fails.
async fn execute(
    docker: &Docker,
    container: &Container,
    argv: Vec<String>,
    stdin: &mut (dyn AsyncRead + Send + Unpin),
) -> Result<(), String> {
    let mut printed = Vec::new();
    let exec = Exec { argv, ..Exec::default() };
    let mut keep = |it: engine_docker::Output| printed.extend(it.bytes);
    match docker.exec(&container.id, &exec, Some(stdin), &mut keep).await {
        Ok(0) => Ok(()),
        Ok(_) => Err(String::from_utf8_lossy(&printed).trim_end().to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

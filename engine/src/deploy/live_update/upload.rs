//! The way into containers where no helper can run: Docker unpacks an archive, or the container's own `tar` does.
//!
//! Docker does that as root, and follows whatever links are in the container. So it is asked only where all runs as root.

use std::{
    fs::File,
    io::{self, BufWriter, Seek},
    sync::Arc,
};

use engine_core::live_update::Container;
use engine_docker::{Archive, Docker, DockerError, Exec};
use engine_model::FilePath;
use futures_util::future::join_all;
use tokio::{io::AsyncRead, task::spawn_blocking};

use super::{
    error::{CopyError, SyncError},
    in_docker::DockerTarget,
    tail::Tail,
};

/// Removes and copies files; says of each container how that went.
pub(super) async fn update(
    targets: &[(Container, Arc<DockerTarget>)],
    deletions: &[FilePath],
    archive: &Arc<Archive>,
) -> Vec<Result<(), SyncError>> {
    // All of them are on the one engine that there is.
    let Some(docker) = targets.first().map(|(_, it)| &it.docker) else { return Vec::new() };
    let containers: Vec<Container> = targets.iter().map(|(it, _)| it.clone()).collect();
    let removed = join_all(containers.iter().map(|it| remove(docker, it, deletions))).await;
    let copied = copy(docker, targets, archive).await;
    removed.into_iter().zip(copied).map(|(removed, copied)| removed.and(copied)).collect()
}

/// Removes what is gone here.
async fn remove(
    docker: &Docker,
    container: &Container,
    paths: &[FilePath],
) -> Result<(), SyncError> {
    if paths.is_empty() {
        return Ok(());
    }
    let (argv, names) = removal(paths);
    execute(docker, container, argv, &mut names.unwrap_or_default().as_slice())
        .await
        .map_err(|error| SyncError::Delete(Arc::new(error)))
}

/// The command that removes paths, and what it reads. A command line of Docker or a cluster is text, so paths that are
/// not go to the command as input.
pub(super) fn removal(paths: &[FilePath]) -> (Vec<String>, Option<Vec<u8>>) {
    let text: Result<Vec<&str>, _> =
        paths.iter().map(|it| std::str::from_utf8(it.as_bytes())).collect();
    let words = |it: &[&str]| it.iter().map(|it| (*it).to_owned()).collect();
    match text {
        Ok(paths) => (words(&[&["rm", "-rf"], paths.as_slice()].concat()), None),
        Err(_) => {
            let names = paths.iter().flat_map(|it| [it.as_bytes(), b"\0"].concat()).collect();
            (words(&["xargs", "-0", "rm", "-rf"]), Some(names))
        }
    }
}

/// Sends one archive to all containers.
async fn copy(
    docker: &Docker,
    targets: &[(Container, Arc<DockerTarget>)],
    archive: &Arc<Archive>,
) -> Vec<Result<(), SyncError>> {
    if archive.is_empty() {
        return vec![Ok(()); targets.len()];
    }
    let of_root = targets.iter().filter(|(_, it)| it.is_roots());
    let ids: Vec<String> = of_root.map(|(it, _)| it.id.to_string()).collect();
    let uploaded = match docker.upload(&ids, "/", Arc::clone(archive)).await {
        Ok(uploaded) => uploaded,
        Err(error) => {
            return vec![Err(SyncError::Copy(Arc::new(error.into()))); targets.len()];
        }
    };
    let mut uploaded = uploaded.into_iter();
    let finished = targets.iter().map(|(container, target)| {
        let uploaded = if target.is_roots() { uploaded.next() } else { None };
        async move {
            match uploaded {
                Some(Ok(())) => Ok(()),
                Some(Err(error)) if !is_read_only(&error) => Err(error.into()),
                // What Docker cannot write to may still have places that the container itself can.
                Some(Err(_)) | None => unpack(docker, container, archive).await,
            }
            .map_err(SyncError::copying)
        }
    });
    join_all(finished).await
}

fn is_read_only(error: &DockerError) -> bool {
    matches!(error, DockerError::Refused { message, .. } if message.contains("read-only"))
}

/// Has the container unpack an archive.
async fn unpack(
    docker: &Docker,
    container: &Container,
    archive: &Arc<Archive>,
) -> Result<(), CopyError> {
    let archive = Arc::clone(archive);
    let file = spawn_blocking(move || write_down(&archive)).await.map_err(io::Error::other)??;
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
) -> Result<(), CopyError> {
    let mut printed = Tail::default();
    let exec = Exec { argv, ..Exec::default() };
    let mut keep = |it: engine_docker::Output| printed.push(&it.bytes);
    match docker.exec(&container.id, &exec, Some(stdin), &mut keep).await {
        Ok(0) => Ok(()),
        Ok(_) => Err(CopyError::Printed(printed.text())),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_are_not_text_are_removed_under_their_own_names() {
        let removal = |paths: &[&[u8]]| {
            let paths: Vec<FilePath> = paths.iter().map(|it| FilePath::from(*it)).collect();
            let (argv, input) = removal(&paths);
            (argv.join(" "), input)
        };
        assert_eq!(removal(&[b"/a", b"/b c"]), ("rm -rf /a /b c".to_owned(), None));
        let input = b"/a\0/x\xff\0".to_vec();
        assert_eq!(removal(&[b"/a", b"/x\xff"]), ("xargs -0 rm -rf".to_owned(), Some(input)));
    }
}

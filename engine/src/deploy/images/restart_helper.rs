//! The context of images that the extension `restart_process` puts on top of others: a folder with the helper.
//!
//! Such a Dockerfile starts with a line that says so, and copies only from that folder. What the Tiltfile says of
//! the context and of files to leave out is meant for the image below.

use std::{
    fs::{self, Permissions},
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use engine_files::{dev_dir, private};
use engine_formats::golang::hex;
use engine_helper::carried;
use engine_model::DockerBuild;
use engine_model::path::to_text;
use sha2::{Digest, Sha256};

use super::ImageError;

/// The line that asks for the folder.
const MARK: &str = "# engine:context=restart-helper";
/// The helper, under the name that tells it what to do.
const PROGRAM: &str = "tilt-restart-wrapper";
/// An empty file that everybody may write: a change of it restarts the process.
const RESTART_FILE: &str = "restart-file";

/// Whether a Dockerfile asks for the folder.
pub(super) fn is_wanted(build: &DockerBuild) -> bool {
    build.dockerfile_contents.lines().next().is_some_and(|it| it.trim() == MARK)
}

/// Gives a build whose platform is known the folder as its context.
///
/// # Errors
/// If there is no helper for the platform, or the folder cannot be made.
pub(super) fn give(build: &mut DockerBuild, default_arch: &str) -> Result<(), ImageError> {
    let arch = build.platform.split('/').nth(1).unwrap_or(default_arch);
    let program = carried::helper_for(arch).ok_or_else(|| ImageError::NoHelper(arch.to_owned()))?;
    let folder = folder(program).map_err(ImageError::HelperFolder)?;
    build.context = to_text(&folder).into_owned();
    build.context_ignores.clear();
    Ok(())
}

/// The folder for a helper; what is in it never changes.
fn folder(program: &[u8]) -> io::Result<PathBuf> {
    let parent = dev_dir::create()?.join(dev_dir::RESTART_HELPER);
    let digest = hex::encode(&Sha256::digest(program));
    let folder = parent.join(&digest[..16]);
    if folder.is_dir() {
        return Ok(folder);
    }
    private::create_dir(&parent)?;
    let partial = tempfile::tempdir_in(&parent)?;
    put(&partial.path().join(PROGRAM), program, 0o755)?;
    put(&partial.path().join(RESTART_FILE), &[], 0o666)?;
    fs::set_permissions(partial.path(), Permissions::from_mode(0o755))?;
    match fs::rename(partial.path(), &folder) {
        // Another instance was faster.
        Err(_) if folder.is_dir() => Ok(folder),
        Err(error) => Err(error),
        Ok(()) => {
            // It is in its place, so there is nothing to clean up.
            let _ = partial.keep();
            Ok(folder)
        }
    }
}

/// Writes a file with this mode, whatever the process's mask is.
fn put(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    fs::write(path, content)?;
    fs::set_permissions(path, Permissions::from_mode(mode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_dockerfile_that_says_so_gets_the_helper() {
        let build = |text: &str| DockerBuild {
            dockerfile_contents: text.to_owned(),
            ..DockerBuild::default()
        };
        assert!(is_wanted(&build("# engine:context=restart-helper\nFROM a\n")));
        assert!(!is_wanted(&build("FROM a\n# engine:context=restart-helper\n")));
        assert!(!is_wanted(&build("")));
    }

    #[test]
    fn files_get_their_mode_whatever_the_mask_is() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("f");
        put(&file, b"x", 0o666).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o666);
    }
}

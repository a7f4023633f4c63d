//! The folder where instances and clients of one user find each other: `~/.tilt-dev`, as in Tilt.

use std::{
    env, fs, io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::PathBuf,
};

use std::io::Write;

/// The folder; it need not exist yet.
#[must_use]
pub fn path() -> PathBuf {
    for name in ["TILT_DEV_DIR", "WMDAEMON_HOME", "WINDMILL_DIR"] {
        if let Some(dir) = env::var_os(name).filter(|it| !it.is_empty()) {
            return dir.into();
        }
    }
    let home = PathBuf::from(env::var_os("HOME").unwrap_or_default());
    let old = home.join(".windmill");
    if old.is_dir() { old } else { home.join(".tilt-dev") }
}

/// The folder, made if it is missing.
///
/// # Errors
/// If it cannot be made.
pub fn create() -> io::Result<PathBuf> {
    let dir = path();
    fs::DirBuilder::new().recursive(true).mode(0o755).create(&dir)?;
    Ok(dir)
}

/// The token that clients of the web port show; made at first use, the same for all instances of a user.
///
/// # Errors
/// If it can be neither read nor written.
pub fn token() -> io::Result<String> {
    let file = create()?.join("token");
    match fs::read_to_string(&file) {
        Ok(text) if !text.trim().is_empty() => return Ok(text.trim().to_owned()),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let token = uuid::Uuid::new_v4().to_string();
    // Two instances that start together agree on the one that came first.
    let partial = file.with_extension(format!("{}.partial", std::process::id()));
    let mut out = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&partial)?;
    out.write_all(token.as_bytes())?;
    let linked = fs::hard_link(&partial, &file);
    fs::remove_file(&partial)?;
    match linked {
        Ok(()) => Ok(token),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let text = fs::read_to_string(&file)?;
            if text.trim().is_empty() {
                fs::write(&file, &token)?;
                return Ok(token);
            }
            Ok(text.trim().to_owned())
        }
        Err(error) => Err(error),
    }
}

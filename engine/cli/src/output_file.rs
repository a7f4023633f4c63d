//! Writes files that the user asked for; a failed write leaves no partial file.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::Path,
};

/// Writes a file with the user's umask; removes it again if the write fails.
///
/// # Errors
/// If it cannot be written.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    let written = file.write_all(bytes);
    if written.is_err() && file.metadata().is_ok_and(|it| it.is_file()) {
        // The error of the write is the one to report.
        let _ = fs::remove_file(path);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_there_survives_an_error_that_comes_before_it_is_written() {
        let dir = tempfile::tempdir().unwrap();
        assert!(write(dir.path(), b"x").is_err());
        assert!(dir.path().is_dir());
        write(&dir.path().join("f"), b"x").unwrap();
        assert_eq!(fs::read(dir.path().join("f")).unwrap(), b"x");
        // What is no file is never removed.
        assert_eq!(
            write(Path::new("/dev/full"), b"x").unwrap_err().kind(),
            io::ErrorKind::StorageFull
        );
        assert!(Path::new("/dev/full").exists());
    }
}

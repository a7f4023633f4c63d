//! Reads whole files, but refuses those that never end or would block.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read},
    os::unix::fs::{FileTypeExt, OpenOptionsExt},
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

/// The largest file that is read.
const MAX_BYTES: u64 = 512 << 20;

/// How much is read of a device, which may have no end.
const MAX_DEVICE_BYTES: u64 = 64 << 20;

/// How long to wait for a writer of a named pipe.
const WRITER_TIMEOUT: Duration = Duration::from_secs(3);

/// How often an idle pipe is looked at.
const POLL: Duration = Duration::from_millis(5);

/// The bytes of a file.
///
/// # Errors
/// Besides those of the system: if it is too large, or a pipe without a writer.
pub(super) fn read(path: &Path, canceled: &AtomicBool) -> io::Result<Vec<u8>> {
    let metadata = std::fs::metadata(path)?;
    let limit = if metadata.is_file() { MAX_BYTES } else { MAX_DEVICE_BYTES };
    if metadata.len() > limit {
        return Err(too_large(limit));
    }
    if metadata.file_type().is_fifo() {
        return read_pipe(path, canceled);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default() + 1);
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(too_large(limit)) } else { Ok(bytes) }
}

/// Reads a named pipe without blocking, so that it can be given up.
fn read_pipe(path: &Path, canceled: &AtomicBool) -> io::Result<Vec<u8>> {
    let flags = nix::fcntl::OFlag::O_NONBLOCK.bits();
    let mut pipe = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    let started = Instant::now();
    let mut has_writer = false;
    loop {
        if canceled.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        match pipe.read(&mut buffer) {
            Ok(0) if has_writer => return Ok(bytes),
            Ok(0) if started.elapsed() > WRITER_TIMEOUT => {
                return Err(io::Error::other("nobody writes to this named pipe"));
            }
            Ok(0) => thread::sleep(POLL),
            Ok(n_bytes) => {
                has_writer = true;
                bytes.extend_from_slice(&buffer[..n_bytes]);
                if bytes.len() as u64 > MAX_BYTES {
                    return Err(too_large(MAX_BYTES));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                has_writer = true;
                thread::sleep(POLL);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn too_large(limit: u64) -> io::Error {
    io::Error::other(format!("larger than {} MB", limit >> 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_gives_what_was_written_to_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("pipe");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
        let writer = {
            let path = path.clone();
            thread::spawn(move || std::fs::write(path, "x".repeat(200_000)))
        };
        let bytes = read(&path, &AtomicBool::new(false)).expect("what was written");
        assert_eq!(bytes.len(), 200_000);
        writer.join().expect("no panic").expect("it was read");
    }

    #[test]
    fn a_pipe_without_writer_is_given_up_when_the_evaluation_is() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("pipe");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
        let error = read(&path, &AtomicBool::new(true)).expect_err("nobody writes");
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
    }

    #[test]
    fn a_device_without_end_is_too_large() {
        let error = read(Path::new("/dev/zero"), &AtomicBool::new(false)).expect_err("no end");
        assert_eq!(error.to_string(), "larger than 64 MB");
    }
}

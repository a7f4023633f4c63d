//! The log file of a detached engine, which is truncated to its last lines when it becomes large.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    os::fd::AsFd,
};

/// The size at which the file is truncated.
const LIMIT: u64 = 16 * 1024 * 1024;

/// How much of its end is kept.
const KEPT: u64 = 1024 * 1024;

/// A file that other programs may have open or may have renamed.
#[derive(Debug)]
pub(super) struct LogFile {
    file: File,
    limit: u64,
    kept: u64,
    size: u64,
}

impl LogFile {
    /// The file that is standard output.
    ///
    /// # Errors
    /// If stdout is not a regular file.
    pub(super) fn of_stdout() -> io::Result<Self> {
        Self::new(File::from(io::stdout().as_fd().try_clone_to_owned()?), LIMIT, KEPT)
    }

    fn new(file: File, limit: u64, kept: u64) -> io::Result<Self> {
        let data = file.metadata()?;
        if !data.is_file() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        Ok(Self { file, limit, kept, size: data.len() })
    }

    /// Cuts the file down to its last lines.
    fn start_over(&mut self) -> io::Result<()> {
        self.file.seek(SeekFrom::End(-i64::try_from(self.kept).unwrap_or(0)))?;
        let mut rest = Vec::new();
        (&mut self.file).take(self.kept).read_to_end(&mut rest)?;
        let start = memchr::memchr(b'\n', &rest).map_or(0, |it| it + 1);
        self.file.set_len(0)?;
        self.file.write_all(&rest[start..])
    }
}

impl Write for LogFile {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        if self.size >= self.limit {
            // A file that cannot be cut goes on; it is tried again after as much.
            let _ = self.start_over();
            self.size = self.kept;
        }
        let written = self.file.write(text)?;
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};

    use super::*;

    #[test]
    fn a_large_log_starts_over_with_its_last_lines() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("up.log");
        let open = || OpenOptions::new().create(true).append(true).read(true).open(&path).unwrap();
        let mut log = LogFile::new(open(), 1000, 100).unwrap();
        let mut other = open();
        for number in 0..1000 {
            writeln!(log, "line {number:03}").unwrap();
            assert!(fs::metadata(&path).unwrap().len() <= 1020);
        }
        writeln!(other, "from elsewhere").unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("line "), "{text}");
        assert!(text.ends_with("line 998\nline 999\nfrom elsewhere\n"), "{text}");
    }
}

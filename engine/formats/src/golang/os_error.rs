//! Turns operating system errors into the words Go programs use for them.

use std::fmt;
use std::io;

const NOT_FOUND: &str = "no such file or directory";

/// A failed operation on a path, worded like Go's `fs.PathError`: `open /x: permission denied`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct PathError {
    /// The system call that failed, such as `open`, `read`, `stat` or `lstat`.
    pub op: String,
    /// The path as it was given to the operation.
    pub path: String,
    /// The reason, in the system's words.
    pub reason: String,
}

impl PathError {
    /// Describes why `op` failed on `path`.
    pub fn new(op: &str, path: &str, error: &io::Error) -> Self {
        Self { op: op.to_owned(), path: path.to_owned(), reason: errno_text(error) }
    }

    /// Describes why a file could not be read; directories can be opened, but not read.
    pub fn reading(path: &str, error: &io::Error) -> Self {
        let op = if error.kind() == io::ErrorKind::IsADirectory { "read" } else { "open" };
        Self::new(op, path, error)
    }

    /// Whether the path leads to nothing.
    pub fn is_not_found(&self) -> bool {
        self.reason == NOT_FOUND
    }
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.op, self.path, self.reason)
    }
}

/// The reason of an error in Go's words, without the operation and the path.
pub fn errno_text(error: &io::Error) -> String {
    if let Some(text) = error.raw_os_error().and_then(errno_words) {
        return text.to_owned();
    }
    let text = match error.kind() {
        io::ErrorKind::NotFound => NOT_FOUND,
        io::ErrorKind::PermissionDenied => "permission denied",
        io::ErrorKind::AlreadyExists => "file exists",
        io::ErrorKind::NotADirectory => "not a directory",
        io::ErrorKind::IsADirectory => "is a directory",
        io::ErrorKind::DirectoryNotEmpty => "directory not empty",
        io::ErrorKind::InvalidInput => "invalid argument",
        _ => return strip_os_error_number(&error.to_string()),
    };
    text.to_owned()
}

/// The numbers are those that Linux and macOS share, plus Linux's own where they differ.
fn errno_words(number: i32) -> Option<&'static str> {
    Some(match number {
        1 => "operation not permitted",
        2 => "no such file or directory",
        5 => "input/output error",
        7 => "argument list too long",
        8 => "exec format error",
        12 => "cannot allocate memory",
        13 => "permission denied",
        16 => {
            if cfg!(target_os = "macos") {
                "resource busy"
            } else {
                "device or resource busy"
            }
        }
        17 => "file exists",
        20 => "not a directory",
        21 => "is a directory",
        22 => "invalid argument",
        23 => "too many open files in system",
        24 => "too many open files",
        26 => "text file busy",
        28 => "no space left on device",
        30 => "read-only file system",
        32 => "broken pipe",
        36 if cfg!(target_os = "linux") => "file name too long",
        39 if cfg!(target_os = "linux") => "directory not empty",
        40 if cfg!(target_os = "linux") => "too many levels of symbolic links",
        62 if cfg!(target_os = "macos") => "too many levels of symbolic links",
        63 if cfg!(target_os = "macos") => "file name too long",
        66 if cfg!(target_os = "macos") => "directory not empty",
        _ => return None,
    })
}

fn strip_os_error_number(text: &str) -> String {
    let words = text.split(" (os error ").next().unwrap_or(text);
    let mut chars = words.chars();
    match chars.next() {
        Some(first) => first.to_lowercase().chain(chars).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_read_like_go_writes_them() {
        let open = |path: &str| {
            let error = std::fs::read(path).unwrap_err();
            PathError::new("open", path, &error).to_string()
        };
        assert_eq!(open("/no/such"), "open /no/such: no such file or directory");
        assert_eq!(open("/dev/null/x"), "open /dev/null/x: not a directory");
        assert_eq!(errno_text(&std::fs::read("/").unwrap_err()), "is a directory");
        assert_eq!(errno_text(&io::Error::from_raw_os_error(13)), "permission denied");
        assert_eq!(
            errno_text(&io::Error::from(io::ErrorKind::NotFound)),
            "no such file or directory"
        );
        assert_eq!(errno_text(&io::Error::from_raw_os_error(110)), "connection timed out");
    }
}

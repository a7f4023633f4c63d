//! How formats reach files: only through what the caller passes in.

use std::{io, path::Path};

/// The files that a format is read from.
pub trait Files {
    /// Reads a file.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
}

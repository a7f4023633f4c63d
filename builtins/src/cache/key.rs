//! Builds the key of an entry from all inputs.

use engine_formats::golang::{hex, path};
use sha2::{Digest, Sha256};

use super::{FORMAT, Uncacheable, digest};
use crate::{
    host::{FileKind, Host},
    session::link_info,
};

/// How many files an entry may depend on.
const MAX_FILES: usize = 20_000;
/// How many bytes these may have together.
const MAX_BYTES: usize = 256 << 20;
/// How deep directories may nest; links can make them endless.
const MAX_DEPTH: usize = 64;

/// The name of an entry: a digest of all that it depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key(pub(super) [u8; 32]);

impl Key {
    /// The key as text.
    pub(super) fn hex(&self) -> String {
        hex::encode(&self.0)
    }
}

/// A key in the making.
///
/// Every part is written with its length, so that no two lists of parts are written alike.
pub(crate) struct KeyBuilder<'a> {
    pub(super) host: &'a dyn Host,
    hasher: Sha256,
    n_files: usize,
    n_bytes: usize,
}

impl<'a> KeyBuilder<'a> {
    /// A key without any part.
    pub(super) fn new(host: &'a dyn Host) -> Self {
        let mut key = Self { host, hasher: Sha256::new(), n_files: 0, n_bytes: 0 };
        key.part("format", FORMAT.as_bytes());
        key
    }

    /// The key of all parts.
    pub(super) fn finish(self) -> Key {
        Key(self.hasher.finalize().into())
    }

    /// Adds some bytes under a name.
    pub(super) fn part(&mut self, name: &str, bytes: &[u8]) {
        for it in [name.as_bytes(), bytes] {
            self.hasher.update((it.len() as u64).to_le_bytes());
            self.hasher.update(it);
        }
    }

    /// Adds a list of texts.
    pub(super) fn texts<S: AsRef<str>>(&mut self, name: &str, texts: impl IntoIterator<Item = S>) {
        let mut n_texts = 0_u64;
        for text in texts {
            self.part(name, text.as_ref().as_bytes());
            n_texts += 1;
        }
        self.part(name, &n_texts.to_le_bytes());
    }

    /// Adds one environment variable, set or not.
    pub(super) fn variable(&mut self, name: &str) {
        match self.host.env(name) {
            Some(value) => self.texts("variable", [name, &value]),
            None => self.texts("variable", [name]),
        }
    }

    /// Adds all environment variables that pass a test.
    pub(super) fn variables(&mut self, is_relevant: impl Fn(&str) -> bool) {
        let variables = self.host.env_vars();
        let relevant = variables.iter().filter(|it| is_relevant(&it.0));
        self.texts("variables", relevant.flat_map(|it| [it.0.as_str(), it.1.as_str()]));
    }

    /// Adds a file that may be missing, and returns what is in it.
    pub(super) fn file(&mut self, file: &str) -> Result<Option<Vec<u8>>, Uncacheable> {
        let bytes = match self.host.read(file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                self.texts("no file", [file]);
                return Ok(None);
            }
            Err(_) => return Err(Uncacheable("an input cannot be read")),
        };
        self.count(bytes.len())?;
        self.texts("file", [file]);
        // Programs may refuse a file because of where a link leads.
        let real = path::eval_symlinks(file, |it| link_info(self.host, it))
            .map_err(|_| Uncacheable("an input moves while it is read"))?;
        self.part("real path", real.as_bytes());
        self.part("content", &digest(&bytes));
        Ok(Some(bytes))
    }

    /// Adds a directory with everything below it, links followed; `look` sees each file and may object.
    pub(super) fn tree(
        &mut self,
        dir: &str,
        look: &dyn Fn(&[u8]) -> Result<(), Uncacheable>,
    ) -> Result<(), Uncacheable> {
        self.texts("tree", [dir]);
        self.below(dir, 0, look)
    }

    fn below(
        &mut self,
        dir: &str,
        depth: usize,
        look: &dyn Fn(&[u8]) -> Result<(), Uncacheable>,
    ) -> Result<(), Uncacheable> {
        const UNREADABLE: Uncacheable = Uncacheable("an input cannot be read");
        if depth > MAX_DEPTH {
            return Err(Uncacheable("directories nest too deep"));
        }
        let entries = self.host.list(dir).map_err(|_| UNREADABLE)?;
        self.part("entries", &(entries.len() as u64).to_le_bytes());
        for entry in entries {
            let file = format!("{dir}/{}", entry.name);
            self.part("name", entry.name.as_bytes());
            if entry.kind == FileKind::Symlink {
                let target = self.host.read_link(&file).map_err(|_| UNREADABLE)?;
                self.part("link", target.as_bytes());
            }
            // A link that leads nowhere is no input, but makes some programs fail; they are asked each time.
            let info = self.host.stat(&file).map_err(|_| UNREADABLE)?;
            self.part("mode", &info.mode.to_le_bytes());
            if info.kind == FileKind::Directory {
                self.part("directory", &[]);
                self.count(0)?;
                self.below(&file, depth + 1, look)?;
            } else {
                let bytes = self.host.read(&file).map_err(|_| UNREADABLE)?;
                self.count(bytes.len())?;
                self.part("content", &digest(&bytes));
                look(&bytes)?;
            }
        }
        Ok(())
    }

    /// Bounds the time that a key may take.
    fn count(&mut self, n_bytes: usize) -> Result<(), Uncacheable> {
        self.n_files += 1;
        self.n_bytes = self.n_bytes.saturating_add(n_bytes);
        if self.n_files > MAX_FILES || self.n_bytes > MAX_BYTES {
            return Err(Uncacheable("there are too many inputs"));
        }
        Ok(())
    }
}

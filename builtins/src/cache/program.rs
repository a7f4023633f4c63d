//! Decides whether a program is the tool its name says, and detects when it is replaced.
//!
//! Scripts and version managers run other programs and read unknown files, so only a native program that contains the
//! packages of the tool is trusted to be the tool.

use engine_formats::golang::path;
use regex::bytes::Regex;

use super::{Uncacheable, key::KeyBuilder, store::Store};
use crate::host::Host;

/// A program, known by its place and by what the file system says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tool {
    file: String,
    marker: &'static str,
    /// Changes when the program does.
    pub(super) identity: Vec<u8>,
}

impl Tool {
    /// The program that a name leads to; `marker` is a package that is part of it.
    pub(super) fn find(
        host: &dyn Host,
        name: &str,
        marker: &'static str,
    ) -> Result<Self, Uncacheable> {
        let file = host.find_program(name).ok_or(Uncacheable("the program is missing"))?;
        Self::at(host, file, marker)
    }

    /// The program in a file.
    pub(super) fn at(
        host: &dyn Host,
        file: String,
        marker: &'static str,
    ) -> Result<Self, Uncacheable> {
        let info = host.stat(&file).map_err(|_| Uncacheable("the program is missing"))?;
        if !path::is_abs(&file) {
            return Err(Uncacheable("the program depends on the directory"));
        }
        let (device, inode) = info.inode;
        let identity =
            format!("{file}\0{device}\0{inode}\0{}\0{}\0{}", info.len, info.modified, info.changed);
        Ok(Self { file, marker, identity: identity.into_bytes() })
    }

    /// Whether the program is the tool itself; remembered, since programs are large.
    pub(super) fn is_genuine(&self, store: &Store<'_>, host: &dyn Host) -> bool {
        let mut key = KeyBuilder::new(host);
        key.part("is genuine", self.marker.as_bytes());
        key.part("tool", &self.identity);
        let key = key.finish();
        if let Some(answer) = store.get(&key) {
            return answer == "yes";
        }
        let Ok(program) = host.read(&self.file) else { return false };
        let answer = is_native(&program) && contains(&program, self.marker);
        store.put(&key, if answer { "yes" } else { "no" });
        answer
    }
}

/// Whether these are the first bytes of an ELF or Mach-O file.
fn is_native(program: &[u8]) -> bool {
    const STARTS: [[u8; 4]; 4] =
        [*b"\x7fELF", [0xcf, 0xfa, 0xed, 0xfe], [0xce, 0xfa, 0xed, 0xfe], [0xca, 0xfe, 0xba, 0xbe]];
    STARTS.iter().any(|it| program.starts_with(it))
}

fn contains(program: &[u8], marker: &str) -> bool {
    Regex::new(&regex::escape(marker)).is_ok_and(|it| it.is_match(program))
}

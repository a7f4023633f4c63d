//! Paths: bytes on this machine, text in Tiltfiles and objects, and how the one becomes the other.
//!
//! A file name may be any bytes. Starlark strings, manifests and API objects are Unicode, so a byte of a path that is
//! not UTF-8 is written there as the replacement character and a variation selector that says which byte it was:
//! people see `�`, and the path that comes back is the one that went in.

use std::{
    borrow::Cow,
    ffi::{OsStr, OsString},
    fmt,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{ToJson, Value};

/// What people see of a byte that is not text.
const SEEN: char = char::REPLACEMENT_CHARACTER;

/// The variation selector after it that stands for the byte `0x80`; the others follow. It has no shape of its own.
const FIRST_SELECTOR: u32 = 0xe_0100;

/// The path of a file, as bytes. It is shown with [`fmt::Display`], which may lose something, and never read back
/// from that.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilePath(Arc<[u8]>);

impl FilePath {
    /// The path that a text of a Tiltfile or an object means; see [`to_path`].
    pub fn from_text(text: &str) -> Self {
        Self(to_bytes(text).into())
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The path for calls of the system.
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }
}

impl From<&Path> for FilePath {
    fn from(path: &Path) -> Self {
        path.as_os_str().as_bytes().into()
    }
}

impl From<&[u8]> for FilePath {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }
}

impl From<Vec<u8>> for FilePath {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes.into())
    }
}

impl From<&str> for FilePath {
    fn from(path: &str) -> Self {
        path.as_bytes().into()
    }
}

impl std::borrow::Borrow<[u8]> for FilePath {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<Path> for FilePath {
    fn as_ref(&self) -> &Path {
        self.as_path()
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&String::from_utf8_lossy(&self.0))
    }
}

impl fmt::Debug for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_path().fmt(f)
    }
}

impl ToJson for FilePath {
    fn to_json(&self) -> Value {
        Value::String(self.to_string())
    }
}

/// A path, or anything else of the system that may hold one, as text; [`to_path`] takes it back.
pub fn to_text(path: &(impl AsRef<OsStr> + ?Sized)) -> Cow<'_, str> {
    bytes_to_text(path.as_ref().as_bytes())
}

/// Bytes in which paths may be written, such as those of an ignore file, as text.
pub fn bytes_to_text(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes)
        && next_escape(text).is_none()
    {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len() * 2);
    for chunk in bytes.utf8_chunks() {
        let mut rest = chunk.valid();
        // What looks like one of our escapes, but is text, is escaped itself.
        while let Some((at, _, _)) = next_escape(rest) {
            text.push_str(&rest[..at]);
            let end = at + SEEN.len_utf8();
            rest[at..end].bytes().for_each(|it| escape(&mut text, it));
            rest = &rest[end..];
        }
        text.push_str(rest);
        chunk.invalid().iter().for_each(|it| escape(&mut text, *it));
    }
    Cow::Owned(text)
}

/// The path that a text means: as it is, unless it has bytes that only [`to_text`] writes.
pub fn to_path(text: &str) -> Cow<'_, Path> {
    match to_os(text) {
        Cow::Borrowed(path) => Cow::Borrowed(Path::new(path)),
        Cow::Owned(path) => Cow::Owned(PathBuf::from(path)),
    }
}

/// An argument or a variable as the system takes it, with the bytes that a text means.
pub fn to_os(text: &str) -> Cow<'_, OsStr> {
    match to_bytes(text) {
        Cow::Borrowed(bytes) => Cow::Borrowed(OsStr::from_bytes(bytes)),
        Cow::Owned(bytes) => Cow::Owned(OsString::from_vec(bytes)),
    }
}

/// A text for people only, who see `�` in any case: without what says which byte it was.
pub fn shown(text: &str) -> Cow<'_, str> {
    if next_escape(text).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, end, _)) = next_escape(rest) {
        out.push_str(&rest[..at]);
        out.push(SEEN);
        rest = &rest[end..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn to_bytes(text: &str) -> Cow<'_, [u8]> {
    if next_escape(text).is_none() {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, end, byte)) = next_escape(rest) {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        bytes.push(byte);
        rest = &rest[end..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    Cow::Owned(bytes)
}

/// The next escaped byte in a text: where it begins and ends, and which byte it is.
fn next_escape(text: &str) -> Option<(usize, usize, u8)> {
    text.match_indices(SEEN).find_map(|(at, seen)| {
        let selector = text[at + seen.len()..].chars().next()?;
        let byte = u32::from(selector).checked_sub(FIRST_SELECTOR).filter(|it| *it < 0x80)?;
        let end = at + seen.len() + selector.len_utf8();
        Some((at, end, 0x80 + u8::try_from(byte).ok()?))
    })
}

/// Writes a byte that is not ASCII.
fn escape(text: &mut String, byte: u8) {
    let selector = FIRST_SELECTOR + u32::from(byte & 0x7f);
    text.push(SEEN);
    text.extend(char::from_u32(selector));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn os(bytes: &[u8]) -> &OsStr {
        OsStr::from_bytes(bytes)
    }

    #[test]
    fn every_path_comes_back_from_its_text() {
        let like_an_escape = "�\u{e017f}";
        let cases: [&[u8]; 9] = [
            b"",
            b"/plain/path",
            "/ünï/cödé �".as_bytes(),
            b"/x\xff",
            b"\xff\xfe/\x80",
            b"/cut \xe2\x82",
            like_an_escape.as_bytes(),
            &[like_an_escape.as_bytes(), b"\xff", like_an_escape.as_bytes()].concat(),
            &["�".as_bytes(), b"\xff", "\u{e0100}".as_bytes()].concat(),
        ];
        for bytes in cases {
            let text = to_text(os(bytes));
            assert_eq!(to_os(&text), os(bytes), "{text:?}");
            assert_eq!(FilePath::from_text(&text), FilePath::from(bytes));
        }
    }

    #[test]
    fn different_paths_have_different_texts() {
        let all: Vec<Vec<u8>> =
            (0x80..=0xff).map(|it| vec![b'x', it]).chain(["x�".into(), "x".into()]).collect();
        let texts: std::collections::HashSet<_> = all.iter().map(|it| to_text(os(it))).collect();
        assert_eq!(texts.len(), all.len());
    }

    #[test]
    fn what_is_text_stays_as_it_is() {
        for text in ["/src/main.rs", "/日本", "�", "\u{e0100}"] {
            assert!(matches!(to_text(text), Cow::Borrowed(it) if it == text));
            assert!(matches!(to_path(text), Cow::Borrowed(it) if it == Path::new(text)));
            assert!(matches!(shown(text), Cow::Borrowed(it) if it == text));
        }
    }

    #[test]
    fn people_see_a_replacement_character_for_each_byte() {
        let path = FilePath::from(&b"/src/x\xff"[..]);
        assert_eq!(path.to_string(), "/src/x�");
        assert_eq!(path.to_json(), "/src/x�");
        assert_eq!(shown(&to_text(path.as_path())), "/src/x�");
        assert_eq!(shown(&to_text(os(b"\xff\xfey"))), "��y");
    }
}

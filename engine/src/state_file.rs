//! Files that outlive the program: JSON with the version of its format, so that an older program does not misread what
//! a newer one has written.

use std::{fs, io, path::Path};

use engine_files::private;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// What a file says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found<T> {
    /// Nothing: there is none, it is damaged, or its format is an older one.
    Nothing,
    /// This.
    Content(T),
    /// Something that only a newer version of the program understands; the text says so.
    Newer(String),
}

#[derive(Deserialize)]
struct Version {
    #[serde(default)]
    version: u32,
}

/// The content and its version, as they are written.
#[derive(Serialize)]
struct Versioned<'a, T> {
    version: u32,
    #[serde(flatten)]
    content: &'a T,
}

/// Reads a file of this version.
pub(crate) fn read<T: DeserializeOwned>(path: &Path, version: u32) -> Found<T> {
    fs::read(path).map_or(Found::Nothing, |it| parse(path, &it, version))
}

/// Replaces a file, unless a newer version of the program has written it.
pub(crate) fn write<T: Serialize>(path: &Path, version: u32, content: &T) -> io::Result<()> {
    update::<serde_json::Value, &T>(path, version, |_| content)
}

/// Changes a file while no other program does, unless a newer version of the program has written it.
pub(crate) fn update<T: DeserializeOwned, U: Serialize>(
    path: &Path,
    version: u32,
    change: impl FnOnce(Option<T>) -> U,
) -> io::Result<()> {
    private::create_dir(path.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
    private::update(path, |old| {
        let old = match old.map(|it| parse(path, &it, version)) {
            Ok(Found::Newer(text)) => return Err(io::Error::new(io::ErrorKind::InvalidData, text)),
            Ok(Found::Content(old)) => Some(old),
            Ok(Found::Nothing) | Err(_) => None,
        };
        let content = &change(old);
        Ok(Some(serde_json::to_vec(&Versioned { version, content })?))
    })
}

fn parse<T: DeserializeOwned>(path: &Path, bytes: &[u8], version: u32) -> Found<T> {
    match serde_json::from_slice::<Version>(bytes).map_or(0, |it| it.version) {
        found if found > version => Found::Newer(format!(
            "ignoring {}, which a newer version has written (format {found}; this version supports {version}): \
             remove it, or use the newer version",
            path.display()
        )),
        found if found == version => {
            serde_json::from_slice(bytes).map_or(Found::Nothing, Found::Content)
        }
        _ => Found::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_this_version_understands_is_read_and_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/file");
        let check = |text: &str, want: Found<Vec<u32>>| {
            fs::write(&path, text).unwrap();
            let read = match read::<Content>(&path, 2) {
                Found::Content(it) => Found::Content(it.numbers),
                Found::Nothing => Found::Nothing,
                Found::Newer(_) => Found::Newer(String::new()),
            };
            assert_eq!(read, want, "{text}");
            let written = write(&path, 2, &Content { numbers: vec![7] });
            assert_eq!(written.is_err(), matches!(want, Found::Newer(_)), "{text}");
            if written.is_err() {
                assert_eq!(fs::read_to_string(&path).unwrap(), text, "it was touched");
            }
        };
        write(&path, 2, &Content { numbers: Vec::new() }).unwrap();
        check(r#"{"version":2,"numbers":[1]}"#, Found::Content(vec![1]));
        check(r#"{"version":3,"numbers":[1]}"#, Found::Newer(String::new()));
        check(r#"{"version":3,"numbers":"?"}"#, Found::Newer(String::new()));
        check(r#"{"version":1,"numbers":[1]}"#, Found::Nothing);
        check(r#"{"numbers":[1]}"#, Found::Nothing);
        check(r#"{"version":2,"numbers":"?"}"#, Found::Nothing);
        check("{", Found::Nothing);
    }

    #[derive(Deserialize, Serialize)]
    struct Content {
        numbers: Vec<u32>,
    }
}

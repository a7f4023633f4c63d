//! Paths as bytes: nothing here looks at a file system, and links are not resolved.

use engine_model::FilePath;

/// The shortest path that says the same: without `.`, empty elements, and `..` where it can be resolved.
pub(super) fn clean(path: &[u8]) -> FilePath {
    let is_absolute = path.starts_with(b"/");
    let mut elements: Vec<&[u8]> = Vec::new();
    for element in path.split(|it| *it == b'/') {
        match element {
            b"" | b"." => {}
            b".." if elements.last().is_some_and(|it| *it != b"..") => {
                elements.pop();
            }
            b".." if is_absolute => {}
            _ => elements.push(element),
        }
    }
    match (is_absolute, elements.join(&b'/')) {
        (true, path) => [b"/", path.as_slice()].concat().into(),
        (false, path) if path.is_empty() => ".".into(),
        (false, path) => path.into(),
    }
}

/// A path that may be relative, as seen from a directory; both are texts of a Tiltfile.
pub(super) fn absolute(base: &str, path: &str) -> FilePath {
    let (base, path) = (FilePath::from_text(base), FilePath::from_text(path));
    if path.as_bytes().starts_with(b"/") {
        clean(path.as_bytes())
    } else {
        clean(&join(base.as_bytes(), path.as_bytes()))
    }
}

/// A path below another, not cleaned.
pub(super) fn join(dir: &[u8], rest: &[u8]) -> Vec<u8> {
    [dir, rest].join(&b'/')
}

/// What is left of a file's path below a directory, empty for the directory itself. Both paths are clean.
pub(crate) fn below<'a>(dir: &[u8], file: &'a [u8]) -> Option<&'a [u8]> {
    if dir == b"/" {
        return file.strip_prefix(b"/");
    }
    let rest = file.strip_prefix(dir)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix(b"/") }
}

/// The last element of a path.
pub(super) fn last_element(path: &[u8]) -> &[u8] {
    path.rsplit(|it| *it == b'/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_cleaned_as_text() {
        for (path, expected) in [
            ("/a//b/./c/", "/a/b/c"),
            ("/a/../../b", "/b"),
            ("/", "/"),
            ("a/..", "."),
            ("../a", "../a"),
            ("", "."),
        ] {
            assert_eq!(clean(path.as_bytes()), expected.into(), "{path}");
        }
        assert_eq!(absolute("/base", "src/../web"), "/base/web".into());
        assert_eq!(absolute("/base", "/else/"), "/else".into());
    }

    #[test]
    fn only_whole_elements_are_below_a_directory() {
        for (dir, file, expected) in [
            ("/a/b", "/a/b/c/d", Some("c/d")),
            ("/a/b", "/a/b", Some("")),
            ("/a/b", "/a/bc", None),
            ("/a/b", "/a", None),
            ("/", "/a", Some("a")),
        ] {
            let rest = below(dir.as_bytes(), file.as_bytes());
            assert_eq!(rest, expected.map(str::as_bytes), "{file} below {dir}");
        }
    }
}

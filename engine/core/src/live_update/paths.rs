//! Paths as text: nothing here looks at a file system, and links are not resolved.

/// The shortest path that says the same: without `.`, empty elements, and `..` where it can be resolved.
pub(super) fn clean(path: &str) -> String {
    let is_absolute = path.starts_with('/');
    let mut elements: Vec<&str> = Vec::new();
    for element in path.split('/') {
        match element {
            "" | "." => {}
            ".." if elements.last().is_some_and(|it| *it != "..") => {
                elements.pop();
            }
            ".." if is_absolute => {}
            _ => elements.push(element),
        }
    }
    match (is_absolute, elements.join("/")) {
        (true, path) => format!("/{path}"),
        (false, path) if path.is_empty() => ".".to_owned(),
        (false, path) => path,
    }
}

/// A path that may be relative, as seen from a directory.
pub(super) fn absolute(base: &str, path: &str) -> String {
    if path.starts_with('/') { clean(path) } else { clean(&format!("{base}/{path}")) }
}

/// What is left of a file's path below a directory, empty for the directory itself. Both paths are clean.
pub(super) fn below<'a>(dir: &str, file: &'a str) -> Option<&'a str> {
    if dir == "/" {
        return file.strip_prefix('/');
    }
    let rest = file.strip_prefix(dir)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}

/// A clean absolute path, then the directories that it is in, up to the root.
pub(super) fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |it| match it.rsplit_once('/')? {
        ("", "") => None,
        ("", _) => Some("/"),
        (parent, _) => Some(parent),
    })
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
            assert_eq!(clean(path), expected, "{path}");
        }
        assert_eq!(absolute("/base", "src/../web"), "/base/web");
        assert_eq!(absolute("/base", "/else/"), "/else");
    }

    #[test]
    fn only_whole_elements_are_below_a_directory() {
        assert_eq!(below("/a/b", "/a/b/c/d"), Some("c/d"));
        assert_eq!(below("/a/b", "/a/b"), Some(""));
        assert_eq!(below("/a/b", "/a/bc"), None);
        assert_eq!(below("/a/b", "/a"), None);
        assert_eq!(below("/", "/a"), Some("a"));
    }

    #[test]
    fn a_path_and_all_above_it_are_its_ancestors() {
        assert_eq!(ancestors("/a/b").collect::<Vec<_>>(), ["/a/b", "/a", "/"]);
        assert_eq!(ancestors("/").collect::<Vec<_>>(), ["/"]);
    }
}

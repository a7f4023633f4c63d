//! The extensions that ship inside the engine: `load('ext://NAME', ...)` finds them without a network.

/// An extension: its name and its files.
#[derive(Debug)]
pub struct Extension {
    /// What stands behind `ext://`.
    pub name: &'static str,
    /// Its files; one of them is `Tiltfile`.
    pub files: &'static [File],
}

/// A file of an extension.
#[derive(Debug)]
pub struct File {
    /// The path inside the extension.
    pub path: &'static str,
    /// The text.
    pub text: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/extensions.rs"));

/// The extension of this name, if we have our own.
pub fn find(name: &str) -> Option<&'static Extension> {
    EXTENSIONS.iter().find(|it| it.name == name)
}

/// All extensions, sorted by name.
pub fn all() -> impl Iterator<Item = &'static Extension> {
    EXTENSIONS.iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_extension_has_a_tiltfile_and_a_readme() {
        for extension in all() {
            for wanted in ["Tiltfile", "README.md"] {
                assert!(
                    extension.files.iter().any(|it| it.path == wanted),
                    "{} lacks {wanted}",
                    extension.name
                );
            }
        }
    }

    #[test]
    fn extensions_are_found_by_name() {
        assert!(find("hello_world").is_some());
        assert!(find("no_such_extension").is_none());
    }
}

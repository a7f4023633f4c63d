//! Opens a text in the user's editor.

use std::{
    env, fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::Command,
};

use engine_formats::golang::quote::quote;

/// The editor where the environment names none.
const DEFAULT: &str = "vi";

/// What came of editing.
#[derive(Debug)]
pub(crate) struct Edited {
    /// The text afterwards.
    pub(crate) text: String,
    /// Where it is.
    pub(crate) path: PathBuf,
}

/// Opens a text in the first editor that the environment names.
///
/// The file stays, so that nothing is lost; [`Edited::remove`] removes it.
///
/// # Errors
/// If the file cannot be written or read, or the editor fails.
pub(crate) fn edit(variables: &[&str], text: &str, suffix: &str) -> io::Result<Edited> {
    let mut file = tempfile::Builder::new().prefix("tilt-edit-").suffix(suffix).tempfile()?;
    file.write_all(text.as_bytes())?;
    let (file, path) = file.keep().map_err(|it| it.error)?;
    drop(file);
    launch(variables, &path)?;
    let text = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
    Ok(Edited { text, path })
}

impl Edited {
    /// Removes the file.
    pub(crate) fn remove(&self) {
        // It is a temporary file: what cannot be removed now, the system removes later.
        let _ = fs::remove_file(&self.path);
    }
}

fn launch(variables: &[&str], path: &Path) -> io::Result<()> {
    let named = variables.iter().find_map(|it| env::var(it).ok().filter(|it| !it.is_empty()));
    let editor = named.unwrap_or_else(|| DEFAULT.to_owned());
    let mut command = if editor.contains(' ') && editor.contains(['"', '\'', '\\']) {
        let shell = env::var("SHELL").ok().filter(|it| !it.is_empty());
        let mut command = Command::new(shell.as_deref().unwrap_or("/bin/bash"));
        command.arg("-c").arg(format!("{editor} {}", quote(&path.to_string_lossy())));
        command
    } else {
        let mut words = editor.split(' ');
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).arg(path);
        command
    };
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => {
            Err(io::Error::other(format!("there was a problem with the editor {}", quote(&editor))))
        }
        // A path that leads nowhere is a problem of the editor, a name that nobody knows is another.
        Err(_) if editor.contains('/') => {
            Err(io::Error::other(format!("there was a problem with the editor {}", quote(&editor))))
        }
        Err(_) => Err(io::Error::other(format!("unable to launch the editor {}", quote(&editor)))),
    }
}

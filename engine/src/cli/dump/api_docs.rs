//! `dump api-docs`: writes Python stubs of the Tiltfile functions for editors.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

use builtins::docs;
use engine_cli::{Failure, Printer};

/// The files, in the order in which they are written out, and whose members are in them.
const FILES: [(&str, &str); 7] = [
    ("api/__init__.py", ""),
    ("api/config/__init__.py", "config"),
    ("api/os/__init__.py", "os"),
    ("api/os/path.py", "os.path"),
    ("api/shlex/__init__.py", "shlex"),
    ("api/sys/__init__.py", "sys"),
    ("api/v1alpha1/__init__.py", "v1alpha1"),
];

/// Writes all files below a folder, and prints their names.
pub(super) fn write(dir: &str, printer: Printer) -> Result<(), Failure> {
    // What is written is named without the dots of the folder.
    let folder: &Path =
        &Path::new(dir).components().filter(|it| *it != Component::CurDir).collect::<PathBuf>();
    if !Path::new(dir).is_dir() {
        return Err(Failure::Plain(format!(
            "Provided name {dir} doesn't exist or isn't a directory"
        )));
    }
    for (name, module) in FILES {
        write_file(folder, name, &docs::python(module), printer)
            .map_err(|it| Failure::Plain(format!("dump api-docs: {it}")))?;
    }
    Ok(())
}

fn write_file(folder: &Path, name: &str, text: &str, printer: Printer) -> io::Result<()> {
    let file = folder.join(name);
    let inner = file.parent().unwrap_or(folder);
    if !inner.is_dir() {
        fs::create_dir_all(inner)?;
        printer.out(&format!("wrote {}\n", inner.display()));
    }
    fs::write(&file, text)?;
    printer.out(&format!("wrote {}\n", file.display()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_python() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path().to_str().unwrap(), Printer).unwrap();
        let checked = std::process::Command::new("python3")
            .args(["-m", "compileall", "-q"])
            .arg(dir.path())
            .env("PYTHONPYCACHEPREFIX", dir.path().join("cache"))
            .status();
        // Who has no Python cannot check it.
        assert!(checked.is_err() || checked.is_ok_and(|it| it.success()));
    }
}

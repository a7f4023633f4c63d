//! Extensions of the standard library, written to disk so that their files can be read and watched like others.

use engine_formats::golang::path;

use crate::host::Host;

use super::{ExtensionError, data_home};

/// Names a folder whose extensions are used as they are, for those who work on them.
const SOURCES: &str = "ENGINE_STDLIB";

/// The path of an embedded extension's Tiltfile, or `None` if the standard library lacks the name.
pub(super) fn tiltfile(host: &dyn Host, name: &str) -> Option<Result<String, ExtensionError>> {
    if let Some(sources) = host.env(SOURCES).filter(|it| path::is_abs(it)) {
        let file = path::join(&[&sources, name, "Tiltfile"]);
        return host.stat(&file).is_ok().then_some(Ok(file));
    }
    let extension = stdlib::find(name)?;
    let written = write(host, extension);
    Some(written.map(|dir| path::join(&[&dir, "Tiltfile"])))
}

/// The folder of all embedded extensions, with the layout of the public repository.
pub(super) fn root(host: &dyn Host) -> Result<String, ExtensionError> {
    stdlib::all().try_for_each(|it| write(host, it).map(drop))?;
    dir(host)
}

/// Each version of the engine has its own folder, as several may run at a time.
pub(super) fn dir(host: &dyn Host) -> Result<String, ExtensionError> {
    Ok(path::join(&[&data_home(host)?, "engine", "stdlib", env!("CARGO_PKG_VERSION")]))
}

/// Writes the files of an extension, and says where.
fn write(host: &dyn Host, extension: &stdlib::Extension) -> Result<String, ExtensionError> {
    let dir = path::join(&[&dir(host)?, extension.name]);
    for file in extension.files {
        let path = path::join(&[&dir, file.path]);
        if !host.read(&path).is_ok_and(|it| it == file.text.as_bytes()) {
            host.write(&path, file.text.as_bytes()).map_err(|error| {
                ExtensionError::Unwritable { path: path.clone(), reason: error.to_string() }
            })?;
        }
    }
    Ok(dir)
}

//! Extensions of the standard library, written out so that their files can be read and watched like others.

use crate::{golang::path, host::Host};

use super::data_home;

/// The path of an embedded extension's Tiltfile, or `None` if the standard library lacks the name.
pub(super) fn tiltfile(host: &dyn Host, name: &str) -> Option<Result<String, String>> {
    let extension = stdlib::find(name)?;
    let mut tiltfile = Err("no Tiltfile in the standard library".to_owned());
    for file in extension.files {
        let dir = path::join(&[&data_home(host), "engine", "stdlib", env!("CARGO_PKG_VERSION")]);
        let path = path::join(&[&dir, extension.name, file.path]);
        if !host.read(&path).is_ok_and(|it| it == file.text.as_bytes())
            && let Err(error) = host.write(&path, file.text.as_bytes())
        {
            return Some(Err(format!("writing {path}: {error}")));
        }
        if file.path == "Tiltfile" {
            tiltfile = Ok(path);
        }
    }
    Some(tiltfile)
}

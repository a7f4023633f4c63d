//! The custom resource definitions of a chart, for Helm versions that do not render them.

use builtins_language::decode_utf8;
use engine_formats::golang::{os_error::PathError, path};

use crate::{host::FileKind, session::Session};

/// The texts of all YAML files below `crds`, in lexical order; those of subcharts are not found.
pub(super) fn definitions(session: &Session, chart: &str) -> Result<Vec<String>, PathError> {
    let root = path::join(&[chart, "crds"]);
    let mut texts = Vec::new();
    match session.host.lstat(&root) {
        Ok(info) if info.kind == FileKind::Directory => {}
        Ok(_) => return Ok(texts),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(texts),
        Err(error) => return Err(PathError::new("lstat", &root, &error)),
    }
    // Entries still to visit, the next one last.
    let mut pending = vec![(root, FileKind::Directory)];
    while let Some((file, kind)) = pending.pop() {
        match kind {
            FileKind::Directory => {
                let entries = session
                    .host
                    .list(&file)
                    .map_err(|error| PathError::new("open", &file, &error))?;
                let below = |name: &str| path::join(&[file.as_str(), name]);
                pending.extend(entries.iter().rev().map(|it| (below(&it.name), it.kind)));
            }
            FileKind::File if is_yaml(&file) => texts.push(decode_utf8(&session.read(&file)?)),
            FileKind::File | FileKind::Symlink => {}
        }
    }
    Ok(texts)
}

fn is_yaml(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.rsplit_once('.')
        .is_some_and(|(_, end)| ["yaml", "yml"].iter().any(|it| end.eq_ignore_ascii_case(it)))
}

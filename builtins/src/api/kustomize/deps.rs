//! Finds the files that an overlay depends on, which are watched.

use std::collections::HashSet;

use engine_formats::{golang::path, yaml};

use super::file::{self, Kustomization};
use crate::{
    host::{FileKind, Host},
    session::Session,
};

/// The names of the file that makes a directory an overlay.
pub(super) const FILE_NAMES: [&str; 3] =
    ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// How deep overlays may refer to others. Kustomize refuses circles, but another program may have built this one.
const MAX_DEPTH: usize = 1_000;

/// Why the dependencies of an overlay are unknown.
#[derive(Debug, thiserror::Error)]
pub(super) enum OverlayError {
    #[error("overlays refer to each other more than {MAX_DEPTH} levels deep: {0}")]
    TooDeep(String),
    #[error("Found multiple kustomization files under: {0}\n")]
    SeveralFiles(String),
    #[error("unable to find one of [{}] in directory '{dir}'", FILE_NAMES.join(" "))]
    NoFile { dir: String },
    #[error("Failed to read kustomization file under {dir}:\n{problems}")]
    Fields { dir: String, problems: String },
    #[error(transparent)]
    Content(#[from] yaml::Error),
}

/// The files that the overlay in a directory depends on, each once.
pub(super) fn of(session: &Session, dir: &str) -> Result<Vec<String>, OverlayError> {
    let mut files = Vec::new();
    collect(session.host.as_ref(), dir, 0, &mut files)?;
    let mut seen = HashSet::new();
    files.retain(|it| seen.insert(it.clone()));
    Ok(files)
}

fn collect(
    host: &dyn Host,
    dir: &str,
    depth: usize,
    files: &mut Vec<String>,
) -> Result<(), OverlayError> {
    if depth > MAX_DEPTH {
        return Err(OverlayError::TooDeep(dir.to_owned()));
    }
    let (own_file, content) = read(host, dir)?;
    let below = |it: &String| path::join(&[dir, it.as_str()]);
    for entry in
        [&content.bases, &content.components, &content.resources].into_iter().flatten().map(below)
    {
        if host.stat(&entry).is_ok_and(|it| it.kind == FileKind::Directory) {
            collect(host, &entry, depth + 1, files)?;
        } else {
            files.push(entry);
        }
    }
    files.push(own_file);
    files.extend(content.patches.iter().filter(|it| !it.is_empty()).map(below));
    files.extend(content.patches_strategic_merge.iter().map(below));
    files.extend(content.crds.iter().map(below));
    // An inline patch has no path, which leads to the directory itself.
    files.extend(content.patches_json6902.iter().map(below));
    files.extend(content.config_map_files.iter().map(below));
    Ok(())
}

/// The file that makes a directory an overlay, and what it says. It is apart, as its caller calls itself a thousand
/// times.
fn read(host: &dyn Host, dir: &str) -> Result<(String, Box<Kustomization>), OverlayError> {
    let (own_file, bytes) = find(host, dir)?;
    let content = file::read(&bytes)?;
    check_fields(&content, dir)?;
    Ok((own_file, Box::new(content)))
}

/// The only file with one of the recognized names.
fn find(host: &dyn Host, dir: &str) -> Result<(String, Vec<u8>), OverlayError> {
    let mut found = Vec::new();
    for name in FILE_NAMES {
        let file = path::join(&[dir, name]);
        if let Ok(bytes) = host.read(&file) {
            found.push((file, bytes));
        }
    }
    if found.len() > 1 {
        return Err(OverlayError::SeveralFiles(dir.to_owned()));
    }
    found.pop().ok_or_else(|| OverlayError::NoFile { dir: dir.to_owned() })
}

fn check_fields(content: &Kustomization, dir: &str) -> Result<(), OverlayError> {
    let mut problems = Vec::new();
    if !["", "Kustomization", "Component"].contains(&content.kind.as_str()) {
        problems.push("kind should be Kustomization or Component".to_owned());
    }
    let version = match content.kind.as_str() {
        "Component" => "kustomize.config.k8s.io/v1alpha1",
        _ => "kustomize.config.k8s.io/v1beta1",
    };
    if !content.api_version.is_empty() && content.api_version != version {
        problems.push(format!("apiVersion for {} should be {version}", content.kind));
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(OverlayError::Fields { dir: dir.to_owned(), problems: problems.join("\n") })
}

#[cfg(test)]
mod tests;

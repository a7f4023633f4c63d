//! Decides which files an overlay depends on, and so which are watched.

use std::collections::HashSet;

use super::file::{self, Kustomization};
use crate::{
    golang::path,
    host::{FileKind, Host},
    session::Session,
};

/// The names of the file that makes a directory an overlay.
pub(super) const FILE_NAMES: [&str; 3] =
    ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// How deep overlays may refer to others. Kustomize refuses circles, but another program may have built this one.
const MAX_DEPTH: usize = 1_000;

/// The files that the overlay in a directory depends on, each once.
pub(super) fn of(session: &Session, dir: &str) -> Result<Vec<String>, String> {
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
) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err(format!(
            "overlays refer to each other more than {MAX_DEPTH} levels deep: {dir}"
        ));
    }
    let (own_file, bytes) = find(host, dir)?;
    let content = file::read(&bytes).map_err(|why| why.to_string())?;
    check_fields(&content, dir)?;

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

/// The only file with one of the recognized names.
fn find(host: &dyn Host, dir: &str) -> Result<(String, Vec<u8>), String> {
    let mut found = Vec::new();
    for name in FILE_NAMES {
        let file = path::join(&[dir, name]);
        if let Ok(bytes) = host.read(&file) {
            found.push((file, bytes));
        }
    }
    if found.len() > 1 {
        return Err(format!("Found multiple kustomization files under: {dir}\n"));
    }
    found.pop().ok_or_else(|| {
        format!("unable to find one of [{}] in directory '{dir}'", FILE_NAMES.join(" "))
    })
}

fn check_fields(content: &Kustomization, dir: &str) -> Result<(), String> {
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
    Err(format!("Failed to read kustomization file under {dir}:\n{}", problems.join("\n")))
}

#[cfg(test)]
mod tests;

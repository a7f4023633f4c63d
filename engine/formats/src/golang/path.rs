//! Decides path questions lexically, with the rules of Go's `path/filepath` on Unix. The file
//! system is reached only through what the caller passes in.

use std::io;

use super::os_error::PathError;

/// The shortest equivalent of a path; the empty path becomes `.`.
pub fn clean(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => match parts.last() {
                Some(&last) if last != ".." => {
                    parts.pop();
                }
                _ if rooted => {}
                _ => parts.push(".."),
            },
            part => parts.push(part),
        }
    }
    match (rooted, parts.is_empty()) {
        (true, _) => format!("/{}", parts.join("/")),
        (false, true) => ".".to_owned(),
        (false, false) => parts.join("/"),
    }
}

/// Joins the non-empty elements and cleans the result; no elements give the empty path.
pub fn join<S: AsRef<str>>(elements: &[S]) -> String {
    let parts: Vec<&str> =
        elements.iter().map(AsRef::as_ref).skip_while(|part| part.is_empty()).collect();
    if parts.is_empty() { String::new() } else { clean(&parts.join("/")) }
}

/// Whether a path starts at the root.
pub fn is_abs(path: &str) -> bool {
    path.starts_with('/')
}

/// The path seen from the root; a path that is absolute already is only cleaned.
pub fn abs(cwd: &str, path: &str) -> String {
    if is_abs(path) { clean(path) } else { join(&[cwd, path]) }
}

/// The last element of a path; `.` for the empty path, `/` for the root.
pub fn base(path: &str) -> String {
    if path.is_empty() {
        return ".".to_owned();
    }
    match path.trim_end_matches('/').rsplit('/').next() {
        None | Some("") => "/".to_owned(),
        Some(last) => last.to_owned(),
    }
}

/// All but the last element of a path, cleaned.
pub fn dir(path: &str) -> String {
    clean(path.rfind('/').map_or("", |slash| &path[..=slash]))
}

/// Two paths of which neither can be reached from the other by its name alone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Rel: can't make {target} relative to {base}")]
pub struct RelError {
    base: String,
    target: String,
}

/// The path that leads from `base` to `target`.
pub fn rel(base: &str, target: &str) -> Result<String, RelError> {
    let fail = || Err(RelError { base: base.to_owned(), target: target.to_owned() });
    let (clean_base, clean_target) = (clean(base), clean(target));
    if clean_base == clean_target {
        return Ok(".".to_owned());
    }
    if is_abs(&clean_base) != is_abs(&clean_target) {
        return fail();
    }
    let parts = |path: &str| -> Vec<String> {
        path.split('/').filter(|part| !part.is_empty() && *part != ".").map(str::to_owned).collect()
    };
    let (from, to) = (parts(&clean_base), parts(&clean_target));
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    if from[shared..].first().is_some_and(|part| part == "..") {
        return fail();
    }
    let up = std::iter::repeat_n("..", from.len() - shared);
    let down = to[shared..].iter().map(String::as_str);
    Ok(up.chain(down).collect::<Vec<_>>().join("/"))
}

/// The path of `file` inside `dir`, or `None` if it is elsewhere. Both have to be absolute.
pub fn child(dir: &str, file: &str) -> Option<String> {
    if dir.is_empty() {
        return None;
    }
    let (dir, file) = (clean(dir), clean(file));
    if dir == file {
        return Some(".".to_owned());
    }
    let rest = file.strip_prefix(&dir)?;
    let inside = if dir == "/" { Some(rest) } else { rest.strip_prefix('/') };
    inside.map(str::to_owned)
}

/// Whether `file` is `dir` or lies inside it.
pub fn is_child(dir: &str, file: &str) -> bool {
    child(dir, file).is_some()
}

/// Whether `file` lies inside one of the directories.
pub fn is_child_of_one<S: AsRef<str>>(dirs: &[S], file: &str) -> bool {
    dirs.iter().any(|dir| is_child(dir.as_ref(), file))
}

/// What stands at a path, without following it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// A symbolic link and where it points to.
    Symlink(String),
    /// A directory.
    Directory,
    /// Anything else that exists.
    Other,
}

/// Why symbolic links could not be resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SymlinkError {
    /// An element of the path could not be looked at.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A file stands where a directory is needed.
    #[error("not a directory")]
    NotADirectory,
    /// The links go in circles.
    #[error("EvalSymlinks: too many links")]
    TooManyLinks,
}

impl SymlinkError {
    /// Whether the path leads to nothing.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Path(error) if error.is_not_found())
    }
}

/// Resolves every symbolic link of a path, which has to exist.
pub fn eval_symlinks(
    path: &str,
    mut look: impl FnMut(&str) -> io::Result<Link>,
) -> Result<String, SymlinkError> {
    let mut resolved = if is_abs(path) { "/".to_owned() } else { String::new() };
    let mut pending = path.to_owned();
    let mut links = 0;
    while let Some((element, rest)) = next_element(&pending) {
        let rest = rest.to_owned();
        match element {
            "." => {}
            ".." => step_up(&mut resolved),
            name => {
                let here = resolved.len();
                if !resolved.is_empty() && !resolved.ends_with('/') {
                    resolved.push('/');
                }
                resolved.push_str(name);
                let link =
                    look(&resolved).map_err(|error| PathError::new("lstat", &resolved, &error))?;
                match link {
                    Link::Directory => {}
                    Link::Other if rest.is_empty() => {}
                    Link::Other => return Err(SymlinkError::NotADirectory),
                    Link::Symlink(target) => {
                        links += 1;
                        if links > 255 {
                            return Err(SymlinkError::TooManyLinks);
                        }
                        resolved.truncate(here);
                        if is_abs(&target) {
                            "/".clone_into(&mut resolved);
                        }
                        pending = format!("{target}{rest}");
                        continue;
                    }
                }
            }
        }
        pending = rest;
    }
    Ok(clean(&resolved))
}

/// The first element of a path and everything after it, with its slash.
fn next_element(path: &str) -> Option<(&str, &str)> {
    let path = path.trim_start_matches('/');
    if path.is_empty() {
        return None;
    }
    Some(path.split_at(path.find('/').unwrap_or(path.len())))
}

fn step_up(resolved: &mut String) {
    let last = resolved.rsplit('/').next().unwrap_or_default();
    if resolved.is_empty() || last == ".." {
        resolved.push_str(if resolved.is_empty() { ".." } else { "/.." });
        return;
    }
    match resolved.rfind('/') {
        Some(0) => resolved.truncate(1),
        Some(slash) => resolved.truncate(slash),
        None => resolved.clear(),
    }
}

#[cfg(test)]
mod tests;

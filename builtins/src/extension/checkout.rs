//! Git checkouts of extension repositories, in Tilt's data folder and layout.
//!
//! An existing checkout works offline: it is refreshed at most once a day, with a short timeout, and a failure is only
//! logged. Failed commands are logged as in Tilt.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use engine_formats::golang::{os_error::PathError, path};

use crate::host::{Command, Host, Level, Output, RunError, add_git_defaults};

use super::{
    data_home,
    error::{CommandError, ExtensionError},
    import_path::RepoRoot,
    revision::{Commit, Reference},
};

/// A checkout younger than this is not refreshed: a reload must not wait for a network.
const FRESH: Duration = Duration::from_hours(24);
/// How long a command may take that only looks for something newer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The folder of Tilt's that holds all checkouts.
///
/// # Errors
/// If there is no place for it.
pub(super) fn modules_dir(host: &dyn Host) -> Result<String, ExtensionError> {
    Ok(path::join(&[&data_home(host)?, "tilt-dev", "tilt_modules"]))
}

/// The directory that an import path names, cloned or refreshed as needed.
pub(super) fn ensure(
    host: &dyn Host,
    import_path: &str,
    reference: &Reference,
) -> Result<String, ExtensionError> {
    let modules = modules_dir(host)?;
    let dest = path::join(&[&modules, import_path]);
    let exists = match host.stat(&dest) {
        Ok(_) => true,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
        Err(error) => {
            return Err(ExtensionError::Destination(PathError::new("stat", &dest, &error)));
        }
    };
    let repo = match RepoRoot::of(import_path) {
        Ok(repo) => repo,
        Err(why) if exists => return Err(ExtensionError::Head(why)),
        Err(why) => return Err(download_error(why)),
    };
    let root = path::join(&[&modules, &repo.root]);
    let is_git = host.stat(&path::join(&[&root, ".git"])).is_ok();
    if exists && !is_git {
        // A copy without its git data, such as a vendored one, is used as it is.
        return Ok(dest);
    }
    if exists {
        refresh(host, &root, reference)?;
        return Ok(dest);
    }
    if !is_git {
        clone(host, &repo, &root).map_err(download_error)?;
    }
    host.stat(&dest)
        .map_err(|error| ExtensionError::Downloaded(PathError::new("stat", &dest, &error)))?;
    if !reference.is_default() {
        check_out(host, &root, reference)?;
    }
    Ok(dest)
}

/// The directory that an import path names, as it was in a commit. It is made once, and needs no network then. It is
/// beside the checkout, which may be of another commit.
pub(super) fn pinned(
    host: &dyn Host,
    import_path: &str,
    commit: &Commit,
) -> Result<String, ExtensionError> {
    let modules = modules_dir(host)?;
    let repo = RepoRoot::of(import_path)?;
    let commit = commit.as_str();
    let inside = import_path.strip_prefix(&repo.root).unwrap_or_default();
    let copy = path::join(&[&data_home(host)?, "engine", "extensions", &repo.root, commit]);
    let dest = path::join(&[&copy, inside]);
    if host.stat(&copy).is_err() {
        let root = path::join(&[&modules, &repo.root]);
        if host.stat(&path::join(&[&root, ".git"])).is_err() {
            clone(host, &repo, &root).map_err(download_error)?;
        }
        export(host, &root, commit, &copy)?;
    }
    Ok(dest)
}

/// Copies the files of a commit, which is fetched if it is not there.
fn export(host: &dyn Host, root: &str, commit: &str, copy: &str) -> Result<(), ExtensionError> {
    let object = format!("{commit}^{{commit}}");
    if quiet_git(host, root, &["cat-file", "-e", &object]).is_err() {
        git(host, root, &["fetch", "origin", commit], None)
            .or_else(|_| git(host, root, &["fetch", "--tags", "origin"], None))
            .map_err(|source| ExtensionError::Fetch { commit: commit.to_owned(), source })?;
    }
    let partial = format!("{copy}.partial-{}", std::process::id());
    run(host, "/", &["mkdir", "-p", &partial], None).map_err(|failure| failure.why)?;
    // An index of its own: that of the checkout knows nothing of it.
    let index = format!("GIT_INDEX_FILE={partial}.index");
    let tree = format!("--work-tree={partial}");
    let command = ["env", &index, "git", &tree, "checkout", "--force", commit, "--", "."];
    let exported = run(host, root, &command, None);
    let _ = host.remove(&format!("{partial}.index"));
    let placed = exported.and_then(|()| run(host, "/", &["mv", "-T", &partial, copy], None));
    placed.or_else(|failure| {
        let _ = run(host, "/", &["rm", "-rf", "--", &partial], None);
        // Another engine may have been faster.
        host.stat(copy).map(|_| ()).map_err(|_| {
            report(host, root, &["checkout", commit], &failure);
            ExtensionError::Sync { reference: commit.to_owned(), source: failure.why }
        })
    })
}

/// The commit that a reference names now, at its origin.
pub(super) fn newest(
    host: &dyn Host,
    import_path: &str,
    reference: &Reference,
) -> Result<Commit, ExtensionError> {
    let modules = modules_dir(host)?;
    let repo = RepoRoot::of(import_path)?;
    let root = path::join(&[&modules, &repo.root]);
    if host.stat(&path::join(&[&root, ".git"])).is_err() {
        clone(host, &repo, &root)?;
    } else {
        git(host, &root, &["fetch", "--quiet", "--tags", "origin"], None)?;
    }
    let names = match reference.as_str() {
        "" | "HEAD" => vec!["origin/HEAD".to_owned(), "HEAD".to_owned()],
        name => vec![format!("origin/{name}"), name.to_owned()],
    };
    let found = names.iter().find_map(|name| {
        let object = format!("{name}^{{commit}}");
        said(host, &root, &["git", "rev-parse", "--verify", "--quiet", &object])
    });
    let found = found.ok_or_else(|| ExtensionError::NoReference {
        import_path: import_path.to_owned(),
        reference: reference.as_str().to_owned(),
    })?;
    Ok(Commit::try_from(found)?)
}

/// What a command prints, if it succeeds.
fn said(host: &dyn Host, dir: &str, argv: &[&str]) -> Option<String> {
    let mut text = Vec::new();
    let command = command(host, dir, argv);
    let code = host.run(&command, &mut |which, bytes: &[u8]| {
        if which == Output::Stdout {
            text.extend_from_slice(bytes);
        }
    });
    (code.ok()? == 0).then(|| String::from_utf8_lossy(&text).trim().to_owned())
}

fn download_error(why: impl Into<ExtensionError>) -> ExtensionError {
    ExtensionError::Download(Box::new(why.into()))
}

/// Brings an existing checkout to its pinned version, or to the newest one if it is old.
fn refresh(host: &dyn Host, root: &str, reference: &Reference) -> Result<(), ExtensionError> {
    let pinned = !reference.is_default() && reference.as_str() != "HEAD";
    if pinned {
        if quiet_git(host, root, &["checkout", "--quiet", reference.as_str()]).is_ok() {
            return Ok(());
        }
        // The version may be newer than the checkout. What fails here fails again below, and is reported then.
        let _ = quiet_git(host, root, &["fetch", "--quiet", "--tags", "origin"]);
        return check_out(host, root, reference);
    }
    if !is_fresh(host, root) {
        // Without a network the copy that is there serves.
        let _ = git(host, root, &["pull", "--ff-only"], Some(PATIENCE));
    }
    Ok(())
}

fn check_out(host: &dyn Host, root: &str, reference: &Reference) -> Result<(), ExtensionError> {
    let reference = reference.as_str();
    git(host, root, &["checkout", reference], None)
        .map_err(|source| ExtensionError::Sync { reference: reference.to_owned(), source })
}

fn is_fresh(host: &dyn Host, root: &str) -> bool {
    let modified = |name| host.stat(&path::join(&[root, ".git", name])).map_or(0, |it| it.modified);
    let fetched = modified("FETCH_HEAD").max(modified("HEAD"));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let age = i128::try_from(now.as_nanos()).unwrap_or(i128::MAX) - fetched;
    age < i128::try_from(FRESH.as_nanos()).unwrap_or(i128::MAX)
}

/// Clones beside the destination and moves the result, so that a half-made checkout is never seen.
fn clone(host: &dyn Host, repo: &RepoRoot, root: &str) -> Result<(), ExtensionError> {
    let url = &repo.url(|url| quiet_git(host, "/", &["ls-remote", "--", url]).is_ok())?;
    let parent = path::dir(root);
    let partial = format!("{root}.partial-{}", std::process::id());
    run(host, "/", &["mkdir", "-p", &parent], None).map_err(|failure| failure.why)?;
    let cloned = run(host, &parent, &["git", "clone", "--", url, &partial], None);
    if let Err(failure) = cloned {
        // What is left of a failed clone is of no use, and of no harm either.
        let _ = run(host, "/", &["rm", "-rf", "--", &partial], None);
        let said = failure.stderr.replace(&partial, root);
        let failure = CommandFailure { stderr: said, ..failure };
        report(host, ".", &["clone", "--", url, root], &failure);
        return Err(failure.why.into());
    }
    match run(host, &parent, &["mv", "-T", &partial, root], None) {
        // Another engine was faster.
        Err(_) if host.stat(&path::join(&[root, ".git"])).is_ok() => {
            let _ = run(host, "/", &["rm", "-rf", "--", &partial], None);
            Ok(())
        }
        moved => Ok(moved.map_err(|failure| failure.why)?),
    }
}

/// Runs git and logs a failure.
fn git(
    host: &dyn Host,
    dir: &str,
    args: &[&str],
    limit: Option<Duration>,
) -> Result<(), CommandError> {
    run(host, dir, &[&["git"], args].concat(), limit).map_err(|failure| {
        report(host, dir, args, &failure);
        failure.why
    })
}

/// Runs git for a short time, and says nothing.
fn quiet_git(host: &dyn Host, dir: &str, args: &[&str]) -> Result<(), CommandError> {
    run(host, dir, &[&["git"], args].concat(), Some(PATIENCE)).map_err(|failure| failure.why)
}

/// Why a command failed, and its output.
struct CommandFailure {
    why: CommandError,
    stderr: String,
}

fn report(host: &dyn Host, dir: &str, args: &[&str], failure: &CommandFailure) {
    let said = if failure.stderr.is_empty() {
        format!("{}\n", failure.why)
    } else {
        failure.stderr.clone()
    };
    host.log(Level::Info, &format!("# cd {dir}; git {}\n{said}", args.join(" ")));
}

fn command(host: &dyn Host, dir: &str, argv: &[&str]) -> Command {
    let mut env = host.env_vars().into_iter().collect();
    // A Tiltfile may have removed what the host set; a prompt would wait for an answer that cannot come.
    add_git_defaults(&mut env);
    Command {
        argv: argv.iter().map(|&it| it.to_owned()).collect(),
        dir: dir.to_owned(),
        env: env.into_iter().collect(),
        stdin: None,
    }
}

fn run(
    host: &dyn Host,
    dir: &str,
    argv: &[&str],
    limit: Option<Duration>,
) -> Result<(), CommandFailure> {
    let command = command(host, dir, argv);
    let mut errors = Vec::new();
    let mut keep = |which, bytes: &[u8]| {
        if which == Output::Stderr {
            errors.extend_from_slice(bytes);
        }
    };
    let ran = match limit {
        Some(limit) => host.run_within(&command, limit, &mut keep),
        None => host.run(&command, &mut keep),
    };
    let stderr = String::from_utf8_lossy(&errors).into_owned();
    match ran {
        Ok(0) => Ok(()),
        Ok(code) => Err(CommandFailure { why: CommandError::Exit(code), stderr }),
        Err(error @ RunError::NotFound(_)) => {
            Err(CommandFailure { why: CommandError::Run(error.to_string()), stderr: String::new() })
        }
        Err(error) => Err(CommandFailure { why: CommandError::Run(error.to_string()), stderr }),
    }
}

#[cfg(test)]
mod tests;

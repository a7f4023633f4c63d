//! Git checkouts of extension repositories, in Tilt's data folder and layout.
//!
//! A checkout that is there serves without a network: refreshing it is tried at most once a day and for a
//! short time only, and its failure is a line of the log. Commands that fail are logged the way Tilt logs them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::{
    golang::{os_error::PathError, path},
    host::{Command, Host, Level, Output, RunError, add_git_defaults},
};

use super::{data_home, import_path::RepoRoot};

/// A checkout younger than this is not refreshed: a reload must not wait for a network.
const FRESH: Duration = Duration::from_hours(24);
/// How long a command may take that only looks for something newer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The folder of Tilt's that holds all checkouts.
pub(super) fn modules_dir(host: &dyn Host) -> String {
    path::join(&[&data_home(host), "tilt-dev", "tilt_modules"])
}

/// The directory that an import path names, cloned or refreshed as needed.
pub(super) fn ensure(
    host: &dyn Host,
    import_path: &str,
    reference: &str,
) -> Result<String, String> {
    let modules = modules_dir(host);
    let dest = path::join(&[&modules, import_path]);
    let exists = match host.stat(&dest) {
        Ok(_) => true,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
        Err(error) => {
            let why = PathError::new("stat", &dest, &error);
            return Err(format!("loading download destination: {why}"));
        }
    };
    let found =
        RepoRoot::of(import_path, |url| quiet_git(host, &modules, &["ls-remote", url]).is_ok());
    let repo = match found {
        Ok(repo) => repo,
        Err(why) if exists => return Err(format!("determining head: {why}")),
        Err(why) => return Err(download_error(&why)),
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
        clone(host, &repo.url, &root).map_err(|why| download_error(&why))?;
    }
    host.stat(&dest).map_err(|error| {
        format!("verifying download destination: {}", PathError::new("stat", &dest, &error))
    })?;
    if !reference.is_empty() {
        check_out(host, &root, reference)?;
    }
    Ok(dest)
}

/// The directory that an import path names, as it was in a commit. It is made once, and needs no network then. It is
/// beside the checkout, which may be of another commit.
pub(super) fn pinned(host: &dyn Host, import_path: &str, commit: &str) -> Result<String, String> {
    let modules = modules_dir(host);
    let repo =
        RepoRoot::of(import_path, |url| quiet_git(host, &modules, &["ls-remote", url]).is_ok())?;
    let inside = import_path.strip_prefix(&repo.root).unwrap_or_default();
    let copy = path::join(&[&data_home(host), "engine", "extensions", &repo.root, commit]);
    let dest = path::join(&[&copy, inside]);
    if host.stat(&copy).is_err() {
        let root = path::join(&[&modules, &repo.root]);
        if host.stat(&path::join(&[&root, ".git"])).is_err() {
            clone(host, &repo.url, &root).map_err(|why| download_error(&why))?;
        }
        export(host, &root, commit, &copy)?;
    }
    Ok(dest)
}

/// Copies the files of a commit, which is fetched if it is not there.
fn export(host: &dyn Host, root: &str, commit: &str, copy: &str) -> Result<(), String> {
    let object = format!("{commit}^{{commit}}");
    if quiet_git(host, root, &["cat-file", "-e", &object]).is_err() {
        git(host, root, &["fetch", "origin", commit], None)
            .or_else(|_| git(host, root, &["fetch", "--tags", "origin"], None))
            .map_err(|why| format!("fetching {commit}: {why}"))?;
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
            format!("sync to ref {commit}: {}", failure.why)
        })
    })
}

/// The commit that a reference names now, at its origin.
pub(super) fn newest(
    host: &dyn Host,
    import_path: &str,
    reference: &str,
) -> Result<String, String> {
    let modules = modules_dir(host);
    let repo =
        RepoRoot::of(import_path, |url| quiet_git(host, &modules, &["ls-remote", url]).is_ok())?;
    let root = path::join(&[&modules, &repo.root]);
    if host.stat(&path::join(&[&root, ".git"])).is_err() {
        clone(host, &repo.url, &root)?;
    } else {
        git(host, &root, &["fetch", "--quiet", "--tags", "origin"], None)?;
    }
    let names = match reference {
        "" | "HEAD" => vec!["origin/HEAD".to_owned(), "HEAD".to_owned()],
        name => vec![format!("origin/{name}"), name.to_owned()],
    };
    let found = names.iter().find_map(|name| {
        let object = format!("{name}^{{commit}}");
        said(host, &root, &["git", "rev-parse", "--verify", "--quiet", &object])
    });
    found.ok_or_else(|| format!("{import_path} has no {reference}"))
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

fn download_error(why: &str) -> String {
    format!("download error: waiting 5s before retrying. Original error: {why}")
}

/// Brings an existing checkout to its pinned version, or to the newest one if it is old.
fn refresh(host: &dyn Host, root: &str, reference: &str) -> Result<(), String> {
    let pinned = !reference.is_empty() && reference != "HEAD";
    if pinned {
        if quiet_git(host, root, &["checkout", "--quiet", reference]).is_ok() {
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

fn check_out(host: &dyn Host, root: &str, reference: &str) -> Result<(), String> {
    git(host, root, &["checkout", reference], None)
        .map_err(|why| format!("sync to ref {reference}: {why}"))
}

fn is_fresh(host: &dyn Host, root: &str) -> bool {
    let modified = |name| host.stat(&path::join(&[root, ".git", name])).map_or(0, |it| it.modified);
    let fetched = modified("FETCH_HEAD").max(modified("HEAD"));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let age = i128::try_from(now.as_nanos()).unwrap_or(i128::MAX) - fetched;
    age < i128::try_from(FRESH.as_nanos()).unwrap_or(i128::MAX)
}

/// Clones beside the destination and moves the result, so that a half-made checkout is never seen.
fn clone(host: &dyn Host, url: &str, root: &str) -> Result<(), String> {
    let parent = path::dir(root);
    let partial = format!("{root}.partial-{}", std::process::id());
    run(host, "/", &["mkdir", "-p", &parent], None).map_err(|failure| failure.why)?;
    let cloned = run(host, &parent, &["git", "clone", "--", url, &partial], None);
    if let Err(failure) = cloned {
        // What is left of a failed clone is of no use, and of no harm either.
        let _ = run(host, "/", &["rm", "-rf", "--", &partial], None);
        let said = failure.stderr.replace(&partial, root);
        let failure = Failure { stderr: said, ..failure };
        report(host, ".", &["clone", "--", url, root], &failure);
        return Err(failure.why);
    }
    match run(host, &parent, &["mv", "-T", &partial, root], None) {
        // Another engine was faster.
        Err(_) if host.stat(&path::join(&[root, ".git"])).is_ok() => {
            let _ = run(host, "/", &["rm", "-rf", "--", &partial], None);
            Ok(())
        }
        moved => moved.map_err(|failure| failure.why),
    }
}

/// Runs git and logs a failure.
fn git(host: &dyn Host, dir: &str, args: &[&str], limit: Option<Duration>) -> Result<(), String> {
    run(host, dir, &[&["git"], args].concat(), limit).map_err(|failure| {
        report(host, dir, args, &failure);
        failure.why
    })
}

/// Runs git for a short time, and says nothing.
fn quiet_git(host: &dyn Host, dir: &str, args: &[&str]) -> Result<(), String> {
    let dir = if host.stat(dir).is_ok() { dir } else { "/" };
    run(host, dir, &[&["git"], args].concat(), Some(PATIENCE)).map_err(|failure| failure.why)
}

/// Why a command failed, and what it said.
struct Failure {
    why: String,
    stderr: String,
}

fn report(host: &dyn Host, dir: &str, args: &[&str], failure: &Failure) {
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

fn run(host: &dyn Host, dir: &str, argv: &[&str], limit: Option<Duration>) -> Result<(), Failure> {
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
        Ok(code) => Err(Failure { why: format!("exit status {code}"), stderr }),
        Err(error @ RunError::NotFound(_)) => {
            Err(Failure { why: error.to_string(), stderr: String::new() })
        }
        Err(error) => Err(Failure { why: error.to_string(), stderr }),
    }
}

#[cfg(test)]
mod tests;

//! `ext`: lists, locks and vendors the extensions of a Tiltfile.

use std::{collections::BTreeMap, fs, path::Path};

use builtins::{
    extension::{
        self,
        lock::{self, Lock, Pin},
        revision::Reference,
    },
    host::OsHost,
};
use clap::{Args, Subcommand};
use engine_cli::{Failure, Printer, output_file};
use engine_model::{
    Load, LoadedRepo,
    path::{to_path, to_text},
};
use serde_json::Value;

use super::evaluated::Evaluated;
use crate::exec::Guarded;

/// List, lock or vendor the extensions of a Tiltfile.
#[derive(Debug, Subcommand)]
pub(super) enum ExtCommand {
    /// List the extensions that the Tiltfile uses, with their origin
    List(ListFlags),
    /// Pin the commits of extension repositories in tilt-extensions.lock
    Lock(LockFlags),
    /// Copy extension repositories to `tilt_modules`, beside the Tiltfile
    Vendor(TiltfileFlags),
}

/// Which Tiltfile is meant.
#[derive(Debug, Args)]
pub(super) struct TiltfileFlags {
    /// Path to the Tiltfile
    #[arg(short, long, value_name = "PATH", default_value = "Tiltfile")]
    file: String,
    /// Arguments for the Tiltfile
    #[arg(value_name = "ARGS")]
    args: Vec<String>,
}

#[derive(Debug, Args)]
pub(super) struct ListFlags {
    #[command(flatten)]
    tiltfile: TiltfileFlags,
    /// List all bundled extensions instead
    #[arg(short, long)]
    all: bool,
}

#[derive(Debug, Args)]
pub(super) struct LockFlags {
    #[command(flatten)]
    tiltfile: TiltfileFlags,
    /// Update to the newest commits, even of locked repositories
    #[arg(short, long)]
    update: bool,
}

pub(super) fn run(command: &ExtCommand, printer: Printer) -> Result<(), Failure> {
    match command {
        ExtCommand::List(flags) if flags.all => {
            builtins::extension::standard_library()
                .for_each(|name| printer.out(&format!("{name}\n")));
            Ok(())
        }
        ExtCommand::List(flags) => list(&Project::evaluate(&flags.tiltfile, printer)?, printer),
        ExtCommand::Lock(flags) => {
            write_lock(&Project::evaluate(&flags.tiltfile, printer)?, flags.update, printer)
        }
        ExtCommand::Vendor(flags) => vendor(&Project::evaluate(flags, printer)?, printer),
    }
}

/// A Tiltfile, and what it loads.
struct Project {
    dir: String,
    load: Load,
    repositories: Vec<LoadedRepo>,
    host: OsHost,
}

impl Project {
    fn evaluate(flags: &TiltfileFlags, printer: Printer) -> Result<Self, Failure> {
        let evaluated = Evaluated::new(&flags.file, &flags.args, printer)?;
        let file = fs::canonicalize(to_path(&flags.file))
            .unwrap_or_else(|_| to_path(&flags.file).into_owned());
        let dir = to_text(file.parent().unwrap_or(Path::new("/"))).into_owned();
        let host = OsHost::from_process(Box::new(move |_, text| printer.err(text)));
        let host = host.with_launcher(Box::new(Guarded));
        let Evaluated { load, repositories, .. } = evaluated;
        Ok(Self { dir, load, repositories, host })
    }

    /// The git repositories that are used: those loaded from, and those of extensions that run by themselves.
    fn git_repositories(&self) -> Vec<(String, String)> {
        let loaded = self.repositories.iter().map(|it| (it.url.clone(), it.reference.clone()));
        let running = self.objects("extensions").into_iter().filter(|(_, it)| !is_loaded(it));
        let repos = self.objects("extensionrepos");
        let running = running.filter_map(|(_, it)| {
            let spec = &repos.get(it["spec"]["repoName"].as_str()?)?["spec"];
            let text = |key: &str| spec[key].as_str().unwrap_or_default().to_owned();
            Some((text("url"), text("ref")))
        });
        let mut all: Vec<_> = loaded.chain(running).collect();
        all.retain(|(url, _)| url.starts_with("http://") || url.starts_with("https://"));
        all.sort();
        all.dedup();
        all
    }

    fn objects(&self, plural: &str) -> BTreeMap<&str, &Value> {
        let found = self.load.object_set.get(&format!("tilt.dev/v1alpha1, Resource={plural}"));
        found.into_iter().flatten().map(|(name, it)| (name.as_str(), it)).collect()
    }

    fn lock(&self) -> Result<Lock, Failure> {
        Lock::read(&self.host, &self.dir).map_err(|why| Failure::Command(why.to_string()))
    }
}

fn is_loaded(extension: &Value) -> bool {
    extension["metadata"]["annotations"]["tilt.dev/managed-by"].is_string()
}

fn list(project: &Project, printer: Printer) -> Result<(), Failure> {
    let lock = project.lock()?;
    let repos = project.objects("extensionrepos");
    for (name, extension) in project.objects("extensions") {
        let spec = |key: &str| extension["spec"][key].as_str().unwrap_or_default();
        let repo = repos.get(spec("repoName"));
        let text = |key: &str| repo.and_then(|it| it["spec"][key].as_str()).unwrap_or_default();
        let used = project
            .repositories
            .iter()
            .find(|it| it.url == text("url") && it.reference == text("ref"));
        let from = match used {
            Some(used) => source(used, project, &lock),
            None if is_loaded(extension) => {
                format!("standard library {}", env!("CARGO_PKG_VERSION"))
            }
            None => text("url").to_owned(),
        };
        let path = spec("repoPath");
        let shown = if path == name { name.to_owned() } else { format!("{name} ({path})") };
        printer.out(&format!("{shown}\t{from}\n"));
    }
    Ok(())
}

/// Where a repository comes from, and which version of it.
fn source(used: &LoadedRepo, project: &Project, lock: &Lock) -> String {
    let LoadedRepo { url, reference, path } = used;
    let copies = Path::new(&project.dir).join(lock::VENDOR_FOLDER);
    if Path::new(path).starts_with(copies) {
        return format!("{url} (copy in {})", lock::VENDOR_FOLDER);
    }
    if extension::is_standard_library(&project.host, path) {
        return format!("standard library {}", env!("CARGO_PKG_VERSION"));
    }
    match lock.commit(url, reference) {
        Some(commit) => format!("{url} at {} (locked)", commit.as_str()),
        None if !reference.is_empty() => format!("{url} at {reference}"),
        None => url.clone(),
    }
}

fn write_lock(project: &Project, update: bool, printer: Printer) -> Result<(), Failure> {
    let old = project.lock()?;
    let mut new = Lock::default();
    let mut failures = Vec::new();
    for (url, reference) in project.git_repositories() {
        let known = old.commit(&url, &reference).cloned();
        let reference = Reference::try_from(reference)
            .map_err(|error| Failure::Command(format!("{url}: {error}")))?;
        let commit = match known {
            Some(commit) if !update => Some(commit),
            // What cannot be asked stays as it was.
            known => {
                extension::newest_commit(&project.host, &url, &reference).unwrap_or_else(|why| {
                    failures.push(Failure::Command(format!("{url}: {why}")));
                    known
                })
            }
        };
        if let Some(commit) = commit {
            printer.out(&format!("{url} {}\n", commit.as_str()));
            new.pin(Pin { url, reference, commit });
        }
    }
    save(project, &new, printer)?;
    if failures.is_empty() { Ok(()) } else { Err(Failure::Several(failures)) }
}

fn save(project: &Project, new: &Lock, printer: Printer) -> Result<(), Failure> {
    let file = to_path(&project.dir).join(lock::LOCK_FILE);
    if new.repos.is_empty() {
        printer.out("Nothing to lock: all extensions are bundled or come from local folders\n");
        // A lock that pins nothing is of no use.
        let _ = fs::remove_file(file);
        return Ok(());
    }
    // The old one serves until the new one is whole.
    let partial = file.with_extension("lock.partial");
    output_file::write(&partial, new.text().as_bytes())
        .and_then(|()| fs::rename(&partial, &file))
        .map_err(|error| Failure::Command(format!("{}: {error}", file.display())))
}

fn vendor(project: &Project, printer: Printer) -> Result<(), Failure> {
    let repositories = project.git_repositories();
    if repositories.is_empty() {
        printer.out("Nothing to copy: all extensions are bundled or come from local folders\n");
        return Ok(());
    }
    for (url, reference) in repositories {
        let root = extension::repository_root(&project.host, &project.dir, &url, &reference)
            .map_err(|why| Failure::Command(why.to_string()))?;
        if extension::is_standard_library(&project.host, &root) {
            continue;
        }
        let import_path = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
        let target = to_path(&lock::vendored(&project.dir, import_path)).into_owned();
        if *to_path(&root) != target {
            let parent = target.parent().unwrap_or(Path::new("/"));
            let partial = parent.join(format!(".partial-{}", std::process::id()));
            let copied =
                copy(&to_path(&root), &partial).and_then(|()| fs::rename(&partial, &target));
            if let Err(error) = copied {
                // What is left of it is of no use; the error is what counts.
                let _ = fs::remove_dir_all(&partial);
                return Err(Failure::Command(format!("{}: {error}", target.display())));
            }
        }
        printer.out(&format!("{url} {}\n", target.display()));
    }
    Ok(())
}

/// Copies a folder without its git data.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() && entry.file_name() != ".git" {
            copy(&source, &target)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&source)?, &target)?;
        } else if kind.is_file() {
            fs::copy(&source, &target)?;
        }
    }
    Ok(())
}

//! Extensions that are Tiltfiles of their own: found in their repository, run, and taken away again.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use builtins::host::OsHost;
use engine_core::tiltfile::MAIN;
use serde_json::{Value, json};

use super::{
    Message, Runtime, clock,
    declare::{MANAGED_BY, RESOURCE},
    names,
    specs::{self, Extension, ExtensionRepo, Tiltfile},
};
use crate::{
    api::{Meta, Object, Owner, kind},
    exec::Guarded,
};

impl Runtime {
    /// Finds a repository, and whoever waits for it.
    pub(super) fn look_at_repo(&mut self, name: &str) {
        let Some(object) = self.store.get(kind::EXTENSION_REPO, name) else { return };
        let spec: ExtensionRepo = specs::of(&object);
        if !spec.url.starts_with("file://") {
            return self.fetch_repo(name, spec);
        }
        self.show_repo(name, &folder_status(&spec));
    }

    /// Fetches a git repository, if an extension object waits for it; `load` fetches its own.
    fn fetch_repo(&mut self, name: &str, spec: ExtensionRepo) {
        let objects = self.store.list(kind::EXTENSION);
        let is_wanted =
            objects.iter().any(|it| !is_loaded(it) && specs::of::<Extension>(it).repo_name == name);
        if !is_wanted {
            return;
        }
        let name = name.to_owned();
        let main = self.store.get(kind::TILTFILE, MAIN);
        let main = main.map(|it| specs::of::<Tiltfile>(&it).path).unwrap_or_default();
        let project = builtins::golang::path::dir(&main);
        let (messages, log) = (self.messages.clone(), self.main_log());
        let host = OsHost::new(self.environment.get(), Box::new(move |_, text| log.info(text)));
        let host = host.with_launcher(Box::new(Guarded));
        tokio::task::spawn_blocking(move || {
            let found =
                builtins::extension::repository_root(&host, &project, &spec.url, &spec.r#ref);
            // Nobody waits for it when the engine ends.
            let _ = messages.send(Message::Fetched(name, found));
        });
    }

    /// Takes in what became of a repository.
    pub(super) fn take_repo(&mut self, name: &str, found: Result<String, String>) {
        let status = match found {
            Ok(path) => {
                json!({"path": path, "lastFetchedAt": clock::seconds(clock::now())})
            }
            Err(error) => failed(&error),
        };
        self.show_repo(name, &status);
    }

    fn show_repo(&mut self, name: &str, status: &Value) {
        let Some(object) = self.store.get(kind::EXTENSION_REPO, name) else { return };
        let old = object.status()["error"].as_str().unwrap_or_default().to_owned();
        if let Some(error) = status["error"].as_str().filter(|it| *it != old) {
            self.main_log().error(&format!("extensionrepo {name}: {error}"));
        }
        self.store.set_status(kind::EXTENSION_REPO, name, status);
        self.look_at_extensions_of(name);
    }

    /// Extensions of a repository that has changed.
    pub(super) fn look_at_extensions_of(&mut self, repo: &str) {
        let objects = self.store.list(kind::EXTENSION);
        for object in objects.iter().filter(|it| specs::of::<Extension>(it).repo_name == repo) {
            self.look_at_extension(object.name());
        }
    }

    /// Finds the Tiltfile of an extension, and lets it run.
    pub(super) fn look_at_extension(&mut self, name: &str) {
        let Some(object) = self.store.get(kind::EXTENSION, name) else { return };
        if is_loaded(&object) {
            return;
        }
        let spec: Extension = specs::of(&object);
        let found = self.extension_path(&spec);
        let status = match &found {
            Ok(path) => json!({"path": path}),
            Err(error) => json!({"error": error}),
        };
        let old = object.status();
        self.store.set_status(kind::EXTENSION, name, &status);
        match found {
            Ok(path) => self.declare_extension(&object, &path, &spec.args),
            Err(error) => {
                let is_passing = error.starts_with("extension repo not");
                if !is_passing && old["error"] != *error {
                    self.main_log().error(&format!("extension {name}: {error}"));
                }
                // What cannot be found any more does not stay.
                self.extension_removed(name);
            }
        }
    }

    fn declare_extension(&mut self, extension: &Object, path: &str, args: &[String]) {
        let name = extension.name();
        let label = format!("extension.{name}");
        let mut tiltfile = json!({
            "path": path,
            "labels": {label.clone(): label},
            "restartOn": {"fileWatches": [names::sanitized(&names::config_target(name))]},
        });
        if !args.is_empty() {
            tiltfile["args"] = json!(args);
        }
        let (kind, uid) = (kind::EXTENSION, extension.uid().to_owned());
        let meta = Meta {
            annotations: BTreeMap::from([(RESOURCE.to_owned(), name.to_owned())]),
            owner: Some(Owner { kind, name: name.to_owned(), uid }),
            ..Meta::default()
        };
        self.store.put(kind::TILTFILE, name, &meta, &tiltfile);
        self.look_at_tiltfile(name);
    }

    /// Takes an extension away, with all it declared.
    pub(super) fn extension_removed(&mut self, name: &str) {
        let tiltfile = self.store.get(kind::TILTFILE, name);
        let owner = tiltfile.and_then(|it| it.owner());
        if owner.is_some_and(|(kind, owner)| kind == kind::EXTENSION.kind && owner == name) {
            self.store.remove(kind::TILTFILE, name);
            self.tiltfile_removed(name);
        }
    }

    /// Where the Tiltfile of an extension is, or why there is none.
    fn extension_path(&self, spec: &Extension) -> Result<String, String> {
        let (repo_name, inside) = (&spec.repo_name, &spec.repo_path);
        let Some(repo) = self.store.get(kind::EXTENSION_REPO, repo_name) else {
            return Err(format!("extension repo not found: {repo_name}"));
        };
        let status = repo.status();
        let Some(root) = status["path"].as_str() else {
            return Err(format!("extension repo not loaded: {repo_name}"));
        };
        let subpath = specs::of::<ExtensionRepo>(&repo).git_subpath;
        let path = clean(&Path::new(root).join(relative(&subpath)).join(relative(inside)));
        let path = path.join("Tiltfile");
        if !path.starts_with(root) {
            return Err(format!("invalid repo path: {inside}"));
        }
        if !path.is_file() {
            return Err(format!("no extension tiltfile found at {}", path.display()));
        }
        Ok(path.display().to_string())
    }
}

/// Whether a Tiltfile loads from it; then it does not run by itself.
fn is_loaded(extension: &Object) -> bool {
    extension.annotations().get(MANAGED_BY).is_some_and(|it| !it.is_empty())
}

/// A repository that cannot be used.
fn failed(error: &str) -> Value {
    json!({"error": error, "lastFetchedAt": null})
}

/// A repository that is a folder is ready at once.
fn folder_status(spec: &ExtensionRepo) -> Value {
    let url = &spec.url;
    let path = url.strip_prefix("file://").unwrap_or(url);
    if !spec.r#ref.is_empty() {
        return failed("spec.ref not supported on file:// repos");
    }
    if !path.starts_with('/') {
        return failed(&format!("file paths must be absolute. Url: {url}"));
    }
    match std::fs::metadata(path) {
        Err(error) => {
            let cause = builtins::golang::os_error::PathError::new("stat", path, &error);
            failed(&format!("loading: {cause}"))
        }
        Ok(found) if !found.is_dir() => failed("loading: not a directory"),
        Ok(found) => {
            let fetched = found.modified().map(|it| clock::seconds(clock::of_system(it)));
            json!({"path": path, "lastFetchedAt": fetched.ok()})
        }
    }
}

/// A path that cannot replace what it is joined to.
fn relative(path: &str) -> &str {
    path.trim_start_matches('/')
}

/// A path without `.` and `..`, by name alone.
fn clean(path: &Path) -> PathBuf {
    let text = builtins::golang::path::clean(&path.display().to_string());
    PathBuf::from(text)
}

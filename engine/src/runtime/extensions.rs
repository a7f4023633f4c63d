//! Extensions that are Tiltfiles of their own: found in their repository, run, and taken away again.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use builtins::host::OsHost;
use engine_core::{Event, resource::ResourceName};
use serde_json::{Value, json};

use super::{
    Message, Runtime, clock,
    declare::{Declared, MANAGED_BY},
    names,
};
use crate::{
    api::{Meta, Object, Owner, kind},
    exec::Guarded,
};

impl Runtime {
    /// Finds a repository, and whoever waits for it.
    pub(super) fn look_at_repo(&mut self, name: &str) {
        let Some(object) = self.store.get(kind::EXTENSION_REPO, name) else { return };
        let spec = object.spec();
        if !spec["url"].as_str().unwrap_or_default().starts_with("file://") {
            return self.fetch_repo(name, &spec);
        }
        self.show_repo(name, &folder_status(&spec));
    }

    /// Fetches a git repository, if an extension object waits for it; `load` fetches its own.
    fn fetch_repo(&mut self, name: &str, spec: &Value) {
        let objects = self.store.list(kind::EXTENSION);
        let is_wanted = objects.iter().any(|it| !is_loaded(it) && it.spec()["repoName"] == *name);
        if !is_wanted {
            return;
        }
        let text = |key: &str| spec[key].as_str().unwrap_or_default().to_owned();
        let (url, reference, name) = (text("url"), text("ref"), name.to_owned());
        let (messages, log) = (self.messages.clone(), self.main_log());
        let host = OsHost::new(self.environment.get(), Box::new(move |_, text| log.info(text)));
        let host = host.with_launcher(Box::new(Guarded));
        tokio::task::spawn_blocking(move || {
            let found = builtins::repository_root(&host, &url, &reference);
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
            Err(error) => json!({"error": error}),
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
        for object in objects.iter().filter(|it| it.spec()["repoName"] == *repo) {
            self.look_at_extension(object.name());
        }
    }

    /// Finds the Tiltfile of an extension, and lets it run.
    pub(super) fn look_at_extension(&mut self, name: &str) {
        let Some(object) = self.store.get(kind::EXTENSION, name) else { return };
        if is_loaded(&object) {
            return;
        }
        let spec = object.spec();
        let found = self.extension_path(&spec);
        let status = match &found {
            Ok(path) => json!({"path": path}),
            Err(error) => json!({"error": error}),
        };
        let old = object.status();
        self.store.set_status(kind::EXTENSION, name, &status);
        let Ok(path) = found else {
            let error = status["error"].as_str().unwrap_or_default();
            let is_passing = error.starts_with("extension repo not");
            if !is_passing && old["error"] != *error {
                self.main_log().error(&format!("extension {name}: {error}"));
            }
            return;
        };
        let owner =
            Owner { kind: kind::EXTENSION, name: name.to_owned(), uid: object.uid().to_owned() };
        self.declare_extension(name, &path, &spec["args"], owner);
    }

    fn declare_extension(&mut self, name: &str, path: &str, args: &Value, owner: Owner) {
        let label = format!("extension.{name}");
        let labels = BTreeMap::from([(label.clone(), label)]);
        let mut tiltfile = json!({
            "path": path,
            "labels": labels,
            "restartOn": {"fileWatches": [names::config_target(name)]},
        });
        if !args.is_null() {
            tiltfile["args"] = args.clone();
        }
        let meta = Meta { owner: Some(owner), ..Meta::default() };
        self.store.put(kind::TILTFILE, name, &meta, &tiltfile);
        let args: Vec<String> = serde_json::from_value(args.clone()).unwrap_or_default();
        let tiltfile: ResourceName = name.into();
        if self.tiltfiles.get(name).is_some_and(|it| it.path == path) {
            self.step(Event::ArgsChanged { tiltfile, args });
            return;
        }
        let declared = Declared { labels, ..Declared::new(path.to_owned()) };
        self.tiltfiles.insert(ResourceName::clone(&tiltfile), declared);
        self.declare_tiltfile(&tiltfile);
        self.step(Event::TiltfileAdded { name: tiltfile, args });
    }

    /// Takes an extension away, with all it declared.
    pub(super) fn extension_removed(&mut self, name: &str) {
        let Some(declared) = self.tiltfiles.remove(name) else { return };
        self.store.remove(kind::TILTFILE, name);
        self.step(Event::TiltfileRemoved { name: name.into() });
        for (kind, object) in declared.objects {
            self.store.remove(kind, &object);
            self.object_removed(kind, &object);
        }
        self.shown.forget(name);
        self.watch_all();
    }

    /// Where the Tiltfile of an extension is, or why there is none.
    fn extension_path(&self, spec: &Value) -> Result<String, String> {
        let repo_name = spec["repoName"].as_str().unwrap_or_default();
        let Some(repo) = self.store.get(kind::EXTENSION_REPO, repo_name) else {
            return Err(format!("extension repo not found: {repo_name}"));
        };
        let status = repo.status();
        let Some(root) = status["path"].as_str() else {
            return Err(format!("extension repo not loaded: {repo_name}"));
        };
        let inside = spec["repoPath"].as_str().unwrap_or_default();
        let subpath = repo.spec()["gitSubpath"].as_str().unwrap_or_default().to_owned();
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
    extension.annotations().get(MANAGED_BY).is_some_and(|it| it == "tiltfile.loader")
}

/// A repository that is a folder is ready at once.
fn folder_status(spec: &Value) -> Value {
    let url = spec["url"].as_str().unwrap_or_default();
    let path = url.strip_prefix("file://").unwrap_or(url);
    if spec["ref"].as_str().is_some_and(|it| !it.is_empty()) {
        return json!({"error": "spec.ref not supported on file:// repos"});
    }
    if !path.starts_with('/') {
        return json!({"error": format!("file paths must be absolute. Url: {url}")});
    }
    match std::fs::metadata(path) {
        Err(error) => {
            let cause = builtins::golang::os_error::PathError::new("stat", path, &error);
            json!({"error": format!("loading: {cause}")})
        }
        Ok(found) if !found.is_dir() => json!({"error": "loading: not a directory"}),
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

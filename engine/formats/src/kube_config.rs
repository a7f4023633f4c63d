//! Decides which cluster a Tiltfile is for: reads kubeconfig files like `kubectl` does, tells the
//! product behind the current context, and writes the configuration that commands get to see.
//! Files are read by what the caller passes in.

use std::{io, path::Path};

use indexmap::IndexMap;
use serde_json::Value;

use crate::Files;
use crate::golang::os_error::PathError;
use crate::golang::path;

mod product;
mod types;
mod validate;

pub use product::Product;
pub use types::{Cluster, Context, Exec, User};

/// Why no configuration can be used. Tilt then behaves as if there was no cluster.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KubeConfigError {
    /// Files could not be read.
    #[error("Loading Kubernetes config: {}", aggregate(.0))]
    Load(Vec<String>),
    /// The current context cannot be used.
    #[error("Loading Kubernetes config: invalid configuration: {}", aggregate(.0))]
    Invalid(Vec<String>),
    /// The configuration for commands cannot be made.
    #[error("internal error generating kubeconfig: {0}")]
    Pin(String),
}

fn aggregate(messages: &[String]) -> String {
    match messages {
        [only] => only.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}

/// What the command line says over the files.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// The context to use.
    pub context: Option<String>,
    /// The namespace to use.
    pub namespace: Option<String>,
}

/// The merged configuration of all files.
#[derive(Debug, Clone, Default)]
pub struct KubeConfig {
    /// The name of the context in use; it exists, or is empty together with everything else.
    pub current_context: String,
    /// The contexts by name.
    pub contexts: IndexMap<String, Context>,
    /// The clusters by name.
    pub clusters: IndexMap<String, Cluster>,
    /// The users by name.
    pub users: IndexMap<String, User>,
    preferences: types::Preferences,
}

/// The files to read: those that `KUBECONFIG` lists, else the one in the home directory.
pub fn paths(kubeconfig: Option<&str>, home: &str) -> Vec<String> {
    let Some(list) = kubeconfig.filter(|list| !list.is_empty()) else {
        return vec![path::join(&[home, ".kube", "config"])];
    };
    let mut paths: Vec<String> = Vec::new();
    for file in list.split(':').filter(|file| !file.is_empty()) {
        if !paths.iter().any(|seen| seen == file) {
            paths.push(file.to_owned());
        }
    }
    paths
}

impl KubeConfig {
    /// Reads and merges files, and checks that the current context can be used. Files that do not
    /// exist are passed over; of several entries with one name the first counts. Relative paths start from
    /// `current_dir`.
    pub fn load(
        paths: &[String],
        overrides: &Overrides,
        current_dir: &str,
        files: &impl Files,
    ) -> Result<Self, KubeConfigError> {
        let mut merged = Self::default();
        let mut problems = Vec::new();
        for path in paths.iter().filter(|path| !path.is_empty()) {
            match types::read(path, files) {
                Ok(Some(file)) => merged.merge(file, path),
                Ok(None) => {}
                Err(why) => {
                    problems.push(format!("error loading config file \"{path}\": {why}"));
                }
            }
        }
        if !problems.is_empty() {
            return Err(KubeConfigError::Load(problems));
        }
        merged.resolve_paths(current_dir);
        if let Some(context) = &overrides.context {
            merged.current_context.clone_from(context);
        }
        let context = merged.contexts.get_mut(&merged.current_context);
        if let (Some(context), Some(namespace)) = (context, &overrides.namespace) {
            context.namespace.clone_from(namespace);
        }
        match validate::problems(&merged, files) {
            problems if problems.is_empty() => Ok(merged),
            problems => Err(KubeConfigError::Invalid(problems)),
        }
    }

    fn merge(&mut self, file: Self, origin: &str) {
        if self.current_context.is_empty() {
            self.current_context = file.current_context;
        }
        self.preferences.merge(file.preferences);
        for (name, mut context) in file.contexts {
            origin.clone_into(&mut context.origin);
            self.contexts.entry(name).or_insert(context);
        }
        for (name, mut cluster) in file.clusters {
            origin.clone_into(&mut cluster.origin);
            self.clusters.entry(name).or_insert(cluster);
        }
        for (name, mut user) in file.users {
            origin.clone_into(&mut user.origin);
            self.users.entry(name).or_insert(user);
        }
    }

    fn resolve_paths(&mut self, cwd: &str) {
        let resolve = |file: &mut String, origin: &str| {
            if !file.is_empty() && !path::is_abs(file) {
                *file = path::join(&[&path::abs(cwd, &path::dir(origin)), file.as_str()]);
            }
        };
        for cluster in self.clusters.values_mut() {
            resolve(&mut cluster.certificate_authority, &cluster.origin);
        }
        for user in self.users.values_mut() {
            resolve(&mut user.client_certificate, &user.origin);
            resolve(&mut user.client_key, &user.origin);
            resolve(&mut user.token_file, &user.origin);
            if let Some(exec) = user.exec.as_mut().filter(|exec| exec.command.contains('/')) {
                resolve(&mut exec.command, &user.origin);
            }
        }
    }

    /// The context in use.
    pub fn context(&self) -> Option<&Context> {
        self.contexts.get(&self.current_context)
    }

    /// The namespace of the context in use.
    pub fn namespace(&self) -> &str {
        match self.context() {
            Some(context) if !context.namespace.is_empty() => &context.namespace,
            _ => "default",
        }
    }

    /// The name of the cluster in use; empty without a context.
    pub fn cluster_name(&self) -> &str {
        self.context().map_or("", |context| &context.cluster)
    }

    /// What kind of cluster is in use; `home` is the user's home directory.
    pub fn product(&self, home: &str) -> Product {
        match self.context() {
            Some(context) => Product::of(context, self.clusters.get(&context.cluster), home),
            None if self.current_context.is_empty() => Product::None,
            None => Product::Unknown,
        }
    }

    /// The configuration for commands: only the context in use, with all files included. The
    /// result is to be written as YAML; its keys are in order already.
    pub fn pinned(&self, files: &impl Files) -> Result<Value, KubeConfigError> {
        let minify =
            |what: String| KubeConfigError::Pin(format!("minifying Kubernetes config: {what}"));
        if self.current_context.is_empty() {
            return Err(minify("current-context must exist in order to minify".to_owned()));
        }
        let Some(context) = self.context() else {
            return Err(minify(format!("cannot locate context {}", self.current_context)));
        };
        let locate = |found: bool, what: &str, name: &str| {
            if found || name.is_empty() {
                Ok(())
            } else {
                Err(minify(format!("cannot locate {what} {name}")))
            }
        };
        let cluster = self.clusters.get(&context.cluster).filter(|_| !context.cluster.is_empty());
        let user = self.users.get(&context.user).filter(|_| !context.user.is_empty());
        locate(cluster.is_some(), "cluster", &context.cluster)?;
        locate(user.is_some(), "user", &context.user)?;
        let flatten =
            |error: String| KubeConfigError::Pin(format!("flattening Kubernetes config: {error}"));
        let user = user.cloned().map(|user| user.flattened(files)).transpose().map_err(flatten)?;
        let cluster = cluster
            .cloned()
            .map(|cluster| cluster.flattened(files))
            .transpose()
            .map_err(flatten)?;
        Ok(types::pinned(
            (&self.current_context, context),
            cluster.as_ref().map(|cluster| (context.cluster.as_str(), cluster)),
            user.as_ref().map(|user| (context.user.as_str(), user)),
            &self.preferences,
        ))
    }
}

/// Reads a file whose path is already absolute, in Go's words if that fails.
fn read_file(files: &impl Files, path: &str) -> Result<Vec<u8>, PathError> {
    files.read(Path::new(path)).map_err(|error| {
        let op = if error.kind() == io::ErrorKind::IsADirectory { "read" } else { "open" };
        PathError::new(op, path, &error)
    })
}

#[cfg(test)]
mod tests;

//! Where the commands that cases call are found.

use std::{
    env,
    path::{Path, PathBuf},
};

/// The folder that `scripts/tools.sh` fills.
pub fn tools_dir() -> PathBuf {
    if let Some(dir) = non_empty("ENGINE_TOOLS_DIR") {
        return dir.into();
    }
    let cache = non_empty("XDG_CACHE_HOME").map_or_else(
        || Path::new(&non_empty("HOME").unwrap_or_default()).join(".cache"),
        PathBuf::from,
    );
    cache.join("engine-tools")
}

/// The search path for cases: the project's tools, then the caller's path.
///
/// Folders that hold a `kustomize` are left out, because the cases were recorded without one and Tilt
/// says so in the log when it falls back to `kubectl kustomize`.
pub fn search_path() -> String {
    let inherited = non_empty("PATH").unwrap_or_else(|| "/usr/bin:/bin".to_owned());
    let mut path = tools_dir().join("bin").to_string_lossy().into_owned();
    for dir in inherited.split(':').filter(|dir| !Path::new(dir).join("kustomize").exists()) {
        path.push(':');
        path.push_str(dir);
    }
    path
}

fn non_empty(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

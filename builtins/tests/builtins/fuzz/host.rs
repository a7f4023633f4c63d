//! A world of one directory: no commands, nothing outside, nothing that lasts long.

use std::{
    io,
    path::Path,
    time::{Duration, Instant},
};

use builtins::host::{Command, DirEntry, FileInfo, Host, Level, OsHost, Output, RunError};

/// A Tiltfile that runs longer is stopped; it may well be an endless loop.
const TIME: Duration = Duration::from_secs(1);

const FILES: &[(&str, &str)] = &[
    ("Dockerfile", "FROM alpine\nCOPY . /src\n"),
    ("a.txt", "text\n"),
    ("a.json", "{\"a\": [1, null]}"),
    (
        "deployment.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: a}]}\n",
    ),
    ("docker-compose.yml", "services:\n  web:\n    image: web\n    build: .\n"),
    ("lib.star", "def f(x):\n  return x\nVALUE = 1\n"),
    (
        "kubeconfig",
        "apiVersion: v1\nkind: Config\ncurrent-context: kind-kind\nclusters: [{name: c, cluster: {server: 'http://localhost'}}]\ncontexts: [{name: kind-kind, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {}}]\n",
    ),
];

/// Puts files into a directory that Tiltfiles like to read.
pub(crate) fn furnish(dir: &Path) {
    for (name, text) in FILES {
        std::fs::write(dir.join(name), text).expect("it can be written");
    }
}

/// A host that reaches only one directory.
#[derive(Debug)]
pub(crate) struct SealedHost {
    inner: OsHost,
    dir: String,
    started: Instant,
}

impl SealedHost {
    /// A host for this directory.
    pub(crate) fn new(dir: &Path) -> Self {
        let dir = dir.to_string_lossy().into_owned();
        let env = [
            ("HOME", dir.clone()),
            ("PATH", "/nowhere".to_owned()),
            ("TMPDIR", dir.clone()),
            ("KUBECONFIG", format!("{dir}/kubeconfig")),
            ("ENGINE_MAX_HEAP_MB", "1024".to_owned()),
            ("ENGINE_MAX_CALL_DEPTH", "2000".to_owned()),
        ];
        let env = env.map(|(name, value)| (name.to_owned(), value));
        Self { inner: OsHost::new(env, Box::new(|_, _| {})), dir, started: Instant::now() }
    }

    fn inside<T>(&self, path: &str, look: impl FnOnce(&str) -> io::Result<T>) -> io::Result<T> {
        let is_above = self.dir.starts_with(path);
        let is_inside = path.starts_with(&self.dir) && !path.contains("/../");
        if is_above || is_inside { look(path) } else { Err(io::ErrorKind::NotFound.into()) }
    }
}

impl Host for SealedHost {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        self.inside(path, |it| self.inner.read(it))
    }
    fn stat(&self, path: &str) -> io::Result<FileInfo> {
        self.inside(path, |it| self.inner.stat(it))
    }
    fn lstat(&self, path: &str) -> io::Result<FileInfo> {
        self.inside(path, |it| self.inner.lstat(it))
    }
    fn read_link(&self, path: &str) -> io::Result<String> {
        self.inside(path, |it| self.inner.read_link(it))
    }
    fn list(&self, path: &str) -> io::Result<Vec<DirEntry>> {
        if path.starts_with(&self.dir) { self.inner.list(path) } else { Ok(Vec::new()) }
    }
    fn write(&self, _: &str, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::PermissionDenied.into())
    }
    fn remove(&self, _: &str) -> io::Result<()> {
        Err(io::ErrorKind::PermissionDenied.into())
    }
    fn write_scratch(&self, name: &str, text: &[u8]) -> io::Result<String> {
        self.inner.write_scratch(name, text)
    }
    fn env(&self, name: &str) -> Option<String> {
        self.inner.env(name)
    }
    fn env_vars(&self) -> Vec<(String, String)> {
        self.inner.env_vars()
    }
    fn set_env(&self, name: &str, value: Option<&str>) {
        self.inner.set_env(name, value);
    }
    fn find_program(&self, _: &str) -> Option<String> {
        None
    }
    fn run(&self, command: &Command, _: &mut dyn FnMut(Output, &[u8])) -> Result<i32, RunError> {
        Err(RunError::NotFound(command.argv.first().cloned().unwrap_or_default()))
    }
    fn log(&self, _: Level, _: &str) {}
    fn canceled(&self) -> bool {
        self.started.elapsed() > TIME
    }
}

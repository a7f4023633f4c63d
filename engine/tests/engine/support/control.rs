//! A control plane of a test's own: an API server and its store, without a node, which is taken away in the end.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// An API server that a test may take away, bring back, and replace by another one.
pub(crate) struct Control {
    dir: tempfile::TempDir,
    script: PathBuf,
}

impl Control {
    /// Brings one up; the folder of the repository tells how.
    pub(crate) fn new(repository: &Path) -> Self {
        // A path to a socket has to be short.
        let dir = tempfile::tempdir_in("/tmp").expect("a directory");
        let control = Self { dir, script: repository.join("scripts/cluster.sh") };
        control.run(&["up"]);
        control
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.script);
        command.args(words).env("ENGINE_CLUSTER_DIR", self.dir.path());
        command.env("ENGINE_CLUSTER_PARTS", "api");
        command
    }

    /// Does something with it, such as `stop apiserver`.
    pub(crate) fn run(&self, words: &[&str]) {
        let output = self.command(words).output().expect("it starts");
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// The kubeconfig that leads there.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.dir.path().join("kubeconfig")
    }

    /// Puts another cluster in its place, with the same keys and address, in which there is nothing.
    pub(crate) fn make_again(&self) {
        self.run(&["stop", "apiserver"]);
        self.run(&["stop", "etcd"]);
        fs::remove_dir_all(self.dir.path().join("data")).expect("it can be removed");
        self.run(&["up"]);
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = self.command(&["down"]).output();
    }
}

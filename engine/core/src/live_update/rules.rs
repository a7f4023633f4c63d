//! The steps of a live update as rules: where a file goes, what stops the update, which commands follow.

use std::collections::BTreeMap;

use engine_model::{FilePath, LiveUpdateSpec, LiveUpdateSync};

use super::{
    failure::{Failure, FailureReason},
    paths::{absolute, below, clean, join, last_element},
    plan::{ContainerCommand, Mapping},
};

/// Files are named in a message up to this number.
const MAX_NAMED_FILES: usize = 5;

/// The steps of a live update, with local paths made absolute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    syncs: Vec<Mapping>,
    stop_paths: Vec<FilePath>,
    runs: Vec<(ContainerCommand, Vec<FilePath>)>,
    /// Whether the container restarts after each update.
    pub restarts: bool,
    /// Whether a container that was never updated gets all files.
    pub has_initial_sync: bool,
}

/// What is found at the local paths of sync steps.
pub type Roots = BTreeMap<FilePath, Root>;

/// What is found at the local path of a sync step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Root {
    /// A directory.
    Directory,
    /// Anything else that is there.
    File,
    /// Nothing that can be looked at, for this reason: `stat /src: no such file or directory`.
    Missing(String),
}

impl Rules {
    /// The rules of a live update.
    pub fn new(spec: &LiveUpdateSpec) -> Self {
        let base = spec.base_path.as_str();
        let resolve = |path: &String| absolute(base, path);
        let sync = |it: &LiveUpdateSync| Mapping {
            local: absolute(base, &it.local_path),
            container: FilePath::from_text(&it.container_path),
        };
        let runs = spec.execs.iter().map(|it| {
            let argv = it.args.clone().unwrap_or_default();
            let run = ContainerCommand { argv, echo_off: it.echo_off };
            (run, it.trigger_paths.iter().flatten().map(resolve).collect())
        });
        Self {
            syncs: spec.syncs.iter().map(sync).collect(),
            stop_paths: spec.stop_paths.iter().map(resolve).collect(),
            runs: runs.collect(),
            restarts: spec.restart == Some("always"),
            has_initial_sync: spec.initial_sync.is_some(),
        }
    }

    /// What the sync steps say, in order: these are the paths whose [`Root`] is asked for.
    pub fn syncs(&self) -> &[Mapping] {
        &self.syncs
    }

    /// Whether these files could be copied into a container, as far as the rules are concerned.
    pub fn cover(&self, files: &[FilePath]) -> bool {
        files.iter().all(|it| self.is_synced(it) && !self.stops(it))
    }

    /// Where each file goes, in the order of the files, or why that cannot be said.
    pub(super) fn map(
        &self,
        files: &[FilePath],
        roots: &Roots,
        cwd: &FilePath,
    ) -> Result<Vec<Mapping>, Failure> {
        let mut mappings = Vec::with_capacity(files.len());
        let mut unmatched = Vec::new();
        for file in files {
            match self.map_one(file, roots)? {
                Some(mapping) => mappings.push(mapping),
                None => unmatched.push(file),
            }
        }
        if !unmatched.is_empty() {
            let files = name_some(&unmatched, cwd);
            return Err(stopped(format!("Found file(s) not matching any sync (files: {files})")));
        }
        Ok(mappings)
    }

    /// Says that a build is needed if one of these files asks for it.
    pub(super) fn check<'a>(
        &self,
        mut files: impl Iterator<Item = &'a FilePath>,
    ) -> Result<(), Failure> {
        match files.find(|it| self.stops(it)) {
            Some(file) => Err(stopped(format!("Detected change to stop file \"{file}\""))),
            None => Ok(()),
        }
    }

    /// Whether a file belongs to a sync step.
    pub(super) fn is_synced(&self, file: &FilePath) -> bool {
        self.sync_of(file).is_some()
    }

    /// The commands that follow when these files have been copied.
    pub(super) fn runs_after(&self, mappings: &[Mapping]) -> Vec<ContainerCommand> {
        let is_below =
            |file: &FilePath, it: &FilePath| below(it.as_bytes(), file.as_bytes()).is_some();
        let is_triggered = |triggers: &[FilePath]| {
            mappings.iter().any(|file| triggers.iter().any(|it| is_below(&file.local, it)))
        };
        let due = self.runs.iter().filter(|(_, it)| it.is_empty() || is_triggered(it));
        due.map(|(run, _)| run.clone()).collect()
    }

    /// Whether some files ask for a full build.
    pub(super) fn has_stop_paths(&self) -> bool {
        !self.stop_paths.is_empty()
    }

    /// The first sync step that a file belongs to, with what is left of its path.
    fn sync_of<'a>(&self, file: &'a FilePath) -> Option<(usize, &'a [u8])> {
        let file = file.as_bytes();
        let mut syncs = self.syncs.iter().enumerate();
        syncs.find_map(|(i, it)| Some((i, below(it.local.as_bytes(), file)?)))
    }

    fn stops(&self, file: &FilePath) -> bool {
        self.stop_paths.iter().any(|it| below(it.as_bytes(), file.as_bytes()).is_some())
    }

    /// Where a file goes if its sync step is usable and a directory.
    pub(super) fn map_existing(&self, file: &FilePath) -> Option<Mapping> {
        self.map_one(file, &Roots::new()).ok().flatten()
    }

    fn map_one(&self, file: &FilePath, roots: &Roots) -> Result<Option<Mapping>, Failure> {
        let Some((i, rest)) = self.sync_of(file) else { return Ok(None) };
        let sync = &self.syncs[i];
        let rest = match roots.get(&sync.local) {
            Some(Root::Missing(reason)) => {
                return Err(stopped(format!("No update plan: error stat'ing: {reason}")));
            }
            Some(Root::File) if sync.container.as_bytes().ends_with(b"/") => {
                last_element(sync.local.as_bytes())
            }
            Some(Root::File | Root::Directory) | None => rest,
        };
        let container = clean(&join(sync.container.as_bytes(), rest));
        Ok(Some(Mapping { local: file.clone(), container }))
    }
}

fn stopped(message: String) -> Failure {
    Failure { reason: FailureReason::UpdateStopped, message }
}

/// The first few files, relative to a directory where they are below it.
fn name_some(files: &[&FilePath], cwd: &FilePath) -> String {
    let name = |file: &&FilePath| match below(cwd.as_bytes(), file.as_bytes()) {
        Some(b"") => ".".to_owned(),
        Some(rest) => FilePath::from(rest).to_string(),
        None => file.to_string(),
    };
    let mut names: Vec<_> = files.iter().take(MAX_NAMED_FILES).map(name).collect();
    if files.len() > MAX_NAMED_FILES {
        names.push("...".to_owned());
    }
    format!("[{}]", names.join(" "))
}

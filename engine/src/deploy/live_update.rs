//! Brings changed files into running containers.
//!
//! Each container that can be updated has a helper of ours, which needs nothing from it: no shell, no `tar`, no root.
//! Files are read once and go to all helpers at once; each batch is one round trip. Where no helper can run, Docker
//! or the container's own `tar` unpacks an archive instead.

mod batch;
mod commands;
mod error;
mod helper_image;
mod in_docker;
mod in_pod;
mod session;
mod sidecar;
mod tail;
mod target;
mod upload;

use std::{io, sync::Arc, time::Duration};

use engine_core::live_update::{Container, ListError, Outcome, RunError, SyncPlan};
use engine_docker::{Archive, Filter, PathMapping};
use engine_helper::protocol::Refusal;
use engine_model::FilePath;
use futures_util::future::join_all;
use tokio::{
    sync::{mpsc, oneshot},
    task::spawn_blocking,
};

pub use helper_image::HelperImage;
pub use in_docker::DockerTarget;
pub use in_pod::PodTarget;
pub use sidecar::{RunningContainer, Sidecar, Sidecars};
pub use target::ContainerTarget;

use crate::logs::LogWriter;
use error::{CopyError, SyncError};
use session::BatchReply;
use sidecar::{End, SyncJob};

/// Pieces of a batch that wait for one container.
const BACKLOG: usize = 4;

/// How long a cluster that does not answer is left alone.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// So often a helper may break off, or the way to it, before others are asked to do its work.
const BREAKS_MAX: usize = 5;

/// How long one that broke off is left alone.
const AFTER_BREAK: Duration = Duration::from_millis(200);

/// Changes for some containers, and where they are to be written about.
#[derive(Debug)]
pub struct LiveUpdate {
    /// The changes.
    pub update: Arc<SyncPlan>,
    /// The ways to those of the containers that run.
    pub sidecars: Vec<Option<Sidecar>>,
    /// Where all of it is told.
    pub log: LogWriter,
}

/// How the files of one container got there.
#[derive(Debug)]
enum Synced {
    /// They are there; the commands are still to be run.
    Files,
    /// They are there, and the commands have been run.
    All { exec_error: Option<String> },
    /// They are not there.
    Failed(SyncError),
    /// The container is gone.
    Abandoned,
}

impl LiveUpdate {
    /// Updates all containers at once; says of each how that ended.
    pub async fn run(self, filter: Filter) -> Vec<(Container, Outcome)> {
        // One call: there may be thousands of lines.
        self.log.info(&self.update.announcement().join("\n"));
        let paths = paths(&self.update);
        let archive = match spawn_blocking(move || Archive::of_paths(&paths, &filter)).await {
            Ok(Ok(archive)) => Arc::new(archive),
            Ok(Err(error)) => return self.all_failed(error),
            Err(error) => return self.all_failed(io::Error::other(error)),
        };
        let deletions: Arc<[FilePath]> =
            self.update.deletions.iter().map(|it| it.container.clone()).collect();
        let synced = self.sync(&archive, &deletions).await;
        let finished = self.update.containers.iter().zip(synced).enumerate().map(
            async |(at, (container, synced))| {
                let outcome = self.finish(at, container, synced).await;
                self.tell(container, &outcome);
                (container.clone(), outcome)
            },
        );
        join_all(finished).await
    }

    /// Brings files into those containers that have a helper, before anybody waits for them. If that does not work,
    /// whoever waits for them later learns why.
    pub async fn run_ahead(self) {
        let paths = paths(&self.update);
        let collected = spawn_blocking(move || Archive::of_paths(&paths, &Filter::default())).await;
        let Ok(Ok(archive)) = collected else { return };
        let with_helper: Vec<usize> =
            (0..self.sidecars.len()).filter(|at| self.sidecars[*at].is_some()).collect();
        self.try_helpers(&with_helper, &Arc::new(archive), &Arc::default(), true).await;
    }

    fn all_failed(&self, error: io::Error) -> Vec<(Container, Outcome)> {
        let failed = Outcome::Failed(SyncError::Copy(Arc::new(error.into())).to_string());
        let containers = self.update.containers.iter();
        containers
            .inspect(|it| self.tell(it, &failed))
            .map(|it| (it.clone(), failed.clone()))
            .collect()
    }

    fn tell(&self, container: &Container, outcome: &Outcome) {
        let name = container.display_name();
        match outcome {
            Outcome::Failed(_) => self.log.info(&format!("  → Failed to update container {name}")),
            Outcome::Synced { exec_error: Some(error) } => {
                self.log.info(&format!("  → Failed to update container {name}: {error}"));
            }
            Outcome::Synced { exec_error: None } => {
                self.log.info(&format!("  → Container {name} updated!"));
            }
            Outcome::Abandoned => {}
        }
    }

    /// Brings the files into all containers: through their helpers, once more where that makes sense, and then
    /// without helpers.
    async fn sync(&self, archive: &Arc<Archive>, deletions: &Arc<[FilePath]>) -> Vec<Synced> {
        let n = self.update.containers.len();
        let mut synced: Vec<Option<Synced>> = (0..n).map(|_| None).collect();
        let mut hopeless: Vec<usize> = Vec::new();
        let mut trying: Vec<usize> = (0..n).filter(|at| self.sidecars[*at].is_some()).collect();
        let mut is_first = true;
        let mut is_away = false;
        let mut n_breaks = 0;
        while !trying.is_empty() {
            let mut again = Vec::new();
            let mut away = None;
            let mut is_broken = false;
            for (at, end) in self.try_helpers(&trying, archive, deletions, is_first).await {
                match end {
                    Ok(Some(End::Answered { answer, .. })) if answer.has_missing && is_first => {
                        again.push(at);
                    }
                    Ok(Some(End::Broke)) if n_breaks < BREAKS_MAX => {
                        is_broken = true;
                        again.push(at);
                    }
                    Ok(Some(End::Broke)) => hopeless.push(at),
                    Ok(Some(End::Away(reason))) => {
                        away = Some(reason);
                        again.push(at);
                    }
                    Ok(Some(End::Hopeless(reason))) => {
                        self.log.debug(&format!("Cannot use a helper in the container: {reason}"));
                        hopeless.push(at);
                    }
                    Ok(Some(End::Answered { answer, leaves_runs })) => {
                        synced[at] = Some(self.judge(at, answer, leaves_runs));
                    }
                    Ok(None) => synced[at] = Some(Synced::Abandoned),
                    Err(error) => synced[at] = Some(Synced::Failed(error)),
                }
            }
            trying = again;
            // Whoever was away may have broken off what came before that.
            is_first = away.is_some();
            if let Some(reason) = away {
                if !std::mem::replace(&mut is_away, true) {
                    self.log.warn(&format!(
                        "The cluster does not answer; the files follow as soon as it does: {reason}"
                    ));
                }
                tokio::time::sleep(TRY_AGAIN).await;
            } else if is_broken {
                n_breaks += 1;
                // The first is most likely a connection that has died since the last save.
                if n_breaks > 1 {
                    tokio::time::sleep(AFTER_BREAK).await;
                }
            }
        }
        let targets: Vec<(Container, ContainerTarget)> = hopeless
            .iter()
            .filter_map(|at| Some((self.container(*at), self.target(*at)?)))
            .collect();
        let copied = target::copy_without_helper(&targets, deletions, archive).await;
        for (at, result) in hopeless.into_iter().zip(copied) {
            synced[at] = Some(result.map_or_else(Synced::Failed, |()| Synced::Files));
        }
        synced.into_iter().map(|it| it.unwrap_or(Synced::Failed(SyncError::NotRunning))).collect()
    }

    fn container(&self, at: usize) -> Container {
        self.update.containers[at].clone()
    }

    fn target(&self, at: usize) -> Option<ContainerTarget> {
        self.sidecars[at].as_ref().map(|it| it.target().clone())
    }

    /// Sends one batch to some helpers. What they confirm to have is left out, unless they have failed to before.
    async fn try_helpers(
        &self,
        trying: &[usize],
        archive: &Arc<Archive>,
        deletions: &Arc<[FilePath]>,
        trusts: bool,
    ) -> Vec<(usize, Result<Option<End>, SyncError>)> {
        let sidecars: Vec<Sidecar> =
            trying.iter().filter_map(|at| self.sidecars[*at].clone()).collect();
        if sidecars.is_empty() {
            return Vec::new();
        }
        let (mut readers, mut ends) = (Vec::new(), Vec::new());
        for sidecar in &sidecars {
            let (reader, pieces) = mpsc::channel(BACKLOG);
            let (ended, end) = oneshot::channel();
            let (runs, log) = (self.update.runs.clone(), self.log.clone());
            readers.push(reader);
            ends.push(async move {
                sidecar.update(SyncJob { pieces, runs, log, ended }).await.ok()?;
                end.await.ok()
            });
        }
        let known = if trusts { sidecars.clone() } else { Vec::new() };
        let (archive, deleted) = (Arc::clone(archive), Arc::clone(deletions));
        let unknown = Unknown(&sidecars);
        let sending = spawn_blocking(move || batch::send(&deleted, &archive, &known, readers));
        let (sent, ends) = tokio::join!(sending, join_all(ends));
        std::mem::forget(unknown);
        let sent = sent
            .map_err(io::Error::other)
            .and_then(|it| it)
            .map_err(|error| SyncError::Copy(Arc::new(error.into())));
        let mut results = Vec::new();
        for ((at, sidecar), end) in trying.iter().zip(&sidecars).zip(ends) {
            let is_good =
                matches!(&end, Some(End::Answered { answer, .. }) if answer.refused.is_none());
            match &sent {
                Ok(sent) if is_good && !self.update.is_initial => sidecar.remember(deletions, sent),
                _ => sidecar.forget(),
            }
            results.push((*at, sent.as_ref().map(|_| end).map_err(Clone::clone)));
        }
        results
    }

    /// What the answer of a helper means.
    fn judge(&self, at: usize, answer: BatchReply, leaves_runs: bool) -> Synced {
        if let Some((refusal, message)) = answer.refused {
            let error = Arc::new(CopyError::Refused(message));
            return Synced::Failed(match refusal {
                Refusal::Denied => SyncError::Denied(error),
                _ => SyncError::Copy(error),
            });
        }
        if leaves_runs {
            return Synced::Files;
        }
        let Some((run, end)) = answer.ended else { return Synced::All { exec_error: None } };
        let (container, runs) = (&self.update.containers[at], &self.update.runs);
        let argv = runs.get(run).map(|it| it.argv.as_slice()).unwrap_or_default();
        match commands::error_of(container, argv, end) {
            None => Synced::All { exec_error: None },
            Some(RunError::Command(error)) => Synced::All { exec_error: Some(error) },
            Some(RunError::Container(error)) => Synced::Failed(SyncError::Run(error)),
        }
    }

    /// Runs the commands, and restarts the container if that is asked for.
    async fn finish(&self, at: usize, container: &Container, synced: Synced) -> Outcome {
        let Some(target) = self.target(at) else {
            return match synced {
                Synced::Failed(error) => Outcome::Failed(error.to_string()),
                _ => Outcome::Abandoned,
            };
        };
        let exec_error = match synced {
            Synced::All { exec_error } => exec_error,
            Synced::Failed(error) => return Outcome::Failed(error.to_string()),
            Synced::Abandoned => return Outcome::Abandoned,
            Synced::Files => {
                match commands::run(&target, container, &self.update.runs, &self.log).await {
                    Ok(()) => None,
                    Err(RunError::Command(error)) => Some(error),
                    Err(RunError::Container(error)) => return Outcome::Failed(error),
                }
            }
        };
        if self.update.restarts
            && exec_error.is_none()
            && let Err(error) = target.restart().await
        {
            return Outcome::Failed(error.to_string());
        }
        Outcome::Synced { exec_error }
    }
}

/// Nobody knows what helpers have got of a batch that was canceled.
struct Unknown<'a>(&'a [Sidecar]);

impl Drop for Unknown<'_> {
    fn drop(&mut self) {
        for sidecar in self.0 {
            sidecar.forget();
        }
    }
}

fn paths(update: &SyncPlan) -> Vec<PathMapping> {
    let copies = update.copies.iter();
    copies
        .map(|it| PathMapping {
            local: it.local.as_path().to_owned(),
            container: it.container.as_path().to_owned(),
        })
        .collect()
}

/// All files below some paths that are not ignored, sorted; paths that are not there have none.
pub fn list(roots: &[FilePath], filter: &Filter) -> Result<Vec<FilePath>, ListError> {
    let mut files: Vec<FilePath> = Vec::new();
    for root in roots {
        let unreadable = |error: io::Error| ListError::Unreadable {
            root: root.clone(),
            cause: error.to_string(),
        };
        let found = filter.files_below(root.as_path()).map_err(unreadable)?;
        files.extend(found.iter().map(|it| FilePath::from(it.as_path())));
    }
    files.sort();
    files.dedup();
    Ok(files)
}

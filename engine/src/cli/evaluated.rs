//! Evaluates a Tiltfile for read-only commands.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use builtins::{Request, api::KubeCluster};
use engine_cli::{Failure, Printer};
use engine_model::path::to_path;
use engine_model::{Load, LoadedRepo};

use super::interrupt::OwnHost;
use crate::report;

/// The result of a Tiltfile.
pub(super) struct Evaluated {
    pub(super) load: Load,
    /// Where extensions were loaded from.
    pub(super) repositories: Vec<LoadedRepo>,
    /// The cluster it is about, and its kubeconfig.
    pub(super) cluster: Option<(KubeCluster, String)>,
    enabled: HashSet<String>,
}

impl Evaluated {
    /// Evaluates a Tiltfile as `up` would; its output is printed only if it fails.
    pub(super) fn new(file: &str, args: &[String], printer: Printer) -> Result<Self, Failure> {
        Self::of_command("up", file, args, printer)
    }

    /// Evaluates a Tiltfile for a command with a name of its own.
    pub(super) fn of_command(
        name: &str,
        file: &str,
        args: &[String],
        printer: Printer,
    ) -> Result<Self, Failure> {
        let printed = Arc::new(Mutex::new(String::new()));
        let log = Arc::clone(&printed);
        let log = move |_, text: &str| {
            log.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
        };
        let host = OwnHost::new(log, printer)?;
        let mut request = Request::new(file, name);
        request.args = args.to_vec();
        request.pin_kubeconfig = true;
        let evaluation = builtins::evaluate(&request, host.shared());
        if let Some(failure) = evaluation.failure {
            let printed = printed.lock().unwrap_or_else(PoisonError::into_inner);
            return Err(Failure::Plain(format!("{printed}{}", report::for_people(&failure))));
        }
        let enabled = evaluation.load.enabled_manifests.iter().flatten().cloned().collect();
        let repositories = evaluation.repositories;
        // The file is gone with the host.
        let cluster = evaluation.cluster.and_then(|it| {
            let text = std::fs::read_to_string(to_path(it.path.as_ref()?)).ok()?;
            Some((it, text))
        });
        Ok(Self { load: evaluation.load, repositories, cluster, enabled })
    }

    /// Whether a resource is enabled.
    pub(super) fn is_enabled(&self, resource: &str) -> bool {
        self.enabled.contains(resource)
    }
}

//! A Tiltfile evaluated on the spot, for commands that only look.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use builtins::{
    Request,
    api::KubeCluster,
    extension::Repository,
    host::{Host, OsHost},
};
use engine_model::Load;

use super::{Printer, failure::Failure, interrupt, report};
use crate::exec::Guarded;

/// What a Tiltfile says.
pub(super) struct Evaluated {
    pub(super) load: Load,
    /// Where extensions were loaded from.
    pub(super) repositories: Vec<Repository>,
    /// The cluster it is about, and its kubeconfig.
    pub(super) cluster: Option<(KubeCluster, String)>,
    enabled: HashSet<String>,
}

impl Evaluated {
    /// Evaluates a Tiltfile as `up` would; what it prints is shown only if it fails.
    pub(super) fn new(file: &str, args: &[String], printer: Printer) -> Result<Self, Failure> {
        Self::of_command("up", file, args, printer)
    }

    /// The same for a command that the Tiltfile is to know by its own name.
    pub(super) fn of_command(
        name: &str,
        file: &str,
        args: &[String],
        printer: Printer,
    ) -> Result<Self, Failure> {
        let printed = Arc::new(Mutex::new(String::new()));
        let host = {
            let printed = Arc::clone(&printed);
            let host = OsHost::from_process(Box::new(move |_, text| {
                printed.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
            }));
            Arc::new(host.with_launcher(Box::new(Guarded)))
        };
        interrupt::handle(&host, printer)
            .map_err(|error| Failure::Command(format!("cannot handle signals: {error}")))?;
        let mut request = Request::new(file, name);
        request.args = args.to_vec();
        request.pin_kubeconfig = true;
        let evaluation = builtins::evaluate(&request, Arc::clone(&host) as Arc<dyn Host>);
        if let Some(failure) = evaluation.failure {
            let printed = printed.lock().unwrap_or_else(PoisonError::into_inner);
            return Err(Failure::Plain(format!("{printed}{}", report::for_people(&failure))));
        }
        let enabled = evaluation.load.enabled_manifests.iter().flatten().cloned().collect();
        let repositories = evaluation.repositories;
        // The file is gone with the host.
        let cluster = evaluation.cluster.and_then(|it| {
            let text = std::fs::read_to_string(it.path.as_ref()?).ok()?;
            Some((it, text))
        });
        Ok(Self { load: evaluation.load, repositories, cluster, enabled })
    }

    /// Whether a resource would take part.
    pub(super) fn is_enabled(&self, resource: &str) -> bool {
        self.enabled.contains(resource)
    }
}

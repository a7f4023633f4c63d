//! `down`: deletes what a Tiltfile deploys.

use std::{process::ExitCode, sync::Arc};

use builtins::{
    Request,
    host::{Host, Level, OsHost},
};
use clap::Args;
use engine_model::{DeployTarget, Manifest};

use super::{Global, Printer, failure::Failure, interrupt};
use crate::exec::Guarded;

/// Delete what the Tiltfile deploys.
///
/// The Tiltfile is evaluated for that; nothing needs to be running, and a running engine is not
/// stopped. Local resources have nothing to delete.
#[derive(Debug, Args)]
pub(super) struct Flags {
    /// Path to the Tiltfile
    #[arg(short, long, default_value = "Tiltfile", value_name = "PATH")]
    file: String,
    /// Kubernetes context to use, instead of the current one of the kubeconfig
    #[arg(long, default_value = "", hide_default_value = true, value_name = "NAME")]
    context: String,
    /// Default namespace of the Kubernetes context
    #[arg(long, default_value = "", hide_default_value = true, value_name = "NAME")]
    namespace: String,
    /// Delete namespaces too
    #[arg(long)]
    delete_namespaces: bool,
    /// Delete volumes of Docker Compose too
    #[arg(long)]
    delete_volumes: bool,
    /// Arguments of the Tiltfile
    #[arg(value_name = "ARGS")]
    args: Vec<String>,
}

pub(super) fn run(flags: &Flags, global: &Global, printer: Printer) -> Result<ExitCode, Failure> {
    let is_debug = global.debug;
    let host = OsHost::from_process(Box::new(move |level, text| match level {
        Level::Debug if !is_debug => {}
        // Nothing marks warnings here; there is no log to look them up in.
        Level::Debug | Level::Info | Level::Warn => printer.out(text),
    }));
    let host = Arc::new(host.with_launcher(Box::new(Guarded)));
    interrupt::handle(&host, printer)
        .map_err(|error| Failure::Command(format!("cannot handle signals: {error}")))?;
    let mut request = Request::new(&flags.file, "down");
    let text = |it: &str| (!it.is_empty()).then(|| it.to_owned());
    request.args.clone_from(&flags.args);
    request.context = text(&flags.context);
    request.namespace = text(&flags.namespace);
    let evaluation = builtins::evaluate(&request, Arc::clone(&host) as Arc<dyn Host>);
    if host.canceled() {
        return Ok(interrupt::finish(&host, printer));
    }
    if let Some(failure) = evaluation.failure {
        return Err(Failure::Command(failure.text));
    }
    let load = evaluation.load;
    let is_enabled =
        |it: &&Manifest| load.enabled_manifests.iter().flatten().any(|name| *name == it.name);
    let deployed = load.manifests.iter().filter(is_enabled);
    let mut deployed = deployed.filter(|it| !matches!(it.deploy_target, DeployTarget::Local(_)));
    match deployed.next() {
        None => Ok(ExitCode::SUCCESS),
        Some(resource) => Err(Failure::Command(format!(
            "resource \"{}\" is not a local resource; only those can be taken down by this version",
            resource.name
        ))),
    }
}

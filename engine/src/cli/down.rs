//! `down`: deletes what a Tiltfile deploys.

use std::{process::ExitCode, sync::Arc};

use builtins::{
    Request,
    host::{Host, Level, OsHost},
};
use clap::Args;
use engine_core::graph::ResourceGraph;
use engine_model::{ComposeProject, DeployTarget, Load, Manifest};

use super::{Global, Printer, failure::Failure, interrupt};
use crate::{
    deploy::{
        commands::{Output, Surroundings},
        compose::Compose,
    },
    exec::{Guarded, env::Colors},
    logs as log,
};

/// Delete what the Tiltfile deploys.
///
/// The Tiltfile is evaluated for that; nothing needs to be running, and a running engine is not
/// stopped. Services of Docker Compose are stopped and removed, dependents first, with their
/// networks; local resources have nothing to delete.
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
    let env = host.env_vars();
    let deployed = in_order(&evaluation.load);
    if let Some(resource) =
        deployed.iter().find(|it| matches!(it.deploy_target, DeployTarget::Kubernetes(_)))
    {
        return Err(Failure::Command(format!(
            "resource \"{}\" is deployed to Kubernetes; only Compose services can be taken down by this version",
            resource.name
        )));
    }
    let projects = projects(&deployed);
    if !projects.is_empty() {
        let compose = Compose::new(Surroundings::new(env, "localhost", 0, Colors::Off));
        let level = if is_debug { log::Level::Debug } else { log::Level::Info };
        let output = Output::new(level, move |of_text, text| {
            if of_text >= level {
                printer.out(text);
            }
        });
        take_down(&projects, &compose, flags.delete_volumes, &output)?;
    }
    if host.canceled() {
        return Ok(interrupt::finish(&host, printer));
    }
    Ok(ExitCode::SUCCESS)
}

/// Resources that take part, those that nothing else builds on first.
fn in_order(load: &Load) -> Vec<&Manifest> {
    let is_enabled =
        |it: &&Manifest| load.enabled_manifests.iter().flatten().any(|name| *name == it.name);
    let mut enabled: Vec<&Manifest> = load.manifests.iter().filter(is_enabled).collect();
    if let Ok(graph) = ResourceGraph::new(&load.manifests) {
        let place = |it: &&Manifest| graph.order().iter().position(|name| *name == it.name);
        enabled.sort_by_key(place);
    }
    enabled.reverse();
    enabled
}

/// Each project once, in the order of their resources.
fn projects<'a>(deployed: &[&'a Manifest]) -> Vec<&'a ComposeProject> {
    let mut projects: Vec<&ComposeProject> = Vec::new();
    for manifest in deployed {
        if let DeployTarget::Compose(target) = &manifest.deploy_target
            && projects.iter().all(|it| it.name != target.spec.project.name)
        {
            projects.push(&target.spec.project);
        }
    }
    projects
}

fn take_down(
    projects: &[&ComposeProject],
    compose: &Compose,
    with_volumes: bool,
    output: &Output,
) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| Failure::Command(format!("cannot start threads: {error}")))?;
    for project in projects {
        let down = compose.down(project, with_volumes, output);
        runtime
            .block_on(down)
            .map_err(|error| Failure::Command(format!("Running `docker-compose down`: {error}")))?;
    }
    Ok(())
}

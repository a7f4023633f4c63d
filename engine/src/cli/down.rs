//! `down`: deletes what a Tiltfile deploys.

mod cluster;

use std::{
    collections::{HashMap, HashSet},
    process::ExitCode,
};

use builtins::{
    Request,
    host::{Host as _, Level},
};
use clap::Args;
use engine_cli::{Failure, Printer, is_tilt};
use engine_model::{ComposeProject, DeployTarget, Load, Manifest};

use super::{
    Global,
    interrupt::{self, OwnHost},
};
use crate::{
    deploy::{
        commands::{Output, Surroundings},
        compose::Compose,
    },
    exec::env::Colors,
    logs as log, report,
};

/// Delete what the Tiltfile deploys.
///
/// Evaluates the Tiltfile to find out what to delete; no instance needs to be running, and a running
/// one keeps running.
///
/// Deletes Kubernetes objects, dependents first, but keeps namespaces and objects with the
/// annotation tilt.dev/down-policy: keep. Stops and removes Docker Compose services and their
/// networks. Local resources have nothing to delete.
#[derive(Debug, Args)]
pub(super) struct DownFlags {
    /// Path to the Tiltfile
    #[arg(short, long, default_value = "Tiltfile", value_name = "PATH")]
    file: String,
    /// Kubernetes context (default: the current one of your kubeconfig)
    #[arg(long, default_value = "", hide_default_value = true, value_name = "NAME")]
    context: String,
    /// Default namespace for Kubernetes objects
    #[arg(long, default_value = "", hide_default_value = true, value_name = "NAME")]
    namespace: String,
    /// Also delete namespaces
    #[arg(long)]
    delete_namespaces: bool,
    /// Also delete Docker Compose volumes
    #[arg(long)]
    delete_volumes: bool,
    /// Arguments for the Tiltfile
    #[arg(value_name = "ARGS")]
    args: Vec<String>,
}

pub(super) fn run(
    flags: &DownFlags,
    global: &Global,
    printer: Printer,
) -> Result<ExitCode, Failure> {
    let is_debug = global.debug;
    let log = move |level, text: &str| match level {
        Level::Debug if !is_debug => {}
        // Nothing marks warnings here; there is no log to look them up in.
        Level::Debug | Level::Info | Level::Warn => printer.out(text),
    };
    let host = OwnHost::new(log, printer)?;
    let mut request = Request::new(&flags.file, "down");
    let text = |it: &str| (!it.is_empty()).then(|| it.to_owned());
    request.args.clone_from(&flags.args);
    request.context = text(&flags.context);
    request.namespace = text(&flags.namespace);
    request.pin_kubeconfig = true;
    let evaluation = builtins::evaluate(&request, host.shared());
    if host.canceled() {
        return Ok(interrupt::finish(&host, printer));
    }
    if let Some(failure) = evaluation.failure {
        let excerpts = report::excerpts_for_stderr(&failure);
        let code = Failure::Command(failure.text).report(printer);
        if !is_tilt() {
            printer.err(&excerpts);
        }
        return Ok(code);
    }
    let deployed = in_order(&evaluation.load);
    let level = if is_debug { log::Level::Debug } else { log::Level::Info };
    let output = Output::new(level, move |of_text, text| {
        if of_text >= level {
            printer.out(text);
        }
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| Failure::Command(format!("cannot start threads: {error}")))?;
    let env = host.env_vars();
    let cluster = evaluation.cluster.unwrap_or_default();
    let down = cluster::Down {
        deployed: &deployed,
        with_namespaces: flags.delete_namespaces,
        timeout: evaluation.load.update_settings.k8s_upsert_timeout,
        namespace: request.namespace.as_deref(),
        cluster: &cluster,
        env: &env,
        output: &output,
    };
    runtime.block_on(down.run()).map_err(Failure::command)?;
    let projects = projects(&deployed);
    if !projects.is_empty() {
        let compose = Compose::new(Surroundings::new(env, "localhost", 0, Colors::Off));
        for project in projects {
            let down = compose.down(project, flags.delete_volumes, &output);
            let down = runtime.block_on(down);
            down.map_err(|error| {
                Failure::Command(format!("Running `docker-compose down`: {error}"))
            })?;
        }
    }
    if host.canceled() {
        return Ok(interrupt::finish(&host, printer));
    }
    Ok(ExitCode::SUCCESS)
}

/// Enabled resources in reverse order, each after its dependents.
fn in_order(load: &Load) -> Vec<&Manifest> {
    let mut dependents: HashMap<&str, Vec<&Manifest>> = HashMap::new();
    for manifest in load.manifests.iter().rev() {
        for name in manifest.resource_dependencies.iter().flatten() {
            dependents.entry(name).or_default().push(manifest);
        }
    }
    let of =
        |it: &Manifest| dependents.get(it.name.as_str()).map(Vec::as_slice).unwrap_or_default();
    let (mut order, mut seen) = (Vec::new(), HashSet::new());
    for manifest in load.manifests.iter().rev() {
        // The stack of a depth-first search: each resource with its remaining dependents.
        let mut stack: Vec<(&Manifest, std::slice::Iter<'_, &Manifest>)> = Vec::new();
        if seen.insert(manifest.name.as_str()) {
            stack.push((manifest, of(manifest).iter()));
        }
        while let Some((current, rest)) = stack.last_mut() {
            match rest.next() {
                Some(next) if seen.insert(next.name.as_str()) => {
                    stack.push((next, of(next).iter()))
                }
                Some(_) => {}
                None => {
                    order.push(*current);
                    stack.pop();
                }
            }
        }
    }
    let enabled: HashSet<&String> = load.enabled_manifests.iter().flatten().collect();
    order.retain(|it| enabled.contains(&it.name));
    order
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

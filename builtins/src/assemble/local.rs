//! Turns local resources into manifests.

use engine_model::{CmdSpec, DeployTarget, IgnoreDef, LocalTarget, Manifest};

use crate::{
    api::trigger_mode::{self, TriggerModeArg},
    declarations::local::{LocalResource, LocalResources},
};

/// The manifests of all resources on this machine, in the order of declaration.
pub(crate) fn manifests(local: &LocalResources, global: Option<TriggerModeArg>) -> Vec<Manifest> {
    local.iter().map(|it| manifest(it, global)).collect()
}

fn manifest(resource: &LocalResource, global: Option<TriggerModeArg>) -> Manifest {
    let resource_deps = resource.resource_deps.clone();
    Manifest {
        name: resource.name.clone(),
        image_targets: None,
        deploy_target: DeployTarget::Local(Box::new(target(resource))),
        trigger_mode: trigger_mode::resolve(resource.trigger_mode, global, resource.auto_init),
        resource_dependencies: (!resource_deps.is_empty()).then_some(resource_deps),
        source_tiltfile: String::new(),
        labels: resource.labels.clone(),
    }
}

fn target(resource: &LocalResource) -> LocalTarget {
    let update_cmd = &resource.update_cmd;
    let update_cmd_spec = (!update_cmd.is_empty()).then(|| CmdSpec {
        args: update_cmd.argv.clone().unwrap_or_default(),
        dir: update_cmd.dir.clone(),
        env: update_cmd.env.clone().unwrap_or_default(),
    });
    let ignores = ignores(resource);
    LocalTarget {
        update_cmd_spec,
        name: resource.name.clone(),
        serve_cmd: resource.serve_cmd.clone(),
        links: resource.links.clone(),
        deps: resource.deps.clone(),
        file_watch_ignores: (!ignores.is_empty()).then_some(ignores),
        allow_parallel: resource.allow_parallel || update_cmd.is_empty(),
        readiness_probe: resource.readiness_probe.clone(),
        serve_cmd_disable_source: None,
    }
}

fn ignores(resource: &LocalResource) -> Vec<IgnoreDef> {
    let whole = |it: &String| IgnoreDef { base_path: it.clone(), patterns: Vec::new() };
    let mut ignores: Vec<IgnoreDef> = resource.repositories.iter().map(whole).collect();
    if !resource.ignores.is_empty() {
        let patterns = resource.ignores.clone();
        ignores.push(IgnoreDef { base_path: resource.dir.clone(), patterns });
    }
    ignores
}

//! Turns Kubernetes resources into manifests: what to apply, forward, log and wait for.

use std::collections::BTreeMap;

use engine_formats::{
    golang::label::sanitize_name,
    kubernetes::{self as k8s, Object, order::sort_for_apply},
    yaml,
};
use engine_model::{
    ApplyCmd, Cmd, DeployTarget, DiscoveryTemplate, Forward, IgnoreDef,
    ImageLocator as LocatorSpec, KubernetesTarget, LabelSelector, Manifest, PodLogStreamTemplate,
    PodReadiness, PortForwardTemplate, RestartOn, TriggerMode,
};

use super::{
    super::{
        error::AssemblyError,
        images::{TargetMaker, git_ignores},
    },
    Resource, Resources, UNCATEGORIZED,
};
use crate::{
    api::trigger_mode,
    declarations::{
        Declarations,
        images::{ImageId, Images},
    },
    diagnostic::Problem,
    host::Host,
    session::Request,
};

/// Containers whose logs are not followed.
const IGNORED_CONTAINERS: [&str; 4] =
    ["istio-init", "istio-proxy", "linkerd-proxy", "linkerd-init"];

/// Makes manifests of resources.
pub(crate) struct Translator<'a> {
    /// What was said.
    pub declarations: &'a Declarations,
    /// Image builds.
    pub images: &'a Images,
    /// What was asked.
    pub request: &'a Request,
    /// The world, for repositories and ignore files.
    pub host: &'a dyn Host,
}

impl Translator<'_> {
    /// The manifests of all resources.
    ///
    /// # Errors
    /// If an image of one cannot be made a target.
    pub(crate) fn manifests(
        &self,
        resources: &Resources<'_>,
        builds: &[Vec<ImageId>],
        maker: &mut TargetMaker<'_>,
    ) -> Result<Vec<Manifest>, Vec<Problem>> {
        let mut manifests = Vec::new();
        let mut problems = Vec::new();
        for (resource, builds) in resources.resources.iter().zip(builds) {
            match self.manifest(resource, builds, maker) {
                Ok(manifest) => manifests.push(manifest),
                Err(why) => problems.push(Problem::new("tiltfile::image", why.to_string())),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        match restart_container_problem(&manifests) {
            Some(problem) => Err(vec![problem]),
            None => Ok(manifests),
        }
    }

    /// The manifest of objects that belong to no resource.
    ///
    /// # Errors
    /// If they cannot be written.
    pub(crate) fn uncategorized(
        &self,
        resources: &Resources<'_>,
    ) -> Result<Option<Manifest>, Vec<Problem>> {
        if resources.unresourced.is_empty() {
            return Ok(None);
        }
        let mut resource = Resource::new(UNCATEGORIZED.to_owned());
        resource.objects.clone_from(&resources.unresourced);
        resource.readiness = PodReadiness::Ignore;
        let target = self
            .target(&resource, &[], Vec::new())
            .map_err(|why| vec![Problem::new("tiltfile::kubernetes", why.to_string())])?;
        Ok(Some(Manifest {
            name: UNCATEGORIZED.to_owned(),
            image_targets: None,
            deploy_target: DeployTarget::Kubernetes(Box::new(target)),
            trigger_mode: TriggerMode::Auto,
            resource_dependencies: None,
            source_tiltfile: String::new(),
            labels: BTreeMap::new(),
        }))
    }

    fn manifest(
        &self,
        resource: &Resource<'_>,
        builds: &[ImageId],
        maker: &mut TargetMaker<'_>,
    ) -> Result<Manifest, AssemblyError> {
        let image_targets = maker
            .targets(&resource.name, builds)
            .map_err(|why| AssemblyError::ImageBuilds { resource: resource.name.clone(), why })?;
        let mut image_maps: Vec<String> = Vec::new();
        for name in builds.iter().map(|it| self.images.get(*it).image_map_name()) {
            let is_live_update_only =
                image_targets.iter().any(|it| it.is_live_update_only && it.image_map_name == name);
            if !is_live_update_only && !image_maps.contains(&name) {
                image_maps.push(name);
            }
        }
        let target = self
            .target(resource, builds, image_maps)
            .map_err(|why| AssemblyError::DeployTarget { resource: resource.name.clone(), why })?;
        Ok(Manifest {
            name: resource.name.clone(),
            image_targets: Some(image_targets),
            deploy_target: DeployTarget::Kubernetes(Box::new(target)),
            trigger_mode: trigger_mode::resolve(
                resource.trigger_mode,
                self.declarations.settings.global_trigger_mode(),
                resource.auto_init,
            ),
            resource_dependencies: (!resource.resource_deps.is_empty())
                .then(|| resource.resource_deps.clone()),
            source_tiltfile: String::new(),
            labels: resource.labels.clone(),
        })
    }

    fn target(
        &self,
        resource: &Resource<'_>,
        builds: &[ImageId],
        image_maps: Vec<String>,
    ) -> Result<KubernetesTarget, yaml::Error> {
        let settings = &self.declarations.settings.update;
        let mut objects: Vec<&Object> =
            resource.objects.iter().map(|it| &self.declarations.kubernetes.objects[*it]).collect();
        sort_for_apply(&mut objects);
        let deploy = resource.custom_deploy;
        let deps = deploy.map(|it| it.deps.clone()).unwrap_or_default();
        let mut ignores: Vec<IgnoreDef> = deploy.map(|it| it.ignores.clone()).unwrap_or_default();
        ignores.extend(git_ignores(self.host, deps.iter().map(String::as_str)));
        Ok(KubernetesTarget {
            yaml: if deploy.is_some() {
                String::new()
            } else {
                k8s::to_yaml(objects.iter().copied())?
            },
            image_maps,
            image_locators: if deploy.is_some() { Vec::new() } else { self.locators(&objects) },
            timeout: settings.k8s_upsert_timeout,
            kubernetes_discovery_template_spec: discovery(&resource.extra_pod_selectors),
            port_forward_template_spec: self.port_forwards(&resource.port_forwards),
            pod_log_stream_template_spec: Some(PodLogStreamTemplate {
                since_time: self.request.start_time.clone(),
                ignore_containers: IGNORED_CONTAINERS.to_vec(),
            }),
            discovery_strategy: resource.discovery_strategy.clone(),
            apply_cmd: deploy.map(|it| apply_cmd(&it.apply)),
            restart_on: deploy.map(|_| RestartOn {
                file_watches: vec![sanitize_name(&format!("{}:apply", resource.name))],
                ui_buttons: Vec::new(),
            }),
            delete_cmd: deploy.map(|it| apply_cmd(&it.delete)),
            cluster: "default",
            server_side_apply: settings.k8s_server_side_apply == "true",
            name: resource.name.clone(),
            pod_readiness: self.readiness(resource, &objects, builds),
            links: (!resource.links.is_empty()).then(|| resource.links.clone()),
            file_watch_ignores: (!ignores.is_empty()).then_some(ignores),
            path_dependencies: deps,
        })
    }

    fn locators(&self, objects: &[&Object]) -> Vec<LocatorSpec> {
        let locators = self.declarations.kubernetes.kinds.iter().flat_map(|it| &it.locators);
        locators
            .filter(|locator| objects.iter().any(|it| locator.selector.matches(it)))
            .map(|locator| LocatorSpec {
                object_selector: locator.selector.spec().clone(),
                path: locator.path().to_owned(),
                object: locator.object().cloned(),
            })
            .collect()
    }

    fn port_forwards(&self, forwards: &[Forward]) -> Option<PortForwardTemplate> {
        if forwards.is_empty() {
            return None;
        }
        let forwards = forwards
            .iter()
            .map(|it| {
                let host = if it.host.is_empty() {
                    self.request.web_host.clone()
                } else {
                    it.host.clone()
                };
                Forward { host, ..it.clone() }
            })
            .collect();
        Some(PortForwardTemplate { forwards })
    }

    /// What counts as ready: what the resource says, then what its kinds say, then what it looks like.
    fn readiness(
        &self,
        resource: &Resource<'_>,
        objects: &[&Object],
        builds: &[ImageId],
    ) -> PodReadiness {
        if resource.readiness != PodReadiness::None {
            return resource.readiness;
        }
        let kinds = &self.declarations.kubernetes.kinds;
        let says = |mode: PodReadiness| {
            kinds
                .iter()
                .filter(|it| it.readiness == mode)
                .any(|it| objects.iter().any(|object| it.selector.matches(object)))
        };
        let by_kind = [PodReadiness::Wait, PodReadiness::Ignore, PodReadiness::Succeeded]
            .into_iter()
            .find(|mode| says(*mode));
        if let Some(mode) = by_kind {
            return mode;
        }
        if resource.is_group && resource.extra_pod_selectors.is_empty() && builds.is_empty() {
            return PodReadiness::Ignore;
        }
        PodReadiness::Wait
    }
}

fn discovery(selectors: &[BTreeMap<String, String>]) -> Option<DiscoveryTemplate> {
    let extra_selectors: Vec<LabelSelector> =
        selectors.iter().map(|it| LabelSelector { match_labels: it.clone() }).collect();
    (!extra_selectors.is_empty()).then_some(DiscoveryTemplate { extra_selectors })
}

fn apply_cmd(cmd: &Cmd) -> ApplyCmd {
    ApplyCmd {
        args: cmd.argv.clone().unwrap_or_default(),
        dir: cmd.dir.clone(),
        env: cmd.env.clone(),
    }
}

/// `restart_container` works only for Compose.
fn restart_container_problem(manifests: &[Manifest]) -> Option<Problem> {
    let restarts = |manifest: &Manifest| {
        manifest.image_targets.iter().flatten().any(|it| it.live_update_spec.restart.is_some())
    };
    let names: Vec<&str> =
        manifests.iter().filter(|it| restarts(it)).map(|it| it.name.as_str()).collect();
    if names.is_empty() {
        return None;
    }
    let message = format!(
        "Found `restart_container()` LiveUpdate step in resource(s): [{}]. `restart_container()`  has been deprecated \
         for k8s resources. We recommend the restart_process extension: \
         https://github.com/tilt-dev/tilt-extensions/tree/master/restart_process. For more information, see \
         https://docs.tilt.dev/live_update_reference.html#restarting-your-process",
        names.join(", ")
    );
    Some(Problem::new("tiltfile::restart_container", message))
}

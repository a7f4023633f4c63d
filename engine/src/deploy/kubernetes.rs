//! Updates that deploy to Kubernetes: images first, then the objects that run them.

pub mod command;
pub mod obstacle;
pub mod result;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use engine_core::resource::workload::Deployed;
use engine_formats::kubernetes::{
    self, ParseError,
    inject::{self, InjectError},
    names, order,
};
use engine_kubernetes::{
    ApplyOptions, Cluster, DeleteOptions, DeleteOrder, Drift, Kept, KubernetesError,
};
use engine_model::{DeployTarget, ImageTarget, KubernetesTarget};
use serde_json::Value;

use super::{
    UpdateError, UpdateReport, UpdateRequest,
    commands::Surroundings,
    images::{Built, Images, Plan},
    pipeline::{Pipeline, Step},
};
use command::CommandError;

/// How long it takes until an apply is given up, if the Tiltfile does not say.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Tells a command that deletes that what it deletes is deployed again at once.
const FORCE_UPDATE: &str = "ENGINE_FORCE_UPDATE=1";

/// So many fields that others changed are told one by one.
const KEPT_SHOWN: usize = 10;

/// What updates use.
#[derive(Clone)]
pub struct ClusterTools {
    /// The cluster.
    pub cluster: Cluster,
    /// Builds images; nothing if no resource needs that.
    pub images: Option<Images>,
    /// What commands find around them, with the kubeconfig of the cluster.
    pub surroundings: Surroundings,
}

/// Why what is about to be applied could not be deleted first.
#[derive(Debug, thiserror::Error)]
enum ForceDeleteError {
    #[error(transparent)]
    Cluster(#[from] KubernetesError),
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error("force delete: {0}")]
    Yaml(#[from] ParseError),
}

/// Updates a resource. If that fails, the log says so.
pub async fn update(
    request: UpdateRequest,
    tools: &ClusterTools,
    report: impl Fn(UpdateReport),
) -> Result<(), Arc<UpdateError>> {
    let log = request.log.clone();
    let updated = build_and_deploy(request, tools, report).await;
    updated.inspect_err(|error| super::say_failed(&log, error))
}

async fn build_and_deploy(
    request: UpdateRequest,
    tools: &ClusterTools,
    report: impl Fn(UpdateReport),
) -> Result<(), Arc<UpdateError>> {
    let DeployTarget::Kubernetes(target) = &request.manifest.deploy_target else {
        return Err(UpdateError::NotKubernetes.into());
    };
    let all = request.manifest.image_targets.as_deref().unwrap_or_default();
    let plan = match &tools.images {
        Some(images) => {
            Some(images.plan(all, request.is_full_rebuild).await.map_err(UpdateError::from)?)
        }
        None => None,
    };
    let n_steps = plan.as_ref().map_or(0, Plan::n_steps) + usize::from(request.is_full_rebuild) + 1;
    let pipeline = Pipeline::new(request.log.clone(), n_steps);
    if request.is_full_rebuild {
        let step = pipeline.step("Force update", None);
        force_delete(target, tools, &request.cause, &step).await;
        report(UpdateReport::ForceDeleted);
    }
    let built = Mutex::new(HashMap::new());
    if let (Some(images), Some(plan)) = (&tools.images, plan) {
        let report = |it: UpdateReport| {
            if let UpdateReport::Ended { image, result: Ok(found), .. }
            | UpdateReport::Kept { image, built: found, .. } = &it
            {
                let mut built = built.lock().unwrap_or_else(PoisonError::into_inner);
                built.insert(image.clone(), found.clone());
            }
            report(it);
        };
        images.build(plan, &pipeline, &report).await.map_err(UpdateError::from)?;
    }
    let built = built.into_inner().unwrap_or_else(PoisonError::into_inner);
    let step = pipeline.step("Deploying", None);
    let started = SystemTime::now();
    let deploy = Deploy { target, request: &request, tools, images: all, built: &built };
    let result = deploy.run(&step).await.map(Box::new).map_err(Arc::new);
    let error = result.as_ref().err().cloned();
    report(UpdateReport::Deployed { started, result });
    drop(step);
    pipeline.end(error)
}

/// Deletes what is about to be applied, so that it starts anew. What cannot be deleted is told.
async fn force_delete(target: &KubernetesTarget, tools: &ClusterTools, cause: &str, step: &Step) {
    step.say("Beginning force update");
    if let Err(error) = try_force_delete(target, tools, cause, step).await {
        step.log().error(&format!("Error force update: {error}"));
    }
}

async fn try_force_delete(
    target: &KubernetesTarget,
    tools: &ClusterTools,
    cause: &str,
    step: &Step,
) -> Result<(), ForceDeleteError> {
    let timeout = timeout(target);
    if target.yaml.is_empty() {
        let Some(mut cmd) = target.delete_cmd.clone() else { return Ok(()) };
        if tools.cluster.verify().await.is_ok() {
            // A command that knows how to start anew without deleting first can tell this from `down`.
            cmd.env.get_or_insert_default().push(FORCE_UPDATE.to_owned());
            command::delete(&cmd, &tools.surroundings, timeout, &step.output()).await?;
        }
        return Ok(());
    }
    let objects = reversed(kubernetes::parse(&target.yaml)?);
    let options = DeleteOptions {
        order: DeleteOrder::Given,
        with_namespaces: false,
        honor_down_policy: false,
        timeout,
        wait: None,
        cause: cause.to_owned(),
    };
    Ok(tools.cluster.delete(&objects, &options, &|line| step.say(line)).await?)
}

/// Objects in the order in which they are deleted.
pub fn reversed(mut objects: Vec<kubernetes::Object>) -> Vec<Value> {
    order::sort_for_apply(&mut objects);
    objects.into_iter().rev().map(kubernetes::Object::into_value).collect()
}

fn deployed(objects: Vec<Value>, kept: &[Kept], input_hash: String, by_command: bool) -> Deployed {
    let kept = kept.iter().map(result::kept_text).collect();
    let objects = objects.into_iter().map(Into::into).collect();
    Deployed { objects, kept, input_hash, by_command }
}

/// One deployment.
struct Deploy<'a> {
    target: &'a KubernetesTarget,
    request: &'a UpdateRequest,
    tools: &'a ClusterTools,
    images: &'a [ImageTarget],
    built: &'a HashMap<String, Built>,
}

impl Deploy<'_> {
    async fn run(&self, step: &Step) -> Result<Deployed, UpdateError> {
        let input_hash = result::input_hash(self.target, self.built);
        if let Some(cmd) = self.target.apply_cmd.as_ref().filter(|_| self.target.yaml.is_empty()) {
            // A command knows the cluster by its address only.
            self.tools.cluster.verify().await?;
            let env = self.image_env();
            let limit = timeout(self.target);
            let surroundings = &self.tools.surroundings;
            let objects = command::apply(cmd, surroundings, &env, limit, step).await?;
            told("Objects applied to cluster:", &objects, step);
            return Ok(deployed(objects, &[], input_hash, true));
        }
        let objects = self.objects()?;
        step.say("Applying YAML to cluster");
        let options = ApplyOptions {
            server_side: self.target.server_side_apply,
            timeout: timeout(self.target),
            drift: if self.request.is_triggered { Drift::Overwrite } else { Drift::Keep },
            cause: self.request.cause.clone(),
        };
        let mut sorted = objects.clone();
        order::sort_for_apply(&mut sorted);
        let sorted = sorted.into_iter().map(kubernetes::Object::into_value).collect();
        let applied = self.tools.cluster.apply(sorted, &options, &|line| step.say(line)).await;
        if let Some(failure) = applied.failure {
            let tried: Vec<Value> = objects.iter().map(|it| it.value().clone()).collect();
            told("Tried to apply objects to cluster:", &tried, step);
            return Err(obstacle::of(failure));
        }
        told("Objects applied to cluster:", &applied.objects, step);
        told_kept(&applied.kept, step);
        Ok(deployed(applied.objects, &applied.kept, input_hash, false))
    }

    /// The objects of the Tiltfile, with the images that were built.
    fn objects(&self) -> Result<Vec<kubernetes::Object>, InjectError> {
        let mut images = Vec::new();
        for name in &self.target.image_maps {
            let image = self.images.iter().find(|it| it.image_map_name == *name);
            let (Some(image), Some(built)) = (image, self.built.get(name)) else {
                return Err(InjectError::NotBuilt);
            };
            images.push(inject::InjectedImage { target: image, reference: &built.deployed });
        }
        let injection =
            inject::Injection { images: &images, locators: &self.target.image_locators };
        inject::inject(&self.target.yaml, &injection)
    }

    /// What the apply command finds in its environment.
    fn image_env(&self) -> Vec<String> {
        let maps = self.target.image_maps.iter().enumerate();
        maps.flat_map(|(i, name)| {
            let reference = self.built.get(name).map_or("", |it| it.deployed.as_str());
            [format!("TILT_IMAGE_MAP_{i}={name}"), format!("TILT_IMAGE_{i}={reference}")]
        })
        .collect()
    }
}

/// How long an apply may take.
fn timeout(target: &KubernetesTarget) -> Duration {
    let nanos = u64::try_from(target.timeout.0).unwrap_or(0);
    if nanos == 0 { TIMEOUT } else { Duration::from_nanos(nanos) }
}

fn told(title: &str, objects: &[Value], step: &Step) {
    step.say(title);
    for name in names::deployed_names(objects) {
        step.say(&format!("  → {name}"));
    }
}

/// Says which fields others have changed, and that they stay.
fn told_kept(kept: &[Kept], step: &Step) {
    if kept.is_empty() {
        return;
    }
    step.say("Kept these fields, which others have changed since the last apply (trigger the resource to overwrite them):");
    for it in kept.iter().take(KEPT_SHOWN) {
        step.say(&format!("  → {}", result::kept_text(it)));
    }
    if kept.len() > KEPT_SHOWN {
        step.say(&format!("  → and {} more", kept.len() - KEPT_SHOWN));
    }
}

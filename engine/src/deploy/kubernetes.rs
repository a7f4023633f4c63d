//! Updates that deploy to Kubernetes: images first, then the objects that run them.

pub mod command;
pub mod obstacle;
pub mod result;

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use builtins::kubernetes::{self, inject, names, order};
use engine_kubernetes::{ApplyOptions, Cluster, DeleteOptions, DeleteOrder, Drift, Kept};
use engine_model::{DeployTarget, ImageTarget, KubernetesTarget};
use serde_json::Value;

use super::{
    Order, Report,
    commands::Surroundings,
    images::{Built, Images, Plan},
    pipeline::{Pipeline, Step},
};
use obstacle::Obstacle;

/// How long it takes until an apply is given up, if the Tiltfile does not say.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Tells a command that deletes that what it deletes is deployed again at once.
const FORCE_UPDATE: &str = "ENGINE_FORCE_UPDATE=1";

/// So many fields that others changed are told one by one.
const KEPT_SHOWN: usize = 10;

/// What updates use.
#[derive(Clone)]
pub struct Tools {
    /// The cluster.
    pub cluster: Cluster,
    /// Builds images; nothing if no resource needs that.
    pub images: Option<Images>,
    /// What commands find around them, with the kubeconfig of the cluster.
    pub surroundings: Surroundings,
}

/// What was applied.
#[derive(Clone, Debug)]
pub struct Deployed {
    /// The objects as the cluster has them.
    pub objects: Vec<Value>,
    /// Fields that others changed, and that stay as they are.
    pub kept: Vec<Kept>,
    /// Changes with what was applied.
    pub input_hash: String,
    /// Whether a command did it.
    pub by_command: bool,
}

/// Why an update failed.
#[derive(Clone, Debug)]
pub struct UpdateError {
    /// The words that it ends with.
    pub text: String,
    /// What stands in its way, if that may go by itself.
    pub obstacle: Option<Obstacle>,
}

impl From<String> for UpdateError {
    fn from(text: String) -> Self {
        Self { text, obstacle: None }
    }
}

/// Updates a resource. What goes wrong is said in the words that the update ends with.
pub async fn update(
    order: Order,
    tools: &Tools,
    report: impl Fn(Report),
) -> Result<(), UpdateError> {
    let log = order.log.clone();
    let updated = build_and_deploy(order, tools, report).await;
    if let Err(UpdateError { text, .. }) = &updated {
        super::say_failed(&log, text);
    }
    updated
}

async fn build_and_deploy(
    order: Order,
    tools: &Tools,
    report: impl Fn(Report),
) -> Result<(), UpdateError> {
    let DeployTarget::Kubernetes(target) = &order.manifest.deploy_target else {
        return Err("only Kubernetes resources can be deployed to a cluster".to_owned().into());
    };
    let all = order.manifest.image_targets.as_deref().unwrap_or_default();
    let plan = match &tools.images {
        Some(images) => {
            Some(images.plan(all, order.is_full_rebuild).await.map_err(|it| it.to_string())?)
        }
        None => None,
    };
    let n_steps = plan.as_ref().map_or(0, Plan::n_steps) + usize::from(order.is_full_rebuild) + 1;
    let pipeline = Pipeline::new(order.log.clone(), n_steps);
    if order.is_full_rebuild {
        let step = pipeline.step("Force update", None);
        force_delete(target, tools, &order.cause, &step).await;
        report(Report::ForceDeleted);
    }
    let built = Mutex::new(HashMap::new());
    if let (Some(images), Some(plan)) = (&tools.images, plan) {
        let report = |it: Report| {
            if let Report::Ended { image, result: Ok(found), .. }
            | Report::Kept { image, built: found, .. } = &it
            {
                let mut built = built.lock().unwrap_or_else(PoisonError::into_inner);
                built.insert(image.clone(), found.clone());
            }
            report(it);
        };
        images.build(plan, &pipeline, &report).await?;
    }
    let built = built.into_inner().unwrap_or_else(PoisonError::into_inner);
    let step = pipeline.step("Deploying", None);
    let started = SystemTime::now();
    let deploy = Deploy { target, order: &order, tools, images: all, built: &built };
    let result = deploy.run(&step).await;
    let error = result.as_ref().err().cloned();
    let result = result.map(Box::new).map_err(|it| it.text);
    report(Report::Deployed { started, result });
    drop(step);
    match error {
        Some(error) => Err(error),
        None => {
            pipeline.finish();
            Ok(())
        }
    }
}

/// Deletes what is about to be applied, so that it starts anew. What cannot be deleted is told.
async fn force_delete(target: &KubernetesTarget, tools: &Tools, cause: &str, step: &Step) {
    step.say("Beginning force update");
    let deleted = if target.yaml.is_empty() {
        match &target.delete_cmd {
            Some(cmd) if tools.cluster.verify().await.is_ok() => {
                // A command that knows how to start anew without deleting first can tell this from `down`.
                let mut cmd = cmd.clone();
                cmd.env.get_or_insert_default().push(FORCE_UPDATE.to_owned());
                command::delete(&cmd, &tools.surroundings, timeout(target), &step.output()).await
            }
            _ => Ok(()),
        }
    } else {
        match kubernetes::parse(&target.yaml) {
            Ok(objects) => {
                let options = DeleteOptions {
                    order: DeleteOrder::Given,
                    with_namespaces: false,
                    honor_down_policy: false,
                    timeout: timeout(target),
                    wait: None,
                    cause: cause.to_owned(),
                };
                let objects = reversed(objects);
                let deleted =
                    tools.cluster.delete(&objects, &options, &|line| step.say(line)).await;
                deleted.map_err(|error| error.to_string())
            }
            Err(error) => Err(format!("force delete: {error}")),
        }
    };
    if let Err(error) = deleted {
        step.log().error(&format!("Error force update: {error}"));
    }
}

/// Objects in the order in which they are deleted.
#[must_use]
pub fn reversed(mut objects: Vec<kubernetes::Object>) -> Vec<Value> {
    order::sort_for_apply(&mut objects);
    objects.into_iter().rev().map(kubernetes::Object::into_value).collect()
}

/// One deployment.
struct Deploy<'a> {
    target: &'a KubernetesTarget,
    order: &'a Order,
    tools: &'a Tools,
    images: &'a [ImageTarget],
    built: &'a HashMap<String, Built>,
}

impl Deploy<'_> {
    async fn run(&self, step: &Step) -> Result<Deployed, UpdateError> {
        let input_hash = result::input_hash(self.target, self.built);
        if let Some(cmd) = self.target.apply_cmd.as_ref().filter(|_| self.target.yaml.is_empty()) {
            // A command knows the cluster by its address only.
            let verified = self.tools.cluster.verify().await;
            verified.map_err(|it| obstacle::of_error(&it))?;
            let env = self.image_env();
            let limit = timeout(self.target);
            let surroundings = &self.tools.surroundings;
            let objects = command::apply(cmd, surroundings, &env, limit, step).await?;
            told("Objects applied to cluster:", &objects, step);
            return Ok(Deployed { objects, kept: Vec::new(), input_hash, by_command: true });
        }
        let objects = self.objects()?;
        step.say("Applying YAML to cluster");
        let options = ApplyOptions {
            server_side: self.target.server_side_apply,
            timeout: timeout(self.target),
            drift: if self.order.is_triggered { Drift::Overwrite } else { Drift::Keep },
            cause: self.order.cause.clone(),
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
        let (objects, kept) = (applied.objects, applied.kept);
        Ok(Deployed { objects, kept, input_hash, by_command: false })
    }

    /// The objects of the Tiltfile, with the images that were built.
    fn objects(&self) -> Result<Vec<kubernetes::Object>, String> {
        let mut images = Vec::new();
        for name in &self.target.image_maps {
            let image = self.images.iter().find(|it| it.image_map_name == *name);
            let (Some(image), Some(built)) = (image, self.built.get(name)) else {
                return Err("internal error: missing image status".to_owned());
            };
            images.push(inject::InjectedImage { target: image, reference: &built.deployed });
        }
        let injection =
            inject::Injection { images: &images, locators: &self.target.image_locators };
        inject::inject(&self.target.yaml, &injection).map_err(|error| error.to_string())
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
    step.say("Fields that others changed since the last apply, and that stay as they are (trigger the resource to overwrite them):");
    for it in kept.iter().take(KEPT_SHOWN) {
        step.say(&format!("  → {}", result::kept_text(it)));
    }
    if kept.len() > KEPT_SHOWN {
        step.say(&format!("  → and {} more", kept.len() - KEPT_SHOWN));
    }
}

impl std::fmt::Debug for Tools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tools").field("server", &self.cluster.server()).finish_non_exhaustive()
    }
}

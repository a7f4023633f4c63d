//! Updates that build and deploy: images first, then the service that runs them.

pub mod cluster_docker;
pub mod commands;
pub mod compose;
pub mod images;
pub mod kubernetes;
pub mod live_update;
pub mod pipeline;
pub mod prune;
pub mod registry;

use std::{sync::Arc, time::SystemTime};

use engine_docker::{Container, Docker, DockerError, Step as Stage};
use engine_model::{BuildDetails, ComposeSpec, DeployTarget, Manifest};

use crate::logs::LogWriter;
use commands::Output;
use compose::Compose;
use images::{Built, Images};
use pipeline::Pipeline;

/// What to update.
#[derive(Debug)]
pub struct Order {
    /// The resource.
    pub manifest: Arc<Manifest>,
    /// Whether nothing that was built or deployed before may be used.
    pub is_full_rebuild: bool,
    /// Whether somebody asked for it, so that what others changed in what is deployed is undone.
    pub is_triggered: bool,
    /// Why it happens, in words.
    pub cause: String,
    /// Where it says what it does.
    pub log: LogWriter,
}

/// What updates use.
#[derive(Clone, Debug)]
pub struct Tools {
    /// The engine that builds and runs.
    pub docker: Docker,
    /// Brings services up.
    pub compose: Compose,
    /// Builds images, and knows those that were built.
    pub images: Images,
}

/// Something that happened in an update.
#[derive(Debug)]
pub enum Report {
    /// An image is being built.
    Building {
        /// Its image map.
        image: String,
        /// Since when.
        started: SystemTime,
    },
    /// An image is used as it was built before, since its inputs are as they were then.
    Kept {
        /// Its image map.
        image: String,
        /// What was built.
        built: Built,
        /// When its inputs were looked at.
        looked: SystemTime,
    },
    /// An image was built, or not.
    Ended {
        /// Its image map.
        image: String,
        /// What was built.
        result: Result<Built, String>,
        /// The steps of the build, also of one that failed.
        stages: Vec<Stage>,
        /// When the build began.
        started: SystemTime,
    },
    /// What is about to be deployed is deleted first.
    ForceDeleted,
    /// Objects were applied to the cluster, or not.
    Deployed {
        /// When that began.
        started: SystemTime,
        /// What was applied, or what went wrong.
        result: Result<Box<kubernetes::Deployed>, String>,
    },
    /// Compose brought the service up, or not.
    Applied {
        /// When that began.
        started: SystemTime,
        /// The container, or what went wrong.
        result: Result<Option<Box<Container>>, String>,
    },
}

/// Updates a Compose service. What goes wrong is said in the words that the update ends with.
pub async fn service(order: Order, tools: &Tools, report: impl Fn(Report)) -> Result<(), String> {
    let log = order.log.clone();
    let updated = build_and_deploy(order, tools, report).await;
    if let Err(error) = &updated {
        say_failed(&log, error);
    }
    updated
}

/// Ends the log of an update that failed.
fn say_failed(log: &LogWriter, error: &str) {
    log.info(&format!("got unexpected error during build/deploy: {error}"));
    if error.ends_with('\n') {
        log.info("");
    }
}

async fn build_and_deploy(
    order: Order,
    tools: &Tools,
    report: impl Fn(Report),
) -> Result<(), String> {
    let DeployTarget::Compose(target) = &order.manifest.deploy_target else {
        return Err("only Compose services can be deployed".to_owned());
    };
    let all = order.manifest.image_targets.as_deref().unwrap_or_default();
    let is_composed = all.iter().any(|it| matches!(it.build_details, BuildDetails::Compose(_)));
    let plan = tools.images.plan(all, order.is_full_rebuild).await.map_err(|it| it.to_string())?;
    let n_extra = usize::from(order.is_full_rebuild) + usize::from(!plan.reused().is_empty());
    let pipeline = Pipeline::new(order.log.clone(), plan.n_builds() + 1 + n_extra);
    if order.is_full_rebuild {
        let step = pipeline.step("Force update", None);
        let (project, service) = (&target.spec.project, target.spec.service.as_str());
        if let Err(error) = tools.compose.remove(project, &[service], &step.output()).await {
            pipeline.log().error(&format!("Error force update: {error}"));
        }
    }
    tools.images.build(plan, &pipeline, &report).await?;
    let step = pipeline.step(if is_composed { "Building & deploying" } else { "Deploying" }, None);
    let started = SystemTime::now();
    let result = bring_up(tools, &target.spec, is_composed, &order.log.into()).await;
    let error = result.as_ref().err().cloned();
    report(Report::Applied { started, result });
    drop(step);
    match error {
        Some(error) => Err(error),
        None => {
            pipeline.finish();
            Ok(())
        }
    }
}

async fn bring_up(
    tools: &Tools,
    spec: &ComposeSpec,
    is_composed: bool,
    output: &Output,
) -> Result<Option<Box<Container>>, String> {
    if is_composed {
        tools.compose.build(spec, output).await?;
    }
    tools.compose.up(spec, output).await?;
    let container = container_of(&tools.docker, spec).await;
    container.map(|it| it.map(Box::new)).map_err(|error| error.to_string())
}

/// The container of a service that was made last.
async fn container_of(
    docker: &Docker,
    spec: &ComposeSpec,
) -> Result<Option<Container>, DockerError> {
    let mut newest: Option<Container> = None;
    for listed in docker.containers(&compose::labels(spec)).await? {
        let Some(container) = docker.container(&listed.id).await? else { continue };
        if newest.as_ref().is_none_or(|it| it.created < container.created) {
            newest = Some(container);
        }
    }
    Ok(newest)
}

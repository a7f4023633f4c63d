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

use engine_core::resource::workload::Deployed;
use engine_docker::{Docker, DockerError, Step as Stage};
use engine_formats::kubernetes::inject::InjectError;
use engine_kubernetes::{Failure, KubernetesError};
use engine_model::{BuildDetails, ComposeSpec, Container, DeployTarget, Manifest};

use crate::{logs::LogWriter, tasks::Lost};
use cluster_docker::ClusterDockerError;
use commands::Output;
use compose::{Compose, ComposeError};
use images::{Built, ImageError, Images};
use kubernetes::command::CommandError;
use pipeline::Pipeline;

/// What to update.
#[derive(Debug)]
pub struct UpdateRequest {
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
pub struct ComposeTools {
    /// The engine that builds and runs.
    pub docker: Docker,
    /// Brings services up.
    pub compose: Compose,
    /// Builds images, and knows those that were built.
    pub images: Images,
}

/// Something that happened in an update.
#[derive(Debug)]
pub enum UpdateReport {
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
        result: Result<Built, Arc<ImageError>>,
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
        result: Result<Box<Deployed>, Arc<UpdateError>>,
    },
    /// Compose brought the service up, or not.
    Applied {
        /// When that began.
        started: SystemTime,
        /// The container, or what went wrong.
        result: Result<Option<Box<Container>>, Arc<UpdateError>>,
    },
}

/// Why an update failed, in the words that it ends with.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError {
    /// It is about something else than a Compose service.
    #[error("only Compose services can be deployed")]
    NotCompose,
    /// It is about something else than a Kubernetes resource.
    #[error("only Kubernetes resources can be deployed to a cluster")]
    NotKubernetes,
    /// There is no cluster to deploy to.
    #[error("the cluster cannot be used")]
    NoCluster,
    /// No Docker engine builds images for the cluster.
    #[error(transparent)]
    Builder(#[from] Arc<ClusterDockerError>),
    /// The Docker engine does not say what it has.
    #[error(transparent)]
    Docker(#[from] DockerError),
    /// An image could not be built or delivered.
    #[error(transparent)]
    Image(#[from] Arc<ImageError>),
    /// Compose did not bring the service up.
    #[error(transparent)]
    Compose(#[from] ComposeError),
    /// Images could not be put into the objects.
    #[error(transparent)]
    Inject(#[from] InjectError),
    /// The apply command failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The cluster failed, or is not there.
    #[error(transparent)]
    Cluster(#[from] KubernetesError),
    /// The cluster refuses an object for now.
    #[error("{}\n{way_out}", failure.error)]
    Refused {
        /// The object, and how it is refused.
        failure: Box<Failure>,
        /// What a person can do about it.
        way_out: String,
    },
    /// It has no result.
    #[error("{0}")]
    Lost(Lost),
}

impl UpdateError {
    /// What the command that failed printed last.
    pub(crate) fn last_line(&self) -> &str {
        match self {
            Self::Compose(error) => &error.last_line,
            _ => "",
        }
    }
}

/// Updates a Compose service. If that fails, the log says so.
pub async fn service(
    request: UpdateRequest,
    tools: &ComposeTools,
    report: impl Fn(UpdateReport),
) -> Result<(), Arc<UpdateError>> {
    let log = request.log.clone();
    build_and_deploy(request, tools, report).await.inspect_err(|error| say_failed(&log, error))
}

/// Ends the log of an update that failed.
fn say_failed(log: &LogWriter, error: &UpdateError) {
    let line = format!("got unexpected error during build/deploy: {error}");
    log.info(&line);
    if line.ends_with('\n') {
        log.info("");
    }
}

async fn build_and_deploy(
    request: UpdateRequest,
    tools: &ComposeTools,
    report: impl Fn(UpdateReport),
) -> Result<(), Arc<UpdateError>> {
    let DeployTarget::Compose(target) = &request.manifest.deploy_target else {
        return Err(UpdateError::NotCompose.into());
    };
    let all = request.manifest.image_targets.as_deref().unwrap_or_default();
    let is_composed = all.iter().any(|it| matches!(it.build_details, BuildDetails::Compose(_)));
    let plan = tools.images.plan(all, request.is_full_rebuild).await.map_err(UpdateError::from)?;
    let n_extra = usize::from(request.is_full_rebuild) + usize::from(!plan.reused().is_empty());
    let pipeline = Pipeline::new(request.log.clone(), plan.n_builds() + 1 + n_extra);
    if request.is_full_rebuild {
        let step = pipeline.step("Force update", None);
        let (project, service) = (&target.spec.project, target.spec.service.as_str());
        if let Err(error) = tools.compose.remove(project, &[service], &step.output()).await {
            pipeline.log().error(&format!("Error force update: {error}"));
        }
    }
    tools.images.build(plan, &pipeline, &report).await.map_err(UpdateError::from)?;
    let step = pipeline.step(if is_composed { "Building & deploying" } else { "Deploying" }, None);
    let started = SystemTime::now();
    let result =
        bring_up(tools, &target.spec, is_composed, &request.log.into()).await.map_err(Arc::new);
    let error = result.as_ref().err().cloned();
    report(UpdateReport::Applied { started, result });
    drop(step);
    pipeline.end(error)
}

async fn bring_up(
    tools: &ComposeTools,
    spec: &ComposeSpec,
    is_composed: bool,
    output: &Output,
) -> Result<Option<Box<Container>>, UpdateError> {
    if is_composed {
        tools.compose.build(spec, output).await?;
    }
    tools.compose.up(spec, output).await?;
    Ok(container_of(&tools.docker, spec).await?.map(Box::new))
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

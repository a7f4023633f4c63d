//! Images of updates: which are built, in which order, and which can be used as they are.

mod custom_build;
mod delivery;
mod destination;
mod docker_build;
mod error;
mod inputs;
mod memory;
mod patch;
mod progress;
mod restart_helper;

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use engine_docker::{Docker, DockerError};
use engine_model::{BuildDetails, ImageTarget};
use futures_util::{StreamExt, stream::FuturesUnordered};
use tracing::Instrument;

use super::{
    UpdateReport,
    commands::Surroundings,
    pipeline::{Pipeline, Step},
};
use memory::Memory;

pub use destination::{ClusterImages, Delivered, Destination, deployed};
pub use error::ImageError;

/// Builds images, and remembers those that were built; cheap to clone.
#[derive(Clone, Debug)]
pub struct Images {
    shared: Arc<Shared>,
    destination: Destination,
}

#[derive(Debug)]
struct Shared {
    docker: Docker,
    surroundings: Surroundings,
    memory: Mutex<Memory>,
    /// Where to remember over a restart.
    file: Option<PathBuf>,
}

/// When an image was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Since this engine runs.
    ThisRun,
    /// Before that.
    EarlierRun,
}

/// An image that was built.
#[derive(Clone, Debug)]
pub struct Built {
    /// The digest that names it; empty if it never was in this Docker engine.
    pub id: String,
    /// Its name with a tag for its content.
    pub tagged: String,
    /// The name that other images and commands on this machine use.
    pub local: String,
    /// The name that deployments use.
    pub deployed: String,
    /// When the build began: it has all changes from before.
    pub started: SystemTime,
    /// The name in Dockerfiles that means this image.
    pub selector: String,
    /// Whether the tag counts in that.
    pub is_exact: bool,
    /// When that was.
    pub origin: Origin,
}

/// What an update does about the images of a resource.
#[derive(Debug)]
pub struct Plan {
    targets: Vec<ImageTarget>,
    /// Image maps of those that are built.
    builds: HashSet<String>,
    /// Those that are used as they are, by image map.
    reused: HashMap<String, Built>,
    /// Those that would be used, but are gone.
    gone: Vec<String>,
    /// Whether images go to a cluster after they were built.
    is_pushed: bool,
    /// Whether somebody asked for builds that use nothing of what was built before.
    is_full_rebuild: bool,
    /// When inputs were looked at.
    looked: SystemTime,
}

impl Plan {
    /// How many images are built.
    pub fn n_builds(&self) -> usize {
        self.builds.len()
    }

    /// How many steps that takes: an image that goes to a cluster is built and pushed.
    pub fn n_steps(&self) -> usize {
        let n_each = if self.is_pushed { 2 } else { 1 };
        self.builds.len() * n_each + usize::from(!self.reused.is_empty())
    }

    /// Images that are used as they are, in order.
    pub fn reused(&self) -> Vec<&Built> {
        self.targets.iter().filter_map(|it| self.reused.get(&it.image_map_name)).collect()
    }

    /// Whether another image may be built at the same time: one that neither needs this one nor is needed by it.
    fn has_others_beside(&self, target: &ImageTarget) -> bool {
        let mut others = self.targets.iter().filter(|it| {
            it.image_map_name != target.image_map_name && self.builds.contains(&it.image_map_name)
        });
        others.any(|it| !self.needs(it, target) && !self.needs(target, it))
    }

    /// Whether an image is built from another, directly or not.
    fn needs(&self, target: &ImageTarget, base: &ImageTarget) -> bool {
        target.image_maps().iter().any(|name| {
            let named = self.targets.iter().find(|it| it.image_map_name == *name);
            *name == base.image_map_name || named.is_some_and(|it| self.needs(it, base))
        })
    }
}

impl Images {
    /// Builds with this engine; what was built is remembered in a file, if there is one.
    pub fn new(docker: Docker, surroundings: Surroundings, file: Option<PathBuf>) -> Self {
        let memory = Mutex::new(Memory::load(file.as_deref()));
        let shared = Arc::new(Shared { docker, surroundings, memory, file });
        Self { shared, destination: Destination::Docker }
    }

    /// Why nothing is known of earlier runs, if that has to be said.
    pub fn problem(&self) -> Option<String> {
        self.memory(|it| it.problem.clone())
    }

    /// The same, with all that is known, for another destination.
    #[must_use]
    pub fn going_to(&self, destination: Destination) -> Self {
        Self { shared: Arc::clone(&self.shared), destination }
    }

    /// The same, for an image that the cluster needs although no resource deploys it.
    #[must_use]
    pub fn delivering(&self, image: &str) -> Self {
        let mut images = self.clone();
        if let Destination::Cluster(cluster) = &mut images.destination {
            Arc::make_mut(cluster).deployed.insert(image.to_owned());
        }
        images
    }

    /// Files of a custom build have changed, so that what it built is of no use any more.
    pub fn inputs_changed(&self, image: &str) {
        self.memory(|it| it.forget_custom(image));
    }

    /// Decides what is built. An image is used as it is if its inputs did not change since it was built, it is still
    /// there, and nothing that it is built from is built.
    pub async fn plan(
        &self,
        all: &[ImageTarget],
        is_full_rebuild: bool,
    ) -> Result<Plan, DockerError> {
        let is_ours = |it: &&ImageTarget| {
            !it.is_live_update_only && !matches!(it.build_details, BuildDetails::Compose(_))
        };
        let targets: Vec<ImageTarget> = all.iter().filter(is_ours).cloned().collect();
        let is_pushed = matches!(self.destination, Destination::Cluster(_));
        let (builds, reused) = (HashSet::new(), HashMap::new());
        let (gone, looked) = (Vec::new(), SystemTime::now());
        let mut plan = Plan { targets, builds, reused, gone, is_pushed, is_full_rebuild, looked };
        for target in &plan.targets {
            let has_new_base = target.image_maps().iter().any(|it| plan.builds.contains(it));
            let known = if is_full_rebuild || has_new_base {
                None
            } else {
                self.unchanged(target, &plan.reused, &mut plan.gone).await?
            };
            match known {
                Some(built) => drop(plan.reused.insert(target.image_map_name.clone(), built)),
                None => drop(plan.builds.insert(target.image_map_name.clone())),
            }
        }
        Ok(plan)
    }

    /// What was built of these inputs before, if it is still there.
    async fn unchanged(
        &self,
        target: &ImageTarget,
        bases: &HashMap<String, Built>,
        gone: &mut Vec<String>,
    ) -> Result<Option<Built>, DockerError> {
        let build = match &target.build_details {
            BuildDetails::Docker(build) => build,
            BuildDetails::Custom(_) => {
                let key = self.destination.key();
                return Ok(self.memory(|it| it.custom(&target.image_map_name, &key)));
            }
            BuildDetails::Compose(_) => return Ok(None),
        };
        // What cannot be read or prepared is told by the build.
        let Ok(build) = docker_build::prepared(self, target, build, bases).await else {
            return Ok(None);
        };
        let Ok(inputs) = inputs::look(self, target, &build).await else { return Ok(None) };
        let Some((record, origin)) = self.memory(|it| it.built_from(&inputs.digest)) else {
            return Ok(None);
        };
        let docker = &self.shared.docker;
        if docker.image(&record.id).await?.is_none() {
            gone.push(record.deployed);
            return Ok(None);
        }
        // The name may belong to another image by now.
        let is_there = docker.image(record.local()).await?.is_some_and(|it| it.id == record.id);
        let is_same = is_there && inputs::has_same_bases(self, &record).await?;
        Ok(is_same.then(|| record.built(target, origin)))
    }

    /// Builds what the plan says; images that do not need each other at the same time.
    pub async fn build(
        &self,
        plan: Plan,
        pipeline: &Arc<Pipeline>,
        report: &impl Fn(UpdateReport),
    ) -> Result<(), Arc<ImageError>> {
        for image in &plan.gone {
            let told = format!("Rebuilding {image} because image not found in image store");
            pipeline.log().info(&told);
        }
        let reused = plan.reused();
        if !reused.is_empty() {
            let step = pipeline.step("Loading cached images", None);
            for built in reused {
                step.say(&format!("- {}", built.local));
                if built.origin == Origin::EarlierRun {
                    step.say(&format!("  inputs unchanged since {}", told(built.started)));
                }
            }
            self.ensure_delivered(&plan, &step).await?;
        }
        for (image, built) in &plan.reused {
            let (image, built) = (image.clone(), built.clone());
            report(UpdateReport::Kept { image, built, looked: plan.looked });
        }
        let mut done = plan.reused.clone();
        let mut waiting: Vec<&ImageTarget> =
            plan.targets.iter().filter(|it| plan.builds.contains(&it.image_map_name)).collect();
        let mut running = FuturesUnordered::new();
        let mut failure = None;
        loop {
            if failure.is_none() {
                let is_ready =
                    |it: &&ImageTarget| it.image_maps().iter().all(|it| done.contains_key(it));
                let (ready, rest): (Vec<_>, Vec<_>) = waiting.into_iter().partition(is_ready);
                waiting = rest;
                for target in ready {
                    let bases = done.clone();
                    let mark = plan.has_others_beside(target).then_some(target.selector.as_str());
                    let is_whole = plan.is_full_rebuild;
                    running.push(async move {
                        let build = self.build_one(target, bases, is_whole, pipeline, mark, report);
                        let span = tracing::info_span!("build", image = target.image_map_name);
                        let result = build.instrument(span).await;
                        (target, result)
                    });
                }
            }
            // When one has failed, those that run beside it still end: their results are of use.
            let Some((target, result)) = running.next().await else { break };
            match result {
                Ok(built) => drop(done.insert(target.image_map_name.clone(), built)),
                Err(error) => drop(failure.get_or_insert(error)),
            }
        }
        match failure {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// What was built before has to be where it is deployed, also if that was in an earlier run.
    async fn ensure_delivered(&self, plan: &Plan, step: &Step) -> Result<(), ImageError> {
        let Destination::Cluster(cluster) = &self.destination else { return Ok(()) };
        for target in &plan.targets {
            if let Some(built) = plan.reused.get(&target.image_map_name) {
                delivery::ensure(self, cluster, target, built, step).await?;
            }
        }
        Ok(())
    }

    async fn build_one(
        &self,
        target: &ImageTarget,
        bases: HashMap<String, Built>,
        is_whole: bool,
        pipeline: &Arc<Pipeline>,
        mark: Option<&str>,
        report: &impl Fn(UpdateReport),
    ) -> Result<Built, Arc<ImageError>> {
        let started = SystemTime::now();
        let image = target.image_map_name.clone();
        report(UpdateReport::Building { image: image.clone(), started });
        let mut stages = Vec::new();
        let result = match &target.build_details {
            BuildDetails::Docker(build) => {
                let name = format!("Building Dockerfile: [{}]", target.selector);
                let step = pipeline.step(&name, mark);
                let bases = &bases;
                let request =
                    docker_build::BuildRequest { target, build, bases, started, is_whole };
                docker_build::run(self, request, &step, &mut stages).await
            }
            BuildDetails::Custom(build) => {
                let name = format!("Building Custom Build: [{}]", target.selector);
                let step = pipeline.step(&name, mark);
                custom_build::run(self, target, build, &bases, started, &step).await
            }
            BuildDetails::Compose(_) => Err(ImageError::BuiltByCompose),
        };
        let result = match (result, &self.destination) {
            (Ok(built), Destination::Cluster(cluster)) => {
                let step = pipeline.step(&format!("Pushing {}", built.local), mark);
                let (stage, done) = delivery::deliver(self, cluster, target, &built, &step).await;
                stages.extend(stage);
                done.map(|()| built)
            }
            (result, _) => result,
        };
        let result = result.map_err(Arc::new);
        report(UpdateReport::Ended { image, result: result.clone(), stages, started });
        result
    }

    /// Where digests of files are kept over a restart.
    fn contexts_dir(&self) -> Option<PathBuf> {
        self.shared.file.as_ref().map(|it| it.with_extension("contexts"))
    }

    fn memory<T>(&self, ask: impl FnOnce(&mut Memory) -> T) -> T {
        ask(&mut self.shared.memory.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A time as people read it.
fn told(time: SystemTime) -> String {
    let Ok(time) = jiff::Timestamp::try_from(time) else { return "an unknown time".to_owned() };
    time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

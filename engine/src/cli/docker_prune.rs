//! `docker-prune`: removes old images and containers that updates left in Docker.

use clap::Args;
use engine_cli::{Failure, Printer};
use engine_docker::{Docker, DockerError, Environment, Prune, PruneReport};
use engine_formats::docker::registry::Registry;
use engine_kubernetes::Cluster;
use engine_model::{DeployTarget, Manifest};

use super::{Global, evaluated::Evaluated};
use crate::{
    deploy::{
        prune::{self, TITLE},
        registry,
    },
    logs::{self, LogStore},
};

/// Remove old images, containers and build caches.
///
/// Only those that earlier updates have left behind are removed. `docker_prune_settings` in the
/// Tiltfile says how old they may get, and how many images to keep.
#[derive(Debug, Args)]
pub(super) struct DockerPruneFlags {
    /// Path to the Tiltfile
    #[arg(short, long, default_value = "Tiltfile", value_name = "PATH")]
    file: String,
    /// Arguments for the Tiltfile
    #[arg(value_name = "ARGS")]
    args: Vec<String>,
}

pub(super) fn run(
    flags: &DockerPruneFlags,
    global: &Global,
    printer: Printer,
) -> Result<(), Failure> {
    let evaluated = Evaluated::of_command("docker-prune", &flags.file, &flags.args, printer)?;
    let images = evaluated.load.manifests.iter().flat_map(|it| it.image_targets.iter().flatten());
    let settings = &evaluated.load.docker_prune_settings;
    let prune = async || {
        let registry = registry(&evaluated).await;
        let request = prune::request(settings, images.clone(), registry.as_ref());
        pruned(&request).await
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| Failure::Command(format!("cannot start threads: {error}")))?;
    // As in Tilt, what Docker refuses is said, and is no failure of the command.
    match runtime.block_on(prune()) {
        Ok(report) => {
            for line in prune::lines(&report, true) {
                if global.debug || !line.is_detail {
                    printer.out(&format!("{}\n", line.text));
                }
            }
        }
        Err(error) => printer.out(&format!("{TITLE} error running docker prune: {error}\n")),
    }
    Ok(())
}

async fn pruned(request: &Prune) -> Result<PruneReport, DockerError> {
    Docker::new(Environment::of_process())?.prune(request).await
}

/// The registry that images of a Tiltfile go to: the one of the cluster, or the one that the Tiltfile names.
async fn registry(evaluated: &Evaluated) -> Option<Registry> {
    let is_deployed = |it: &Manifest| matches!(it.deploy_target, DeployTarget::Kubernetes(_));
    if !evaluated.load.manifests.iter().any(is_deployed) {
        return None;
    }
    let found = async {
        let (known, text) = evaluated.cluster.as_ref()?;
        let cluster = Cluster::new(text, None).await.ok()?;
        let logs = LogStore::new(&logs::Options { dir: None, ..logs::Options::default() });
        registry::discover(&cluster, known.product, &logs.writer("", "")).await
    };
    match found.await {
        Some(found) => Some(Registry::from(&found)),
        None => evaluated.load.default_registry.as_ref().map(Registry::from),
    }
}

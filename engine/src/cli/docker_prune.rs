//! `docker-prune`: removes what earlier updates have left in Docker.

use clap::Args;
use engine_docker::{Docker, Environment, Prune, PruneReport};

use super::{Global, Printer, evaluated::Evaluated, failure::Failure};
use crate::deploy::prune::{self, TITLE};

/// Remove old images, containers and build caches of earlier updates.
///
/// How old they may get, and how many images of each name stay, is what `docker_prune_settings` in
/// the Tiltfile says.
#[derive(Debug, Args)]
pub(super) struct Flags {
    /// Path to the Tiltfile
    #[arg(short, long, default_value = "Tiltfile", value_name = "PATH")]
    file: String,
    /// Arguments of the Tiltfile
    #[arg(value_name = "ARGS")]
    args: Vec<String>,
}

pub(super) fn run(flags: &Flags, global: &Global, printer: Printer) -> Result<(), Failure> {
    let evaluated = Evaluated::new(&flags.file, &flags.args, printer)?;
    let images = evaluated.load.manifests.iter().flat_map(|it| it.image_targets.iter().flatten());
    let request = prune::request(&evaluated.load.docker_prune_settings, images);
    // As in Tilt, what Docker refuses is said, and is no failure of the command.
    match pruned(&request) {
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

fn pruned(request: &Prune) -> Result<PruneReport, Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let docker = Docker::new(Environment::of_process())?;
    Ok(runtime.block_on(docker.prune(request))?)
}

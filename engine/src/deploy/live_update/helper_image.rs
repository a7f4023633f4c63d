//! The helper as an image with one file, for containers that nothing can be put into from inside.
//!
//! It is built and brought to the cluster like any other image, and only if it is not there yet.

use std::sync::{Arc, Mutex, PoisonError};

use engine_helper::carried;
use engine_model::{BuildDetails, DockerBuild, ImageTarget, LiveUpdateSpec};
use tokio::sync::OnceCell;

use super::in_pod::HELPER_PROGRAM;
use crate::{
    deploy::{Report, images::Images, pipeline::Pipeline},
    logs::LogWriter,
};

/// What the image is called before the registry of a cluster gives it another name.
const NAME: &str = "engine-helper";

/// Gets the helper to where the nodes of a cluster find images, once; cheap to clone.
#[derive(Clone, Debug)]
pub struct HelperImage {
    images: Images,
    arch: String,
    log: LogWriter,
    name: Arc<OnceCell<String>>,
}

impl HelperImage {
    /// An image for nodes of this kind.
    #[must_use]
    pub fn new(images: &Images, arch: &str, log: LogWriter) -> Self {
        let images = images.delivering(NAME);
        Self { images, arch: arch.to_owned(), log, name: Arc::default() }
    }

    /// The name that nodes know it by.
    pub(super) async fn name(&self) -> Result<&str, String> {
        self.name.get_or_try_init(|| self.make()).await.map(String::as_str)
    }

    async fn make(&self) -> Result<String, String> {
        let program = carried::helper_for(&self.arch);
        let program = program.ok_or_else(|| carried::how_to_build(&self.arch))?;
        let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
        let file = dir.path().join(NAME);
        std::fs::write(&file, program).map_err(|error| error.to_string())?;
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&file, mode).map_err(|error| error.to_string())?;
        let target = target(&dir.path().display().to_string());
        let plan = self.images.plan(&[target], false).await.map_err(|error| error.to_string())?;
        self.log.info("Building an image with the helper that updates containers without a shell");
        let pipeline = Pipeline::new(self.log.clone(), plan.n_steps());
        let built = Mutex::new(None);
        let report = |it: Report| {
            if let Report::Ended { result: Ok(it), .. } = it {
                *built.lock().unwrap_or_else(PoisonError::into_inner) = Some(it.deployed);
            }
        };
        self.images.build(plan, &pipeline, &report).await?;
        let built = built.into_inner().unwrap_or_else(PoisonError::into_inner);
        built.ok_or_else(|| "the image was not built".to_owned())
    }
}

fn target(context: &str) -> ImageTarget {
    let build = DockerBuild {
        dockerfile_contents: format!("FROM scratch\nCOPY {NAME} {HELPER_PROGRAM}\n"),
        context: context.to_owned(),
        ..DockerBuild::default()
    };
    ImageTarget {
        selector: NAME.to_owned(),
        match_exact: false,
        match_in_env_vars: false,
        override_command: None,
        override_args: None,
        live_update_name: String::new(),
        live_update_spec: LiveUpdateSpec::default(),
        live_update_reconciler: false,
        docker_image_name: String::new(),
        cmd_image_name: String::new(),
        build_details: BuildDetails::Docker(Box::new(build)),
        is_live_update_only: false,
        file_watch_ignores: None,
        image_map_name: NAME.to_owned(),
    }
}

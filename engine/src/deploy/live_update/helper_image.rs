//! The helper as an image with one file, for containers that nothing can be put into from inside.
//!
//! It is built and brought to the cluster like any other image, and only if it is not there yet.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use builtins::host::Scratch;
use engine_docker::DockerError;
use engine_helper::carried;
use engine_model::path::to_text;
use engine_model::{BuildDetails, DockerBuild, ImageTarget, LiveUpdateSpec};
use tokio::sync::OnceCell;

use super::in_pod::HELPER_PROGRAM;
use crate::{
    deploy::{
        UpdateReport,
        images::{ImageError, Images},
        pipeline::Pipeline,
    },
    logs::LogWriter,
};

/// What the image is called before the registry of a cluster gives it another name.
const NAME: &str = "engine-helper";

/// Why there is no image with the helper.
#[derive(Debug, thiserror::Error)]
pub(super) enum HelperImageError {
    #[error("{}", carried::how_to_build(.0))]
    NotCarried(String),
    #[error(transparent)]
    File(#[from] io::Error),
    #[error(transparent)]
    Docker(#[from] DockerError),
    #[error(transparent)]
    Build(#[from] Arc<ImageError>),
    #[error("the image was not built")]
    NotBuilt,
}

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
    pub fn new(images: &Images, arch: &str, log: LogWriter) -> Self {
        let images = images.delivering(NAME);
        Self { images, arch: arch.to_owned(), log, name: Arc::default() }
    }

    /// The name that nodes know it by.
    pub(super) async fn name(&self) -> Result<&str, HelperImageError> {
        self.name.get_or_try_init(|| self.make()).await.map(String::as_str)
    }

    async fn make(&self) -> Result<String, HelperImageError> {
        let not_carried = || HelperImageError::NotCarried(self.arch.clone());
        let program = carried::helper_for(&self.arch).ok_or_else(not_carried)?;
        let dir = Scratch::create()?;
        let file = dir.path().join(NAME);
        std::fs::write(&file, program)?;
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&file, mode)?;
        let target = target(&to_text(dir.path()));
        let plan = self.images.plan(&[target], false).await?;
        self.log.info("Building an image with the helper that updates containers without a shell");
        let pipeline = Pipeline::new(self.log.clone(), plan.n_steps());
        let built = Mutex::new(None);
        let report = |it: UpdateReport| {
            if let UpdateReport::Ended { result: Ok(it), .. } = it {
                *built.lock().unwrap_or_else(PoisonError::into_inner) = Some(it.deployed);
            }
        };
        self.images.build(plan, &pipeline, &report).await?;
        let built = built.into_inner().unwrap_or_else(PoisonError::into_inner);
        built.ok_or(HelperImageError::NotBuilt)
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

//! What a Tiltfile says about a live update: its rules, whose files it copies, and for which containers.

use std::sync::Arc;

use engine_model::{
    DeployTarget, IgnoreDef, ImageName, ImageTarget, LiveUpdateName, Manifest, TargetId,
};

use super::rules::Rules;

/// When containers are updated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UpdateMode {
    /// As soon as files change.
    #[default]
    Auto,
    /// When somebody asks.
    Manual,
}

/// Which containers of a resource a live update is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Selector {
    /// The one of a Compose service.
    #[default]
    Service,
    /// Those of pods that have this name.
    Name(String),
    /// Those of pods with an image of this name, whatever its tag.
    Image(String),
    /// Those of pods with the image of an image map.
    ImageMap(ImageName),
}

impl Selector {
    /// What the live update of an image is for.
    pub fn of(manifest: &Manifest, image: &ImageTarget) -> Self {
        if !matches!(manifest.deploy_target, DeployTarget::Kubernetes(_)) {
            return Self::Service;
        }
        let named = image.live_update_spec.selector.kubernetes.as_ref();
        match named.map(|it| &it.container_name).filter(|it| !it.is_empty()) {
            Some(name) => Self::Name(name.clone()),
            None if image.is_live_update_only => Self::Image(image.selector.clone()),
            None => Self::ImageMap(image.image_map_name.as_str().into()),
        }
    }
}

/// What a Tiltfile says about a live update.
#[derive(Clone, Debug, Default)]
pub struct Definition {
    /// Its steps.
    pub rules: Rules,
    /// When containers are updated.
    pub mode: UpdateMode,
    /// The file watches of its image and of those below it.
    pub sources: Vec<TargetId>,
    /// Which containers it is for.
    pub selector: Selector,
    /// What its sources leave out.
    pub ignores: Arc<[IgnoreDef]>,
}

impl Definition {
    /// The live updates of a resource, by name.
    pub fn all(manifest: &Manifest) -> impl Iterator<Item = (LiveUpdateName, Self)> {
        let images = manifest.image_targets.as_deref().unwrap_or_default();
        let live = images.iter().filter(|it| it.live_update_reconciler);
        live.map(|it| (it.live_update_name.as_str().into(), Self::of(manifest, it, images)))
    }

    fn of(manifest: &Manifest, image: &ImageTarget, images: &[ImageTarget]) -> Self {
        let is_auto = manifest.trigger_mode.is_auto_on_change();
        let bases = image.with_bases(images);
        Self {
            rules: Rules::new(&image.live_update_spec),
            mode: if is_auto { UpdateMode::Auto } else { UpdateMode::Manual },
            sources: bases.iter().map(|it| it.id()).collect(),
            selector: Selector::of(manifest, image),
            ignores: bases
                .iter()
                .flat_map(|it| it.file_watch_ignores.iter().flatten())
                .cloned()
                .collect(),
        }
    }
}

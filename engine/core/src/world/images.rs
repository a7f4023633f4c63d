//! Images of updates: how their builds go on, and what each image is from then on.

use std::{collections::HashSet, sync::Arc};

use engine_model::{ImageName, ImageTarget, Kind, ObjectId, TargetId, Time};

use crate::{
    image::{BuildError, BuildStage, ImageBuild, ImageBuildEnd, ImageNames},
    resource::{Resource, ResourceName},
    world::World,
};

/// Something that became known of an image.
#[derive(Clone, Debug)]
pub enum ImageEvent {
    /// It is being built.
    Building {
        /// The resource that needs it.
        resource: ResourceName,
        /// Its image map.
        image: ImageName,
        /// Since when.
        started: Time,
    },
    /// It was built, or not.
    Ended {
        /// The resource that needs it.
        resource: ResourceName,
        /// Its image map.
        image: ImageName,
        /// When the build began.
        started: Time,
        /// What was built, or what went wrong.
        result: Result<ImageNames, BuildError>,
        /// The steps of the build, also of one that failed.
        stages: Vec<BuildStage>,
    },
    /// It is used as it was built before, since its inputs are as they were then.
    Kept {
        /// Its image map.
        image: ImageName,
        /// What was built.
        names: ImageNames,
        /// When its inputs were looked at.
        looked: Time,
    },
}

impl World {
    /// The names of the image that an image map stands for, if it was built.
    pub fn image(&self, image_map: &str) -> Option<&ImageNames> {
        self.images.get(image_map)
    }

    /// The build of an image for a resource, by the name of its object.
    pub fn image_build(&self, id: &ObjectId) -> Option<&ImageBuild> {
        self.resources.iter().find_map(|resource| {
            let image =
                resource.images().iter().find(|it| build_objects(it).any(|it| it == *id))?;
            resource.builds.get(image.image_map_name.as_str())
        })
    }

    pub(super) fn image_event(&mut self, now: Time, event: ImageEvent) {
        match event {
            ImageEvent::Building { resource, image, started } => {
                self.set_build(&resource, image, ImageBuild { started, end: None });
            }
            ImageEvent::Ended { resource, image, started, result, stages } => {
                let text = result.as_ref().map(|it| it.tagged.clone()).map_err(Clone::clone);
                let end = Some(ImageBuildEnd { at: now, result: text, stages });
                self.set_build(&resource, image.clone(), ImageBuild { started, end });
                if let Ok(names) = result {
                    self.image_known(image, names);
                }
            }
            ImageEvent::Kept { image, names, looked } => {
                let target = TargetId::Image(image.clone());
                self.image_known(image, names);
                self.image_kept(now, &target, looked);
            }
        }
    }

    /// This is the image from now on.
    fn image_known(&mut self, image: ImageName, names: ImageNames) {
        self.image_built(&TargetId::Image(image.clone()), names.started);
        self.effects.changed.insert(ObjectId::new(Kind::ImageMap, &*image));
        self.images.insert(image, names);
    }

    fn set_build(&mut self, resource: &str, image: ImageName, build: ImageBuild) {
        let Some(&at) = self.index.get(resource) else { return };
        let resource = &mut self.resources[at];
        let Some(target) = resource.images().iter().find(|it| it.image_map_name == *image) else {
            return;
        };
        self.effects.changed.extend(build_objects(target));
        resource.builds.insert(image, build);
    }

    /// Builds that have not ended themselves are over.
    pub(super) fn end_builds(&mut self, now: Time, at: usize, error: &str) {
        let manifest = Arc::clone(&self.resources[at].manifest);
        for image in manifest.image_targets.iter().flatten() {
            let build = self.resources[at].builds.get_mut(image.image_map_name.as_str());
            if let Some(build) = build.filter(|it| it.end.is_none()) {
                let (result, stages) = (Err(BuildError(error.to_owned())), Vec::new());
                build.end = Some(ImageBuildEnd { at: now, result, stages });
                self.effects.changed.extend(build_objects(image));
            }
        }
    }

    /// Forgets images that no resource has any more.
    pub(super) fn forget_images(&mut self) {
        let mut all = HashSet::new();
        for resource in &mut self.resources {
            let Resource { manifest, builds, .. } = resource;
            let own = manifest.image_targets.iter().flatten();
            let own: HashSet<&str> = own.map(|it| it.image_map_name.as_str()).collect();
            builds.retain(|image, _| own.contains(&**image));
            all.extend(own);
        }
        self.images.retain(|image, _| all.contains(&**image));
    }
}

impl Resource {
    /// The images that it needs.
    pub fn images(&self) -> &[ImageTarget] {
        self.manifest.image_targets.as_deref().unwrap_or_default()
    }
}

/// The objects that show the build of an image.
fn build_objects(image: &ImageTarget) -> impl Iterator<Item = ObjectId> {
    let names =
        [(Kind::DockerImage, &image.docker_image_name), (Kind::CmdImage, &image.cmd_image_name)];
    let named = names.into_iter().filter(|(_, name)| !name.is_empty());
    named.map(|(kind, name)| ObjectId::new(kind, name.as_str()))
}

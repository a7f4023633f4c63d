//! Images in the engine: whether they exist, their tags, and which of them nobody needs any more.

use std::{collections::HashMap, time::SystemTime};

use bollard::{
    models::ImageInspect,
    query_parameters::{
        ListImagesOptions, PruneBuildOptions, PruneContainersOptions, RemoveImageOptions,
        TagImageOptions,
    },
};
use engine_formats::docker::{reference::Reference, selector::RefSelector};
use jiff::{SignedDuration, Timestamp};

use crate::{
    build::GC_LABEL,
    client::{ApiVersion, Docker},
    error::DockerError,
};

const TAG_PREFIX: &str = "tilt-";
/// The first API that prunes by label.
const PRUNE_VERSION: ApiVersion = ApiVersion { major: 1, minor: 30 };

/// An image in the engine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    /// The digest that names it, `sha256:…`.
    pub id: String,
    /// Its names with tags.
    pub tags: Vec<String>,
    /// Its names with the digests that registries know it by.
    pub repo_digests: Vec<String>,
    /// Its size in bytes.
    pub size: u64,
    /// What it is for.
    pub architecture: String,
    /// What it is for.
    pub os: String,
    /// When it got its last tag.
    pub last_tagged: Option<Timestamp>,
}

impl From<ImageInspect> for Image {
    fn from(image: ImageInspect) -> Self {
        Self {
            id: image.id.unwrap_or_default(),
            tags: image.repo_tags.unwrap_or_default(),
            repo_digests: image.repo_digests.unwrap_or_default(),
            size: image.size.and_then(|it| u64::try_from(it).ok()).unwrap_or_default(),
            architecture: image.architecture.unwrap_or_default(),
            os: image.os.unwrap_or_default(),
            last_tagged: image.metadata.and_then(|it| it.last_tag_time?.parse().ok()),
        }
    }
}

/// The tag that an image gets for its content, `tilt-` and the beginning of its digest.
pub fn content_tag(id: &str) -> Option<String> {
    let digits = id.split_once(':').map_or(id, |(_, digits)| digits);
    digits.get(..16).map(|it| format!("{TAG_PREFIX}{it}"))
}

/// What may go.
#[derive(Clone, Debug)]
pub struct Prune {
    /// Younger things stay. With a negative age nothing is too young, also not what is made meanwhile.
    pub max_age: SignedDuration,
    /// So many images of each build stay, however old.
    pub keep_recent: usize,
    /// Only images of these builds go.
    pub selectors: Vec<RefSelector>,
}

/// What was removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PruneReport {
    /// Stopped containers.
    pub containers: Removed,
    /// Images and tags.
    pub images: Removed,
    /// Build caches.
    pub caches: Removed,
}

/// Things that are gone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// How Docker calls them.
    pub items: Vec<String>,
    /// How much room they took.
    pub bytes: u64,
}

impl Docker {
    /// Looks for an image by name or digest.
    pub async fn image(&self, reference: &str) -> Result<Option<Image>, DockerError> {
        match self.inspect(reference).await {
            Ok(image) => Ok(Some(image)),
            Err(DockerError::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Looks for an image that has to be there.
    pub async fn inspect(&self, reference: &str) -> Result<Image, DockerError> {
        let found = self.client().await?.inspect_image(reference).await;
        Ok(found.map_err(|error| self.explain(error))?.into())
    }

    /// Gives an image another name, which has to have a tag.
    pub async fn tag(&self, id: &str, reference: &Reference) -> Result<(), DockerError> {
        let options = TagImageOptions { repo: Some(reference.name()), tag: reference.tag.clone() };
        let tagged = self.client().await?.tag_image(id, Some(options)).await;
        tagged.map_err(|error| self.explain(error))
    }

    /// Removes what earlier builds have left and nobody needs.
    pub async fn prune(&self, prune: &Prune) -> Result<PruneReport, DockerError> {
        if self.server().await?.api_version < PRUNE_VERSION {
            return Ok(PruneReport::default());
        }
        Ok(PruneReport {
            containers: self.prune_containers(prune).await?,
            images: self.prune_images(prune).await?,
            caches: self.prune_caches(prune).await?,
        })
    }

    async fn prune_containers(&self, prune: &Prune) -> Result<Removed, DockerError> {
        let options = PruneContainersOptions { filters: Some(filters(prune)) };
        let answer = self.client().await?.prune_containers(Some(options)).await;
        let answer = answer.map_err(|error| self.explain(error))?;
        let items = answer.containers_deleted.unwrap_or_default();
        Ok(Removed { items, bytes: bytes(answer.space_reclaimed) })
    }

    async fn prune_caches(&self, prune: &Prune) -> Result<Removed, DockerError> {
        let options = PruneBuildOptions { filters: Some(filters(prune)), ..Default::default() };
        let answer = self.client().await?.prune_build(Some(options)).await;
        let answer = answer.map_err(|error| self.explain(error))?;
        let items = answer.caches_deleted.unwrap_or_default();
        Ok(Removed { items, bytes: bytes(answer.space_reclaimed) })
    }

    /// Removes only images.
    pub async fn prune_images(&self, prune: &Prune) -> Result<Removed, DockerError> {
        let client = self.client().await?;
        let label = HashMap::from([("label".to_owned(), vec![format!("{GC_LABEL}=true")])]);
        let options = ListImagesOptions { filters: Some(label), ..Default::default() };
        let listed = client.list_images(Some(options)).await;
        let mut images = Vec::new();
        for summary in listed.map_err(|error| self.explain(error))? {
            images.extend(self.image(&summary.id).await?);
        }
        let mut removed = Removed::default();
        for image in superfluous(&images, prune, SystemTime::now()) {
            // An image that is in use stays, which is fine.
            if let Ok(items) =
                client.remove_image(&image.id, None::<RemoveImageOptions>, None).await
            {
                removed.bytes += image.size;
                removed.items.extend(items.into_iter().filter_map(|it| {
                    let deleted = it.deleted.map(|it| format!("deleted: {it}"));
                    deleted.or(it.untagged.map(|it| format!("untagged: {it}")))
                }));
            }
        }
        Ok(removed)
    }
}

fn bytes(count: Option<i64>) -> u64 {
    count.and_then(|it| u64::try_from(it).ok()).unwrap_or_default()
}

fn filters(prune: &Prune) -> HashMap<String, Vec<String>> {
    HashMap::from([
        ("label".to_owned(), vec![format!("{GC_LABEL}=true")]),
        ("until".to_owned(), vec![format!("{}s", prune.max_age.as_secs())]),
    ])
}

/// Images of these builds that are old, and not among the newest of their build.
fn superfluous<'a>(images: &'a [Image], prune: &Prune, now: SystemTime) -> Vec<&'a Image> {
    let mut old: Vec<(SystemTime, usize, &Image)> = Vec::new();
    for image in images {
        // An image with several names cannot be removed without force.
        let tags: Result<Vec<_>, _> = image.tags.iter().map(|it| Reference::parse(it)).collect();
        let Some(tags) = tags.ok().filter(|it| it.len() <= 1) else { continue };
        let Some(owner) = prune.selectors.iter().position(|it| it.matches_any(&tags)) else {
            continue;
        };
        let tagged = image.last_tagged.map_or(SystemTime::UNIX_EPOCH, SystemTime::from);
        let age = now.duration_since(tagged).unwrap_or_default();
        if SignedDuration::try_from(age).is_ok_and(|it| it >= prune.max_age) {
            old.push((tagged, owner, image));
        }
    }
    old.sort_by_key(|(tagged, ..)| std::cmp::Reverse(*tagged));
    let mut kept: HashMap<usize, usize> = HashMap::new();
    old.retain(|(_, owner, _)| {
        let kept = kept.entry(*owner).or_default();
        *kept += 1;
        *kept > prune.keep_recent
    });
    old.into_iter().map(|(_, _, image)| image).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_made_of_digests() {
        let id = "sha256:0123456789abcdef0123";
        assert_eq!(content_tag(id).as_deref(), Some("tilt-0123456789abcdef"));
        assert_eq!(content_tag("sha256:short"), None);
    }

    #[test]
    fn old_images_go_except_for_the_newest_of_each_build() {
        let selector = |name: &str| RefSelector::new(Reference::parse(name).unwrap());
        let prune = Prune {
            max_age: SignedDuration::from_hours(1),
            keep_recent: 1,
            selectors: vec![selector("web"), selector("api")],
        };
        let image = |tags: &[&str], hour: u8| Image {
            id: tags[0].to_owned(),
            tags: tags.iter().map(|&it| it.to_owned()).collect(),
            last_tagged: format!("2020-01-01T{hour:02}:00:00Z").parse().ok(),
            ..Image::default()
        };
        let images = [
            image(&["web:tilt-1"], 1),
            image(&["web:tilt-2"], 2),
            image(&["web:tilt-3"], 3),
            image(&["web:tilt-4"], 10),
            image(&["api:tilt-1"], 1),
            image(&["api:tilt-2", "other:1"], 0),
            image(&["foreign:1"], 1),
        ];
        let now: Timestamp = "2020-01-01T10:30:00Z".parse().unwrap();
        let gone = superfluous(&images, &prune, now.into());
        let gone: Vec<_> = gone.iter().map(|it| it.id.as_str()).collect();
        assert_eq!(gone, ["web:tilt-2", "web:tilt-1"]);
    }
}

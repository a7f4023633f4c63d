//! Everything that an image is built from: equal inputs and equal bases make an image of equal content.

use std::{collections::BTreeMap, sync::Arc};

use engine_docker::{BuildContext, DockerError, Fingerprints, Listing, Step as Stage};
use engine_formats::{
    docker::{dockerfile, reference::Reference},
    golang::hex,
};
use engine_model::path::to_path;
use engine_model::{DockerBuild, ImageTarget};
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::task::spawn_blocking;

use super::{
    Images,
    memory::{Base, Record},
};

/// What the Tiltfile, the disk and the environment give to a build.
#[derive(Clone, Debug)]
pub(super) struct Inputs {
    /// The digest of all of it.
    pub(super) digest: String,
    /// The digest of all but the files of the context.
    pub(super) settings: String,
    /// Those files.
    pub(super) context: Arc<Listing>,
}

/// Looks at what a build gets.
pub(super) async fn look(
    images: &Images,
    target: &ImageTarget,
    build: &DockerBuild,
) -> Result<Inputs, DockerError> {
    let context = context(images, build).await?;
    let secrets: Vec<_> = build.secrets.iter().map(|it| secret(images, it)).collect();
    let destination = images.destination.key();
    let settings = json!({
        "destination": destination,
        "host": images.shared.docker.host(),
        "image": target.selector,
        "context": build.context,
        "dockerfile": build.dockerfile_contents,
        "args": build.args,
        "target": build.target,
        "network": build.network,
        "platform": build.platform,
        "pull": build.pull,
        "cacheFrom": build.cache_from,
        "extraTags": build.extra_tags,
        "extraHosts": build.extra_hosts,
        "secrets": secrets,
        "ssh": build.ssh_agent_configs,
    });
    let settings = hex::encode(&Sha256::digest(settings.to_string()));
    let all = format!("{settings} {}", context.fingerprint());
    Ok(Inputs { digest: hex::encode(&Sha256::digest(all)), settings, context: Arc::new(context) })
}

async fn context(images: &Images, build: &DockerBuild) -> Result<Listing, DockerError> {
    let (dir, ignores) = (build.context.clone(), build.context_ignores.clone());
    let images = images.clone();
    let looked = spawn_blocking(move || {
        let context = BuildContext::new(&dir, &ignores)?;
        let mut known = images.memory(|it| it.fingerprints.only(&context));
        if known.is_empty()
            && let Some(dir) = images.contexts_dir()
        {
            known = Fingerprints::load(&dir, &context);
        }
        let listing = known.of(&context);
        images.memory(|it| it.fingerprints.merge(known));
        listing
    });
    looked.await.map_err(|error| DockerError::Protocol(error.to_string()))?
}

/// Keeps the digests of a context's files over a restart. It writes, and therefore blocks.
pub(super) fn keep_digests(images: &Images, build: &DockerBuild) {
    let Some(dir) = images.contexts_dir() else { return };
    let Ok(context) = BuildContext::new(&build.context, &build.context_ignores) else { return };
    let known = images.memory(|it| it.fingerprints.only(&context));
    // Without the file the next start reads all files again, and nothing else.
    let _ = known.save(&dir, &context);
}

/// A secret counts by its value, of which only a digest is kept.
fn secret(images: &Images, setting: &str) -> String {
    let field = |name: &str| {
        let found =
            setting.split(',').find_map(|it| it.trim().strip_prefix(name)?.strip_prefix('='));
        found.map(str::to_owned)
    };
    let source = field("src").or_else(|| field("source"));
    let variable = field("env").or_else(|| field("id"));
    let value = match source {
        Some(path) => std::fs::read(to_path(&path)).unwrap_or_default(),
        None => {
            let found = variable.as_deref().and_then(|it| images.shared.surroundings.env(it));
            found.unwrap_or_default().as_bytes().to_vec()
        }
    };
    format!("{setting}={}", hex::encode(&Sha256::digest(value)))
}

/// Whether a build takes something from the network that is not known before it was taken.
pub(super) fn is_open(build: &DockerBuild) -> bool {
    let from_afar = |line: &str| {
        let line = line.trim_start();
        let is_add = line.get(..4).is_some_and(|it| it.eq_ignore_ascii_case("add "));
        is_add && (line.contains("://") || line.contains("git@"))
    };
    build.dockerfile_contents.lines().any(from_afar)
}

/// The images that a build starts from or copies from, as far as the Docker engine has them.
pub(super) async fn local_bases(
    images: &Images,
    build: &DockerBuild,
) -> Result<BTreeMap<String, Option<String>>, DockerError> {
    let mut bases = BTreeMap::new();
    for reference in named(build) {
        let name = reference.familiar();
        let found = images.shared.docker.image(&name).await?;
        bases.insert(name, found.map(|it| it.id));
    }
    Ok(bases)
}

fn named(build: &DockerBuild) -> Vec<Reference> {
    dockerfile::find_images(&build.dockerfile_contents, &build.args).unwrap_or_default()
}

/// Which images a build has used; `None` if that is not certain.
pub(super) async fn used_bases(
    images: &Images,
    build: &DockerBuild,
    before: &BTreeMap<String, Option<String>>,
    stages: &[Stage],
) -> Option<BTreeMap<String, Base>> {
    let after = local_bases(images, build).await.ok()?;
    let mut bases = BTreeMap::new();
    for reference in named(build) {
        let name = reference.familiar();
        let (before, after) = (before.get(&name).cloned().flatten(), after.get(&name)?.clone());
        let pulled = pulled_digest(&reference, stages);
        let base = match (before, after, pulled) {
            (_, _, Some(digest)) => Base::Registry(digest),
            // Somebody gave the name to another image in the meantime.
            (Some(before), Some(after), None) if before != after => return None,
            // What was pulled is in a registry, under a digest that the builder did not tell.
            (_, Some(_), None) if build.pull => return None,
            (_, Some(id), None) => Base::Local(id),
            // Stages of the Dockerfile count as images, too, and have no digest.
            (_, None, None) => continue,
        };
        bases.insert(name, base);
    }
    Some(bases)
}

/// The digest that the builder says it got from a registry, in names of steps such as
/// `[1/2] FROM docker.io/library/busybox@sha256:…`.
fn pulled_digest(reference: &Reference, stages: &[Stage]) -> Option<String> {
    let tag = reference.tag.as_deref().unwrap_or("latest");
    let mut starts = vec![format!("{}:{tag}@", reference.name())];
    if tag == "latest" {
        starts.push(format!("{}@", reference.name()));
    }
    let names = stages.iter().filter_map(|it| it.name.split_once("FROM ").map(|(_, name)| name));
    let mut digests =
        names.filter_map(|name| starts.iter().find_map(|it| name.strip_prefix(it.as_str())));
    digests.next().map(|it| it.split_whitespace().next().unwrap_or_default().to_owned())
}

/// Whether all names still mean the images that a build has used. A registry is asked once in a run.
pub(super) async fn has_same_bases(images: &Images, record: &Record) -> Result<bool, DockerError> {
    let docker = &images.shared.docker;
    for (name, base) in &record.bases {
        let is_same = match base {
            Base::Local(id) => docker.image(name).await?.is_some_and(|it| it.id == *id),
            Base::Registry(digest) => {
                let known = images.memory(|it| it.registry_digest(name));
                let now = match known {
                    Some(known) => Some(known),
                    None => asked(images, name).await?,
                };
                now.is_some_and(|it| it == *digest)
            }
        };
        if !is_same {
            return Ok(false);
        }
    }
    Ok(true)
}

async fn asked(images: &Images, name: &str) -> Result<Option<String>, DockerError> {
    let Ok(reference) = Reference::parse(name) else { return Ok(None) };
    let found = images.shared.docker.registry_digest(&reference).await?;
    if let Some(digest) = &found {
        images.memory(|it| it.remember_registry_digest(name, digest));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(name: &str) -> Stage {
        Stage {
            digest: name.to_owned(),
            name: name.to_owned(),
            is_cached: false,
            started: None,
            finished: None,
            error: None,
        }
    }

    #[test]
    fn the_digest_of_a_base_is_found_where_the_builder_says_it() {
        let stages = [
            stage("[internal] load metadata for docker.io/library/busybox:latest"),
            stage("[1/2] FROM docker.io/library/busybox@sha256:1"),
            stage("FROM localhost:5000/a/b:v1@sha256:2"),
            stage("[2/2] RUN echo FROM docker.io/library/nginx"),
        ];
        for (name, want) in [
            ("busybox", Some("sha256:1")),
            ("busybox:latest", Some("sha256:1")),
            ("localhost:5000/a/b:v1", Some("sha256:2")),
            ("localhost:5000/a/b:v2", None),
            ("nginx", None),
            ("busybox:1.36", None),
        ] {
            let reference = Reference::parse(name).unwrap();
            assert_eq!(pulled_digest(&reference, &stages).as_deref(), want, "{name}");
        }
    }

    #[test]
    fn what_is_added_from_afar_is_not_known_before() {
        for (dockerfile, want) in [
            ("FROM a\nCOPY . .\n", false),
            ("FROM a\nADD x.tar /\n", false),
            ("FROM a\nADD https://example.com/x /\n", true),
            ("FROM a\n  add git@example.com:a/b.git /\n", true),
            ("FROM a\nRUN echo add http://x\n", false),
        ] {
            let build =
                DockerBuild { dockerfile_contents: dockerfile.into(), ..DockerBuild::default() };
            assert_eq!(is_open(&build), want, "{dockerfile}");
        }
    }
}

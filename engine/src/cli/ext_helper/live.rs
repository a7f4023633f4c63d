//! Queries the objects of a release from the cluster directly, because starting kubectl takes longer than all
//! responses.

use std::{collections::BTreeMap, collections::BTreeSet, env, fs, io, path::Path};

use engine_formats::kube_config::{self, KubeConfig, Overrides};
use engine_kubernetes::Cluster;
use serde_json::Value;

use super::release::{KnownObject, Release};

/// The state of a release in the cluster.
pub(super) struct Live {
    /// The revisions that helm keeps of the release.
    pub(super) revisions: Vec<Value>,
    /// All objects of the kinds that were asked for, by identity.
    pub(super) objects: BTreeMap<String, Value>,
}

/// Queries the revisions of a release, and all objects of the given kinds; `None` if that fails.
pub(super) fn of(release: &Release, objects: &[KnownObject]) -> Option<Live> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    runtime.block_on(async {
        let namespace = release.namespace();
        let cluster = Cluster::new(&kubeconfig(release)?, namespace.as_deref()).await.ok()?;
        let labels = [("owner", "helm"), ("name", release.name.as_str())];
        let revisions = cluster.list("v1", "Secret", "", &labels);
        let (revisions, objects) = tokio::join!(revisions, all(&cluster, objects));
        Some(Live { revisions: revisions.ok()??, objects: objects? })
    })
}

async fn all(cluster: &Cluster, objects: &[KnownObject]) -> Option<BTreeMap<String, Value>> {
    let place = |it: &KnownObject| (it.api_version.clone(), it.kind.clone(), it.namespace.clone());
    let places: BTreeSet<_> = objects.iter().map(place).collect();
    let mut found = BTreeMap::new();
    for (api_version, kind, namespace) in places {
        let items = cluster.list(&api_version, &kind, &namespace, &[]).await.ok()??;
        let known = items
            .into_iter()
            .filter_map(|it| Some((it["metadata"]["uid"].as_str()?.to_owned(), it)));
        found.extend(known);
    }
    Some(found)
}

/// The kubeconfig that helm uses for a release, with nothing but the context in use.
fn kubeconfig(release: &Release) -> Option<String> {
    let given = |flag: &str, name: &str| {
        release
            .flag(flag)
            .map(str::to_owned)
            .or_else(|| env::var(name).ok().filter(|it| !it.is_empty()))
    };
    if given("--kube-apiserver", "HELM_KUBEAPISERVER").is_some() {
        return None;
    }
    let home = env::var("HOME").unwrap_or_default();
    let paths = kube_config::paths(given("--kubeconfig", "KUBECONFIG").as_deref(), &home);
    let overrides =
        Overrides { context: given("--kube-context", "HELM_KUBECONTEXT"), namespace: None };
    let dir = env::current_dir()
        .map(|it| engine_model::path::to_text(&it).into_owned())
        .unwrap_or_default();
    let config = KubeConfig::load(&paths, &overrides, &dir, &Files).ok()?;
    // What is JSON is YAML, too.
    Some(config.pinned(&Files).ok()?.to_string())
}

/// The files of this machine.
struct Files;

impl engine_formats::Files for Files {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        fs::read(path)
    }
}

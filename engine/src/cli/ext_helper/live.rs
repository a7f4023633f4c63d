//! What a cluster has of a release, asked directly: starting kubectl takes longer than all of its answers.

use std::{collections::BTreeMap, collections::BTreeSet, env, fs, io};

use builtins::{
    kube_config::{self, KubeConfig, KubeFiles, Overrides},
    yaml,
};
use engine_kubernetes::Cluster;
use serde_json::Value;

use super::release::Release;

/// What a cluster has.
pub(super) struct Live {
    /// The revisions that helm keeps of the release.
    pub(super) revisions: Vec<Value>,
    /// All objects of the kinds that were asked for, by identity.
    pub(super) objects: BTreeMap<String, Value>,
}

/// The revisions of a release, and everything of the kinds of these objects; nothing if that cannot be known.
pub(super) fn of(release: &Release, objects: &[&Value]) -> Option<Live> {
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

async fn all(cluster: &Cluster, objects: &[&Value]) -> Option<BTreeMap<String, Value>> {
    fn text(value: &Value) -> &str {
        value.as_str().unwrap_or_default()
    }
    let places: BTreeSet<(&str, &str, &str)> = objects
        .iter()
        .map(|it| (text(&it["apiVersion"]), text(&it["kind"]), text(&it["metadata"]["namespace"])))
        .collect();
    let mut found = BTreeMap::new();
    for (api_version, kind, namespace) in places {
        let items = cluster.list(api_version, kind, namespace, &[]).await.ok()??;
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
    let config = KubeConfig::load(&paths, &overrides, &Files).ok()?;
    // What is JSON is YAML, too.
    Some(config.pinned(&Files).ok()?.to_string())
}

/// The files of this machine.
struct Files;

impl KubeFiles for Files {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        fs::read(path)
    }

    fn decode_yaml(&self, text: &str) -> Result<Value, String> {
        yaml::decode_v2(text).map_err(|error| error.to_string())
    }

    fn current_dir(&self) -> String {
        env::current_dir().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default()
    }
}

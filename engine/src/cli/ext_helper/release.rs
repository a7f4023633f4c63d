//! A Helm release, and what is remembered of its last upgrade.

use std::{collections::BTreeMap, fs, path::PathBuf};

use builtins::golang::hex;
use engine_kubernetes::uid;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{live, process};
use crate::dev_dir;

/// Flags of helm that choose a cluster, and take a value.
const SCOPE_FLAGS: [&str; 4] =
    ["--kube-context", "--kubeconfig", "--kube-apiserver", "--namespace"];

/// A release of a cluster.
pub(super) struct Release {
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    /// Flags by which helm and kubectl find the cluster, as given.
    pub(super) scope: Vec<String>,
}

/// An upgrade that went well.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Remembered {
    /// Of everything that the upgrade was made from.
    digest: String,
    /// The Secret that helm keeps the release in, by its identity.
    secret: String,
    /// What was printed.
    objects: String,
    /// Whether something runs with each upgrade that is no object of the release.
    has_hooks: bool,
    /// Whether somebody asked to start anew since.
    is_doubted: bool,
}

impl Release {
    /// The flags that choose a cluster.
    pub(super) fn scope_of(flags: &[String]) -> Vec<String> {
        let mut scope = Vec::new();
        let mut rest = flags.iter();
        while let Some(flag) = rest.next() {
            let name = flag.split('=').next().unwrap_or_default();
            let name = if name == "-n" { "--namespace" } else { name };
            if SCOPE_FLAGS.contains(&name) {
                match flag.split_once('=') {
                    Some((_, value)) => scope.extend([name.to_owned(), value.to_owned()]),
                    None => {
                        scope.push(name.to_owned());
                        scope.extend(rest.next().cloned());
                    }
                }
            }
        }
        scope
    }

    /// The flag for the namespace that the Tiltfile names.
    pub(super) fn namespace_flag(&self) -> Vec<String> {
        let named = self.namespace.iter();
        named.flat_map(|it| ["--namespace".to_owned(), it.clone()]).collect()
    }

    /// A command of helm for this release.
    pub(super) fn helm(&self, action: &[&str], more: &[String]) -> Vec<String> {
        let mut argv = vec!["helm".to_owned()];
        argv.extend(action.iter().map(|it| (*it).to_owned()));
        argv.push(self.name.clone());
        argv.extend(self.namespace_flag());
        argv.extend_from_slice(more);
        argv
    }

    /// A command of kubectl where this release is.
    pub(super) fn kubectl(&self, words: &[&str]) -> Vec<String> {
        let mut argv = self.kubectl_anywhere(words);
        argv.extend(self.namespace().into_iter().flat_map(|it| ["--namespace".to_owned(), it]));
        argv
    }

    /// A command of kubectl in the cluster of this release.
    pub(super) fn kubectl_anywhere(&self, words: &[&str]) -> Vec<String> {
        let mut argv = vec!["kubectl".to_owned()];
        argv.extend(words.iter().map(|it| (*it).to_owned()));
        let scope = self.scope.chunks(2).filter(|it| it[0] != "--namespace").flatten();
        let names = [("--kube-context", "--context"), ("--kube-apiserver", "--server")];
        argv.extend(scope.map(|word| {
            let other = names.iter().find(|it| it.0 == word);
            other.map_or(word.as_str(), |it| it.1).to_owned()
        }));
        argv
    }

    /// What the last upgrade printed, if this one would change nothing: it is made from the same, nobody else has
    /// upgraded the release, and all of its objects are there. Who asked to start anew gets an upgrade also if
    /// somebody changed an object, or if the chart has hooks.
    pub(super) fn unchanged(&self, digest: &str) -> Option<String> {
        let known = self.remembered()?;
        if known.digest != digest || known.is_doubted && known.has_hooks {
            return None;
        }
        let objects: Value = serde_json::from_str(&known.objects).ok()?;
        let objects = items(&objects);
        let live = has_known_storage().then(|| live::of(self, &objects)).flatten()?;
        if newest(&live.revisions) != Some(known.secret.as_str()) {
            return None;
        }
        let is_as_left = objects.iter().all(|it| {
            let found = it["metadata"]["uid"].as_str().and_then(|uid| live.objects.get(uid));
            found.is_some_and(|found| !known.is_doubted || content(found) == content(it))
        });
        if is_as_left && known.is_doubted {
            self.keep(&Remembered { is_doubted: false, ..known });
            return self.remembered().map(|it| it.objects);
        }
        is_as_left.then_some(known.objects)
    }

    /// What there is to remember of an upgrade that was made from this, but for its objects.
    pub(super) fn note(&self, digest: String) -> Option<Remembered> {
        let live = has_known_storage().then(|| live::of(self, &[])).flatten()?;
        let secret = newest(&live.revisions)?.to_owned();
        let hooks = process::quiet_output(&self.helm(&["get", "hooks"], &self.scope));
        let has_hooks = hooks.is_none_or(|it| !it.trim().is_empty());
        Some(Remembered { digest, secret, objects: String::new(), has_hooks, is_doubted: false })
    }

    /// Keeps an upgrade; what cannot be kept costs an upgrade, and nothing else.
    pub(super) fn remember(&self, noted: Remembered, objects: &str) {
        self.keep(&Remembered { objects: objects.to_owned(), ..noted });
    }

    /// Looks closer at the objects the next time.
    pub(super) fn doubt(&self) {
        if let Some(known) = self.remembered() {
            self.keep(&Remembered { is_doubted: true, ..known });
        }
    }

    fn remembered(&self) -> Option<Remembered> {
        serde_json::from_slice(&fs::read(self.file()?).ok()?).ok()
    }

    fn keep(&self, kept: &Remembered) {
        let Some(file) = self.file() else { return };
        let partial = file.with_extension(format!("{}.partial", std::process::id()));
        let folder = file.parent().unwrap_or(&file);
        let _ = fs::create_dir_all(folder)
            .and_then(|()| fs::write(&partial, serde_json::to_vec(kept).unwrap_or_default()))
            .and_then(|()| fs::rename(&partial, &file));
    }

    /// Forgets all upgrades.
    pub(super) fn forget(&self) {
        if let Some(file) = self.file() {
            // There may be none.
            let _ = fs::remove_file(file);
        }
    }

    /// The namespace of the release, if it is said.
    pub(super) fn namespace(&self) -> Option<String> {
        let said = self.namespace.as_deref().or_else(|| self.flag("--namespace"));
        said.map(str::to_owned)
            .or_else(|| std::env::var("HELM_NAMESPACE").ok())
            .filter(|it| !it.is_empty())
    }

    /// The value of a flag that chooses a cluster.
    pub(super) fn flag(&self, name: &str) -> Option<&str> {
        let found = self.scope.chunks(2).rfind(|it| it[0] == name)?;
        found.get(1).map(String::as_str)
    }

    /// Where the last upgrade is kept: one file for each release of each cluster.
    fn file(&self) -> Option<PathBuf> {
        let mut hash = Sha256::new();
        for part in
            [Some(&self.name), self.namespace.as_ref()].into_iter().flatten().chain(&self.scope)
        {
            hash.update(part);
            hash.update([0]);
        }
        hash.update(std::env::var("KUBECONFIG").unwrap_or_default());
        let name = hex::encode(&hash.finalize());
        Some(dev_dir::create().ok()?.join("helm-releases").join(format!("{}.json", &name[..32])))
    }
}

/// Whether helm keeps releases in Secrets, the only place that is looked at.
fn has_known_storage() -> bool {
    let chosen = std::env::var("HELM_DRIVER").ok();
    chosen.is_none_or(|it| ["", "secret", "secrets"].contains(&&*it))
}

/// The identity of the newest revision, if it is deployed; a release that failed has none that counts.
fn newest(revisions: &[Value]) -> Option<&str> {
    fn label<'a>(revision: &'a Value, name: &str) -> &'a str {
        revision["metadata"]["labels"][name].as_str().unwrap_or_default()
    }
    let newest =
        revisions.iter().max_by_key(|it| label(it, "version").parse::<u64>().unwrap_or(0))?;
    (label(newest, "status") == "deployed").then(|| uid(newest))
}

/// The objects that were printed.
fn items(objects: &Value) -> Vec<&Value> {
    match objects["items"].as_array() {
        Some(items) => items.iter().collect(),
        None if objects["metadata"].is_object() => vec![objects],
        None => Vec::new(),
    }
}

/// What a chart says of an object, without what the cluster notes about it.
fn content(object: &Value) -> BTreeMap<&str, &Value> {
    let fields = object.as_object().into_iter().flatten();
    let fields = fields.map(|(key, it)| match key.as_str() {
        "metadata" => ("labels", &it["labels"]),
        key => (key, it),
    });
    fields.filter(|(key, _)| !["apiVersion", "kind", "status"].contains(key)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_revision_counts_if_it_is_deployed() {
        let found = |text: &str| {
            let revision = |(at, (version, status)): (usize, (&str, &str))| {
                let labels = serde_json::json!({"version": version, "status": status});
                serde_json::json!({"metadata": {"uid": at.to_string(), "labels": labels}})
            };
            let fields = text.split(',').filter_map(|it| it.split_once(' ')).enumerate();
            let revisions: Vec<Value> = fields.map(revision).collect();
            newest(&revisions).map(str::to_owned)
        };
        assert_eq!(found("1 superseded,10 deployed,9 superseded").as_deref(), Some("1"));
        assert_eq!(found("1 deployed,2 failed"), None);
        assert_eq!(found("1 deployed,2 pending-upgrade"), None);
        assert_eq!(found(""), None);
    }

    #[test]
    fn flags_that_choose_a_cluster_are_found() {
        let flags = |text: &str| {
            let flags: Vec<String> = text.split(' ').map(str::to_owned).collect();
            Release::scope_of(&flags).join(" ")
        };
        assert_eq!(
            flags("--set a=b -n x --wait --kube-context=c"),
            "--namespace x --kube-context c"
        );
        assert_eq!(flags("--set=namespace=b"), "");
        assert_eq!(flags("--namespace"), "--namespace");
    }

    #[test]
    fn kubectl_looks_where_helm_does() {
        let scope = ["--kube-context", "c", "--namespace", "n"].map(str::to_owned).to_vec();
        let release = Release { name: "r".to_owned(), namespace: None, scope };
        let pods = release.kubectl(&["get", "pods"]).join(" ");
        assert_eq!(pods, "kubectl get pods --context c --namespace n");
        assert_eq!(release.kubectl_anywhere(&["get"]).join(" "), "kubectl get --context c");
    }

    #[test]
    fn only_what_a_chart_says_of_an_object_counts() {
        let object = |replicas: u32, revision: &str, label: &str| {
            serde_json::json!({
                "kind": "Deployment",
                "metadata": {"resourceVersion": revision, "labels": {"app": label}},
                "spec": {"replicas": replicas},
                "status": {"observedGeneration": revision},
            })
        };
        let left = object(1, "1", "a");
        assert_eq!(content(&left), content(&object(1, "2", "a")));
        assert_ne!(content(&left), content(&object(2, "2", "a")));
        assert_ne!(content(&left), content(&object(1, "2", "b")));
    }
}

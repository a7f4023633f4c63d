//! A Helm release, and the record of its last upgrade.
//!
//! The record holds only names and digests of objects, because some objects are secrets.

use std::{collections::BTreeMap, fs, path::PathBuf};

use engine_files::dev_dir;
use engine_formats::golang::hex;
use engine_kubernetes::uid;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{live, process};
use crate::state_file::{self, Found};
use engine_cli::Printer;

/// The format version of the file. The first version kept whole objects.
const VERSION: u32 = 2;

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

/// The record of a successful upgrade.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Remembered {
    /// Of everything that the upgrade was made from.
    digest: String,
    /// The Secret that helm keeps the release in, by its identity.
    secret: String,
    /// What digests of objects begin with, so that equal ones cannot be found by comparing files.
    salt: String,
    /// The objects of the release.
    objects: Vec<KnownObject>,
    /// Whether something runs with each upgrade that is no object of the release.
    has_hooks: bool,
    /// Whether somebody asked to start anew since.
    is_doubted: bool,
}

/// An object of a release.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct KnownObject {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) namespace: String,
    uid: String,
    /// The digest of its content.
    content: String,
}

impl KnownObject {
    fn new(object: &Value, salt: &str) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &object["metadata"];
        Self {
            api_version: text(&object["apiVersion"]),
            kind: text(&object["kind"]),
            namespace: text(&metadata["namespace"]),
            uid: text(&metadata["uid"]),
            content: content_digest(object, salt),
        }
    }

    /// The object as kubectl prints it; lists of the API server leave out what it is.
    fn printed(&self, found: &Value) -> Value {
        let mut object = found.clone();
        object["apiVersion"] = json!(self.api_version);
        object["kind"] = json!(self.kind);
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.shift_remove("managedFields");
        }
        object
    }
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

    /// A helm command line for this release.
    pub(super) fn helm(&self, action: &[&str], more: &[String]) -> Vec<String> {
        let mut argv = vec!["helm".to_owned()];
        argv.extend(action.iter().map(|it| (*it).to_owned()));
        argv.push(self.name.clone());
        argv.extend(self.namespace_flag());
        argv.extend_from_slice(more);
        argv
    }

    /// A kubectl command line in the namespace of this release.
    pub(super) fn kubectl(&self, words: &[&str]) -> Vec<String> {
        let mut argv = self.kubectl_anywhere(words);
        argv.extend(self.namespace().into_iter().flat_map(|it| ["--namespace".to_owned(), it]));
        argv
    }

    /// A kubectl command line in the cluster of this release.
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

    /// The objects of the release, if an upgrade would change nothing: it is made from the same, nobody else has
    /// upgraded the release, and all of its objects are there. Who asked to start anew gets an upgrade also if
    /// somebody changed an object, or if the chart has hooks.
    pub(super) fn unchanged(&self, digest: &str, printer: Printer) -> Option<String> {
        let known: Remembered =
            match self.file().map_or(Found::Nothing, |it| state_file::read(&it, VERSION)) {
                Found::Content(known) => known,
                Found::Nothing => return None,
                Found::Newer(text) => {
                    printer.err(&format!("{text}\n"));
                    return None;
                }
            };
        if known.digest != digest || known.is_doubted && known.has_hooks {
            return None;
        }
        let live = has_known_storage().then(|| live::of(self, &known.objects)).flatten()?;
        if newest(&live.revisions) != Some(known.secret.as_str()) {
            return None;
        }
        let objects = as_left(&known, &live.objects)?;
        if known.is_doubted {
            self.keep(&Remembered { is_doubted: false, ..known });
        }
        Some(format!("{}\n", json!({"apiVersion": "v1", "kind": "List", "items": objects})))
    }

    /// The record of an upgrade with this digest, without its objects.
    pub(super) fn note(&self, digest: String) -> Option<Remembered> {
        let live = has_known_storage().then(|| live::of(self, &[])).flatten()?;
        let secret = newest(&live.revisions)?.to_owned();
        let hooks = process::quiet_output(&self.helm(&["get", "hooks"], &self.scope));
        let has_hooks = hooks.is_none_or(|it| !it.trim().is_empty());
        let salt = uuid::Uuid::new_v4().to_string();
        Some(Remembered { digest, secret, salt, objects: Vec::new(), has_hooks, is_doubted: false })
    }

    /// Saves the record of an upgrade with its printed objects; if that fails, the next upgrade is not skipped.
    pub(super) fn remember(&self, noted: Remembered, printed: &str) {
        let Ok(printed) = serde_json::from_str(printed) else { return };
        let objects = items(&printed).iter().map(|it| KnownObject::new(it, &noted.salt)).collect();
        self.keep(&Remembered { objects, ..noted });
    }

    /// Makes the next apply compare the content of objects.
    pub(super) fn doubt(&self) {
        let Some(file) = self.file() else { return };
        if let Found::Content(known) = state_file::read(&file, VERSION) {
            self.keep(&Remembered { is_doubted: true, ..known });
        }
    }

    fn keep(&self, kept: &Remembered) {
        if let Some(file) = self.file() {
            let _ = state_file::write(&file, VERSION, kept);
        }
    }

    /// Deletes the record of the last upgrade.
    pub(super) fn forget(&self) {
        if let Some(file) = self.file() {
            // There may be none.
            let _ = fs::remove_file(file);
        }
    }

    /// The namespace of the release, if one is set.
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

    /// The file of the record: one for each release of each cluster.
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
        Some(folder()?.join(format!("{}.json", &name[..32])))
    }
}

fn folder() -> Option<PathBuf> {
    Some(dev_dir::path().ok()?.join("helm-releases"))
}

/// Removes the records of earlier versions, which contain secrets of the cluster.
pub(crate) fn forget_old() {
    let Some(folder) = folder() else { return };
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|it| it.path()) {
        let is_old = match path.extension() {
            Some(it) if it == "json" => {
                matches!(state_file::read::<Remembered>(&path, VERSION), Found::Nothing)
            }
            // Drafts of this version have names that begin with a dot, and no secrets.
            Some(it) if it == "partial" => {
                !path.file_name().is_some_and(|it| it.as_encoded_bytes().starts_with(b"."))
            }
            _ => false,
        };
        if is_old {
            // Another engine may have done so.
            let _ = fs::remove_file(path);
        }
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

/// The objects as the cluster has them, if all of them are there; also if they are as they were left, where that is
/// in doubt.
fn as_left(known: &Remembered, live: &BTreeMap<String, Value>) -> Option<Vec<Value>> {
    let found = |it: &KnownObject| {
        let object = live.get(&it.uid)?;
        let is_as_left = !known.is_doubted || content_digest(object, &known.salt) == it.content;
        is_as_left.then(|| it.printed(object))
    };
    known.objects.iter().map(found).collect()
}

/// Tells one content from another, and nothing else.
fn content_digest(object: &Value, salt: &str) -> String {
    let mut content: Value =
        content(object).into_iter().map(|(key, it)| (key, it.clone())).collect();
    content.sort_all_objects();
    hex::encode(&Sha256::digest(format!("{salt} {content}")))
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

    fn remembered(objects: &[Value], is_doubted: bool) -> Remembered {
        let objects = objects.iter().map(|it| KnownObject::new(it, "salt")).collect();
        let text = String::new;
        let salt = "salt".to_owned();
        Remembered { digest: text(), secret: text(), salt, objects, has_hooks: false, is_doubted }
    }

    fn secret(password: &str) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": "db",
                "namespace": "shop",
                "uid": "1",
                "annotations": {"kubectl.kubernetes.io/last-applied-configuration": password},
            },
            "data": {"password": password},
            "stringData": {"password": password},
        })
    }

    #[test]
    fn nothing_of_a_secret_is_kept_but_a_change_of_it_is_noticed() {
        let known = remembered(&[secret("aHVudGVyMg==")], true);
        let kept = serde_json::to_string(&known).unwrap();
        assert!(!kept.contains("aHVudGVyMg") && kept.contains("\"Secret\""), "{kept}");

        let live = |password: &str| {
            let mut object = secret(password);
            let fields = object.as_object_mut().unwrap();
            fields.retain(|key, _| key != "kind" && key != "apiVersion");
            fields["metadata"]["resourceVersion"] = json!("7");
            fields["metadata"]["managedFields"] = json!([{}]);
            BTreeMap::from([("1".to_owned(), object)])
        };
        let printed = as_left(&known, &live("aHVudGVyMg==")).unwrap();
        assert_eq!(
            (&printed[0]["kind"], &printed[0]["apiVersion"]),
            (&json!("Secret"), &json!("v1"))
        );
        assert_eq!(printed[0]["data"], json!({"password": "aHVudGVyMg=="}));
        assert_eq!(printed[0]["metadata"]["managedFields"], Value::Null);
        assert_eq!(as_left(&known, &live("b3RoZXI=")), None, "it has changed");
        assert_eq!(as_left(&known, &BTreeMap::new()), None, "it is gone");
        let trusted = remembered(&[secret("aHVudGVyMg==")], false);
        assert!(as_left(&trusted, &live("b3RoZXI=")).is_some());
    }

    #[test]
    fn the_order_of_fields_does_not_matter() {
        let one: Value =
            serde_json::from_str(r#"{"data": {"a": "1", "b": {"c": 1, "d": 2}}}"#).unwrap();
        let other: Value =
            serde_json::from_str(r#"{"data": {"b": {"d": 2, "c": 1}, "a": "1"}}"#).unwrap();
        assert_eq!(content_digest(&one, ""), content_digest(&other, ""));
        assert_ne!(content_digest(&one, ""), content_digest(&one, "x"));
    }
}

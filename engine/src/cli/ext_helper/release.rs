//! A Helm release, and what is remembered of its last upgrade.

use std::{collections::BTreeSet, fs, path::PathBuf};

use builtins::golang::hex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::process;
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
struct Remembered {
    /// Of everything that the upgrade was made from.
    digest: String,
    /// The Secret that helm keeps the release in, by its identity.
    secret: String,
    /// What was printed.
    objects: String,
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
        let mut argv = vec!["kubectl".to_owned()];
        let scope: Vec<String> = self
            .scope
            .chunks(2)
            .filter(|it| self.namespace.is_none() || it[0] != "--namespace")
            .flatten()
            .map(|it| if it == "--kube-context" { "--context".to_owned() } else { it.clone() })
            .collect();
        argv.extend(scope);
        argv.extend(self.namespace_flag());
        argv.extend(words.iter().map(|it| (*it).to_owned()));
        argv
    }

    /// What the last upgrade printed, if this one would change nothing: it is made from the same, nobody else has
    /// upgraded the release, and all of its objects are there.
    pub(super) fn unchanged(&self, digest: &str) -> Option<String> {
        let file = self.file()?;
        let known: Remembered = serde_json::from_slice(&fs::read(file).ok()?).ok()?;
        if known.digest != digest {
            return None;
        }
        let objects: Value = serde_json::from_str(&known.objects).ok()?;
        let (is_current, has_all) = std::thread::scope(|scope| {
            let current = scope.spawn(|| self.secret().as_ref() == Some(&known.secret));
            let has_all = has_all(self, &objects);
            (current.join().unwrap_or(false), has_all)
        });
        (is_current && has_all).then_some(known.objects)
    }

    /// Keeps what an upgrade was made from; what cannot be kept costs an upgrade, and nothing else.
    pub(super) fn remember(&self, digest: String, objects: &str) {
        let Some((file, secret)) = self.file().zip(self.secret()) else { return };
        let kept = Remembered { digest, secret, objects: objects.to_owned() };
        let partial = file.with_extension(format!("{}.partial", std::process::id()));
        let folder = file.parent().unwrap_or(&file);
        let _ = fs::create_dir_all(folder)
            .and_then(|()| fs::write(&partial, serde_json::to_vec(&kept).unwrap_or_default()))
            .and_then(|()| fs::rename(&partial, &file));
    }

    /// Forgets all upgrades.
    pub(super) fn forget(&self) {
        if let Some(file) = self.file() {
            // There may be none.
            let _ = fs::remove_file(file);
        }
    }

    /// The newest Secret of the release, by its identity; a release that failed has none that counts.
    fn secret(&self) -> Option<String> {
        if std::env::var("HELM_DRIVER").is_ok_and(|it| !["", "secret", "secrets"].contains(&&*it)) {
            return None;
        }
        let labels = format!("owner=helm,name={}", self.name);
        let fields = "{range .items[*]}{.metadata.labels.version} {.metadata.labels.status} {.metadata.uid}\n{end}";
        let path = format!("jsonpath={fields}");
        let text =
            process::quiet_output(&self.kubectl(&["get", "secrets", "-l", &labels, "-o", &path]))?;
        newest(&text)
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

/// The identity of the newest revision, if it is deployed.
fn newest(revisions: &str) -> Option<String> {
    let parsed = revisions.lines().filter_map(|line| {
        let mut fields = line.split(' ');
        Some((fields.next()?.parse::<u64>().ok()?, fields.next()?, fields.next()?))
    });
    let (_, status, uid) = parsed.max_by_key(|it| it.0)?;
    (status == "deployed").then(|| uid.to_owned())
}

/// Whether all objects still are in the cluster; one question for all kinds of a namespace.
fn has_all(release: &Release, objects: &Value) -> bool {
    let none = Vec::new();
    let items = objects["items"].as_array().unwrap_or(&none);
    let items: Vec<&Value> = if items.is_empty() && objects["metadata"].is_object() {
        vec![objects]
    } else {
        items.iter().collect()
    };
    let kinds: BTreeSet<String> = items.iter().map(|it| kind(it)).collect();
    let namespaces: BTreeSet<&str> =
        items.iter().filter_map(|it| it["metadata"]["namespace"].as_str()).collect();
    if kinds.is_empty() {
        return true;
    }
    let kinds = kinds.into_iter().collect::<Vec<_>>().join(",");
    let mut found = String::new();
    for namespace in if namespaces.is_empty() { BTreeSet::from([""]) } else { namespaces } {
        let mut words = vec!["get", &kinds, "-o", "jsonpath={.items[*].metadata.uid}"];
        let namespace = format!("--namespace={namespace}");
        words.push(&namespace);
        let Some(text) = process::quiet_output(&release.kubectl(&words)) else { return false };
        found.push_str(&text);
        found.push(' ');
    }
    let found: BTreeSet<&str> = found.split_whitespace().collect();
    items.iter().all(|it| it["metadata"]["uid"].as_str().is_some_and(|uid| found.contains(uid)))
}

/// A kind as kubectl takes it: `kind.version.group`.
fn kind(object: &Value) -> String {
    let text = |key: &str| object[key].as_str().unwrap_or_default();
    match text("apiVersion").split_once('/') {
        Some((group, version)) => format!("{}.{version}.{group}", text("kind")),
        None => text("kind").to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_revision_counts_if_it_is_deployed() {
        assert_eq!(newest("1 superseded a\n10 deployed c\n9 superseded b\n").as_deref(), Some("c"));
        assert_eq!(newest("1 deployed a\n2 failed b\n"), None);
        assert_eq!(newest("1 deployed a\n2 pending-upgrade b\n"), None);
        assert_eq!(newest(""), None);
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
    fn kinds_have_the_group_that_kubectl_needs() {
        let of = |version: &str, kind_name: &str| {
            kind(&serde_json::json!({"apiVersion": version, "kind": kind_name}))
        };
        assert_eq!(of("v1", "Service"), "Service");
        assert_eq!(of("apps/v1", "Deployment"), "Deployment.v1.apps");
    }
}

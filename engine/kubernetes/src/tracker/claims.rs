//! Which pods are claimed by which resources, kept up pod by pod: a change of one pod among thousands costs little.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The claims of all resources.
#[derive(Debug, Default)]
pub(super) struct Claims {
    /// The resources that claim a pod, and through which ancestor.
    by_pod: HashMap<String, BTreeMap<String, Option<String>>>,
    by_resource: HashMap<String, BTreeSet<String>>,
    /// The resources whose pods, or what they are, changed.
    touched: BTreeSet<String>,
}

impl Claims {
    /// A pod is claimed anew; by nobody if it is gone.
    pub(super) fn set(&mut self, pod: &str, claims: BTreeMap<String, Option<String>>) {
        let before = self.by_pod.remove(pod).unwrap_or_default();
        for resource in before.into_keys() {
            if let Some(pods) = self.by_resource.get_mut(&resource) {
                pods.remove(pod);
            }
            self.touched.insert(resource);
        }
        for resource in claims.keys() {
            self.by_resource.entry(resource.clone()).or_default().insert(pod.to_owned());
            self.touched.insert(resource.clone());
        }
        if !claims.is_empty() {
            self.by_pod.insert(pod.to_owned(), claims);
        }
    }

    /// A resource has to be looked at, whether its pods changed or not.
    pub(super) fn touch(&mut self, resource: &str) {
        self.touched.insert(resource.to_owned());
    }

    /// The resources that have to be looked at since this was asked last.
    pub(super) fn take_touched(&mut self) -> BTreeSet<String> {
        let touched = std::mem::take(&mut self.touched);
        self.by_resource.retain(|_, pods| !pods.is_empty());
        touched
    }

    /// The pods of a resource, each with its ancestor.
    pub(super) fn pods<'a>(
        &'a self,
        resource: &'a str,
    ) -> impl Iterator<Item = (&'a str, Option<&'a str>)> {
        self.by_resource.get(resource).into_iter().flatten().map(move |pod| {
            let ancestor = self.by_pod.get(pod).and_then(|it| it.get(resource)?.as_deref());
            (pod.as_str(), ancestor)
        })
    }
}

//! Decides which services belong to a workload: those whose selector matches the labels of its pods.
//!
//! Services are found by one label of their selector, so that a thousand workloads with a thousand services do not take
//! a million comparisons.

use std::collections::HashMap;

use serde_json::Value;

use super::object::Object;

/// The services among a list of objects.
#[derive(Debug, Default)]
pub struct ServiceIndex<'a> {
    /// Places and services by one label that their selector asks for, in the order of the list.
    by_label: HashMap<(&'a str, &'a Value), Vec<(usize, &'a Object)>>,
}

impl<'a> ServiceIndex<'a> {
    /// Collects the services with a selector.
    pub fn new(objects: impl IntoIterator<Item = &'a Object>) -> Self {
        let mut index = Self::default();
        for (place, object) in objects.into_iter().enumerate() {
            if let Some((key, value)) =
                object.service_selector().and_then(|selector| selector.iter().next())
            {
                index.by_label.entry((key, value)).or_default().push((place, object));
            }
        }
        index
    }

    /// The places of the services that send traffic to the pods of a workload, in the order in which Tilt takes them.
    pub fn matching(&self, workload: &Object) -> Vec<usize> {
        let mut places = Vec::new();
        for labels in workload.pod_template_labels() {
            let candidates = labels
                .into_iter()
                .flatten()
                .filter_map(|(key, value)| self.by_label.get(&(&**key, value)));
            let matching = candidates
                .flatten()
                .filter(|(_, service)| service.selects(labels, workload.namespace()));
            let mut found: Vec<usize> = matching.map(|(place, _)| *place).collect();
            found.sort_unstable();
            found.retain(|place| !places.contains(place));
            places.append(&mut found);
        }
        places
    }
}

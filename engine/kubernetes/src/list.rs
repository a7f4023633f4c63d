//! All objects of one kind, as they are at the moment.

use serde_json::Value;

use crate::{Cluster, KubernetesError, request::Call};

impl Cluster {
    /// The objects of a kind: in a namespace, if the kind has namespaces, and with these labels, if any are given.
    /// Nothing if the cluster does not have the kind.
    ///
    /// # Errors
    /// If the cluster does not answer, or refuses.
    pub async fn list(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        labels: &[(&str, &str)],
    ) -> Result<Option<Vec<Value>>, KubernetesError> {
        let Some(resource) = self.find_resource(api_version, kind).await? else {
            return Ok(None);
        };
        let namespace = if namespace.is_empty() { self.namespace() } else { namespace };
        let mut path = resource.collection(namespace);
        if !labels.is_empty() {
            // Names and values of labels have no character that has to be escaped, but for the slash.
            let labels = labels.iter().map(|(name, value)| format!("{name}%3D{value}"));
            path.push_str("?labelSelector=");
            path.push_str(&labels.collect::<Vec<_>>().join("%2C"));
        }
        let mut list = self.send(&Call::get(&path).retried()).await?;
        match list.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) => Ok(Some(items)),
            _ => Ok(Some(Vec::new())),
        }
    }
}

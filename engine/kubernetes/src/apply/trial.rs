//! Asks whether an object would be accepted, without writing it.

use std::time::Duration;

use hyper::Method;
use serde_json::Value;

use super::{ownership::MANAGER, server_side::APPLY, wanted::Wanted};
use crate::{Cluster, KubernetesError, ObjectKey, request::Call};

/// How long the answer may take; a webhook has ten seconds if it does not say otherwise.
const ANSWER: Duration = Duration::from_secs(12);

impl Cluster {
    /// Whether the server would take an object now: quotas, policies and webhooks are asked, and nothing is written.
    ///
    /// # Errors
    /// If it would refuse, or does not answer.
    pub async fn would_take(&self, object: &Value) -> Result<(), KubernetesError> {
        let key = ObjectKey::of(object);
        let resource = self.resource(&key.api_version, &key.kind).await?;
        let wanted = Wanted::new(self, resource, object.clone());
        let path = format!("{}?fieldManager={MANAGER}&force=true&dryRun=All", wanted.path());
        let call = Call::write(Method::PATCH, &path, APPLY, wanted.plain().to_string().into());
        self.send(&call.within(ANSWER)).await.map(drop)
    }
}

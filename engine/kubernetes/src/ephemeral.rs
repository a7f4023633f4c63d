//! Puts a container into a pod that runs, for images that have nothing to work with inside.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod as ApiPod;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::audit::Pending;
use crate::pods;
use crate::{Cluster, ContainerPlace, ContainerState, KubernetesError, ObjectKey, Verb};

/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(30);
/// Why containers are put into pods, for the audit.
const CAUSE: &str = "live update";

/// A container that is put into a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EphemeralContainer {
    /// Its name, which no other container of the pod may have had.
    pub name: String,
    /// Its image.
    pub image: String,
    /// What it runs.
    pub command: Vec<String>,
    /// The container whose processes it sees.
    pub target: String,
    /// As which user it runs; nothing for that of the image.
    pub user: Option<i64>,
    /// What it may do beyond what others may, such as `SYS_PTRACE`.
    pub capabilities: Vec<String>,
    /// It has an input that stays open.
    pub with_stdin: bool,
}

impl EphemeralContainer {
    fn to_json(&self) -> Value {
        let mut security = json!({});
        if let Some(user) = self.user {
            security["runAsUser"] = json!(user);
            if user == 0 {
                security["runAsNonRoot"] = json!(false);
            }
        }
        if !self.capabilities.is_empty() {
            security["capabilities"] = json!({ "add": self.capabilities });
        }
        json!({
            "name": self.name,
            "image": self.image,
            "imagePullPolicy": "IfNotPresent",
            "command": self.command,
            "targetContainerName": self.target,
            "stdin": self.with_stdin,
            "securityContext": security,
            "terminationMessagePolicy": "File",
        })
    }
}

impl Cluster {
    /// Puts a container into a pod; one with the name that is there already stays as it is.
    ///
    /// # Errors
    /// If the API server refuses, or cannot be reached.
    pub async fn add_ephemeral_container(
        &self,
        namespace: &str,
        pod: &str,
        container: &EphemeralContainer,
    ) -> Result<(), KubernetesError> {
        let api: Api<ApiPod> = Api::namespaced(self.client().clone(), namespace);
        let known = self.answered(ANSWER, api.get(pod)).await?;
        let known = known.spec.and_then(|it| it.ephemeral_containers);
        if known.into_iter().flatten().any(|it| it.name == container.name) {
            return Ok(());
        }
        let key = ObjectKey {
            api_version: "v1".to_owned(),
            kind: "Pod".to_owned(),
            namespace: namespace.to_owned(),
            name: pod.to_owned(),
        };
        let pending = Pending::new(self, Verb::Patch, &key, CAUSE);
        let patch = json!({ "spec": { "ephemeralContainers": [container.to_json()] } });
        let params = PatchParams::default();
        let patch = Patch::Strategic(patch);
        let patching = api.patch_ephemeral_containers(pod, &params, &patch);
        let sent = self.answered(ANSWER, patching).await.map(drop);
        pending.ended(&sent);
        sent
    }

    /// Waits until a container that was put into a pod runs.
    ///
    /// # Errors
    /// If it ends or cannot start, if the pod is gone, or after some time.
    pub async fn wait_ephemeral(
        &self,
        at: &ContainerPlace,
        limit: Duration,
    ) -> Result<(), KubernetesError> {
        let api: Api<ApiPod> = Api::namespaced(self.client().clone(), &at.namespace);
        let end = Instant::now() + limit;
        loop {
            let pod = pods::pod(self.answered(ANSWER, api.get(&at.pod)).await?);
            let found = pod.ephemeral_containers.iter().find(|it| it.name == at.container);
            let why = match found.map(|it| &it.state) {
                Some(ContainerState::Running { .. }) => return Ok(()),
                Some(ContainerState::Terminated { exit_code, .. }) => {
                    let words = format!("container {} ended with code {exit_code}", at.container);
                    return Err(KubernetesError::Request(words));
                }
                Some(state @ ContainerState::Waiting { reason }) if state.is_error() => {
                    let words = format!("container {} cannot start: {reason}", at.container);
                    return Err(KubernetesError::Request(words));
                }
                Some(ContainerState::Waiting { reason }) => reason.clone(),
                Some(ContainerState::Unknown) | None => "it has not started yet".to_owned(),
            };
            if Instant::now() >= end {
                let words = format!("container {} is not running: {why}", at.container);
                return Err(KubernetesError::Request(words));
            }
            sleep(Duration::from_millis(100)).await;
        }
    }
}

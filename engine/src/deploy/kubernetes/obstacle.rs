//! What stands in the way of an update for a while: a quota, a webhook, a namespace that is going away, a cluster
//! that does not answer. It is said with the way out, and the update runs again when it is gone.

use std::sync::Arc;

use engine_core::retry::{Obstacle, Trial};
use engine_kubernetes::{Cluster, Failure, KubernetesError, ObjectKey};
use serde_json::Value;

use crate::deploy::UpdateError;

/// The words of an API server about a webhook that does not know what a trial is.
const NO_TRIAL: &str = "does not support dry run";

/// Why an object could not be applied, with the way out where there is one.
pub fn of(failure: Failure) -> UpdateError {
    match way_out(&failure.error, &failure.object) {
        Some(way_out) => UpdateError::Refused { failure: Box::new(failure), way_out },
        None => failure.error.into(),
    }
}

impl UpdateError {
    /// What stands in the way of the update, if that may go by itself.
    pub fn obstacle(&self) -> Option<Obstacle> {
        match self {
            Self::Cluster(KubernetesError::Unreachable(_)) => Some(Obstacle::Silence),
            Self::Refused { failure, .. } => {
                let Failure { object, error } = (**failure).clone();
                let (code, missing_namespace) = (error.code(), missing_namespace(&error));
                let object = Arc::new(object.into());
                Some(Obstacle::Refusal { object, code, missing_namespace })
            }
            _ => None,
        }
    }
}

/// Asks the cluster whether an obstacle is gone.
pub async fn trial(obstacle: &Obstacle, cluster: &Cluster) -> Trial {
    let answer = match obstacle {
        Obstacle::Silence => cluster.check_health().await.map_err(|_| Trial::Failed),
        Obstacle::Refusal { object, .. } => {
            cluster.would_take(&object.value).await.map_err(|it| refused(&it))
        }
    };
    answer.map_or_else(|it| it, |()| Trial::Accepted)
}

fn refused(error: &KubernetesError) -> Trial {
    match error {
        KubernetesError::Refused(it) => {
            Trial::Refused { code: it.code, is_no_trial: it.message.contains(NO_TRIAL) }
        }
        _ => Trial::Failed,
    }
}

/// The name of the namespace that is missing, if that is what is wrong.
fn missing_namespace(error: &KubernetesError) -> Option<String> {
    let text = error.to_string();
    let (_, rest) = text.split_once("namespaces \"")?;
    let (name, rest) = rest.split_once('"')?;
    (error.code() == Some(404) && rest.starts_with(" not found")).then(|| name.to_owned())
}

/// What a person can do about a refusal; nothing if it does not go by itself.
fn way_out(error: &KubernetesError, object: &Value) -> Option<String> {
    let text = error.to_string();
    let namespace = ObjectKey::of(object).namespace;
    let of_namespace = match namespace.as_str() {
        "" => String::new(),
        name => format!(" --namespace {name}"),
    };
    let cause = if let Some((_, rest)) = text.split_once("exceeded quota: ") {
        let quota = rest.split([',', ' ']).next().unwrap_or_default();
        format!(
            "Quota {quota} is exhausted: free up resources, or raise it (kubectl describe quota {quota}{of_namespace})."
        )
    } else if text.contains("because it is being terminated") {
        format!(
            "The namespace is being deleted: find out what blocks that (kubectl get namespace {namespace} --output yaml)."
        )
    } else if let Some(name) = missing_namespace(error) {
        format!("The namespace does not exist: create it (kubectl create namespace {name}).")
    } else if let Some(name) = webhook(&text) {
        let how = if text.contains("failed calling webhook") {
            "does not answer: repair or remove it"
        } else {
            "rejects this: change the object, or the rules of the webhook"
        };
        format!(
            "The admission webhook {name} {how} (kubectl get \
             validatingwebhookconfigurations,mutatingwebhookconfigurations)."
        )
    } else {
        match error.code()? {
            403 => "The cluster does not allow this: change the object, or your permissions."
                .to_owned(),
            429 | 500.. => "The cluster itself has a problem.".to_owned(),
            _ => return None,
        }
    };
    Some(format!("{cause} The update runs again automatically when the cluster accepts it."))
}

/// The webhook that a refusal names.
fn webhook(text: &str) -> Option<&str> {
    let after = |words: &str| text.split_once(words).map(|(_, rest)| rest);
    let rest = after("failed calling webhook \"").or_else(|| after("admission webhook \""))?;
    rest.split_once('"').map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use engine_kubernetes::Refusal;
    use serde_json::json;

    use super::*;

    fn refused(code: u16, message: &str) -> KubernetesError {
        let (reason, message) = (String::new(), message.to_owned());
        KubernetesError::Refused(Box::new(Refusal { code, reason, message }))
    }

    #[test]
    fn what_may_go_by_itself_is_said_with_the_way_out() {
        let object = json!({"kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"}});
        for (code, message, start) in [
            (
                403,
                "configmaps \"a\" is forbidden: exceeded quota: few, requested: count/configmaps=1",
                "Quota few is exhausted: free up resources, or raise it (kubectl describe quota few --namespace n).",
            ),
            (
                403,
                "configmaps \"a\" is forbidden: unable to create new content in namespace n because it is being terminated",
                "The namespace is being deleted: find out what blocks that (kubectl get namespace n --output yaml).",
            ),
            (
                404,
                "namespaces \"n\" not found",
                "The namespace does not exist: create it (kubectl create namespace n).",
            ),
            (
                500,
                "Internal error occurred: failed calling webhook \"w.example.com\": failed to call webhook: EOF",
                "The admission webhook w.example.com does not answer: repair or remove it (",
            ),
            (
                400,
                "admission webhook \"w.example.com\" denied the request: no",
                "The admission webhook w.example.com rejects this: change the object, or the rules of the webhook (",
            ),
            (403, "User \"me\" cannot create resource", "The cluster does not allow this:"),
            (503, "the server is currently unable", "The cluster itself has a problem."),
        ] {
            let words = way_out(&refused(code, message), &object).unwrap_or_default();
            assert!(words.starts_with(start), "{message}: {words}");
            assert!(words.ends_with(" runs again automatically when the cluster accepts it."));
        }
        let invalid = refused(422, "Deployment.apps \"a\" is invalid");
        assert_eq!(way_out(&invalid, &object), None, "only another object helps");
    }

    #[test]
    fn a_webhook_that_knows_no_trials_is_told_from_a_refusal() {
        let trial = |is_no_trial: bool| Trial::Refused { code: 400, is_no_trial };
        assert_eq!(super::refused(&refused(400, "denied")), trial(false));
        assert_eq!(super::refused(&refused(400, "webhook does not support dry run")), trial(true));
        assert_eq!(super::refused(&KubernetesError::Unreachable(String::new())), Trial::Failed);
    }
}

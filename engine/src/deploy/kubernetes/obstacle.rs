//! What stands in the way of an update for a while: a quota, a webhook, a namespace that is going away, a cluster
//! that does not answer. It is said with the way out, and the update runs again when it is gone.

use std::time::Duration;

use engine_kubernetes::{Cluster, Failure, KubernetesError, ObjectKey};
use serde_json::Value;

use super::UpdateError;

/// How long to wait before it is looked at again: less at first, then more.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LAST_PAUSE: Duration = Duration::from_secs(3);

/// The words of an API server about a webhook that does not know what a trial is.
const NO_TRIAL: &str = "does not support dry run";

/// What stands in the way of an update, and may go by itself.
#[derive(Clone, Debug)]
pub enum Obstacle {
    /// No answer came: nobody knows how far the update came.
    Silence,
    /// The cluster refuses an object.
    Refusal {
        /// The object.
        object: Value,
        /// How it is refused.
        error: KubernetesError,
    },
}

/// Why an object could not be applied, with the way out where there is one.
#[must_use]
pub fn of(failure: Failure) -> UpdateError {
    let Failure { object, error } = failure;
    match way_out(&error, &object) {
        Some(way_out) => {
            let text = format!("{error}\n{way_out}");
            UpdateError { text, obstacle: Some(Obstacle::Refusal { object, error }) }
        }
        None => of_error(&error),
    }
}

/// Why something could not be done with the cluster that is not about one object.
#[must_use]
pub fn of_error(error: &KubernetesError) -> UpdateError {
    let obstacle = matches!(error, KubernetesError::Unreachable(_)).then_some(Obstacle::Silence);
    UpdateError { text: error.to_string(), obstacle }
}

impl Obstacle {
    /// Returns when the update may go on, after waiting longer if that was often so before.
    pub async fn gone(self, cluster: &Cluster, n_times: u32) {
        let mut pause = (FIRST_PAUSE * n_times).min(LAST_PAUSE);
        loop {
            tokio::time::sleep(pause).await;
            pause = (pause * 3 / 2).clamp(FIRST_PAUSE, LAST_PAUSE);
            let is_gone = match &self {
                Self::Silence => cluster.check_health().await.is_ok(),
                Self::Refusal { object, error } => {
                    is_news(error, cluster.would_take(object).await.err())
                }
            };
            if is_gone {
                return;
            }
        }
    }
}

/// Whether an object is not refused any more, or otherwise than before.
fn is_news(before: &KubernetesError, now: Option<KubernetesError>) -> bool {
    match now {
        None => true,
        Some(KubernetesError::Refused(now)) => {
            now.message.contains(NO_TRIAL) || Some(now.code) != before.code()
        }
        Some(_) => false,
    }
}

/// The name of the namespace that is missing, if that is what is wrong.
#[must_use]
pub fn missing_namespace(error: &KubernetesError) -> Option<String> {
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
            "The quota {quota} is used up: make room or raise it (kubectl describe quota {quota}{of_namespace})."
        )
    } else if text.contains("because it is being terminated") {
        format!(
            "The namespace is being deleted: remove what holds it (kubectl get namespace {namespace} --output yaml)."
        )
    } else if let Some(name) = missing_namespace(error) {
        format!("The namespace is not there: make it (kubectl create namespace {name}).")
    } else if let Some(name) = webhook(&text) {
        let how = if text.contains("failed calling webhook") {
            "does not answer: repair or remove it"
        } else {
            "refuses this: change the object, or what the webhook allows"
        };
        format!(
            "The admission webhook {name} {how} (kubectl get \
             validatingwebhookconfigurations,mutatingwebhookconfigurations)."
        )
    } else {
        match error.code()? {
            403 => {
                "The cluster does not allow this: change the object, or what is allowed.".to_owned()
            }
            429 | 500.. => "The cluster has trouble of its own.".to_owned(),
            _ => return None,
        }
    };
    Some(format!("{cause} The update runs again by itself when the cluster accepts it."))
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
                "The quota few is used up: make room or raise it (kubectl describe quota few --namespace n).",
            ),
            (
                403,
                "configmaps \"a\" is forbidden: unable to create new content in namespace n because it is being terminated",
                "The namespace is being deleted: remove what holds it (kubectl get namespace n --output yaml).",
            ),
            (
                404,
                "namespaces \"n\" not found",
                "The namespace is not there: make it (kubectl create namespace n).",
            ),
            (
                500,
                "Internal error occurred: failed calling webhook \"w.example.com\": failed to call webhook: EOF",
                "The admission webhook w.example.com does not answer: repair or remove it (",
            ),
            (
                400,
                "admission webhook \"w.example.com\" denied the request: no",
                "The admission webhook w.example.com refuses this: change the object, or what the webhook allows (",
            ),
            (403, "User \"me\" cannot create resource", "The cluster does not allow this:"),
            (503, "the server is currently unable", "The cluster has trouble of its own."),
        ] {
            let words = way_out(&refused(code, message), &object).unwrap_or_default();
            assert!(words.starts_with(start), "{message}: {words}");
            assert!(words.ends_with(" runs again by itself when the cluster accepts it."));
        }
        let invalid = refused(422, "Deployment.apps \"a\" is invalid");
        assert_eq!(way_out(&invalid, &object), None, "only another object helps");
    }

    #[test]
    fn an_obstacle_is_gone_when_the_answer_is_another_one() {
        let before = refused(403, "exceeded quota");
        assert!(is_news(&before, None));
        assert!(!is_news(&before, Some(refused(403, "exceeded quota"))));
        assert!(is_news(&before, Some(refused(404, "namespaces \"n\" not found"))));
        assert!(is_news(&before, Some(refused(400, "webhook does not support dry run"))));
        assert!(!is_news(&before, Some(KubernetesError::Unreachable(String::new()))));
    }
}

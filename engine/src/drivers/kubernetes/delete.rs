//! Deletes what resources have deployed; what is deployed next waits for that.

use std::{collections::BTreeSet, time::Duration};

use engine_core::resource::{
    ResourceName,
    workload::{Deletion, apply_span},
};
use engine_formats::kubernetes::{Object, parse};
use engine_kubernetes::{Cluster, DeleteOptions, DeleteOrder, KubernetesError, ObjectKey};
use engine_model::{ApplyCmd, pod::DeployedObject};
use serde_json::Value;
use tokio::sync::watch;

use super::{KubernetesDriver, Report, link::Patience};
use crate::{
    deploy::{commands::Surroundings, kubernetes::command},
    logs::LogWriter,
    tasks::{TaskKey, Tasks},
};

/// How long it may take to delete.
const DELETE_TIMEOUT: Duration = Duration::from_secs(30);

/// Waits until deletions are done.
pub(crate) async fn deleted(deletion: Option<watch::Receiver<()>>) {
    if let Some(mut deletion) = deletion {
        // It fails when the one who deletes is done.
        while deletion.changed().await.is_ok() {}
    }
}

/// One deletion.
struct Work {
    cluster: Cluster,
    patience: Patience,
    log: LogWriter,
    reason: &'static str,
    cause: String,
    surroundings: Surroundings,
}

impl<M: From<Report> + Send + 'static> KubernetesDriver<M> {
    /// Deletes in the background; what is deployed next waits for that.
    pub(crate) fn delete(
        &mut self,
        resource: &ResourceName,
        deletion: Deletion,
        reason: &'static str,
        surroundings: Surroundings,
        tasks: &mut Tasks<M>,
    ) {
        let Some(link) = &self.link else { return };
        let Some(cluster) = link.cluster.clone() else { return };
        let patience = link.patience();
        let what = match deletion {
            Deletion::Command(cmd) => Err(cmd),
            Deletion::Objects { objects, begun } => {
                let objects = values(&objects, begun, cluster.namespace());
                if objects.is_empty() {
                    return;
                }
                Ok(objects)
            }
        };
        let log = self.logs.writer(resource, &apply_span(resource));
        let cause = format!("{reason} of {resource}");
        let work = Work { cluster, patience, log, reason, cause, surroundings };
        let (done, deletion) = watch::channel(());
        let before = self.deletions.insert(resource.clone(), deletion);
        let work = async move {
            let _done = done;
            deleted(before).await;
            work.run(what).await;
        };
        let end = self.end();
        tasks.spawn(TaskKey::Delete(resource.clone()), work, move |_| end);
    }
}

impl<M> KubernetesDriver<M> {
    /// Closes when everything of a resource that was to be deleted is.
    pub(crate) fn deletion(&self, resource: &str) -> Option<watch::Receiver<()>> {
        self.deletions.get(resource).cloned()
    }
}

impl Work {
    async fn run(mut self, what: Result<Vec<Value>, ApplyCmd>) {
        self.log.info(&format!("Beginning {}", self.reason));
        let result = match what {
            Ok(objects) => match self.delete(objects).await {
                Some(result) => result.map_err(|it| it.to_string()),
                None => return,
            },
            Err(cmd) => match self.cluster.verify().await {
                Ok(()) => {
                    let output = self.log.clone().into();
                    let deleted =
                        command::delete(&cmd, &self.surroundings, DELETE_TIMEOUT, &output).await;
                    deleted.map_err(|it| it.to_string())
                }
                Err(error) => Err(error.to_string()),
            },
        };
        if let Err(error) = result {
            self.log.error(&format!("Error {}: {error}", self.reason));
        }
    }

    /// Deletes objects, those that were deployed last first; nothing if the cluster never comes back.
    async fn delete(&mut self, mut objects: Vec<Value>) -> Option<Result<(), KubernetesError>> {
        objects.reverse();
        let options = DeleteOptions {
            order: DeleteOrder::Given,
            with_namespaces: true,
            honor_down_policy: true,
            timeout: DELETE_TIMEOUT,
            wait: None,
            cause: self.cause.clone(),
        };
        loop {
            let say = |line: &str| self.log.info(line);
            let error = match self.cluster.delete(&objects, &options, &say).await {
                Ok(()) => return Some(Ok(())),
                Err(error) => error,
            };
            if !matches!(error, KubernetesError::Unreachable(_)) {
                return Some(Err(error));
            }
            self.log.error(&format!(
                "Error {}: {error}\nTrying again when the cluster answers.",
                self.reason
            ));
            self.patience.until_usable().await?;
        }
    }
}

/// The objects to delete, with those that an update may have deployed and that nobody else has.
fn values(
    objects: &[DeployedObject],
    begun: Option<(String, BTreeSet<ObjectKey>)>,
    namespace: &str,
) -> Vec<Value> {
    let mut values: Vec<Value> = objects.iter().map(|it| Value::clone(&it.value)).collect();
    if let Some((yaml, owned)) = begun {
        let begun = parse(&yaml).unwrap_or_default().into_iter().map(Object::into_value);
        let begun = begun.map(DeployedObject::from);
        let is_left = |it: &DeployedObject| {
            !it.is_kept && !owned.contains(&it.key.clone().in_namespace(namespace))
        };
        values.extend(begun.filter(is_left).map(|it| Value::clone(&it.value)));
    }
    values
}

//! The part of `down` that deletes from a Kubernetes cluster.

use std::{io, time::Duration};

use builtins::api::KubeCluster;
use engine_formats::{golang::quote::command_line, kubernetes};
use engine_kubernetes::{Cluster, DeleteOptions, DeleteOrder, KubernetesError};
use engine_model::{ApplyCmd, DeployTarget, GoDuration, Manifest};
use serde_json::Value;

use crate::{
    audit::{self, Audit},
    deploy::{
        commands::{Output, Surroundings},
        kubernetes::{command, reversed},
    },
    exec::env::Colors,
    logs::Level,
};

/// Why objects are deleted, for the audit log.
const CAUSE: &str = "down, by the command line";

/// Why something was not deleted.
#[derive(Debug, thiserror::Error)]
pub(super) enum DownError {
    #[error("Parsing manifest YAML: {0}")]
    Yaml(#[from] kubernetes::ParseError),
    #[error("{}", .0.as_deref().unwrap_or("no kubeconfig can be used"))]
    NoCluster(Option<String>),
    #[error(transparent)]
    Kubeconfig(#[from] io::Error),
    #[error(transparent)]
    Cluster(#[from] KubernetesError),
    #[error("Deleting k8s entities: {0}")]
    Objects(#[source] Box<Self>),
    #[error("Deleting k8s entities for cmd: {line}: {source}")]
    Command { line: String, source: Box<dyn std::error::Error + Send + Sync> },
    #[error("[{}]", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
    Several(Vec<Self>),
}

/// What to delete, and where.
pub(super) struct Down<'a> {
    /// Resources in the order of deletion.
    pub(super) deployed: &'a [&'a Manifest],
    pub(super) with_namespaces: bool,
    pub(super) timeout: GoDuration,
    /// The namespace of objects without one.
    pub(super) namespace: Option<&'a str>,
    pub(super) cluster: &'a KubeCluster,
    /// The environment of commands.
    pub(super) env: &'a [(String, String)],
    pub(super) output: &'a Output,
}

impl Down<'_> {
    /// Deletes objects, then runs the commands that delete theirs. Errors do not stop it; it returns all of them.
    pub(super) async fn run(&self) -> Result<(), DownError> {
        let (objects, commands) = self.targets()?;
        let objects = self.without_namespaces(objects);
        let mut errors = Vec::new();
        if !objects.is_empty()
            && let Err(error) = self.delete(&objects).await
        {
            errors.push(DownError::Objects(Box::new(error)));
        }
        for cmd in commands {
            let surroundings = self.surroundings();
            let limit = self.limit();
            if let Err(error) = command::delete(cmd, &surroundings, limit, self.output).await {
                let line = command_line(&cmd.args);
                errors.push(DownError::Command { line, source: error.into() });
            }
        }
        match errors.len() {
            0 => Ok(()),
            1 => Err(errors.remove(0)),
            _ => Err(DownError::Several(errors)),
        }
    }

    /// Everything that was deployed, in the order of deletion.
    fn targets(&self) -> Result<(Vec<Value>, Vec<&ApplyCmd>), DownError> {
        let (mut objects, mut commands) = (Vec::new(), Vec::new());
        for manifest in self.deployed {
            let DeployTarget::Kubernetes(target) = &manifest.deploy_target else { continue };
            if let Some(cmd) = &target.delete_cmd {
                commands.push(cmd);
                continue;
            }
            objects.extend(reversed(kubernetes::parse(&target.yaml)?));
        }
        Ok((objects, commands))
    }

    /// Drops namespaces from the list unless they are to be deleted, and logs their names.
    fn without_namespaces(&self, objects: Vec<Value>) -> Vec<Value> {
        let is_kept = |it: &Value| {
            it["metadata"]["annotations"]["tilt.dev/down-policy"].as_str() == Some("keep")
        };
        let objects = objects.into_iter().filter(|it| !is_kept(it));
        let is_namespace = |it: &Value| it["kind"] == "Namespace" && it["apiVersion"] == "v1";
        let (namespaces, others): (Vec<_>, Vec<_>) =
            objects.partition(|it| is_namespace(it) && !self.with_namespaces);
        if !namespaces.is_empty() {
            let names = namespaces.iter().filter_map(|it| it["metadata"]["name"].as_str());
            let names: Vec<&str> = names.collect();
            self.log(&format!("Not deleting namespaces: {}", names.join(", ")));
            self.log("Run with --delete-namespaces to delete namespaces as well.");
        }
        others
    }

    async fn delete(&self, objects: &[Value]) -> Result<(), DownError> {
        let problem = || DownError::NoCluster(self.cluster.problem.clone());
        let path = self.cluster.path.as_ref().ok_or_else(problem)?;
        let text = std::fs::read_to_string(engine_model::path::to_path(path))?;
        let cluster = Cluster::new(&text, self.namespace).await?;
        let cluster = cluster.observed(self.audit().sink());
        cluster.pin(cluster.identity().await?);
        let options = DeleteOptions {
            order: DeleteOrder::Given,
            with_namespaces: self.with_namespaces,
            honor_down_policy: true,
            timeout: self.limit(),
            wait: None,
            cause: CAUSE.to_owned(),
        };
        Ok(cluster.delete(objects, &options, &|line| self.log(line)).await?)
    }

    fn surroundings(&self) -> Surroundings {
        let mut env = self.env.to_vec();
        if let Some(path) = &self.cluster.path {
            env.retain(|(name, _)| name != "KUBECONFIG");
            env.push(("KUBECONFIG".to_owned(), path.clone()));
        }
        Surroundings::new(env, "localhost", 0, Colors::Off).noted(self.audit(), CAUSE)
    }

    fn audit(&self) -> Audit {
        Audit::new(audit::path().unwrap_or_default()).about(&self.cluster.context)
    }

    fn limit(&self) -> Duration {
        Duration::from_nanos(u64::try_from(self.timeout.0).unwrap_or_default())
    }

    fn log(&self, line: &str) {
        self.output.write(Level::Info, &format!("{line}\n"));
    }
}

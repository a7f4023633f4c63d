//! The part of `down` that deletes from a Kubernetes cluster.

use std::time::Duration;

use builtins::{api::KubeCluster, golang::quote::command_line, kubernetes};
use engine_kubernetes::{Cluster, DeleteOptions, DeleteOrder};
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

/// What to delete, and where.
pub(super) struct Down<'a> {
    /// Resources in the order in which they go.
    pub(super) deployed: &'a [&'a Manifest],
    pub(super) with_namespaces: bool,
    pub(super) timeout: GoDuration,
    /// Where objects are that do not say it themselves.
    pub(super) namespace: Option<&'a str>,
    pub(super) cluster: &'a KubeCluster,
    /// The environment of commands.
    pub(super) env: &'a [(String, String)],
    pub(super) output: &'a Output,
}

impl Down<'_> {
    /// Deletes objects, then lets commands delete theirs. All are tried; what went wrong is told at the end.
    pub(super) async fn run(&self) -> Result<(), String> {
        let (objects, commands) = self.doomed()?;
        let objects = self.without_namespaces(objects);
        let mut errors = Vec::new();
        if !objects.is_empty()
            && let Err(error) = self.delete(&objects).await
        {
            errors.push(format!("Deleting k8s entities: {error}"));
        }
        for cmd in commands {
            let surroundings = self.surroundings();
            let limit = self.limit();
            if let Err(error) = command::delete(cmd, &surroundings, limit, self.output).await {
                let line = command_line(&cmd.args);
                errors.push(format!("Deleting k8s entities for cmd: {line}: {error}"));
            }
        }
        match errors.as_slice() {
            [] => Ok(()),
            [only] => Err(only.clone()),
            several => Err(format!("[{}]", several.join(", "))),
        }
    }

    /// Everything that was deployed, in the order in which it goes.
    fn doomed(&self) -> Result<(Vec<Value>, Vec<&ApplyCmd>), String> {
        let (mut objects, mut commands) = (Vec::new(), Vec::new());
        for manifest in self.deployed {
            let DeployTarget::Kubernetes(target) = &manifest.deploy_target else { continue };
            if let Some(cmd) = &target.delete_cmd {
                commands.push(cmd);
                continue;
            }
            let parsed = kubernetes::parse(&target.yaml)
                .map_err(|error| format!("Parsing manifest YAML: {error}"))?;
            objects.extend(reversed(parsed));
        }
        Ok((objects, commands))
    }

    /// Says which namespaces stay, if they do.
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
            self.say(&format!("Not deleting namespaces: {}", names.join(", ")));
            self.say("Run with --delete-namespaces to delete namespaces as well.");
        }
        others
    }

    async fn delete(&self, objects: &[Value]) -> Result<(), String> {
        let problem = || {
            let known = self.cluster.problem.clone();
            known.unwrap_or_else(|| "no kubeconfig can be used".to_owned())
        };
        let path = self.cluster.path.as_ref().ok_or_else(problem)?;
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
        let cluster = Cluster::new(&text, self.namespace).await.map_err(|it| it.to_string())?;
        let cluster = cluster.observed(self.audit().sink());
        cluster.pin(cluster.identity().await.map_err(|it| it.to_string())?);
        let options = DeleteOptions {
            order: DeleteOrder::Given,
            with_namespaces: self.with_namespaces,
            honor_down_policy: true,
            timeout: self.limit(),
            wait: None,
            cause: CAUSE.to_owned(),
        };
        let deleted = cluster.delete(objects, &options, &|line| self.say(line)).await;
        deleted.map_err(|error| error.to_string())
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
        Audit::new(audit::path()).about(&self.cluster.context)
    }

    fn limit(&self) -> Duration {
        Duration::from_nanos(u64::try_from(self.timeout.0).unwrap_or_default())
    }

    fn say(&self, line: &str) {
        self.output.write(Level::Info, &format!("{line}\n"));
    }
}

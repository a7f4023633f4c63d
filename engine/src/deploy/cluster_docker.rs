//! Decides which Docker engine builds for a cluster, and whether that is the one that runs its containers, so that
//! nothing has to be pushed.

use std::{collections::BTreeMap, io};

use engine_docker::{Docker, DockerError, Endpoint, Environment};
use engine_formats::{golang::semver::Version, kube_config::Product};

use super::commands::Surroundings;
use crate::logs::LogWriter;

/// What minikube says when it works, but has no Docker engine to offer.
const NOT_OFFERED: [&str; 4] = [
    "ENV_DRIVER_CONFLICT",
    "ENV_MULTINODE_CONFLICT",
    "ENV_DOCKER_UNAVAILABLE",
    "The docker-env command is only compatible",
];

/// Newer ones can build with BuildKit.
const OLD_MINIKUBE: &str = "1.8.0";

/// Sockets at which one finds the engine that a desktop program brings.
const DEFAULT_HOSTS: [&str; 8] = [
    "",
    "tcp://localhost:2375",
    "tcp://localhost:2376",
    "tcp://127.0.0.1:2375",
    "tcp://127.0.0.1:2376",
    "npipe:////./pipe/docker_engine",
    "unix:///var/run/docker.sock",
    "unix:///run/docker.sock",
];
const DESKTOP_SOCKETS: [&str; 3] =
    ["/.docker/desktop/docker.sock", "/.docker/run/docker.sock", "/.rd/docker.sock"];

/// What is to be known of a cluster to choose.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The context's name.
    pub context: &'a str,
    /// The cluster's name in the kubeconfig.
    pub cluster: &'a str,
    /// Who made it.
    pub product: Product,
    /// What runs its containers, such as `containerd`.
    pub runtime: &'a str,
}

/// The Docker engine that builds for a cluster.
#[derive(Clone, Debug)]
pub struct ClusterDocker {
    /// The engine.
    pub docker: Docker,
    /// What commands need to find it, if that is not what they have in their environment anyway.
    pub env: Vec<String>,
    /// Whether it is the one that runs the cluster's containers.
    pub is_built_into: bool,
}

/// Why there is no Docker engine, in the words that builds end with.
#[derive(Debug, thiserror::Error)]
pub enum ClusterDockerError {
    /// `minikube` cannot be run.
    #[error("Could not read docker env from minikube: {0}")]
    Minikube(#[source] io::Error),
    /// `minikube` does not name its engine.
    #[error(
        "Could not read docker env from minikube.\nDid you forget to run `minikube start`?\n{0}"
    )]
    MinikubeDown(String),
    /// What `minikube` names is no engine.
    #[error("connecting to minikube: {0}")]
    Connect(#[source] DockerError),
    /// What the environment names is no engine.
    #[error(transparent)]
    Docker(#[from] DockerError),
}

/// A warning: the engine that builds is not the one that it seems to be meant to be.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum OtherEngine {
    #[error(
        "connected to Kubernetes running on Orbstack, but building on a non-Orbstack Docker socket"
    )]
    NotOrbstack,
    #[error(
        "connected to Kubernetes running on Colima, but building on a non-Colima Docker socket"
    )]
    NotColima,
    #[error(
        "connected to Kubernetes on Colima profile {kubernetes}, but building on Docker on Colima profile {docker}"
    )]
    ColimaProfile { kubernetes: String, docker: String },
}

/// Chooses the engine.
pub async fn choose(
    target: Target<'_>,
    environment: &[(String, String)],
    surroundings: &Surroundings,
    log: &LogWriter,
) -> Result<ClusterDocker, ClusterDockerError> {
    if target.product == Product::Minikube
        && target.runtime == "docker"
        && let Some(chosen) = of_minikube(target, environment, surroundings).await?
    {
        return Ok(chosen);
    }
    let docker = Docker::new(Environment::new(environment.iter().cloned()))?;
    let is_same = match is_same_engine(target, docker.host()) {
        Ok(is_same) => is_same,
        Err(warning) => {
            log.warn(&warning.to_string());
            false
        }
    };
    Ok(ClusterDocker {
        docker,
        env: Vec::new(),
        is_built_into: is_same && target.runtime == "docker",
    })
}

/// The engine inside minikube, unless it has none or the user has chosen another one.
async fn of_minikube(
    target: Target<'_>,
    environment: &[(String, String)],
    surroundings: &Surroundings,
) -> Result<Option<ClusterDocker>, ClusterDockerError> {
    let profile = ["minikube", "-p", target.cluster];
    let asked =
        surroundings.answer(&[&profile[..], &["docker-env", "--shell", "sh"]].concat()).await;
    let answer = asked.map_err(ClusterDockerError::Minikube)?;
    if !answer.is_success {
        if NOT_OFFERED.iter().any(|it| answer.stderr.contains(it)) {
            return Ok(None);
        }
        return Err(ClusterDockerError::MinikubeDown(answer.stderr));
    }
    let exported = exported(&answer.stdout);
    let ours = |name: &str| environment.iter().find(|it| it.0 == name).map(|it| it.1.as_str());
    let named = ours("DOCKER_HOST").filter(|it| !it.is_empty());
    let mut variables: BTreeMap<String, String> = environment.iter().cloned().collect();
    variables.remove("DOCKER_CONTEXT");
    variables.extend(exported.clone());
    let endpoint = Endpoint::resolve(&Environment::new(variables.clone()));
    let host = endpoint.map_err(ClusterDockerError::Connect)?.host().to_owned();
    if named.is_some_and(|it| it != host) {
        return Ok(None);
    }
    if !variables.contains_key("DOCKER_BUILDKIT") && is_old(&profile, surroundings).await {
        variables.insert("DOCKER_BUILDKIT".to_owned(), "0".to_owned());
    }
    let docker = Docker::new(Environment::new(variables)).map_err(ClusterDockerError::Connect)?;
    let env = exported.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    Ok(Some(ClusterDocker { docker, env, is_built_into: true }))
}

async fn is_old(profile: &[&str], surroundings: &Surroundings) -> bool {
    let asked = surroundings.answer(&[profile, &["version"]].concat()).await;
    let Some(answer) = asked.ok().filter(|it| it.is_success) else { return false };
    let version = answer.stdout.lines().find_map(|it| it.strip_prefix("minikube version: v"));
    let version = version.and_then(|it| Version::parse(it.trim()).ok());
    let newest_old = Version::parse(OLD_MINIKUBE).expect("the version is a constant");
    version.is_some_and(|it| it.precedence(&newest_old).is_le())
}

/// The variables in lines such as `export DOCKER_HOST="tcp://192.168.49.2:2376"`.
fn exported(script: &str) -> BTreeMap<String, String> {
    let variable = |line: &str| {
        let (name, value) = line.split_once("export ")?.1.split_once("=\"")?;
        let value = value.split('"').next().filter(|it| !it.is_empty())?;
        let is_name = name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
        (is_name && !name.is_empty()).then(|| (name.to_owned(), value.to_owned()))
    };
    script.lines().filter_map(variable).collect()
}

/// Whether an engine is the one that runs a cluster's containers; else what may be wrong with that.
fn is_same_engine(target: Target<'_>, host: &str) -> Result<bool, OtherEngine> {
    match target.product {
        Product::DockerDesktop | Product::RancherDesktop => Ok(is_default(host)),
        Product::Colima => is_same_colima(target.context, host),
        Product::Orbstack => {
            if host.starts_with("unix://") && host.ends_with("/.orbstack/run/docker.sock") {
                return Ok(true);
            }
            Err(OtherEngine::NotOrbstack)
        }
        _ => Ok(false),
    }
}

fn is_default(host: &str) -> bool {
    DEFAULT_HOSTS.contains(&host)
        || host.starts_with("npipe:////./pipe/dockerDesktop")
        || (host.starts_with("unix://") && DESKTOP_SOCKETS.iter().any(|it| host.ends_with(it)))
}

/// Colima has a profile in the path of its socket and in the name of its context.
fn is_same_colima(context: &str, host: &str) -> Result<bool, OtherEngine> {
    let rest = host
        .rsplit_once("/.colima")
        .or_else(|| host.rsplit_once("/.config/colima"))
        .map(|(_, rest)| rest);
    let docker = match rest {
        None => {
            return Err(OtherEngine::NotColima);
        }
        Some(rest) => match rest.strip_prefix('-') {
            Some(named) => named.split('/').next().unwrap_or_default(),
            None => match rest.split('/').collect::<Vec<_>>()[..] {
                [_, profile, _, ..] => profile,
                _ => "default",
            },
        },
    };
    let kubernetes = match context {
        "colima" => "default",
        context => context.strip_prefix("colima-").unwrap_or(context),
    };
    if docker == kubernetes {
        return Ok(true);
    }
    let (kubernetes, docker) = (kubernetes.to_owned(), docker.to_owned());
    Err(OtherEngine::ColimaProfile { kubernetes, docker })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(product: Product, context: &str) -> Target<'_> {
        Target { context, cluster: context, product, runtime: "docker" }
    }

    #[test]
    fn desktops_build_into_their_cluster_at_their_own_socket_only() {
        let other = "connected to Kubernetes running on Orbstack, but building on a non-Orbstack Docker socket";
        for (product, host, want) in [
            (Product::DockerDesktop, "unix:///var/run/docker.sock", Ok(true)),
            (Product::DockerDesktop, "unix:///home/me/.docker/run/docker.sock", Ok(true)),
            (Product::DockerDesktop, "unix:///home/me/.docker/desktop/docker.sock", Ok(true)),
            (Product::DockerDesktop, "tcp://10.0.0.1:2375", Ok(false)),
            (Product::RancherDesktop, "unix:///home/me/.rd/docker.sock", Ok(true)),
            (Product::Orbstack, "unix:///home/me/.orbstack/run/docker.sock", Ok(true)),
            (Product::Orbstack, "unix:///var/run/docker.sock", Err(other.to_owned())),
            (Product::Kind, "unix:///var/run/docker.sock", Ok(false)),
        ] {
            let found = is_same_engine(target(product, "x"), host).map_err(|it| it.to_string());
            assert_eq!(found, want, "{product:?} {host}");
        }
    }

    #[test]
    fn colima_builds_into_the_cluster_of_the_same_profile() {
        let none =
            "connected to Kubernetes running on Colima, but building on a non-Colima Docker socket";
        let mismatch = |kubernetes: &str, docker: &str| {
            Err(format!(
                "connected to Kubernetes on Colima profile {kubernetes}, but building on Docker on Colima profile \
                 {docker}"
            ))
        };
        for (context, host, want) in [
            ("colima", "unix:///h/.colima/docker.sock", Ok(true)),
            ("colima", "unix:///h/.colima/default/docker.sock", Ok(true)),
            ("colima-test", "unix:///h/.colima-test/docker.sock", Ok(true)),
            ("colima-test", "unix:///h/.colima/test/docker.sock", Ok(true)),
            ("colima-test", "unix:///h/.config/colima/test/docker.sock", Ok(true)),
            ("colima-test", "unix:///h/.colima/docker.sock", mismatch("test", "default")),
            ("colima", "unix:///h/.colima/test/docker.sock", mismatch("default", "test")),
            ("colima", "unix:///var/run/docker.sock", Err(none.to_owned())),
        ] {
            let found = is_same_colima(context, host).map_err(|it| it.to_string());
            assert_eq!(found, want, "{context} {host}");
        }
    }

    #[test]
    fn variables_are_read_as_a_shell_would_export_them() {
        let script = "export DOCKER_TLS_VERIFY=\"1\"\nexport DOCKER_HOST=\"tcp://192.168.49.2:2376\"\n\
                      export EMPTY=\"\"\n# To point your shell\n# eval $(minikube docker-env)\n";
        let found = exported(script);
        let found: Vec<_> = found.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(found, ["DOCKER_HOST=tcp://192.168.49.2:2376", "DOCKER_TLS_VERIFY=1"]);
    }
}

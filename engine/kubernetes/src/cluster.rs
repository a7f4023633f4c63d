//! One cluster, through one kubeconfig that does not change.

use std::{sync::Arc, time::Duration};

use hyper::StatusCode;
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use serde_json::Value;

use crate::{
    Identity, KubernetesError, ObjectKey,
    audit::Sink,
    connection::{self, Pin},
    mapping::{Mapping, Resource},
    proxy,
    request::Call,
};

/// How long the API server may take to say its version.
const VERSION: Duration = Duration::from_secs(5);

/// How long it may take to say whether it is well.
const HEALTH: Duration = Duration::from_secs(10);

/// One cluster. Cheap to clone.
#[derive(Clone)]
pub struct Cluster {
    pub(crate) inner: Arc<Inner>,
    pub(crate) sink: Option<Sink>,
}

pub(crate) struct Inner {
    client: kube::Client,
    pin: Arc<Pin>,
    /// The certificates that are trusted to vouch for the server.
    roots: Option<Vec<Vec<u8>>>,
    namespace: String,
    server: String,
    pub(crate) mapping: Mapping,
}

/// What an API server says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ServerVersion {
    /// The major version.
    pub major: String,
    /// The minor version.
    pub minor: String,
    /// The whole version, such as `v1.34.2`.
    pub git_version: String,
    /// Operating system and architecture.
    pub platform: String,
}

impl Cluster {
    /// A cluster from the text of a kubeconfig with one context.
    ///
    /// No request is made, but a credential plugin may be run.
    ///
    /// # Errors
    /// If the kubeconfig cannot be used.
    pub async fn new(kubeconfig: &str, namespace: Option<&str>) -> Result<Self, KubernetesError> {
        let problem = |error: &dyn std::error::Error| KubernetesError::Config(error.to_string());
        let parsed = Kubeconfig::from_yaml(kubeconfig).map_err(|it| problem(&it))?;
        let options = KubeConfigOptions::default();
        let own_proxy = proxy::of_kubeconfig(&parsed);
        let mut config = kube::Config::from_custom_kubeconfig(parsed, &options)
            .await
            .map_err(|it| problem(&it))?;
        config.proxy_url = proxy::choose(own_proxy.as_deref(), &config.cluster_url)?;
        ignore_key_without_certificate(&mut config.auth_info);
        if let Some(namespace) = namespace {
            namespace.clone_into(&mut config.default_namespace);
        }
        let namespace = config.default_namespace.clone();
        let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
        let roots = config.root_cert.clone();
        // A credential plugin may take its time.
        let (client, pin) = tokio::task::spawn_blocking(move || connection::connect(&config))
            .await
            .map_err(|it| problem(&it))??;
        let mapping = Mapping::default();
        let inner = Inner { client, pin, roots, namespace, server, mapping };
        Ok(Self { inner: Arc::new(inner), sink: None })
    }

    /// The same cluster, of which every write is told to `sink`.
    #[must_use]
    pub fn observed(mut self, sink: Sink) -> Self {
        self.sink = Some(sink);
        self
    }

    /// The namespace of objects that name none.
    pub fn namespace(&self) -> &str {
        &self.inner.namespace
    }

    /// Where the cluster is.
    pub fn server(&self) -> &str {
        &self.inner.server
    }

    /// The client, for the modules that speak to the cluster.
    pub(crate) fn client(&self) -> &kube::Client {
        &self.inner.client
    }

    /// No answer came in time: connections that are open are not used any more.
    pub(crate) fn distrust(&self) {
        self.inner.pin.distrust();
    }

    /// Tells whenever the connections that are open may be dead.
    pub(crate) fn distrusts(&self) -> tokio::sync::watch::Receiver<usize> {
        self.inner.pin.distrusts()
    }

    /// No answer came for too long; connections that are open are not used any more.
    pub(crate) fn silence(&self) -> KubernetesError {
        self.distrust();
        KubernetesError::silence()
    }

    /// Asks the API server for its version, which is also how it is seen that it can be reached.
    ///
    /// # Errors
    /// If it does not answer in five seconds, or refuses.
    pub async fn version(&self) -> Result<ServerVersion, KubernetesError> {
        let answer = self.send(&Call::get("/version").within(VERSION)).await?;
        let unread = |error: serde_json::Error| {
            KubernetesError::Request(format!("unable to parse the server version: {error}"))
        };
        serde_json::from_value(answer).map_err(unread)
    }

    /// Which cluster answers now, whichever is pinned.
    ///
    /// # Errors
    /// If none answers.
    pub async fn identity(&self) -> Result<Identity, KubernetesError> {
        let call = Call::get("/api/v1/namespaces/kube-system").within(VERSION).for_any_cluster();
        let (code, body) = self.raw(&call).await?;
        if matches!(code, StatusCode::FORBIDDEN | StatusCode::NOT_FOUND) {
            return Ok(Identity::of_server(self.server(), self.inner.roots.as_deref()));
        }
        match connection::uid_of_answer(code, &body)? {
            Some(uid) => Ok(Identity::Uid(uid)),
            None => Ok(Identity::of_server(self.server(), self.inner.roots.as_deref())),
        }
    }

    /// Makes sure that the cluster that answers is the pinned one, for those who go there by another way.
    ///
    /// # Errors
    /// If another one answers, or none.
    pub async fn verify(&self) -> Result<(), KubernetesError> {
        let found = self.identity().await?;
        match self.pinned().filter(|it| **it != found) {
            None => Ok(()),
            Some(pinned) => Err(KubernetesError::OtherCluster {
                server: self.server().to_owned(),
                pinned: pinned.to_string(),
                found: found.to_string(),
            }),
        }
    }

    /// From here on nothing is sent to a cluster that is not this one; the first pin stays.
    ///
    /// Connections that are open already are not used any more, and each new one is asked for the
    /// identity of the cluster before anything else is sent on it.
    pub fn pin(&self, identity: Identity) {
        self.inner.pin.set(identity);
    }

    /// The identity that is pinned.
    pub fn pinned(&self) -> Option<&Identity> {
        self.inner.pin.get()
    }

    /// Whether the API server says that it is well.
    ///
    /// # Errors
    /// If it does not, or does not answer.
    pub async fn check_health(&self) -> Result<(), KubernetesError> {
        for (path, name, verdict) in [
            ("/livez?timeout=10s", "liveness", "cluster did not pass liveness check"),
            ("/readyz?timeout=10s", "readiness", "cluster not ready"),
        ] {
            let call = Call::get(path).within(HEALTH).retried();
            let (code, _) =
                self.raw(&call).await.map_err(|it| it.during(&format!("cluster {name} check")))?;
            if !code.is_success() {
                return Err(KubernetesError::Request(verdict.to_owned()));
            }
        }
        Ok(())
    }

    /// The nodes of the cluster.
    ///
    /// # Errors
    /// If they cannot be read.
    pub async fn nodes(&self) -> Result<Vec<Value>, KubernetesError> {
        let mut list = self.send(&Call::get("/api/v1/nodes").retried()).await?;
        match list.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) => Ok(items),
            _ => Ok(Vec::new()),
        }
    }

    /// Reads an object; nothing if there is none, or no such kind.
    ///
    /// # Errors
    /// If the cluster does not answer, or refuses.
    pub async fn get(&self, key: &ObjectKey) -> Result<Option<Value>, KubernetesError> {
        Ok(self.look_up(key).await?.and_then(|(_, live)| live))
    }

    /// Where the objects of a kind live, and what one of them is; nothing if there is no such kind.
    pub(crate) async fn look_up(
        &self,
        key: &ObjectKey,
    ) -> Result<Option<(Resource, Option<Value>)>, KubernetesError> {
        let Some(resource) = self.find_resource(&key.api_version, &key.kind).await? else {
            return Ok(None);
        };
        let namespace = match key.namespace.as_str() {
            "" => self.namespace(),
            namespace => namespace,
        };
        let live = self.read(&resource.path(namespace, &key.name)).await?;
        Ok(Some((resource, live)))
    }
}

/// Forgets a private key to which no certificate belongs: others than the user's token do not need it.
fn ignore_key_without_certificate(user: &mut AuthInfo) {
    if user.client_certificate.is_none() && user.client_certificate_data.is_none() {
        user.client_key = None;
        user.client_key_data = None;
    }
}

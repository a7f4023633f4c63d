//! One Docker engine: which version it has, which builder it offers, and how it is asked.
//!
//! A [`Docker`] is made before anybody knows whether the engine runs. Each request connects anew,
//! so an engine that comes back is simply used again.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bollard::ClientVersion;
use bytes::Bytes;
use engine_formats::golang::boolean;
use http_body_util::{BodyExt, Empty};
use hyper::{HeaderMap, Method, Request, Response, body::Incoming};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;

use crate::{
    endpoint::Endpoint,
    environment::Environment,
    error::{self, DockerError},
    import::LayerMemory,
    session::memory::SyncMemory,
    transport::{Body, Transport},
};

/// The oldest API that works.
const MIN_VERSION: ApiVersion = ApiVersion { major: 1, minor: 23 };
/// The first API whose BuildKit is stable.
const BUILDKIT_VERSION: ApiVersion = ApiVersion { major: 1, minor: 39 };
/// How long an engine may take to tell its version; ssh needs time to connect.
const VERSION_TIMEOUT: Duration = Duration::from_secs(40);
/// Requests have no limit of their own: whoever asks decides how long to wait.
const NO_TIMEOUT_SECONDS: u64 = 365 * 24 * 3600;
/// The most of an error's text that is read, in bytes.
const MESSAGE_MAX: usize = 64 * 1024;
/// What is encoded in the values of a query.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// A Docker engine.
#[derive(Clone)]
pub struct Docker {
    shared: Arc<Shared>,
}

struct Shared {
    endpoint: Endpoint,
    environment: Environment,
    transport: Transport,
    api: Mutex<Option<Api>>,
    sync_memory: SyncMemory,
    layer_memory: LayerMemory,
}

/// A client that speaks the engine's version.
#[derive(Clone)]
struct Api {
    client: bollard::Docker,
    server: Server,
}

/// What an engine says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// The engine's version.
    pub version: String,
    /// The newest API it has.
    pub api_version: ApiVersion,
    /// Its operating system.
    pub os: String,
    /// Its architecture.
    pub arch: String,
}

/// A version of Docker's API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ApiVersion {
    /// Before the dot.
    pub major: usize,
    /// After the dot.
    pub minor: usize,
}

impl ApiVersion {
    fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.trim().split_once('.')?;
        Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }
}

impl fmt::Display for ApiVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// What turns a Dockerfile into an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Builder {
    /// The builder with a session, secrets and parallel steps.
    BuildKit,
    /// The builder that gets everything up front.
    Classic,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", default)]
#[derive(Default)]
struct VersionAnswer {
    version: String,
    api_version: String,
    os: String,
    arch: String,
}

#[derive(Deserialize)]
struct Refusal {
    message: String,
}

impl Docker {
    /// Prepares for the engine that the variables and Docker's configuration name.
    pub fn new(environment: Environment) -> Result<Self, DockerError> {
        let endpoint = Endpoint::resolve(&environment)?;
        let transport = Transport::new(&endpoint, &environment);
        let (api, sync_memory) = (Mutex::new(None), SyncMemory::default());
        let layer_memory = LayerMemory::default();
        let shared = Shared { endpoint, environment, transport, api, sync_memory, layer_memory };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Where the engine is.
    pub fn host(&self) -> &str {
        self.shared.endpoint.host()
    }

    /// What the engine says about itself; it is asked once, and again after it was gone.
    pub async fn server(&self) -> Result<Server, DockerError> {
        Ok(self.api().await?.server)
    }

    /// Whether the engine answers now, whatever it has said before.
    pub async fn ping(&self) -> Result<(), DockerError> {
        let answer = self.client().await?.ping().await;
        answer.map(drop).map_err(|error| self.explain(error))
    }

    /// Which builder to use: what `DOCKER_BUILDKIT` says, if the engine has it.
    pub async fn builder(&self) -> Result<Builder, DockerError> {
        let wanted = match self.shared.environment.var("DOCKER_BUILDKIT") {
            Some(text) => parse_bool(text)?,
            None => true,
        };
        let is_offered = self.server().await?.api_version >= BUILDKIT_VERSION;
        Ok(if wanted && is_offered { Builder::BuildKit } else { Builder::Classic })
    }

    pub(crate) fn environment(&self) -> &Environment {
        &self.shared.environment
    }

    pub(crate) fn sync_memory(&self) -> &SyncMemory {
        &self.shared.sync_memory
    }

    pub(crate) fn layer_memory(&self) -> &LayerMemory {
        &self.shared.layer_memory
    }

    /// The client library, speaking the version that both sides know.
    pub(crate) async fn client(&self) -> Result<bollard::Docker, DockerError> {
        Ok(self.api().await?.client)
    }

    /// Translates an error of the client library, and forgets an engine that is gone.
    pub(crate) fn explain(&self, error: bollard::errors::Error) -> DockerError {
        let error = error::from_client(error, self.host());
        if error.is_unreachable() {
            *self.shared.api.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        error
    }

    async fn api(&self) -> Result<Api, DockerError> {
        let known = self.shared.api.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(known) = known {
            return Ok(known);
        }
        let api = self.negotiate().await?;
        *self.shared.api.lock().unwrap_or_else(PoisonError::into_inner) = Some(api.clone());
        Ok(api)
    }

    async fn negotiate(&self) -> Result<Api, DockerError> {
        let asked = tokio::time::timeout(VERSION_TIMEOUT, self.ask_version()).await;
        let answer = asked.map_err(|_| DockerError::NotRunning {
            host: self.host().to_owned(),
            cause: "it did not answer in time".into(),
        })??;
        let unreadable = || DockerError::Protocol(format!("API version {:?}", answer.api_version));
        let api_version = ApiVersion::parse(&answer.api_version).ok_or_else(unreadable)?;
        if api_version < MIN_VERSION {
            let host = self.host().to_owned();
            return Err(DockerError::TooOld { host, version: answer.api_version });
        }
        let newest = bollard::API_DEFAULT_VERSION;
        let newest = ApiVersion { major: newest.major_version, minor: newest.minor_version };
        let fixed = self.shared.environment.var("DOCKER_API_VERSION").and_then(ApiVersion::parse);
        let spoken = fixed.unwrap_or(api_version.min(newest));
        let VersionAnswer { version, os, arch, .. } = answer;
        let client = self.client_for(spoken)?;
        Ok(Api { client, server: Server { version, api_version, os, arch } })
    }

    fn client_for(&self, version: ApiVersion) -> Result<bollard::Docker, DockerError> {
        let transport = self.shared.transport.clone();
        let forward = move |request| {
            let transport = transport.clone();
            async move { transport.forward(request).await }
        };
        let version = ClientVersion { major_version: version.major, minor_version: version.minor };
        let made = bollard::Docker::connect_with_custom_transport(
            forward,
            Some("http://docker"),
            NO_TIMEOUT_SECONDS,
            &version,
        );
        made.map_err(|error| self.explain(error))
    }

    async fn ask_version(&self) -> Result<VersionAnswer, DockerError> {
        let request = Request::get("http://docker/version").body(empty());
        let request = request.expect("the request has fixed parts");
        let answer = self.checked(request).await?;
        let text = self.collect(answer.into_body(), MESSAGE_MAX).await?;
        serde_json::from_slice(&text).map_err(|error| DockerError::Protocol(error.to_string()))
    }

    /// Sends a request of our own, with the version that both sides know.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, String)],
        headers: HeaderMap,
        body: Body,
    ) -> Result<Response<Incoming>, DockerError> {
        let version = self.client().await?.client_version();
        let version = format!("v{}.{}", version.major_version, version.minor_version);
        let uri = format!("http://docker/{version}{path}?{}", encode_query(query));
        let mut request = Request::builder()
            .method(method)
            .uri(uri)
            .body(body)
            .map_err(|error| DockerError::Protocol(error.to_string()))?;
        *request.headers_mut() = headers;
        self.checked(request).await
    }

    /// Sends a request, and turns the engine's refusal into an error.
    async fn checked(&self, request: Request<Body>) -> Result<Response<Incoming>, DockerError> {
        let sent = self.shared.transport.send(request).await;
        let answer = sent.inspect_err(|_| {
            *self.shared.api.lock().unwrap_or_else(PoisonError::into_inner) = None;
        })?;
        let status = answer.status();
        if status.is_success() || status == hyper::StatusCode::SWITCHING_PROTOCOLS {
            return Ok(answer);
        }
        let text = self.collect(answer.into_body(), MESSAGE_MAX).await?;
        let message = serde_json::from_slice::<Refusal>(&text).map_or_else(
            |_| String::from_utf8_lossy(&text).trim().to_owned(),
            |refusal| refusal.message,
        );
        Err(match status.as_u16() {
            404 => DockerError::NotFound(message),
            status => DockerError::Refused { status, message },
        })
    }

    /// Reads a body, but no more than so much of it.
    async fn collect(&self, body: Incoming, max: usize) -> Result<Bytes, DockerError> {
        let limited = http_body_util::Limited::new(body, max);
        let collected = limited.collect().await.map_err(|error| DockerError::Lost {
            host: self.host().to_owned(),
            cause: error.to_string(),
        })?;
        Ok(collected.to_bytes())
    }
}

impl fmt::Debug for Docker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Docker").field("host", &self.host()).finish_non_exhaustive()
    }
}

/// A body with nothing in it.
pub(crate) fn empty() -> Body {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}

/// Reads a truth value as Go does.
fn parse_bool(text: &str) -> Result<bool, DockerError> {
    boolean::parse(text).map_err(|error| {
        let setting = "DOCKER_BUILDKIT environment variable expects boolean value";
        DockerError::BadSetting(format!("{setting}: {error}"))
    })
}

/// Writes parameters as the query of a URL.
fn encode_query(query: &[(&str, String)]) -> String {
    let pair =
        |(key, value): &(&str, String)| format!("{key}={}", utf8_percent_encode(value, ENCODED));
    query.iter().map(pair).collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_survives_every_character() {
        let query = [("a", "x y&z=1/é".to_owned()), ("b", String::new())];
        assert_eq!(encode_query(&query), "a=x%20y%26z%3D1%2F%C3%A9&b=");
    }

    #[test]
    fn truth_values_are_those_of_go() {
        assert!(parse_bool("T").unwrap());
        assert!(!parse_bool("0").unwrap());
        assert_eq!(
            parse_bool("yes").unwrap_err().to_string(),
            "DOCKER_BUILDKIT environment variable expects boolean value: strconv.ParseBool: \
             parsing \"yes\": invalid syntax"
        );
    }
}

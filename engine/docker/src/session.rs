//! A BuildKit session: for the time of one build, the engine asks *us* for files, credentials,
//! secrets and the ssh agent, over one connection.

use std::{
    future::Future,
    pin::Pin,
    sync::OnceLock,
    task::{Context, Poll},
};

use bollard_buildkit_proto::{
    health::health_server::HealthServer,
    moby::{
        buildkit::secrets::v1::secrets_server::SecretsServer,
        filesync::v1::auth_server::AuthServer, sshforward::v1::ssh_server::SshServer,
    },
};
use hyper::{HeaderMap, Method, header, server::conn::http2};
use hyper_util::service::TowerToHyperService;
use tonic::service::Routes;
use uuid::Uuid;

use crate::{
    client::{self, Docker},
    error::DockerError,
    transport::Tasks,
};

use filesync::FileSyncServer;

pub(crate) mod auth;
pub(crate) mod filesync;
mod health;
pub(crate) mod memory;
pub(crate) mod secrets;
pub(crate) mod select;
pub(crate) mod ssh;

/// How much the engine may send before we look at it. It asks for each file with a message of its
/// own, and the library takes many small messages for an attack unless the window is large.
const CONNECTION_WINDOW: u32 = 1 << 30;

/// What the engine may ask for.
pub(crate) struct Services {
    pub(crate) files: filesync::Files,
    pub(crate) auth: auth::Auth,
    pub(crate) secrets: Option<secrets::SecretStore>,
    pub(crate) ssh: Option<ssh::Agents>,
}

/// A session that is open for as long as it is polled; it never completes by itself unless the
/// engine hangs up.
pub(crate) struct Session {
    id: String,
    connection: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Session {
    /// Opens a session; the engine keeps the files of sessions with the same key.
    pub(crate) async fn open(
        docker: &Docker,
        shared_key: &str,
        services: Services,
    ) -> Result<Self, DockerError> {
        let id = Uuid::new_v4().simple().to_string();
        let headers = headers(&id, shared_key, &services)
            .ok_or_else(|| DockerError::Protocol("a session has a malformed key".into()))?;
        let answer = docker.ask(Method::POST, "/session", &[], headers, client::empty()).await?;
        let lost = |error: hyper::Error| DockerError::Lost {
            host: docker.host().to_owned(),
            cause: error.to_string(),
        };
        let upgraded = hyper::upgrade::on(answer).await.map_err(lost)?;
        let tasks = Tasks::default();
        let server = http2::Builder::new(tasks.clone())
            .initial_connection_window_size(CONNECTION_WINDOW)
            .serve_connection(upgraded, TowerToHyperService::new(services.routes()));
        let connection = async move {
            // How it ends does not matter: the build's own answer tells what went wrong.
            let _ = server.await;
            drop(tasks);
        };
        Ok(Self { id, connection: Box::pin(connection) })
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }
}

impl Future for Session {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.connection.as_mut().poll(cx)
    }
}

impl Services {
    fn methods(&self) -> Vec<&'static str> {
        let mut methods = vec![
            "/grpc.health.v1.Health/Check",
            "/moby.filesync.v1.FileSync/DiffCopy",
            "/moby.filesync.v1.Auth/Credentials",
        ];
        if self.secrets.is_some() {
            methods.push("/moby.buildkit.secrets.v1.Secrets/GetSecret");
        }
        if self.ssh.is_some() {
            methods.push("/moby.sshforward.v1.SSH/CheckAgent");
            methods.push("/moby.sshforward.v1.SSH/ForwardAgent");
        }
        methods
    }

    fn routes(self) -> Routes {
        let mut routes = Routes::new(HealthServer::new(health::AlwaysServing))
            .add_service(FileSyncServer::new(self.files))
            .add_service(AuthServer::new(self.auth));
        if let Some(secrets) = self.secrets {
            routes = routes.add_service(SecretsServer::new(secrets));
        }
        if let Some(ssh) = self.ssh {
            routes = routes.add_service(SshServer::new(ssh));
        }
        routes
    }
}

fn headers(id: &str, shared_key: &str, services: &Services) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONNECTION, header::HeaderValue::from_static("Upgrade"));
    headers.insert(header::UPGRADE, header::HeaderValue::from_static("h2c"));
    headers.insert("x-docker-expose-session-uuid", id.parse().ok()?);
    headers.insert("x-docker-expose-session-name", header::HeaderValue::from_static("engine"));
    headers.insert("x-docker-expose-session-sharedkey", shared_key.parse().ok()?);
    for method in services.methods() {
        let method = header::HeaderValue::from_static(method);
        headers.append("x-docker-expose-session-grpc-method", method);
    }
    Some(headers)
}

/// A word that no other run of the program uses.
pub(crate) fn run_id() -> &'static str {
    static RUN: OnceLock<String> = OnceLock::new();
    RUN.get_or_init(|| Uuid::new_v4().simple().to_string())
}

/// An error for the engine, in the words of whatever failed.
pub(crate) fn status(error: &dyn std::fmt::Display) -> tonic::Status {
    tonic::Status::unknown(error.to_string())
}

//! Builds an image: with BuildKit and a session where the engine offers that, with the classic
//! builder and an archive otherwise.

use std::{sync::Arc, time::Duration};

use engine_model::DockerBuild;
use futures_util::future::{Either, select};
use http_body_util::{BodyExt, StreamBody};
use hyper::{HeaderMap, Method, body::Frame};
use tokio::{sync::mpsc, task::spawn_blocking};

use crate::{
    client::{Builder, Docker, empty},
    context::{BuildContext, archive::Archive, fingerprint},
    credentials::Keyring,
    error::DockerError,
    messages::Messages,
    session::{
        Services, Session,
        auth::Auth,
        filesync::{Files, SharedLease},
        secrets::SecretStore,
        ssh::Agents,
    },
    transport::Body,
};

mod error;
mod options;
mod output;
mod progress;

pub use error::{BuildError, BuildProblem};
pub(crate) use options::GC_LABEL;
pub use progress::{BuildEvent, Step};

/// Pieces of an archive that wait to be sent.
const BACKLOG: usize = 4;
/// How often the size of what was sent is told.
const SENDING_INTERVAL: Duration = Duration::from_secs(2);

/// An image that was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltImage {
    /// The digest that names it, `sha256:…`.
    pub id: String,
    /// What built it.
    pub builder: Builder,
}

/// Takes what happens during a build.
pub type Events<'a> = &'a mut (dyn FnMut(BuildEvent) + Send);

impl Docker {
    /// Builds an image, without a name other than `extra_tags`. Dropping the future cancels it.
    pub async fn build(
        &self,
        spec: &DockerBuild,
        events: Events<'_>,
    ) -> Result<BuiltImage, DockerError> {
        let builder = self.builder().await?;
        if builder == Builder::Classic {
            if !spec.secrets.is_empty() || !spec.ssh_agent_configs.is_empty() {
                return Err(BuildError::needs_buildkit().into());
            }
            return self.build_classic(spec, events).await;
        }
        match self.build_with_session(spec, self.context(spec).await?, events).await {
            Err(DockerError::Build(error)) if error.is_corruption() => {
                events(BuildEvent::Corruption);
                self.build_classic(spec, events).await
            }
            result => result,
        }
    }

    /// Builds an image as [`Self::build`] does, with nothing but these files of the context. It takes BuildKit.
    pub async fn build_partially(
        &self,
        spec: &DockerBuild,
        files: &[String],
        events: Events<'_>,
    ) -> Result<BuiltImage, DockerError> {
        let context = self.context(spec).await?.with_only(files);
        self.build_with_session(spec, context, events).await
    }

    /// Builds with BuildKit, which asks for files as it needs them.
    async fn build_with_session(
        &self,
        spec: &DockerBuild,
        context: BuildContext,
        events: Events<'_>,
    ) -> Result<BuiltImage, DockerError> {
        let context = Arc::new(context);
        let lease = self.sync_memory().lease(&fingerprint::key(&context));
        let shared_key = lease.shared_key();
        let lease = SharedLease::new(lease);
        let services = self.services(spec, context, lease.clone()).await?;
        let session = Session::open(self, &shared_key, services).await?;
        let mut query = options::query(spec)?;
        query.push(("version", "2".into()));
        query.push(("remote", "client-session".into()));
        query.push(("session", session.id().to_owned()));
        let building = Box::pin(async {
            let answer = self.ask(Method::POST, "/build", &query, HeaderMap::new(), empty()).await;
            let answer = answer.map_err(BuildError::wrap)?;
            let messages = Messages::new(answer.into_body(), self.host());
            let id = output::read(self, messages, events).await?;
            Ok(BuiltImage { id, builder: Builder::BuildKit })
        });
        let built = match select(building, session).await {
            Either::Left((built, _)) => built,
            // The engine hung up on us, and is about to say why.
            Either::Right(((), building)) => building.await,
        };
        lease.give_back();
        built
    }

    async fn services(
        &self,
        spec: &DockerBuild,
        context: Arc<BuildContext>,
        lease: SharedLease,
    ) -> Result<Services, DockerError> {
        let environment = self.environment();
        let secrets = (!spec.secrets.is_empty())
            .then(|| SecretStore::parse(&spec.secrets, environment))
            .transpose()
            .map_err(|why| BuildError::setting(why.to_string()))?;
        let ssh = if spec.ssh_agent_configs.is_empty() {
            None
        } else {
            let opened = Agents::open(&spec.ssh_agent_configs, environment).await;
            Some(opened.map_err(|why| BuildError::setting(why.to_string()))?)
        };
        let auth = Auth(Arc::new(Keyring::load(environment)?));
        let files = Files::new(context, &spec.dockerfile_contents, lease);
        Ok(Services { files, auth, secrets, ssh })
    }

    /// Builds with the classic builder, which gets everything up front.
    async fn build_classic(
        &self,
        spec: &DockerBuild,
        events: Events<'_>,
    ) -> Result<BuiltImage, DockerError> {
        let context = self.context(spec).await?;
        let dockerfile = spec.dockerfile_contents.clone();
        let unreadable = {
            let path = context.dir().to_owned();
            move |source| DockerError::File { doing: "reading build context:", path, source }
        };
        let archive = spawn_blocking(move || Archive::of_context(&context, &dockerfile));
        let archive = archive.await.map_err(|error| DockerError::Protocol(error.to_string()))?;
        let archive = archive.map_err(unreadable)?;
        let mut headers = options::registry_headers(&Keyring::load(self.environment())?).await;
        headers
            .insert("content-type", hyper::header::HeaderValue::from_static("application/x-tar"));
        let mut query = options::query(spec)?;
        query.push(("version", "1".into()));
        let (body, mut sent) = archive_body(archive);
        let asking = Box::pin(self.ask(Method::POST, "/build", &query, headers, body));
        let answer = report_sending(asking, &mut sent, events).await;
        let messages = Messages::new(answer.map_err(BuildError::wrap)?.into_body(), self.host());
        let id = output::read(self, messages, events).await?;
        Ok(BuiltImage { id, builder: Builder::Classic })
    }

    async fn context(&self, spec: &DockerBuild) -> Result<BuildContext, DockerError> {
        let (dir, ignores) = (spec.context.clone(), spec.context_ignores.clone());
        let looked = spawn_blocking(move || BuildContext::new(&dir, &ignores)).await;
        looked.map_err(|error| DockerError::Protocol(error.to_string()))?
    }
}

/// An archive as the body of a request, and a count of what was taken of it.
fn archive_body(archive: Archive) -> (Body, tokio::sync::watch::Receiver<u64>) {
    let (chunks, receiver) = mpsc::channel(BACKLOG);
    let (count, counted) = tokio::sync::watch::channel(0);
    spawn_blocking(move || archive.send(vec![chunks]));
    let state = (receiver, count);
    let pieces = futures_util::stream::unfold(state, |(mut receiver, count)| async move {
        let piece: std::io::Result<bytes::Bytes> = receiver.recv().await?;
        if let Ok(piece) = &piece {
            count.send_modify(|it| *it += piece.len() as u64);
        }
        Some((piece.map(Frame::data), (receiver, count)))
    });
    let pieces = futures_util::StreamExt::map(pieces, |it| it.map_err(Into::into));
    (StreamBody::new(pieces).boxed_unsync(), counted)
}

/// Waits for an answer, and tells from time to time how much was sent.
async fn report_sending<T>(
    asking: impl Future<Output = T> + Unpin,
    sent: &mut tokio::sync::watch::Receiver<u64>,
    events: Events<'_>,
) -> T {
    let mut asking = asking;
    let mut told = None;
    loop {
        let tick = Box::pin(tokio::time::sleep(SENDING_INTERVAL));
        let (answer, is_over) = match select(asking, tick).await {
            Either::Left((answer, _)) => (Ok(answer), true),
            Either::Right(((), rest)) => (Err(rest), false),
        };
        let bytes = *sent.borrow();
        if told != Some(bytes) || is_over {
            events(BuildEvent::Sending { bytes, is_over });
            told = Some(bytes);
        }
        match answer {
            Ok(answer) => return answer,
            Err(rest) => asking = rest,
        }
    }
}

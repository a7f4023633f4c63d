//! Hands out a connection only after the cluster at its other end has said who it is.

use std::{
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use http_body_util::{BodyExt as _, Empty};
use hyper::{
    Request, StatusCode, Uri,
    body::Bytes,
    client::conn::http1,
    header::HOST,
    rt::{Read, Write},
};
use serde_json::Value;
use tower::{BoxError, Service};

use super::{Answer, Pin};
use crate::{Identity, KubernetesError, object};

/// How long opening a connection may take, TLS and the question included.
const CONNECTING: Duration = Duration::from_secs(6);

/// Opens connections that lead to the pinned cluster.
#[derive(Clone)]
pub(super) struct Verified<C> {
    connector: C,
    pin: Option<Arc<Pin>>,
}

impl<C> Verified<C> {
    pub(super) fn new(connector: C, pin: Option<Arc<Pin>>) -> Self {
        Self { connector, pin }
    }
}

impl<C> Service<Uri> for Verified<C>
where
    C: Service<Uri, Error = BoxError>,
    C::Response: Read + Write + Unpin + Send + 'static,
    C::Future: Send + 'static,
{
    type Response = C::Response;
    type Error = BoxError;
    type Future = Answer<Result<C::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.connector.poll_ready(context)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let connected = self.connector.call(to.clone());
        let pin = self.pin.clone();
        Box::pin(async move {
            let verified = async {
                let io = connected.await?;
                match pin {
                    Some(pin) => verify(io, &to, &pin).await,
                    None => Ok(io),
                }
            };
            tokio::time::timeout(CONNECTING, verified)
                .await
                .map_err(|_| BoxError::from("net/http: TLS handshake timeout"))?
        })
    }
}

/// Asks for the identity on a fresh connection and gives the connection back.
async fn verify<T>(io: T, to: &Uri, pin: &Pin) -> Result<T, BoxError>
where
    T: Read + Write + Unpin + Send + 'static,
{
    let Some(Identity::Uid(pinned)) = pin.get() else { return Ok(io) };
    let path = format!("{}/api/v1/namespaces/kube-system", pin.prefix);
    let mut request = Request::get(path).body(Empty::<Bytes>::new())?;
    *request.headers_mut() = pin.credentials();
    let host = to.authority().map(ToString::to_string).unwrap_or_default();
    request.headers_mut().insert(HOST, host.parse()?);

    let (mut sender, connection) = http1::handshake(io).await?;
    let asked = async {
        let answer = sender.send_request(request).await?;
        let code = answer.status();
        let body = answer.into_body().collect().await?.to_bytes();
        drop(sender);
        Ok::<_, hyper::Error>((code, body))
    };
    let (parts, asked) = tokio::join!(connection.without_shutdown(), asked);
    let (code, body) = asked?;
    let found = uid_of_answer(code, &body)?;
    if found.as_ref() != Some(pinned) {
        let other = |uid: &String| Identity::Uid(uid.clone()).to_string();
        let found = found.as_ref().map_or_else(|| "an unknown cluster".to_owned(), other);
        let (server, pinned) = (pin.server.clone(), other(pinned));
        return Err(KubernetesError::OtherCluster { server, pinned, found }.into());
    }
    Ok(parts?.io)
}

/// The UID of the namespace in an answer; nothing if the cluster has no such namespace.
pub(crate) fn uid_of_answer(
    code: StatusCode,
    body: &[u8],
) -> Result<Option<String>, KubernetesError> {
    let answer: Value = serde_json::from_slice(body).unwrap_or_default();
    match code {
        StatusCode::OK => Ok(Some(object::uid(&answer).to_owned()).filter(|uid| !uid.is_empty())),
        StatusCode::NOT_FOUND => Ok(None),
        _ => {
            let message = match object::text(&answer, "/message") {
                "" => code.to_string(),
                message => message.to_owned(),
            };
            let text = format!("cannot tell which cluster answers: {message}");
            Err(KubernetesError::Unreachable(text))
        }
    }
}

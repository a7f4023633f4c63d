//! Opens a TCP connection to the API server, directly or through a proxy.

use std::{
    task::{Context, Poll},
    time::Duration,
};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use hyper::{Uri, header::HeaderValue};
use hyper_util::{
    client::legacy::connect::{
        HttpConnector,
        proxy::{SocksV5, Tunnel},
    },
    rt::TokioIo,
};
use kube::Config;
use percent_encoding::percent_decode_str;
use tokio::net::TcpStream;
use tower::{BoxError, Service};

use super::Answer;
use crate::KubernetesError;

/// How long opening a TCP connection may take.
const OPENING: Duration = Duration::from_secs(5);

/// Opens TCP connections.
#[derive(Clone)]
pub(super) enum Dial {
    /// To the server itself.
    Direct(HttpConnector),
    /// Through an HTTP proxy.
    Http(Tunnel<HttpConnector>),
    /// Through a SOCKS proxy.
    Socks(SocksV5<HttpConnector>),
}

impl Dial {
    pub(super) fn new(config: &Config) -> Result<Self, KubernetesError> {
        let Some(proxy) = config.proxy_url.clone() else { return Ok(Self::Direct(tcp())) };
        match proxy.scheme_str() {
            Some("socks5" | "socks5h") => Ok(Self::Socks(SocksV5::new(proxy, tcp()))),
            Some("http") => {
                let credentials = credentials(&proxy);
                let tunnel = Tunnel::new(proxy, tcp());
                Ok(Self::Http(match credentials {
                    Some(credentials) => tunnel.with_auth(credentials),
                    None => tunnel,
                }))
            }
            _ => Err(KubernetesError::Config(format!("unsupported proxy {proxy}"))),
        }
    }
}

/// Notices within seconds when the other end is gone without having said so.
fn tcp() -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(OPENING));
    tcp.set_keepalive(Some(Duration::from_secs(5)));
    tcp.set_keepalive_interval(Some(Duration::from_secs(2)));
    tcp.set_keepalive_retries(Some(3));
    #[cfg(target_os = "linux")]
    tcp.set_tcp_user_timeout(Some(Duration::from_secs(10)));
    tcp
}

/// The name and password in a proxy's address.
fn credentials(proxy: &Uri) -> Option<HeaderValue> {
    let (user, _) = proxy.authority()?.as_str().rsplit_once('@')?;
    let encoded = BASE64_STANDARD.encode(percent_decode_str(user).collect::<Vec<u8>>());
    HeaderValue::from_str(&format!("Basic {encoded}")).ok()
}

impl Service<Uri> for Dial {
    type Response = TokioIo<TcpStream>;
    type Error = BoxError;
    type Future = Answer<Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        match self {
            Self::Direct(connector) => boxed(connector.call(to)),
            Self::Http(connector) => boxed(connector.call(to)),
            Self::Socks(connector) => boxed(connector.call(to)),
        }
    }
}

fn boxed<F, E>(dialed: F) -> Answer<Result<TokioIo<TcpStream>, BoxError>>
where
    F: Future<Output = Result<TokioIo<TcpStream>, E>> + Send + 'static,
    E: Into<BoxError>,
{
    Box::pin(async move { dialed.await.map_err(Into::into) })
}

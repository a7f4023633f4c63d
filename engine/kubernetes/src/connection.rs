//! How a cluster is reached: TLS and credentials of the kubeconfig, proxies, and connections that
//! are only used once it is known which cluster is at their other end.
//!
//! Every connection is HTTP/1.1, since streams into containers are upgrades of it. A connection of a
//! pinned cluster is asked for the cluster's identity before anything else is sent on it.

mod dial;
mod tls;
mod trouble;
mod verify;

use std::{
    sync::{Arc, Mutex, OnceLock, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use hyper::{
    Request, Response,
    body::Incoming,
    header::{AUTHORIZATION, HeaderMap, HeaderName, USER_AGENT},
};
use hyper_util::{
    client::legacy::{Client as Pool, Error as PoolError},
    rt::{TokioExecutor, TokioTimer},
};
use kube::{
    Config,
    client::{Body, ConfigExt},
};
use tokio::sync::watch;
use tower::{BoxError, Layer, Service, util::option_layer};

use crate::{Identity, KubernetesError};
use dial::Dial;
pub(crate) use trouble::unreachable;
use verify::Verified;
pub(crate) use verify::uid_of_answer;

/// How long a connection without work is kept.
const IDLE: Duration = Duration::from_secs(30);

/// What is known about the cluster that connections must lead to.
pub(crate) struct Pin {
    identity: OnceLock<Identity>,
    /// The headers of the newest request, which say who we are.
    credentials: Mutex<HeaderMap>,
    server: String,
    /// The path that all requests start with; mostly empty.
    prefix: String,
    /// How often no answer came on a connection that seemed to be well.
    distrusts: watch::Sender<usize>,
}

impl Pin {
    fn new(config: &Config) -> Self {
        Self {
            identity: OnceLock::new(),
            credentials: Mutex::default(),
            server: config.cluster_url.to_string(),
            prefix: config.cluster_url.path().trim_end_matches('/').to_owned(),
            distrusts: watch::Sender::new(0),
        }
    }

    /// No answer came on a connection; as all of them took the same way, none that is open is used any more.
    pub(crate) fn distrust(&self) {
        self.distrusts.send_modify(|it| *it += 1);
    }

    /// Tells whenever the connections that are open may be dead.
    pub(crate) fn distrusts(&self) -> watch::Receiver<usize> {
        self.distrusts.subscribe()
    }

    /// Pins an identity; the first one stays.
    pub(crate) fn set(&self, identity: Identity) {
        let _ = self.identity.set(identity);
    }

    /// The pinned identity.
    pub(crate) fn get(&self) -> Option<&Identity> {
        self.identity.get()
    }

    fn remember(&self, headers: &HeaderMap) {
        let says_who = |name: &HeaderName| {
            matches!(*name, AUTHORIZATION | USER_AGENT) || name.as_str().starts_with("impersonate-")
        };
        let kept = headers.iter().filter(|(name, _)| says_who(name));
        let kept = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
        *self.credentials.lock().unwrap_or_else(PoisonError::into_inner) = kept;
    }

    fn credentials(&self) -> HeaderMap {
        self.credentials.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Marks a request that may go to any cluster: it asks which one is there.
#[derive(Clone, Copy)]
pub(crate) struct AnyCluster;

/// Connects as a kubeconfig says; no request is made yet, but its credential plugin may run.
pub(crate) fn connect(config: &Config) -> Result<(kube::Client, Arc<Pin>), KubernetesError> {
    let problem = |error: kube::Error| KubernetesError::Config(error.to_string());
    let pin = Arc::new(Pin::new(config));
    let dial = Dial::new(config)?;
    let connector = tls::connector(config, dial)?;
    let mut builder = Pool::builder(TokioExecutor::new());
    builder.pool_idle_timeout(IDLE).pool_timer(TokioTimer::new());
    let verifying = Arc::clone(&pin);
    let make = move || {
        let open = builder.build(Verified::new(connector.clone(), None));
        let verified = Verified::new(connector.clone(), Some(Arc::clone(&verifying)));
        Pair { open, pinned: builder.build(verified) }
    };
    let pair = Mutex::new((0, make()));
    let pools = Pools { pair: Arc::new(pair), make: Arc::new(make), pin: Arc::clone(&pin) };
    let stack = config.extra_headers_layer().map_err(problem)?.layer(pools);
    let stack = option_layer(config.auth_layer().map_err(problem)?).layer(stack);
    let stack = config.base_uri_layer().layer(stack);
    Ok((kube::Client::new(stack, config.default_namespace.clone()), pin))
}

/// The connections made before the cluster was pinned, and those made after.
#[derive(Clone)]
struct Pair<C> {
    open: Pool<C, Body>,
    pinned: Pool<C, Body>,
}

/// All connections that are open and trusted.
#[derive(Clone)]
struct Pools<C> {
    /// And how often connections were distrusted before these.
    pair: Arc<Mutex<(usize, Pair<C>)>>,
    make: Arc<dyn Fn() -> Pair<C> + Send + Sync>,
    pin: Arc<Pin>,
}

impl<C: Clone> Pools<C> {
    /// The connections to use.
    fn trusted(&self) -> Pair<C> {
        let n_distrusts = *self.pin.distrusts.borrow();
        let mut pair = self.pair.lock().unwrap_or_else(PoisonError::into_inner);
        if pair.0 != n_distrusts {
            *pair = (n_distrusts, (self.make)());
        }
        pair.1.clone()
    }
}

impl<C> Service<Request<Body>> for Pools<C>
where
    C: Clone,
    Pool<C, Body>: Service<Request<Body>, Response = Response<Incoming>, Error = PoolError>
        + Clone
        + Send
        + 'static,
    <Pool<C, Body> as Service<Request<Body>>>::Future: Send,
{
    type Response = Response<Incoming>;
    type Error = BoxError;
    type Future = Answer<Result<Response<Incoming>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        self.pin.remember(request.headers());
        let is_pinned =
            self.pin.get().is_some() && request.extensions().get::<AnyCluster>().is_none();
        let Pair { open, pinned } = self.trusted();
        let mut pool = if is_pinned { pinned } else { open };
        let answer = pool.call(request);
        Box::pin(async move { answer.await.map_err(Into::into) })
    }
}

/// An answer that will come.
type Answer<T> = std::pin::Pin<Box<dyn Future<Output = T> + Send>>;

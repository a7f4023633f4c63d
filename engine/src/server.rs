//! What listens: the web port and the API server.
//!
//! Both are bound before anything is said to the user, served by tasks that [`Serving`] owns, and end together.

use std::{io, net::SocketAddr, path::PathBuf, time::Duration};

use axum::Router;
use builtins::golang::os_error::errno_text;
use tokio::{net::TcpListener, sync::watch, task::JoinSet, time};

use crate::{api::Store, runtime::Handle};

pub mod config_file;
pub mod logs;
pub mod rest;
mod tls;
pub mod web;

pub use logs::Logs;

/// How long open requests get to end by themselves.
const GRACE: Duration = Duration::from_secs(1);

/// Where to listen, and who may ask.
#[derive(Clone, Debug)]
pub struct Options {
    /// The host of the web port.
    pub host: String,
    /// The web port; 0 for a free one.
    pub port: u16,
    /// What clients of the web port show.
    pub token: String,
    /// When the engine started.
    pub start_time: jiff::Timestamp,
    /// The file that tells clients where the API server is; where they look by default, if none is given.
    pub config_file: Option<PathBuf>,
}

/// Why nothing listens.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Somebody else has the port.
    #[error(
        "Tilt cannot start because you already have another process on port {port}\n\
         If you want to run multiple Tilt instances simultaneously,\n\
         use the --port flag or TILT_PORT env variable to set a custom port\n\
         Original error: listen tcp {address}: bind: address already in use"
    )]
    PortTaken {
        /// The port.
        port: u16,
        /// Where it is taken.
        address: String,
    },
    /// The address cannot be used.
    #[error("{}", listen_text(address, source))]
    Address {
        /// The address.
        address: String,
        /// Why not.
        source: io::Error,
    },
    /// The API server has no certificate.
    #[error("making a certificate for the API server: {0}")]
    Certificate(#[from] tls::CertificateError),
}

/// Listening, but not answering yet.
#[derive(Debug)]
pub struct Bound {
    options: Options,
    web: TcpListener,
    web_addr: SocketAddr,
    api: tls::TlsListener,
    ca_pem: String,
}

/// Listens on the web port, and on a free port for the API server.
///
/// # Errors
/// If the port is taken or the address cannot be used.
pub async fn bind(options: Options) -> Result<Bound, BindError> {
    let web = listen(&options.host, options.port).await?;
    let refused = |address: String| move |source| BindError::Address { address, source };
    let web_addr = web.local_addr().map_err(refused(options.host.clone()))?;
    let (config, ca_pem) = tls::generate()?;
    let api = TcpListener::bind("127.0.0.1:0").await.map_err(refused("127.0.0.1".to_owned()))?;
    let api = tls::TlsListener::new(api, config);
    Ok(Bound { options, web, web_addr, api, ca_pem })
}

/// In the words of Go's listener; an address that is no address is a name that nobody knows.
fn listen_text(address: &str, source: &io::Error) -> String {
    match source.raw_os_error() {
        Some(_) => format!("listen tcp {address}: bind: {}", errno_text(source)),
        None => {
            let host = address.rsplit_once(':').map_or(address, |it| it.0);
            format!("listen tcp: lookup {host}: no such host")
        }
    }
}

async fn listen(host: &str, port: u16) -> Result<TcpListener, BindError> {
    // A listener of another program on all addresses does not keep us from taking one of them, and the other way
    // round; clients would then reach whoever is more specific. So whoever answers already has the port.
    match TcpListener::bind((host, port)).await {
        Ok(listener) => Ok(listener),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            let mut found = tokio::net::lookup_host((host, port)).await.into_iter().flatten();
            let address = found.find(SocketAddr::is_ipv4);
            let address = address.map_or_else(|| format!("{host}:{port}"), |it| it.to_string());
            Err(BindError::PortTaken { port, address })
        }
        Err(source) => Err(BindError::Address { address: format!("{host}:{port}"), source }),
    }
}

impl Bound {
    /// The address of the web port.
    #[must_use]
    pub fn web_addr(&self) -> SocketAddr {
        self.web_addr
    }

    /// The first thing that people read.
    #[must_use]
    pub fn greeting(&self) -> String {
        if self.options.port == 0 {
            return "Tilt started (without browser UI)".to_owned();
        }
        let note = match self.options.host.as_str() {
            "0.0.0.0" => " (listening on 0.0.0.0)",
            _ => "",
        };
        format!("Tilt started on {}{note}", self.url())
    }

    /// Whether there is a page for people.
    #[must_use]
    pub fn has_page(&self) -> bool {
        self.options.port != 0
    }

    /// The address of the web port as people use it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}:{}/", web::shown_host(&self.options.host), self.web_addr.port())
    }

    /// Starts to answer, and tells clients where.
    ///
    /// # Errors
    /// If clients cannot be told.
    pub async fn serve(self, store: Store, logs: Logs, handle: Handle) -> io::Result<Serving> {
        let (close, closing) = watch::channel(false);
        let api_token = config_file::new_token();
        let entry = config_file::Entry {
            // With a port that was chosen here, clients still have to be able to tell instances apart.
            instance: config_file::instance_name(self.web_addr.port()),
            server: format!("https://127.0.0.1:{}", self.api.port()?),
            ca_pem: self.ca_pem,
            token: api_token.clone(),
        };
        let rest = rest::Rest::new(store.clone(), closing.clone());
        let state =
            web::State::new(&self.options, store, logs, handle, rest.clone(), closing.clone());
        let mut tasks = JoinSet::new();
        tasks.spawn(answer(self.web, web::app(state.clone()), closing.clone()));
        tasks.spawn(answer(self.api, rest::app(rest, &api_token), closing));
        let given = self.options.config_file;
        let add = move || {
            let file = given.map_or_else(config_file::path, Ok)?;
            config_file::add(&file, &entry).map(|()| (file, entry))
        };
        let entry = tokio::task::spawn_blocking(add).await.map_err(io::Error::other)??;
        Ok(Serving { state, close, tasks, entry })
    }
}

async fn answer<L>(listener: L, app: Router, mut closing: watch::Receiver<bool>)
where
    L: axum::serve::Listener,
    L::Addr: std::fmt::Debug,
{
    let end = async move {
        // A sender that is gone means the end, too.
        let _ = closing.wait_for(|closing| *closing).await;
    };
    // Serving does not fail: errors of connections stay theirs.
    let _ = axum::serve(listener, app).with_graceful_shutdown(end).await;
}

/// The servers at work.
#[derive(Debug)]
pub struct Serving {
    state: web::State,
    close: watch::Sender<bool>,
    tasks: JoinSet<()>,
    entry: (PathBuf, config_file::Entry),
}

impl Serving {
    /// What the page shows now, as a file that can be opened later.
    #[must_use]
    pub fn snapshot(&self) -> Vec<u8> {
        web::snapshot(&self.state)
    }

    /// Ends all connections, and tells clients that nobody is here any more.
    pub async fn shutdown(mut self) {
        let (file, entry) = self.entry;
        let removed = tokio::task::spawn_blocking(move || config_file::remove(&file, &entry));
        self.close.send_replace(true);
        let ended = async { while self.tasks.join_next().await.is_some() {} };
        // Those who do not read their answer are cut off when the set is dropped.
        let _ = time::timeout(GRACE, ended).await;
        // An entry that stays is found to be stale by the next instance.
        let _ = removed.await;
    }
}

#[cfg(test)]
mod tests;

//! What listens: the web port and the API server.
//!
//! Both are bound before anything is said to the user, served by tasks that [`Serving`] owns, and end together.

use std::{io, net::SocketAddr, path::PathBuf, time::Duration};

use engine_api::Store;
use engine_formats::golang::os_error::errno_text;
use tokio::{net::TcpListener, sync::watch, task::JoinSet, time};
use tokio_rustls::TlsAcceptor;

use self::{
    connections::{Connections, Limits},
    listening::Port,
};
use crate::{platform, runtime::Handle};

pub mod config_file;
mod connections;
mod listening;
pub mod logs;
pub mod rest;
mod tls;
pub mod web;

pub use logs::Logs;
pub use web::PageAddress;

/// How long open requests get to end by themselves.
const GRACE: Duration = Duration::from_secs(1);

/// Where to listen, and who may ask.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// The host of the web port.
    pub host: String,
    /// The web port; 0 is without a page, and none takes a free one.
    pub port: Option<u16>,
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
        "{name} cannot start because you already have another process on port {port}\n\
         If you want to run multiple {name} instances simultaneously,\n\
         use the --port flag or TILT_PORT env variable to set a custom port\n\
         Original error: listen tcp {address}: bind: address already in use",
        name = engine_cli::display_name()
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
pub struct Bound {
    options: ServerOptions,
    port: u16,
    web: TcpListener,
    web_addr: SocketAddr,
    page: PageAddress,
    api: TcpListener,
    tls: TlsAcceptor,
    ca_pem: String,
}

impl std::fmt::Debug for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bound")
            .field("web", &self.web)
            .field("api", &self.api)
            .finish_non_exhaustive()
    }
}

/// Listens on the web port, and on a free port for the API server.
///
/// # Errors
/// If the port is taken or the address cannot be used.
pub async fn bind(options: ServerOptions) -> Result<Bound, BindError> {
    let web = listen(&options.host, options.port.unwrap_or(0)).await?;
    let refused = |address: String| move |source| BindError::Address { address, source };
    let web_addr = web.local_addr().map_err(refused(options.host.clone()))?;
    let (tls, ca_pem) = tls::generate()?;
    let api = TcpListener::bind("127.0.0.1:0").await.map_err(refused("127.0.0.1".to_owned()))?;
    let page = PageAddress::new(&options.host, web_addr);
    let port = options.port.unwrap_or(web_addr.port());
    Ok(Bound { options, port, web, web_addr, page, api, tls, ca_pem })
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
    /// The port that clients are told, 0 if there is no page.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The first thing that people read.
    pub fn greeting(&self) -> String {
        if self.port == 0 {
            return "Tilt started (without browser UI)".to_owned();
        }
        let note = match self.options.host.as_str() {
            "0.0.0.0" => " (listening on 0.0.0.0)",
            _ => "",
        };
        format!("Tilt started on {}{note}", self.page.url())
    }

    /// The page for people, if there is one.
    pub fn page(&self) -> Option<&PageAddress> {
        (self.port != 0).then_some(&self.page)
    }

    /// Who else can reach the page and what they can do there, if anybody can.
    pub fn exposure(&self) -> Option<String> {
        self.page().filter(|_| !self.web_addr.ip().is_loopback())?;
        let who = if web::is_disabled() {
            "As TILT_DISABLE_HUD_AUTH=1 turns off tokens, anybody there"
        } else {
            "Traffic is not encrypted: anybody who has the token or a link with a key, or who can listen in,"
        };
        Some(format!(
            "Other machines can reach this page, because it listens on {}. {who} can read all logs, and run the \
             Tiltfile's commands as you. Use `--host localhost` to keep it to this machine.",
            self.web_addr.ip(),
        ))
    }

    /// Starts to answer, and tells clients where.
    ///
    /// # Errors
    /// If clients cannot be told.
    pub async fn serve(self, store: Store, logs: Logs, handle: Handle) -> io::Result<Serving> {
        let (close, closing) = watch::channel(false);
        let api_token = config_file::new_token();
        let entry = config_file::InstanceEntry {
            // Clients look for the port that they were told, also if it is 0.
            instance: config_file::instance_name(self.port),
            server: format!("https://127.0.0.1:{}", self.api.local_addr()?.port()),
            ca_pem: self.ca_pem,
            token: api_token.clone(),
        };
        let rest = rest::Rest::new(store.clone(), closing.clone());
        let state = web::State::new(
            &self.options,
            self.page,
            store,
            logs,
            handle,
            rest.clone(),
            closing.clone(),
        );
        let connections = Connections::new(Limits::of(platform::max_open_files()));
        let web = Port { app: web::app(state.clone()), tls: None, connections, closing };
        let api = Port { app: rest::app(rest, &api_token), tls: Some(self.tls), ..web.clone() };
        let mut tasks = JoinSet::new();
        tasks.spawn(web.serve(self.web));
        tasks.spawn(api.serve(self.api));
        let given = self.options.config_file;
        let add = move || {
            let file = given.map_or_else(config_file::path, Ok)?;
            config_file::add(&file, &entry).map(|()| (file, entry))
        };
        let entry = tokio::task::spawn_blocking(add).await.map_err(io::Error::other)??;
        Ok(Serving { state, close, tasks, entry })
    }
}

/// The servers at work.
#[derive(Debug)]
pub struct Serving {
    state: web::State,
    close: watch::Sender<bool>,
    tasks: JoinSet<()>,
    entry: (PathBuf, config_file::InstanceEntry),
}

impl Serving {
    /// What the page shows now, as a file that can be opened later.
    pub fn snapshot(&self) -> Vec<u8> {
        web::snapshot(&self.state)
    }

    /// Returns when one of the servers has ended, which none does before [`Serving::shutdown`].
    pub async fn broken(&mut self) {
        self.tasks.join_next().await;
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

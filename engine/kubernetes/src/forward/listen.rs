//! Where a forward listens: on both families of localhost, or on the addresses of a host that this machine has.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use futures_util::future::select_all;
use tokio::net::{TcpListener, TcpStream, lookup_host};
use tokio::time::sleep;

/// How often a port that is taken is tried again at once: a forward to an earlier pod may just be ending.
const N_TRIES: usize = 10;
const PAUSE: Duration = Duration::from_millis(20);
/// How often a free port is chosen that another address may not have free.
const N_PORTS: usize = 10;

/// The open ports of one forward: one for each address, all with the same number.
#[derive(Debug)]
pub(super) struct Listeners {
    listeners: Vec<TcpListener>,
    port: u16,
}

impl Listeners {
    /// Listens on a host.
    pub(super) async fn bind(host: &str, port: u16) -> Result<Self, ListenError> {
        for _ in 1..N_TRIES {
            match Self::try_bind(host, port).await {
                Err(ListenError::Port { is_taken: true, .. }) => sleep(PAUSE).await,
                result => return result,
            }
        }
        Self::try_bind(host, port).await
    }

    async fn try_bind(host: &str, port: u16) -> Result<Self, ListenError> {
        if is_localhost(host) {
            let both = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
            return Self::open(&both, port, Needed::One).await;
        }
        let addresses = resolve(host).await?;
        let mut usable = Vec::new();
        for address in &addresses {
            if TcpListener::bind(SocketAddr::new(*address, 0)).await.is_ok() {
                usable.push(*address);
            }
        }
        if usable.is_empty() {
            let tried: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            let (host, addresses) = (host.to_owned(), tried.join(" "));
            return Err(ListenError::Addresses { host, addresses });
        }
        Self::open(&usable, port, Needed::All).await
    }

    async fn open(addresses: &[IpAddr], port: u16, needed: Needed) -> Result<Self, ListenError> {
        let mut result = Self::open_once(addresses, port, needed).await;
        // A port that is free on one address may be taken on another one.
        for _ in 1..N_PORTS {
            if port != 0 || !matches!(&result, Ok(it) if it.listeners.len() < addresses.len()) {
                break;
            }
            let next = Self::open_once(addresses, port, needed).await;
            if next.as_ref().is_ok_and(|it| it.listeners.len() == addresses.len()) {
                result = next;
            }
        }
        result
    }

    async fn open_once(
        addresses: &[IpAddr],
        port: u16,
        needed: Needed,
    ) -> Result<Self, ListenError> {
        let (mut listeners, mut errors, mut chosen) = (Vec::new(), Vec::new(), port);
        let mut is_taken = false;
        for address in addresses {
            let at = SocketAddr::new(*address, chosen);
            match TcpListener::bind(at).await {
                Ok(listener) => {
                    chosen = listener.local_addr().map_or(chosen, |it| it.port());
                    listeners.push(listener);
                }
                Err(error) => {
                    is_taken |= error.kind() == io::ErrorKind::AddrInUse;
                    errors.push(format!(
                        "unable to create listener: Error listen {} {at}: {}",
                        if address.is_ipv4() { "tcp4" } else { "tcp6" },
                        go_words(&error),
                    ));
                }
            }
        }
        let is_enough = match needed {
            Needed::One => !listeners.is_empty(),
            Needed::All => errors.is_empty(),
        };
        if is_enough {
            return Ok(Self { listeners, port: chosen });
        }
        let (is_taken, errors) = (is_taken && port != 0, errors.join(" "));
        Err(ListenError::Port { port: chosen, errors, is_taken })
    }

    /// The port.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// The addresses.
    pub(super) fn addresses(&self) -> Vec<String> {
        let addresses = self.listeners.iter().filter_map(|it| it.local_addr().ok());
        let mut addresses: Vec<String> = addresses.map(|it| it.ip().to_string()).collect();
        addresses.sort();
        addresses
    }

    /// The next connection to any of the addresses.
    pub(super) async fn accept(&self) -> io::Result<TcpStream> {
        let accepts = self.listeners.iter().map(|it| Box::pin(it.accept()));
        let (accepted, _, _) = select_all(accepts).await;
        let (socket, _) = accepted?;
        // What people type shall not wait for more.
        socket.set_nodelay(true)?;
        Ok(socket)
    }
}

/// How many of the addresses have to be free.
#[derive(Clone, Copy)]
enum Needed {
    One,
    All,
}

/// Why a forward cannot listen.
#[derive(Debug, thiserror::Error)]
pub(super) enum ListenError {
    #[error("failed to look up address for {host}: {source}")]
    Lookup { host: String, source: io::Error },
    #[error("host {host}: cannot listen on any resolved addresses: [{addresses}]")]
    Addresses { host: String, addresses: String },
    #[error(
        "Unable to listen on port {port}: Listeners failed to create with the following errors: [{errors}]"
    )]
    Port { port: u16, errors: String, is_taken: bool },
}

fn is_localhost(host: &str) -> bool {
    host.is_empty() || host == "localhost"
}

/// The addresses of a host, which may be written in brackets.
async fn resolve(host: &str) -> Result<Vec<IpAddr>, ListenError> {
    let bare = host.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(host);
    let failed = |source| ListenError::Lookup { host: host.to_owned(), source };
    let found = lookup_host((bare, 0)).await.map_err(failed)?;
    // An address with a zone belongs to one interface; it cannot be listened on like the others.
    let plain = found.filter(|it| !matches!(it, SocketAddr::V6(it) if it.scope_id() != 0));
    let mut addresses: Vec<IpAddr> = plain.map(|it| it.ip()).collect();
    addresses.sort();
    addresses.dedup();
    Ok(addresses)
}

/// The words that people know for the errors that are common here.
fn go_words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => "bind: address already in use".to_owned(),
        io::ErrorKind::PermissionDenied => "bind: permission denied".to_owned(),
        io::ErrorKind::AddrNotAvailable => "bind: cannot assign requested address".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn localhost_is_both_families_with_one_port() {
        for host in ["", "localhost"] {
            let listeners = Listeners::bind(host, 0).await.unwrap();
            assert_ne!(listeners.port(), 0);
            let addresses = listeners.addresses();
            assert!(addresses.contains(&"127.0.0.1".to_owned()), "{addresses:?}");
            for address in addresses {
                let ip: IpAddr = address.parse().unwrap();
                let connect = TcpStream::connect((ip, listeners.port()));
                let (accepted, connected) = tokio::join!(listeners.accept(), connect);
                let (mut here, mut there) = (accepted.unwrap(), connected.unwrap());
                here.write_all(b"x").await.unwrap();
                assert_eq!(there.read_u8().await.unwrap(), b'x');
            }
        }
    }

    #[tokio::test]
    async fn a_host_is_listened_on_where_it_is_this_machine() {
        for (host, expected) in [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "0.0.0.0")] {
            let listeners = Listeners::bind(host, 0).await.unwrap();
            assert_eq!(listeners.addresses(), [expected]);
        }
        // An address for documents, which no machine has.
        let error = Listeners::bind("192.0.2.1", 0).await.unwrap_err().to_string();
        assert_eq!(error, "host 192.0.2.1: cannot listen on any resolved addresses: [192.0.2.1]");
        let error = Listeners::bind("no such host", 0).await.unwrap_err().to_string();
        assert!(error.starts_with("failed to look up address for no such host: "), "{error}");
    }

    #[tokio::test]
    async fn a_port_that_is_taken_is_told() {
        let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = taken.local_addr().unwrap().port();
        let error = Listeners::bind("127.0.0.1", port).await.unwrap_err().to_string();
        assert_eq!(
            error,
            format!(
                "Unable to listen on port {port}: Listeners failed to create with the following errors: \
                 [unable to create listener: Error listen tcp4 127.0.0.1:{port}: bind: address already in use]"
            )
        );
    }

    #[tokio::test]
    async fn one_family_of_localhost_is_enough() {
        let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = taken.local_addr().unwrap().port();
        if TcpListener::bind(("::1", 0)).await.is_ok() {
            let listeners = Listeners::bind("localhost", port).await.unwrap();
            assert_eq!(listeners.addresses(), ["::1"]);
        }
    }
}

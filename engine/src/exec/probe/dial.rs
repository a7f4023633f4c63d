//! Connects to a host, with the words of Go for what goes wrong.

use std::{io, net::SocketAddr};

use engine_formats::golang::os_error::errno_text;
use tokio::net::{TcpStream, lookup_host};

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum DialError {
    #[error("dial tcp: lookup {0}: no such host")]
    Lookup(String),
    #[error("dial tcp {address}: connect: {}", errno_text(source))]
    Connect { address: SocketAddr, source: io::Error },
}

/// A connection to the first address of a host that accepts one.
///
/// # Errors
/// If none does; of several reasons, the first.
pub(super) async fn dial(host: &str, port: u16) -> Result<TcpStream, DialError> {
    let unknown = || DialError::Lookup(host.to_owned());
    let addresses = lookup_host((host, port)).await.map_err(|_| unknown())?;
    let mut first = None;
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(source) => drop(first.get_or_insert(DialError::Connect { address, source })),
        }
    }
    Err(first.unwrap_or_else(unknown))
}

//! Connects to a host, with the words of Go for what goes wrong.

use builtins::golang::os_error::errno_text;
use tokio::net::{TcpStream, lookup_host};

/// A connection to the first address of a host that accepts one.
///
/// # Errors
/// If none does; of several reasons, the first.
pub(super) async fn dial(host: &str, port: u16) -> Result<TcpStream, String> {
    let unknown = || format!("dial tcp: lookup {host}: no such host");
    let addresses = lookup_host((host, port)).await.map_err(|_| unknown())?;
    let mut first = None;
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => {
                let text = format!("dial tcp {address}: connect: {}", errno_text(&error));
                first.get_or_insert(text);
            }
        }
    }
    Err(first.unwrap_or_else(unknown))
}

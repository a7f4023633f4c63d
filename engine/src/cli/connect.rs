//! Where the running instance is: flags, then environment, then Tilt's defaults.

use std::{env, io, num::IntErrorKind};

use builtins::golang::quote::quote;
use clap::Args;
use tokio::net::TcpStream;

use super::values;

/// The web port of an instance that was not told otherwise.
pub(super) const DEFAULT_PORT: i64 = 10350;

/// The flags that name an instance.
#[derive(Debug, Clone, Args)]
pub(super) struct ConnectFlags {
    /// Port of the instance, if it was started with --port; instead of `TILT_PORT`
    #[arg(long, value_name = "PORT", default_value_t = default_port(), value_parser = values::int)]
    pub(super) port: i64,
    /// Host of the instance, if it was started with --host; instead of `TILT_HOST`
    #[arg(long, value_name = "HOST", default_value_t = default_host())]
    pub(super) host: String,
}

impl ConnectFlags {
    /// The port to listen on.
    pub(super) fn listen_port(&self) -> io::Result<u16> {
        tcp_port(self.port, "listen")
    }

    /// Host and port, as messages show them.
    pub(super) fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// The name under which the API server of the instance is registered.
    pub(super) fn api_server_name(&self) -> String {
        match self.port {
            DEFAULT_PORT => "tilt-default".to_owned(),
            port => format!("tilt-{port}"),
        }
    }
}

/// A number that a flag takes as it is, as far as it is a port; what is done with it is in the error.
pub(super) fn tcp_port(port: i64, verb: &str) -> io::Result<u16> {
    u16::try_from(port)
        .map_err(|_| io::Error::other(format!("{verb} tcp: address {port}: invalid port")))
}

/// Connects to a server; a name that leads nowhere is worded as by Go's dialer.
pub(super) async fn dial(host: &str, port: i64) -> io::Result<TcpStream> {
    let port = tcp_port(port, "dial")?;
    let stream = TcpStream::connect((host, port)).await.map_err(|error| {
        match error.raw_os_error() {
            Some(_) => error,
            // The system's words for it differ from place to place.
            None => io::Error::other(format!("dial tcp: lookup {host}: no such host")),
        }
    })?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// A port in the environment that is no number stops every command.
///
/// # Errors
/// What is wrong with it.
pub(super) fn check_environment() -> Result<(), String> {
    let text = env::var("TILT_PORT").unwrap_or_default();
    let cause = match text.parse::<i64>().map_err(|it| *it.kind()) {
        Ok(_) => return Ok(()),
        Err(_) if text.is_empty() => return Ok(()),
        Err(IntErrorKind::PosOverflow | IntErrorKind::NegOverflow) => "value out of range",
        Err(_) => "invalid syntax",
    };
    Err(format!("parsing env TILT_PORT: strconv.Atoi: parsing {}: {cause}", quote(&text)))
}

/// The port of the environment.
pub(super) fn default_port() -> i64 {
    env::var("TILT_PORT").ok().and_then(|it| it.parse().ok()).unwrap_or(DEFAULT_PORT)
}

/// The host of the environment.
pub(super) fn default_host() -> String {
    env::var("TILT_HOST").ok().filter(|it| !it.is_empty()).unwrap_or_else(|| "localhost".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_port_has_a_name_of_its_own() {
        let name = |port| ConnectFlags { port, host: "localhost".to_owned() }.api_server_name();
        assert_eq!(name(10350), "tilt-default");
        assert_eq!(name(10351), "tilt-10351");
        assert_eq!(name(0), "tilt-0");
        assert_eq!(name(-1), "tilt--1");
    }

    #[test]
    fn a_number_that_is_no_port_is_an_error_when_it_is_used() {
        assert_eq!(tcp_port(65_535, "dial").ok(), Some(65_535));
        for (port, want) in [
            (65_536, "dial tcp: address 65536: invalid port"),
            (-1, "dial tcp: address -1: invalid port"),
        ] {
            assert_eq!(tcp_port(port, "dial").unwrap_err().to_string(), want);
        }
    }
}

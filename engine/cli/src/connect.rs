//! The address of the running instance: flags, then environment, then Tilt's defaults.

use std::{
    env, fmt, io,
    net::{TcpStream as StdStream, ToSocketAddrs},
    num::IntErrorKind,
    sync::OnceLock,
};

use clap::{ArgMatches, Args, FromArgMatches, parser::ValueSource};
use engine_formats::golang::quote::quote;
use tokio::net::TcpStream;

use super::{
    Printer,
    instances::{Instance, name_of_port},
    is_tilt,
    values::{self, IntError},
};

/// The value of `--port` and `TILT_PORT` that makes an instance take a free port, which its commands get.
pub const AUTO: &str = "auto";

/// The default web port.
pub(crate) const DEFAULT_PORT: i64 = 10350;

/// The default host.
const DEFAULT_HOST: &str = "localhost";

/// The flags that name an instance, as they are typed.
#[derive(Debug, Args)]
struct TypedFlags {
    /// Port of the instance. Overrides `TILT_PORT`
    #[arg(long, value_name = "PORT", default_value_t = default_port(), value_parser = values::int)]
    port: i64,
    /// Host of the instance. Overrides `TILT_HOST`
    #[arg(long, value_name = "HOST", default_value_t = default_host())]
    host: String,
}

/// Which instance is meant.
#[derive(Debug, Clone)]
pub struct ConnectFlags {
    port: i64,
    host: String,
    /// The port of the only engine that runs here, once that was looked for; nothing to look for if somebody chose one.
    found: Option<OnceLock<i64>>,
}

impl Args for ConnectFlags {
    fn augment_args(command: clap::Command) -> clap::Command {
        TypedFlags::augment_args(command)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        TypedFlags::augment_args_for_update(command)
    }
}

impl FromArgMatches for ConnectFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let TypedFlags { port, host } = TypedFlags::from_arg_matches(matches)?;
        let is_typed = matches.value_source("port") != Some(ValueSource::DefaultValue);
        Ok(Self::new(is_typed.then_some(port), host))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl ConnectFlags {
    /// The instance on a port, or the one that is meant if no port is given.
    pub fn new(port: Option<i64>, host: String) -> Self {
        let is_chosen = port.is_some() || port_of_environment().is_some() || host != DEFAULT_HOST;
        let found = (!is_chosen && !is_tilt()).then(OnceLock::new);
        Self { port: port.unwrap_or_else(default_port), host, found }
    }

    /// The host of the instance.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port of the instance. If nobody chose one and nothing answers on the default port, it is that of the only
    /// engine of this folder.
    pub fn port(&self) -> i64 {
        let Some(found) = &self.found else { return self.port };
        *found.get_or_init(|| self.port_of_this_folder().unwrap_or(self.port))
    }

    fn port_of_this_folder(&self) -> Option<i64> {
        if answers(&self.host, self.port) {
            return None;
        }
        let here = env::current_dir().ok()?.canonicalize().ok()?;
        let is_meant = |it: &Instance| it.tilt().is_none() && here.starts_with(it.folder());
        let [instance] = <[Instance; 1]>::try_from(
            Instance::all().into_iter().filter(is_meant).collect::<Vec<_>>(),
        )
        .ok()?;
        let port = instance.port()?;
        Printer.err(&format!("using the engine on port {port}\n"));
        Some(port)
    }

    /// Host and port, as messages show them.
    pub fn address(&self) -> String {
        format!("{}:{}", self.host, self.port())
    }

    /// The name under which the API server of the instance is registered.
    pub(crate) fn api_server_name(&self) -> String {
        name_of_port(self.port())
    }
}

/// Whether anybody listens there.
fn answers(host: &str, port: i64) -> bool {
    let Ok(port) = u16::try_from(port) else { return false };
    let addresses = (host, port).to_socket_addrs().into_iter().flatten();
    addresses.into_iter().any(|it| StdStream::connect(it).is_ok())
}

/// The flags of commands that start an instance.
#[derive(Debug, Clone, Args)]
pub struct ListenFlags {
    /// The port.
    #[arg(long, value_name = "PORT", default_value_t = ListenPort::of_environment(), value_parser = ListenPort::parse,
        help = "Port of the web page; auto picks a free one, 0 turns it off. Overrides `TILT_PORT`")]
    pub port: ListenPort,
    /// The host.
    #[arg(long, value_name = "HOST", default_value_t = default_host(),
        help = "Address to listen on; 0.0.0.0 for all interfaces (reachable by others). Overrides `TILT_HOST`")]
    pub host: String,
}

/// The port that an instance listens on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListenPort {
    /// This one; 0 is without a page.
    Number(i64),
    /// One that is free.
    Auto,
}

impl ListenPort {
    fn parse(text: &str) -> Result<Self, IntError> {
        if text == AUTO { Ok(Self::Auto) } else { values::int(text).map(Self::Number) }
    }

    /// The port of the environment.
    fn of_environment() -> Self {
        match env::var("TILT_PORT") {
            Ok(text) if text == AUTO => Self::Auto,
            _ => Self::Number(default_port()),
        }
    }

    /// The port to listen on, unless the system picks it.
    pub fn tcp(self) -> io::Result<Option<u16>> {
        match self {
            Self::Number(port) => tcp_port(port, "listen").map(Some),
            Self::Auto => Ok(None),
        }
    }
}

impl fmt::Display for ListenPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(port) => port.fmt(f),
            Self::Auto => AUTO.fmt(f),
        }
    }
}

/// Converts the value of a flag to a port; `verb` is for the error.
pub fn tcp_port(port: i64, verb: &str) -> io::Result<u16> {
    u16::try_from(port)
        .map_err(|_| io::Error::other(format!("{verb} tcp: address {port}: invalid port")))
}

/// Connects to a server; an unknown host is reported as by Go's dialer.
pub(crate) async fn dial(host: &str, port: i64) -> io::Result<TcpStream> {
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

/// `TILT_PORT` is neither a number nor `auto`.
#[derive(Debug, thiserror::Error)]
#[error("parsing env TILT_PORT: strconv.Atoi: parsing {}: {cause}", quote(.text))]
pub struct EnvironmentError {
    text: String,
    cause: &'static str,
}

/// Checks `TILT_PORT`; every command refuses to run with an invalid one.
pub fn check_environment() -> Result<(), EnvironmentError> {
    let text = env::var("TILT_PORT").unwrap_or_default();
    let cause = match text.parse::<i64>().map_err(|it| *it.kind()) {
        Ok(_) => return Ok(()),
        Err(_) if text.is_empty() || text == AUTO => return Ok(()),
        Err(IntErrorKind::PosOverflow | IntErrorKind::NegOverflow) => "value out of range",
        Err(_) => "invalid syntax",
    };
    Err(EnvironmentError { text, cause })
}

/// The port of the environment; `auto` does not help to find an instance.
pub fn default_port() -> i64 {
    port_of_environment().unwrap_or(DEFAULT_PORT)
}

fn port_of_environment() -> Option<i64> {
    env::var("TILT_PORT").ok()?.parse().ok()
}

/// The host of the environment.
pub fn default_host() -> String {
    env::var("TILT_HOST")
        .ok()
        .filter(|it| !it.is_empty())
        .unwrap_or_else(|| DEFAULT_HOST.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_chooses_no_port_gets_the_engine_of_the_folder() {
        let is_looked_for = |port: Option<i64>, host: &str| {
            ConnectFlags::new(port, host.to_owned()).found.is_some()
        };
        assert!(!is_looked_for(Some(10350), "localhost"));
        assert!(!is_looked_for(None, "example.com"));
        assert!(is_looked_for(None, "localhost"));
        assert_eq!(ConnectFlags::new(Some(7), "localhost".to_owned()).address(), "localhost:7");
    }

    #[test]
    fn a_port_to_listen_on_is_a_number_or_a_free_one() {
        for (text, want) in [("auto", Ok(None)), ("0", Ok(Some(0))), ("0x10", Ok(Some(16)))] {
            assert_eq!(ListenPort::parse(text).map(|it| it.tcp().expect("a port")), want);
        }
        assert!(
            ListenPort::parse("Auto").is_err_and(|it| it.to_string().contains("invalid syntax"))
        );
        assert_eq!(ListenPort::Auto.to_string(), "auto");
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

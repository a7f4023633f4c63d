//! Decides which Docker engine is meant: `DOCKER_HOST`, a context, or the usual socket, in the
//! order that the Docker command line has.

use std::{fs::File, path::PathBuf};

use crate::{
    config::{ConfigFile, Context},
    environment::Environment,
    error::DockerError,
};

const DEFAULT_HOST: &str = "unix:///var/run/docker.sock";

/// Where a Docker engine is, and how to get there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The address as a URL.
    host: String,
    pub(crate) way: Way,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Unix(PathBuf),
    Tcp { address: String, tls: Option<Tls> },
    Ssh(SshTarget),
}

/// Certificates of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tls {
    pub(crate) dir: PathBuf,
    pub(crate) verifies: bool,
}

impl Tls {
    /// Docker reads the authority's certificate before it looks where the engine is, as do we: who asks for TLS learns
    /// in any case that it is missing.
    fn check(&self) -> Result<(), DockerError> {
        let path = self.dir.join("ca.pem");
        match File::open(&path) {
            Ok(_) => Ok(()),
            Err(cause) => Err(DockerError::NoCertificate { path, cause }),
        }
    }
}

/// A machine that is reached by ssh.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SshTarget {
    pub(crate) user: String,
    pub(crate) host: String,
    pub(crate) port: String,
    /// The socket over there, if it is not the usual one.
    pub(crate) socket: String,
}

impl Endpoint {
    /// Finds the engine that the Docker command line would use.
    pub fn resolve(environment: &Environment) -> Result<Self, DockerError> {
        let dir = environment.config_dir();
        let config = ConfigFile::load(dir.as_deref())?;
        let current = || Some(config.current_context.as_str()).filter(|it| !it.is_empty());
        if environment.var("DOCKER_HOST").is_none()
            && let Some(name) = environment.var("DOCKER_CONTEXT").or_else(current)
            && name != "default"
        {
            let context = Context::load(dir.as_deref(), name)?;
            let verifies = !context.skip_tls_verify;
            return Self::parse(&context.host, context.tls_dir.map(|dir| Tls { dir, verifies }));
        }
        let verifies = environment.var("DOCKER_TLS_VERIFY").is_some();
        let certificates = environment.var("DOCKER_CERT_PATH").map(PathBuf::from).or(dir);
        let tls = (verifies || environment.var("DOCKER_TLS").is_some())
            .then_some(certificates)
            .flatten()
            .map(|dir| Tls { dir, verifies });
        if let Some(tls) = tls.as_ref().filter(|it| it.verifies) {
            tls.check()?;
        }
        Self::parse(environment.var("DOCKER_HOST").unwrap_or_default(), tls)
    }

    /// Reads an address as Docker does; without a scheme it is one of TCP.
    fn parse(host: &str, tls: Option<Tls>) -> Result<Self, DockerError> {
        let bad = |why: &str| DockerError::BadHost { host: host.to_owned(), why: why.to_owned() };
        let host = host.trim();
        let host = if host.is_empty() { DEFAULT_HOST } else { host };
        let (scheme, rest) = host.split_once("://").unwrap_or(("tcp", host));
        match scheme {
            "unix" => {
                let path = if rest.is_empty() { &DEFAULT_HOST["unix://".len()..] } else { rest };
                Ok(Self { host: format!("unix://{path}"), way: Way::Unix(path.into()) })
            }
            "tcp" | "http" | "https" => {
                let port = if tls.is_some() { 2376 } else { 2375 };
                let address = with_port(rest.trim_end_matches('/'), port)
                    .ok_or_else(|| bad("it should look like tcp://host:port"))?;
                Ok(Self { host: format!("tcp://{address}"), way: Way::Tcp { address, tls } })
            }
            "ssh" => {
                let target = SshTarget::parse(rest).map_err(bad)?;
                Ok(Self { host: host.to_owned(), way: Way::Ssh(target) })
            }
            _ => Err(bad("only unix, tcp and ssh are supported")),
        }
    }

    /// The address as a URL.
    pub fn host(&self) -> &str {
        &self.host
    }
}

/// An address with a port, which is 2375 or the like if none is given.
fn with_port(address: &str, port: u16) -> Option<String> {
    if address.contains('/') {
        return None;
    }
    let (host, given) = match address.rsplit_once(':') {
        Some((host, given)) if !given.ends_with(']') => (host, Some(given)),
        _ => (address, None),
    };
    let port = match given {
        Some(given) => given.parse().ok()?,
        None => port,
    };
    let host = if host.is_empty() { "localhost" } else { host };
    Some(format!("{host}:{port}"))
}

impl SshTarget {
    fn parse(rest: &str) -> Result<Self, &'static str> {
        if rest.contains(['?', '#']) {
            return Err("an ssh address cannot have parameters or fragments");
        }
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (user, address) = authority.rsplit_once('@').unwrap_or(("", authority));
        if user.contains(':') {
            return Err("plain-text password is not supported");
        }
        let (host, port) = match address.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port),
            _ => (address, ""),
        };
        // Neither may be taken for an option of ssh, nor for another word of its command line.
        let is_plain = |it: &str| !it.starts_with('-') && !it.contains(char::is_whitespace);
        if host.is_empty() || !is_plain(host) || !is_plain(user) {
            return Err("hostname is empty or malformed");
        }
        if !port.chars().all(|it| it.is_ascii_digit()) {
            return Err("the port is not a number");
        }
        let socket = if path.trim_matches('/').is_empty() { "" } else { path };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        Ok(Self {
            user: user.to_owned(),
            host: host.to_owned(),
            port: port.to_owned(),
            socket: socket.to_owned(),
        })
    }

    /// The arguments of `ssh` that lead to the engine over there.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let mut arguments = Vec::new();
        for (option, value) in [("-l", &self.user), ("-p", &self.port)] {
            if !value.is_empty() {
                arguments.extend([option.to_owned(), value.clone()]);
            }
        }
        arguments.extend(["-o", "ConnectTimeout=30", "-T", "--"].map(str::to_owned));
        arguments.push(self.host.clone());
        arguments.push("docker".to_owned());
        if !self.socket.is_empty() {
            arguments.push(format!("'--host=unix://{}'", self.socket.replace('\'', r"'\''")));
        }
        arguments.extend(["system", "dial-stdio"].map(str::to_owned));
        arguments
    }
}

#[cfg(test)]
mod tests;

//! Finds the API server of an instance in the kubeconfig that instances write.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use engine_files::dev_dir;
use engine_formats::{golang::os_error::PathError, yaml};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};
use serde_json::Value;

use crate::{failure::Failure, program};

/// How to reach an API server.
#[derive(Debug)]
pub(super) struct Server {
    /// Where it listens.
    pub(super) host: String,
    /// Where it listens.
    pub(super) port: u16,
    /// What shows that we may talk to it.
    pub(super) token: String,
    /// Whom we trust; nothing for a server without encryption.
    pub(super) tls: Option<Arc<ClientConfig>>,
}

/// Reads how to reach the API server of this name.
pub(super) fn find(name: &str) -> Result<Server, Failure> {
    let mut configs = Vec::new();
    for path in paths() {
        match fs::read(&path) {
            Ok(text) => configs.push(parse(text).map_err(|it| unusable(&path, &it))?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let cause = PathError::reading(&path.to_string_lossy(), &error);
                return Err(unusable(&path, &cause));
            }
        }
    }
    let missing = || Failure::NotRunning(format!("No {} apiserver found: {name}", program()));
    let context = entry(&configs, "contexts", name).ok_or_else(missing)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let cluster = entry(&configs, "clusters", &text(&context["context"]["cluster"]));
    let user = entry(&configs, "users", &text(&context["context"]["user"]));
    let cluster = cluster.map(|it| &it["cluster"]).ok_or_else(missing)?;
    let (is_encrypted, host, port) = address(&text(&cluster["server"])).ok_or_else(missing)?;
    let tls = is_encrypted
        .then(|| trust(&text(&cluster["certificate-authority-data"])))
        .transpose()
        .map_err(|error| Failure::Command(format!("unable to load root certificates: {error}")))?;
    let token = user.map(|it| text(&it["user"]["token"])).unwrap_or_default();
    Ok(Server { host, port, token, tls })
}

#[derive(Debug, thiserror::Error)]
enum ConfigError {
    #[error(transparent)]
    Yaml(#[from] yaml::Error),
    #[error("not a client configuration")]
    NotAMapping,
}

fn parse(text: Vec<u8>) -> Result<Value, ConfigError> {
    let value = yaml::decode_v2(text)?;
    if value.is_object() || value.is_null() { Ok(value) } else { Err(ConfigError::NotAMapping) }
}

fn unusable(path: &Path, cause: &dyn std::fmt::Display) -> Failure {
    Failure::Command(format!("error loading config file \"{}\": {cause}", path.display()))
}

/// The names of all instances that have registered; one that was killed may still be among them.
pub fn instances() -> Vec<String> {
    let configs = paths().into_iter().filter_map(|it| fs::read(it).ok());
    let configs: Vec<Value> = configs.filter_map(|it| parse(it).ok()).collect();
    let contexts = configs.iter().filter_map(|it| it["contexts"].as_array()).flatten();
    let mut names: Vec<String> =
        contexts.filter_map(|it| it["name"].as_str()).map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
}

/// The files, first wins.
fn paths() -> Vec<PathBuf> {
    match env::var_os("TILT_CONFIG").filter(|it| !it.is_empty()) {
        Some(list) => env::split_paths(&list).filter(|it| !it.as_os_str().is_empty()).collect(),
        None => dev_dir::path().map(|it| it.join("config")).into_iter().collect(),
    }
}

fn entry<'a>(configs: &'a [Value], list: &str, name: &str) -> Option<&'a Value> {
    configs
        .iter()
        .filter_map(|it| it[list].as_array())
        .flatten()
        .find(|it| it["name"].as_str() == Some(name))
}

fn address(url: &str) -> Option<(bool, String, u16)> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split('/').next()?;
    let (host, port) = authority.rsplit_once(':')?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Some((scheme == "https", host.to_owned(), port.parse().ok()?))
}

fn trust(authority: &str) -> io::Result<Arc<ClientConfig>> {
    let pem = STANDARD.decode(authority).map_err(io::Error::other)?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|it| io::Error::other(it.to_string()))?;
        // A certificate that cannot vouch for others is of no use here, but no harm either.
        let _ = roots.add(certificate);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_servers_are_taken_apart() {
        let cases = [
            ("https://127.0.0.1:40397", Some((true, "127.0.0.1".to_owned(), 40397))),
            ("http://localhost:80/x", Some((false, "localhost".to_owned(), 80))),
            ("https://[::1]:443", Some((true, "::1".to_owned(), 443))),
            ("https://nowhere", None),
            ("", None),
        ];
        for (url, want) in cases {
            assert_eq!(address(url), want, "{url}");
        }
    }
}

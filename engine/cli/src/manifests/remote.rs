//! Loads manifests from URLs and kustomizations.

use std::{env, fs, path::Path, process::Command, sync::Arc};

use bytes::Bytes;
use engine_formats::golang::quote::quote;
use http_body_util::Full;
use hyper::{Request, header};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};

use crate::{
    client::{Answer, Transport, TransportError},
    failure::Failure,
};

/// How often a server may send us elsewhere.
const MAX_REDIRECTS: usize = 10;

/// Where systems keep the certificates of those they trust.
const AUTHORITIES: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
];

/// The files that make a folder a kustomization.
const KUSTOMIZATIONS: &[&str] = &["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// What a URL answers.
pub(super) fn downloaded(url: &str) -> Result<Vec<u8>, Failure> {
    let mut url = url.to_owned();
    for _ in 0..MAX_REDIRECTS {
        let address = Address::read(&url)
            .ok_or_else(|| kubectl(format!("the URL {} is not valid", quote(&url))))?;
        let answer = address.get().map_err(|error| address.unreachable(&url, &error))?;
        match (answer.status, &answer.location) {
            (200, _) => return Ok(answer.body),
            (301 | 302 | 303 | 307 | 308, Some(location)) => url = address.resolve(location),
            _ => {
                return Err(kubectl(format!(
                    "unable to read URL {}, server reported {}, status code={}",
                    quote(&url),
                    answer.status_text,
                    answer.status
                )));
            }
        }
    }
    Err(kubectl(format!("Get {}: stopped after {MAX_REDIRECTS} redirects", quote(&url))))
}

/// What kustomize makes of a folder; kubectl contains it too.
pub(super) fn kustomized(folder: &Path) -> Result<Vec<u8>, Failure> {
    if !KUSTOMIZATIONS.iter().any(|it| folder.join(it).is_file()) {
        let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        return Err(kubectl(format!(
            "unable to find one of 'kustomization.yaml', 'kustomization.yml' or 'Kustomization' in \
             directory '{}'",
            absolute.display()
        )));
    }
    for words in [["kustomize", "build"], ["kubectl", "kustomize"]] {
        let [program, verb] = words;
        let Ok(output) = Command::new(program).arg(verb).arg("--").arg(folder).output() else {
            continue;
        };
        if output.status.success() {
            return Ok(output.stdout);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim();
        return Err(kubectl(said.strip_prefix("Error: ").unwrap_or(said).to_owned()));
    }
    Err(kubectl("-k needs kustomize or kubectl, and neither of them is installed".to_owned()))
}

fn kubectl(text: String) -> Failure {
    Failure::Kubectl(text)
}

/// The parts of a URL.
#[derive(Debug, PartialEq, Eq)]
struct Address {
    is_encrypted: bool,
    /// Host and port, as the URL has them.
    authority: String,
    host: String,
    port: u16,
    path: String,
}

impl Address {
    fn read(url: &str) -> Option<Self> {
        let url = url.split('#').next()?;
        let (is_encrypted, rest) = match url.strip_prefix("https://") {
            Some(rest) => (true, rest),
            None => (false, url.strip_prefix("http://")?),
        };
        let at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(at);
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let default = if is_encrypted { 443 } else { 80 };
        let (host, port) = match authority.rsplit_once(':').filter(|it| !it.1.ends_with(']')) {
            Some((host, port)) => (host, port.parse().ok()?),
            None => (authority, default),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        (!host.is_empty()).then(|| Self {
            is_encrypted,
            authority: authority.to_owned(),
            host,
            port,
            path,
        })
    }

    fn get(&self) -> Result<Answer, TransportError> {
        let tls = self.is_encrypted.then(trusted);
        let mut transport = Transport::new(&self.host, self.port.into(), tls)?;
        transport.send(|| {
            Request::get(&self.path)
                .header(header::HOST, &self.authority)
                .header(header::USER_AGENT, "engine")
                .body(Full::<Bytes>::default())
        })
    }

    /// Where a server sends us, seen from here.
    fn resolve(&self, location: &str) -> String {
        let scheme = if self.is_encrypted { "https" } else { "http" };
        match location {
            it if it.contains("://") => it.to_owned(),
            it if it.starts_with("//") => format!("{scheme}:{it}"),
            it if it.starts_with('/') => format!("{scheme}://{}{it}", self.authority),
            it => {
                let folder = self.path.rsplit_once('/').map_or("", |parts| parts.0);
                format!("{scheme}://{}{folder}/{it}", self.authority)
            }
        }
    }

    fn unreachable(&self, url: &str, error: &TransportError) -> Failure {
        if let TransportError::Connect(cause) = error
            && cause.kind() == std::io::ErrorKind::ConnectionRefused
        {
            return Failure::Plain(format!(
                "The connection to the server {} was refused - did you specify the right host or \
                 port?",
                self.authority
            ));
        }
        kubectl(format!("Get {}: {error}", quote(url)))
    }
}

/// Whom this machine trusts.
fn trusted() -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    let named = env::var("SSL_CERT_FILE").ok();
    let mut files = named.iter().map(String::as_str).chain(AUTHORITIES.iter().copied());
    if let Some(pem) = files.find_map(|it| fs::read(it).ok()) {
        for certificate in CertificateDer::pem_slice_iter(&pem).flatten() {
            // One that cannot be used vouches for nobody.
            let _ = roots.add(certificate);
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider knows the versions that rustls calls safe")
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        let check = |url: &str, want: Option<(bool, &str, u16, &str)>| {
            let got = Address::read(url);
            let got = got.as_ref().map(|it| (it.is_encrypted, &*it.host, it.port, &*it.path));
            assert_eq!(got, want, "{url}");
        };
        check("https://x.dev/a/b.yaml#top", Some((true, "x.dev", 443, "/a/b.yaml")));
        check("http://x.dev:81?q=1", Some((false, "x.dev", 81, "/?q=1")));
        check("http://[::1]:8080/a", Some((false, "::1", 8080, "/a")));
        check("http://[::1]/a", Some((false, "::1", 80, "/a")));
        check("http://", None);
        check("http://x:y/", None);
        check("ftp://x/", None);
    }

    #[test]
    fn redirects_are_seen_from_where_they_come() {
        let address = Address::read("https://x.dev/a/b.yaml").unwrap();
        for (location, want) in [
            ("http://y.dev/c", "http://y.dev/c"),
            ("//y.dev/c", "https://y.dev/c"),
            ("/c", "https://x.dev/c"),
            ("c.yaml", "https://x.dev/a/c.yaml"),
        ] {
            assert_eq!(address.resolve(location), want);
        }
    }
}

//! TLS with the certificates that Docker keeps in a directory: `ca.pem`, `cert.pem` and `key.pem`.

use std::{io, path::Path, sync::Arc};

use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject},
};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::endpoint::Tls;

/// Secures a connection to `address`, a host with its port.
pub(super) async fn connect(
    stream: TcpStream,
    address: &str,
    tls: &Tls,
) -> io::Result<TlsStream<TcpStream>> {
    let name = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let name = name.trim_start_matches('[').trim_end_matches(']').to_owned();
    let name = ServerName::try_from(name).map_err(io::Error::other)?;
    TlsConnector::from(Arc::new(config(tls)?)).connect(name, stream).await
}

fn config(tls: &Tls) -> io::Result<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    let builder = if tls.verifies {
        let mut roots = RootCertStore::empty();
        for certificate in certificates(&tls.dir.join("ca.pem"))? {
            roots.add(certificate).map_err(io::Error::other)?;
        }
        builder.with_root_certificates(roots)
    } else {
        let anything = Arc::new(AcceptAnything(provider));
        builder.dangerous().with_custom_certificate_verifier(anything)
    };
    let (certificate, key) = (tls.dir.join("cert.pem"), tls.dir.join("key.pem"));
    if !certificate.exists() {
        return Ok(builder.with_no_client_auth());
    }
    let key_of = PrivateKeyDer::from_pem_file(&key).map_err(|error| in_file(&key, &error))?;
    builder.with_client_auth_cert(certificates(&certificate)?, key_of).map_err(io::Error::other)
}

fn certificates(file: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let found = CertificateDer::pem_file_iter(file).map_err(|error| in_file(file, &error))?;
    found.collect::<Result<_, _>>().map_err(|error| in_file(file, &error))
}

fn in_file(file: &Path, error: &rustls::pki_types::pem::Error) -> io::Error {
    io::Error::other(format!("{}: {error}", file.display()))
}

/// What users ask for who set `DOCKER_TLS` but not `DOCKER_TLS_VERIFY`.
#[derive(Debug)]
struct AcceptAnything(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAnything {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

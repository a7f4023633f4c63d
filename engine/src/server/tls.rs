//! How the API server speaks TLS: a certificate of its own for every start, and handshakes that hold up nobody.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::serve::Listener;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};
use rustls::{ServerConfig, pki_types::PrivateKeyDer};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

/// How long a client may take for the handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How many handshakes are under way at a time.
const MAX_HANDSHAKES: usize = 256;

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// It could not be made.
    #[error(transparent)]
    Make(#[from] rcgen::Error),
    /// It cannot be used.
    #[error(transparent)]
    Use(#[from] rustls::Error),
}

/// A certificate for the loopback address, and that of its issuer as PEM.
///
/// Making a new pair takes about a millisecond, so none is kept on disk.
pub(super) fn generate() -> Result<(ServerConfig, String), CertificateError> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "engine API server CA");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;

    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, "engine API server");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate()?;
    let leaf = params.signed_by(&key, &issuer)?;

    let chain = vec![leaf.der().clone(), issuer.der().clone()];
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok((config, issuer.pem()))
}

/// Accepts connections and does their handshakes side by side.
pub(super) struct TlsListener {
    tcp: TcpListener,
    acceptor: TlsAcceptor,
    handshakes: JoinSet<Option<(TlsStream<TcpStream>, SocketAddr)>>,
}

impl std::fmt::Debug for TlsListener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TlsListener").field("tcp", &self.tcp).finish_non_exhaustive()
    }
}

impl TlsListener {
    pub(super) fn new(tcp: TcpListener, config: ServerConfig) -> Self {
        Self { tcp, acceptor: TlsAcceptor::from(Arc::new(config)), handshakes: JoinSet::new() }
    }

    /// The port that is listened on.
    pub(super) fn port(&self) -> io::Result<u16> {
        self.tcp.local_addr().map(|it| it.port())
    }
}

async fn handshake(
    acceptor: TlsAcceptor,
    stream: TcpStream,
    addr: SocketAddr,
) -> Option<(TlsStream<TcpStream>, SocketAddr)> {
    // Answers are small and should not wait for one another.
    stream.set_nodelay(true).ok()?;
    let stream = time::timeout(HANDSHAKE, acceptor.accept(stream)).await.ok()?.ok()?;
    Some((stream, addr))
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let has_room = self.handshakes.len() < MAX_HANDSHAKES;
            tokio::select! {
                Some(done) = self.handshakes.join_next() => {
                    if let Ok(Some(connection)) = done {
                        return connection;
                    }
                }
                (stream, addr) = Listener::accept(&mut self.tcp), if has_room => {
                    self.handshakes.spawn(handshake(self.acceptor.clone(), stream, addr));
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.tcp.local_addr()
    }
}

//! How the engine is found, and what happens when it is not there.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, sync::Arc};

use engine_docker::{Builder, Docker, DockerError};
use futures_util::StreamExt;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{RootCertStore, ServerConfig, pki_types::PrivateKeyDer, server::WebPkiClientVerifier};
use tokio::{
    net::{TcpListener, UnixStream},
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

use crate::docker::{
    proxy::Proxy,
    support::{docker, environment, ground, is_there, unique},
};

#[tokio::test]
async fn the_engine_tells_its_version_and_offers_buildkit() {
    if !is_there() {
        return;
    }
    let docker = docker();
    assert_eq!(docker.host(), ground("DOCKER_HOST"));
    let server = docker.server().await.unwrap();
    assert!(!server.version.is_empty() && server.os == "linux", "{server:?}");
    assert_eq!(docker.builder().await.unwrap(), Builder::BuildKit);
    let classic = Docker::new(environment(&[("DOCKER_BUILDKIT", "0")])).unwrap();
    assert_eq!(classic.builder().await.unwrap(), Builder::Classic);
}

#[tokio::test]
async fn an_engine_that_does_not_run_is_named() {
    if !is_there() {
        return;
    }
    let docker = Docker::new(environment(&[("DOCKER_HOST", "unix:///nowhere.sock")])).unwrap();
    let error = docker.server().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "Docker is not running at unix:///nowhere.sock: start it, or set DOCKER_HOST \
         (No such file or directory (os error 2))"
    );
    assert!(error.is_unreachable());
}

#[tokio::test]
async fn an_engine_that_was_away_is_used_again() {
    if !is_there() {
        return;
    }
    let proxy = Proxy::start();
    let docker = Docker::new(environment(&[("DOCKER_HOST", &proxy.host())])).unwrap();
    assert!(docker.image("busybox").await.unwrap().is_some());
    // Nothing happens to anything of that name, so the stream only ends.
    let mut events = docker.events(&[("container", &unique("nobody"))]).await.unwrap();
    proxy.cut();
    assert!(docker.image("busybox").await.unwrap_err().is_unreachable());
    assert!(events.next().await.is_none_or(|it| it.is_err_and(|it| it.is_unreachable())));
    proxy.resume();
    assert!(docker.image("busybox").await.unwrap().is_some());
}

#[tokio::test]
async fn an_ssh_host_is_reached_through_ssh() {
    if !is_there() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let ssh = dir.path().join("ssh");
    // Stands for ssh and the machine behind it: what it would run there, it runs here.
    let script = format!(
        "#!/bin/sh\n[ \"$2\" = me ] || {{ echo 'Permission denied (publickey).' >&2; exit 255; }}\n\
         while [ \"$1\" != -- ]; do shift; done\nshift 2\nDOCKER_HOST={} exec \"$@\"\n",
        ground("DOCKER_HOST")
    );
    fs::write(&ssh, script).unwrap();
    fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).unwrap();
    let docker = |host: &str| {
        let ssh = ssh.clone();
        let environment = environment(&[("DOCKER_HOST", host)]).starting_with(move |program| {
            assert_eq!(program, "ssh");
            tokio::process::Command::new(&ssh)
        });
        Docker::new(environment).unwrap()
    };
    assert!(docker("ssh://me@box").image("busybox").await.unwrap().is_some());
    let error = docker("ssh://you@box").server().await.unwrap_err();
    assert!(error.to_string().contains("Permission denied (publickey)."), "{error}");
    assert!(
        matches!(error, DockerError::Lost { .. } | DockerError::NotRunning { .. }),
        "{error:?}"
    );
}

/// Writes certificates for a client, and gives those of a server that lets only that client in.
fn certificates(dir: &Path) -> ServerConfig {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let issued = || {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        (params.signed_by(&key, &issuer).unwrap(), key)
    };
    let (client, client_key) = issued();
    fs::write(dir.join("ca.pem"), issuer.pem()).unwrap();
    fs::write(dir.join("cert.pem"), client.pem()).unwrap();
    fs::write(dir.join("key.pem"), client_key.serialize_pem()).unwrap();
    let (server, server_key) = issued();
    let mut roots = RootCertStore::empty();
    roots.add(issuer.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(builder.build().unwrap())
        .with_single_cert(
            vec![server.der().clone()],
            PrivateKeyDer::Pkcs8(server_key.serialize_der().into()),
        )
        .unwrap()
}

/// Leads to the engine for those who have the right certificate; ends when dropped.
async fn tls_proxy(config: ServerConfig) -> (u16, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let engine = ground("DOCKER_HOST").trim_start_matches("unix://").to_owned();
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((client, _)) = listener.accept().await {
            let (acceptor, engine) = (acceptor.clone(), engine.clone());
            connections.spawn(async move {
                let Ok(mut client) = acceptor.accept(client).await else { return };
                let mut engine = UnixStream::connect(engine).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut client, &mut engine).await;
            });
        }
    });
    (port, serving)
}

#[tokio::test]
async fn certificates_let_us_in_and_are_checked() {
    if !is_there() {
        return;
    }
    let (own, foreign) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (port, _serving) = tls_proxy(certificates(own.path())).await;
    certificates(foreign.path());
    let connect = |certificates: &Path| {
        let host = format!("tcp://localhost:{port}");
        let changes = [
            ("DOCKER_HOST", host.as_str()),
            ("DOCKER_TLS_VERIFY", "1"),
            ("DOCKER_CERT_PATH", certificates.to_str().unwrap()),
        ];
        Docker::new(environment(&changes))
    };
    let docker = |certificates: &Path| connect(certificates).unwrap();
    assert!(docker(own.path()).image("busybox").await.unwrap().is_some());
    let error = docker(foreign.path()).server().await.unwrap_err().to_string();
    assert!(error.contains("invalid peer certificate"), "{error}");
    let empty = tempfile::tempdir().unwrap();
    let error = connect(empty.path()).unwrap_err().to_string();
    assert!(error.contains("ca.pem"), "{error}");
}

//! Finds the words for a request that got no answer.

use std::{error::Error, io};

use hyper::Uri;

use crate::KubernetesError;

/// What an error of the connection to a server means; `what` is the request, in Go's words.
pub(crate) fn unreachable(
    what: &str,
    server: &str,
    error: &(dyn Error + 'static),
) -> KubernetesError {
    let causes: Vec<_> = std::iter::successors(Some(error), |&it| it.source()).collect();
    if let Some(known) = causes.iter().find_map(|it| known(*it)) {
        return known.clone();
    }
    let text = words(&causes, server);
    KubernetesError::Unreachable(match what {
        "" => text,
        what => format!("{what}: {text}"),
    })
}

/// An error of our own that came through the layers of the connection.
fn known<'a>(cause: &'a (dyn Error + 'static)) -> Option<&'a KubernetesError> {
    let wrapped = || cause.downcast_ref::<io::Error>()?.get_ref()?.downcast_ref();
    cause.downcast_ref().or_else(wrapped)
}

/// The innermost cause, as Go's library words it where it has words of its own.
fn words(causes: &[&(dyn Error + 'static)], server: &str) -> String {
    let Some(&cause) = causes.last() else { return String::new() };
    let server: Uri = server.parse().unwrap_or_default();
    let host = server.host().unwrap_or_default();
    if causes.iter().any(|it| it.to_string() == "dns error") {
        return format!("dial tcp: lookup {host}: no such host");
    }
    let text = cause.to_string();
    if text.contains("UnknownIssuer") {
        return "tls: failed to verify certificate: x509: certificate signed by unknown authority"
            .to_owned();
    }
    let port =
        server.port_u16().unwrap_or(if server.scheme_str() == Some("http") { 80 } else { 443 });
    match causes.iter().find_map(|it| it.downcast_ref::<io::Error>()).map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionRefused) => {
            format!("dial tcp {host}:{port}: connect: connection refused")
        }
        Some(io::ErrorKind::TimedOut) => format!("dial tcp {host}:{port}: i/o timeout"),
        Some(io::ErrorKind::ConnectionReset) => "read: connection reset by peer".to_owned(),
        Some(io::ErrorKind::UnexpectedEof) => "EOF".to_owned(),
        _ => text,
    }
}

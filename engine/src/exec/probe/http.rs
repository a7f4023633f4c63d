//! Probes that are HTTP requests: ready when they are answered well.

use std::io;

use bytes::Bytes;
use engine_formats::golang::{
    quote::quote,
    url::{Url, UrlError},
};
use engine_model::{HttpGetAction, HttpHeader};
use http_body_util::{BodyExt, Empty};
use hyper::{
    Request, Response, StatusCode,
    body::Incoming,
    client::conn::http1,
    header::{ACCEPT, CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue, LOCATION, USER_AGENT},
};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;

use super::{Answer, Verdict, dial::dial, redirect::resolve, tls};

/// How much of an answer is read.
const MAX_BODY: usize = 10 * 1024;

/// How often a request is made for the next URL.
const MAX_REDIRECTS: usize = 10;

/// What is asked for.
#[derive(Debug)]
pub(super) struct HttpTarget {
    url: Url,
    headers: HeaderMap,
}

impl HttpTarget {
    /// # Errors
    /// If the path is no part of a URL.
    pub(super) fn new(action: &HttpGetAction, port: u16) -> Result<Self, UrlError> {
        let mut url = Url::parse(&action.path)?;
        url.scheme = action.scheme.to_lowercase();
        if url.scheme.is_empty() {
            "http".clone_into(&mut url.scheme);
        }
        let host = super::host(&action.host);
        url.host =
            if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        Ok(Self { url, headers: headers(&action.http_headers) })
    }
}

/// What a request says, besides what it asks for.
fn headers(given: &[HttpHeader]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for header in given {
        // Go refuses to send others, and so does not become ready; here they are left out.
        let name = HeaderName::try_from(header.name.as_str());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::try_from(header.value.as_str())) {
            headers.append(name, value);
        }
    }
    headers.entry(USER_AGENT).or_insert(HeaderValue::from_static("tilt-probe/0.1"));
    if headers.entry(ACCEPT).or_insert(HeaderValue::from_static("*/*")).is_empty() {
        headers.remove(ACCEPT);
    }
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    headers
}

/// Why there was no answer.
enum Failed {
    /// The request, or what it led to, says so.
    Request(String),
    /// The answer broke off.
    Body,
}

/// Makes a request, and further ones while redirects lead to the same host.
pub(super) async fn attempt(target: &HttpTarget) -> Answer {
    match follow(target).await {
        Ok((status, body)) if status.is_success() => Some((Verdict::Success, body)),
        Ok((status, body)) if status.is_redirection() => Some((Verdict::Warning, body)),
        Ok((status, _)) => {
            let text = format!("HTTP probe failed with statuscode: {}", status.as_u16());
            Some((Verdict::Failure, text))
        }
        Err(Failed::Request(text)) => Some((Verdict::Failure, text)),
        Err(Failed::Body) => None,
    }
}

async fn follow(target: &HttpTarget) -> Result<(StatusCode, String), Failed> {
    // As in Go, the URL is written and read once more.
    let failed = |url: &str, why: &str| Failed::Request(format!("Get {}: {why}", quote(url)));
    let mut url =
        Url::parse(&target.url.to_string()).map_err(|it| Failed::Request(it.to_string()))?;
    for n_requests in 1.. {
        let answer = get(&url, &target.headers).await;
        let (status, location, body) = match answer {
            Ok(answer) => answer,
            Err(Failed::Request(why)) => return Err(failed(&url.to_string(), &why)),
            Err(Failed::Body) => return Err(Failed::Body),
        };
        let Some(location) = location.filter(|_| is_redirect(status)) else {
            return Ok((status, body));
        };
        let next = resolve(&url, &location).map_err(|error| {
            let why = format!("failed to parse Location header {}: {error}", quote(&location));
            failed(&url.to_string(), &why)
        })?;
        if host_and_port(&next).0 != host_and_port(&target.url).0 {
            return Ok((status, body));
        }
        if n_requests >= MAX_REDIRECTS {
            return Err(failed(&location, "stopped after 10 redirects"));
        }
        url = next;
    }
    Err(Failed::Body)
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// The name of a host, and the port to ask it at.
fn host_and_port(url: &Url) -> (String, u16) {
    let default = if url.scheme == "https" { 443 } else { 80 };
    let (host, port) = match url.host.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port.parse().unwrap_or(default)),
        _ => (url.host.as_str(), default),
    };
    (host.trim_start_matches('[').trim_end_matches(']').to_owned(), port)
}

type Got = (StatusCode, Option<String>, String);

async fn get(url: &Url, headers: &HeaderMap) -> Result<Got, Failed> {
    let (host, port) = host_and_port(url);
    match url.scheme.as_str() {
        "http" => {
            let stream = dial(&host, port).await.map_err(|it| Failed::Request(it.to_string()))?;
            exchange(stream, url, headers).await
        }
        "https" => {
            let stream = dial(&host, port).await.map_err(|it| Failed::Request(it.to_string()))?;
            let name = ServerName::try_from(host).map_err(|it| Failed::Request(it.to_string()))?;
            let config = tls::CONFIG.clone().ok_or(Failed::Body)?;
            let stream = TlsConnector::from(config).connect(name, stream).await;
            exchange(stream.map_err(|it| Failed::Request(tls_text(&it)))?, url, headers).await
        }
        scheme => Err(Failed::Request(format!("unsupported protocol scheme {}", quote(scheme)))),
    }
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    url: &Url,
    headers: &HeaderMap,
) -> Result<Got, Failed> {
    let request = request(url, headers).map_err(|it| Failed::Request(it.to_string()))?;
    let connected = http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = connected.map_err(|it| Failed::Request(http_text(&it)))?;
    let answer = async move {
        let response = sender.send_request(request).await;
        read(response.map_err(|it| Failed::Request(http_text(&it)))?).await
    };
    tokio::pin!(connection, answer);
    let mut is_connected = true;
    loop {
        tokio::select! {
            answer = &mut answer => return answer,
            _ = &mut connection, if is_connected => is_connected = false,
        }
    }
}

fn request(url: &Url, headers: &HeaderMap) -> Result<Request<Empty<Bytes>>, hyper::http::Error> {
    let mut request = Request::get(request_target(url)).body(Empty::new())?;
    request.headers_mut().clone_from(headers);
    if !headers.contains_key(HOST) {
        request.headers_mut().insert(HOST, HeaderValue::try_from(url.host.as_str())?);
    }
    Ok(request)
}

/// What stands in the first line of a request.
fn request_target(url: &Url) -> String {
    let text = url.to_string();
    let text = text.split_once('#').map_or(text.as_str(), |(before, _)| before);
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let target = rest.find(['/', '?']).map_or("", |at| &rest[at..]);
    if target.starts_with('/') { target.to_owned() } else { format!("/{target}") }
}

async fn read(response: Response<Incoming>) -> Result<Got, Failed> {
    let (head, mut body) = response.into_parts();
    let mut bytes = Vec::new();
    while bytes.len() < MAX_BODY
        && let Some(frame) = body.frame().await
    {
        let frame = frame.map_err(|_| Failed::Body)?;
        bytes.extend_from_slice(frame.data_ref().map_or(&[], |it| it));
    }
    bytes.truncate(MAX_BODY);
    let location = head.headers.get(LOCATION).filter(|it| !it.is_empty());
    let location = location.map(|it| String::from_utf8_lossy(it.as_bytes()).into_owned());
    Ok((head.status, location, String::from_utf8_lossy(&bytes).into_owned()))
}

/// Go's words for an exchange that failed.
fn http_text(error: &hyper::Error) -> String {
    if error.is_incomplete_message() {
        "EOF".to_owned()
    } else if error.is_parse() {
        "net/http: HTTP/1.x transport connection broken: malformed HTTP response".to_owned()
    } else {
        std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
    }
}

/// Go's words for a handshake that failed.
fn tls_text(error: &io::Error) -> String {
    let inner = error.get_ref().and_then(|it| it.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidMessage(_)) => {
            "http: server gave HTTP response to HTTPS client".to_owned()
        }
        Some(inner) => format!("remote error: tls: {inner}"),
        None if error.kind() == io::ErrorKind::UnexpectedEof => "EOF".to_owned(),
        None => engine_formats::golang::os_error::errno_text(error),
    }
}

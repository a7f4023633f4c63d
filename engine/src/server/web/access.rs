//! Who may use the web port.
//!
//! Three rules keep foreign pages out: an `Origin` has to be our own, everything that tells or does something needs the
//! token, and whoever comes here has to use a name that nobody else controls.
//!
//! A browser gets the token with the page, if it is one of this user on this machine, or came with a link that lets in
//! whoever opens it first.

use std::{env, net::IpAddr, sync::Arc};

use axum::{
    extract::{Request, State as Shared},
    http::{
        Extensions, HeaderMap, Method, StatusCode, Uri, header, request::Parts, uri::Authority,
    },
    middleware::Next,
    response::Response,
};

use super::{State, refused};
use crate::server::connections::Connection;

/// The header in which commands show the token.
const TOKEN_HEADER: &str = "x-tilt-token";
/// The header in which browsers say what sent a request: a page of the same origin, the user, or somebody else.
const FETCH_SITE: &str = "sec-fetch-site";
/// What foreign pages are told.
const CROSS_ORIGIN: &str = "cross-origin request forbidden";
/// The cookie in which browsers show the token.
const TOKEN_COOKIE: &str = "Tilt-Token";

/// What callers have to know.
#[derive(Debug)]
pub(super) struct Access {
    host: String,
    token: String,
    /// Proves to the websocket that the caller has shown the token.
    pub(super) csrf: String,
}

/// The caller of a request belongs here, so its connection may stay.
pub(in crate::server) fn trust(extensions: &Extensions) {
    if let Some(connection) = extensions.get::<Arc<Connection>>() {
        connection.trust();
    }
}

impl Access {
    pub(super) fn new(host: &str, token: &str) -> Self {
        Self {
            host: host.to_owned(),
            token: token.to_owned(),
            csrf: uuid::Uuid::new_v4().to_string(),
        }
    }

    /// The cookie that gives the token to a browser, but not to what runs in its pages.
    pub(super) fn cookie(&self) -> String {
        format!("{TOKEN_COOKIE}={}; Path=/; SameSite=Strict; HttpOnly", self.token)
    }

    /// Whether a caller shows the token, and what is wrong otherwise.
    fn check(&self, headers: &HeaderMap) -> Result<(), &'static str> {
        let header = headers.get(TOKEN_HEADER).map(|it| it.as_bytes().to_vec());
        let given = header
            .filter(|it| !it.is_empty())
            .or_else(|| cookie(headers, TOKEN_COOKIE).map(String::into_bytes))
            .ok_or("missing session token")?;
        if same_secret(&given, self.token.as_bytes()) {
            Ok(())
        } else {
            Err("invalid session token")
        }
    }

    /// Whether this is the proof that the websocket asks for.
    pub(super) fn is_csrf(&self, given: &str) -> bool {
        same_secret(given.as_bytes(), self.csrf.as_bytes())
    }

    /// The refusal of a request that came under a name that others may control.
    pub(super) fn refuse_host(&self, request: &Request) -> Option<Response> {
        let is_known = knows_host(&self.host, host(request.headers(), request.uri()));
        (!is_known).then(|| {
            let why = "unknown host; add it to TILT_ALLOWED_HOSTS to allow it";
            refused(StatusCode::FORBIDDEN, why)
        })
    }
}

/// Whether nobody can make this name lead here but us: a name that another party controls may be pointed at this
/// machine by its owner, who could then read what pages get. `own` is where we listen.
pub(in crate::server) fn knows_host(own: &str, host: Option<&str>) -> bool {
    let allowed = env::var("TILT_ALLOWED_HOSTS").unwrap_or_default();
    knows_host_with(own, host, &allowed)
}

fn knows_host_with(own: &str, host: Option<&str>, allowed: &str) -> bool {
    let Some(host) = host else { return true };
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let name = authority.host().trim_matches(['[', ']']).to_ascii_lowercase();
    let is_address = match name.parse::<IpAddr>() {
        // Who listens everywhere is reached under addresses that it does not know.
        Ok(ip) => ip.is_loopback() || own.parse::<IpAddr>().is_ok_and(|it| it.is_unspecified()),
        Err(_) => name == "localhost" || name.ends_with(".localhost"),
    };
    is_address
        || name == own.to_ascii_lowercase()
        || allowed.split(',').map(str::trim).any(|it| it == "*" || it.eq_ignore_ascii_case(&name))
}

/// Whether the page, and with it the token, goes to the sender of a request.
pub(super) async fn admits(state: &State, request: &Parts) -> bool {
    // A key that was shown is used, whether it was needed or not.
    let is_link = request.method == Method::GET
        && state.page.keys.redeem(request.uri.query().unwrap_or_default());
    is_link || state.access.check(&request.headers).is_ok() || is_own(request).await
}

/// Whether a program of this user, on this machine, has sent a request for itself.
async fn is_own(request: &Parts) -> bool {
    match request.extensions.get::<Arc<Connection>>() {
        Some(connection) if !is_forwarded(&request.headers) => connection.is_own().await,
        _ => false,
    }
}

/// Whether a request came through a proxy, which is on this machine even if those behind it are not.
fn is_forwarded(headers: &HeaderMap) -> bool {
    let is_of_proxy = |name: &str| {
        matches!(name, "forwarded" | "via" | "x-real-ip") || name.starts_with("x-forwarded-")
    };
    headers.keys().any(|it| is_of_proxy(it.as_str()))
}

/// Whether the token is not asked for, as behind a proxy with its own rules.
pub(in crate::server) fn is_disabled() -> bool {
    env::var("TILT_DISABLE_HUD_AUTH").is_ok_and(|it| it == "1")
}

/// Compares without telling by its duration how much was right.
pub(in crate::server) fn same_secret(given: &[u8], expected: &[u8]) -> bool {
    let same_length = given.len() == expected.len();
    let difference = given.iter().zip(expected).fold(0, |sum, (a, b)| sum | (a ^ b));
    same_length && std::hint::black_box(difference) == 0
}

fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|it| it.to_str().ok())
        .flat_map(|it| it.split(';'))
        .filter_map(|it| it.trim().split_once('='))
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value.trim_matches('"').to_owned())
}

/// The host that a request was sent to.
pub(in crate::server) fn host<'a>(headers: &'a HeaderMap, uri: &'a Uri) -> Option<&'a str> {
    let header = headers.get(header::HOST).and_then(|it| it.to_str().ok());
    header.or_else(|| uri.authority().map(Authority::as_str))
}

/// Lets requests pass that do not say that they come from another origin. Links from elsewhere may lead to pages.
pub(super) async fn refuse_other_origins(request: Request, next: Next) -> Response {
    if has_other_origin(&request) {
        return refused(StatusCode::FORBIDDEN, CROSS_ORIGIN);
    }
    next.run(request).await
}

/// Lets requests pass that no foreign page sent, in whatever way.
pub(super) async fn refuse_other_sites(request: Request, next: Next) -> Response {
    if is_foreign(&request) {
        return refused(StatusCode::FORBIDDEN, CROSS_ORIGIN);
    }
    next.run(request).await
}

/// Whether a page of another origin sent a request: browsers that say where requests come from are believed, and
/// for others it is the `Origin` that tells.
pub(in crate::server) fn is_foreign(request: &Request) -> bool {
    let mut sites = request.headers().get_all(FETCH_SITE).iter();
    sites.any(|it| it != "same-origin" && it != "none") || has_other_origin(request)
}

fn has_other_origin(request: &Request) -> bool {
    let Some(origin) = request.headers().get(header::ORIGIN) else { return false };
    let own = host(request.headers(), request.uri());
    let origin = origin.to_str().ok().and_then(|it| it.parse::<Uri>().ok());
    let origin = origin.as_ref().filter(|it| it.scheme().is_some()).and_then(Uri::authority);
    origin.is_none_or(|it| own.is_none_or(|own| !it.as_str().eq_ignore_ascii_case(own)))
}

/// Lets requests pass that show the token.
pub(super) async fn require_token(
    Shared(state): Shared<State>,
    request: Request,
    next: Next,
) -> Response {
    if !is_disabled()
        && let Err(why) = state.access.check(request.headers())
    {
        return refused(StatusCode::FORBIDDEN, why);
    }
    trust(request.extensions());
    if let Some(refusal) = state.access.refuse_host(&request) {
        return refusal;
    }
    next.run(request).await
}

/// Lets requests pass that came under a name that nobody else controls.
pub(super) async fn require_known_host(
    Shared(access): Shared<Arc<Access>>,
    request: Request,
    next: Next,
) -> Response {
    if let Some(refusal) = access.refuse_host(&request) {
        return refusal;
    }
    next.run(request).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_others_control_are_unknown() {
        for (host, expected) in [
            (None, true),
            (Some("localhost:10350"), true),
            (Some("web.localhost"), true),
            (Some("127.0.0.1:10350"), true),
            (Some("[::1]:10350"), true),
            (Some("192.168.1.5"), false),
            (Some("Dev.Example:10350"), true),
            (Some("proxy.example"), true),
            (Some("evil.example"), false),
            (Some("localhost.evil.example"), false),
            (Some("a b"), false),
        ] {
            let known = knows_host_with("dev.example", host, "other, proxy.example");
            assert_eq!(known, expected, "{host:?}");
        }
        assert!(knows_host_with("localhost", Some("evil.example"), "*"));
        assert!(knows_host_with("192.168.1.5", Some("192.168.1.5:10350"), ""));
        assert!(knows_host_with("0.0.0.0", Some("192.168.1.5:10350"), ""));
        assert!(!knows_host_with("0.0.0.0", Some("evil.example"), ""));
    }

    #[test]
    fn secrets_are_equal_or_not() {
        assert!(same_secret(b"abc", b"abc"));
        for given in ["", "ab", "abd", "abcd"] {
            assert!(!same_secret(given.as_bytes(), b"abc"), "{given}");
        }
    }
}

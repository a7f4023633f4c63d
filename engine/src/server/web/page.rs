//! The page and its files, which are part of the program.

use std::sync::{Arc, LazyLock};

use axum::{
    Router,
    body::{Body, Bytes},
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header},
    middleware,
    response::Response,
    routing::any,
};
use engine_cli::{display_name, program};

use super::{access, for_nobody_else, json, refused};

/// The page itself.
static INDEX: LazyLock<String> = LazyLock::new(|| named(include_str!("page/index.html")));

/// The page of those who may not see it.
static LOCKED: LazyLock<String> = LazyLock::new(|| named(include_str!("page/locked.html")));

/// What pages load, by name, with the type of each.
const FILES: [(&str, &str, &str); 13] = [
    ("page.css", "text/css; charset=utf-8", include_str!("page/page.css")),
    ("actions.js", SCRIPT, include_str!("page/actions.js")),
    ("ansi.js", SCRIPT, include_str!("page/ansi.js")),
    ("boot.js", SCRIPT, include_str!("page/boot.js")),
    ("connection.js", SCRIPT, include_str!("page/connection.js")),
    ("detail.js", SCRIPT, include_str!("page/detail.js")),
    ("dom.js", SCRIPT, include_str!("page/dom.js")),
    ("list.js", SCRIPT, include_str!("page/list.js")),
    ("locked.js", SCRIPT, include_str!("page/locked.js")),
    ("log.js", SCRIPT, include_str!("page/log.js")),
    ("page.js", SCRIPT, include_str!("page/page.js")),
    ("rows.js", SCRIPT, include_str!("page/rows.js")),
    ("state.js", SCRIPT, include_str!("page/state.js")),
];

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Nothing but our own files, and nobody shows us inside of a foreign page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A page with the name that the program was called by.
fn named(page: &str) -> String {
    let escaped = |it: &str| it.replace('&', "&amp;").replace('<', "&lt;");
    page.replace("{{name}}", &escaped(display_name())).replace("{{program}}", &escaped(program()))
}

/// Where the files are.
const FOLDER: &str = "/static/";

/// Whether a path is that of a file, which anybody may have.
pub(super) fn is_file(uri: &Uri) -> bool {
    uri.path().starts_with(FOLDER)
}

/// The page that says how to get in.
pub(super) fn locked() -> Response {
    answer(HTML, &LOCKED)
}

/// The file of a path, or the page for every path that is nothing else.
pub(super) fn of(uri: &Uri) -> Response {
    let path = uri.path();
    let (media_type, text) = match path.strip_prefix(FOLDER) {
        None => (HTML, INDEX.as_str()),
        Some(name) => match FILES.iter().find(|(it, ..)| *it == name) {
            Some((_, media_type, text)) => (*media_type, *text),
            None => return refused(StatusCode::NOT_FOUND, "404 page not found"),
        },
    };
    answer(media_type, text)
}

fn answer(media_type: &'static str, text: &'static str) -> Response {
    let mut response = Response::new(Body::from(text));
    protect(response.headers_mut());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

fn protect(headers: &mut HeaderMap) {
    for (name, value) in
        [(header::CONTENT_SECURITY_POLICY, POLICY), (header::REFERRER_POLICY, "no-referrer")]
    {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// A port that shows one snapshot, whatever its name; `host` is what the port listens on.
pub fn snapshot_app(host: &str, snapshot: impl Into<Bytes>) -> Router {
    let snapshot = snapshot.into();
    let known = Arc::new(access::Access::new(host, ""));
    Router::new()
        .route("/api/snapshot/{id}", any(async move || json(snapshot)))
        .fallback(async |uri: Uri| of(&uri))
        .layer(middleware::from_fn_with_state(known, access::require_known_host))
        .layer(middleware::from_fn(access::refuse_other_origins))
        .layer(middleware::map_response(for_nobody_else))
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use tower::ServiceExt;

    use super::*;

    async fn get(app: &Router, path: &str, host: &str) -> (StatusCode, HeaderMap, String) {
        let request = axum::extract::Request::get(path).header(header::HOST, host);
        let response = app.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        (parts.status, parts.headers, String::from_utf8(bytes.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn a_snapshot_comes_with_the_page_but_without_a_token() {
        let app = snapshot_app("localhost", r#"{"view":{}}"#);
        let (status, headers, body) = get(&app, "/api/snapshot/local", "localhost:1").await;
        assert_eq!((status, body.as_str()), (StatusCode::OK, r#"{"view":{}}"#));
        assert_eq!(headers[header::CONTENT_TYPE], "application/json");
        let (status, headers, body) = get(&app, "/snapshot/local", "localhost:1").await;
        assert_eq!((status, body.as_str()), (StatusCode::OK, INDEX.as_str()));
        assert!(body.contains("<title>engine</title>") && !body.contains("{{"), "{body}");
        assert!(!headers.contains_key(header::SET_COOKIE));
        assert_eq!(headers[header::CONTENT_SECURITY_POLICY], POLICY);
        let (status, ..) = get(&app, "/api/snapshot/local", "evil.example").await;
        assert_eq!(status, StatusCode::FORBIDDEN);
    }

    #[tokio::test]
    async fn everything_that_the_page_loads_exists() {
        let app = snapshot_app("localhost", "{}");
        let pages = [INDEX.as_str(), LOCKED.as_str()];
        let all: String = FILES.iter().map(|(.., text)| *text).chain(pages).collect();
        let mut names: Vec<&str> = all.split("/static/").skip(1).collect();
        names.extend(all.split("from \"./").skip(1));
        assert!(names.len() >= FILES.len());
        for name in names {
            let name = name.split('"').next().unwrap();
            let (status, headers, _) = get(&app, &format!("/static/{name}"), "localhost").await;
            assert_eq!(status, StatusCode::OK, "{name}");
            assert!(!headers[header::CONTENT_TYPE].to_str().unwrap().contains("html"), "{name}");
        }
        let (status, ..) = get(&app, "/static/nothing.js", "localhost").await;
        assert_eq!(status, StatusCode::NOT_FOUND);
    }
}

//! The web port: pages, and what pages and commands ask for.

use std::{net::IpAddr, sync::Arc};

use axum::{
    Router,
    body::Body,
    extract::{Request, State as Shared},
    http::{HeaderValue, Method, StatusCode, Uri, header},
    middleware,
    response::{IntoResponse, Response},
    routing::any,
};
use engine_api::Store;
use tokio::sync::watch;

use super::{Logs, ServerOptions, rest::Rest};
use crate::{logs::micro_time, runtime::Handle};

mod access;
mod asks;
mod keys;
mod page;
mod socket;
mod view;

#[cfg(test)]
mod tests;

pub(super) use access::{host, is_disabled, is_foreign, knows_host, same_secret, trust};
pub use keys::PageAddress;
pub use page::snapshot_app;

/// What requests work on; cheap to clone.
#[derive(Clone, Debug)]
pub struct State {
    store: Store,
    logs: Logs,
    handle: Handle,
    rest: Rest,
    closing: watch::Receiver<bool>,
    access: Arc<access::Access>,
    page: PageAddress,
    start_time: Arc<str>,
}

impl State {
    /// The state of a web port that has its page there.
    pub fn new(
        options: &ServerOptions,
        page: PageAddress,
        store: Store,
        logs: Logs,
        handle: Handle,
        rest: Rest,
        closing: watch::Receiver<bool>,
    ) -> Self {
        Self {
            store,
            logs,
            handle,
            rest,
            closing,
            access: Arc::new(access::Access::new(&options.host, &options.token)),
            page,
            start_time: micro_time(options.start_time.into()).into(),
        }
    }
}

/// What the page shows now, as a file that can be opened later.
pub fn snapshot(state: &State) -> Vec<u8> {
    view::file(state)
}

/// The web port as a service.
pub fn app(state: State) -> Router {
    let guarded = Router::new()
        .route("/api/view", any(view::whole))
        .route("/api/snapshot/{id}", any(view::snapshot))
        .route("/api/websocket_token", any(websocket_token))
        .route("/api/dump/engine", any(asks::dump))
        .route("/api/dump/tasks", any(asks::tasks))
        .route("/api/trigger", any(asks::trigger))
        .route("/api/override/trigger_mode", any(asks::override_trigger_mode))
        .route("/api/set_tiltfile_args", any(asks::set_tiltfile_args))
        .route("/api/explain/{resource}", any(asks::explain))
        .route("/api/graph", any(asks::graph))
        .route("/api/reasons", any(asks::reasons))
        .route("/api/key", any(asks::key))
        .route("/api/logs", any(asks::logs))
        .route("/api/plan", any(asks::plan))
        .route("/api/analytics", any(|| async {}))
        .route("/api/analytics_opt", any(|| async {}))
        .route("/proxy", any(proxy))
        .route("/proxy/", any(proxy))
        .route("/proxy/{*path}", any(proxy))
        .route_layer(middleware::from_fn_with_state(state.clone(), access::require_token));
    let open = Router::new().route("/ws/view", any(socket::upgrade));
    let pages = Router::new().fallback(page_with_token).layer(middleware::from_fn_with_state(
        Arc::clone(&state.access),
        access::require_known_host,
    ));
    guarded
        .merge(open)
        .layer(middleware::from_fn(access::refuse_other_sites))
        .fallback_service(pages.with_state(state.clone()))
        .layer(middleware::from_fn(access::refuse_other_origins))
        .layer(middleware::map_response(for_nobody_else))
        .with_state(state)
}

/// No answer is taken for something that it is not, and none is kept anywhere.
async fn for_nobody_else(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The host that people type for an address to listen on.
pub fn shown_host(host: &str) -> String {
    match host.parse::<IpAddr>() {
        Ok(ip) if ip.is_unspecified() => "127.0.0.1".to_owned(),
        Ok(IpAddr::V6(ip)) => format!("[{ip}]"),
        _ => host.to_owned(),
    }
}

async fn websocket_token(Shared(state): Shared<State>) -> String {
    state.access.csrf.clone()
}

/// The page of every path that is nothing else; it carries the token to the browsers that get in.
async fn page_with_token(Shared(state): Shared<State>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    if page::is_file(&parts.uri) || is_disabled() {
        return page::of(&parts.uri);
    }
    if !access::admits(&state, &parts).await {
        return page::locked();
    }
    trust(&parts.extensions);
    let mut response = page::of(&parts.uri);
    if let Ok(cookie) = HeaderValue::from_str(&state.access.cookie()) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

/// Hands requests about buttons on to the API server.
async fn proxy(Shared(state): Shared<State>, mut request: Request) -> Response {
    let path = request.uri().path_and_query().map_or("", |it| it.as_str());
    let path = path.strip_prefix("/proxy").unwrap_or_default();
    let resource =
        path.split('?').next().unwrap_or_default().strip_prefix("/apis/tilt.dev/v1alpha1/");
    let is_button = resource.is_some_and(|it| it == "uibuttons" || it.starts_with("uibuttons/"));
    let uri = path.parse::<Uri>().ok().filter(|_| is_button);
    let Some(uri) = uri else {
        return refused(StatusCode::FORBIDDEN, "Forbidden");
    };
    *request.uri_mut() = uri;
    state.rest.handle(request).await
}

/// A refusal in words, with the line break that Go adds.
fn refused(status: StatusCode, why: &str) -> Response {
    (status, format!("{why}\n")).into_response()
}

/// JSON that was made here.
fn json(body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Whether a request may change something.
fn is_post(method: &Method) -> bool {
    *method == Method::POST
}

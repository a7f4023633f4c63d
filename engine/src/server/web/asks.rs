//! What callers of the web port ask the engine to do.

use std::convert::Infallible;

use axum::{
    body::{Body, Bytes},
    extract::{Path, Request, State as Shared},
    http::{HeaderValue, Method, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use engine_api::log::query::{self, Query};
use futures_util::StreamExt;
use serde::{Deserialize, de::DeserializeOwned};

use super::{State, is_post, json, refused};
use crate::{logs, runtime::TriggerRefused};

/// The largest request that makes sense.
const MAX_BODY: usize = 1 << 20;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Trigger {
    manifest_names: Vec<String>,
    build_reason: u32,
    with_deps: bool,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct OverrideTriggerMode {
    manifest_names: Vec<String>,
    trigger_mode: i64,
}

/// What is wrong with a body, in the words of Go.
#[derive(Debug, thiserror::Error)]
enum PayloadError {
    #[error(transparent)]
    Data(serde_json::Error),
    #[error("{0}")]
    Syntax(String),
    #[error(
        "[]string: decode slice: expect [ or n, but found {found}, error found in #{at} byte of ...|{near}|..., \
         bigger context ...|{around}|..."
    )]
    NoList { found: char, at: usize, near: String, around: String },
}

async fn payload<T: DeserializeOwned>(method: &Method, body: Body) -> Result<T, Response> {
    if !is_post(method) {
        return Err(must_post());
    }
    parse(&read(body).await?).map_err(|why| wrong_payload(&why.to_string()))
}

fn must_post() -> Response {
    refused(StatusCode::BAD_REQUEST, "must be POST request")
}

async fn read(body: Body) -> Result<Bytes, Response> {
    let bytes = axum::body::to_bytes(body, MAX_BODY);
    let bytes = bytes.await.map_err(|error| wrong_payload(&error.to_string()))?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(wrong_payload("EOF"));
    }
    Ok(bytes)
}

/// The value of a body, or what is wrong with it.
fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, PayloadError> {
    serde_json::from_slice(bytes).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => PayloadError::Data(error),
        _ => PayloadError::Syntax(engine_api::go_syntax(bytes, &error)),
    })
}

fn wrong_payload(why: &str) -> Response {
    refused(StatusCode::BAD_REQUEST, &format!("error parsing JSON payload: {why}"))
}

/// Updates one resource.
pub(super) async fn trigger(Shared(state): Shared<State>, method: Method, body: Body) -> Response {
    let request: Trigger = match payload(&method, body).await {
        Ok(request) => request,
        Err(response) => return response,
    };
    let [name] = request.manifest_names.as_slice() else {
        let count = request.manifest_names.len();
        let why = format!("/api/trigger currently supports exactly one manifest name, got {count}");
        return refused(StatusCode::BAD_REQUEST, &why);
    };
    match state.handle.trigger(name, request.build_reason, request.with_deps).await {
        // Tilt's clients never ask this way, and take any text as the reason why nothing was done.
        Ok(names) if request.with_deps => json(serde_json::json!({"triggered": names}).to_string()),
        Ok(_) => StatusCode::OK.into_response(),
        Err(why @ TriggerRefused::Unknown(_)) => refused(StatusCode::NOT_FOUND, &why.to_string()),
        Err(why @ TriggerRefused::Disabled(_)) => why.to_string().into_response(),
        Err(why @ TriggerRefused::Ending) => {
            refused(StatusCode::SERVICE_UNAVAILABLE, &why.to_string())
        }
    }
}

/// Changes when resources update.
pub(super) async fn override_trigger_mode(
    Shared(state): Shared<State>,
    method: Method,
    body: Body,
) -> Response {
    let request: OverrideTriggerMode = match payload(&method, body).await {
        Ok(request) => request,
        Err(response) => return response,
    };
    let names = request.manifest_names;
    let known = |name: &&String| state.store.get(engine_api::Kind::UiResource, name).is_some();
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        return no_manifest(unknown);
    }
    let mode = match u8::try_from(request.trigger_mode) {
        Ok(mode) if mode <= 3 => mode,
        _ => {
            let why = format!("invalid trigger mode: {}", request.trigger_mode);
            return refused(StatusCode::BAD_REQUEST, &why);
        }
    };
    match state.handle.override_trigger_mode(names, mode).await {
        Ok(()) => StatusCode::OK.into_response(),
        Err(TriggerRefused::Unknown(name)) => no_manifest(&name),
        Err(why) => refused(StatusCode::SERVICE_UNAVAILABLE, &why.to_string()),
    }
}

fn no_manifest(name: &str) -> Response {
    refused(StatusCode::BAD_REQUEST, &format!("no manifest found with name '{name}'"))
}

/// Runs the main Tiltfile with other arguments; other methods get the page, as in Tilt.
pub(super) async fn set_tiltfile_args(Shared(state): Shared<State>, request: Request) -> Response {
    if !is_post(request.method()) {
        return super::page_with_token(Shared(state), request).await;
    }
    let body = match read(request.into_body()).await {
        Ok(body) => body,
        Err(response) => return response,
    };
    match arguments(&body) {
        Ok(args) => {
            state.handle.set_args(args);
            StatusCode::OK.into_response()
        }
        Err(why) => wrong_payload(&why.to_string()),
    }
}

fn arguments(body: &[u8]) -> Result<Vec<String>, PayloadError> {
    let start = body.iter().position(|it| !it.is_ascii_whitespace()).unwrap_or_default();
    match body.get(start) {
        Some(b'[' | b'n') | None => Ok(parse::<Option<_>>(body)?.unwrap_or_default()),
        Some(&found) => {
            // The parser that Tilt uses here names the place by what is around it.
            let end = start + 1;
            let around = |reach: usize| {
                let part = &body[end.saturating_sub(reach)..(end + reach).min(body.len())];
                String::from_utf8_lossy(part).into_owned()
            };
            Err(PayloadError::NoList {
                found: char::from(found),
                at: end.min(10),
                near: around(10),
                around: around(50),
            })
        }
    }
}

/// The whole state of the engine.
pub(super) async fn dump(Shared(state): Shared<State>) -> Response {
    json(state.handle.dump().await.to_string())
}

/// What runs in the engine.
pub(super) async fn tasks(Shared(state): Shared<State>) -> Response {
    json(state.handle.tasks().await.to_string())
}

/// Why a resource last ran, or what it waits for.
pub(super) async fn explain(
    Shared(state): Shared<State>,
    Path(resource): Path<String>,
) -> Response {
    match state.handle.explain(&resource).await {
        Some(answer) => json(answer.to_string()),
        None => refused(StatusCode::NOT_FOUND, &TriggerRefused::Unknown(resource).to_string()),
    }
}

/// Why each resource is in its state.
pub(super) async fn reasons(Shared(state): Shared<State>) -> Response {
    let reasons = state.handle.reasons().table().all();
    json(serde_json::json!({"reasons": reasons}).to_string())
}

/// The graph of resources.
pub(super) async fn graph(Shared(state): Shared<State>) -> Response {
    json(state.handle.graph().await.to_string())
}

/// What another run of the main Tiltfile would change, which is found out by running it.
pub(super) async fn plan(Shared(state): Shared<State>, method: Method) -> Response {
    if !is_post(&method) {
        return must_post();
    }
    json(state.handle.plan().await.to_string())
}

/// A link that lets one browser in, and what to open in one of this user.
pub(super) async fn key(Shared(state): Shared<State>, method: Method) -> Response {
    if !is_post(&method) {
        return must_post();
    }
    let page = &state.page;
    json(serde_json::json!({"link": page.link(), "open": page.to_open()}).to_string())
}

/// Log lines, selected here instead of by the client.
pub(super) async fn logs(Shared(state): Shared<State>, uri: Uri) -> Response {
    let query = Query::parse(uri.query().unwrap_or_default());
    let lines = logs::answer(state.logs.store(), &query).map(Ok::<_, Infallible>);
    let end = async move {
        let mut closing = state.closing.clone();
        // A sender that is gone means the end, too.
        let _ = closing.wait_for(|closing| *closing).await;
    };
    let mut response = Response::new(Body::from_stream(lines.take_until(Box::pin(end))));
    // Clients tell by the type that this is the log, and not a page.
    let content_type = HeaderValue::from_static(query::CONTENT_TYPE);
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    response
}

//! What clients send: JSON or YAML, of limited size and depth.

use std::io;

use axum::{
    body::Body,
    http::{header, request::Parts},
};
use engine_api::{ApiError, Patch, error::FieldError};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::{Json, read};

/// Enough for the deepest YAML that the parser accepts.
const YAML_STACK: usize = 64 << 20;
/// How much of a body is shown if it cannot be read.
const SHOWN: usize = 30;
/// How deep values may nest, as in JSON.
const MAX_DEPTH: usize = 128;

/// The media type of a body, without parameters.
fn media_type(parts: &Parts) -> String {
    let value = parts.headers.get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
    value.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// An object, and the fields that were given more than once.
pub(super) async fn object(
    parts: &Parts,
    body: Body,
    kind: &str,
) -> Result<(Json, Vec<String>), ApiError> {
    let bytes = read(body).await?;
    let unrecognized = |why: &str| {
        let shown = beginning(&bytes);
        ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; {why} ({shown})"
        ))
    };
    match media_type(parts).as_str() {
        "" | "application/json" | "application/x-www-form-urlencoded" | "text/plain" => {
            let value = serde_json::from_slice(&bytes).map_err(|error| {
                let why = engine_api::go_syntax(&bytes, &error);
                unrecognized(&format!("json parse error: {why}"))
            })?;
            Ok((value, engine_api::duplicates(&bytes)))
        }
        "application/yaml" | "text/yaml" | "application/x-yaml" => yaml(bytes.to_vec())
            .await
            .map(|value| (value, Vec::new()))
            .map_err(|why| unrecognized(&format!("yaml parse error: {why}"))),
        _ => Err(ApiError::unsupported_media_type()),
    }
}

/// A patch.
pub(super) async fn patch(parts: &Parts, body: Body) -> Result<Patch, ApiError> {
    let bytes = read(body).await?;
    match media_type(parts).as_str() {
        _ if is_apply(parts) => match yaml(bytes.to_vec()).await {
            Ok(value @ Value::Object(_)) => Ok(Patch::Apply(value)),
            Ok(_) => Err(ApiError::bad_request("error decoding YAML: expected an object")),
            Err(why) => Err(ApiError::bad_request(format!("error decoding YAML: {why}"))),
        },
        other => Patch::parse(other, &bytes),
    }
}

/// Whether a patch says what should be so, and not what to change.
pub(super) fn is_apply(parts: &Parts) -> bool {
    media_type(parts) == "application/apply-patch+yaml"
}

/// The options of a deletion; most clients send none. `policy` is the one of the query.
pub(super) async fn delete_options(
    parts: &Parts,
    body: Body,
    policy: &str,
) -> Result<Json, ApiError> {
    let bytes = read(body).await?;
    let options: Value = match media_type(parts).as_str() {
        _ if bytes.is_empty() => json!({}),
        "application/yaml" => {
            yaml(bytes.to_vec()).await.map_err(|why| ApiError::bad_request(why.to_string()))?
        }
        _ => serde_json::from_slice(&bytes).map_err(|error| {
            let why = engine_api::go_syntax(&bytes, &error);
            ApiError::bad_request(format!("couldn't get version/kind; json parse error: {why}"))
        })?,
    };
    if let Some(kind) = options["kind"].as_str().filter(|it| *it != "DeleteOptions") {
        return Err(ApiError::bad_request(format!(
            "no kind \"{kind}\" is registered for version \"meta.k8s.io/v1\""
        )));
    }
    let policy = options["propagationPolicy"].as_str().unwrap_or(policy);
    let refused = |message: String| {
        let cause = FieldError { field: "propagationPolicy".to_owned(), message };
        Err(ApiError::invalid_options("DeleteOptions", cause))
    };
    if !["", "Foreground", "Background", "Orphan"].contains(&policy) {
        return refused(format!(
            "Unsupported value: \"{policy}\": supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\""
        ));
    }
    if !policy.is_empty() && options["orphanDependents"].is_boolean() {
        return refused(format!(
            "Invalid value: \"{policy}\": orphanDependents and deletionPropagation cannot be both set"
        ));
    }
    Ok(options)
}

/// Why a body cannot be read as YAML.
#[derive(Debug, thiserror::Error)]
enum BodyError {
    #[error(transparent)]
    Yaml(#[from] engine_formats::yaml::Error),
    #[error("nested too deeply")]
    TooDeep,
    #[error(transparent)]
    Thread(#[from] io::Error),
    #[error("the parser failed")]
    Panicked,
}

/// Reads YAML on a thread that is deep enough for whatever the parser accepts.
async fn yaml(bytes: Vec<u8>) -> Result<Value, BodyError> {
    let (done, result) = oneshot::channel();
    let work = move || {
        let value = match engine_formats::yaml::decode_v2(&bytes) {
            Ok(value) if engine_api::is_deeper(&value, MAX_DEPTH) => Err(BodyError::TooDeep),
            Ok(value) => Ok(value),
            Err(error) => Err(error.into()),
        };
        // The client may be gone.
        let _ = done.send(value);
    };
    let thread =
        std::thread::Builder::new().name("yaml".to_owned()).stack_size(YAML_STACK).spawn(work);
    thread?;
    result.await.unwrap_or(Err(BodyError::Panicked))
}

/// The beginning of a body, as Kubernetes shows it: as text if it looks like JSON.
fn beginning(bytes: &[u8]) -> String {
    let start = &bytes[..bytes.len().min(SHOWN)];
    let shown = match bytes.first() {
        None => return "<empty>".to_owned(),
        Some(b'{') => String::from_utf8_lossy(start).into_owned(),
        Some(_) => engine_formats::golang::hex::encode(start),
    };
    if bytes.len() > SHOWN { format!("{shown} ...") } else { shown }
}

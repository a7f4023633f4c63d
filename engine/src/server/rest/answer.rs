//! How objects, lists and errors are answered: JSON or YAML, whole or in short forms.

use std::sync::Arc;

use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header, request::Parts},
    response::Response,
};
use engine_api::{ApiError, GROUP_VERSION, Kind, Object};
use serde_json::{Value, json};

use super::Query;

/// In which form an answer is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Format {
    media: Media,
    shape: Shape,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Media {
    #[default]
    Json,
    Yaml,
}

/// How much of an object is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Shape {
    /// Everything.
    #[default]
    Whole,
    /// Rows for people.
    Table,
    /// Only metadata.
    Metadata,
}

impl Format {
    /// The first form of the `Accept` header that we can write; nothing if there is none.
    pub(crate) fn of(parts: &Parts) -> Option<Self> {
        let accept =
            parts.headers.get(header::ACCEPT).and_then(|it| it.to_str().ok()).unwrap_or_default();
        if accept.trim().is_empty() {
            return Some(Self::default());
        }
        accept.split(',').find_map(Self::parse)
    }

    fn parse(range: &str) -> Option<Self> {
        let mut parameters = range.split(';').map(str::trim);
        let media = match parameters.next()? {
            "*/*" | "application/*" | "application/json" => Media::Json,
            "application/yaml" => Media::Yaml,
            _ => return None,
        };
        let mut shape = Shape::Whole;
        for parameter in parameters {
            match parameter.split_once('=') {
                Some(("as", "Table")) => shape = Shape::Table,
                Some(("as", "PartialObjectMetadata" | "PartialObjectMetadataList")) => {
                    shape = Shape::Metadata
                }
                Some(("as", _)) => return None,
                Some(("g", group)) if group != "meta.k8s.io" => return None,
                Some(("v", version)) if !["v1", "v1beta1"].contains(&version) => return None,
                _ => {}
            }
        }
        Some(Self { media, shape })
    }

    /// One object as an event of a watch shows it.
    pub(super) fn event_object(self, object: &Arc<Object>, rows: Rows) -> String {
        match self.shape {
            Shape::Whole => object.json().to_owned(),
            Shape::Metadata => metadata_only(object),
            Shape::Table => table(std::slice::from_ref(object), object.resource_version(), rows),
        }
    }
}

/// What a row of a table holds besides its cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rows {
    /// Only metadata.
    Metadata,
    /// The whole object.
    Object,
    /// Nothing.
    None,
}

impl Rows {
    pub(super) fn of(query: &Query) -> Self {
        match query.text("includeObject") {
            "Object" => Self::Object,
            "None" => Self::None,
            _ => Self::Metadata,
        }
    }
}

/// One object.
pub(super) fn object(
    object: &Arc<Object>,
    status: StatusCode,
    warnings: &[String],
    format: Format,
    query: &Query,
) -> Response {
    let text = format.event_object(object, Rows::of(query));
    let mut response = respond(status, text, format, query.is_set("pretty"));
    for warning in warnings {
        let quoted = warning.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
            response.headers_mut().append(header::WARNING, value);
        }
    }
    response
}

/// A list of objects.
pub(super) fn list(
    kind: Kind,
    objects: &[Arc<Object>],
    version: u64,
    format: Format,
    query: &Query,
) -> Response {
    let text = match format.shape {
        Shape::Table => table(objects, version, Rows::of(query)),
        Shape::Whole => {
            let head = format!(
                r#"{{"kind":"{}List","apiVersion":"{GROUP_VERSION}","metadata":{{"resourceVersion":"{version}"}},"items":["#,
                kind.name()
            );
            joined(head, objects.iter().map(|it| it.json()))
        }
        Shape::Metadata => {
            let head = format!(
                r#"{{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{{"resourceVersion":"{version}"}},"items":["#
            );
            joined(head, objects.iter().map(metadata_only))
        }
    };
    respond(StatusCode::OK, text, format, query.is_set("pretty"))
}

fn joined(mut head: String, items: impl Iterator<Item = impl AsRef<str>>) -> String {
    for (index, item) in items.enumerate() {
        if index > 0 {
            head.push(',');
        }
        head.push_str(item.as_ref());
    }
    head.push_str("]}");
    head
}

fn metadata_only(object: &Arc<Object>) -> String {
    format!(
        r#"{{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{}}}"#,
        object.metadata_json()
    )
}

fn table(objects: &[Arc<Object>], version: u64, rows: Rows) -> String {
    let columns = json!([
        {"name": "Name", "type": "string", "format": "name", "description": "Name of the object.", "priority": 0},
        {"name": "Created At", "type": "date", "format": "", "description": "When the object was created.", "priority": 0},
    ]);
    let head = format!(
        r#"{{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{{"resourceVersion":"{version}"}},"columnDefinitions":{columns},"rows":["#
    );
    let row = |object: &Arc<Object>| {
        let content = match rows {
            Rows::Metadata => metadata_only(object),
            Rows::Object => object.json().to_owned(),
            Rows::None => "null".to_owned(),
        };
        format!(r#"{{"cells":{},"object":{content}}}"#, json!([object.name(), object.created()]))
    };
    joined(head, objects.iter().map(row))
}

/// An error.
pub(crate) fn error(error: &ApiError, format: Format, pretty: bool) -> Response {
    let status = StatusCode::from_u16(error.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    respond(status, error.status().to_string(), format, pretty)
}

/// JSON that was made here.
pub(super) fn json(value: &Value) -> Response {
    respond(StatusCode::OK, value.to_string(), Format::default(), false)
}

/// A plain text.
pub(super) fn text(status: StatusCode, text: impl Into<Body>) -> Response {
    with_type(status, text.into(), "text/plain; charset=utf-8")
}

fn respond(status: StatusCode, json: String, format: Format, pretty: bool) -> Response {
    let parsed = || serde_json::from_str::<Value>(&json).unwrap_or_default();
    match format.media {
        Media::Json if pretty => {
            let text = serde_json::to_string_pretty(&parsed()).unwrap_or_default();
            with_type(status, Body::from(text), "application/json")
        }
        Media::Json => with_type(status, Body::from(json), "application/json"),
        Media::Yaml => match engine_formats::yaml::emit::emit_v2(&parsed()) {
            Ok(text) => with_type(status, Body::from(text), "application/yaml"),
            Err(_) => with_type(status, Body::from(json), "application/json"),
        },
    }
}

/// A response of a media type that nobody should guess otherwise or keep.
pub(super) fn with_type(status: StatusCode, body: Body, media_type: &'static str) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

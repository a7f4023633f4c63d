//! What the server says about itself: groups, kinds, version, health, `OpenAPI`.

use axum::{
    http::{Method, StatusCode, request::Parts},
    response::Response,
};
use serde_json::{Value, json};

use super::{answer, openapi};
use crate::api::{ApiError, GROUP, GROUP_VERSION, VERSION, kind::KINDS};

/// What can be done with objects.
const VERBS: [&str; 8] =
    ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
/// What can be done with a status.
const STATUS_VERBS: [&str; 3] = ["get", "patch", "update"];

/// Answers a request that is not about objects.
pub(super) fn answer(parts: &Parts) -> Response {
    let path = parts.uri.path();
    let path = if path.len() > 1 { path.trim_end_matches('/') } else { path };
    if !matches!(parts.method, Method::GET | Method::HEAD) {
        return answer::error(&ApiError::method_not_allowed(), answer::Format::default(), false);
    }
    match path {
        "/apis" => {
            answer::json(&json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": [group()]}))
        }
        "/apis/tilt.dev" => {
            let mut group = group();
            group["kind"] = "APIGroup".into();
            group["apiVersion"] = "v1".into();
            answer::json(&group)
        }
        "/apis/tilt.dev/v1alpha1" => answer::json(&resources()),
        "/version" => answer::json(&version()),
        "/healthz" | "/livez" | "/readyz" | "/healthz/ping" | "/livez/ping" | "/readyz/ping" => {
            answer::text(StatusCode::OK, "ok")
        }
        "/openapi/v2" => openapi::v2(parts),
        "/openapi/v3" => answer::json(&openapi::v3_index()),
        "/openapi/v3/apis/tilt.dev/v1alpha1" => answer::json(&openapi::v3()),
        path if path.starts_with("/apis/") => {
            answer::error(&ApiError::no_such_resource(), answer::Format::default(), false)
        }
        _ => answer::text(StatusCode::NOT_FOUND, "404 page not found\n"),
    }
}

fn group() -> Value {
    let version = json!({"groupVersion": GROUP_VERSION, "version": VERSION});
    json!({"name": GROUP, "versions": [version], "preferredVersion": version})
}

fn resources() -> Value {
    let mut resources = Vec::new();
    for kind in KINDS {
        let mut resource = json!({
            "name": kind.plural,
            "singularName": kind.singular,
            "namespaced": false,
            "kind": kind.kind,
            "verbs": VERBS,
        });
        if !kind.short_names.is_empty() {
            resource["shortNames"] = json!(kind.short_names);
        }
        resources.push(resource);
        if kind.has_status {
            resources.push(json!({
                "name": format!("{}/status", kind.plural),
                "singularName": "",
                "namespaced": false,
                "kind": kind.kind,
                "verbs": STATUS_VERBS,
            }));
        }
    }
    json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": GROUP_VERSION,
        "resources": resources,
    })
}

/// The version of the Kubernetes API that clients may expect.
fn version() -> Value {
    json!({
        "major": "1",
        "minor": "36",
        "gitVersion": "v1.36.0",
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}

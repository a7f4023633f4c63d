//! What the server says about itself: groups, kinds, version, health, `OpenAPI`.

use axum::{
    http::{Method, StatusCode, request::Parts},
    response::Response,
};
use engine_api::{ApiError, GROUP, GROUP_VERSION, Kind, Store, VERSION};
use engine_cli::instances::ENGINE_PATH;
use serde_json::{Value, json};

use super::{answer, openapi};

/// What can be done with objects.
const VERBS: [&str; 8] =
    ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
/// What can be done with a status.
const STATUS_VERBS: [&str; 3] = ["get", "patch", "update"];

/// What is looked at to find out how the server does; there is no more to it than that it answers.
const CHECKS: [&str; 2] = ["ping", "log"];

/// Answers a request that is not about objects.
pub(super) fn answer(parts: &Parts, store: &Store) -> Response {
    let path = parts.uri.path();
    let path = if path.len() > 1 { path.trim_end_matches('/') } else { path };
    let is_read = matches!(parts.method, Method::GET | Method::HEAD);
    if let Some(answer) = health(path, parts.uri.query().unwrap_or_default()) {
        return answer;
    }
    match path {
        "/apis" | "/apis/tilt.dev" | "/apis/tilt.dev/v1alpha1" | "/version" if !is_read => {
            answer::error(&ApiError::method_not_allowed(), answer::Format::default(), false)
        }
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
        // Commands tell an engine from a Tilt by this.
        ENGINE_PATH => answer::json(&json!({"version": env!("CARGO_PKG_VERSION")})),
        "/metrics" => answer::text(StatusCode::OK, metrics(store)),
        "/openapi/v2" => openapi::v2(parts),
        "/openapi/v3" => answer::json(&openapi::v3_index()),
        "/openapi/v3/apis/tilt.dev/v1alpha1" => answer::json(&openapi::v3()),
        path if path.starts_with("/apis/") => {
            answer::error(&ApiError::no_such_resource(), answer::Format::default(), false)
        }
        _ => answer::text(StatusCode::NOT_FOUND, "404 page not found\n"),
    }
}

/// How the server does, as a word or, if asked, as a list.
fn health(path: &str, query: &str) -> Option<Response> {
    let mut segments = path.trim_start_matches('/').split('/');
    let name = segments.next().filter(|it| ["healthz", "livez", "readyz"].contains(it))?;
    let check = segments.next();
    let is_known = check.is_none_or(|it| CHECKS.contains(&it)) && segments.next().is_none();
    if !is_known {
        return None;
    }
    let options = super::path::decode_query(query);
    if check.is_some() || !options.contains_key("verbose") {
        return Some(answer::text(StatusCode::OK, "ok"));
    }
    let excluded = options.get("exclude").map_or("", String::as_str);
    let mut lines = String::new();
    for check in CHECKS {
        let how = if check == excluded { "excluded: ok" } else { "ok" };
        lines.push_str(&format!("[+]{check} {how}\n"));
    }
    Some(answer::text(StatusCode::OK, format!("{lines}{name} check passed\n")))
}

/// How many objects there are, for programs that collect numbers.
fn metrics(store: &Store) -> String {
    let metric = "apiserver_storage_objects";
    let mut out = format!("# HELP {metric} Number of stored objects.\n# TYPE {metric} gauge\n");
    for kind in Kind::ALL {
        let (resource, count) = (kind.qualified_plural(), store.list(kind).len());
        out.push_str(&format!("{metric}{{resource=\"{resource}\"}} {count}\n"));
    }
    out
}

fn group() -> Value {
    let version = json!({"groupVersion": GROUP_VERSION, "version": VERSION});
    json!({"name": GROUP, "versions": [version], "preferredVersion": version})
}

fn resources() -> Value {
    let mut resources = Vec::new();
    for kind in Kind::ALL {
        let mut resource = json!({
            "name": kind.plural(),
            "singularName": kind.singular(),
            "namespaced": false,
            "kind": kind.name(),
            "verbs": VERBS,
        });
        if !kind.short_names().is_empty() {
            resource["shortNames"] = json!(kind.short_names());
        }
        resources.push(resource);
        if kind.has_status() {
            resources.push(json!({
                "name": format!("{}/status", kind.plural()),
                "singularName": "",
                "namespaced": false,
                "kind": kind.name(),
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

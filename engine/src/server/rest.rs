//! The API server: which request asks for what, and who may ask.

use std::{collections::HashMap, sync::Arc};

use axum::{
    Router,
    body::Body,
    extract::Request,
    http::{Method, StatusCode, header, request::Parts},
    middleware::{self, Next},
    response::Response,
};
use bytes::Bytes;
use engine_api::{
    ApiError, GROUP, Kind, Saved, Selector, Store, Subresource, Validation, WriteOptions,
    error::{FieldError, Subject},
};
use http_body_util::LengthLimitError;
use serde_json::Value;
use tokio::sync::watch;

use self::answer::Format;
use super::web;

pub mod answer;
mod body;
mod discovery;
mod openapi;
pub(crate) mod path;
mod watching;

#[cfg(test)]
mod tests;

/// Where the API server listens, whatever the web port does.
const LOOPBACK: &str = "127.0.0.1";

/// The largest body that is read.
const MAX_BODY: usize = 20 << 20;

/// Under this, what is read is always watched, as old clients do it.
const OLD_WATCH: &str = "watch/";

/// What requests work on; cheap to clone.
#[derive(Clone, Debug)]
pub struct Rest {
    store: Store,
    closing: watch::Receiver<bool>,
}

/// The API server as a service: whoever shows the token may do everything, others nothing.
pub fn app(rest: Rest, token: &str) -> Router {
    let expected: Arc<str> = format!("Bearer {token}").into();
    let check = middleware::from_fn(move |request: Request, next: Next| {
        let expected = expected.clone();
        async move {
            let given = request.headers().get(header::AUTHORIZATION);
            let is_known =
                given.is_some_and(|it| web::same_secret(it.as_bytes(), expected.as_bytes()));
            if is_known {
                web::trust(request.extensions());
            }
            let host = web::host(request.headers(), request.uri());
            if is_known && web::knows_host(LOOPBACK, host) && !web::is_foreign(&request) {
                return next.run(request).await;
            }
            forbidden(request.method(), request.uri().path())
        }
    });
    let handle = move |request: Request| {
        let rest = rest.clone();
        async move { rest.handle(request).await }
    };
    Router::new().fallback(handle).layer(check)
}

/// What a request is about.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    /// All objects of a kind.
    Collection(Kind),
    /// One object, or its status.
    Object(Kind, String, Subresource),
    /// Something about the server itself.
    Server,
    /// A path of the group that leads nowhere.
    Nothing,
}

impl Target {
    fn of(path: &str) -> Self {
        let Some(rest) = path.strip_prefix("/apis/tilt.dev/v1alpha1/") else { return Self::Server };
        let rest = rest.strip_prefix(OLD_WATCH).unwrap_or(rest);
        let segments: Vec<String> =
            rest.trim_end_matches('/').split('/').map(path::decode).collect();
        let Some(kind) = segments.first().and_then(|it| Kind::of_plural(it)) else {
            return if rest.is_empty() { Self::Server } else { Self::Nothing };
        };
        match &segments[1..] {
            [] => Self::Collection(kind),
            [name] => Self::Object(kind, name.clone(), Subresource::Main),
            [name, part] if part == "status" && kind.has_status() => {
                Self::Object(kind, name.clone(), Subresource::Status)
            }
            _ => Self::Nothing,
        }
    }
}

/// The options of a request.
#[derive(Debug)]
struct Query(HashMap<String, String>);

impl Query {
    fn of(query: Option<&str>) -> Self {
        Self(path::decode_query(query.unwrap_or_default()))
    }

    fn text(&self, key: &str) -> &str {
        self.0.get(key).map_or("", String::as_str)
    }

    /// Whether an option is switched on; its mere presence does that, too.
    fn is_set(&self, key: &str) -> bool {
        self.0.get(key).is_some_and(|it| !matches!(it.as_str(), "false" | "0"))
    }

    /// Refuses options of lists and watches that make no sense.
    fn check_list(&self) -> Result<(), ApiError> {
        for key in ["timeoutSeconds", "limit"] {
            let text = self.text(key);
            if !text.is_empty() && text.parse::<i64>().is_err() {
                let why = format!("strconv.ParseInt: parsing {text:?}: invalid syntax");
                return Err(ApiError::bad_request(why));
            }
        }
        let how = self.text("resourceVersionMatch");
        let forbidden = |field: &str, why: &str| {
            let cause =
                FieldError { field: field.to_owned(), message: format!("Forbidden: {why}") };
            Err(ApiError::invalid_options("ListOptions", cause))
        };
        if !how.is_empty() && !self.is_set("watch") && self.text("resourceVersion").is_empty() {
            let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
            return forbidden("resourceVersionMatch", why);
        }
        if self.is_set("sendInitialEvents") && !self.is_set("watch") {
            return forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list");
        }
        Ok(())
    }

    fn selector(&self) -> Result<Selector, ApiError> {
        Selector::parse(self.text("labelSelector"), self.text("fieldSelector"))
    }

    /// Who writes: as the client says, or else the name of the program.
    fn manager(&self, parts: &Parts) -> String {
        let given = self.text("fieldManager");
        if !given.is_empty() {
            return given.to_owned();
        }
        let agent = parts.headers.get(header::USER_AGENT).and_then(|it| it.to_str().ok());
        let program = agent.unwrap_or("unknown").split('/').next().unwrap_or_default();
        program.chars().take(FieldError::MAX_MANAGER).collect()
    }

    fn dry_run(&self, options: &str) -> Result<bool, ApiError> {
        match self.text("dryRun") {
            "" => Ok(false),
            "All" => Ok(true),
            other => {
                let message =
                    format!("Unsupported value: [\"{other}\"]: supported values: \"All\"");
                let cause = FieldError { field: "dryRun".to_owned(), message };
                Err(ApiError::invalid_options(options, cause))
            }
        }
    }

    fn write_options(&self, options: &str, parts: &Parts) -> Result<WriteOptions, ApiError> {
        let validation = match self.text("fieldValidation") {
            "" | "Warn" => Validation::Warn,
            "Strict" => Validation::Strict,
            "Ignore" => Validation::Ignore,
            other => {
                let message = format!(
                    "Unsupported value: \"{other}\": supported values: \"\", \"Ignore\", \"Strict\", \"Warn\""
                );
                let cause = FieldError { field: "fieldValidation".to_owned(), message };
                return Err(ApiError::invalid_options(options, cause));
            }
        };
        let manager = self.manager(parts);
        if let Some(cause) = FieldError::of_manager(&manager) {
            return Err(ApiError::invalid_options(options, cause));
        }
        let force = self.is_set("force");
        let dry_run = self.dry_run(options)?;
        Ok(WriteOptions { dry_run, validation, manager, force, duplicates: Vec::new() })
    }
}

impl Rest {
    /// Answers requests about the objects of a store until it is closed.
    pub fn new(store: Store, closing: watch::Receiver<bool>) -> Self {
        Self { store, closing }
    }

    /// Answers a request of somebody who may do everything.
    pub async fn handle(&self, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        let format = answer::Format::of(&parts);
        let pretty = Query::of(parts.uri.query()).is_set("pretty");
        match self.respond(&parts, body, format).await {
            Ok(response) => response,
            Err(error) => answer::error(&error, format.unwrap_or_default(), pretty),
        }
    }

    async fn respond(
        &self,
        parts: &Parts,
        body: Body,
        format: Option<Format>,
    ) -> Result<Response, ApiError> {
        let path = parts.uri.path();
        let target = Target::of(path);
        match target {
            Target::Server => return Ok(discovery::answer(parts, &self.store)),
            Target::Nothing => return Err(ApiError::no_such_resource()),
            _ => {}
        }
        let format = format.ok_or_else(ApiError::not_acceptable)?;
        let mut query = Query::of(parts.uri.query());
        if path.strip_prefix("/apis/tilt.dev/v1alpha1/").is_some_and(|it| it.starts_with(OLD_WATCH))
        {
            query.0.insert("watch".to_owned(), "true".to_owned());
        }
        query.check_list()?;
        let method = match parts.method {
            Method::HEAD => Method::GET,
            ref method => method.clone(),
        };
        match (target, method) {
            (Target::Collection(kind), Method::GET) if query.is_set("watch") => {
                let selector = query.selector()?;
                Ok(watching::answer(self, kind, selector, &query, format))
            }
            (Target::Object(kind, name, _), Method::GET) if query.is_set("watch") => {
                Ok(watching::answer(self, kind, Selector::of_name(&name), &query, format))
            }
            (Target::Collection(kind), Method::GET) => {
                let selector = query.selector()?;
                let mut snapshot = self.store.snapshot(kind);
                snapshot.objects.retain(|it| selector.matches(it));
                Ok(answer::list(kind, &snapshot.objects, snapshot.version, format, &query))
            }
            (Target::Object(kind, name, _), Method::GET) => {
                let object =
                    self.store.get(kind, &name).ok_or_else(|| ApiError::not_found(kind, &name))?;
                Ok(answer::object(&object, StatusCode::OK, &[], format, &query))
            }
            (target, method) => self.write(parts, target, &method, body, format, &query).await,
        }
    }

    async fn write(
        &self,
        parts: &Parts,
        target: Target,
        method: &Method,
        given: Body,
        format: Format,
        query: &Query,
    ) -> Result<Response, ApiError> {
        let saved = match (target, method) {
            (Target::Collection(kind), &Method::POST) => {
                let mut options = query.write_options("CreateOptions", parts)?;
                let body;
                (body, options.duplicates) = body::object(parts, given, kind.name()).await?;
                self.store.create(kind, &body, &options)?
            }
            (Target::Object(kind, name, part), &Method::PUT) => {
                let mut options = query.write_options("UpdateOptions", parts)?;
                let body;
                (body, options.duplicates) = body::object(parts, given, kind.name()).await?;
                self.store.update(kind, &name, &body, part, &options)?
            }
            (Target::Object(kind, name, part), &Method::PATCH) => {
                let options = query.write_options("PatchOptions", parts)?;
                check_patch(body::is_apply(parts), query)?;
                let patch = body::patch(parts, given).await?;
                self.store.patch(kind, &name, &patch, part, &options)?
            }
            (Target::Object(kind, name, Subresource::Main), &Method::DELETE) => {
                let dry_run = query.dry_run("DeleteOptions")?;
                let options =
                    body::delete_options(parts, given, query.text("propagationPolicy")).await?;
                let object = self.store.delete(kind, &name, &options["preconditions"], dry_run)?;
                Saved { object, created: false, warnings: Vec::new() }
            }
            (Target::Collection(kind), &Method::DELETE) => {
                let (selector, dry_run) = (query.selector()?, query.dry_run("DeleteOptions")?);
                let deleted = self.store.delete_collection(kind, &selector, dry_run);
                return Ok(answer::list(kind, &deleted, self.store.version(), format, query));
            }
            _ => return Err(ApiError::method_not_allowed()),
        };
        let status = if saved.created { StatusCode::CREATED } else { StatusCode::OK };
        Ok(answer::object(&saved.object, status, &saved.warnings, format, query))
    }
}

/// Whoever applies has to say who it is, and nobody else can force anything.
fn check_patch(is_apply: bool, query: &Query) -> Result<(), ApiError> {
    if is_apply && query.text("fieldManager").is_empty() {
        let cause = FieldError::required("fieldManager", "is required for apply patch");
        return Err(ApiError::invalid_options("PatchOptions", cause));
    }
    if !is_apply && !query.text("force").is_empty() {
        let message = "Forbidden: may not be specified for non-apply patch".to_owned();
        let cause = FieldError { field: "force".to_owned(), message };
        return Err(ApiError::invalid_options("PatchOptions", cause));
    }
    Ok(())
}

/// The refusal of a request without the token.
fn forbidden(method: &Method, path: &str) -> Response {
    let verb = |many: bool| match (method.as_str(), many) {
        ("GET" | "HEAD", true) => "list",
        ("GET" | "HEAD", false) => "get",
        ("POST", _) => "create",
        ("PUT", _) => "update",
        ("PATCH", _) => "patch",
        ("DELETE", true) => "deletecollection",
        _ => "delete",
    };
    let subject = |kind: Kind, name: &str| {
        Some(Subject { group: GROUP, kind: kind.plural().to_owned(), name: name.to_owned() })
    };
    let resource = |verb: &str, resource: &str| {
        format!("{verb} resource \"{resource}\" in API group \"{GROUP}\" at the cluster scope")
    };
    let error = match Target::of(path) {
        Target::Collection(kind) => {
            ApiError::forbidden(subject(kind, ""), &resource(verb(true), kind.plural()))
        }
        Target::Object(kind, name, part) => {
            let suffix = if part == Subresource::Status { "/status" } else { "" };
            let what = resource(verb(false), &format!("{}{suffix}", kind.plural()));
            ApiError::forbidden(subject(kind, &name), &what)
        }
        Target::Server | Target::Nothing => {
            let verb = if method == Method::GET {
                "get".to_owned()
            } else {
                method.as_str().to_lowercase()
            };
            ApiError::forbidden(None, &format!("{verb} path \"{path}\""))
        }
    };
    answer::error(&error, Format::default(), false)
}

/// A body that was read, as JSON.
type Json = Value;

/// A whole body.
async fn read(body: Body) -> Result<Bytes, ApiError> {
    axum::body::to_bytes(body, MAX_BODY).await.map_err(|error| {
        let error = error.into_inner();
        if error.is::<LengthLimitError>() {
            return ApiError::too_large();
        }
        ApiError::bad_request(error.to_string())
    })
}

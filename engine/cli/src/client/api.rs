//! The API server: objects of tilt.dev/v1alpha1 over REST.

use std::{
    cell::RefCell,
    time::{Duration, Instant},
};

use bytes::Bytes;
use engine_api::{GROUP, Kind, VERSION};
use engine_formats::golang::quote::quote;
use http_body_util::Full;
use hyper::{Method, Request, header};
use serde_json::Value;

use super::{
    config::{self, Server},
    transport::{Answer, Next, Stream, Transport, TransportError},
    web,
};
use crate::{
    connect::ConnectFlags,
    failure::{Failure, Status, Unreachable},
    instances::not_running,
};

/// How long to wait for each answer of an instance that may hang.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where the objects are.
const BASE: &str = "/apis/tilt.dev/v1alpha1";

/// A client of one instance.
#[derive(Debug)]
pub struct ApiClient {
    server: Server,
    transport: RefCell<Transport>,
    /// The flags that name it, if a command looks for it.
    connect: Option<ConnectFlags>,
}

/// Which objects of a kind; everything if empty.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selection {
    /// A label selector.
    pub(crate) labels: String,
    /// A field selector.
    pub(crate) fields: String,
}

/// How a patch is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatchType {
    /// A list of operations.
    Json,
    /// Fields to set or remove.
    Merge,
    /// The same, by the rules of Kubernetes.
    Strategic,
    /// The whole wish of one manager.
    Apply,
}

impl PatchType {
    fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json-patch+json",
            Self::Merge => "application/merge-patch+json",
            Self::Strategic => "application/strategic-merge-patch+json",
            Self::Apply => "application/apply-patch+yaml",
        }
    }
}

impl ApiClient {
    /// A client of the instance that the flags name.
    pub fn new(flags: &ConnectFlags) -> Result<Self, Failure> {
        let client = Self::named(&flags.api_server_name());
        let client =
            client.map_err(|it| if it.is_unreachable() { not_running(flags, it) } else { it })?;
        Ok(Self { connect: Some(flags.clone()), ..client })
    }

    /// A client of an instance that may hang: it does not wait long.
    pub(crate) fn impatient(name: &str) -> Result<Self, Failure> {
        let mut client = Self::named(name)?;
        client.transport.get_mut().limit = Some(PATIENCE);
        Ok(client)
    }

    /// A client of the instance that is registered under a name.
    pub fn named(name: &str) -> Result<Self, Failure> {
        let server = config::find(name)?;
        let transport = Transport::new(&server.host, server.port.into(), server.tls.clone())
            .map_err(|it| Failure::Command(it.to_string()))?;
        Ok(Self { server, transport: RefCell::new(transport), connect: None })
    }

    /// Reads one object.
    pub fn get(&self, kind: Kind, name: &str) -> Result<Value, Failure> {
        self.call(&Method::GET, &object_path(kind, name), None)
    }

    /// Reads all objects that are selected.
    pub(crate) fn list(&self, kind: Kind, selection: &Selection) -> Result<Vec<Value>, Failure> {
        let path = format!("{BASE}/{}{}", kind.plural(), selection.query(&[]));
        let mut list =
            self.call(&Method::GET, &path, None).map_err(|it| selection.explain(it, kind))?;
        let items = list["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
        Ok(items.into_iter().map(|item| with_kind(item, kind)).collect())
    }

    /// Reads something that is no object.
    pub(crate) fn raw(&self, path: &str) -> Result<Value, Failure> {
        self.call(&Method::GET, path, None)
    }

    /// Creates an object; `query` is a list of parameters.
    pub fn create(
        &self,
        kind: Kind,
        object: &Value,
        query: &[(&str, &str)],
    ) -> Result<Value, Failure> {
        let path = format!("{BASE}/{}{}", kind.plural(), Selection::default().query(query));
        self.call(&Method::POST, &path, Some(("application/json", &object.to_string())))
    }

    /// Replaces an object.
    pub(crate) fn update(&self, kind: Kind, object: &Value) -> Result<Value, Failure> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let text = object.to_string();
        self.call(&Method::PUT, &object_path(kind, name), Some(("application/json", &text)))
    }

    /// Changes an object.
    pub(crate) fn patch(
        &self,
        kind: Kind,
        name: &str,
        (patch_type, patch): (PatchType, &Value),
        query: &[(&str, &str)],
    ) -> Result<Value, Failure> {
        self.patch_part(kind, (name, ""), (patch_type, patch), query)
    }

    /// Changes a part of an object, such as its status; all of it if the part has no name.
    pub(crate) fn patch_part(
        &self,
        kind: Kind,
        (name, part): (&str, &str),
        (patch_type, patch): (PatchType, &Value),
        query: &[(&str, &str)],
    ) -> Result<Value, Failure> {
        let part = if part.is_empty() { String::new() } else { format!("/{}", escape(part)) };
        let query = Selection::default().query(query);
        let path = format!("{}{part}{query}", object_path(kind, name));
        self.call(&Method::PATCH, &path, Some((patch_type.media_type(), &patch.to_string())))
    }

    /// Deletes an object.
    pub(crate) fn delete(&self, kind: Kind, name: &str, options: &Value) -> Result<Value, Failure> {
        let text = options.to_string();
        self.call(&Method::DELETE, &object_path(kind, name), Some(("application/json", &text)))
    }

    /// Deletes what a path stands for; gives the answer as it is.
    pub(crate) fn delete_raw(&self, path: &str) -> Result<String, Failure> {
        self.call(&Method::DELETE, path, None).map(|it| it.to_string())
    }

    /// Follows the objects that are selected: first those that exist, then what happens to them.
    pub(crate) fn watch(&self, kind: Kind, selection: &Selection) -> Result<Watch, Failure> {
        let path = format!("{BASE}/{}{}", kind.plural(), selection.query(&[("watch", "true")]));
        let server = &self.server;
        let transport = Transport::new(&server.host, server.port.into(), server.tls.clone())
            .map_err(|it| Failure::Kubectl(it.to_string()))?;
        let request = self.request(&Method::GET, &path, None);
        let request = request.map_err(|it| Failure::Kubectl(it.to_string()))?;
        match transport.open(request).map_err(|it| self.unreachable(&Method::GET, &path, &it))? {
            Ok(stream) => Ok(Watch { stream }),
            Err(answer) => Err(Failure::Server(Status::read(answer.status, &answer.body))),
        }
    }

    fn call(
        &self,
        method: &Method,
        path: &str,
        body: Option<(&str, &str)>,
    ) -> Result<Value, Failure> {
        let answer: Answer = self
            .transport
            .borrow_mut()
            .send(|| self.request(method, path, body))
            .map_err(|it| self.unreachable(method, path, &it))?;
        if !(200..300).contains(&answer.status) {
            return Err(Failure::Server(Status::read(answer.status, &answer.body)));
        }
        serde_json::from_slice(&answer.body)
            .map_err(|it| Failure::Kubectl(format!("the answer of the server is not JSON: {it}")))
    }

    fn request(
        &self,
        method: &Method,
        path: &str,
        body: Option<(&str, &str)>,
    ) -> Result<Request<Full<Bytes>>, hyper::http::Error> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, self.address())
            .header(header::ACCEPT, "application/json")
            .header(header::AUTHORIZATION, format!("Bearer {}", self.server.token));
        if let Some((media_type, _)) = body {
            request = request.header(header::CONTENT_TYPE, media_type);
        }
        let bytes = body.map(|(_, text)| Bytes::copy_from_slice(text.as_bytes()));
        request.body(Full::new(bytes.unwrap_or_default()))
    }

    fn address(&self) -> String {
        format!("{}:{}", self.server.host, self.server.port)
    }

    fn unreachable(&self, method: &Method, path: &str, error: &TransportError) -> Failure {
        let address = self.address();
        let verb = method.as_str();
        let failure = Failure::Unreachable(Unreachable {
            method: format!("{}{}", &verb[..1], verb[1..].to_lowercase()),
            url: format!("https://{address}{path}"),
            cause: web::cause(error, &address),
            address,
        });
        match (&self.connect, error) {
            (Some(connect), TransportError::Connect(_)) => not_running(connect, failure),
            _ => failure,
        }
    }
}

/// What happens to objects.
#[derive(Debug)]
pub(crate) struct Watch {
    stream: Stream,
}

/// Something that happened to an object.
#[derive(Debug)]
pub(crate) struct Event {
    /// `ADDED`, `MODIFIED` or `DELETED`.
    pub(crate) event: String,
    /// The object after it, or the last one before it was deleted.
    pub(crate) object: Value,
}

impl Watch {
    /// Waits for the next event; nothing at the deadline or when the server ends.
    pub(crate) fn next(&mut self, deadline: Option<Instant>) -> Result<Option<Event>, Failure> {
        let line = match self.stream.next(deadline) {
            Ok(Next::Line(line)) => line,
            Ok(Next::End | Next::Deadline) => return Ok(None),
            Err(error) => return Err(Failure::Kubectl(error.to_string())),
        };
        let mut event: Value = serde_json::from_slice(&line)
            .map_err(|it| Failure::Kubectl(format!("unable to decode an event: {it}")))?;
        Ok(Some(Event {
            event: event["type"].as_str().unwrap_or_default().to_owned(),
            object: event["object"].take(),
        }))
    }
}

impl Selection {
    /// Names the query that the server did not understand.
    fn explain(&self, failure: Failure, kind: Kind) -> Failure {
        let is_query = !self.labels.is_empty() || !self.fields.is_empty();
        match &failure {
            Failure::Server(status)
                if is_query && matches!(status.reason.as_str(), "BadRequest" | "NotFound") => {}
            _ => return failure,
        }
        failure.in_context(&format!(
            "Unable to find \"{GROUP}/{VERSION}, Resource={}\" that match label selector {}, field \
             selector {}",
            kind.plural(),
            quote(&self.labels),
            quote(&self.fields)
        ))
    }

    fn query(&self, more: &[(&str, &str)]) -> String {
        let mut text = String::new();
        let own =
            [("labelSelector", self.labels.as_str()), ("fieldSelector", self.fields.as_str())];
        for (name, value) in own.iter().filter(|it| !it.1.is_empty()).chain(more) {
            text.push(if text.is_empty() { '?' } else { '&' });
            text.push_str(&format!("{name}={}", escape(value)));
        }
        text
    }
}

fn object_path(kind: Kind, name: &str) -> String {
    format!("{BASE}/{}/{}", kind.plural(), escape(name))
}

/// A name as part of a path or query.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b':' => {
                out.push(byte.into());
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Items of a list need not say what they are.
fn with_kind(mut item: Value, kind: Kind) -> Value {
    if let Some(fields) = item.as_object_mut() {
        fields.entry("apiVersion").or_insert_with(|| "tilt.dev/v1alpha1".into());
        fields.entry("kind").or_insert_with(|| kind.name().into());
    }
    item
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_selectors_survive_the_url() {
        assert_eq!(escape("(Tiltfile)"), "%28Tiltfile%29");
        assert_eq!(escape("web:update"), "web:update");
        let selection = Selection { labels: "a in (b, c)".to_owned(), fields: String::new() };
        assert_eq!(
            selection.query(&[("watch", "true")]),
            "?labelSelector=a%20in%20%28b%2C%20c%29&watch=true"
        );
        assert_eq!(Selection::default().query(&[]), "");
    }
}

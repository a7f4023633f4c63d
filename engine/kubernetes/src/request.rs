//! Single requests: each has a bound, and an answer that is no success becomes an error in words.

use std::time::{Duration, Instant};

use engine_formats::golang::quote::quote;
use http_body_util::BodyExt as _;
use hyper::{
    Method, Request, Response, StatusCode,
    body::Bytes,
    header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, USER_AGENT},
};
use kube::client::Body;
use serde_json::Value;

use crate::{
    Cluster, KubernetesError,
    connection::{AnyCluster, unreachable},
    error::Refusal,
};

/// How long a read may take.
const READ: Duration = Duration::from_secs(10);

/// How long a write may take; what it is a part of may have less time.
const WRITE: Duration = Duration::from_mins(1);

/// How often a request is sent again because the server asks for patience.
const MOST_WAITS: usize = 10;

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    method: Method,
    path: String,
    content_type: &'static str,
    body: Vec<u8>,
    bound: Duration,
    is_retried: bool,
    is_for_any: bool,
    /// The resource and the name in it, for messages.
    about: (String, String),
}

impl Call {
    /// A read.
    pub(crate) fn get(path: &str) -> Self {
        let mut call = Self::write(Method::GET, path, "", Vec::new());
        call.bound = READ;
        call
    }

    /// A write.
    pub(crate) fn write(
        method: Method,
        path: &str,
        content_type: &'static str,
        body: Vec<u8>,
    ) -> Self {
        let about = (String::new(), String::new());
        let (path, bound) = (path.to_owned(), WRITE);
        let (is_retried, is_for_any) = (false, false);
        Self { method, path, content_type, body, bound, is_retried, is_for_any, about }
    }

    /// The same request with another bound.
    pub(crate) fn within(mut self, bound: Duration) -> Self {
        self.bound = bound;
        self
    }

    /// The same request, sent once more if no answer comes.
    pub(crate) fn retried(mut self) -> Self {
        self.is_retried = true;
        self
    }

    /// The same request, whichever cluster may be there.
    pub(crate) fn for_any_cluster(mut self) -> Self {
        self.is_for_any = true;
        self
    }

    /// The same request, said to be about an object in messages.
    pub(crate) fn about(mut self, resource: String, name: &str) -> Self {
        self.about = (resource, name.to_owned());
        self
    }

    fn request(&self) -> Result<Request<Body>, KubernetesError> {
        let mut request = Request::builder()
            .method(self.method.clone())
            .uri(&self.path)
            .header(ACCEPT, "application/json")
            .header(USER_AGENT, "tilt");
        if !self.content_type.is_empty() {
            request = request.header(CONTENT_TYPE, self.content_type);
        }
        let mut request = request
            .body(Body::from(self.body.clone()))
            .map_err(|it| KubernetesError::Request(it.to_string()))?;
        if self.is_for_any {
            request.extensions_mut().insert(AnyCluster);
        }
        Ok(request)
    }

    /// The request as Go's library names it in errors, such as `Get "https://host/path"`.
    fn words(&self, server: &str) -> String {
        let method = self.method.as_str();
        let method = format!("{}{}", &method[..1], method[1..].to_lowercase());
        format!("{method} {}", quote(&format!("{server}{}", self.path)))
    }

    /// What to say when the server refuses without words of its own.
    fn refusal(&self, code: StatusCode, body: &[u8]) -> Refusal {
        let status: Value = serde_json::from_slice(body).unwrap_or_default();
        if status["kind"] == "Status" && status["message"].is_string() {
            let text = |name: &str| status[name].as_str().unwrap_or_default().to_owned();
            return Refusal {
                code: code.as_u16(),
                reason: text("reason"),
                message: text("message"),
            };
        }
        let (resource, name) = &self.about;
        let verb = self.method.as_str().to_lowercase();
        let place = match (resource.as_str(), name.as_str()) {
            ("", _) => String::new(),
            (resource, "") => format!(" ({verb} {resource})"),
            (resource, name) => format!(" ({verb} {resource} {name})"),
        };
        let (reason, message) = generic(code.as_u16(), &String::from_utf8_lossy(body));
        Refusal { code: code.as_u16(), reason: reason.to_owned(), message: message + &place }
    }
}

/// What Kubernetes' client library says about a status that comes without words.
fn generic(code: u16, body: &str) -> (&'static str, String) {
    let (reason, message) = match code {
        400 => ("BadRequest", "the server rejected our request for an unknown reason"),
        401 => ("Unauthorized", "the server has asked for the client to provide credentials"),
        403 => ("Forbidden", "the server does not allow access to the requested resource"),
        404 => ("NotFound", "the server could not find the requested resource"),
        405 => {
            ("MethodNotAllowed", "the server does not allow this method on the requested resource")
        }
        409 => ("Conflict", "the server reported a conflict"),
        415 => (
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: ",
        ),
        422 => ("Invalid", "the server rejected our request due to an error in our request"),
        429 => (
            "TooManyRequests",
            "the server has received too many requests and has asked us to try again later",
        ),
        503 => ("ServiceUnavailable", "the server is currently unable to handle the request"),
        504 => (
            "Timeout",
            "the server was unable to return a response in the time allotted, but may still be \
             processing the request",
        ),
        500.. => {
            let said = quote(body.trim());
            let text = format!(
                "an error on the server ({said}) has prevented the request from succeeding"
            );
            return ("InternalError", text);
        }
        _ => {
            let text = format!(
                "the server responded with the status code {code} but did not return more \
                 information"
            );
            return ("Unknown", text);
        }
    };
    (reason, message.to_owned())
}

impl Cluster {
    /// Reads an object by its path; nothing if it is not there.
    pub(crate) async fn read(&self, path: &str) -> Result<Option<Value>, KubernetesError> {
        match self.send(&Call::get(path).retried()).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends a request and reads its answer.
    pub(crate) async fn send(&self, call: &Call) -> Result<Value, KubernetesError> {
        let (code, body) = self.raw(call).await?;
        if !code.is_success() {
            return Err(KubernetesError::Refused(Box::new(call.refusal(code, &body))));
        }
        serde_json::from_slice(&body).map_err(|error| {
            KubernetesError::Request(format!("{}: {error}", call.words(self.server())))
        })
    }

    /// Sends a request and gives its answer as it came.
    pub(crate) async fn raw(&self, call: &Call) -> Result<(StatusCode, Bytes), KubernetesError> {
        let mut is_retried = call.is_retried;
        let mut n_waits = 0;
        let started = Instant::now();
        loop {
            match self.raw_once(call).await {
                // A server that says when to come again has not done what was asked.
                Ok(Answer { patience: Some(patience), .. })
                    if n_waits < MOST_WAITS && started.elapsed() + patience < call.bound =>
                {
                    n_waits += 1;
                    tokio::time::sleep(patience).await;
                }
                Err(KubernetesError::Unreachable(_)) if is_retried => is_retried = false,
                answer => return answer.map(|it| (it.code, it.body)),
            }
        }
    }

    async fn raw_once(&self, call: &Call) -> Result<Answer, KubernetesError> {
        let request = call.request()?;
        let answer = async {
            let answer = self.client().send(request).await?;
            let (code, patience) = (answer.status(), patience(&answer));
            let body = answer.into_body().collect().await?.to_bytes();
            Ok::<_, kube::Error>(Answer { code, body, patience })
        };
        let words = || call.words(self.server());
        match tokio::time::timeout(call.bound, answer).await {
            Ok(answer) => answer.map_err(|it| unreachable(&words(), self.server(), &it)),
            Err(_) => {
                self.distrust();
                let text = format!("{}: context deadline exceeded", words());
                Err(KubernetesError::Unreachable(text))
            }
        }
    }
}

/// What a server answered.
struct Answer {
    code: StatusCode,
    body: Bytes,
    /// How long the server wants to be left alone before it is asked again.
    patience: Option<Duration>,
}

/// How long a server that is too busy wants to be left alone.
fn patience(answer: &Response<Body>) -> Option<Duration> {
    let is_busy =
        answer.status() == StatusCode::TOO_MANY_REQUESTS || answer.status().is_server_error();
    let seconds = answer.headers().get(RETRY_AFTER).filter(|_| is_busy)?;
    let seconds: u64 = seconds.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds.min(10)))
}

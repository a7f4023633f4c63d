//! One watch that does not end: it lists, follows, and goes on after whatever interrupts it.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::{mpsc, watch as state};
use tokio::time::timeout;

use crate::KubernetesError;
use crate::backoff::{self, Backoff, LONGEST_WAIT};

/// How long the API server keeps a watch open. It is short so that a connection that died without a word is noticed
/// soon; a new watch then goes on where the last one stopped.
const WATCH_SECONDS: u32 = 20;
/// How long a watch may be silent: the API server ends it before that.
const SILENCE: Duration = Duration::from_secs(WATCH_SECONDS as u64 + 5);
/// How long an answer may take. It may never come on a connection that died: the next request takes another one.
const ANSWER: Duration = Duration::from_secs(10);
/// How many objects one answer of a list may hold.
const PAGE: u32 = 500;
/// The version that was asked for is no longer known.
const GONE: u16 = 410;

/// What a watch sees.
#[derive(Debug)]
pub(super) enum Sight<T> {
    /// A list begins: what it does not name is gone.
    Begun,
    /// An object of that list.
    Listed(T),
    /// The list is complete.
    Complete,
    /// An object is new or changed.
    Changed(T),
    /// An object is gone.
    Gone(T),
    /// The watch was interrupted, by what, and when it is tried again.
    Interrupted(KubernetesError, Duration),
    /// The watch works again.
    Resumed,
}

/// A watch and where its sights go. Each object is made smaller first, or left out.
pub(super) struct Watch<K, T, M, F> {
    pub(super) api: Api<K>,
    pub(super) shrink: fn(K) -> Option<T>,
    pub(super) wrap: F,
    pub(super) sender: mpsc::Sender<M>,
    /// Where the API server is, for the words of errors.
    pub(super) server: Arc<str>,
    /// Tells when connections that are open may be dead.
    pub(super) distrusts: state::Receiver<usize>,
}

/// Nobody listens any more.
struct Closed;

impl<K, T, M, F> Watch<K, T, M, F>
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
    F: Fn(Sight<T>) -> M,
{
    /// Watches until nobody listens.
    pub(super) async fn run(self) {
        let mut backoff = Backoff::new(Duration::from_millis(500), LONGEST_WAIT);
        let mut version = None;
        let mut is_interrupted = false;
        loop {
            let round = self.round(&mut version, &mut is_interrupted, &mut backoff).await;
            let Ok(trouble) = round else { return };
            let Some(trouble) = trouble else { continue };
            if trouble.code() == Some(GONE) {
                version = None;
                continue;
            }
            let pause = backoff::next(&mut backoff);
            is_interrupted = true;
            if self.send(Sight::Interrupted(trouble, pause)).await.is_err() {
                return;
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Lists if there is no version to go on from, then watches until the watch ends, well or with trouble.
    async fn round(
        &self,
        version: &mut Option<String>,
        is_interrupted: &mut bool,
        backoff: &mut Backoff,
    ) -> Result<Option<KubernetesError>, Closed> {
        if version.is_none() {
            match self.list().await? {
                Ok(listed) => *version = Some(listed),
                Err(trouble) => return Ok(Some(trouble)),
            }
        }
        let from = version.clone().unwrap_or_default();
        let params = WatchParams::default().timeout(WATCH_SECONDS);
        let events = match timeout(ANSWER, self.api.watch(&params, &from)).await {
            Ok(Ok(events)) => events,
            Ok(Err(error)) => return Ok(Some(self.trouble(error))),
            Err(_) => return Ok(Some(KubernetesError::silence())),
        };
        if std::mem::take(is_interrupted) {
            self.send(Sight::Resumed).await?;
        }
        backoff.reset();
        let mut events = std::pin::pin!(events);
        let mut distrusts = self.distrusts.clone();
        distrusts.mark_unchanged();
        // Silence ends a watch like the API server does: the next one goes on from the same version.
        loop {
            let event = tokio::select! {
                event = timeout(SILENCE, events.next()) => event,
                Ok(()) = distrusts.changed() => break,
            };
            let Ok(Some(event)) = event else { break };
            let event = match event {
                Ok(event) => event,
                Err(error) => return Ok(Some(self.trouble(error))),
            };
            if let WatchEvent::Error(status) = event {
                return Ok(Some(self.trouble(kube::Error::Api(status))));
            }
            self.pass(event, version).await?;
        }
        Ok(None)
    }

    /// Sends all objects, page by page; the answer is the version to watch from.
    async fn list(&self) -> Result<Result<String, KubernetesError>, Closed> {
        self.send(Sight::Begun).await?;
        let mut params = ListParams::default().limit(PAGE);
        loop {
            let page = match timeout(ANSWER, self.api.list(&params)).await {
                Ok(Ok(page)) => page,
                Ok(Err(error)) => return Ok(Err(self.trouble(error))),
                Err(_) => return Ok(Err(KubernetesError::silence())),
            };
            for object in page.items.into_iter().filter_map(self.shrink) {
                self.send(Sight::Listed(object)).await?;
            }
            let more = page.metadata.continue_.filter(|it| !it.is_empty());
            let Some(more) = more else {
                self.send(Sight::Complete).await?;
                return Ok(Ok(page.metadata.resource_version.unwrap_or_default()));
            };
            params = params.continue_token(&more);
        }
    }

    async fn pass(&self, event: WatchEvent<K>, version: &mut Option<String>) -> Result<(), Closed> {
        let (object, wrap): (K, fn(T) -> Sight<T>) = match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, Sight::Changed),
            WatchEvent::Deleted(object) => (object, Sight::Gone),
            WatchEvent::Bookmark(bookmark) => {
                *version = Some(bookmark.metadata.resource_version);
                return Ok(());
            }
            WatchEvent::Error(_) => return Ok(()),
        };
        if let Some(seen) = &object.meta().resource_version {
            *version = Some(seen.clone());
        }
        match (self.shrink)(object) {
            Some(object) => self.send(wrap(object)).await,
            None => Ok(()),
        }
    }

    fn trouble(&self, error: kube::Error) -> KubernetesError {
        KubernetesError::of(error, &self.server)
    }

    async fn send(&self, sight: Sight<T>) -> Result<(), Closed> {
        self.sender.send((self.wrap)(sight)).await.map_err(|_| Closed)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Mutex;

    use hyper::{Request, Response};
    use k8s_openapi::api::core::v1::Pod;
    use kube::client::Body;

    use super::*;

    /// An API server that gives prepared answers, then none; and what it was asked for.
    fn server(answers: &[(u16, &str)]) -> (kube::Client, Arc<Mutex<Vec<String>>>) {
        let answers: VecDeque<(u16, String)> =
            answers.iter().map(|it| (it.0, it.1.to_owned())).collect();
        let (answers, asked) = (Arc::new(Mutex::new(answers)), Arc::default());
        let seen: Arc<Mutex<Vec<String>>> = Arc::clone(&asked);
        let service = tower::service_fn(move |request: Request<Body>| {
            seen.lock().unwrap().push(request.uri().query().unwrap_or_default().to_owned());
            let answer = answers.lock().unwrap().pop_front();
            async move {
                let Some((code, text)) = answer else { return std::future::pending().await };
                let body = Body::from(text.into_bytes());
                Ok::<_, hyper::Error>(Response::builder().status(code).body(body).unwrap())
            }
        });
        (kube::Client::new(service, "ns"), asked)
    }

    /// The first sights of a watch, in words.
    async fn sights(client: kube::Client, n: usize) -> Vec<String> {
        let (sender, mut inbox) = mpsc::channel(8);
        let watch = Watch {
            api: Api::<Pod>::namespaced(client, "ns"),
            shrink: |pod: Pod| pod.metadata.name,
            wrap: |sight| sight,
            sender,
            server: Arc::from("https://server"),
            distrusts: state::Sender::new(0).subscribe(),
        };
        let watch = tokio::spawn(watch.run());
        let mut seen = Vec::new();
        while seen.len() < n {
            seen.push(match inbox.recv().await.unwrap() {
                Sight::Interrupted(trouble, _) => format!("interrupted: {trouble}"),
                other => format!("{other:?}"),
            });
        }
        watch.abort();
        seen
    }

    fn list(version: u32, names: &[&str], more: &str) -> String {
        let items: Vec<_> =
            names.iter().map(|it| serde_json::json!({"metadata": {"name": it}})).collect();
        let metadata =
            serde_json::json!({"resourceVersion": version.to_string(), "continue": more});
        serde_json::json!({"kind": "PodList", "metadata": metadata, "items": items}).to_string()
    }

    fn event(kind: &str, name: &str, version: u32) -> String {
        let metadata = serde_json::json!({"name": name, "resourceVersion": version.to_string()});
        let object = serde_json::json!({"kind": "Pod", "apiVersion": "v1", "metadata": metadata});
        format!("{}\n", serde_json::json!({"type": kind, "object": object}))
    }

    const GONE_EVENT: &str = "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":410,\"reason\":\"Expired\",\"message\":\"too old\"}}\n";

    #[tokio::test]
    async fn lists_come_in_pages_and_watches_go_on_where_they_ended() {
        let first = event("ADDED", "c", 6) + &event("BOOKMARK", "", 8);
        let (client, asked) = server(&[
            (200, &list(5, &["a"], "more")),
            (200, &list(5, &["b"], "")),
            (200, &first),
            (200, &event("DELETED", "a", 9)),
        ]);
        assert_eq!(
            sights(client, 6).await,
            [
                "Begun",
                "Listed(\"a\")",
                "Listed(\"b\")",
                "Complete",
                "Changed(\"c\")",
                "Gone(\"a\")"
            ]
        );
        let asked = asked.lock().unwrap();
        assert!(asked[1].contains("continue=more"), "{asked:?}");
        assert!(asked[2].contains("resourceVersion=5"), "{asked:?}");
        assert!(asked[3].contains("resourceVersion=8"), "{asked:?}");
    }

    #[tokio::test]
    async fn a_version_that_is_too_old_leads_to_a_new_list() {
        let gone = r#"{"kind":"Status","status":"Failure","code":410,"reason":"Expired","message":"too old"}"#;
        let (client, _) = server(&[
            (200, &list(5, &["a"], "")),
            (200, GONE_EVENT),
            (200, &list(9, &["b"], "")),
            (410, gone),
            (200, &list(12, &["c"], "")),
        ]);
        assert_eq!(
            sights(client, 9).await,
            [
                "Begun",
                "Listed(\"a\")",
                "Complete",
                "Begun",
                "Listed(\"b\")",
                "Complete",
                "Begun",
                "Listed(\"c\")",
                "Complete"
            ]
        );
    }

    #[tokio::test]
    async fn a_refusal_is_told_and_the_end_of_it_too() {
        let forbidden = r#"{"kind":"Status","status":"Failure","code":403,"reason":"Forbidden","message":"pods is forbidden"}"#;
        let (client, _) =
            server(&[(403, forbidden), (200, &list(5, &[], "")), (200, &event("ADDED", "a", 6))]);
        assert_eq!(
            sights(client, 6).await,
            [
                "Begun",
                "interrupted: pods is forbidden",
                "Begun",
                "Complete",
                "Resumed",
                "Changed(\"a\")"
            ]
        );
    }
}

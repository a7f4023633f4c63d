//! Requests and answers of the API server, without a port.

use std::collections::BTreeMap;

use axum::http::Request as HttpRequest;
use engine_api::{Kind, Meta};
use expect_test::Expect;
use http_body_util::BodyExt;
use serde_json::json;
use tower::ServiceExt;

use super::*;

mod reads;
mod watches;
mod writes;

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const BASE: &str = "/apis/tilt.dev/v1alpha1/";

struct Server {
    store: Store,
    app: Router,
    _close: watch::Sender<bool>,
}

impl Server {
    fn new() -> Self {
        let store = Store::new();
        let (close, closing) = watch::channel(false);
        let app = app(Rest::new(store.clone(), closing), "secret");
        let labels = BTreeMap::from([("l".to_owned(), "m".to_owned())]);
        let meta = Meta { labels, ..Meta::default() };
        store.put(Kind::ConfigMap, "cm", &meta, &json!({"one": "1"}));
        store.put(Kind::Cmd, "web:update", &Meta::default(), &json!({"args": ["true"]}));
        Self { store, app, _close: close }
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Response {
        let path = if path.starts_with('/') { path.to_owned() } else { format!("{BASE}{path}") };
        let mut request = HttpRequest::builder()
            .method(method)
            .uri(path)
            .header("Authorization", "Bearer secret");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::from(body.to_owned())).unwrap();
        self.app.clone().oneshot(request).await.unwrap()
    }

    async fn text(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> (u16, String) {
        let response = self.send(method, path, headers, body).await;
        let status = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(bytes.to_vec()).unwrap())
    }

    /// Status and the essence of the answer: the message of an error, or the object without what differs every time.
    async fn check(
        &self,
        method: &str,
        path: &str,
        media_type: &str,
        body: &str,
        expected: Expect,
    ) {
        let (status, text) = self.text(method, path, &[("Content-Type", media_type)], body).await;
        let mut value: Value = serde_json::from_str(&text).unwrap();
        let shown = if value["kind"] == "Status" {
            value["message"].as_str().unwrap().to_owned()
        } else {
            strip(&mut value);
            value.to_string()
        };
        expected.assert_eq(&format!("{status} {shown}"));
    }
}

fn strip(value: &mut Value) {
    if let Some(metadata) = value["metadata"].as_object_mut() {
        for key in ["uid", "resourceVersion", "creationTimestamp", "managedFields"] {
            metadata.shift_remove(key);
        }
    }
}

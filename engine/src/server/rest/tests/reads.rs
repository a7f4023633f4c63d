//! What clients read, and who may not.

use expect_test::expect;

use super::*;

#[tokio::test]
async fn lists_are_selected_and_shown_in_several_forms() {
    let server = Server::new();
    server.store.put(Kind::ConfigMap, "a", &Meta::default(), &Value::Null);
    let names = |text: &str| -> Vec<String> {
        let value: Value = serde_json::from_str(text).unwrap();
        value["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["metadata"]["name"].as_str().unwrap().to_owned())
            .collect()
    };
    for (path, expected) in [
        ("configmaps", vec!["a", "cm"]),
        ("configmaps?labelSelector=l%3Dm", vec!["cm"]),
        ("configmaps?fieldSelector=metadata.name%3Da", vec!["a"]),
        ("configmaps?limit=1", vec!["a", "cm"]),
    ] {
        let (status, text) = server.text("GET", path, &[], "").await;
        assert_eq!(
            (status, names(&text)),
            (200, expected.into_iter().map(str::to_owned).collect()),
            "{path}"
        );
    }
    let accept = |value| [("Accept", value)];
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    let (_, text) = server.text("GET", "configmaps", &accept(table), "").await;
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["kind"], "Table");
    assert_eq!(value["rows"][1]["cells"][0], "cm");
    assert_eq!(value["rows"][1]["object"]["kind"], "PartialObjectMetadata");
    let partial = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
    let (_, text) = server.text("GET", "configmaps", &accept(partial), "").await;
    assert!(
        text.contains(r#""kind":"PartialObjectMetadataList""#) && !text.contains("\"data\""),
        "{text}"
    );
    let (_, text) = server.text("GET", "configmaps/cm", &accept("application/yaml"), "").await;
    assert!(text.contains("data:\n  one: \"1\"\n"), "{text}");
    let (status, _) = server.text("GET", "configmaps/cm", &accept("text/csv"), "").await;
    assert_eq!(status, 406);
    let protobuf = "application/vnd.kubernetes.protobuf,application/json";
    let (status, _) = server.text("GET", "configmaps/cm", &accept(protobuf), "").await;
    assert_eq!(status, 200);
}

#[tokio::test]
async fn whoever_shows_no_token_may_do_nothing() {
    let server = Server::new();
    for (method, path, expected) in [
        (
            "GET",
            "/apis/tilt.dev/v1alpha1/cmds",
            r#"cmds.tilt.dev is forbidden: User "system:anonymous" cannot list resource "cmds" in API group "tilt.dev" at the cluster scope: Everything is forbidden."#,
        ),
        (
            "GET",
            "/apis/tilt.dev/v1alpha1/cmds/x/status",
            r#"cmds.tilt.dev "x" is forbidden: User "system:anonymous" cannot get resource "cmds/status" in API group "tilt.dev" at the cluster scope: Everything is forbidden."#,
        ),
        (
            "GET",
            "/version",
            r#"forbidden: User "system:anonymous" cannot get path "/version": Everything is forbidden."#,
        ),
    ] {
        for token in [None, Some("Bearer wrong"), Some("Bearer secrets"), Some("Basic secret")] {
            let mut request = HttpRequest::builder().method(method).uri(path);
            if let Some(token) = token {
                request = request.header("Authorization", token);
            }
            let response =
                server.app.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
            assert_eq!(response.status(), 403);
            let bytes = response.into_body().collect().await.unwrap().to_bytes();
            let value: Value = serde_json::from_slice(&bytes).unwrap();
            assert_eq!(value["message"], expected);
        }
    }
}

#[tokio::test]
async fn every_type_of_the_openapi_documents_is_defined() {
    let server = Server::new();
    for (path, pointer) in [
        ("/openapi/v2", "/definitions"),
        ("/openapi/v3/apis/tilt.dev/v1alpha1", "/components/schemas"),
    ] {
        let (_, text) = server.text("GET", path, &[], "").await;
        let value: Value = serde_json::from_str(&text).unwrap();
        let schemas = value.pointer(pointer).unwrap().as_object().unwrap();
        let references: Vec<&str> =
            text.split(r##""$ref":"#"##).skip(1).map(|it| it.split('"').next().unwrap()).collect();
        assert!(references.len() > 200);
        for reference in references {
            let name = reference.rsplit('/').next().unwrap();
            assert!(schemas.contains_key(name), "{reference}");
        }
    }
}

#[tokio::test]
async fn the_server_tells_how_it_does() {
    let server = Server::new();
    for (path, expected) in [
        ("/healthz", "200 ok"),
        ("/livez/ping", "200 ok"),
        ("/readyz?verbose", "200 [+]ping ok\n[+]log ok\nreadyz check passed\n"),
        ("/livez?verbose&exclude=log", "200 [+]ping ok\n[+]log excluded: ok\nlivez check passed\n"),
        ("/healthz/nope", "404 404 page not found\n"),
        ("/nope", "404 404 page not found\n"),
    ] {
        let (status, text) = server.text("GET", path, &[], "").await;
        assert_eq!(format!("{status} {text}"), expected, "{path}");
    }
    let (_, metrics) = server.text("GET", "/metrics", &[], "").await;
    assert!(metrics.contains("apiserver_storage_objects{resource=\"configmaps.tilt.dev\"} 1\n"));
}

#[tokio::test]
async fn options_of_lists_that_make_no_sense_are_refused() {
    let server = Server::new();
    for (query, expected) in [
        ("limit=x", expect![[r#"400 strconv.ParseInt: parsing "x": invalid syntax"#]]),
        (
            "resourceVersionMatch=Exact",
            expect![[
                r#"422 ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"#
            ]],
        ),
        (
            "labelSelector=a%20in",
            expect![[r#"400 unable to parse requirement: found '' expected: '('"#]],
        ),
    ] {
        server.check("GET", &format!("configmaps?{query}"), JSON, "", expected).await;
    }
}

#[tokio::test]
async fn protobuf_has_every_definition() {
    let server = Server::new();
    let accept = [("Accept", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")];
    let response = server.send("GET", "/openapi/v2", &accept, "").await;
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    for kind in Kind::ALL {
        let name = format!("dev.tilt.v1alpha1.{}", kind.name());
        assert!(bytes.windows(name.len()).any(|it| it == name.as_bytes()), "{name}");
    }
}

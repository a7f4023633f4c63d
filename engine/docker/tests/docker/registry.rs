//! Tags, pushes and what is removed.

use std::time::Duration;

use engine_docker::{Docker, DockerError, Prune, Pushed, content_tag};
use engine_formats::docker::{reference::Reference, selector::RefSelector};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::support::{build, cli, context, docker, environment, registry, spec, unique};

#[tokio::test]
async fn an_image_gets_a_tag_for_its_content_and_is_pushed_once() {
    let docker = docker();
    let word = unique("pushed");
    let dir = context(&[]);
    let dockerfile = format!("FROM busybox\nRUN echo {word} > /word\n");
    let (image, _) = build(&docker, &spec(dir.path(), &dockerfile)).await.unwrap();
    let name = format!("{}/{word}:{}", registry(), content_tag(&image.0.id).unwrap());
    let reference = Reference::parse(&name).unwrap();
    assert!(docker.image(&name).await.unwrap().is_none());
    docker.tag(&image.0.id, &reference).await.unwrap();
    assert_eq!(docker.image(&name).await.unwrap().unwrap().id, image.0.id);
    assert_eq!(docker.registry_digest(&reference).await.unwrap(), None);
    let mut layers = Vec::new();
    let pushed = docker.push_once(&reference, &mut |it| layers.push(it)).await.unwrap();
    assert_eq!(pushed, Pushed::Sent);
    assert!(layers.iter().any(|it| it.status == "Pushed"), "{layers:?}");
    let digest = docker.registry_digest(&reference).await.unwrap().unwrap();
    assert!(digest.starts_with("sha256:"));
    let again = docker.push_once(&reference, &mut |it| panic!("{it:?}")).await.unwrap();
    assert_eq!(again, Pushed::AlreadyThere);
    docker.push(&reference, &mut |_| {}).await.unwrap();
}

const DENIED: &str =
    r#"{"errors":[{"code":"DENIED","message":"requested access to the resource is denied"}]}"#;

/// A registry that lets nobody push, until it is dropped.
async fn refusing_registry() -> (String, tokio::task::JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = format!("localhost:{}", listener.local_addr().unwrap().port());
    let mut serving = tokio::task::JoinSet::new();
    serving.spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = vec![0; 16 * 1024];
            let len = stream.read(&mut request).await.unwrap_or_default();
            // It says who it is to anybody.
            let is_greeting = request[..len].starts_with(b"GET /v2/ ");
            let status = if is_greeting { "200 OK" } else { "403 Forbidden" };
            let body = if is_greeting { "{}" } else { DENIED };
            let answer = format!(
                "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\n\
                 Content-Length: {}\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    (host, serving)
}

#[tokio::test]
async fn a_registry_that_refuses_is_told_with_the_user_and_the_way_to_log_in() {
    let (host, serving) = refusing_registry().await;
    let config = context(&[]);
    // `bWU6c2VjcmV0` is `me:secret`.
    let text = format!(r#"{{"auths": {{"{host}": {{"auth": "bWU6c2VjcmV0"}}}}}}"#);
    std::fs::write(config.path().join("config.json"), text).unwrap();
    let dir = config.path().to_str().unwrap();
    let docker = Docker::new(environment(&[("DOCKER_CONFIG", dir)])).unwrap();
    let name = format!("{host}/{}:1", unique("refused"));
    cli(&["tag", "busybox", &name]);
    let pushed = docker.push_once(&Reference::parse(&name).unwrap(), &mut |_| {}).await;
    cli(&["image", "rm", &name]);
    drop(serving);
    let Err(DockerError::Push(error)) = pushed else { panic!("{pushed:?}") };
    assert_eq!((error.registry.as_str(), error.user.as_deref()), (host.as_str(), Some("me")));
    assert!(error.is_denied(), "{error}");
    let hint = error.hint().unwrap();
    assert!(
        hint.contains("does not let me push") && hint.ends_with(&format!("`docker login {host}`")),
        "{hint}"
    );
}

#[tokio::test]
async fn an_image_that_does_not_exist_cannot_be_pushed() {
    let name = format!("{}/{}:1", registry(), unique("absent"));
    let pushed = docker().push(&Reference::parse(&name).unwrap(), &mut |_| {}).await;
    let error = pushed.unwrap_err().to_string();
    assert!(error.contains("An image does not exist locally with the tag"), "{error}");
}

#[tokio::test]
async fn old_images_of_a_build_go_but_the_newest_stay() {
    let docker = docker();
    let name = unique("pruned");
    let dir = context(&[]);
    let mut images = Vec::new();
    for i in 0..3 {
        let dockerfile = format!("FROM busybox\nRUN echo {name} {i} > /it\n");
        let (image, _) = build(&docker, &spec(dir.path(), &dockerfile)).await.unwrap();
        let tag = format!("{name}:{}", content_tag(&image.0.id).unwrap());
        docker.tag(&image.0.id, &Reference::parse(&tag).unwrap()).await.unwrap();
        images.push((image, tag));
    }
    let selectors = vec![RefSelector::new(Reference::parse(&name).unwrap())];
    let prune = |max_age| Prune { max_age, keep_recent: 1, selectors: selectors.clone() };
    // Only images: the ground's build cache belongs to the other tests as well.
    let young = docker.prune_images(&prune(Duration::from_hours(1))).await.unwrap();
    assert!(young.items.is_empty(), "{young:?}");
    let report = docker.prune_images(&prune(Duration::ZERO)).await.unwrap();
    assert_eq!(report.items.iter().filter(|it| it.starts_with("untagged: ")).count(), 2);
    assert!(report.bytes > 0);
    for (image, tag) in &images[..2] {
        assert!(docker.image(tag).await.unwrap().is_none(), "{tag} of {image:?}");
    }
    assert!(docker.image(&images[2].1).await.unwrap().is_some());
}

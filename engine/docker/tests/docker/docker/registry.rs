//! Tags, pushes and what is removed.

use std::{
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
};

use engine_docker::{Docker, DockerError, Prune, content_tag};
use engine_formats::docker::{reference::Reference, selector::RefSelector};
use jiff::SignedDuration;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::docker::support::{
    build, cli, context, docker, environment, is_there, registry, registry_program, spec, unique,
};

#[tokio::test]
async fn an_image_gets_a_tag_for_its_content_and_is_pushed() {
    if !is_there() {
        return;
    }
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
    docker.push(&reference, &mut |it| layers.push(it)).await.unwrap();
    assert!(layers.iter().any(|it| it.status == "Pushed"), "{layers:?}");
    let digest = docker.registry_digest(&reference).await.unwrap().unwrap();
    assert!(digest.starts_with("sha256:"));
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
    if !is_there() {
        return;
    }
    let (host, serving) = refusing_registry().await;
    let config = context(&[]);
    // `bWU6c2VjcmV0` is `me:secret`.
    let text = format!(r#"{{"auths": {{"{host}": {{"auth": "bWU6c2VjcmV0"}}}}}}"#);
    std::fs::write(config.path().join("config.json"), text).unwrap();
    let dir = config.path().to_str().unwrap();
    let docker = Docker::new(environment(&[("DOCKER_CONFIG", dir)])).unwrap();
    let name = format!("{host}/{}:1", unique("refused"));
    cli(&["tag", "busybox", &name]);
    let pushed = docker.push(&Reference::parse(&name).unwrap(), &mut |_| {}).await;
    cli(&["image", "rm", &name]);
    drop(serving);
    let Err(DockerError::Push(error)) = pushed else { panic!("{pushed:?}") };
    assert_eq!((error.registry.as_str(), error.user.as_deref()), (host.as_str(), Some("me")));
    assert!(error.is_denied(), "{error}");
    let hint = error.hint().unwrap();
    assert!(
        hint.starts_with("me is not allowed to push")
            && hint.ends_with(&format!("`docker login {host}`")),
        "{hint}"
    );
}

/// A registry that knows `me` with the password `secret` and nobody else, until it is dropped.
struct Guarded {
    process: std::process::Child,
    host: String,
    _dir: tempfile::TempDir,
}

impl Guarded {
    fn new() -> Self {
        let htpasswd = "me:$2a$05$Imnw8tkyvONNRpq8T9KLteDoWyxZBVmrJEmNPVwNIoNexlnBAUShm\n";
        let dir = context(&[("htpasswd", htpasswd)]);
        let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
        let config = format!(
            "version: 0.1\nlog: {{level: info}}\nstorage: {{filesystem: {{rootdirectory: {:?}}}}}\nhttp: {{addr: \
             'localhost:0'}}\nauth: {{htpasswd: {{realm: test, path: {:?}}}}}\n",
            path("data"),
            path("htpasswd")
        );
        std::fs::write(path("config.yml"), config).unwrap();
        let mut process = std::process::Command::new(registry_program())
            .args(["serve", &path("config.yml")])
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines =
            BufReader::new(process.stderr.take().unwrap()).lines().map_while(Result::ok);
        let port = lines.find_map(|line| {
            let rest = line.split_once("listening on ")?.1;
            let address = rest.split(['"', ' ']).next()?;
            Some(address.rsplit_once(':')?.1.to_owned())
        });
        // It ends when nobody reads what it says; the thread ends with it.
        std::thread::spawn(move || lines.for_each(drop));
        let host = format!("localhost:{}", port.expect("it listens"));
        Self { process, host, _dir: dir }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

#[tokio::test]
async fn credentials_come_from_the_configuration_or_a_helper_each_time_anew() {
    let registry = Guarded::new();
    let host = &registry.host;
    let config = context(&[("config.json", "{}")]);
    let helper = config.path().join("docker-credential-test");
    let answer = r#"echo '{"Username": "me", "Secret": "secret"}'"#;
    std::fs::write(&helper, format!("#!/bin/sh\n{answer}\n")).unwrap();
    std::fs::set_permissions(&helper, std::fs::Permissions::from_mode(0o755)).unwrap();
    let dir = config.path().to_str().unwrap();
    let path = format!("{dir}:{}", std::env::var("PATH").unwrap());
    let docker = Docker::new(environment(&[("DOCKER_CONFIG", dir), ("PATH", &path)])).unwrap();
    let name = format!("{host}/{}:1", unique("guarded"));
    let reference = Reference::parse(&name).unwrap();
    cli(&["tag", "busybox", &name]);
    // `bWU6c2VjcmV0` is `me:secret`, `bWU6d3Jvbmc=` is `me:wrong`.
    let configs = [
        ("{}".to_owned(), Some(None)),
        (format!(r#"{{"auths": {{"{host}": {{"auth": "bWU6d3Jvbmc="}}}}}}"#), Some(Some("me"))),
        (format!(r#"{{"auths": {{"{host}": {{"auth": "bWU6c2VjcmV0"}}}}}}"#), None),
        (format!(r#"{{"credHelpers": {{"{host}": "test"}}}}"#), None),
    ];
    let mut outcomes = Vec::new();
    for (text, _) in &configs {
        std::fs::write(config.path().join("config.json"), text).unwrap();
        outcomes.push(docker.push(&reference, &mut |_| {}).await);
    }
    cli(&["image", "rm", &name]);
    for ((text, want), outcome) in configs.iter().zip(outcomes) {
        let refused = outcome.err().map(|error| match error {
            DockerError::Push(error) if error.is_denied() => {
                assert!(error.hint().unwrap().contains(&format!("docker login {host}")));
                error.user
            }
            error => panic!("{text}: {error}"),
        });
        assert_eq!(refused.as_ref().map(Option::as_deref), *want, "{text}");
    }
}

#[tokio::test]
async fn an_image_that_does_not_exist_cannot_be_pushed() {
    if !is_there() {
        return;
    }
    let name = format!("{}/{}:1", registry(), unique("absent"));
    let pushed = docker().push(&Reference::parse(&name).unwrap(), &mut |_| {}).await;
    let error = pushed.unwrap_err().to_string();
    assert!(error.contains("An image does not exist locally with the tag"), "{error}");
}

#[tokio::test]
async fn old_images_of_a_build_go_but_the_newest_stay() {
    if !is_there() {
        return;
    }
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
    let young = docker.prune_images(&prune(SignedDuration::from_hours(1))).await.unwrap();
    assert!(young.items.is_empty(), "{young:?}");
    let report = docker.prune_images(&prune(SignedDuration::ZERO)).await.unwrap();
    assert_eq!(report.items.iter().filter(|it| it.starts_with("untagged: ")).count(), 2);
    assert!(report.bytes > 0);
    for (image, tag) in &images[..2] {
        assert!(docker.image(tag).await.unwrap().is_none(), "{tag} of {image:?}");
    }
    assert!(docker.image(&images[2].1).await.unwrap().is_some());
}

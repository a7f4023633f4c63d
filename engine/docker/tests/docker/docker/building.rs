//! Images from Dockerfiles, with both builders.

use std::time::Duration;

use engine_docker::{BuildEvent, BuildProblem, Builder, Docker, DockerError};
use engine_model::{DockerBuild, IgnoreDef};

use crate::docker::support::{
    build, cli, context, docker, environment, is_there, registry, spec, unique, words,
};

/// Both builders, each with an engine that uses it.
fn builders() -> [(Builder, Docker); 2] {
    [(Builder::BuildKit, "1"), (Builder::Classic, "0")].map(|(builder, value)| {
        (builder, Docker::new(environment(&[("DOCKER_BUILDKIT", value)])).unwrap())
    })
}

fn problem(error: DockerError) -> engine_docker::BuildError {
    match error {
        DockerError::Build(error) => error,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn options_reach_the_image_with_both_builders() {
    if !is_there() {
        return;
    }
    for (builder, docker) in builders() {
        let dir = context(&[("src/main", "content"), ("Dockerfile", "FROM nowhere")]);
        let dockerfile = "FROM busybox AS first\nARG WORD=default\nARG OTHER=kept\nCOPY src /src\n\
                          RUN echo $WORD $OTHER > /word; grep -q 10.9.8.7 /etc/hosts && echo found >> /word\n\
                          FROM first AS second\nRUN touch /second\n";
        let tag = unique("tagged");
        let spec = DockerBuild {
            args: words(&["WORD=given", "OTHER"]),
            target: "first".into(),
            network: "none".into(),
            extra_hosts: words(&["box:10.9.8.7"]),
            extra_tags: vec![format!("{tag}:one")],
            ..spec(dir.path(), dockerfile)
        };
        let (image, _) = build(&docker, &spec).await.unwrap();
        assert_eq!(image.0.builder, builder);
        let script = "cat /src/main /word; test ! -e /second";
        assert_eq!(image.run(&["sh", "-c", script]), "contentgiven kept\nfound", "{builder:?}");
        let found = docker.image(&format!("{tag}:one")).await.unwrap().unwrap();
        assert_eq!(found.id, image.0.id);
        let labels = cli(&["image", "inspect", "--format", "{{json .Config.Labels}}", &found.id]);
        assert_eq!(labels, r#"{"dev.tilt.built":"true","dev.tilt.gc":"true"}"#);
    }
}

#[tokio::test]
async fn what_is_ignored_stays_out_with_both_builders() {
    if !is_there() {
        return;
    }
    for (builder, docker) in builders() {
        let dir = context(&[("a", ""), ("b/keep", ""), ("b/drop", ""), ("c/d", ""), (".env", "")]);
        let base_path = dir.path().to_str().unwrap().to_owned();
        let patterns = words(&["b", "!b/keep", "c", "**/.env", "Dockerfile"]);
        let spec = DockerBuild {
            context_ignores: vec![IgnoreDef { base_path, patterns }],
            ..spec(dir.path(), "FROM busybox\nCOPY . /all\n")
        };
        let (image, _) = build(&docker, &spec).await.unwrap();
        // The classic builder finds its Dockerfile in the context, so there it is in the image.
        let listed =
            image.run(&["sh", "-c", "cd /all; find . -type f | grep -v Dockerfile | sort"]);
        assert_eq!(listed, "./a\n./b/keep", "{builder:?}");
    }
}

#[tokio::test]
async fn an_empty_context_is_enough_for_some_images() {
    if !is_there() {
        return;
    }
    for (_, docker) in builders() {
        let spec = spec("-".as_ref(), "FROM busybox\nRUN echo fine > /it\n");
        let (image, _) = build(&docker, &spec).await.unwrap();
        assert_eq!(image.run(&["cat", "/it"]), "fine");
    }
}

#[tokio::test]
async fn steps_are_told_with_their_times_their_output_and_whether_they_were_cached() {
    if !is_there() {
        return;
    }
    let docker = docker();
    let word = unique("word");
    let dockerfile = format!("FROM busybox\nRUN echo {word} && echo complaint >&2\n");
    let dir = context(&[]);
    let (image, told) = build(&docker, &spec(dir.path(), &dockerfile)).await.unwrap();
    let step = told.step("RUN echo");
    assert!(!step.is_cached && step.error.is_none(), "{step:?}");
    assert!(step.started.unwrap() <= step.finished.unwrap());
    assert!(told.text().contains(&word) && told.text().contains("complaint"));
    let is_complaint = |it: &BuildEvent| {
        matches!(it, BuildEvent::Log { is_stderr: true, text, step: of }
            if text.contains("complaint") && *of == step.digest)
    };
    assert!(told.events.iter().any(is_complaint), "{told:#?}");
    let (_, again) = build(&docker, &spec(dir.path(), &dockerfile)).await.unwrap();
    assert!(again.step("RUN echo").is_cached);
    drop(image);
}

#[tokio::test]
async fn a_bad_dockerfile_is_told_with_its_line() {
    if !is_there() {
        return;
    }
    for (builder, docker) in builders() {
        let dir = context(&[]);
        let spec = spec(dir.path(), "FROM busybox\n\nRUNN true\n");
        let error = problem(build(&docker, &spec).await.unwrap_err());
        assert_eq!(error.problem, BuildProblem::Dockerfile { line: 3 }, "{builder:?}: {error}");
        assert!(error.message.contains("unknown instruction: RUNN"), "{error}");
    }
}

#[tokio::test]
async fn a_base_image_that_nobody_has_is_told() {
    if !is_there() {
        return;
    }
    for (builder, docker) in builders() {
        let dir = context(&[]);
        let name = unique("nowhere");
        let spec = spec(dir.path(), &format!("FROM {}/{name}\n", registry()));
        let error = problem(build(&docker, &spec).await.unwrap_err());
        assert!(error.message.contains(&name), "{builder:?}: {error}");
        assert_eq!(error.problem, BuildProblem::BaseImage, "{builder:?}: {error}");
    }
}

#[tokio::test]
async fn a_failing_step_is_named() {
    if !is_there() {
        return;
    }
    for (builder, docker) in builders() {
        let dir = context(&[]);
        let spec = spec(dir.path(), "FROM busybox\nRUN echo before; exit 3\n");
        let error = problem(build(&docker, &spec).await.unwrap_err());
        assert!(error.message.contains('3'), "{builder:?}: {error}");
        if builder == Builder::BuildKit {
            assert!(error.step.as_ref().unwrap().contains("RUN echo before"), "{error:?}");
        }
    }
}

#[tokio::test]
async fn a_missing_context_is_told_before_anything_is_built() {
    if !is_there() {
        return;
    }
    let error = build(&docker(), &spec("/nowhere/context".as_ref(), "FROM busybox\n")).await;
    let error = error.unwrap_err().to_string();
    assert_eq!(error, "reading build context: stat /nowhere/context: no such file or directory");
}

#[tokio::test]
async fn secrets_are_there_while_a_step_runs_and_nowhere_else() {
    if !is_there() {
        return;
    }
    let docker = Docker::new(environment(&[("TOKEN", "from-env")])).unwrap();
    let dir = context(&[]);
    let secret = context(&[("file", "from-file")]);
    let dockerfile = "# syntax-is-builtin\nFROM busybox\n\
        RUN --mount=type=secret,id=a --mount=type=secret,id=TOKEN \
        cat /run/secrets/a /run/secrets/TOKEN | md5sum > /sum\n";
    let file = secret.path().join("file");
    let spec = DockerBuild {
        secrets: vec![format!("id=a,src={}", file.display()), "id=TOKEN".into()],
        ..spec(dir.path(), dockerfile)
    };
    let (image, _) = build(&docker, &spec).await.unwrap();
    // The sum of `from-filefrom-env`.
    let expected = cli(&[
        "run",
        "--rm",
        "--network",
        "none",
        "busybox",
        "sh",
        "-c",
        "printf from-filefrom-env | md5sum",
    ]);
    assert_eq!(image.run(&["cat", "/sum"]), expected);
    assert_eq!(image.run(&["ls", "/run/secrets"]), "", "the mount point is empty");
    let classic = Docker::new(environment(&[("DOCKER_BUILDKIT", "0")])).unwrap();
    let error = build(&classic, &spec).await.unwrap_err().to_string();
    assert_eq!(error, "Docker SSH secrets only work on Buildkit, but Buildkit has been disabled");
}

#[tokio::test]
async fn a_step_that_asks_for_the_ssh_agent_gets_a_socket() {
    if !is_there() {
        return;
    }
    let dir = context(&[]);
    let agent = dir.path().join("agent");
    let _listener = std::os::unix::net::UnixListener::bind(&agent).unwrap();
    let docker = Docker::new(environment(&[("SSH_AUTH_SOCK", agent.to_str().unwrap())])).unwrap();
    let dockerfile =
        "FROM busybox\nRUN --mount=type=ssh test -S $SSH_AUTH_SOCK && echo fine > /it\n";
    let ssh_agent_configs = words(&["default"]);
    let spec = DockerBuild { ssh_agent_configs, ..spec("-".as_ref(), dockerfile) };
    let (image, _) = build(&docker, &spec).await.unwrap();
    assert_eq!(image.run(&["cat", "/it"]), "fine");
}

#[tokio::test]
async fn a_build_that_is_dropped_ends() {
    if !is_there() {
        return;
    }
    let docker = docker();
    let dir = context(&[]);
    let mark = unique("mark");
    let dockerfile = format!("FROM busybox\nRUN : {mark}; sleep 1000\n");
    let spec = spec(dir.path(), &dockerfile);
    let (started, is_started) = tokio::sync::oneshot::channel();
    let mut started = Some(started);
    let is_sleeping = |event: &BuildEvent| matches!(event, BuildEvent::Step(it) if it.name.contains("sleep") && it.started.is_some());
    let mut listen = move |event: BuildEvent| {
        if is_sleeping(&event)
            && let Some(started) = started.take()
        {
            let _ = started.send(());
        }
    };
    let runs = || {
        let list = std::process::Command::new("ps").args(["-eo", "args"]).output().unwrap();
        String::from_utf8_lossy(&list.stdout).lines().any(|it| it.contains(&mark))
    };
    {
        let building = docker.build(&spec, &mut listen);
        tokio::select! {
            built = building => panic!("{built:?}"),
            told = is_started => told.unwrap(),
        }
    }
    let gone = async {
        while runs() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), gone).await.expect("the step still runs");
}

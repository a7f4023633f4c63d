//! Images of services: what is built, what is used as it is, and what people are told.

use std::{env, fs};

use crate::{
    docker::ground::{Project, docker, until},
    support::Instance,
};

const DOCKERFILE: &str = "FROM busybox\nCOPY . /app\n";

/// A project with these services, each of which runs the image of its name. `PROJECT` is the name of the project
/// in all files.
pub(crate) fn project(
    services: &[&str],
    tiltfile: &str,
    files: &[(&str, &str)],
) -> Option<Project> {
    let tiltfile = format!("docker_compose('compose.yml', project_name='PROJECT')\n{tiltfile}");
    let project = Project::new(&tiltfile, "")?;
    let service = |name: &&str| {
        format!(
            "  {name}:\n    image: {}-{name}\n    command: [sh, -c, exec sleep 1000]\n    stop_grace_period: 0s\n    \
             network_mode: none\n",
            project.name
        )
    };
    let services: String = services.iter().map(service).collect();
    project.write("compose.yml", &format!("services:\n{services}"));
    for (name, text) in files {
        project.write(name, &text.replace("PROJECT", &project.name));
    }
    Some(project)
}

/// What a command prints in the container of a service.
pub(crate) fn inside(project: &Project, service: &str, command: &str) -> String {
    let containers = project.containers(service);
    let container = containers.first().expect("it has a container");
    docker(&["exec", container, "sh", "-c", command])
}

/// Waits until a container has this content.
pub(crate) fn until_inside(
    instance: &mut Instance,
    project: &Project,
    service: &str,
    is: (&str, &str),
) {
    instance.until(&format!("{service} has {is:?}"), |_| {
        let containers = project.containers(service);
        let Some(container) = containers.first() else { return false };
        docker(&["exec", container, "cat", is.0]) == is.1
    });
}

/// What the engine prints from now on.
struct Since(usize);

impl Since {
    fn now(instance: &Instance) -> Self {
        Self(instance.log().len())
    }

    fn log(&self, instance: &Instance) -> String {
        instance.log().get(self.0..).unwrap_or_default().to_owned()
    }
}

fn restart(instance: &mut Instance) -> Since {
    instance.stop();
    let since = Since::now(instance);
    instance.restart();
    since
}

#[test]
fn an_image_is_used_again_after_a_restart_until_something_asks_for_a_build() {
    let files = [("web/Dockerfile", DOCKERFILE), ("web/a.txt", "one")];
    let tiltfile = "docker_build('PROJECT-web', 'web')";
    let Some(mut project) = project(&["web"], tiltfile, &files) else { return };
    let mut instance = project.up();
    until(&mut instance, "web", "ok", "ok");
    assert_eq!(inside(&project, "web", "cat /app/a.txt"), "one");

    let since = restart(&mut instance);
    until(&mut instance, "web", "ok", "ok");
    let log = since.log(&instance);
    assert!(log.contains("STEP 1/2 — Loading cached images"), "{log}");
    assert!(log.contains(&format!("     - {}-web:latest\n", project.name)), "{log}");
    assert!(log.contains("inputs unchanged since "), "{log}");
    assert!(!log.contains("Building"), "{log}");

    instance.write("web/a.txt", "two");
    until_inside(&mut instance, &project, "web", ("/app/a.txt", "two"));

    // An image that is gone is built.
    instance.stop();
    docker(&["rm", "--force", &project.containers("web")[0]]);
    project.remove_images();
    let since = Since::now(&instance);
    instance.restart();
    until(&mut instance, "web", "ok", "ok");
    let log = since.log(&instance);
    assert!(log.contains("STEP 1/2 — Building Dockerfile: ["), "{log}");

    let since = Since::now(&instance);
    instance.trigger("web");
    // The end of the update before may be told after its status.
    instance.until("it was built", |it| {
        let log = since.log(it);
        log.split_once("STEP 1/3 — Force update").is_some_and(|(_, it)| it.contains("DONE IN"))
    });
    let log = since.log(&instance);
    assert!(log.contains("STEP 2/3 — Building Dockerfile: ["), "{log}");
}

#[test]
fn an_image_that_somebody_has_removed_is_built_again() {
    let files = [("web/Dockerfile", DOCKERFILE), ("web/a.txt", "one"), ("web/of", "PROJECT")];
    let tiltfile = "docker_build('PROJECT-web', 'web')";
    let Some(mut project) = project(&["web"], tiltfile, &files) else { return };
    let mut instance = project.up();
    until(&mut instance, "web", "ok", "ok");
    docker(&["rm", "--force", &project.containers("web")[0]]);
    project.remove_images();
    let compose = instance.dir.path().join("compose.yml");
    let text = fs::read_to_string(&compose).expect("it can be read");
    // The image is as it was; only what Compose is to do with it is not.
    instance.write("compose.yml", &text.replace("sleep 1000", "sleep 1001"));
    let name = format!("{}-web:latest", project.name);
    let told = format!("Rebuilding {name} because image not found in image store\n");
    instance.until("it is built again", |it| it.log().contains(&told));
    until(&mut instance, "web", "ok", "ok");
    assert_eq!(inside(&project, "web", "cat /app/a.txt"), "one");
}

#[test]
fn what_is_remembered_has_no_secrets() {
    let files = [
        (
            "web/Dockerfile",
            "FROM busybox\nARG TOKEN\nRUN --mount=type=secret,id=s cat /run/secrets/s | wc -c > /n\n",
        ),
        ("key.txt", "hush-from-a-file"),
    ];
    let tiltfile = "docker_build('PROJECT-web', 'web', build_args={'TOKEN': 'hush-from-an-arg'},
        secret='id=s,src=key.txt')";
    let Some(mut project) = project(&["web"], tiltfile, &files) else { return };
    let mut instance = project.up();
    until(&mut instance, "web", "ok", "ok");
    assert_eq!(inside(&project, "web", "cat /n"), "16");
    let file = instance.dir.path().join("home/.tilt-dev/images.json");
    let kept = fs::read_to_string(file).expect("it was written");
    assert!(kept.contains(&format!("{}-web", project.name)), "{kept}");
    assert!(!kept.contains("hush"), "{kept}");
}

#[test]
fn options_decide_what_is_in_the_image() {
    let files = [
        (
            "web/Dockerfile",
            "FROM busybox AS one\nARG WHO=nobody\nRUN echo $WHO > /who\nCOPY . /app\nFROM one\nRUN touch /two\n",
        ),
        ("web/.dockerignore", "ignored-by-docker\n"),
        ("web/ignored-by-docker", ""),
        ("web/ignored-by-tiltfile", ""),
        ("web/kept", ""),
        ("some/one/a", ""),
        ("some/two/b", ""),
    ];
    let tiltfile = "
docker_build('PROJECT-web', 'web', build_args={'WHO': 'somebody'}, target='one',
    ignore='ignored-by-tiltfile', extra_tag='PROJECT-extra:one')
docker_build('PROJECT-some', 'some', dockerfile_contents='FROM busybox\\nCOPY . /app\\n', only=['one'])
";
    let Some(mut project) = project(&["web", "some"], tiltfile, &files) else { return };
    let mut instance = project.up();
    until(&mut instance, "web", "ok", "ok");
    until(&mut instance, "some", "ok", "ok");
    assert_eq!(
        inside(&project, "web", "cat /who; ls /two; cd /app; ls -A"),
        "somebody\n.dockerignore\nDockerfile\nkept"
    );
    assert_eq!(inside(&project, "some", "cd /app; find ."), ".\n./one\n./one/a");
    let id = |name: &str| docker(&["images", "--quiet", &format!("{}-{name}", project.name)]);
    assert_eq!(id("extra:one"), id("web:latest"));
}

#[test]
fn a_base_that_two_services_share_is_built_once() {
    let files = [
        ("base/Dockerfile", "FROM busybox\nCOPY f.txt /base.txt\n"),
        ("base/f.txt", "one"),
        ("a/Dockerfile", "FROM PROJECT-base\n"),
        ("b/Dockerfile", "FROM busybox\nCOPY --from=PROJECT-base /base.txt /base.txt\n"),
    ];
    let tiltfile = "
docker_build('PROJECT-base', 'base')
docker_build('PROJECT-a', 'a')
docker_build('PROJECT-b', 'b')
";
    let Some(mut project) = project(&["a", "b"], tiltfile, &files) else { return };
    let mut instance = project.up();
    let builds = |it: &Instance| {
        it.log().matches(&format!("— Building Dockerfile: [{}-base]", project.name)).count()
    };
    for service in ["a", "b"] {
        until_inside(&mut instance, &project, service, ("/base.txt", "one"));
    }
    assert_eq!(builds(&instance), 1, "{}", instance.log());
    instance.write("base/f.txt", "two");
    for service in ["a", "b"] {
        until_inside(&mut instance, &project, service, ("/base.txt", "two"));
    }
    assert_eq!(builds(&instance), 2, "{}", instance.log());
}

#[test]
fn images_that_do_not_need_each_other_are_built_at_the_same_time() {
    // Each waits for the other: one after the other would never end.
    let tiltfile = "
for (name, other) in [('a', 'b'), ('b', 'a')]:
    wait = 'touch %s.on; until test -e %s.on; do sleep 0.02; done; docker tag busybox $EXPECTED_REF' % (name, other)
    custom_build('PROJECT-' + name, wait, deps=['web'])
docker_build('PROJECT-web', 'web')
";
    let dockerfile = "FROM PROJECT-a\nCOPY --from=PROJECT-b /bin/busybox /b\n";
    let Some(mut project) = project(&["web"], tiltfile, &[("web/Dockerfile", dockerfile)]) else {
        return;
    };
    let mut instance = project.up();
    until(&mut instance, "web", "ok", "ok");
}

#[test]
fn an_image_that_was_built_is_kept_when_another_fails() {
    let files = [
        ("a/Dockerfile", "FROM busybox\nRUN echo a > /a\n"),
        ("b/Dockerfile", "FROM busybox\nRUN echo told before it failed; exit 3\n"),
        ("web/Dockerfile", "FROM PROJECT-a\nCOPY --from=PROJECT-b /b /b\n"),
    ];
    let tiltfile = "
docker_build('PROJECT-a', 'a')
docker_build('PROJECT-b', 'b')
docker_build('PROJECT-web', 'web')
";
    let Some(mut project) = project(&["web"], tiltfile, &files) else { return };
    let mut instance = project.up();
    instance.until("it has failed", |it| it.log().contains("ERROR: Build Failed: ImageBuild: "));
    let log = instance.log();
    assert!(log.contains("  → told before it failed\n"), "{log}");
    assert!(log.contains("exit code: 3\n"), "{log}");
    instance.write("b/Dockerfile", "FROM busybox\nRUN echo b > /b\n");
    until(&mut instance, "web", "ok", "ok");
    assert_eq!(inside(&project, "web", "cat /a /b"), "a\nb");
    let log = instance.log();
    let first = format!("— Building Dockerfile: [{}-a]", project.name);
    assert_eq!(log.matches(&first).count(), 1, "{log}");
}

#[test]
fn commands_build_images_in_all_their_ways() {
    let tiltfile = "
custom_build('PROJECT-base', 'docker tag busybox $EXPECTED_REF', deps=['deps'])
custom_build('PROJECT-ref', 'env > ref.env; docker tag $TILT_IMAGE_0 $EXPECTED_REF', deps=['deps'],
    image_deps=['PROJECT-base'], env={'MORE': 'of it'})
custom_build('PROJECT-tag', 'docker tag busybox PROJECT-tag:mine', deps=['deps'], tag='mine')
custom_build('PROJECT-out', 'docker tag busybox PROJECT-out:said; echo PROJECT-out:said > out.txt',
    deps=['deps'], outputs_image_ref_to='out.txt')
custom_build('PROJECT-own', 'docker tag busybox PROJECT-own:latest', deps=['deps'], tag='latest',
    skips_local_docker=True)
custom_build('PROJECT-wrong', 'true', deps=['deps'])
custom_build('PROJECT-fails', 'echo oh no; exit 4', deps=['deps'])
";
    let services = ["ref", "tag", "out", "own", "wrong", "fails"];
    let Some(mut project) = project(&services, tiltfile, &[("deps/f", "")]) else { return };
    let name = project.name.clone();
    let mut instance = project.up();
    for service in ["ref", "tag", "out", "own"] {
        until(&mut instance, service, "ok", "ok");
    }
    let env = fs::read_to_string(instance.dir.path().join("ref.env")).expect("it was written");
    let lines: Vec<&str> = env.lines().collect();
    let tag = lines.iter().find_map(|it| it.strip_prefix("EXPECTED_TAG=")).expect("it is set");
    assert!(tag.starts_with("tilt-build-"), "{tag}");
    for want in [
        format!("EXPECTED_REF={name}-ref:{tag}"),
        format!("EXPECTED_IMAGE=library/{name}-ref"),
        format!("TILT_IMAGE_0={name}-base:latest"),
        format!("TILT_IMAGE_MAP_0={name}-base"),
        "MORE=of it".to_owned(),
    ] {
        assert!(lines.contains(&want.as_str()), "{want} in {env}");
    }
    for (image, want) in [("ref", "tilt-"), ("tag", "tilt-"), ("out", "said"), ("own", "latest")] {
        let object =
            instance.client(&["get", "cmdimage", &format!("{image}:{name}-{image}"), "-o", "json"]);
        let object: serde_json::Value = serde_json::from_str(&object).expect("it is JSON");
        let found = object["status"]["ref"].as_str().unwrap_or_default();
        assert!(found.starts_with(&format!("{name}-{image}:{want}")), "{object}");
    }
    let told = |it: &Instance, words: &str| it.log().contains(words);
    instance.until("both have failed", |it| {
        told(it, "ERROR: Build Failed: Could not find image in Docker\n")
            && told(
                it,
                "ERROR: Build Failed: Custom build \"echo oh no; exit 4\" failed: exit status 4\n",
            )
    });

    // Nobody knows what such a build depends on, so it runs again after a restart.
    let since = restart(&mut instance);
    until(&mut instance, "ref", "ok", "ok");
    let log = since.log(&instance);
    assert!(log.contains(&format!("— Building Custom Build: [{name}-ref]")), "{log}");
}

#[test]
fn a_build_that_nobody_wants_any_more_ends() {
    // Found by how long it sleeps, which nothing else does.
    let seconds = (10_000_000 + std::process::id()).to_string();
    let dockerfile = format!("FROM busybox\nRUN sleep {seconds}\n");
    let tiltfile = "docker_build('PROJECT-web', 'web')";
    let files = [("web/Dockerfile", dockerfile.as_str())];
    let Some(mut project) = project(&["web"], tiltfile, &files) else { return };
    let is_running = || {
        let dirs = fs::read_dir("/proc").expect("Linux").flatten();
        let lines = dirs.filter_map(|it| fs::read(it.path().join("cmdline")).ok());
        let sleeps = format!("sleep\0{seconds}\0");
        lines.into_iter().any(|it| String::from_utf8_lossy(&it) == sleeps)
    };
    let mut instance = project.up();
    instance.until("the step runs", |_| is_running());
    instance.client(&["disable", "web"]);
    instance.until("the step is gone", |_| !is_running());
    let image = format!("web:{}-web", project.name);
    let object = instance.client(&["get", "dockerimage", &image, "-o", "json"]);
    assert!(!object.contains("\"building\""), "{object}");
}

#[test]
fn what_is_wrong_with_a_build_is_said_in_words() {
    let files = [
        ("bad/Dockerfile", "FROM busybox\n\nRUNN foo\n"),
        ("unknown/Dockerfile", "FROM localhost:1/nobody/has:this\n"),
        ("lost/Dockerfile", "FROM busybox\nCOPY nothing /x\n"),
    ];
    let tiltfile = "
docker_build('PROJECT-bad', 'bad')
docker_build('PROJECT-unknown', 'unknown')
docker_build('PROJECT-lost', 'lost')
docker_build('PROJECT-missing', 'missing', dockerfile='lost/Dockerfile')
";
    let services = ["bad", "unknown", "lost", "missing"];
    let Some(mut project) = project(&services, tiltfile, &files) else { return };
    let mut instance = project.up();
    instance.until("all have failed", |it| it.log().matches("ERROR: Build Failed").count() == 4);
    let (log, dir) = (instance.log(), instance.dir.path().canonicalize().expect("it is there"));
    let missing = format!(
        "Build Failed: reading build context: stat {}/missing: no such file or directory\n",
        dir.display()
    );
    for want in [
        "dockerfile parse error line 3: unknown instruction: RUNN\n",
        "     Dockerfile:3: RUNN foo\n",
        "check the image's name and tag",
        "Build Failed: ImageBuild: \"/nothing\" not found\n",
        &missing,
    ] {
        assert!(log.contains(want), "{want} in {log}");
    }
}

#[test]
fn a_base_in_a_registry_is_asked_for_again_when_the_engine_starts() {
    let Ok(registry) = env::var("ENGINE_TEST_REGISTRY") else { return };
    let tiltfile = "docker_build('PROJECT-web', 'web', pull=True)";
    let Some(mut project) = project(&["web"], tiltfile, &[]) else { return };
    let base = format!("{registry}/{}:base", project.name);
    let push = |image: &str| {
        docker(&["tag", image, &base]);
        docker(&["push", "--quiet", &base]);
        docker(&["rmi", &base]);
    };
    project.write("web/Dockerfile", &format!("FROM {base}\n"));
    push("busybox");
    let mut instance = project.up();
    until(&mut instance, "web", "ok", "ok");

    let since = restart(&mut instance);
    until(&mut instance, "web", "ok", "ok");
    let log = since.log(&instance);
    assert!(log.contains("inputs unchanged since "), "{log}");

    push("nginx");
    let since = restart(&mut instance);
    until(&mut instance, "web", "ok", "ok");
    let log = since.log(&instance);
    assert!(log.contains("— Building Dockerfile: ["), "{log}");
}

#[test]
fn scripts_can_ask_for_the_name_of_an_image() {
    let Some(project) = project(&[], "", &[]) else { return };
    let digest = docker(&["inspect", "--format", "{{.Id}}", "busybox"]);
    let digits = digest.strip_prefix("sha256:").and_then(|it| it.get(..16)).expect("a digest");
    let found = project.engine(None, &["dump", "image-deploy-ref", "busybox"]);
    assert_eq!(String::from_utf8_lossy(&found.stdout), format!("busybox:tilt-{digits}"));
    let missing = project.engine(None, &["dump", "image-deploy-ref", "nobody/has:this"]);
    let words = String::from_utf8_lossy(&missing.stderr);
    assert!(words.contains("DumpImageDeployRef: Error response from daemon: "), "{words}");
    assert!(!missing.status.success());
}

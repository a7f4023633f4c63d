//! Options of `docker_build`, as they reach BuildKit and the classic builder.

use std::{
    env, fs,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{
    docker::ground::{Project, docker, until, until_failed},
    support::{Instance, TIMEOUT},
};

/// A project with a service `web` that runs an image of its own, built from this Dockerfile.
fn project(build: &str, dockerfile: &str) -> Option<Project> {
    let tiltfile = format!(
        "docker_compose('compose.yml', project_name='PROJECT')\n\
         docker_build('PROJECT-web', 'web', {build})\n"
    );
    let project = Project::new(&tiltfile, "")?;
    let service = format!(
        "services:\n  web:\n    image: {}-web\n    command: [sh, -c, exec sleep 1000]\n    \
         stop_grace_period: 0s\n    network_mode: none\n",
        project.name
    );
    project.write("compose.yml", &service);
    project.write("web/Dockerfile", &dockerfile.replace("PROJECT", &project.name));
    Some(project)
}

fn inside(project: &Project, command: &str) -> String {
    let containers = project.containers("web");
    docker(&["exec", containers.first().expect("it runs"), "sh", "-c", command])
}

#[test]
fn the_classic_builder_builds_what_buildkit_would() {
    let dockerfile = "FROM busybox AS one\nARG WHO=nobody\nARG OTHER=kept\n\
        RUN echo $WHO $OTHER > /told && grep 10.9.8.7 /etc/hosts >> /told && ls /sys/class/net >> /told\n\
        COPY . /app\nFROM one\nRUN touch /two\n";
    let build = "build_args={'WHO': 'somebody', 'OTHER': ''}, target='one', network='none', \
                 extra_hosts='box:10.9.8.7', ignore='ignored', cache_from='PROJECT-cache', \
                 extra_tag='PROJECT-extra:one'";
    let Some(project) = project(build, dockerfile) else { return };
    let mut project = project.with_env("DOCKER_BUILDKIT", "0");
    project.write("web/a", "first");
    project.write("web/ignored", "");
    let mut instance = project.up();
    until(&mut instance, "web", "ok", "ok");
    assert_eq!(
        inside(&project, "cat /told; ls /app /two").replace('\t', " "),
        "somebody kept\n10.9.8.7 box\nlo\n/app:\nDockerfile\na"
    );
    let log = instance.log();
    assert!(log.contains("Sending Docker build context: ") && log.contains("Step 5/"), "{log}");
    let id = |name: &str| docker(&["images", "--quiet", &format!("{}-{name}", project.name)]);
    assert_eq!(id("extra:one"), id("web:latest"));

    instance.write("web/a", "second");
    instance.until("it is built again", |_| {
        project
            .containers("web")
            .first()
            .is_some_and(|it| docker(&["exec", it, "cat", "/app/a"]) == "second")
    });
    until(&mut instance, "web", "ok", "ok");

    instance.write("web/Dockerfile", "FROM busybox\n\nRUNN true\n");
    instance.until("the line is told", |it| it.log().contains("     Dockerfile:3: RUNN true\n"));
    instance.write("web/Dockerfile", "FROM localhost:1/nobody/has:this AS one\n");
    instance
        .until("what is missing is told", |it| it.log().contains("check the image's name and tag"));
    instance.write("web/Dockerfile", "FROM busybox AS one\nRUN echo it is oops; exit 3\n");
    instance.until("what it printed is told", |it| it.log().contains("it is oops\n"));
    until(&mut instance, "web", "error", "ok");
    instance.write("web/Dockerfile", "FROM busybox AS one\nCOPY a /app/a\n");
    until(&mut instance, "web", "ok", "ok");
}

#[test]
fn an_image_of_the_classic_builder_is_used_again_after_a_restart() {
    let Some(project) = project("", "FROM busybox\nCOPY . /app\n") else { return };
    let mut project = project.with_env("DOCKER_BUILDKIT", "0");
    project.write("web/a", &project.name);
    let mut instance = project.up();
    until(&mut instance, "web", "ok", "ok");
    instance.stop();
    let before = instance.log().len();
    instance.restart();
    until(&mut instance, "web", "ok", "ok");
    let log = instance.log().split_off(before);
    assert!(log.contains("inputs unchanged since ") && !log.contains("Building"), "{log}");
}

#[test]
fn buildkit_gets_all_options() {
    let dockerfile = "FROM busybox AS one\nARG WHO=nobody\nARG OTHER=kept\n\
        RUN echo $WHO $OTHER > /told && grep 10.9.8.7 /etc/hosts >> /told && ls /sys/class/net >> /told\n\
        RUN --mount=type=secret,id=file --mount=type=secret,id=TOKEN --mount=type=secret,id=named \
        cat /run/secrets/file /run/secrets/TOKEN /run/secrets/named | md5sum >> /told\n\
        FROM one\nRUN touch /two\n";
    let build = "build_args={'WHO': 'somebody', 'OTHER': ''}, target='one', network='none', \
                 extra_hosts=['box:10.9.8.7'], cache_from=['PROJECT-cache'], platform=PLATFORM, \
                 secret=['id=file,src=key', 'id=TOKEN', 'id=named,env=NAMED']";
    let platform = docker(&["version", "--format", "{{.Server.Os}}/{{.Server.Arch}}"]);
    let Some(project) = project(&build.replace("PLATFORM", &format!("{platform:?}")), dockerfile)
    else {
        return;
    };
    let mut project = project.with_env("TOKEN", "of-env").with_env("NAMED", "of-name");
    project.write("key", "of-file");
    docker(&["tag", "busybox", &format!("{}-cache", project.name)]);
    let mut instance = project.up();
    until(&mut instance, "web", "ok", "ok");
    let sum = inside(&project, "printf of-fileof-envof-name | md5sum");
    assert_eq!(
        inside(&project, "cat /told; ls /two").replace('\t', " "),
        format!("somebody kept\n10.9.8.7 box\nlo\n{sum}")
    );
    let log = instance.log();
    for want in [
        format!("Building Dockerfile for platform {platform}:"),
        format!("importing cache manifest from {}-cache", project.name),
    ] {
        assert!(log.contains(&want), "{want} in {log}");
    }
    assert!(!log.contains("of-env") && !log.contains("of-file"), "{log}");
}

#[test]
fn secrets_need_buildkit() {
    let Some(project) = project("secret='id=s,src=key'", "FROM busybox\n") else { return };
    let mut project = project.with_env("DOCKER_BUILDKIT", "0");
    project.write("key", "");
    let told = until_failed(&mut project.up(), "web");
    assert!(told.contains("only work on Buildkit, but Buildkit has been disabled"), "{told}");
}

/// An agent of our own must not outlive the engine, however that ends: it has somebody's key.
#[test]
fn a_step_may_use_a_key_and_the_agent_that_has_it_ends_with_the_engine() {
    let dockerfile = "FROM busybox\n\
        RUN --mount=type=ssh,required=true test -S $SSH_AUTH_SOCK && echo has a socket && sleep SECONDS\n";
    // Found by how long it sleeps, which nothing else does.
    let dockerfile = dockerfile.replace("SECONDS", &(20_000_000 + std::process::id()).to_string());
    let Some(mut project) = project("ssh='default=key'", &dockerfile) else { return };
    let key = project.path("key");
    let mut keygen = Command::new("ssh-keygen");
    keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key).stdin(Stdio::null());
    assert!(keygen.status().expect("it starts").success());
    let mut instance = project.up();
    instance.until("the step runs", |it| it.log().contains("→ has a socket"));
    let agents = agents_of(&instance);
    assert_eq!(agents.len(), 1, "{agents:?}");
    instance.kill();
    let killed = Instant::now();
    let is_alive = || {
        // A zombie has no command line any more.
        fs::read(format!("/proc/{}/cmdline", agents[0])).is_ok_and(|it| !it.is_empty())
    };
    while is_alive() {
        assert!(killed.elapsed() < TIMEOUT, "it still has the key");
        thread::sleep(Duration::from_millis(5));
    }
}

/// The ssh agents that an engine has started: their sockets are in its temporary files.
fn agents_of(instance: &Instance) -> Vec<String> {
    let own = instance.pid().to_string();
    let parent = |pid: &str| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        Some(stat.rsplit_once(") ")?.1.split(' ').nth(1)?.to_owned())
    };
    let is_below = |pid: &str| {
        let mut next = parent(pid);
        while let Some(pid) = next {
            if pid == own {
                return true;
            }
            next = parent(&pid);
        }
        false
    };
    let all = fs::read_dir("/proc").expect("Linux").flatten();
    let pids = all.filter_map(|it| it.file_name().into_string().ok());
    let is_agent = |pid: &String| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        name.trim() == "ssh-agent" && is_below(pid)
    };
    pids.filter(is_agent).collect()
}

#[test]
fn pull_asks_for_a_base_that_has_changed_in_its_registry() {
    let Ok(registry) = env::var("ENGINE_TEST_REGISTRY") else { return };
    let Some(mut project) = project("pull=True", "") else { return };
    let base = format!("{registry}/{}:moving", project.name);
    let push = |text: &str| {
        let dockerfile = format!("FROM busybox\nRUN echo {text} > /base\n");
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join("Dockerfile"), dockerfile).expect("it can be written");
        docker(&["build", "--tag", &base, &dir.path().display().to_string()]);
        docker(&["push", "--quiet", &base]);
    };
    push("one");
    project.write("web/Dockerfile", &format!("FROM {base}\nCOPY a /a\n"));
    project.write("web/a", "1");
    let mut instance = project.up();
    until(&mut instance, "web", "ok", "ok");
    assert_eq!(inside(&project, "cat /base"), "one");
    push("two");
    // What is here under that name is the old one, which would do without `pull`.
    docker(&["rmi", &base]);
    instance.write("web/a", "2");
    instance.until("it is built on the new one", |_| {
        project
            .containers("web")
            .first()
            .is_some_and(|it| docker(&["exec", it, "cat", "/base", "/a"]) == "two\n2")
    });
    docker(&["rmi", &base]);
}

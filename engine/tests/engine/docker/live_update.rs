//! Changed files in running containers: what gets there, what follows, and when only a build helps.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
    },
    path::PathBuf,
    process::Command,
};

use crate::{
    docker::ground::{Project, docker, until},
    support::Instance,
};

/// A service with a live update, which runs.
struct Running {
    instance: Instance,
    project: Project,
}

impl Running {
    /// Starts a service `web` with the files of `src` in `/app`.
    fn start(dockerfile: &str, steps: &str, more: &str) -> Option<Self> {
        Self::project(dockerfile, steps, more).map(Self::up)
    }

    /// What is started.
    fn project(dockerfile: &str, steps: &str, more: &str) -> Option<Project> {
        let tiltfile = format!(
            "docker_compose('compose.yml', project_name='PROJECT')\n\
             docker_build('PROJECT-web', '.', live_update=[{steps}])\n"
        );
        let project = Project::new(&tiltfile, "")?;
        let more: String = more.lines().flat_map(|it| ["    ", it, "\n"]).collect();
        let service = format!(
            "services:\n  web:\n    image: {}-web\n    stop_grace_period: 0s\n    network_mode: none\n{more}",
            project.name
        );
        project.write("compose.yml", &service);
        // Images of two tests must not be the same one, as each test removes its own.
        project.write("Dockerfile", &format!("{dockerfile}LABEL of={}\n", project.name));
        project.write(".dockerignore", "home\nlog\n");
        project.write("src/a", "first\n");
        project.write("src/old", "old\n");
        Some(project)
    }

    fn up(mut project: Project) -> Self {
        let mut instance = project.up();
        until(&mut instance, "web", "ok", "ok");
        Self { instance, project }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.instance.dir.path().join("src").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("it is in the folder")).expect("it can be made");
        fs::write(path, text).expect("it can be written");
    }

    fn container(&self) -> String {
        self.project.containers("web").first().cloned().unwrap_or_default()
    }

    /// What a command prints in the container.
    fn inside(&self, command: &str) -> String {
        docker(&["exec", &self.container(), "sh", "-c", command])
    }

    fn until_inside(&mut self, command: &str, expected: &str) {
        let project = &self.project;
        self.instance.until(&format!("`{command}` is {expected:?}"), |_| {
            let container = project.containers("web").first().cloned().unwrap_or_default();
            docker(&["exec", &container, "sh", "-c", command]) == expected
        });
    }

    /// Waits until a file has a content, in a container that has no programs.
    fn until_copied(&mut self, path: &str, expected: &str) {
        let project = &self.project;
        let copy = self.instance.dir.path().join("home/copy");
        self.instance.until(&format!("{path} is {expected:?}"), |_| {
            let container = project.containers("web").first().cloned().unwrap_or_default();
            let copied = Command::new("docker")
                .args(["cp", &format!("{container}:{path}"), &copy.display().to_string()])
                .output()
                .expect("docker is in the PATH");
            copied.status.success()
                && fs::read_to_string(&copy).is_ok_and(|it| it.trim_end() == expected)
        });
    }

    fn until_log(&mut self, text: &str) {
        self.instance.until(&format!("the log has {text:?}"), |it| it.log().contains(text));
    }
}

const BUSYBOX: &str = "FROM busybox\nCOPY src /app\nCMD [\"sh\", \"-c\", \"exec sleep 1000\"]\n";
const SYNC: &str = "sync('src', '/app')";

#[test]
fn what_changes_here_changes_in_the_container() {
    let Some(mut web) = Running::start(BUSYBOX, SYNC, "") else { return };
    let container = web.container();

    web.write("a", "second\n");
    web.until_inside("cat /app/a", "second");
    web.until_log("→ Container");

    // A shorter text leaves nothing of the longer one.
    web.write("a", "x");
    web.until_inside("cat /app/a", "x");

    fs::rename(web.path("old"), web.path("new")).expect("it can be renamed");
    web.until_inside("cat /app/new; ls /app/old 2>/dev/null", "old");

    fs::set_permissions(web.path("new"), fs::Permissions::from_mode(0o750)).expect("it is ours");
    web.until_inside("stat -c %a /app/new", "750");

    symlink("new", web.path("link")).expect("it can be made");
    web.until_inside("readlink /app/link", "new");

    fs::create_dir(web.path("empty")).expect("it can be made");
    web.until_inside("ls -d /app/empty", "/app/empty");

    web.write("deep/er/file", "deep\n");
    web.until_inside("cat /app/deep/er/file", "deep");
    fs::remove_dir_all(web.path("deep")).expect("it can be removed");
    web.until_inside("ls -d /app/deep 2>/dev/null; echo gone", "gone");

    let big = "0123456789abcdef".repeat(200_000);
    web.write("big", &big);
    web.until_inside("wc -c < /app/big", &big.len().to_string());

    assert_eq!(web.container(), container, "it was replaced:\n{}", web.instance.log());
    assert_eq!(web.inside("ls -A / | grep engine"), "", "the helper is not to be found");
}

#[test]
fn files_keep_names_that_are_not_utf_8() {
    let Some(project) = Running::project(BUSYBOX, SYNC, "") else { return };
    let name = |bytes: &'static [u8]| std::path::Path::new(OsStr::from_bytes(bytes));
    fs::write(project.path("src").join(name(b"built\xff")), "built\n").expect("it can be written");
    let mut web = Running::up(project);
    let container = web.container();
    // The shell in the container writes the same bytes.
    let cat = |name: &str| format!("cat \"$(printf '/app/{name}')\" 2>&1");
    assert_eq!(web.inside(&cat("built\\377")), "built");

    let (file, lossy) = (web.path("").join(name(b"x\xff")), "/app/x�");
    fs::write(&file, "one\n").expect("it can be written");
    web.until_inside(&cat("x\\377"), "one");
    assert_eq!(web.inside(&format!("ls '{lossy}' 2>/dev/null")), "", "another name");
    fs::write(&file, "two\n").expect("it can be written");
    web.until_inside(&cat("x\\377"), "two");

    fs::rename(&file, web.path("").join(name(b"x\xfe"))).expect("it can be renamed");
    web.until_inside(&format!("ls /app | wc -l; {}", cat("x\\376")), "4\ntwo");
    fs::remove_file(web.path("").join(name(b"built\xff"))).expect("it can be removed");
    web.until_inside("ls /app | wc -l", "3");
    assert_eq!(web.container(), container, "it was replaced:\n{}", web.instance.log());
}

#[test]
fn no_save_is_lost_however_they_come() {
    let Some(mut web) = Running::start(BUSYBOX, SYNC, "") else { return };
    let container = web.container();
    for round in 0..50 {
        web.write("a", &format!("{round}\n"));
        web.write(&format!("f{}", round % 3), &format!("{round}\n"));
        if round % 7 == 0 {
            let _ = fs::remove_file(web.path("f1"));
        }
    }
    for i in 0..300 {
        web.write(&format!("many/f{i}"), &format!("{i}\n"));
    }
    let listing = "cd /app && find . -type f | sort | xargs md5sum";
    let here = Command::new("sh")
        .args(["-c", &listing.replace("/app", ".")])
        .current_dir(web.path(""))
        .output()
        .expect("it starts");
    web.until_inside(listing, String::from_utf8_lossy(&here.stdout).trim());
    assert_eq!(web.container(), container, "it was replaced:\n{}", web.instance.log());
}

#[test]
fn a_container_that_was_restarted_or_replaced_is_updated_as_before() {
    let Some(mut web) = Running::start(BUSYBOX, SYNC, "") else { return };
    web.write("a", "before\n");
    web.until_inside("cat /app/a", "before");
    docker(&["restart", "--time", "0", &web.container()]);
    until(&mut web.instance, "web", "ok", "ok");
    web.write("a", "restarted\n");
    web.until_inside("cat /app/a", "restarted");

    // A new container has what the image has; it gets all that changed since.
    let compose = web.instance.dir.path().join("compose.yml");
    let args = ["-f", &compose.display().to_string(), "-p", &web.project.name];
    docker(&[&["compose"], &args[..], &["up", "--detach", "--force-recreate", "web"]].concat());
    web.until_inside("cat /app/a", "restarted");
    web.write("a", "replaced\n");
    web.until_inside("cat /app/a", "replaced");
}

#[test]
fn commands_run_after_the_files_they_are_for() {
    let steps = "sync('src', '/app'), run('cat /app/a >> /ran; echo told', trigger=['src/a']), \
                 run('test ! -e /app/bad')";
    let Some(mut web) = Running::start(BUSYBOX, steps, "") else { return };
    web.write("old", "other\n");
    web.until_inside("cat /app/old", "other");
    assert_eq!(web.inside("cat /ran 2>/dev/null"), "", "no file was changed that it is for");

    web.write("a", "run\n");
    web.until_inside("cat /ran", "run");
    web.until_log("│ told");
    assert!(web.instance.log().contains("[CMD 1/2] sh -c cat /app/a >> /ran; echo told"));

    let container = web.container();
    web.write("bad", "bad\n");
    web.until_log("command \"test ! -e /app/bad\" failed with exit code: 1");
    until(&mut web.instance, "web", "error", "ok");
    assert_eq!(web.inside("cat /app/bad"), "bad", "the file is there nevertheless");
    fs::remove_file(web.path("bad")).expect("it can be removed");
    until(&mut web.instance, "web", "ok", "ok");
    assert_eq!(web.container(), container, "a command that fails is no reason for a build");
}

#[test]
fn a_container_restarts_if_that_is_asked_for() {
    let dockerfile =
        "FROM busybox\nCOPY src /app\nCMD [\"sh\", \"-c\", \"cat /app/a; exec sleep 1000\"]\n";
    let steps = "sync('src', '/app'), restart_container()";
    let Some(mut web) = Running::start(dockerfile, steps, "") else { return };
    let container = web.container();
    for text in ["second run", "third run"] {
        web.write("a", &format!("{text}\n"));
        web.until_log(&format!("│ {text}"));
        until(&mut web.instance, "web", "ok", "ok");
    }
    assert_eq!(web.container(), container, "it was replaced:\n{}", web.instance.log());
}

#[test]
fn files_that_no_rule_covers_cause_a_build() {
    let dockerfile = format!("{BUSYBOX}COPY . /all\n");
    let steps = "fall_back_on('src/stop'), sync('src', '/app')";
    let Some(mut web) = Running::start(&dockerfile, steps, "") else { return };
    let first = web.container();
    web.write("stop", "stop\n");
    web.until_log("Detected change to stop file");
    web.until_inside("cat /app/stop", "stop");
    assert_ne!(web.container(), first, "another image needs another container");

    until(&mut web.instance, "web", "ok", "ok");
    let second = web.container();
    fs::write(web.instance.dir.path().join("else"), "x").expect("it can be written");
    web.until_log("Found file(s) not matching any sync (files: [else])");
    let project = &web.project;
    web.instance.until("there is another container", |_| {
        let containers = project.containers("web");
        !containers.is_empty() && !containers.contains(&second)
    });
    until(&mut web.instance, "web", "ok", "ok");
    web.write("a", "after\n");
    web.until_inside("cat /app/a", "after");
}

#[test]
fn a_build_that_finds_all_as_it_was_leaves_the_container_and_its_updates() {
    let dockerfile = format!("{BUSYBOX}COPY other /other\n");
    let Some(project) = Running::project(&dockerfile, SYNC, "") else { return };
    project.write("other", "as it was\n");
    let mut web = Running::up(project);
    let first = web.container();
    web.write("a", "second\n");
    web.until_inside("cat /app/a", "second");
    web.write("a", "first\n");
    web.instance.write("other", "as it was\n");
    web.until_log("STEP 1/2 — Loading cached images");
    web.until_inside("cat /app/a", "first");
    until(&mut web.instance, "web", "ok", "ok");
    web.write("a", "third\n");
    web.until_inside("cat /app/a", "third");
    assert_eq!(web.container(), first, "{}", web.instance.log());
}

#[test]
fn a_new_container_gets_all_files_if_that_is_asked_for() {
    let dockerfile = "FROM busybox\nCMD [\"sh\", \"-c\", \"exec sleep 1000\"]\n";
    let steps = "initial_sync(), sync('src', '/app')";
    let Some(mut web) = Running::start(dockerfile, steps, "") else { return };
    web.until_inside("cat /app/a /app/old", "first\nold");
    web.until_log("Initial sync: will copy sync paths to container");
}

#[test]
fn an_image_without_shell_and_root_is_updated_too() {
    let dockerfile = "FROM bare\nCOPY src /app\n";
    let steps = "sync('src', '/app'), run('true', trigger=['src/run'])";
    let Some(mut web) = Running::start(dockerfile, steps, "") else { return };
    let container = web.container();
    web.write("a", "second\n");
    web.until_copied("/app/a", "second");
    web.write("dir/new", "new\n");
    web.until_copied("/app/dir/new", "new");
    web.write("run", "run\n");
    web.until_log("The container has no shell.");
    web.until_copied("/app/run", "run");
    assert_eq!(web.container(), container, "it was replaced:\n{}", web.instance.log());
}

/// As whom the helper runs in a container.
const HELPER_USER: &str =
    "stat -c %u $(dirname $(grep -l '[e]ngine-helper' /proc/[0-9]*/cmdline | head -n 1))";

#[test]
fn the_own_user_of_a_container_updates_it_and_root_only_what_that_user_may_not_write() {
    let run = "run('id -u > /tmp/ran', trigger=['src/run'])";
    let steps = format!("sync('src', '/app'), {run}");
    for (files, user) in [("COPY --chown=1000:1000 src /app", "1000"), ("COPY src /app", "0")] {
        let dockerfile = format!(
            "FROM busybox\n{files}\nUSER 1000\nCMD [\"sh\", \"-c\", \"exec sleep 1000\"]\n"
        );
        let Some(mut web) = Running::start(&dockerfile, &steps, "") else { return };
        let container = web.container();
        web.write("a", "second\n");
        web.until_inside("cat /app/a", "second");
        web.write("dir/new", "new\n");
        web.until_inside("cat /app/dir/new", "new");
        assert_eq!(web.inside(HELPER_USER), user, "{files}");
        let owners = web.inside("stat -c %u /app/a /app/dir /app/dir/new | sort -u");
        assert_eq!(owners, user, "the owners are those of the image");
        web.write("run", "run\n");
        web.until_inside("cat /tmp/ran", "1000");
        assert_eq!(web.inside("ls -A / | grep engine"), "", "the helper is not to be found");
        assert_eq!(web.container(), container, "it was replaced:\n{}", web.instance.log());
    }
}

#[test]
fn a_link_that_the_user_of_a_container_planted_leads_root_nowhere() {
    let dockerfile = "FROM busybox\nCOPY --chown=1000:1000 src /app\nCOPY secret /priv/secret\nUSER 1000\n\
                      CMD [\"sh\", \"-c\", \"exec sleep 1000\"]\n";
    // What is in a volume is there after the container was replaced.
    let Some(project) = Running::project(dockerfile, SYNC, "volumes: ['priv:/priv']") else {
        return;
    };
    let compose = project.path("compose.yml");
    let text = fs::read_to_string(&compose).expect("it can be read");
    project.write("compose.yml", &format!("{text}volumes: {{priv: {{}}}}\n"));
    project.write("secret", "precious\n");
    let mut web = Running::up(project);
    web.inside("ln -s /priv /app/sub");
    web.write("sub/secret", "overwritten\n");
    web.until_log("/app/sub: root does not follow a link that others than root can change");
    // The build that follows makes a directory of it.
    web.until_inside("cat /app/sub/secret", "overwritten");
    assert_eq!(
        web.inside("cat /priv/secret; stat -c %u /priv/secret; ls -A /priv"),
        "precious\n0\nsecret"
    );
}

#[test]
fn a_read_only_container_is_updated_where_it_can_be_written() {
    let dockerfile = "FROM busybox\nCMD [\"sh\", \"-c\", \"exec sleep 1000\"]\n";
    let writable = [
        ("with a volume", "read_only: true\nvolumes: ['data:/data']", "data"),
        ("with a tmpfs", "read_only: true\ntmpfs: [/data]", "tmpfs"),
    ];
    for (what, more, kind) in writable {
        let Some(mut web) = Running::start(dockerfile, "sync('src', '/data')", "") else { return };
        let compose = web.instance.dir.path().join("compose.yml");
        let mut text = fs::read_to_string(&compose).expect("it can be read");
        let more: String = more.lines().flat_map(|it| ["    ", it, "\n"]).collect();
        text.push_str(&more);
        if kind == "data" {
            text.push_str("volumes: {data: {}}\n");
        }
        let is_read_only = "touch /probe 2>/dev/null || echo refused";
        fs::write(&compose, text).expect("it can be written");
        web.until_inside(is_read_only, "refused");
        until(&mut web.instance, "web", "ok", "ok");
        let container = web.container();
        web.write("a", "second\n");
        web.until_inside("cat /data/a", "second");
        web.write("sub/b", "third\n");
        web.until_inside("cat /data/sub/b", "third");
        assert_eq!(web.container(), container, "{what}:\n{}", web.instance.log());
    }
}

#[test]
fn what_somebody_changes_in_the_container_is_put_right_by_the_next_save() {
    let Some(mut web) = Running::start(BUSYBOX, SYNC, "") else { return };
    web.write("a", "mine\n");
    web.until_inside("cat /app/a", "mine");
    web.inside("echo theirs and more > /app/a");
    // The content was sent before, but it is not there any more.
    web.write("a", "mine\n");
    web.until_inside("cat /app/a", "mine");
}

#[test]
fn an_image_that_others_build_is_only_updated() {
    let tiltfile = "docker_compose('compose.yml', project_name='PROJECT')\n\
                    custom_build('PROJECT-web', ':', deps=['src'], live_update=[sync('src', '/app')])\n";
    let Some(project) = Project::new(tiltfile, "") else { return };
    let service = format!(
        "services:\n  web:\n    image: {}-web\n    command: [sh, -c, exec sleep 1000]\n    \
         stop_grace_period: 0s\n    network_mode: none\n",
        project.name
    );
    project.write("compose.yml", &service);
    project.write("src/a", "first\n");
    docker(&["tag", "busybox", &format!("{}-web", project.name)]);
    let mut web = Running::up(project);
    let container = web.container();
    assert_eq!(web.inside("ls /app 2>/dev/null"), "", "nothing has changed yet");
    web.write("a", "second\n");
    web.until_inside("cat /app/a", "second");
    web.write("b", "new\n");
    web.until_inside("cat /app/b", "new");
    let log = web.instance.log();
    assert!(!log.contains("Building"), "{log}");
    assert_eq!(web.container(), container, "it was replaced:\n{log}");
}

//! Checkouts of repositories that git finds on disk instead of on the network.

use std::{
    fs,
    path::{Path, PathBuf},
    process,
    sync::{Arc, Mutex},
};

use tempfile::TempDir;

use super::{Reference, ensure};
use crate::host::OsHost;

const IMPORT_PATH: &str = "github.com/team/extensions";

/// A machine with a home of its own, where GitHub is a folder.
struct World {
    dir: TempDir,
    host: OsHost,
    log: Arc<Mutex<String>>,
}

impl World {
    fn new() -> Self {
        let dir = TempDir::new().expect("a temporary folder");
        let at = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
        let github = format!("url.file://{}/.insteadOf", at("github"));
        let example = format!("url.file://{}/.insteadOf", at("example"));
        let env = [
            ("PATH", std::env::var("PATH").unwrap_or_default()),
            ("HOME", at("home")),
            ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
            ("GIT_CONFIG_COUNT", "2".to_owned()),
            ("GIT_CONFIG_KEY_0", github),
            ("GIT_CONFIG_VALUE_0", "https://github.com/".to_owned()),
            ("GIT_CONFIG_KEY_1", example),
            ("GIT_CONFIG_VALUE_1", "https://git.example.com/".to_owned()),
            // Nothing that these tests do may leave the machine.
            ("GIT_ALLOW_PROTOCOL", "file".to_owned()),
            ("LC_ALL", "C".to_owned()),
        ];
        fs::create_dir(dir.path().join("home")).expect("a home");
        let log = Arc::<Mutex<String>>::default();
        let sink = Arc::clone(&log);
        let host = OsHost::new(
            env.map(|(name, value)| (name.to_owned(), value)),
            Box::new(move |_, text| sink.lock().expect("no test panics here").push_str(text)),
        );
        Self { dir, host, log }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Adds a commit that changes the greeting, and a tag for it, to a repository.
    fn publish(&self, repo: &str, greeting: &str, tag: &str) {
        let repo = self.path(repo);
        if !repo.exists() {
            fs::create_dir_all(repo.join("hello")).expect("a repository");
            git(&repo, &["init", "--quiet", "--initial-branch=main"]);
        }
        fs::write(repo.join("hello/Tiltfile"), greeting).expect("a Tiltfile");
        git(&repo, &["add", "."]);
        git(&repo, &["commit", "--quiet", "--message", tag]);
        git(&repo, &["tag", tag]);
    }

    /// The greeting of a checkout, or why there is none; paths are relative to the world.
    fn greeting(&self, import_path: &str, reference: &str) -> Result<String, String> {
        let reference = Reference::try_from(reference.to_owned()).expect("a ref");
        let dest = ensure(&self.host, import_path, &reference)
            .map_err(|why| self.relative(&why.to_string()))?;
        Ok(fs::read_to_string(Path::new(&dest).join("hello/Tiltfile")).expect("a Tiltfile"))
    }

    fn log(&self) -> String {
        self.relative(&self.log.lock().expect("no test panics here"))
    }

    fn relative(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.dir.path().display()), "")
    }

    /// Makes the checkout look as if nobody had refreshed it for days.
    fn age(&self) {
        let git_dir =
            self.path("home/.local/share/tilt-dev/tilt_modules").join(IMPORT_PATH).join(".git");
        for name in ["HEAD", "FETCH_HEAD"] {
            if let Ok(file) = fs::File::options().append(true).open(git_dir.join(name)) {
                file.set_modified(std::time::UNIX_EPOCH).expect("a time");
            }
        }
    }
}

fn git(dir: &Path, args: &[&str]) {
    let status = process::Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgSign=false"])
        .args(args)
        .current_dir(dir)
        .status();
    assert!(status.is_ok_and(|it| it.success()), "git {args:?}");
}

#[test]
fn a_repository_is_cloned_once_and_then_works_without_a_network() {
    let world = World::new();
    world.publish("github/team/extensions", "first", "v1");
    assert_eq!(world.greeting(IMPORT_PATH, ""), Ok("first".to_owned()));
    world.publish("github/team/extensions", "second", "v2");
    assert_eq!(world.greeting(IMPORT_PATH, ""), Ok("first".to_owned()), "a fresh checkout stays");
    fs::remove_dir_all(world.path("github")).expect("the network goes away");
    assert_eq!(world.greeting(IMPORT_PATH, ""), Ok("first".to_owned()));
    assert_eq!(world.log(), "");
}

#[test]
fn an_old_checkout_is_refreshed_if_possible() {
    let world = World::new();
    world.publish("github/team/extensions", "first", "v1");
    assert_eq!(world.greeting(IMPORT_PATH, ""), Ok("first".to_owned()));
    world.publish("github/team/extensions", "second", "v2");
    world.age();
    assert_eq!(world.greeting(IMPORT_PATH, ""), Ok("second".to_owned()));

    fs::remove_dir_all(world.path("github")).expect("the network goes away");
    world.age();
    assert_eq!(world.greeting(IMPORT_PATH, ""), Ok("second".to_owned()));
    let pulled = "# cd home/.local/share/tilt-dev/tilt_modules/github.com/team/extensions; git pull --ff-only\nfatal: ";
    assert!(world.log().starts_with(pulled), "{}", world.log());
}

#[test]
fn a_reference_selects_a_version_even_one_that_is_newer_than_the_checkout() {
    let world = World::new();
    world.publish("github/team/extensions", "first", "v1");
    world.publish("github/team/extensions", "second", "v2");
    assert_eq!(world.greeting(IMPORT_PATH, "v1"), Ok("first".to_owned()));
    assert_eq!(world.greeting(IMPORT_PATH, "v2"), Ok("second".to_owned()));
    world.publish("github/team/extensions", "third", "v3");
    assert_eq!(world.greeting(IMPORT_PATH, "v3"), Ok("third".to_owned()));
    assert_eq!(world.greeting(IMPORT_PATH, "v4"), Err("sync to ref v4: exit status 1".to_owned()));
    assert_eq!(world.greeting(IMPORT_PATH, "v1"), Ok("first".to_owned()), "the checkout survives");
}

#[test]
fn a_repository_that_cannot_be_had_leaves_nothing_behind() {
    let world = World::new();
    assert_eq!(
        world.greeting(IMPORT_PATH, ""),
        Err("download error: waiting 5s before retrying. Original error: exit status 128"
            .to_owned())
    );
    let modules = "home/.local/share/tilt-dev/tilt_modules";
    let cloned = format!(
        "# cd .; git clone -- https://{IMPORT_PATH} {modules}/{IMPORT_PATH}\nCloning into '{modules}/{IMPORT_PATH}'...\nfatal: "
    );
    assert!(world.log().starts_with(&cloned), "{}", world.log());
    let left = fs::read_dir(world.path(modules).join("github.com/team")).expect("the parent");
    assert_eq!(left.count(), 0);
}

#[test]
fn an_import_path_may_name_a_folder_of_the_repository() {
    let world = World::new();
    world.publish("github/team/extensions", "first", "v1");
    let dest = ensure(&world.host, "github.com/team/extensions/hello", &Reference::default())
        .expect("a checkout");
    assert!(Path::new(&dest).join("Tiltfile").is_file());
    let missing = world.greeting("github.com/team/extensions/nowhere", "");
    let dest = "home/.local/share/tilt-dev/tilt_modules/github.com/team/extensions/nowhere";
    assert_eq!(
        missing,
        Err(format!("verifying download destination: stat {dest}: no such file or directory"))
    );
}

#[test]
fn other_servers_serve_repositories_with_a_suffix() {
    let world = World::new();
    world.publish("example/team/extensions", "hi", "v1");
    let import_path = "git.example.com/team/extensions.git";
    assert_eq!(world.greeting(import_path, ""), Ok("hi".to_owned()));
    fs::remove_dir_all(world.path("example")).expect("the network goes away");
    assert_eq!(world.greeting(import_path, ""), Ok("hi".to_owned()), "nobody is asked again");
    assert_eq!(
        world.greeting("git.example.com/team/other.git", ""),
        Err("download error: waiting 5s before retrying. \
             Original error: git.example.com/team/other answers neither over https nor over ssh"
            .to_owned())
    );
    assert_eq!(
        world.greeting("git.example.com/team/extensions", ""),
        Err("download error: waiting 5s before retrying. \
             Original error: dynamic lookup required to find mapping"
            .to_owned())
    );
}

#[test]
fn a_copy_without_git_data_is_used_as_it_is() {
    let world = World::new();
    let dest =
        world.path("home/.local/share/tilt-dev/tilt_modules").join(IMPORT_PATH).join("hello");
    fs::create_dir_all(&dest).expect("a folder");
    fs::write(dest.join("Tiltfile"), "vendored").expect("a Tiltfile");
    assert_eq!(world.greeting(IMPORT_PATH, ""), Ok("vendored".to_owned()));
}

#[test]
fn a_bad_ref_or_lock_is_an_error_before_git_is_called() {
    let world = World::new();
    let project = world.path("project");
    fs::create_dir(&project).expect("a project");
    // Nor does the standard library stand in for what is wrong in the project.
    let url = super::super::PUBLIC_REPOSITORY;
    let root = |reference| {
        let found =
            super::super::repository_root(&world.host, &project.to_string_lossy(), url, reference);
        found.map_err(|why| world.relative(&why.to_string()))
    };
    let bad_ref = Err(r#"invalid ref "--upload-pack=x": begins with `-`"#.to_owned());
    assert_eq!(root("--upload-pack=x"), bad_ref);
    let lock = format!(r#"{{"repos": [{{"url": "{url}", "commit": "--upload-pack=x"}}]}}"#);
    fs::write(project.join("tilt-extensions.lock"), lock).expect("a lock");
    let why = root("").expect_err("the commit is none");
    let want =
        r#"malformed project/tilt-extensions.lock: invalid commit "--upload-pack=x": must be 40"#;
    assert!(why.starts_with(want), "{why}");
    assert_eq!(world.log(), "");
    assert!(!world.path("home/.local").exists(), "nothing was fetched");
}

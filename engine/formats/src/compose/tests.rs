//! Whole projects, with what Compose itself says about them.
//!
//! Each file in `tests/` starts with what its cases share; then come the cases, recorded from
//! compose-go:
//!
//! ```text
//! ### what the case is about
//! #: paths=docker-compose.yml,o.yml profiles=a,b name=proj env_file=/w/x.env
//! #- docker-compose.yml
//! services: ...
//! #= web
//! image: ...
//! ```
//!
//! Files lie in `/w`. Without paths, the last file is what the command line printed. A case with
//! no file of its own replaces the line `@` of a shared one. Expected are the services after
//! `#= name`, or one attribute after `#= name attribute`, or the message after `#! `.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use super::*;

/// Files in memory.
#[derive(Default)]
struct Files(BTreeMap<PathBuf, String>);

impl crate::Files for Files {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match self.0.get(path) {
            Some(text) => Ok(text.clone().into_bytes()),
            None if self.stat(path).is_ok() => Err(io::ErrorKind::IsADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

impl World for Files {
    fn stat(&self, path: &Path) -> io::Result<FileKind> {
        if self.0.contains_key(path) {
            return Ok(FileKind::File);
        }
        let directory = self.0.keys().any(|file| file.starts_with(path));
        if directory { Ok(FileKind::Directory) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    fn is_symlink(&self, path: &Path) -> bool {
        path == Path::new("/w/link")
    }

    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        if self.is_symlink(path) { Ok("/w/real".into()) } else { Ok(path.to_owned()) }
    }
}

fn environment() -> BTreeMap<String, String> {
    let variables = [("HOME", "/home/u"), ("SET", "val"), ("NUM", "7"), ("EMPTY", "")];
    variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

/// What a case asks for.
struct Case {
    request: ProjectRequest,
    files: Files,
    current: PathBuf,
    /// Lines that are in no file.
    loose: String,
}

impl Case {
    fn read(&mut self, text: &str) {
        for line in text.split_inclusive('\n') {
            if let Some(options) = line.strip_prefix("#: ") {
                options
                    .split_whitespace()
                    .filter_map(|it| it.split_once('='))
                    .for_each(|(key, value)| self.set(key, value));
            } else if let Some(path) = line.strip_prefix("#- ") {
                self.current = Path::new("/w").join(path.trim_end());
                self.files.0.insert(self.current.clone(), String::new());
            } else if let Some(text) = self.files.0.get_mut(&self.current) {
                text.push_str(line);
            } else {
                self.loose.push_str(line);
            }
        }
    }

    fn set(&mut self, key: &str, value: &str) {
        let values = || value.split(',').filter(|it| !it.is_empty()).map(str::to_owned);
        match key {
            "paths" => {
                self.request.config_paths =
                    values().map(|path| Path::new("/w").join(path)).collect();
            }
            "profiles" => self.request.profiles = values().collect(),
            "name" => value.clone_into(&mut self.request.name),
            "env_file" => self.request.env_file = Some(value.into()),
            _ => panic!("unknown option {key}"),
        }
    }

    fn load(mut self) -> Result<Project, ComposeError> {
        if !self.loose.trim().is_empty() {
            let indented = self.loose.trim_end().replace('\n', "\n    ");
            for text in self.files.0.values_mut() {
                *text = text.replace("    @\n", &format!("    {indented}\n"));
            }
        }
        if self.request.config_paths.is_empty() {
            load_resolved(self.files.0[&self.current].trim(), &self.request, &self.files)
        } else {
            load(&self.request, &self.files)
        }
    }
}

/// What loading a case says, in the form `expected` has.
fn answer(shared: &str, case: &str, expected: &str) -> String {
    let request = ProjectRequest {
        project_dir: "/w".into(),
        name: "proj".to_owned(),
        env: environment(),
        ..ProjectRequest::default()
    };
    let mut input =
        Case { request, files: Files::default(), current: PathBuf::new(), loose: String::new() };
    input.read(shared);
    input.current = PathBuf::new();
    input.loose.clear();
    input.read(case);
    let mut project = match input.load() {
        Err(error) => return format!("#! {error}\n"),
        Ok(project) => project,
    };
    project.services.sort_by(|a, b| a.name.cmp(&b.name));
    let mut text = String::new();
    for Service { name, yaml, .. } in project.services {
        let mut headers = expected.lines().filter_map(|line| line.strip_prefix("#= "));
        match headers.find_map(|header| header.strip_prefix(&*name)?.strip_prefix(' ')) {
            Some(key) => {
                let _ = write!(text, "#= {name} {key}\n{}", attribute(&yaml, key));
            }
            None if shared.contains("@\n") && name != "web" => {}
            None => {
                let _ = write!(text, "#= {name}\n{yaml}");
            }
        }
    }
    if expected.contains("#= web ") {
        text.truncate(text.find("#= web2").unwrap_or(text.len()));
    }
    text
}

/// The lines of one attribute.
fn attribute(yaml: &str, key: &str) -> String {
    let mut inside = false;
    yaml.split_inclusive('\n')
        .filter(|line| {
            if !line.starts_with(' ') {
                inside = line.split(':').next() == Some(key);
            }
            inside
        })
        .collect()
}

fn check(cases: &str) {
    let (shared, cases) = cases.split_once("### ").unwrap();
    let mut wrong = Vec::new();
    for case in cases.split("### ") {
        let start = [case.find("\n#= "), case.find("\n#! ")].into_iter().flatten().min();
        let (input, expected) = case.split_at(start.map_or(case.len(), |at| at + 1));
        // The title is a comment, unless the case is nothing but attributes.
        let body = match input.split_once('\n') {
            Some((_, body)) if !shared.contains("@\n") => body,
            _ => input,
        };
        let actual = answer(shared, body, expected);
        if actual.trim_end() != expected.trim_end() {
            wrong.push(format!("### {input}--- expected\n{expected}--- actual\n{actual}"));
        }
    }
    assert!(wrong.is_empty(), "{} cases differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_attribute_of_a_service_is_written_as_compose_writes_it() {
    check(include_str!("tests/attributes.txt"));
}

#[test]
fn later_files_change_earlier_ones_as_compose_does() {
    check(include_str!("tests/overrides.txt"));
}

#[test]
fn files_are_extended_and_included_as_compose_does() {
    check(include_str!("tests/files.txt"));
}

#[test]
fn variables_and_env_files_are_read_as_compose_reads_them() {
    check(include_str!("tests/variables.txt"));
}

#[test]
fn documents_are_read_and_checked_as_compose_does() {
    check(include_str!("tests/documents.txt"));
}

#[test]
fn services_come_after_what_they_depend_on() {
    let mut files = Files::default();
    files.0.insert(
        "/w/c.yml".into(),
        "services:\n  a: {image: i, depends_on: [c, b]}\n  b: {image: i, links: [d]}\n  \
         c: {image: i, ports: ['80:80', '81-82:81-82', '83', '9000-9001:84']}\n  \
         d: {build: ./x, volumes: ['./s:/s', '/anon'], env_file: [{path: e, required: false}]}\n"
            .to_owned(),
    );
    let request = ProjectRequest {
        config_paths: vec!["/w/c.yml".into()],
        project_dir: "/w".into(),
        name: "p".to_owned(),
        ..ProjectRequest::default()
    };
    let project = load(&request, &files).unwrap();
    let names: Vec<_> = project.services.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["d", "b", "c", "a"]);
    let [d, b, c, a] = project.services.as_slice() else { panic!("four services") };
    assert_eq!(a.depends_on, ["b", "c"]);
    assert_eq!(b.depends_on, ["d"]);
    assert_eq!(c.published_ports, [80, 81, 82]);
    assert_eq!(d.mounts[0].source, "/w/s");
    assert_eq!(d.mounts[1].source, "");
    assert_eq!(d.env_files, ["/w/e"]);
    let build = d.build.as_ref().unwrap();
    assert_eq!((build.context.as_str(), build.dockerfile.as_str()), ("/w/x", "Dockerfile"));
}

#[test]
fn the_command_line_is_asked_when_a_project_cannot_be_loaded() {
    let mut files = Files::default();
    files.0.insert("/w/c.yml".into(), "services: {web: {imagee: x}}".to_owned());
    let request = ProjectRequest {
        config_paths: vec!["/w/c.yml".into()],
        project_dir: "/w".into(),
        name: "p".to_owned(),
        profiles: vec!["q".to_owned()],
        ..ProjectRequest::default()
    };
    let mut asked = Vec::new();
    let project = load_or_ask_cli(&request, &files, &mut |args| {
        asked = args.to_vec();
        Ok("services: {resolved: {image: i, volumes: [./v:/v]}}".to_owned())
    });
    let expected = "--project-name p --project-directory /w -f /w/c.yml --profile q config";
    assert_eq!(asked.join(" "), expected);
    assert_eq!(project.unwrap().services[0].mounts[0].source, "/w/v");
    let argv = ["dc".to_owned(), "config".to_owned()];
    let failure = cli::failure(&argv, "exit status 14", "", Some("bad file\n"));
    let asked = load_or_ask_cli(&request, &files, &mut |_| Err(failure.clone()));
    assert_eq!(
        asked.unwrap_err().to_string(),
        "command [\"dc\" \"config\"] failed.\nerror: exit status 14\nstdout: \"\"\nstderr: 'bad file\n'"
    );
}

#[test]
fn what_cannot_be_seen_is_escaped_as_in_go() {
    let yaml = "services:\n  web:\n    image: a\n    \"x\\a\\u0085\\u200b\": 1\n".to_owned();
    let files = Files(BTreeMap::from([(PathBuf::from("/w/c.yml"), yaml)]));
    let request = ProjectRequest {
        config_paths: vec!["/w/c.yml".into()],
        project_dir: "/w".into(),
        ..ProjectRequest::default()
    };
    let error = load(&request, &files).unwrap_err().to_string();
    assert!(error.contains(r"additional properties 'x\a\u0085\u200b' not allowed"), "{error}");
}

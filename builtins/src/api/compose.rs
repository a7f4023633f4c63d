//! Compose projects: `docker_compose`, `dc_resource`.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use builtins_language::{
    Args, BuiltinsExt, EvalResult, Evaluator, GlobalsBuilder, Outcome, Value, ValueLike,
    decode_utf8, raise,
};
use engine_formats::{
    Files,
    compose::{self, ComposeError, FileKind, ProjectRequest, World, cli},
    docker::reference::Reference,
    golang::{hex, path, quote::quote, time::now_rfc3339},
};
use engine_model::ComposeProject;
use sha2::{Digest, Sha256};

use super::{
    arguments::{Arguments as _, arguments},
    blob::Blob,
    coerce::{
        AbsPath, Labels, OrNone, Sequence, StrOrList, abs_path, go_type, one_or_sequence,
        plain_strings,
    },
    link::Links,
    trigger_mode::TriggerModeArg,
};
use crate::{
    cache::{self, ComposeConfigInputs, ComposeVersionInputs},
    declarations::{
        Declarations,
        compose::{ComposeResource, ServiceOptions},
    },
    host::{self, Output, RunError},
    session::{Session, Watch, link_info},
};

pub(super) fn register(builder: &mut GlobalsBuilder) {
    builder.function("docker_compose", docker_compose);
    builder.function("dc_resource", dc_resource);
}

arguments! {
    struct DockerComposeArgs<'v> {
        config_paths: Value<'v> = "configPaths",
        env_file: AbsPath = "env_file?",
        project_name: String = "project_name?",
        profiles: StrOrList = "profiles?",
        wait: OrNone<bool> = "wait?",
    }
}

/// Declares the services of a Compose project.
fn docker_compose<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let DockerComposeArgs { config_paths, env_file, project_name, profiles, wait } =
        DockerComposeArgs::unpack(eval, &args)?;
    let values = one_or_sequence(config_paths, eval.heap());
    if values.is_empty() {
        return Err(raise("Nothing to compose"));
    }
    let session = Session::of(eval);
    if !env_file.0.is_empty() {
        session.watch(Watch::FileOnly, &env_file.0).map_err(|why| raise(why.to_string()))?;
    }
    let mut project = ComposeProject {
        name: project_name,
        env_file: env_file.0,
        profiles: profiles.0.clone().unwrap_or_default(),
        wait: wait.0.unwrap_or(false),
        ..ComposeProject::default()
    };
    add_config_paths(session, &mut project, &values)?;
    if profiles.0.is_none()
        && let Some(from_env) = session.host.env("COMPOSE_PROFILES").filter(|it| !it.is_empty())
    {
        let name = quote(&project.name);
        session
            .info(&format!("Compose project {name} loading profiles from environment: {from_env}"));
        project.profiles = from_env.split(',').map(str::to_owned).collect();
    }
    declare(session, project)?;
    Ok(Value::new_none())
}

/// Fills in the files, and the path and name that follow from them.
fn add_config_paths(
    session: &Session,
    project: &mut ComposeProject,
    values: &[Value<'_>],
) -> EvalResult<()> {
    let set_if_empty = |field: &mut String, value: String| {
        if field.is_empty() {
            *field = value;
        }
    };
    let name_of_dir = |dir: &str| compose::normalize_project_name(&path::base(dir));
    for value in values {
        if let Some(blob) = value.downcast_ref::<Blob>() {
            let digest = hex::encode(&Sha256::digest(blob.text()));
            let file = session
                .host
                .write_scratch(&format!("{digest}.yml"), blob.text().as_bytes())
                .map_err(|why| raise(format!("unable to store yaml blob: {why}")))?;
            project.config_paths.push(file);
            continue;
        }
        let file = abs_path(*value, session).map_err(|_| {
            raise(format!("expected blob | path (string). Actual type: {}", go_type(*value)))
        })?;
        // Like Compose itself, the first file names the project.
        set_if_empty(&mut project.project_path, path::dir(&file));
        set_if_empty(&mut project.name, name_of_dir(&path::dir(&file)));
        session.watch(Watch::FileOnly, &file).map_err(|why| raise(why.to_string()))?;
        project.config_paths.push(file);
    }
    set_if_empty(&mut project.name, name_of_dir(&session.dir()));
    set_if_empty(&mut project.project_path, session.dir());
    Ok(())
}

/// Reads the project, together with earlier calls for a project of the same name.
fn declare(session: &Session, given: ComposeProject) -> EvalResult<()> {
    let spec = {
        let mut declarations = session.declarations.borrow_mut();
        let project = declarations.compose.project_mut(given.clone());
        for file in given.config_paths {
            if !project.spec.config_paths.contains(&file) {
                project.spec.config_paths.push(file);
            }
        }
        if !given.env_file.is_empty() {
            project.spec.env_file = given.env_file;
        }
        project.spec.clone()
    };
    let loaded = load(session, &spec).map_err(|why| raise(why.to_string()))?;

    let declarations = &mut *session.declarations.borrow_mut();
    declarations.compose.project_mut(spec.clone()).services.clear();
    let mut resources = Vec::new();
    for service in loaded.services {
        resources.push(resource(declarations, &spec, &loaded.name, service)?);
    }
    for resource in resources {
        declarations.check_name_is_free(&resource.name).map_err(|why| raise(why.to_string()))?;
        declarations.watched.extend(watched_env_files(session, &spec, &resource)?);
        declarations.compose.project_mut(spec.clone()).services.push(resource);
    }
    Ok(())
}

fn watched_env_files(
    session: &Session,
    spec: &ComposeProject,
    resource: &ComposeResource,
) -> EvalResult<Vec<String>> {
    let mut files = Vec::new();
    for file in &resource.service.env_files {
        let file = if path::is_abs(file) {
            file.clone()
        } else {
            path::join(&[spec.project_path.as_str(), file])
        };
        if session.is_watchable(Watch::FileOnly, &file).map_err(|why| raise(why.to_string()))? {
            files.push(file);
        }
    }
    Ok(files)
}

fn resource(
    declarations: &mut Declarations,
    spec: &ComposeProject,
    project_name: &str,
    service: compose::Service,
) -> EvalResult<ComposeResource> {
    let image_name = match service.image.as_deref() {
        None | Some("") => format!("{project_name}_{}", service.name),
        Some(image) => image.to_owned(),
    };
    let image = Reference::parse(&image_name).map_err(|why| {
        raise(format!(
            "getting service {}: Error parsing image name {}: {why}",
            service.name,
            quote(&image_name)
        ))
    })?;
    let options = declarations
        .compose
        .project_mut(spec.clone())
        .options
        .entry(service.name.clone())
        .or_default();
    options.resource_deps.extend(service.depends_on.iter().cloned());
    options.resource_deps.sort();
    options.resource_deps.dedup();
    Ok(ComposeResource { name: service.name.clone(), service, image })
}

/// Loads a project in process, or through the Compose command line if that fails.
fn load(session: &Session, spec: &ComposeProject) -> Result<compose::Project, ComposeError> {
    let env: BTreeMap<String, String> = session.host.env_vars().into_iter().collect();
    let request = ProjectRequest {
        config_paths: spec.config_paths.iter().map(PathBuf::from).collect(),
        project_dir: PathBuf::from(&spec.project_path),
        name: spec.name.clone(),
        env_file: (!spec.env_file.is_empty()).then(|| PathBuf::from(&spec.env_file)),
        profiles: spec.profiles.clone(),
        env,
    };
    let world = ComposeWorld(session);
    compose::load_or_ask_cli(&request, &world, &mut |args| {
        let command = compose_command(session).argv;
        let dir = path::dir(&session.main_path);
        let inputs = ComposeConfigInputs { command: &command, args, dir: &dir, request: &request };
        cache::remember(session, &inputs, || {
            let argv = [command.as_slice(), args].concat();
            let ran = run(session, &argv);
            match ran.outcome {
                Ok(0) => Ok(ran.stdout),
                Ok(code) => Err(cli::failure(
                    &argv,
                    &format!("exit status {code}"),
                    &ran.stdout,
                    Some(&ran.stderr),
                )),
                Err(why) => Err(cli::failure(&argv, &why.to_string(), &ran.stdout, None)),
            }
        })
    })
}

/// The Compose command line, and what it says about its version.
pub(crate) struct ComposeCommand {
    argv: Vec<String>,
    /// Its version, if known.
    pub(crate) version: Option<String>,
}

/// The first command that is Compose.
pub(crate) fn compose_command(session: &Session) -> ComposeCommand {
    let chosen = session.host.env("TILT_DOCKER_COMPOSE_CMD");
    let mut found = ComposeCommand { argv: Vec::new(), version: None };
    for argv in cli::candidates(chosen.as_deref()) {
        let version = cache::remember(session, &ComposeVersionInputs { command: &argv }, || {
            let ran = run(session, &[argv.as_slice(), &["version".to_owned()]].concat());
            if matches!(ran.outcome, Ok(0)) { Ok(ran.stdout) } else { Err(()) }
        });
        found.argv = argv;
        if let Ok(text) = version {
            found.version = cli::parse_version(&text).ok().map(|(version, _)| version);
            break;
        }
    }
    found
}

struct Ran {
    outcome: Result<i32, RunError>,
    stdout: String,
    stderr: String,
}

fn run(session: &Session, argv: &[String]) -> Ran {
    let command = host::Command {
        argv: argv.to_vec(),
        dir: path::dir(&session.main_path),
        env: session.host.env_vars(),
        stdin: None,
    };
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let outcome = session.host.run(&command, &mut |which, bytes| match which {
        Output::Stdout => stdout.extend_from_slice(bytes),
        Output::Stderr => stderr.extend_from_slice(bytes),
    });
    Ran { outcome, stdout: decode_utf8(&stdout), stderr: decode_utf8(&stderr) }
}

/// The files of a project, through the host.
struct ComposeWorld<'a>(&'a Session);

impl Files for ComposeWorld<'_> {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        Files::read(self.0, path)
    }
}

impl World for ComposeWorld<'_> {
    fn stat(&self, path: &Path) -> io::Result<FileKind> {
        let info = self.0.host.stat(&path.to_string_lossy())?;
        Ok(if info.kind == host::FileKind::Directory {
            FileKind::Directory
        } else {
            FileKind::File
        })
    }

    fn is_symlink(&self, path: &Path) -> bool {
        self.0
            .host
            .lstat(&path.to_string_lossy())
            .is_ok_and(|it| it.kind == host::FileKind::Symlink)
    }

    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        path::eval_symlinks(&path.to_string_lossy(), |it| link_info(self.0.host.as_ref(), it))
            .map(PathBuf::from)
            .map_err(|why| {
                if why.is_not_found() {
                    io::ErrorKind::NotFound.into()
                } else {
                    io::Error::other(why)
                }
            })
    }

    fn warn(&self, text: &str) {
        // Compose has a log of its own, whose lines look like this.
        let (time, message) = (now_rfc3339(), quote(text));
        self.0.warn(&format!("time=\"{time}\" level=warning msg={message}"));
    }

    fn warn_obsolete_version(&self, file: &str) {
        let is_news =
            self.0.declarations.borrow_mut().compose.obsolete_versions.insert(file.to_owned());
        if is_news {
            self.warn(&format!(
                "{file}: the attribute `version` is obsolete, it will be ignored, \
                 please remove it to avoid potential confusion"
            ));
        }
    }
}

arguments! {
    struct DcResourceArgs<'v> {
        name: String = "name",
        image: Option<Value<'v>> = "image?",
        trigger_mode: Option<TriggerModeArg> = "trigger_mode?",
        resource_deps: Sequence<'v> = "resource_deps?",
        infer_links: OrNone<bool> = "infer_links?",
        links: Links = "links?",
        labels: Labels = "labels?",
        auto_init: OrNone<bool> = "auto_init?",
        project_name: String = "project_name?",
        new_name: String = "new_name?",
    }
}

/// Says something about a service.
fn dc_resource<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let given = DcResourceArgs::unpack(eval, &args)?;
    if given.name.is_empty() {
        return Err(raise("dc_resource: `name` must not be empty"));
    }
    let image_name = match given.image {
        None => None,
        Some(value) => match value.unpack_str() {
            Some(text) => Some(text),
            None => {
                return Err(raise(format!("image arg must be a string; got {}", go_type(value))));
            }
        },
    };
    let declarations = &mut *Session::of(eval).declarations.borrow_mut();
    let (project, place) = declarations
        .compose
        .find(&given.name, &given.project_name)
        .map_err(|why| raise(why.to_string()))?;
    if !given.new_name.is_empty() {
        declarations.check_name_is_free(&given.new_name).map_err(|why| raise(why.to_string()))?;
        declarations.compose.projects[project].rename(place, &given.new_name);
    }
    let image =
        image_name.map(Reference::parse).transpose().map_err(|why| raise(why.to_string()))?;
    let resource_deps = plain_strings(&given.resource_deps.0)
        .map_err(|why| args.error(format!("resource_deps: {why}")))?;

    let project = &mut declarations.compose.projects[project];
    let name = project.services[place].name.clone();
    let options: &mut ServiceOptions = project.options.entry(name).or_default();
    options.trigger_mode = given.trigger_mode.or(options.trigger_mode);
    options.infer_links = given.infer_links.0.or(options.infer_links);
    options.links.extend(given.links.0);
    options.labels.extend(given.labels.0);
    options.image = image.or_else(|| options.image.take());
    options.auto_init = given.auto_init.0.or(options.auto_init);
    for dep in resource_deps {
        if !options.resource_deps.contains(&dep) {
            options.resource_deps.push(dep);
        }
    }
    Ok(Value::new_none())
}

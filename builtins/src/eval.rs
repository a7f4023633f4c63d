//! Evaluates a Tiltfile: finds it, executes it, and assembles its declarations.

use std::{io, sync::Arc, time::Instant};

use builtins_language::{Interpreter, Limits, on_large_stack};
use engine_formats::{
    docker::ignore,
    golang::{os_error::PathError, path},
};
use engine_model::{GoDuration, IgnorePatterns, Load, LoadedRepo};

use crate::{
    api, assemble,
    declarations::Declarations,
    diagnostic::{Failure, Problem},
    host::Host,
    loader,
    session::{BuiltinCall, Request, Session},
};

mod secrets;

/// What an evaluation yields.
#[derive(Debug, Default)]
pub struct Evaluation {
    /// The result; after a failure, what is known in spite of it.
    pub load: Load,
    /// Why it failed, if it did.
    pub failure: Option<Failure>,
    /// Calls of builtins, if requested.
    pub calls: Vec<BuiltinCall>,
    /// The cluster, if requested.
    pub cluster: Option<api::KubeCluster>,
    /// The repositories that extensions were loaded from; the standard library is none.
    pub repositories: Vec<LoadedRepo>,
}

/// Evaluates a Tiltfile.
///
/// It runs on a thread of its own, whose stack is large enough for deeply nested code.
pub fn evaluate(request: &Request, host: Arc<dyn Host>) -> Evaluation {
    let limits = Limits::from_env(|name| host.env(name));
    let work = || evaluate_here(request, host, limits.clone());
    on_large_stack(limits.call_depth, work).unwrap_or_else(|error| {
        let message = format!("cannot start a thread for the evaluation: {error}");
        Evaluation::failed(Load::default(), vec![Problem::new("engine::thread", message)])
    })
}

impl Evaluation {
    fn failed(load: Load, problems: Vec<Problem>) -> Self {
        Self { load, failure: Some(Failure::from_problems(problems)), ..Self::default() }
    }
}

fn evaluate_here(request: &Request, host: Arc<dyn Host>, limits: Limits) -> Evaluation {
    let started = Instant::now();
    let main_path = match real_path(request, host.as_ref()) {
        Ok(path) => path,
        Err((watched, problem)) => {
            let load = Load { config_files: vec![watched], ..Load::default() };
            return Evaluation::failed(load, vec![*problem]);
        }
    };
    let tiltignore_path = path::join(&[path::dir(&main_path).as_str(), ".tiltignore"]);
    let mut load =
        Load { config_files: vec![main_path.clone(), tiltignore_path.clone()], ..Load::default() };
    match read_tiltignore(host.as_ref(), &main_path, &tiltignore_path) {
        Ok(tiltignore) => load.tiltignore = tiltignore,
        Err(problem) => return Evaluation::failed(load, vec![problem]),
    }

    let session = Session::new(request.clone(), host, main_path.clone());
    session.info(&format!("Loading Tiltfile at: {main_path}"));
    let globals = api::globals(&session);
    let interpreter = Interpreter::new(globals, Box::new(session), limits);
    let session: &Session = interpreter.embedder().expect("it is the one we just made");

    let outcome = execute(session, &interpreter, &main_path);
    let mut declarations = session.declarations.take();
    let mut places = Vec::new();
    let outcome = outcome.and_then(|()| {
        let assembled =
            assemble::assemble(session, &mut declarations).map_err(Failure::from_problems)?;
        declarations.watched.extend(assembled.ignore_files);
        places = assembled.places;
        load.manifests = assembled.manifests;
        load.enabled_manifests =
            assemble::enabled::enabled(&declarations.config, &request.args, &load.manifests)
                .map_err(|problem| Failure::from_problems(vec![problem]))?;
        Ok(())
    });
    fill(&mut load, session, declarations, &places);
    let mut failure = outcome.err();
    if let Some(failure) = &mut failure {
        failure.sources = session.sources.take();
        failure.dir = path::dir(&main_path);
    } else {
        let elapsed = GoDuration(i64::try_from(started.elapsed().as_nanos()).unwrap_or(i64::MAX));
        session.info(&format!("Successfully loaded Tiltfile ({elapsed})"));
    }
    let cluster = request.pin_kubeconfig.then(|| api::kube_cluster(session));
    let repositories = session.loader.repositories();
    Evaluation { load, failure, calls: session.calls.take(), cluster, repositories }
}

/// Executes the main Tiltfile, then asks it for the names of workloads, if it wants to give them.
fn execute(session: &Session, interpreter: &Interpreter, main_path: &str) -> Result<(), Failure> {
    let executed = loader::execute(session, interpreter, main_path);
    if let Err(error) = executed
        && error.payload::<api::Exit>().is_none()
    {
        return Err(Failure::from_error(&error));
    }
    api::ask_for_names(session, interpreter).map_err(|why| {
        let problem = Problem::new("tiltfile::workload_names", why.to_string());
        Failure::from_problems(vec![match why.error() {
            Some(error) => problem.advise_on(error),
            None => problem,
        }])
    })
}

/// The absolute path of the main Tiltfile, links resolved; else what to watch, and what is wrong.
fn real_path(request: &Request, host: &dyn Host) -> Result<String, (String, Box<Problem>)> {
    let given = &request.path;
    let absolute = if path::is_abs(given) {
        path::clean(given)
    } else {
        path::join(&[host.current_dir().as_str(), given])
    };
    path::eval_symlinks(&absolute, |it| crate::session::link_info(host, it)).map_err(|why| {
        if why.is_not_found() {
            let message = format!(
                "No Tiltfile found at paths '{absolute}'. Check out https://docs.tilt.dev/tutorial.html"
            );
            let mut problem = Problem::new("tiltfile::not_found", message);
            problem.help = Some("run this in the directory of the Tiltfile, or pass its path with `-f`".to_owned());
            (absolute.clone(), Box::new(problem))
        } else {
            (absolute.clone(), Box::new(Problem::new("tiltfile::not_found", why.to_string())))
        }
    })
}

fn read_tiltignore(
    host: &dyn Host,
    main_path: &str,
    file: &str,
) -> Result<IgnorePatterns, Problem> {
    let problem = |message: String| Problem::new("tiltfile::tiltignore", message);
    let bytes = match host.read(file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(IgnorePatterns::default());
        }
        Err(error) => return Err(problem(PathError::reading(file, &error).to_string())),
    };
    let patterns = ignore::read_patterns(&engine_model::path::bytes_to_text(&bytes))
        .map_err(|why| problem(format!("Parsing .tiltignore: {why}")))?;
    Ok(IgnorePatterns {
        local_path: path::dir(main_path),
        source: file.to_owned(),
        patterns: (!patterns.is_empty()).then_some(patterns),
    })
}

/// Takes over what was said about the engine, also if the evaluation failed. The places are those of objects, in the
/// order of their resources, if it got that far.
fn fill(load: &mut Load, session: &Session, declarations: Declarations, places: &[usize]) {
    let Declarations { watched, objects, settings, images, kubernetes, .. } = declarations;
    let mut config_files = watched;
    config_files.extend(load.config_files.drain(..));
    load.config_files = config_files.into_iter().collect();
    load.feature_flags = settings.features.values().clone();
    load.team_id = settings.team_id;
    load.telemetry_settings = settings.telemetry;
    if settings.scrub_secrets {
        load.secrets = secrets::of(&kubernetes.objects, places);
    }
    load.docker_prune_settings = settings.docker_prune;
    load.analytics_opt = settings.analytics;
    load.version_settings = settings.version;
    load.update_settings = settings.update;
    load.watch_settings = settings.watch;
    load.default_registry = images.registry;
    load.object_set = objects.into_set();
    load.hashes = session.loader.hashes();
    load.ci_settings = settings.ci;
}

#[cfg(test)]
mod tests;

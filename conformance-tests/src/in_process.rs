//! Evaluates a case with the library, without starting a program: what the command line prints, printed here.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use builtins::{
    Request,
    host::{Level, OsHost},
};

use crate::{
    runner::{Answer, Verbosity},
    sandbox::Sandbox,
};

/// The exit code for problems in the Tiltfile.
const TILTFILE_FAILURE: i32 = 5;

pub(crate) fn evaluate(sandbox: &Sandbox, verbosity: Verbosity, stands_for: &Path) -> Answer {
    let log = Arc::new(Mutex::new(String::new()));
    let sink = Arc::clone(&log);
    let keep = move |level: Level, text: &str| {
        if level != Level::Debug {
            sink.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
        }
    };
    let host = OsHost::new(sandbox.env.clone(), Box::new(keep)).in_dir(sandbox.work.clone());
    let host = Arc::new(host);
    let evaluation = builtins::evaluate(&request(sandbox, verbosity, stands_for), host);

    let mut stderr = std::mem::take(&mut *log.lock().unwrap_or_else(PoisonError::into_inner));
    if let Some(failure) = evaluation.failure {
        stderr.push_str(&failure.text);
        stderr.push('\n');
        return Answer { exit_code: TILTFILE_FAILURE, stdout: Vec::new(), stderr: stderr.into() };
    }
    if verbosity == Verbosity::Quiet {
        stderr.clear();
    }
    let stdout = serde_json::to_vec(&evaluation.load).unwrap_or_default();
    Answer { exit_code: 0, stdout, stderr: stderr.into() }
}

fn request(sandbox: &Sandbox, verbosity: Verbosity, stands_for: &Path) -> Request {
    let program = stands_for.to_string_lossy().into_owned();
    let mut argv = vec![program.clone(), "alpha".to_owned(), "tiltfile-result".to_owned()];
    if verbosity == Verbosity::Verbose {
        argv.push("-v".to_owned());
    }
    argv.extend(["-f".to_owned(), "Tiltfile".to_owned()]);
    if let Some(args) = &sandbox.args {
        argv.push("--".to_owned());
        argv.extend(args.iter().cloned());
    }
    let mut request = Request::new("Tiltfile", "alpha tiltfile-result");
    request.args = sandbox.args.clone().unwrap_or_default();
    request.argv = argv;
    request.executable = Some(program);
    request
}

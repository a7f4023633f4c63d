//! `kustomize`: builds the objects of an overlay.
//!
//! Kustomize does the building; this module decides which program runs and which files are watched.

use builtins_language::{Args, BuiltinsExt, Evaluator, GlobalsBuilder, Outcome, raise};
use engine_formats::golang::{
    path,
    quote::{command_line, quote},
};
use engine_model::Cmd;

use super::{
    blob::Blob,
    coerce::{AbsPath, StrList},
    local::{self, CommandFailed, RunOptions},
};
use crate::{
    cache::{self, KustomizeInputs},
    host::FileKind,
    session::{Session, Watch},
};

mod deps;
mod file;
mod schema;

pub(super) fn register(builder: &mut GlobalsBuilder) {
    builder.function("kustomize", kustomize);
}

/// The objects of an overlay, as a blob.
fn kustomize<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let (mut overlay, mut program, mut flags) =
        (AbsPath::default(), AbsPath::default(), StrList::default());
    args.unpack(
        eval,
        &mut [("paths", &mut overlay), ("kustomize_bin?", &mut program), ("flags?", &mut flags)],
    )?;
    let session = Session::of(eval);
    let text =
        build(session, &overlay.0, &program.0, &flags.0).map_err(|why| raise(why.to_string()))?;
    for file in
        deps::of(session, &overlay.0).map_err(|why| raise(format!("resolving deps: {why}")))?
    {
        session.watch(Watch::Recursive, &file).map_err(|why| raise(why.to_string()))?;
    }
    Ok(eval.heap().alloc(Blob::new(text, format!("kustomize: {}", overlay.0))))
}

/// Why an overlay cannot be built.
#[derive(Debug, thiserror::Error)]
enum KustomizeError {
    /// In the words of Go's `exec.LookPath`.
    #[error("exec: {}: {why}", quote(.program))]
    Program { program: String, why: String },
    #[error(transparent)]
    Unreachable(#[from] path::RelError),
    #[error(transparent)]
    Command(#[from] CommandFailed),
}

/// What Kustomize prints, from the cache if nothing that it reads has changed.
fn build(
    session: &Session,
    overlay: &str,
    program: &str,
    flags: &[String],
) -> Result<String, KustomizeError> {
    let mut argv = command(session, program)?;
    let program_words = argv.len();
    argv.extend_from_slice(flags);
    // Some versions of Kustomize mishandle absolute paths.
    argv.push(path::rel(&session.dir(), overlay)?);
    session.info(&format!("Running: {}", command_line(&argv)));

    let cmd = Cmd { argv: Some(argv), dir: session.dir(), ..Cmd::default() };
    let argv = cmd.argv.as_deref().unwrap_or_default();
    let inputs = KustomizeInputs { argv, program_words, dir: &cmd.dir, overlay };
    let run = || local::run(session, &cmd, &RunOptions::default());
    Ok(cache::remember(session, &inputs, run)?)
}

/// The program and its subcommand: the one that was asked for, else `kustomize`, else `kubectl`.
fn command(session: &Session, program: &str) -> Result<Vec<String>, KustomizeError> {
    let words = |words: [&str; 2]| words.map(str::to_owned).into();
    if !program.is_empty() {
        check_program(session, program)?;
        return Ok(words([program, "build"]));
    }
    if session.host.find_program("kustomize").is_some() {
        return Ok(words(["kustomize", "build"]));
    }
    session.info("Falling back to `kubectl kustomize` since `kustomize` was not found in PATH");
    Ok(words(["kubectl", "kustomize"]))
}

/// Refuses a path that cannot be run, in the words of Go's `exec.LookPath`.
fn check_program(session: &Session, program: &str) -> Result<(), KustomizeError> {
    let why = match session.host.stat(program) {
        Err(error) => {
            engine_formats::golang::os_error::PathError::new("stat", program, &error).to_string()
        }
        Ok(info) if info.kind == FileKind::Directory => "is a directory".to_owned(),
        Ok(_) if session.host.find_program(program).is_none() => "permission denied".to_owned(),
        Ok(_) => return Ok(()),
    };
    Err(KustomizeError::Program { program: program.to_owned(), why })
}

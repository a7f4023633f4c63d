//! Loads other files: resolves their paths, and executes each at most once.

use std::{cell::RefCell, collections::HashMap, rc::Rc};

use builtins_language::{
    EvalError, EvalResult, Evaluator, Interpreter, Loaded, interpreter, syntax::decode_source,
};
use engine_formats::golang::{hex, path};
use engine_model::{Hashes, LoadedRepo};
use sha2::{Digest, Sha256};

use crate::{
    diagnostic::{Advice, MissingExtension},
    extension::{self, ExtensionError, Repositories},
    session::{Session, Watch, frames_of_call},
};

/// How deep files may load files.
const MAX_NESTED: usize = 500;

/// A file that is or was executed.
#[derive(Debug)]
enum State {
    Executing,
    Done(Rc<Loaded>),
    Failed(EvalError),
}

/// Files that are or were executed, by absolute path.
#[derive(Debug, Default)]
pub struct Loader {
    files: RefCell<HashMap<String, State>>,
    repositories: Repositories,
    digests: RefCell<Digests>,
}

#[derive(Debug, Default)]
struct Digests {
    main: String,
    all: Sha256,
}

impl Loader {
    /// Digests of what was executed.
    pub fn hashes(&self) -> Hashes {
        let digests = self.digests.borrow();
        Hashes {
            tiltfile: digests.main.clone(),
            all_files: hex::encode(&digests.all.clone().finalize()),
        }
    }

    /// The repositories that extensions were loaded from.
    pub fn repositories(&self) -> Vec<LoadedRepo> {
        self.repositories.used()
    }

    /// A file that was executed.
    pub fn get(&self, file: &str) -> Option<Rc<Loaded>> {
        match self.files.borrow().get(file)? {
            State::Done(loaded) => Some(Rc::clone(loaded)),
            State::Executing | State::Failed(_) => None,
        }
    }
}

/// Executes the file that a builtin names, or finds the result of an earlier execution.
///
/// # Errors
/// If it cannot be read, or fails.
pub(crate) fn load(
    eval: &mut Evaluator<'_, '_, '_>,
    builtin: &str,
    path: &str,
) -> EvalResult<Rc<Loaded>> {
    let session = Session::of(eval);
    let interpreter = interpreter(eval)?;
    let frames = frames_of_call(eval, builtin);
    session.with_outer_frames(frames, || execute(session, interpreter, path)).map_err(|error| {
        let message = error.message.clone();
        error.into_raised(message)
    })
}

/// Executes the file that a path means, or finds the result of an earlier execution.
///
/// # Errors
/// If it cannot be found or read, or fails.
pub(crate) fn execute(
    session: &Session,
    interpreter: &Interpreter,
    module: &str,
) -> Result<Rc<Loaded>, EvalError> {
    let file = match module.strip_prefix(extension::PREFIX) {
        Some(module) => {
            let objects = &mut session.declarations.borrow_mut().objects;
            let (host, known) = (session.host.as_ref(), &session.loader.repositories);
            let project = path::dir(&session.main_path);
            extension::resolve(host, known, &project, objects, module)
                .map_err(|why| of_extension(&why))?
        }
        None => session.abs(module),
    };
    match session.loader.files.borrow().get(&file) {
        Some(State::Done(loaded)) => return Ok(Rc::clone(loaded)),
        Some(State::Executing) => {
            let error = EvalError::new(format!("Circular load: {file}"));
            return Err(error.with_payload(Advice::SplitFile));
        }
        Some(State::Failed(error)) => return Err(error.clone()),
        None => {}
    }
    if session.n_executing() >= MAX_NESTED {
        return Err(EvalError::new(format!("files load files too deeply: more than {MAX_NESTED}")));
    }
    session.loader.files.borrow_mut().insert(file.clone(), State::Executing);
    let result = session.while_executing(&file, || execute_file(session, interpreter, &file));
    let state = match &result {
        Ok(loaded) => State::Done(Rc::clone(loaded)),
        Err(error) => State::Failed(error.clone()),
    };
    session.loader.files.borrow_mut().insert(file, state);
    result
}

/// The error in Tilt's words, with what is known about the extension.
fn of_extension(why: &ExtensionError) -> EvalError {
    let error = EvalError::new(why.to_string());
    match why {
        ExtensionError::Missing { name, source } => {
            let is_offline = matches!(**source, ExtensionError::Repo { .. });
            error.with_payload(MissingExtension { name: name.clone(), is_offline })
        }
        _ => error,
    }
}

fn execute_file(
    session: &Session,
    interpreter: &Interpreter,
    file: &str,
) -> Result<Rc<Loaded>, EvalError> {
    let bytes = session
        .read(file)
        .map_err(|why| EvalError::new(format!("error reading file {file}: {why}")))?;
    session.watch(Watch::FileOnly, file).map_err(|why| EvalError::new(why.to_string()))?;
    let is_main = file == session.main_path;
    {
        let mut digests = session.loader.digests.borrow_mut();
        digests.all.update(&bytes);
        if is_main {
            digests.main = hex::encode(&Sha256::digest(&bytes));
        }
    }
    let source = decode_source(&bytes);
    session.sources.borrow_mut().insert(file.to_owned(), source.clone().into_owned());
    let base = path::base(file);
    let name = if is_main { "__main__" } else { &base };
    interpreter.exec(file, &source, &[("__file__", file), ("__name__", name)]).map(Rc::new)
}

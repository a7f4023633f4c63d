//! `local_git_repo`: a local repository that can be used wherever a path is expected.

use std::fmt;

use builtins_language::{
    ApiValue, Args, BoundNative, BuiltinsExt, Evaluator, GlobalsBuilder, Heap, Outcome, Value,
    api_value, raise,
};
use engine_formats::golang::{os_error::PathError, path};

use crate::session::Session;

pub(super) fn register(builder: &mut GlobalsBuilder) {
    builder.function("local_git_repo", local_git_repo);
}

/// A repository, known by its root.
#[derive(Clone, Debug)]
pub struct GitRepo {
    root: String,
}

api_value!(GitRepo);

impl GitRepo {
    /// The absolute path of its root.
    pub fn path(&self) -> &str {
        &self.root
    }
}

impl fmt::Display for GitRepo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[git.Repo] '{}'", self.root)
    }
}

impl ApiValue for GitRepo {
    const TYPE: &'static str = "git.Repo";

    fn attr<'v>(&self, name: &str, heap: Heap<'v>) -> Option<Value<'v>> {
        (name == "paths").then(|| heap.alloc(BoundNative::new("paths", &self.root, join_root)))
    }

    fn attr_names(&self) -> Vec<String> {
        vec!["paths".to_owned()]
    }
}

/// A path inside the repository.
fn join_root<'v>(eval: &mut Evaluator<'v, '_, '_>, root: &str, args: &Args<'v>) -> Outcome<'v> {
    let relative: String = args.only(eval, "paths")?;
    Ok(eval.heap().alloc(path::join(&[root, relative.as_str()])))
}

/// Finds a git repository on this machine.
fn local_git_repo<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let given: String = args.only(eval, "paths")?;
    let session = Session::of(eval);
    let root = session.abs(&given);
    session.host.stat(&root).map_err(|error| {
        raise(format!("Reading paths {root}: {}", PathError::new("stat", &root, &error)))
    })?;
    if session.host.stat(&path::join(&[root.as_str(), ".git"])).is_err() {
        return Err(raise(format!(
            "{root} isn't a valid git repo: it doesn't have a .git/ directory"
        )));
    }
    Ok(eval.heap().alloc(GitRepo { root }))
}

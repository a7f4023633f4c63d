//! `local_git_repo`: a repository on this machine, usable wherever a path is.

use std::fmt;

use allocative::Allocative;
use starlark::{
    any::ProvidesStaticType,
    environment::GlobalsBuilder,
    eval::Evaluator,
    starlark_simple_value,
    values::{Heap, NoSerialize, StarlarkPagablePanic, StarlarkValue, Value, starlark_value},
};

use super::method::BoundNative;
use crate::{
    dialect::{args::Args, error::raise, native::BuiltinsExt},
    golang::{os_error::PathError, path},
    session::Session,
};

pub(super) fn register(builder: &mut GlobalsBuilder) {
    builder.function("local_git_repo", local_git_repo);
}

/// A repository, known by its root.
#[derive(Clone, Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub struct GitRepo {
    root: String,
}

starlark_simple_value!(GitRepo);

impl GitRepo {
    /// The absolute path of its root.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.root
    }
}

impl fmt::Display for GitRepo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[git.Repo] '{}'", self.root)
    }
}

#[starlark_value(type = "git.Repo")]
impl<'v> StarlarkValue<'v> for GitRepo {
    fn get_attr(&self, attribute: &str, heap: Heap<'v>) -> Option<Value<'v>> {
        (attribute == "paths").then(|| heap.alloc(BoundNative::new("paths", &self.root, join_root)))
    }

    fn dir_attr(&self) -> Vec<String> {
        vec!["paths".to_owned()]
    }
}

/// A path inside the repository.
fn join_root<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    root: &str,
    args: &Args<'v>,
) -> starlark::Result<Value<'v>> {
    let mut relative = String::new();
    args.unpack(eval, &mut [("paths", &mut relative)])?;
    Ok(eval.heap().alloc(path::join(&[root, relative.as_str()])))
}

/// Finds a git repository on this machine.
fn local_git_repo<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    args: Args<'v>,
) -> starlark::Result<Value<'v>> {
    let mut given = String::new();
    args.unpack(eval, &mut [("paths", &mut given)])?;
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

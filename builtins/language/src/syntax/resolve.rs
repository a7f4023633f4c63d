//! Decides what every name refers to, and rejects programs whose names or statements are out of
//! place, in the order and words of starlark-go.
//!
//! The first error wins. Names used at top level are looked up on the spot, so a use before the
//! binding still means the builtin; names used inside functions and comprehensions are looked up
//! when the whole file has been seen.

mod calls;
mod scope;
mod walk;

use std::collections::HashSet;

use scope::{FILE, ScopeBlock};

use super::{
    Fault,
    ast::{Ast, ExprId},
};

/// What kind of variable a name refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// A variable of the function, comprehension or (loaded names) file.
    Local,
    /// A variable of an enclosing function.
    Free,
    /// A top-level variable of the file.
    Global,
    /// A predeclared or universal name.
    Builtin,
}

/// What the names of a file refer to.
#[derive(Debug)]
pub struct Resolution {
    scopes: Vec<Option<Scope>>,
    /// The names the file binds at top level, without loaded ones, in order of first binding.
    pub globals: Vec<String>,
    /// The local names of loaded values, in order of first binding.
    pub loaded: Vec<String>,
}

impl Resolution {
    /// What an identifier refers to; identifiers that are not variables (attributes, names of
    /// keyword arguments) refer to nothing.
    pub fn scope(&self, id: ExprId) -> Option<Scope> {
        self.scopes[id.index()]
    }
}

/// Resolves a file.
pub(super) fn resolve(
    source: &str,
    ast: &Ast,
    is_builtin: &dyn Fn(&str) -> bool,
) -> Result<Resolution, Fault> {
    let mut resolver = Resolver {
        source,
        ast,
        is_builtin,
        blocks: vec![ScopeBlock::new(FILE, false)],
        env: FILE,
        globals: HashSet::new(),
        global_names: Vec::new(),
        loaded: Vec::new(),
        scopes: vec![None; ast.expr_count()],
        loops: 0,
        conditionals: 0,
    };
    resolver.stmts(&ast.body)?;
    resolver.resolve_local_uses(FILE);
    resolver.resolve_remaining_uses()?;
    let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
    Ok(Resolution {
        scopes: resolver.scopes,
        globals: owned(resolver.global_names),
        loaded: resolver.loaded,
    })
}

struct Resolver<'a> {
    source: &'a str,
    ast: &'a Ast,
    is_builtin: &'a dyn Fn(&str) -> bool,
    blocks: Vec<ScopeBlock<'a>>,
    /// The innermost block.
    env: usize,
    globals: HashSet<&'a str>,
    global_names: Vec<&'a str>,
    loaded: Vec<String>,
    scopes: Vec<Option<Scope>>,
    loops: u32,
    conditionals: u32,
}

//! Decides which binding a use of a name finds.

use std::{borrow::Cow, collections::HashMap};

use engine_formats::golang::spell;

use super::{
    super::{Fault, ast::ExprId},
    Resolver, Scope,
};
use crate::error::{Complaint, Mistake};

/// The index of the file's block.
pub(super) const FILE: usize = 0;

/// A lexical block: the file, a function or a comprehension.
pub(super) struct ScopeBlock<'a> {
    parent: usize,
    is_function: bool,
    bindings: HashMap<Cow<'a, str>, Scope>,
    /// Uses of names inside this function or file that are not resolved yet.
    uses: Vec<Use<'a>>,
}

/// A use of a name, and the innermost block around it.
#[derive(Clone, Copy)]
pub(super) struct Use<'a> {
    id: ExprId,
    name: &'a str,
    env: usize,
}

impl ScopeBlock<'_> {
    pub(super) fn new(parent: usize, is_function: bool) -> Self {
        ScopeBlock { parent, is_function, bindings: HashMap::new(), uses: Vec::new() }
    }
}

impl<'a> Resolver<'a> {
    pub(super) fn push_block(&mut self, is_function: bool) {
        self.blocks.push(ScopeBlock::new(self.env, is_function));
        self.env = self.blocks.len() - 1;
    }

    pub(super) fn pop_block(&mut self) {
        self.env = self.blocks[self.env].parent;
    }

    /// The innermost function around, or the file.
    fn container(&self) -> usize {
        let mut env = self.env;
        while env != FILE && !self.blocks[env].is_function {
            env = self.blocks[env].parent;
        }
        env
    }

    pub(super) fn in_function(&self) -> bool {
        self.container() != FILE
    }

    /// Binds a name in the current block and says whether it was bound there before.
    pub(super) fn bind(&mut self, id: ExprId) -> Result<bool, Fault> {
        let name = self.ast.text(self.source, id);
        if self.env != FILE {
            let known = self.blocks[self.env].bindings.insert(name.into(), Scope::Local).is_some();
            self.use_name(id)?;
            return Ok(known);
        }
        if let Some(&scope) = self.blocks[FILE].bindings.get(name) {
            self.scopes[id.index()] = Some(scope);
            return Ok(true);
        }
        self.scopes[id.index()] = Some(Scope::Global);
        let known = !self.globals.insert(name);
        if !known {
            self.global_names.push(name);
        }
        Ok(known)
    }

    /// Binds a loaded name, which is local to the file.
    pub(super) fn bind_loaded(&mut self, id: ExprId, name: Cow<'_, str>) {
        self.scopes[id.index()] = Some(Scope::Local);
        let name = name.into_owned();
        let file = &mut self.blocks[FILE].bindings;
        if file.insert(name.clone().into(), Scope::Local).is_none() {
            self.loaded.push(name);
        }
    }

    pub(super) fn use_name(&mut self, id: ExprId) -> Result<(), Fault> {
        let name = self.ast.text(self.source, id);
        let found = Use { id, name, env: self.env };
        if self.env == FILE {
            let scope = self.look_up_toplevel(found)?;
            self.scopes[id.index()] = Some(scope);
        } else {
            let container = self.container();
            self.blocks[container].uses.push(found);
        }
        Ok(())
    }

    fn look_up_toplevel(&self, found: Use<'a>) -> Result<Scope, Fault> {
        if let Some(&scope) = self.blocks[FILE].bindings.get(found.name) {
            return Ok(scope);
        }
        if self.globals.contains(found.name) {
            return Ok(Scope::Global);
        }
        if (self.is_builtin)(found.name) {
            return Ok(Scope::Builtin);
        }
        let (name, hint) = (found.name.to_owned(), self.suggestion(found));
        let mut complaint = Complaint::with_hint(format!("undefined: {name}"), hint, None);
        complaint.mistake = Some(Mistake::Undefined { name, meant: hint.map(str::to_owned) });
        Err(Fault { offset: self.ast.expr(found.id).start as usize, complaint })
    }

    /// The name in sight that was probably meant; builtins are not among the candidates, except
    /// those that the enclosing functions have been found to use.
    fn suggestion(&self, found: Use<'a>) -> Option<&str> {
        let mut names: Vec<&str> = self.global_names.clone();
        let mut env = found.env;
        loop {
            names.extend(self.blocks[env].bindings.keys().map(AsRef::as_ref));
            if env == FILE {
                break;
            }
            env = self.blocks[env].parent;
        }
        names.sort_unstable();
        spell::nearest(found.name, names.iter().copied())
    }

    /// Resolves the uses inside a function or the file that its own variables satisfy.
    pub(super) fn resolve_local_uses(&mut self, container: usize) {
        let mut uses = std::mem::take(&mut self.blocks[container].uses);
        uses.retain(|found| {
            let local = self.is_local(found);
            if local {
                self.scopes[found.id.index()] = Some(Scope::Local);
            }
            !local
        });
        self.blocks[container].uses = uses;
    }

    fn is_local(&self, found: &Use<'a>) -> bool {
        let mut env = found.env;
        loop {
            let block = &self.blocks[env];
            if block.bindings.contains_key(found.name) {
                return true;
            }
            if env == FILE || block.is_function {
                return false;
            }
            env = block.parent;
        }
    }

    /// Resolves what is left at the end of the file, inner blocks first.
    pub(super) fn resolve_remaining_uses(&mut self) -> Result<(), Fault> {
        for block in self.inner_blocks_first() {
            for found in std::mem::take(&mut self.blocks[block].uses) {
                let scope = self.look_up(found)?;
                self.scopes[found.id.index()] = Some(scope);
            }
        }
        Ok(())
    }

    /// Looks a name up from the inside out, and remembers it in every block on the way.
    fn look_up(&mut self, found: Use<'a>) -> Result<Scope, Fault> {
        let mut env = found.env;
        let mut scope = loop {
            if env == FILE {
                break self.look_up_toplevel(found)?;
            }
            if let Some(&scope) = self.blocks[env].bindings.get(found.name) {
                break scope;
            }
            env = self.blocks[env].parent;
        };
        let mut path = Vec::new();
        let mut inner = found.env;
        while inner != env {
            path.push(inner);
            inner = self.blocks[inner].parent;
        }
        for block in path.into_iter().rev() {
            let block = &mut self.blocks[block];
            if block.is_function && scope == Scope::Local {
                scope = Scope::Free;
            }
            block.bindings.insert(found.name.into(), scope);
        }
        Ok(scope)
    }

    /// All blocks in post-order; a block's index is larger than its parent's.
    fn inner_blocks_first(&self) -> Vec<usize> {
        let mut children = vec![Vec::new(); self.blocks.len()];
        for (index, block) in self.blocks.iter().enumerate().skip(1) {
            children[block.parent].push(index);
        }
        // Visiting parents first and children from the last on, then reversing, is post-order.
        let mut order = Vec::with_capacity(self.blocks.len());
        let mut stack = vec![FILE];
        while let Some(block) = stack.pop() {
            order.push(block);
            stack.append(&mut children[block]);
        }
        order.reverse();
        order
    }
}

//! Decides how statements are written.

use super::{
    Rewriter,
    info::SiteKind,
    literal::quote,
    names::{mangle, needs_mangling},
};
use crate::syntax::{
    ast::{Block, ExprId, ExprKind, LoadName, Span, Stmt, StmtId, StmtKind},
    token::Token,
    unquote,
};

impl Rewriter<'_> {
    pub(super) fn stmts(&mut self, stmts: &[StmtId]) {
        for &stmt in stmts {
            let stmt = self.ast.stmt(stmt);
            self.out.copy_to(stmt.start as usize);
            self.stmt(stmt);
        }
    }

    fn block(&mut self, block: Block) {
        let outer = self.indent;
        self.indent = block.indent.unwrap_or(outer);
        self.stmts(self.ast.block(block));
        self.indent = outer;
    }

    fn stmt(&mut self, stmt: Stmt) {
        match stmt.kind {
            StmtKind::Expr(expr) => {
                self.single(expr);
            }
            StmtKind::Assign { op, op_pos, target, value } => {
                self.assign(stmt, op, op_pos, target, value);
            }
            StmtKind::Branch(_) | StmtKind::Return(None) => self.out.copy_to(stmt.end as usize),
            StmtKind::Return(Some(value)) => {
                self.expr(value);
            }
            StmtKind::Load { module, names } => {
                self.literal(Token::String, module);
                self.load_names(names, stmt.start);
                self.out.copy_to(stmt.end as usize);
            }
            StmtKind::Def { name, params, body } => {
                let entry = self.first_position_in(body).unwrap_or(stmt.start);
                self.def_info(self.ast.text(self.source, name), stmt.start, entry, params);
                self.target(name);
                self.params(params);
                self.block(body);
            }
            StmtKind::If { branches, otherwise } => {
                for branch in self.ast.branches(branches) {
                    self.expr(branch.cond);
                    self.block(branch.body);
                }
                if let Some(body) = otherwise {
                    self.block(body);
                }
            }
            StmtKind::For { vars, over, body } => {
                let vars = self.target(vars);
                self.info.add_site(SiteKind::Assign, vars, stmt.start);
                self.iterated(over, stmt.start);
                self.block(body);
            }
            StmtKind::While { cond, body } => self.while_stmt(stmt.start, cond, body),
        }
    }

    /// The position of the first thing that running a function does, if starlark-go remembers it.
    fn first_position_in(&self, body: Block) -> Option<u32> {
        for &stmt in self.ast.block(body) {
            let stmt = self.ast.stmt(stmt);
            return match stmt.kind {
                StmtKind::Branch(Token::Pass) => continue,
                StmtKind::Expr(expr) => match self.ast.expr(expr).kind {
                    // Such as a docstring.
                    ExprKind::Literal(_) => continue,
                    _ => self.first_position(expr),
                },
                StmtKind::Assign { op, target, value, .. } => {
                    let first = if op.augmented().is_some() { target } else { value };
                    self.first_position(first)
                }
                StmtKind::Return(Some(value)) => self.first_position(value),
                StmtKind::Def { .. } => Some(stmt.start),
                StmtKind::If { branches, .. } => {
                    self.first_position(self.ast.branches(branches).first()?.cond)
                }
                StmtKind::For { over, .. } => self.first_position(over),
                StmtKind::While { cond, .. } => self.first_position(cond),
                StmtKind::Branch(_) | StmtKind::Return(None) | StmtKind::Load { .. } => None,
            };
        }
        None
    }

    fn assign(&mut self, stmt: Stmt, op: Token, op_pos: u32, target: ExprId, value: ExprId) {
        let bare = self.ast.unparen(target);
        match (self.ast.expr(bare).kind, op.augmented()) {
            (ExprKind::Index { operand, lbrack, index }, None) => {
                let begin = self.out.insert("__setindex__(", lbrack);
                self.moved(value);
                self.next_arg(operand, lbrack);
                self.next_arg(index, lbrack);
                self.close_helper(SiteKind::Index, begin, lbrack, stmt.end);
            }
            (ExprKind::Index { operand, lbrack, index }, Some(op)) => {
                let begin = self.out.insert("__augindex__(", lbrack);
                self.moved(operand);
                self.next_arg(index, lbrack);
                self.out.insert(&format!(", \"{}\"", op.text()), op_pos);
                self.next_arg(value, op_pos);
                let span = self.close_helper(SiteKind::Index, begin, lbrack, stmt.end);
                self.info.add_site(SiteKind::Binary, span, op_pos);
            }
            (ExprKind::Ident, Some(op)) => {
                self.moved(bare);
                self.out.insert(" = ", op_pos);
                self.update_name(bare, op, op_pos, value);
                self.out.jump(stmt.end);
            }
            _ => {
                let target = self.target(target);
                self.info.add_site(SiteKind::Assign, target, op_pos);
                self.expr(value);
            }
        }
    }

    /// Writes the new value of a name under augmented assignment.
    fn update_name(&mut self, name: ExprId, op: Token, op_pos: u32, value: ExprId) {
        let helper = match op {
            Token::Plus => "__iadd__(",
            Token::Pipe => "__ior__(",
            _ => {
                let begin = self.moved(name).start;
                self.out.insert(&format!(" {} (", op.text()), op_pos);
                self.out.jump(self.ast.expr(value).start);
                let end = self.expr(value).end;
                self.out.insert(")", op_pos);
                self.info.add_site(SiteKind::Binary, begin..end, op_pos);
                return;
            }
        };
        let begin = self.out.insert(helper, op_pos);
        self.moved(name);
        self.next_arg(value, op_pos);
        self.out.insert(")", op_pos);
        self.info.add_site(SiteKind::Binary, begin..self.out.len(), op_pos);
    }

    /// Writes an expression out of the source's order.
    fn moved(&mut self, id: ExprId) -> super::expr::OutSpan {
        self.out.jump(self.ast.expr(id).start);
        self.single(id)
    }

    fn next_arg(&mut self, id: ExprId, anchor: u32) {
        self.out.insert(", ", anchor);
        self.moved(id);
    }

    fn load_names(&mut self, names: Span, load: u32) {
        for &LoadName { local, exported } in self.ast.load_names(names) {
            if let Some(local) = local {
                let span = self.target(local);
                self.info.add_site(SiteKind::Call, span, load);
            }
            let start = self.ast.expr(exported).start;
            let raw = self.ast.text(self.source, exported);
            let value = unquote(raw).unwrap_or_default();
            let name = String::from_utf8_lossy(&value);
            if !needs_mangling(&name) {
                let span = self.literal(Token::String, exported);
                self.info.add_site(SiteKind::Call, span, load);
                continue;
            }
            self.out.copy_to(start as usize);
            let mangled = mangle(&name);
            if local.is_none() {
                self.out.insert(&mangled, start);
                self.out.insert(" = ", start);
            }
            self.out.insert(&quote(&mangled), start);
            self.out.jump(self.ast.expr(exported).end);
        }
    }

    /// Writes `while` as an endless `for` that first looks at the condition.
    fn while_stmt(&mut self, start: u32, cond: ExprId, body: Block) {
        // The grammar has no empty blocks.
        let Some(first) = self.ast.block(body).first().map(|&first| self.ast.stmt(first).start)
        else {
            return;
        };
        self.out.insert("for __while__ in __forever__:", start);
        let indent = " ".repeat(body.indent.unwrap_or(self.indent + 1) as usize);
        if body.indent.is_some() {
            self.out.jump(self.after_colon(cond));
            self.out.copy_to(first as usize);
        } else {
            self.out.insert(&format!("\n{indent}"), start);
        }
        self.out.insert("if not (", start);
        self.moved(cond);
        self.out.insert(&format!("): break\n{indent}"), start);
        self.out.jump(first);
        self.block(body);
    }

    /// The offset behind the colon that follows a condition; only blanks are in between.
    fn after_colon(&self, cond: ExprId) -> u32 {
        let end = self.ast.expr(cond).end;
        let colon = self.source[end as usize..].find(':').unwrap_or_default();
        end + crate::syntax::position::offset(colon) + 1
    }
}

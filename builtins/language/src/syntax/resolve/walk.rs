//! Decides in which order statements and expressions are resolved, and where each may stand.

use super::{
    super::{
        Fault,
        ast::{Block, Clause, ExprId, ExprKind, LoadName, Span, Stmt, StmtId, StmtKind},
        fault_at,
        literal::unquote,
        scan::normalize_newlines,
        token::Token,
    },
    Resolver,
};

impl Resolver<'_> {
    pub(super) fn stmts(&mut self, stmts: &[StmtId]) -> Result<(), Fault> {
        stmts.iter().try_for_each(|&stmt| self.stmt(self.ast.stmt(stmt)))
    }

    fn block(&mut self, block: Block) -> Result<(), Fault> {
        let ast = self.ast;
        self.stmts(ast.block(block))
    }

    fn stmt(&mut self, stmt: Stmt) -> Result<(), Fault> {
        match stmt.kind {
            StmtKind::Expr(expr) => self.expr(expr),
            StmtKind::Assign { op, target, value, .. } => {
                self.expr(value)?;
                self.assign(target, op != Token::Eq)
            }
            StmtKind::Branch(Token::Pass) => Ok(()),
            StmtKind::Branch(_) if self.loops > 0 => Ok(()),
            StmtKind::Branch(token) => {
                fault_at(stmt.start, format!("{} not in a loop", token.text()))
            }
            StmtKind::Return(_) if !self.in_function() => {
                fault_at(stmt.start, "return statement not within a function")
            }
            StmtKind::Return(value) => value.map_or(Ok(()), |value| self.expr(value)),
            StmtKind::Load { names, .. } => self.load(stmt.start, names),
            StmtKind::Def { name, params, body } => {
                self.bind(name)?;
                self.function(params, |resolver| resolver.block(body))
            }
            StmtKind::If { branches, otherwise } => self.if_stmt(branches, otherwise),
            StmtKind::For { vars, over, body } => {
                self.expr(over)?;
                self.assign(vars, false)?;
                self.loop_body(body)
            }
            StmtKind::While { cond, body } => {
                self.expr(cond)?;
                self.loop_body(body)
            }
        }
    }

    fn loop_body(&mut self, body: Block) -> Result<(), Fault> {
        self.loops += 1;
        self.block(body)?;
        self.loops -= 1;
        Ok(())
    }

    fn if_stmt(&mut self, branches: Span, otherwise: Option<Block>) -> Result<(), Fault> {
        self.conditionals += 1;
        for branch in self.ast.branches(branches) {
            self.expr(branch.cond)?;
            self.block(branch.body)?;
        }
        if let Some(body) = otherwise {
            self.block(body)?;
        }
        self.conditionals -= 1;
        Ok(())
    }

    fn load(&mut self, at: u32, names: Span) -> Result<(), Fault> {
        if self.in_function() {
            return fault_at(at, "load statement within a function");
        }
        if self.loops > 0 {
            return fault_at(at, "load statement within a loop");
        }
        if self.conditionals > 0 {
            return fault_at(at, "load statement within a conditional");
        }
        for &LoadName { local, exported } in self.ast.load_names(names) {
            let literal = normalize_newlines(self.ast.text(self.source, exported));
            let value = unquote(&literal).unwrap_or_default();
            let name = String::from_utf8_lossy(&value);
            let at = self.ast.expr(exported).start + 1;
            if name.is_empty() {
                return fault_at(at, "load: empty identifier");
            }
            if name.starts_with('_') {
                let message = "load: names with leading underscores are not exported";
                return fault_at(at, format!("{message}: {name}"));
            }
            match local {
                Some(local) => self.bind_loaded(local, self.ast.text(self.source, local).into()),
                None => self.bind_loaded(exported, name),
            }
        }
        Ok(())
    }

    fn assign(&mut self, target: ExprId, augmented: bool) -> Result<(), Fault> {
        let ast = self.ast;
        let expr = ast.expr(target);
        match expr.kind {
            ExprKind::Ident => self.bind(target).map(drop),
            ExprKind::Index { operand, index, .. } => {
                self.expr(operand)?;
                self.expr(index)
            }
            ExprKind::Dot { operand, .. } => self.expr(operand),
            ExprKind::Tuple(_) if augmented => {
                fault_at(expr.start, "can't use tuple expression in augmented assignment")
            }
            ExprKind::List(_) if augmented => {
                fault_at(expr.start, "can't use list expression in augmented assignment")
            }
            ExprKind::Tuple(items) | ExprKind::List(items) => {
                ast.items(items).iter().try_for_each(|&item| self.assign(item, augmented))
            }
            ExprKind::Paren(inner) => self.assign(inner, augmented),
            other => fault_at(expr.start, format!("can't assign to {}", kind_name(&other))),
        }
    }

    pub(super) fn exprs(&mut self, items: Span) -> Result<(), Fault> {
        let ast = self.ast;
        ast.items(items).iter().try_for_each(|&item| self.expr(item))
    }

    pub(super) fn expr(&mut self, id: ExprId) -> Result<(), Fault> {
        match self.ast.expr(id).kind {
            ExprKind::Ident => self.use_name(id),
            ExprKind::Literal(_) | ExprKind::Absent | ExprKind::Star { operand: None, .. } => {
                Ok(())
            }
            ExprKind::List(items) | ExprKind::Tuple(items) | ExprKind::Dict(items) => {
                self.exprs(items)
            }
            ExprKind::DictEntry { key, value, .. } => {
                self.expr(key)?;
                self.expr(value)
            }
            ExprKind::Comprehension { body, clauses } => self.comprehension(body, clauses),
            ExprKind::Cond { yes, cond, no } => {
                self.expr(cond)?;
                self.expr(yes)?;
                self.expr(no)
            }
            ExprKind::Unary { operand, .. }
            | ExprKind::Paren(operand)
            | ExprKind::Named { value: operand, .. }
            | ExprKind::Star { operand: Some(operand), .. } => self.expr(operand),
            ExprKind::Lambda { params, body } => {
                self.function(params, |resolver| resolver.expr(body))
            }
            ExprKind::Binary { .. }
            | ExprKind::Dot { .. }
            | ExprKind::Call { .. }
            | ExprKind::Index { .. }
            | ExprKind::Slice { .. } => self.left_chain(id),
        }
    }

    /// Resolves a chain of operators or suffixes, which lean left and may be long.
    fn left_chain(&mut self, id: ExprId) -> Result<(), Fault> {
        let mut chain = Vec::new();
        let mut leftmost = id;
        while let ExprKind::Binary { left: next, .. }
        | ExprKind::Dot { operand: next, .. }
        | ExprKind::Call { callee: next, .. }
        | ExprKind::Index { operand: next, .. }
        | ExprKind::Slice { operand: next, .. } = self.ast.expr(leftmost).kind
        {
            chain.push(leftmost);
            leftmost = next;
        }
        self.expr(leftmost)?;
        for id in chain.into_iter().rev() {
            let expr = self.ast.expr(id);
            match expr.kind {
                ExprKind::Binary { right, .. } => self.expr(right)?,
                ExprKind::Index { index, .. } => self.expr(index)?,
                ExprKind::Slice { parts, .. } => self.exprs(parts)?,
                ExprKind::Call { args, .. } => self.call(expr.start, args)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn comprehension(&mut self, body: ExprId, clauses: Span) -> Result<(), Fault> {
        let clauses = self.ast.clauses(clauses);
        for (index, clause) in clauses.iter().enumerate() {
            match *clause {
                // The first operand is evaluated outside: `[x for x in x]`.
                Clause::For { vars, over, .. } if index == 0 => {
                    self.expr(over)?;
                    self.push_block(false);
                    self.assign(vars, false)?;
                }
                Clause::For { vars, over, .. } => {
                    self.assign(vars, false)?;
                    self.expr(over)?;
                }
                Clause::If { cond } => self.expr(cond)?,
            }
        }
        self.expr(body)?;
        self.pop_block();
        Ok(())
    }
}

/// The reference's name for a kind of expression.
fn kind_name(kind: &ExprKind) -> &'static str {
    match kind {
        ExprKind::Literal(_) => "literal",
        ExprKind::Dict(_) => "dictexpr",
        ExprKind::Comprehension { .. } => "comprehension",
        ExprKind::Cond { .. } => "condexpr",
        ExprKind::Unary { .. } => "unaryexpr",
        ExprKind::Binary { .. } => "binaryexpr",
        ExprKind::Call { .. } => "callexpr",
        ExprKind::Slice { .. } => "sliceexpr",
        ExprKind::Lambda { .. } => "lambdaexpr",
        _ => "expression",
    }
}

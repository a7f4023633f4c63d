//! Decides which argument and parameter lists are well formed.

use std::collections::HashSet;

use super::{
    super::{
        Fault,
        ast::{ExprId, ExprKind, Span},
        fault_at,
    },
    Resolver,
};

/// The most positional, and the most named, arguments of one call.
const MAX_ARGS: usize = 255;

impl<'a> Resolver<'a> {
    /// Resolves the arguments of a call that starts at `start`.
    pub(super) fn call(&mut self, start: u32, args: Span) -> Result<(), Fault> {
        let (mut seen_args, mut seen_kwargs) = (false, false);
        let mut seen_names: HashSet<&'a str> = HashSet::new();
        let (mut positional, mut named) = (0, 0);
        for &arg in self.ast.items(args) {
            let expr = self.ast.expr(arg);
            let misplaced = match expr.kind {
                ExprKind::Star { double: true, .. } => {
                    let again = seen_kwargs.then_some("multiple **kwargs not allowed");
                    seen_kwargs = true;
                    again
                }
                ExprKind::Star { .. } => {
                    let after = seen_kwargs.then_some("*args may not follow **kwargs");
                    let again = seen_args.then_some("multiple *args not allowed");
                    seen_args = true;
                    after.or(again)
                }
                ExprKind::Named { .. } => {
                    named += 1;
                    let after = seen_kwargs.then_some("keyword argument may not follow **kwargs");
                    after.or(seen_args.then_some("keyword argument may not follow *args"))
                }
                _ => {
                    positional += 1;
                    let after_star =
                        seen_args.then_some("positional argument may not follow *args");
                    let after_named =
                        (named > 0).then_some("positional argument may not follow named");
                    after_star
                        .or(seen_kwargs.then_some("positional argument may not follow **kwargs"))
                        .or(after_named)
                }
            };
            if let Some(message) = misplaced {
                return fault_at(expr.start, message);
            }
            if let ExprKind::Named { name, .. } = expr.kind {
                let text = self.ast.text(self.source, name);
                if !seen_names.insert(text) {
                    let message = format!("keyword argument \"{text}\" is repeated");
                    return fault_at(expr.start, message);
                }
            }
            self.expr(arg)?;
        }
        for (count, kind) in [(positional, "positional"), (named, "keyword")] {
            if count > MAX_ARGS {
                let message = format!("{count} {kind} arguments in call, limit is {MAX_ARGS}");
                return fault_at(start, message);
            }
        }
        Ok(())
    }

    /// Resolves a function: defaults outside, parameters and body inside.
    pub(super) fn function(
        &mut self,
        params: Span,
        body: impl FnOnce(&mut Self) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let ast = self.ast;
        for &param in ast.items(params) {
            if let ExprKind::Named { value, .. } = ast.expr(param).kind {
                self.expr(value)?;
            }
        }
        self.push_block(true);
        let function = self.env;
        // The loops around a function are not loops of its body.
        let loops = std::mem::take(&mut self.loops);
        self.params(params)?;
        body(self)?;
        self.loops = loops;
        self.resolve_local_uses(function);
        self.pop_block();
        Ok(())
    }

    fn params(&mut self, params: Span) -> Result<(), Fault> {
        let ast = self.ast;
        let mut star: Option<ExprId> = None;
        let mut star_star: Option<ExprId> = None;
        let mut optional = false;
        let mut keyword_only = 0;
        for &param in ast.items(params) {
            let expr = ast.expr(param);
            match expr.kind {
                ExprKind::Star { double: false, .. } => {
                    if let Some(kwargs) = star_star {
                        let name = ast.text(self.source, kwargs);
                        let message = format!("* parameter may not follow **{name}");
                        return fault_at(expr.start, message);
                    }
                    if star.is_some() {
                        return fault_at(expr.start, "multiple * parameters not allowed");
                    }
                    star = Some(param);
                }
                ExprKind::Star { operand, .. } => {
                    if star_star.is_some() {
                        return fault_at(expr.start, "multiple ** parameters not allowed");
                    }
                    star_star = operand;
                }
                ExprKind::Named { name, eq, .. } => {
                    self.after_kwargs(star_star, eq, "optional")?;
                    keyword_only += usize::from(star.is_some());
                    self.bind_param(name, eq)?;
                    optional = true;
                }
                _ => {
                    self.after_kwargs(star_star, expr.start, "required")?;
                    if star.is_none() && optional {
                        let message = "required parameter may not follow optional";
                        return fault_at(expr.start, message);
                    }
                    keyword_only += usize::from(star.is_some());
                    self.bind_param(param, expr.start)?;
                }
            }
        }
        if let Some(star) = star {
            let expr = ast.expr(star);
            match expr.kind {
                ExprKind::Star { operand: Some(name), .. } => {
                    self.bind_param(name, ast.expr(name).start)?;
                }
                _ if keyword_only == 0 => {
                    let message = "bare * must be followed by keyword-only parameters";
                    return fault_at(expr.start, message);
                }
                _ => {}
            }
        }
        star_star.map_or(Ok(()), |name| self.bind_param(name, ast.expr(name).start))
    }

    fn after_kwargs(&self, kwargs: Option<ExprId>, at: u32, kind: &str) -> Result<(), Fault> {
        let Some(kwargs) = kwargs else { return Ok(()) };
        let name = self.ast.text(self.source, kwargs);
        fault_at(at, format!("{kind} parameter may not follow **{name}"))
    }

    fn bind_param(&mut self, name: ExprId, at: u32) -> Result<(), Fault> {
        if self.bind(name)? {
            let name = self.ast.text(self.source, name);
            return fault_at(at, format!("duplicate parameter: {name}"));
        }
        Ok(())
    }
}

//! Decides how expressions and assignment targets are written.

use std::ops::Range;

use super::{
    Rewriter,
    info::{CallInfo, DefInfo, ParamInfo, ParamKind, SiteKind},
    literal,
    names::{mangle, needs_mangling},
};
use crate::{
    methods,
    syntax::{
        Scope,
        ast::{Clause, ExprId, ExprKind, Span},
        token::Token,
    },
};

/// The bytes of the output that the crate takes for an expression.
pub(super) type OutSpan = Range<u32>;

/// A link of a chain that leans left: `a.b(c)[d] + e`.
enum Link {
    Binary { op_pos: u32, right: ExprId },
    Dot { dot: u32, name: ExprId, begin: u32 },
    Call { lparen: u32, args: Span, callee: Range<u32> },
    Method { lparen: u32, args: Span, callee: Range<u32>, dot: u32, begin: u32 },
    Index { lbrack: u32, index: ExprId, begin: u32 },
    Slice { lbrack: u32, operand: ExprId, parts: Span, begin: u32 },
}

impl Rewriter<'_> {
    fn start(&self, id: ExprId) -> u32 {
        self.ast.expr(id).start
    }

    fn end(&self, id: ExprId) -> u32 {
        self.ast.expr(id).end
    }

    /// Writes what precedes an expression, and the expression.
    pub(super) fn expr(&mut self, id: ExprId) -> OutSpan {
        let ast = self.ast;
        let expr = ast.expr(id);
        self.out.copy_to(expr.start as usize);
        let begin = self.out.len();
        match expr.kind {
            ExprKind::Ident => return self.variable(id),
            ExprKind::Literal(kind) => return self.literal(kind, id),
            ExprKind::Binary { .. }
            | ExprKind::Dot { .. }
            | ExprKind::Call { .. }
            | ExprKind::Index { .. }
            | ExprKind::Slice { .. } => return self.chain(id),
            ExprKind::Unary { op, operand } => return self.unary(id, op, operand),
            ExprKind::Paren(inner) => {
                let span = self.expr(inner);
                self.out.copy_to(expr.end as usize);
                return span;
            }
            ExprKind::Cond { yes, cond, no } => {
                let begin = self.expr(yes).start;
                self.expr(cond);
                self.expr(no);
                return begin..self.out.len();
            }
            ExprKind::Lambda { params, body } => {
                let entry = self.first_position(body).unwrap_or(expr.start);
                self.def_info("lambda", expr.start, entry, params);
                self.params(params);
                self.expr(body);
            }
            ExprKind::List(items) | ExprKind::Tuple(items) | ExprKind::Dict(items) => {
                for &item in ast.items(items) {
                    self.expr(item);
                }
            }
            ExprKind::DictEntry { key, colon, value } => {
                let key = self.expr(key);
                self.info.add_site(SiteKind::DictKey, key, colon);
                self.expr(value);
            }
            ExprKind::Comprehension { body, clauses } => self.comprehension(body, clauses),
            ExprKind::Named { name, value, .. } => {
                self.plain_name(name);
                self.expr(value);
            }
            ExprKind::Star { operand, .. } => {
                operand.map(|operand| self.expr(operand));
            }
            ExprKind::Absent => {
                self.out.insert("None", expr.start);
            }
        }
        self.out.copy_to(expr.end as usize);
        begin..self.out.len()
    }

    /// Writes an expression where the crate takes no tuple without parentheses.
    pub(super) fn single(&mut self, id: ExprId) -> OutSpan {
        let expr = self.ast.expr(id);
        self.out.copy_to(expr.start as usize);
        let bare_tuple = matches!(expr.kind, ExprKind::Tuple(items) if !items.is_empty());
        if !bare_tuple {
            return self.expr(id);
        }
        self.out.insert("(", expr.start);
        let span = self.expr(id);
        self.out.insert(")", expr.end);
        span
    }

    fn variable(&mut self, id: ExprId) -> OutSpan {
        let scope = self.names.scope(id);
        let name = self.ast.text(self.source, id);
        let span = if scope == Some(Scope::Builtin) && self.bound.contains(name) {
            self.info.early_builtins.push(name.to_owned());
            let begin = self.out.insert(&format!("__builtin_{name}__"), self.start(id));
            self.out.jump(self.end(id));
            begin..self.out.len()
        } else {
            self.plain_name(id)
        };
        if let Some(scope) = scope {
            self.info.add_name(span.start, scope);
        }
        span
    }

    /// Writes an identifier that may not be a variable.
    pub(super) fn plain_name(&mut self, id: ExprId) -> OutSpan {
        self.out.copy_to(self.start(id) as usize);
        let name = self.ast.text(self.source, id);
        if needs_mangling(name) {
            let begin = self.out.insert(&mangle(name), self.start(id));
            self.out.jump(self.end(id));
            return begin..self.out.len();
        }
        let begin = self.out.len();
        self.out.copy_token(self.end(id));
        begin..self.out.len()
    }

    pub(super) fn literal(&mut self, kind: Token, id: ExprId) -> OutSpan {
        self.out.copy_to(self.start(id) as usize);
        let mut begin = self.out.len();
        let is_bytes = kind == Token::Bytes;
        if is_bytes {
            // The crate leaves the prefix out of the span, but not out of that of a call.
            begin = self.out.insert("__b__(", self.start(id));
        }
        match literal::adapted(kind, self.ast.text(self.source, id)) {
            Some(text) => {
                let inserted = self.out.insert(&text, self.start(id));
                begin = if is_bytes { begin } else { inserted };
                self.out.jump(self.end(id));
            }
            None => self.out.copy_token(self.end(id)),
        }
        if is_bytes {
            self.out.insert(")", self.start(id));
        }
        begin..self.out.len()
    }

    fn unary(&mut self, id: ExprId, op: Token, operand: ExprId) -> OutSpan {
        let start = self.start(id);
        let is_number =
            matches!(self.ast.expr(operand).kind, ExprKind::Literal(Token::Int | Token::Float));
        let helper = match op {
            Token::Minus if !is_number => "__neg__(",
            Token::Plus if !is_number => "__pos__(",
            Token::Tilde => "__inv__(",
            _ => {
                let begin = self.out.len();
                self.expr(operand);
                return begin..self.out.len();
            }
        };
        let begin = self.out.insert(helper, start);
        self.out.jump(start + 1);
        self.expr(operand);
        self.out.insert(")", start);
        let span = begin..self.out.len();
        self.info.add_site(SiteKind::Unary, span.clone(), start);
        span
    }

    /// Writes a chain that leans left without recursing along it: first what must precede its
    /// leftmost operand, from the outside in, then the operand, then the links from the inside out.
    fn chain(&mut self, id: ExprId) -> OutSpan {
        let mut links = Vec::new();
        let mut next = id;
        while let Some((link, left)) = self.link(next) {
            links.push((link, self.end(next)));
            next = left;
        }
        let mut span = self.expr(next);
        for (link, end) in links.into_iter().rev() {
            span = self.finish_link(link, span.start, end);
        }
        span
    }

    /// Writes what precedes the left operand of an expression, if it leans left.
    fn link(&mut self, id: ExprId) -> Option<(Link, ExprId)> {
        Some(match self.ast.expr(id).kind {
            ExprKind::Binary { op_pos, left, right, .. } => (Link::Binary { op_pos, right }, left),
            ExprKind::Dot { operand, dot, name } => {
                let begin = self.out.insert("__attr__(", dot);
                (Link::Dot { dot, name, begin }, operand)
            }
            ExprKind::Call { callee, lparen, args } => {
                let range = self.start(callee)..self.end(callee);
                match self.ast.expr(callee).kind {
                    ExprKind::Dot { operand, name, dot }
                        if methods::is_method(self.ast.text(self.source, name)) =>
                    {
                        let method = self.ast.text(self.source, name);
                        let begin = self.out.insert(&format!("__m_{method}__("), lparen);
                        (Link::Method { lparen, args, callee: range, dot, begin }, operand)
                    }
                    _ => (Link::Call { lparen, args, callee: range }, callee),
                }
            }
            ExprKind::Index { operand, lbrack, index } => {
                let begin = self.out.insert("__index__(", lbrack);
                (Link::Index { lbrack, index, begin }, operand)
            }
            ExprKind::Slice { operand, lbrack, parts } => {
                let begin = self.out.insert("__slice__(", lbrack);
                (Link::Slice { lbrack, operand, parts, begin }, operand)
            }
            _ => return None,
        })
    }

    /// Writes what follows the left operand, which the crate sees from `left` on; the whole
    /// expression ends at `end` in the source.
    fn finish_link(&mut self, link: Link, left: u32, end: u32) -> OutSpan {
        match link {
            Link::Binary { op_pos, right } => {
                let span = left..self.expr(right).end;
                self.info.add_site(SiteKind::Binary, span.clone(), op_pos);
                span
            }
            Link::Dot { dot, name, begin } => {
                let name = self.ast.text(self.source, name);
                self.out.insert(&format!(", \"{name}\""), dot);
                self.close_helper(SiteKind::Dot, begin, dot, end)
            }
            Link::Call { lparen, args, callee } => self.call(left, lparen, args, callee, end),
            Link::Method { lparen, args, callee, dot, begin } => {
                if !args.is_empty() {
                    self.out.insert(", ", lparen);
                }
                self.out.jump(lparen + 1);
                let span = self.call(begin, lparen, args, callee, end);
                self.info.add_site(SiteKind::Dot, span.clone(), dot);
                span
            }
            Link::Index { lbrack, index, begin } => {
                self.out.insert(", ", lbrack);
                self.out.jump(lbrack + 1);
                self.single(index);
                self.out.copy_to(end as usize - 1);
                self.close_helper(SiteKind::Index, begin, lbrack, end)
            }
            Link::Slice { lbrack, operand, parts, begin } => {
                for &part in self.ast.items(parts) {
                    self.out.insert(", ", lbrack);
                    self.out.jump(self.start(part));
                    self.single(part);
                }
                let place = self.slice_position(operand, lbrack, parts);
                let span = self.close_helper(SiteKind::Slice, begin, lbrack, end);
                self.info.move_site(SiteKind::Slice, &span, place);
                span
            }
        }
    }

    /// Closes the parenthesis of a helper call and goes on behind `end`.
    pub(super) fn close_helper(
        &mut self,
        kind: SiteKind,
        begin: u32,
        anchor: u32,
        end: u32,
    ) -> OutSpan {
        self.out.insert(")", anchor);
        self.out.jump(end);
        let span = begin..self.out.len();
        self.info.add_site(kind, span.clone(), anchor);
        span
    }

    fn call(
        &mut self,
        begin: u32,
        lparen: u32,
        args: Span,
        callee: Range<u32>,
        end: u32,
    ) -> OutSpan {
        let ast = self.ast;
        let mut call = CallInfo {
            begin,
            end: 0,
            lparen,
            callee,
            positional: 0,
            named: Vec::new(),
            star_args: false,
            star_star_args: false,
        };
        for &arg in ast.items(args) {
            match ast.expr(arg).kind {
                ExprKind::Named { name, .. } => call.named.push(self.start(name)..self.end(name)),
                ExprKind::Star { double: true, .. } => call.star_star_args = true,
                ExprKind::Star { .. } => call.star_args = true,
                _ => call.positional += 1,
            }
            match ast.expr(arg).kind {
                ExprKind::Star { double, operand: Some(operand) } => {
                    self.spread(double, operand, lparen);
                }
                _ => {
                    self.expr(arg);
                }
            }
        }
        self.out.copy_to(end as usize);
        call.end = self.out.len();
        self.info.add_call(call);
        begin..self.out.len()
    }

    /// Writes the operand of `*` or `**` in a call, checked by a helper.
    fn spread(&mut self, double: bool, operand: ExprId, lparen: u32) {
        self.out.copy_to(self.start(operand) as usize);
        let helper = if double { "__kwargs__(" } else { "__starargs__(" };
        let begin = self.out.insert(helper, lparen);
        self.expr(operand);
        self.out.insert(")", lparen);
        self.info.add_site(SiteKind::Call, begin..self.out.len(), lparen);
    }

    fn comprehension(&mut self, body: ExprId, clauses: Span) {
        self.expr(body);
        for clause in self.ast.clauses(clauses) {
            match *clause {
                Clause::For { pos, vars, over } => {
                    let vars = self.target(vars);
                    self.info.add_site(SiteKind::Assign, vars, pos);
                    self.iterated(over, pos);
                }
                Clause::If { cond } => {
                    // The crate takes no lambda here without parentheses.
                    let expr = self.ast.expr(cond);
                    self.out.copy_to(expr.start as usize);
                    let is_lambda = matches!(expr.kind, ExprKind::Lambda { .. });
                    if is_lambda {
                        self.out.insert("(", expr.start);
                    }
                    self.expr(cond);
                    if is_lambda {
                        self.out.insert(")", expr.end);
                    }
                }
            }
        }
    }

    /// Writes what a `for` at `pos` iterates over, checked by a helper: the crate takes an empty
    /// string for something to iterate.
    pub(super) fn iterated(&mut self, over: ExprId, pos: u32) {
        self.out.copy_to(self.start(over) as usize);
        let begin = self.out.insert("__iter__(", pos);
        self.single(over);
        self.out.insert(")", pos);
        self.info.add_site(SiteKind::Iterate, begin..self.out.len(), pos);
    }

    /// Writes an assignment target that the crate handles itself.
    pub(super) fn target(&mut self, id: ExprId) -> OutSpan {
        let ast = self.ast;
        let expr = ast.expr(id);
        self.out.copy_to(expr.start as usize);
        let begin = self.out.len();
        match expr.kind {
            ExprKind::Ident => return self.variable(id),
            ExprKind::Paren(inner) => {
                let span = self.target(inner);
                self.out.copy_to(expr.end as usize);
                return span;
            }
            ExprKind::Tuple(items) | ExprKind::List(items) => {
                for &item in ast.items(items) {
                    self.target(item);
                }
            }
            ExprKind::Dot { operand, dot, name } => {
                let left = self.expr(operand).start;
                self.plain_name(name);
                let span = left..self.out.len();
                self.info.add_site(SiteKind::Dot, span.clone(), dot);
                return span;
            }
            ExprKind::Index { operand, lbrack, index } => {
                let left = self.expr(operand).start;
                self.single(index);
                self.out.copy_to(expr.end as usize);
                let span = left..self.out.len();
                self.info.add_site(SiteKind::Index, span.clone(), lbrack);
                return span;
            }
            // The resolver accepts nothing else.
            _ => return self.expr(id),
        }
        self.out.copy_to(expr.end as usize);
        begin..self.out.len()
    }

    pub(super) fn params(&mut self, params: Span) {
        for &param in self.ast.items(params) {
            match self.ast.expr(param).kind {
                ExprKind::Named { name, value, .. } => {
                    self.target(name);
                    self.expr(value);
                }
                ExprKind::Star { operand: Some(name), .. } => {
                    self.target(name);
                }
                ExprKind::Star { .. } => self.out.copy_to(self.end(param) as usize),
                _ => {
                    self.target(param);
                }
            }
        }
    }

    /// The position of the first thing that evaluating an expression does, if starlark-go
    /// remembers it.
    pub(super) fn first_position(&self, id: ExprId) -> Option<u32> {
        let mut next = id;
        loop {
            let expr = self.ast.expr(next);
            next = match expr.kind {
                ExprKind::Ident => {
                    let remembered = !matches!(self.names.scope(next), None | Some(Scope::Builtin));
                    return remembered.then_some(expr.start);
                }
                ExprKind::Slice { lbrack, .. } => return Some(lbrack),
                ExprKind::Lambda { .. } => return Some(expr.start),
                ExprKind::Paren(inner) => inner,
                ExprKind::Unary { operand, .. }
                | ExprKind::Dot { operand, .. }
                | ExprKind::Index { operand, .. } => operand,
                ExprKind::Binary { left, .. } => left,
                ExprKind::Call { callee, .. } => callee,
                ExprKind::Cond { cond, .. } => cond,
                ExprKind::List(items) | ExprKind::Tuple(items) => *self.ast.items(items).first()?,
                _ => return None,
            };
        }
    }

    /// Where starlark-go reports a slice: at whatever its operands did last, since it notes the
    /// bracket before it looks at them.
    fn slice_position(&self, operand: ExprId, lbrack: u32, parts: Span) -> u32 {
        let (mut operand, mut parts) = (operand, parts);
        loop {
            let in_parts = self.ast.items(parts).iter().rev();
            if let Some(place) = in_parts.copied().find_map(|part| self.last_position(part)) {
                return place;
            }
            match self.ast.expr(self.ast.unparen(operand)).kind {
                ExprKind::Slice { operand: inner, parts: more, .. } => {
                    (operand, parts) = (inner, more);
                }
                _ => return self.last_position(operand).unwrap_or(lbrack),
            }
        }
    }

    /// The position of the last thing that evaluating an expression does, if starlark-go
    /// remembers it.
    fn last_position(&self, id: ExprId) -> Option<u32> {
        let id = self.ast.unparen(id);
        let expr = self.ast.expr(id);
        match expr.kind {
            ExprKind::Ident => self.first_position(id),
            ExprKind::Call { lparen, .. } => Some(lparen),
            ExprKind::Dot { dot, .. } => Some(dot),
            ExprKind::Index { lbrack, .. } | ExprKind::Slice { lbrack, .. } => Some(lbrack),
            ExprKind::Binary { op_pos, .. } => Some(op_pos),
            ExprKind::Unary { .. } | ExprKind::Lambda { .. } => Some(expr.start),
            ExprKind::List(items) | ExprKind::Tuple(items) => {
                self.ast.items(items).iter().rev().find_map(|&item| self.last_position(item))
            }
            ExprKind::Dict(entries) => {
                let last = *self.ast.items(entries).last()?;
                match self.ast.expr(last).kind {
                    ExprKind::DictEntry { colon, .. } => Some(colon),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    pub(super) fn def_info(&mut self, name: &str, start: u32, entry: u32, params: Span) {
        let mut star = false;
        let mut infos = Vec::with_capacity(params.len());
        for &param in self.ast.items(params) {
            let (name, kind) = match self.ast.expr(param).kind {
                ExprKind::Named { name, .. } if star => {
                    (Some(name), ParamKind::KeywordOnlyOptional)
                }
                ExprKind::Named { name, .. } => (Some(name), ParamKind::Optional),
                ExprKind::Star { double: true, operand } => (operand, ParamKind::StarStarArgs),
                ExprKind::Star { operand, .. } => {
                    star = true;
                    let bare = operand.is_none();
                    (operand, if bare { ParamKind::BareStar } else { ParamKind::StarArgs })
                }
                _ if star => (Some(param), ParamKind::KeywordOnlyRequired),
                _ => (Some(param), ParamKind::Required),
            };
            let name = name.map_or("", |name| self.ast.text(self.source, name)).to_owned();
            infos.push(ParamInfo { name, kind });
        }
        let begin = self.out.len();
        let name = name.to_owned();
        self.info.defs.push(DefInfo { name, begin, source: start, entry, params: infos });
    }
}

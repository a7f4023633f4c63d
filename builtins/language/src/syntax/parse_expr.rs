//! Decides the grammar of expressions.

use super::{
    Fault,
    ast::{Clause, ExprId, ExprKind, Span},
    fault_at,
    parser::{MAX_CHAIN, MAX_SUFFIXES, Parser},
    position::offset,
    token::Token,
};

/// The level of `not`.
const NOT: u8 = 2;
/// The level of comparisons, which do not associate.
const COMPARISON: u8 = 3;

impl Parser<'_> {
    /// An expression that may be a tuple without parentheses.
    pub(super) fn expr(&mut self, trailing_comma: bool) -> Result<ExprId, Fault> {
        let first = self.test()?;
        if self.tok != Token::Comma {
            return Ok(first);
        }
        let mark = self.pending.len();
        self.pending.push(first);
        self.more_exprs(trailing_comma)?;
        let start = self.ast.expr(first).start;
        let items = self.take_items(mark);
        Ok(self.ast.add(ExprKind::Tuple(items), start, self.prev_end))
    }

    /// Pushes the expressions after a first one, starting with the comma.
    fn more_exprs(&mut self, trailing_comma: bool) -> Result<(), Fault> {
        while self.tok == Token::Comma {
            let comma = self.advance()?;
            if ends_expr_list(self.tok) {
                if !trailing_comma {
                    return fault_at(comma, "unparenthesized tuple with trailing comma");
                }
                break;
            }
            let next = self.test()?;
            self.pending.push(next);
        }
        Ok(())
    }

    /// A single expression, possibly conditional.
    pub(super) fn test(&mut self) -> Result<ExprId, Fault> {
        if self.tok == Token::Lambda {
            return self.nested(|parser| parser.lambda(true));
        }
        let yes = self.binary(0)?;
        if self.tok != Token::If {
            return Ok(yes);
        }
        let if_pos = self.advance()?;
        let cond = self.binary(0)?;
        if self.tok != Token::Else {
            return fault_at(if_pos, "conditional expression without else clause");
        }
        self.advance()?;
        let no = self.nested(Self::test)?;
        let start = self.ast.expr(yes).start;
        Ok(self.ast.add(ExprKind::Cond { yes, cond, no }, start, self.prev_end))
    }

    fn test_without_cond(&mut self) -> Result<ExprId, Fault> {
        if self.tok == Token::Lambda {
            return self.nested(|parser| parser.lambda(false));
        }
        self.binary(0)
    }

    fn lambda(&mut self, allow_cond: bool) -> Result<ExprId, Fault> {
        let start = self.advance()?;
        let params = self.params()?;
        self.consume(Token::Colon)?;
        let body = if allow_cond { self.test()? } else { self.test_without_cond()? };
        Ok(self.ast.add(ExprKind::Lambda { params, body }, start, self.prev_end))
    }

    /// Binary operators of at least `level`, by precedence climbing.
    fn binary(&mut self, level: u8) -> Result<ExprId, Fault> {
        let mut left = if self.tok == Token::Not && level <= NOT {
            let start = self.advance()?;
            let operand = self.nested(|parser| parser.binary(NOT))?;
            self.ast.add(ExprKind::Unary { op: Token::Not, operand }, start, self.prev_end)
        } else {
            self.primary_with_suffix()?
        };
        let mut comparison = None;
        for count in 0.. {
            if self.tok == Token::Not {
                self.advance()?;
                if self.tok != Token::In {
                    let got = self.tok.described();
                    return self.fault(format!("got {got}, want in"));
                }
                self.tok = Token::NotIn;
            }
            let op = self.tok;
            let Some(op_level) = op.precedence().filter(|&found| found >= level) else {
                break;
            };
            if let Some(previous) = comparison.filter(|_| op_level == COMPARISON) {
                let (previous, op) = (Token::text(previous), op.text());
                return self.fault(format!("{previous} does not associate with {op} (use parens)"));
            }
            if count >= MAX_CHAIN {
                let message = format!("more than {MAX_CHAIN} operators in one expression");
                return fault_at(self.start, message);
            }
            comparison = (op_level == COMPARISON).then_some(op);
            let op_pos = self.advance()?;
            let right = self.binary(op_level + 1)?;
            let start = self.ast.expr(left).start;
            let kind = ExprKind::Binary { op, op_pos, left, right };
            left = self.ast.add(kind, start, self.prev_end);
        }
        Ok(left)
    }

    /// The variables of a loop: operands, because `in` must not be read as an operator.
    pub(super) fn loop_variables(&mut self) -> Result<ExprId, Fault> {
        let first = self.primary_with_suffix()?;
        if self.tok != Token::Comma {
            return Ok(first);
        }
        let mark = self.pending.len();
        self.pending.push(first);
        while self.tok == Token::Comma {
            self.advance()?;
            if ends_expr_list(self.tok) {
                break;
            }
            let next = self.primary_with_suffix()?;
            self.pending.push(next);
        }
        let start = self.ast.expr(first).start;
        let items = self.take_items(mark);
        Ok(self.ast.add(ExprKind::Tuple(items), start, self.prev_end))
    }

    fn primary_with_suffix(&mut self) -> Result<ExprId, Fault> {
        let mut operand = self.primary()?;
        for count in 0.. {
            let start = self.ast.expr(operand).start;
            let kind = match self.tok {
                Token::Dot => {
                    let dot = self.advance()?;
                    ExprKind::Dot { operand, dot, name: self.ident()? }
                }
                Token::LBrack => self.nested(|parser| parser.subscript(operand))?,
                Token::LParen => {
                    let lparen = self.advance()?;
                    let args = self.nested(Self::args)?;
                    self.consume(Token::RParen)?;
                    ExprKind::Call { callee: operand, lparen, args }
                }
                _ => break,
            };
            if count >= MAX_SUFFIXES {
                let message = format!("more than {MAX_SUFFIXES} suffixes in one expression");
                return fault_at(self.start, message);
            }
            operand = self.ast.add(kind, start, self.prev_end);
        }
        Ok(operand)
    }

    fn subscript(&mut self, operand: ExprId) -> Result<ExprKind, Fault> {
        let lbrack = self.advance()?;
        let absent = self.ast.add(ExprKind::Absent, lbrack, lbrack);
        let mut parts = [absent; 3];
        if self.tok != Token::Colon {
            let index = self.expr(false)?;
            if self.tok == Token::RBrack {
                self.advance()?;
                return Ok(ExprKind::Index { operand, lbrack, index });
            }
            parts[0] = index;
        }
        if self.tok == Token::Colon {
            self.advance()?;
            if !matches!(self.tok, Token::Colon | Token::RBrack) {
                parts[1] = self.test()?;
            }
        }
        if self.tok == Token::Colon {
            self.advance()?;
            if self.tok != Token::RBrack {
                parts[2] = self.test()?;
            }
        }
        self.consume(Token::RBrack)?;
        let parts = self.ast.add_items(parts.into_iter());
        Ok(ExprKind::Slice { operand, lbrack, parts })
    }

    fn args(&mut self) -> Result<Span, Fault> {
        let mark = self.pending.len();
        while !matches!(self.tok, Token::RParen | Token::Eof) {
            if self.pending.len() > mark {
                self.consume(Token::Comma)?;
            }
            if self.tok == Token::RParen {
                break;
            }
            let arg = self.arg()?;
            self.pending.push(arg);
        }
        Ok(self.take_items(mark))
    }

    fn arg(&mut self) -> Result<ExprId, Fault> {
        if matches!(self.tok, Token::Star | Token::StarStar) {
            let double = self.tok == Token::StarStar;
            let start = self.advance()?;
            let operand = Some(self.test()?);
            return Ok(self.ast.add(ExprKind::Star { double, operand }, start, self.prev_end));
        }
        let name = self.test()?;
        if self.tok != Token::Eq {
            return Ok(name);
        }
        if !matches!(self.ast.expr(name).kind, ExprKind::Ident) {
            return self.fault("keyword argument must have form name=expr");
        }
        self.named(name, Self::test)
    }

    /// `=` and what follows, after the name of an argument or parameter.
    fn named(
        &mut self,
        name: ExprId,
        value: impl FnOnce(&mut Self) -> Result<ExprId, Fault>,
    ) -> Result<ExprId, Fault> {
        let start = self.ast.expr(name).start;
        let eq = self.advance()?;
        let value = value(self)?;
        Ok(self.ast.add(ExprKind::Named { name, eq, value }, start, self.prev_end))
    }

    pub(super) fn params(&mut self) -> Result<Span, Fault> {
        let mark = self.pending.len();
        while !matches!(self.tok, Token::RParen | Token::Colon | Token::Eof) {
            if self.pending.len() > mark {
                self.consume(Token::Comma)?;
            }
            if self.tok == Token::RParen {
                break;
            }
            let param = self.param()?;
            self.pending.push(param);
        }
        Ok(self.take_items(mark))
    }

    fn param(&mut self) -> Result<ExprId, Fault> {
        if matches!(self.tok, Token::Star | Token::StarStar) {
            let double = self.tok == Token::StarStar;
            let start = self.advance()?;
            let named = double || self.tok == Token::Ident;
            let operand = if named { Some(self.ident()?) } else { None };
            return Ok(self.ast.add(ExprKind::Star { double, operand }, start, self.prev_end));
        }
        let name = self.ident()?;
        if self.tok == Token::Eq { self.named(name, Self::test) } else { Ok(name) }
    }

    pub(super) fn primary(&mut self) -> Result<ExprId, Fault> {
        match self.tok {
            Token::Ident => self.ident(),
            Token::Int | Token::Float | Token::String | Token::Bytes => {
                let kind = ExprKind::Literal(self.tok);
                let end = offset(self.scan.pos);
                let start = self.advance()?;
                Ok(self.ast.add(kind, start, end))
            }
            Token::LBrack => self.nested(Self::list),
            Token::LBrace => self.nested(Self::dict),
            Token::LParen => self.nested(Self::parenthesized),
            Token::Minus | Token::Plus | Token::Tilde => {
                let op = self.tok;
                let start = self.advance()?;
                let operand = self.nested(Self::primary_with_suffix)?;
                Ok(self.ast.add(ExprKind::Unary { op, operand }, start, self.prev_end))
            }
            other => {
                let got = other.described();
                fault_at(self.start, format!("got {got}, want primary expression"))
            }
        }
    }

    fn parenthesized(&mut self) -> Result<ExprId, Fault> {
        let start = self.advance()?;
        let kind = if self.tok == Token::RParen {
            ExprKind::Tuple(self.take_items(self.pending.len()))
        } else {
            ExprKind::Paren(self.expr(true)?)
        };
        self.consume(Token::RParen)?;
        Ok(self.ast.add(kind, start, self.prev_end))
    }

    fn list(&mut self) -> Result<ExprId, Fault> {
        let start = self.advance()?;
        let mark = self.pending.len();
        if self.tok != Token::RBrack {
            let first = self.test()?;
            if self.tok == Token::For {
                return self.comprehension(start, first, Token::RBrack);
            }
            self.pending.push(first);
            self.more_exprs(true)?;
        }
        self.consume(Token::RBrack)?;
        let items = self.take_items(mark);
        Ok(self.ast.add(ExprKind::List(items), start, self.prev_end))
    }

    fn dict(&mut self) -> Result<ExprId, Fault> {
        let start = self.advance()?;
        let mark = self.pending.len();
        if self.tok != Token::RBrace {
            let first = self.dict_entry()?;
            if self.tok == Token::For {
                return self.comprehension(start, first, Token::RBrace);
            }
            self.pending.push(first);
            while self.tok == Token::Comma {
                self.advance()?;
                if self.tok == Token::RBrace {
                    break;
                }
                let entry = self.dict_entry()?;
                self.pending.push(entry);
            }
        }
        self.consume(Token::RBrace)?;
        let items = self.take_items(mark);
        Ok(self.ast.add(ExprKind::Dict(items), start, self.prev_end))
    }

    fn dict_entry(&mut self) -> Result<ExprId, Fault> {
        let key = self.test()?;
        let colon = self.consume(Token::Colon)?;
        let value = self.test()?;
        let start = self.ast.expr(key).start;
        Ok(self.ast.add(ExprKind::DictEntry { key, colon, value }, start, self.prev_end))
    }

    fn comprehension(&mut self, start: u32, body: ExprId, close: Token) -> Result<ExprId, Fault> {
        let mut clauses = Vec::new();
        while self.tok != close {
            match self.tok {
                Token::For => {
                    let pos = self.advance()?;
                    let vars = self.loop_variables()?;
                    self.consume(Token::In)?;
                    let over = self.binary(0)?;
                    clauses.push(Clause::For { pos, vars, over });
                }
                Token::If => {
                    self.advance()?;
                    clauses.push(Clause::If { cond: self.test_without_cond()? });
                }
                other => {
                    let (got, close) = (other.described(), close.text());
                    return self.fault(format!("got {got}, want '{close}', for, or if"));
                }
            }
        }
        self.advance()?;
        let clauses = self.ast.add_clauses(clauses);
        let kind = ExprKind::Comprehension { body, clauses };
        Ok(self.ast.add(kind, start, self.prev_end))
    }
}

fn ends_expr_list(token: Token) -> bool {
    matches!(
        token,
        Token::Eof
            | Token::Newline
            | Token::Eq
            | Token::RBrace
            | Token::RBrack
            | Token::RParen
            | Token::Semi
    )
}

//! Decides the grammar of statements.

use super::{
    Fault,
    ast::{Block, Branch, ExprId, LoadName, StmtId, StmtKind},
    fault_at,
    parser::{MAX_SUFFIXES, Parser},
    token::Token,
};

impl Parser<'_> {
    pub(super) fn file(&mut self) -> Result<(), Fault> {
        let mut body = Vec::new();
        while self.tok != Token::Eof {
            if self.tok == Token::Newline {
                self.advance()?;
            } else {
                self.stmt(&mut body)?;
            }
        }
        self.ast.body = body;
        self.ast.end = self.start;
        Ok(())
    }

    fn stmt(&mut self, stmts: &mut Vec<StmtId>) -> Result<(), Fault> {
        let start = self.start;
        let kind = match self.tok {
            Token::Def => self.def_stmt()?,
            Token::If => self.if_stmt()?,
            Token::For => self.for_stmt()?,
            Token::While => self.while_stmt()?,
            _ => return self.simple_stmt(stmts),
        };
        stmts.push(self.ast.add_stmt(kind, start, self.prev_end));
        Ok(())
    }

    fn def_stmt(&mut self) -> Result<StmtKind, Fault> {
        self.advance()?;
        let name = self.ident()?;
        self.consume(Token::LParen)?;
        let params = self.params()?;
        self.consume(Token::RParen)?;
        self.consume(Token::Colon)?;
        let body = self.suite()?;
        Ok(StmtKind::Def { name, params, body })
    }

    fn if_stmt(&mut self) -> Result<StmtKind, Fault> {
        let mut branches = Vec::new();
        loop {
            if branches.len() > MAX_SUFFIXES {
                let message = format!("more than {MAX_SUFFIXES} elif branches");
                return fault_at(self.start, message);
            }
            self.advance()?;
            let cond = self.test()?;
            self.consume(Token::Colon)?;
            let body = self.suite()?;
            branches.push(Branch { cond, body });
            if self.tok != Token::Elif {
                break;
            }
        }
        let mut otherwise = None;
        if self.tok == Token::Else {
            self.advance()?;
            self.consume(Token::Colon)?;
            otherwise = Some(self.suite()?);
        }
        Ok(StmtKind::If { branches: self.ast.add_branches(branches), otherwise })
    }

    fn for_stmt(&mut self) -> Result<StmtKind, Fault> {
        self.advance()?;
        let vars = self.loop_variables()?;
        self.consume(Token::In)?;
        let over = self.expr(false)?;
        self.consume(Token::Colon)?;
        let body = self.suite()?;
        Ok(StmtKind::For { vars, over, body })
    }

    fn while_stmt(&mut self) -> Result<StmtKind, Fault> {
        self.advance()?;
        let cond = self.test()?;
        self.consume(Token::Colon)?;
        let body = self.suite()?;
        Ok(StmtKind::While { cond, body })
    }

    fn suite(&mut self) -> Result<Block, Fault> {
        let mut stmts = Vec::new();
        let mut indent = None;
        if self.tok == Token::Newline {
            self.advance()?;
            indent = Some(self.scan.indent());
            self.consume(Token::Indent)?;
            self.nested(|parser| {
                while !matches!(parser.tok, Token::Outdent | Token::Eof) {
                    parser.stmt(&mut stmts)?;
                }
                Ok(())
            })?;
            self.consume(Token::Outdent)?;
        } else {
            self.simple_stmt(&mut stmts)?;
        }
        Ok(Block { stmts: self.ast.add_block(stmts), indent })
    }

    fn simple_stmt(&mut self, stmts: &mut Vec<StmtId>) -> Result<(), Fault> {
        loop {
            let start = self.start;
            let kind = self.small_stmt()?;
            stmts.push(self.ast.add_stmt(kind, start, self.prev_end));
            if self.tok != Token::Semi {
                break;
            }
            self.advance()?;
            if matches!(self.tok, Token::Newline | Token::Eof) {
                break;
            }
        }
        if self.tok != Token::Eof {
            self.consume(Token::Newline)?;
        }
        Ok(())
    }

    fn small_stmt(&mut self) -> Result<StmtKind, Fault> {
        match self.tok {
            Token::Return => {
                self.advance()?;
                let bare = matches!(self.tok, Token::Eof | Token::Newline | Token::Semi);
                return Ok(StmtKind::Return(if bare { None } else { Some(self.expr(false)?) }));
            }
            Token::Break | Token::Continue | Token::Pass => {
                let token = self.tok;
                self.advance()?;
                return Ok(StmtKind::Branch(token));
            }
            Token::Load => return self.load_stmt(),
            _ => {}
        }
        let target = self.expr(false)?;
        if self.tok != Token::Eq && self.tok.augmented().is_none() {
            return Ok(StmtKind::Expr(target));
        }
        let op = self.tok;
        let op_pos = self.advance()?;
        let value = self.expr(false)?;
        Ok(StmtKind::Assign { op, op_pos, target, value })
    }

    fn load_stmt(&mut self) -> Result<StmtKind, Fault> {
        self.advance()?;
        let lparen = self.consume(Token::LParen)?;
        if self.tok != Token::String {
            return self.fault("first operand of load statement must be a string literal");
        }
        let module = self.primary()?;
        let mut names = Vec::new();
        while !matches!(self.tok, Token::RParen | Token::Eof) {
            self.consume(Token::Comma)?;
            match self.tok {
                Token::RParen => break,
                Token::String => names.push(LoadName { local: None, exported: self.primary()? }),
                Token::Ident => {
                    let (local, exported) = self.renamed_load()?;
                    names.push(LoadName { local: Some(local), exported });
                }
                other => {
                    let got = other.described();
                    return self.fault(format!(
                        r#"load operand must be "name" or localname="name" (got {got})"#
                    ));
                }
            }
        }
        self.consume(Token::RParen)?;
        if names.is_empty() {
            return fault_at(lparen, "load statement must import at least 1 symbol");
        }
        Ok(StmtKind::Load { module, names: self.ast.add_load_names(names) })
    }

    /// `local = "exported"` in a load statement.
    fn renamed_load(&mut self) -> Result<(ExprId, ExprId), Fault> {
        let local = self.ident()?;
        let name = self.text(local);
        if self.tok != Token::Eq {
            return self.fault(format!(
                r#"load operand must be "{name}" or {name}="originalname" (want '=' after {name})"#
            ));
        }
        self.advance()?;
        if self.tok != Token::String {
            return self.fault(format!(
                r#"original name of loaded symbol must be quoted: {name}="originalname""#
            ));
        }
        Ok((local, self.primary()?))
    }
}

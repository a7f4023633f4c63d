//! Decides how tokens are consumed, how errors about them are worded, and how deep a file may nest.

use super::{
    Fault,
    ast::{Ast, ExprId, ExprKind, Span},
    fault_at,
    position::offset,
    scan::Scanner,
    token::Token,
};

/// How deep brackets, blocks, unary operators and lambdas may nest.
///
/// The reference has no limit but memory; the interpreter behind us recurses on the native stack.
const MAX_NESTING: usize = 5_000;
/// How many operators one chain may have: `a + b + ...`.
pub(super) const MAX_CHAIN: usize = 50_000;
/// How many `.name`, `(...)` and `[...]` may follow one operand, and how many `elif`s one `if`.
pub(super) const MAX_SUFFIXES: usize = 10_000;

/// The parser: one token of lookahead.
pub(super) struct Parser<'a> {
    pub(super) source: &'a str,
    pub(super) scan: Scanner<'a>,
    pub(super) tok: Token,
    /// Where the lookahead token starts.
    pub(super) start: u32,
    /// Where the last consumed token ends.
    pub(super) prev_end: u32,
    pub(super) ast: Ast,
    /// Elements of lists under construction, innermost last.
    pub(super) pending: Vec<ExprId>,
    nesting: usize,
}

/// Parses a file.
pub(super) fn parse(source: &str) -> Result<Ast, Fault> {
    if source.len() >= u32::MAX as usize {
        return Err(Fault::new(0, "file is larger than 4 GiB"));
    }
    let mut parser = Parser {
        source,
        scan: Scanner::new(source),
        tok: Token::Eof,
        start: 0,
        prev_end: 0,
        ast: Ast::default(),
        pending: Vec::new(),
        nesting: 0,
    };
    parser.advance()?;
    parser.file()?;
    Ok(parser.ast)
}

impl<'a> Parser<'a> {
    /// Moves to the next token and returns where the consumed one started.
    pub(super) fn advance(&mut self) -> Result<u32, Fault> {
        let old = self.start;
        self.prev_end = offset(self.scan.pos);
        self.tok = self.scan.next()?;
        self.start = offset(self.scan.start);
        Ok(old)
    }

    /// An error at the end of the lookahead token, which is where the reference puts most of them.
    pub(super) fn fault<T>(&self, message: impl Into<String>) -> Result<T, Fault> {
        Err(Fault::new(self.scan.pos, message))
    }

    pub(super) fn consume(&mut self, want: Token) -> Result<u32, Fault> {
        if self.tok != want {
            let (got, want) = (self.tok.described(), want.described());
            return self.fault(format!("got {got}, want {want}"));
        }
        self.advance()
    }

    pub(super) fn ident(&mut self) -> Result<ExprId, Fault> {
        if self.tok != Token::Ident {
            return self.fault("not an identifier");
        }
        let end = offset(self.scan.pos);
        let start = self.advance()?;
        Ok(self.ast.add(ExprKind::Ident, start, end))
    }

    /// Runs `inner` one level deeper.
    pub(super) fn nested<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        if self.nesting >= MAX_NESTING {
            let message = format!("nesting is deeper than {MAX_NESTING} levels");
            return fault_at(self.start, message);
        }
        self.nesting += 1;
        let result = inner(self);
        self.nesting -= 1;
        result
    }

    /// Makes a list of the pending elements from `mark` on.
    pub(super) fn take_items(&mut self, mark: usize) -> Span {
        self.ast.add_items(self.pending.drain(mark..))
    }

    pub(super) fn text(&self, id: ExprId) -> &'a str {
        self.ast.text(self.source, id)
    }
}

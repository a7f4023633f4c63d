//! Decides the shape of a parsed file: nodes in arenas that refer to each other by index, so that
//! no tree, however lopsided, is dropped or walked by accident of recursion.

use std::{num::NonZeroU32, ops::Range};

use super::token::Token;

/// The index of an expression, a parameter or an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExprId(NonZeroU32);

/// The index of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StmtId(u32);

/// Some consecutive entries of one of the pools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    start: u32,
    len: u32,
}

impl Span {
    fn range(self) -> Range<usize> {
        self.start as usize..(self.start + self.len) as usize
    }

    /// How many entries there are.
    pub fn len(self) -> usize {
        self.len as usize
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }
}

/// An expression and the source bytes it covers.
#[derive(Debug, Clone, Copy)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Its first byte.
    pub start: u32,
    /// The byte after its last.
    pub end: u32,
}

/// What an expression is; positions are byte offsets of the token they are named after.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "the fields are the parts of the grammar rule")]
pub enum ExprKind {
    Ident,
    /// `Int`, `Float`, `String` or `Bytes`.
    Literal(Token),
    List(Span),
    Tuple(Span),
    Dict(Span),
    DictEntry {
        key: ExprId,
        colon: u32,
        value: ExprId,
    },
    Comprehension {
        body: ExprId,
        clauses: Span,
    },
    Cond {
        yes: ExprId,
        cond: ExprId,
        no: ExprId,
    },
    Unary {
        op: Token,
        operand: ExprId,
    },
    Binary {
        op: Token,
        op_pos: u32,
        left: ExprId,
        right: ExprId,
    },
    Dot {
        operand: ExprId,
        dot: u32,
        name: ExprId,
    },
    Call {
        callee: ExprId,
        lparen: u32,
        args: Span,
    },
    Index {
        operand: ExprId,
        lbrack: u32,
        index: ExprId,
    },
    Slice {
        operand: ExprId,
        lbrack: u32,
        parts: Span,
    },
    Lambda {
        params: Span,
        body: ExprId,
    },
    Paren(ExprId),
    /// `name=value` among arguments or parameters.
    Named {
        name: ExprId,
        eq: u32,
        value: ExprId,
    },
    /// `*x` or `**x` among arguments or parameters; the bare `*` has no operand.
    Star {
        double: bool,
        operand: Option<ExprId>,
    },
    /// A part of a slice that was left out.
    Absent,
}

/// A `for` or `if` inside a comprehension.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "the fields are the parts of the grammar rule")]
pub enum Clause {
    For { pos: u32, vars: ExprId, over: ExprId },
    If { cond: ExprId },
}

/// A statement and the source bytes it covers, without its line end.
#[derive(Debug, Clone, Copy)]
pub struct Stmt {
    /// What it is.
    pub kind: StmtKind,
    /// Its first byte.
    pub start: u32,
    /// The byte after its last.
    pub end: u32,
}

/// What a statement is.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "the fields are the parts of the grammar rule")]
pub enum StmtKind {
    Expr(ExprId),
    /// `=` or an augmented assignment.
    Assign {
        op: Token,
        op_pos: u32,
        target: ExprId,
        value: ExprId,
    },
    /// `Break`, `Continue` or `Pass`.
    Branch(Token),
    Return(Option<ExprId>),
    Load {
        module: ExprId,
        names: Span,
    },
    Def {
        name: ExprId,
        params: Span,
        body: Block,
    },
    If {
        branches: Span,
        otherwise: Option<Block>,
    },
    For {
        vars: ExprId,
        over: ExprId,
        body: Block,
    },
    While {
        cond: ExprId,
        body: Block,
    },
}

/// The statements under a header.
#[derive(Debug, Clone, Copy)]
pub struct Block {
    /// The statements.
    pub stmts: Span,
    /// How far they are indented, unless they follow the colon on its line.
    pub indent: Option<u32>,
}

/// An `if` or `elif` with its body.
#[derive(Debug, Clone, Copy)]
pub struct Branch {
    /// The condition.
    pub cond: ExprId,
    /// What runs if it holds.
    pub body: Block,
}

/// A name in a `load` statement.
#[derive(Debug, Clone, Copy)]
pub struct LoadName {
    /// The local name, if it is given: `local = "exported"`.
    pub local: Option<ExprId>,
    /// The string literal with the exported name.
    pub exported: ExprId,
}

/// A parsed file.
#[derive(Debug, Default)]
pub struct Ast {
    exprs: Vec<Expr>,
    items: Vec<ExprId>,
    clauses: Vec<Clause>,
    stmts: Vec<Stmt>,
    blocks: Vec<StmtId>,
    branches: Vec<Branch>,
    load_names: Vec<LoadName>,
    /// The top-level statements.
    pub body: Vec<StmtId>,
    /// Where the file ends; a NUL ends it early.
    pub end: u32,
}

impl Ast {
    pub(super) fn add(&mut self, kind: ExprKind, start: u32, end: u32) -> ExprId {
        self.exprs.push(Expr { kind, start, end });
        let id = u32::try_from(self.exprs.len()).ok().and_then(NonZeroU32::new);
        ExprId(id.expect("a file has fewer nodes than bytes and fewer than 4 GiB of those"))
    }

    pub(super) fn add_stmt(&mut self, kind: StmtKind, start: u32, end: u32) -> StmtId {
        self.stmts.push(Stmt { kind, start, end });
        StmtId(super::position::offset(self.stmts.len() - 1))
    }

    pub(super) fn add_items(&mut self, items: impl Iterator<Item = ExprId>) -> Span {
        pool(&mut self.items, items)
    }

    pub(super) fn add_clauses(&mut self, clauses: Vec<Clause>) -> Span {
        pool(&mut self.clauses, clauses.into_iter())
    }

    pub(super) fn add_block(&mut self, stmts: Vec<StmtId>) -> Span {
        pool(&mut self.blocks, stmts.into_iter())
    }

    pub(super) fn add_branches(&mut self, branches: Vec<Branch>) -> Span {
        pool(&mut self.branches, branches.into_iter())
    }

    pub(super) fn add_load_names(&mut self, names: Vec<LoadName>) -> Span {
        pool(&mut self.load_names, names.into_iter())
    }

    /// An expression.
    pub fn expr(&self, id: ExprId) -> Expr {
        self.exprs[id.0.get() as usize - 1]
    }

    /// A statement.
    pub fn stmt(&self, id: StmtId) -> Stmt {
        self.stmts[id.0 as usize]
    }

    /// The elements, arguments, parameters, entries or slice parts of an expression.
    pub fn items(&self, span: Span) -> &[ExprId] {
        &self.items[span.range()]
    }

    /// The clauses of a comprehension.
    pub fn clauses(&self, span: Span) -> &[Clause] {
        &self.clauses[span.range()]
    }

    /// The statements of a block.
    pub fn block(&self, block: Block) -> &[StmtId] {
        &self.blocks[block.stmts.range()]
    }

    /// The branches of an `if` statement.
    pub fn branches(&self, span: Span) -> &[Branch] {
        &self.branches[span.range()]
    }

    /// The names of a `load` statement.
    pub fn load_names(&self, span: Span) -> &[LoadName] {
        &self.load_names[span.range()]
    }

    /// How many expressions there are.
    pub fn expr_count(&self) -> usize {
        self.exprs.len()
    }

    /// The source text of an expression.
    pub fn text<'a>(&self, source: &'a str, id: ExprId) -> &'a str {
        let Expr { start, end, .. } = self.expr(id);
        source.get(start as usize..end as usize).unwrap_or_default()
    }

    /// The expression without the parentheses around it.
    pub fn unparen(&self, mut id: ExprId) -> ExprId {
        while let ExprKind::Paren(inner) = self.expr(id).kind {
            id = inner;
        }
        id
    }
}

impl ExprId {
    /// The index as a number below [`Ast::expr_count`].
    pub fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

fn pool<T>(pool: &mut Vec<T>, items: impl Iterator<Item = T>) -> Span {
    let start = super::position::offset(pool.len());
    pool.extend(items);
    Span { start, len: super::position::offset(pool.len()) - start }
}

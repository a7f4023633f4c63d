//! Decides what is remembered about a file for wording its errors.

use std::ops::Range;

use crate::syntax::Scope;

/// What kind of operation happens at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SiteKind {
    /// A call; reported at its parenthesis.
    Call,
    /// An index; reported at its bracket.
    Index,
    /// A slice; reported at its bracket.
    Slice,
    /// An attribute; reported at its dot.
    Dot,
    /// A unary operator.
    Unary,
    /// A binary operator, also of an augmented assignment.
    Binary,
    /// Iteration over the operand of a loop; reported at `for`.
    Iterate,
    /// Unpacking into an assignment target; reported at the `=` or `for`.
    Assign,
    /// A key of a dict display; reported at its colon.
    DictKey,
}

impl SiteKind {
    /// Whether an error is about this site if nothing but the span is known.
    fn is_evident(self) -> bool {
        !matches!(self, SiteKind::Assign | SiteKind::DictKey)
    }
}

#[derive(Debug, Clone, Copy)]
struct SiteEntry {
    begin: u32,
    end: u32,
    kind: SiteKind,
    offset: u32,
}

/// A call as the user wrote it.
#[derive(Debug, Clone)]
pub struct CallInfo {
    /// Where the call expression starts in the rewritten text.
    pub begin: u32,
    /// Where it ends there.
    pub end: u32,
    /// The source offset of its parenthesis.
    pub lparen: u32,
    /// The source bytes of the callee.
    pub callee: Range<u32>,
    /// How many positional arguments there are, `*args` aside.
    pub positional: u32,
    /// The source bytes of the names of keyword arguments.
    pub named: Vec<Range<u32>>,
    /// Whether there is `*args`.
    pub star_args: bool,
    /// Whether there is `**kwargs`.
    pub star_star_args: bool,
}

/// A function definition or lambda.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefInfo {
    /// Its name; `lambda` for lambdas.
    pub name: String,
    /// Where `def` or `lambda` is in the rewritten text.
    pub begin: u32,
    /// The source offset of `def` or `lambda`.
    pub source: u32,
    /// The source offset that starlark-go reports for a call whose arguments do not fit.
    pub entry: u32,
    /// Its parameters, in order.
    pub params: Vec<ParamInfo>,
}

/// A parameter of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParamInfo {
    /// Its name, empty for a bare `*`.
    pub name: String,
    /// Which kind it is.
    pub kind: ParamKind,
}

/// How a parameter is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParamKind {
    /// `x`
    Required,
    /// `x=1`
    Optional,
    /// `x` after `*`
    KeywordOnlyRequired,
    /// `x=1` after `*`
    KeywordOnlyOptional,
    /// `*args`
    StarArgs,
    /// `*`
    BareStar,
    /// `**kwargs`
    StarStarArgs,
}

/// What the error translator and the evaluator want to know about a file.
#[derive(Debug, Default)]
pub struct FileInfo {
    /// The names bound at top level, without loaded ones, in order of first binding.
    pub globals: Vec<String>,
    /// The local names of loaded values.
    pub loaded: Vec<String>,
    /// Builtins used at top level before the file binds their names; the text calls them
    /// `__builtin_NAME__`.
    pub early_builtins: Vec<String>,
    /// Function definitions and lambdas.
    pub defs: Vec<DefInfo>,
    sites: Vec<SiteEntry>,
    calls: Vec<CallInfo>,
    /// Uses and bindings of variables by output offset.
    names: Vec<(u32, Scope)>,
}

impl FileInfo {
    pub(super) fn add_site(&mut self, kind: SiteKind, span: Range<u32>, offset: u32) {
        self.sites.push(SiteEntry { begin: span.start, end: span.end, kind, offset });
    }

    /// Changes where the site that was added last is reported.
    pub(super) fn move_site(&mut self, kind: SiteKind, span: &Range<u32>, offset: u32) {
        if let Some(site) = self.sites.last_mut()
            && (site.kind, site.begin, site.end) == (kind, span.start, span.end)
        {
            site.offset = offset;
        }
    }

    pub(super) fn add_call(&mut self, call: CallInfo) {
        self.add_site(SiteKind::Call, call.begin..call.end, call.lparen);
        self.calls.push(call);
    }

    pub(super) fn add_name(&mut self, out: u32, scope: Scope) {
        self.names.push((out, scope));
    }

    pub(super) fn finish(&mut self) {
        self.sites.sort_unstable_by_key(|site| (site.begin, site.end, site.kind));
        self.calls.sort_unstable_by_key(|call| (call.begin, call.end));
        self.names.sort_unstable_by_key(|name| name.0);
        self.defs.sort_by_key(|def| def.begin);
        self.early_builtins.sort_unstable();
        self.early_builtins.dedup();
    }

    fn sites_at(&self, begin: u32, end: u32) -> impl Iterator<Item = &SiteEntry> {
        let first = self.sites.partition_point(|site| (site.begin, site.end) < (begin, end));
        self.sites[first..].iter().take_while(move |site| (site.begin, site.end) == (begin, end))
    }

    /// The source offset that starlark-go reports for an operation of a known kind in the
    /// expression at `begin..end` of the rewritten text.
    pub fn go_offset(&self, begin: u32, end: u32, kind: SiteKind) -> Option<u32> {
        self.sites_at(begin, end).find(|site| site.kind == kind).map(|site| site.offset)
    }

    /// The source offset that starlark-go reports for the expression at `begin..end`.
    pub(super) fn go_offset_of_any(&self, begin: u32, end: u32) -> Option<u32> {
        self.sites_at(begin, end).find(|site| site.kind.is_evident()).map(|site| site.offset)
    }

    /// The call at `begin..end` of the rewritten text.
    pub fn call(&self, begin: u32, end: u32) -> Option<&CallInfo> {
        let found = self.calls.binary_search_by_key(&(begin, end), |call| (call.begin, call.end));
        found.ok().map(|index| &self.calls[index])
    }

    /// What the variable at an offset of the rewritten text refers to.
    pub fn scope_at(&self, out: u32) -> Option<Scope> {
        let found = self.names.binary_search_by_key(&out, |name| name.0);
        found.ok().map(|index| self.names[index].1)
    }
}

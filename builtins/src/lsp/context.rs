//! Finds the call around a position, and the argument at it.

use super::{
    document::Document,
    outline::starts_statement,
    tokens::{Token, TokenKind},
};

/// A call around a place.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Call {
    /// What is called: `os.path.join`; empty if that is no name.
    pub(super) callee: String,
    /// How many arguments stand before this one.
    pub(super) n_before: usize,
    /// The name of this argument, once it has one.
    pub(super) keyword: Option<String>,
    /// The names of all arguments before.
    pub(super) given: Vec<String>,
    /// Whether nothing is open between the call and the place.
    pub(super) is_innermost: bool,
}

/// An open bracket.
pub(super) struct Open {
    callee: Option<String>,
    n_before: usize,
    keyword: Option<String>,
    given: Vec<String>,
}

/// The innermost call around a place.
pub(super) fn call_at(document: &Document, offset: usize) -> Option<Call> {
    let mut found = None;
    walk(document, |at, open| {
        let is_before = document.tokens.get(at).is_some_and(|it| it.range.start < offset);
        if !is_before {
            found = innermost(open);
        }
        is_before
    });
    found
}

/// Goes through all tokens, and tells which brackets are open before each and at the end, until somebody has seen
/// enough.
pub(super) fn walk(document: &Document, mut visit: impl FnMut(usize, &[Open]) -> bool) {
    let mut open: Vec<Open> = Vec::new();
    let tokens = &document.tokens;
    for (at, token) in tokens.iter().enumerate() {
        if token.is_first && !open.is_empty() && starts_statement(document.text(), tokens, at) {
            open.clear();
        }
        if !visit(at, &open) {
            return;
        }
        match token.kind {
            TokenKind::Sign(b'(') => open.push(Open::new(callee(document, at))),
            TokenKind::Sign(b'[' | b'{') => open.push(Open::new(None)),
            TokenKind::Sign(b')' | b']' | b'}') => {
                open.pop();
            }
            TokenKind::Sign(b',') => {
                if let Some(call) = open.last_mut() {
                    call.n_before += 1;
                    call.given.extend(call.keyword.take());
                }
            }
            TokenKind::Sign(b'=') if at > 0 && names_argument(tokens, at - 1) => {
                if let Some(call) = open.last_mut() {
                    call.keyword = Some(document.word(&tokens[at - 1]).to_owned());
                }
            }
            _ => {}
        }
    }
    visit(tokens.len(), &open);
}

/// The innermost call among open brackets.
pub(super) fn innermost(open: &[Open]) -> Option<Call> {
    let depth = open.iter().rposition(|it| it.callee.is_some())?;
    let Open { callee, n_before, keyword, given } = &open[depth];
    Some(Call {
        callee: callee.clone()?,
        n_before: *n_before,
        keyword: keyword.clone(),
        given: given.clone(),
        is_innermost: depth + 1 == open.len(),
    })
}

impl Open {
    fn new(callee: Option<String>) -> Self {
        Self { callee, n_before: 0, keyword: None, given: Vec::new() }
    }
}

/// What stands before an open bracket, if that is called.
pub(super) fn callee(document: &Document, bracket: usize) -> Option<String> {
    let name = bracket.checked_sub(1)?;
    let token = &document.tokens[name];
    let is_defined = name > 0 && document.word(&document.tokens[name - 1]) == "def";
    if is_defined || is_keyword_of_language(document.word(token)) {
        return None;
    }
    match token.kind {
        TokenKind::Name => {
            let mut path = document.receivers(name);
            path.push(document.word(token));
            Some(path.join("."))
        }
        TokenKind::Sign(b')' | b']') => Some(String::new()),
        _ => None,
    }
}

/// Whether a token is the name of an argument: `name=`, and not `name==`.
pub(super) fn names_argument(tokens: &[Token], at: usize) -> bool {
    let is_equals = |at: usize| tokens.get(at).is_some_and(|it| it.is(b'='));
    tokens.get(at).is_some_and(|it| it.kind == TokenKind::Name)
        && is_equals(at + 1)
        && !is_equals(at + 2)
        && tokens[..at]
            .iter()
            .rfind(|it| it.kind != TokenKind::Newline)
            .is_some_and(|it| it.is(b'(') || it.is(b','))
}

/// Words that the language has taken.
pub(super) const KEYWORDS: [&str; 16] = [
    "and", "break", "continue", "def", "elif", "else", "for", "if", "in", "lambda", "load", "not",
    "or", "pass", "return", "while",
];

fn is_keyword_of_language(word: &str) -> bool {
    word != "load" && KEYWORDS.contains(&word)
}

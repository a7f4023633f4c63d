//! Knows the type of a variable where a file says it plainly.

use super::{
    context::KEYWORDS,
    document::Document,
    scope,
    tokens::{Token, TokenKind},
};
use crate::docs::{self, Shape};

/// The type of the value that ends before a token: of a literal, or of a variable that is only assigned such values.
pub(super) fn before(document: &Document, token: usize) -> Option<&'static str> {
    let last = token.checked_sub(1)?;
    match document.tokens[last].kind {
        TokenKind::Text => Some("string"),
        TokenKind::Sign(b']') if is_list(document, last) => Some("list"),
        TokenKind::Sign(b'}') => Some("dict"),
        TokenKind::Name if document.receivers(last).is_empty() => variable(document, last),
        _ => None,
    }
}

/// Whether a closing bracket ends a list, and not an index.
fn is_list(document: &Document, close: usize) -> bool {
    let mut depth = 0_usize;
    let open = document.tokens[..=close].iter().rposition(|it| {
        match it.kind {
            TokenKind::Sign(b')' | b']' | b'}') => depth += 1,
            TokenKind::Sign(b'(' | b'[' | b'{') => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    });
    let before = open.and_then(|it| document.tokens.get(it.checked_sub(1)?));
    !before.is_some_and(|it| {
        matches!(it.kind, TokenKind::Name | TokenKind::Text | TokenKind::Sign(b')' | b']' | b'}'))
            && !KEYWORDS.contains(&document.word(it))
    })
}

fn variable(document: &Document, name: usize) -> Option<&'static str> {
    let token = &document.tokens[name];
    let symbols = scope::own_all(document.outline(), document.word(token), token.range.start);
    let mut types = symbols.into_iter().map(|it| value(document, it.value?));
    let first = types.next()??;
    types.all(|it| it == Some(first)).then_some(first)
}

/// The type of an expression that begins at a token and goes on to the end of its line.
fn value(document: &Document, start: usize) -> Option<&'static str> {
    let (ty, end) = match document.tokens.get(start)?.kind {
        TokenKind::Text => ("string", start + 1),
        TokenKind::Sign(b'[') => ("list", end_of_bracket(&document.tokens, start)?),
        TokenKind::Sign(b'{') => ("dict", end_of_bracket(&document.tokens, start)?),
        TokenKind::Name => {
            let call = document.calls.iter().find(|it| it.name >= start)?;
            let dots = call.callee.matches('.').count();
            let is_it = call.name == start + 2 * dots;
            let entry = docs::find(&call.callee).filter(|_| is_it)?;
            let Shape::Function { returns, .. } = &entry.shape else { return None };
            let plain = returns.split('[').next().filter(|_| !returns.contains('|'));
            let ty = match plain {
                Some("str") => "string",
                Some("list") => "list",
                Some("dict") => "dict",
                _ => return None,
            };
            (ty, call.end? + 1)
        }
        _ => return None,
    };
    let ends = document.tokens.get(end).is_none_or(|it| it.kind == TokenKind::Newline);
    ends.then_some(ty)
}

/// Behind the bracket that closes another one.
fn end_of_bracket(tokens: &[Token], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.kind {
            TokenKind::Sign(b'(' | b'[' | b'{') => depth += 1,
            TokenKind::Sign(b')' | b']' | b'}') => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

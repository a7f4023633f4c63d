//! Finds all uses of a name in its file, and renames it there.

use std::collections::HashMap;

use super::{
    SymbolKind,
    context::KEYWORDS,
    document::{Document, Range},
    scope,
    tokens::TokenKind,
};

/// Why a name cannot be changed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenameError {
    /// Nothing that the file defines is there.
    #[error("only names that this file defines can be renamed")]
    NotDefined,
    /// The name means something else within brackets.
    #[error("{0} is also a variable of a comprehension or lambda")]
    Ambiguous(String),
    /// The new name is none.
    #[error("{0:?} is not a name")]
    NoName(String),
    /// The new name is taken.
    #[error("{0} is already used in this file")]
    Taken(String),
}

/// A name, and the function that it belongs to; none if the whole file can see it.
type Variable<'a> = (&'a str, Option<usize>);

/// All uses of the name at a place, its definition included.
pub fn references(document: &Document, offset: usize) -> Vec<Range> {
    uses(document, offset).map(|(_, tokens)| tokens).unwrap_or_default()
}

/// The places that have to change if the name at a place becomes another one.
///
/// # Errors
/// If that would break the file.
pub fn rename(document: &Document, offset: usize, new: &str) -> Result<Vec<Range>, RenameError> {
    let ((name, parent), found) = uses(document, offset).ok_or(RenameError::NotDefined)?;
    let mut symbols = document.outline().symbols.iter();
    if !symbols.any(|it| it.name == name && it.parent == parent) {
        return Err(RenameError::NotDefined);
    }
    let is_letter = |it: char| it == '_' || it.is_alphanumeric();
    let is_reserved = KEYWORDS.contains(&new) || ["None", "True", "False"].contains(&new);
    if is_reserved
        || new.starts_with(|it: char| it.is_numeric())
        || !new.chars().all(is_letter)
        || new.is_empty()
    {
        return Err(RenameError::NoName(new.to_owned()));
    }
    if is_bound_in_expression(document, name) {
        return Err(RenameError::Ambiguous(name.to_owned()));
    }
    if (0..document.tokens.len()).any(|it| document.name_at(it) == Some(new)) {
        return Err(RenameError::Taken(new.to_owned()));
    }
    Ok(found)
}

fn uses(document: &Document, offset: usize) -> Option<(Variable<'_>, Vec<Range>)> {
    let keywords: HashMap<usize, &str> = document
        .calls
        .iter()
        .flat_map(|call| call.args.iter().filter_map(|it| Some((it.name?, call.callee.as_str()))))
        .collect();
    let variable = variable(document, &keywords, document.dotted_at(offset)?.token)?;
    let name = variable.0;
    let same = (0..document.tokens.len()).filter(|it| {
        document.name_at(*it) == Some(name)
            && self::variable(document, &keywords, *it) == Some(variable)
    });
    Some((variable, same.map(|it| document.range(&document.tokens[it].range)).collect()))
}

/// What the name at a token means; members of values have no meaning of their own.
fn variable<'a>(
    document: &'a Document,
    keywords: &HashMap<usize, &str>,
    token: usize,
) -> Option<Variable<'a>> {
    let name = document.name_at(token)?;
    if KEYWORDS.contains(&name) || token > 0 && document.tokens[token - 1].is(b'.') {
        return None;
    }
    let outline = document.outline();
    if let Some(callee) = keywords.get(&token) {
        let function = outline.symbols.iter().position(|it| {
            it.name == *callee
                && it.parent.is_none()
                && matches!(it.kind, SymbolKind::Function { .. })
        });
        return Some((name, Some(function?)));
    }
    let own = scope::own_all(outline, name, document.tokens[token].range.start);
    Some((name, own.first().and_then(|it| it.parent)))
}

/// Whether `for NAME in` or `lambda NAME:` stands inside of an expression.
fn is_bound_in_expression(document: &Document, name: &str) -> bool {
    let binders = document.tokens.iter().enumerate().filter(|(_, it)| {
        it.kind == TokenKind::Name && !it.is_first && ["for", "lambda"].contains(&document.word(it))
    });
    let mut bound = binders.flat_map(|(at, _)| {
        let behind = document.tokens[at + 1..].iter();
        behind.take_while(|it| !it.is(b':') && document.word(it) != "in")
    });
    bound.any(|it| document.word(it) == name)
}

//! Finds the texts in Rust sources that a program shows: string literals, without what is filled in.

use std::{collections::BTreeSet, iter::Peekable, str::Chars};

/// What several words are at least long, so that they are recognized in text as what they are.
const MIN_TEXT: usize = 8;

/// The fixed parts of all string literals, as far as they have several words or introduce something with a colon.
pub(crate) fn fixed_texts(sources: impl IntoIterator<Item = String>) -> BTreeSet<String> {
    let mut texts = BTreeSet::new();
    for source in sources {
        for literal in literals(without_tests(&source)) {
            for part in literal.split([PLACEHOLDER, '\n']).map(str::trim) {
                if part.len() >= MIN_TEXT && (part.contains(' ') || part.ends_with(':')) {
                    texts.insert(part.to_owned());
                }
            }
        }
    }
    texts
}

/// Stands for what is filled in.
const PLACEHOLDER: char = '\0';

fn without_tests(source: &str) -> &str {
    let is_inline = |at: &usize| {
        let mut lines = source[*at..].lines().skip(1);
        lines.next().is_some_and(|it| it.contains("mod ") && it.ends_with('{'))
    };
    let found = source.match_indices("#[cfg(test)]").map(|it| it.0).find(is_inline);
    &source[..found.unwrap_or(source.len())]
}

/// The string literals of a source, with placeholders for what is in braces.
fn literals(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut chars = source.chars().peekable();
    let mut before = ' ';
    while let Some(char) = chars.next() {
        match char {
            '/' if chars.peek() == Some(&'/') => while chars.next_if(|it| *it != '\n').is_some() {},
            '\'' => skip_char(&mut chars),
            'r' if !before.is_alphanumeric() && before != '_' => {
                found.extend(raw_string(&mut chars));
            }
            '"' => found.push(without_arguments(&string(&mut chars))),
            _ => {}
        }
        // A byte string may be raw, too.
        before = if char == 'b' && !before.is_alphanumeric() { ' ' } else { char };
    }
    found
}

/// Skips a character, or nothing if it is a lifetime.
fn skip_char(chars: &mut Peekable<Chars<'_>>) {
    let mut ahead = chars.clone();
    match (ahead.next(), ahead.next()) {
        (Some('\\'), Some(_)) => {
            *chars = ahead;
            while chars.next_if(|it| *it != '\'').is_some() {}
            chars.next();
        }
        (Some(_), Some('\'')) => *chars = ahead,
        _ => {}
    }
}

/// The rest of a string after its opening quote.
fn string(chars: &mut Peekable<Chars<'_>>) -> String {
    let mut text = String::new();
    while let Some(char) = chars.next() {
        match char {
            '"' => break,
            '\\' => match chars.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some('\n') => while chars.next_if(|it| it.is_whitespace()).is_some() {},
                Some(quoted @ ('"' | '\\' | '\'')) => text.push(quoted),
                // What is written as a number is no word.
                _ => text.push(PLACEHOLDER),
            },
            _ => text.push(char),
        }
    }
    text
}

/// The rest of a raw string after its `r`; nothing if it is none.
fn raw_string(chars: &mut Peekable<Chars<'_>>) -> Option<String> {
    let mut ahead = chars.clone();
    let mut end = "\"".to_owned();
    while ahead.next_if_eq(&'#').is_some() {
        end.push('#');
    }
    ahead.next_if_eq(&'"')?;
    let mut text = String::new();
    while !text.ends_with(&end) {
        text.push(ahead.next()?);
    }
    *chars = ahead;
    text.truncate(text.len() - end.len());
    Some(without_arguments(&text))
}

/// The text with a placeholder for each pair of braces and what is in it; doubled braces are braces.
fn without_arguments(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '{' | '}' if chars.next_if_eq(&char).is_some() => out.push(char),
            '{' => {
                while chars.next_if(|it| *it != '}').is_some() {}
                chars.next();
                out.push(PLACEHOLDER);
            }
            _ => out.push(char),
        }
    }
    out
}

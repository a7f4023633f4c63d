//! Decides which characters are letters and how error messages quote a character.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, HirKind};

/// The letters: general category L.
static LETTERS: LazyLock<Ranges> = LazyLock::new(|| Ranges::new(r"\p{L}"));
/// What Go prints as it is: letters, marks, numbers, punctuation, symbols and the space.
static PRINTABLE: LazyLock<Ranges> = LazyLock::new(|| Ranges::new(r"[\p{L}\p{M}\p{N}\p{P}\p{S} ]"));

/// A set of characters as sorted ranges.
struct Ranges(Vec<(char, char)>);

impl Ranges {
    fn new(class: &str) -> Ranges {
        let parsed = regex_syntax::parse(class).expect("the class is spelled correctly");
        match parsed.into_kind() {
            HirKind::Class(Class::Unicode(class)) => {
                Ranges(class.ranges().iter().map(|range| (range.start(), range.end())).collect())
            }
            _ => Ranges(Vec::new()),
        }
    }

    fn contains(&self, c: char) -> bool {
        let after = self.0.partition_point(|&(start, _)| start <= c);
        after > 0 && c <= self.0[after - 1].1
    }
}

/// Whether an identifier may start with `c`.
pub(super) fn is_ident_start(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphabetic() || c == '_';
    }
    LETTERS.contains(c)
}

/// Whether an identifier may go on with `c`; only ASCII digits count as digits.
pub(super) fn is_ident(c: char) -> bool {
    c.is_ascii_digit() || is_ident_start(c)
}

/// Quotes a character as Go's `%q` does.
pub(super) fn quote_rune(c: char) -> String {
    let code = u32::from(c);
    match c {
        '\'' => r"'\''".to_owned(),
        '\\' => r"'\\'".to_owned(),
        _ if PRINTABLE.contains(c) => format!("'{c}'"),
        '\u{7}' => r"'\a'".to_owned(),
        '\u{8}' => r"'\b'".to_owned(),
        '\u{c}' => r"'\f'".to_owned(),
        '\n' => r"'\n'".to_owned(),
        '\r' => r"'\r'".to_owned(),
        '\t' => r"'\t'".to_owned(),
        '\u{b}' => r"'\v'".to_owned(),
        _ if code < 0x20 || code == 0x7f => format!(r"'\x{code:02x}'"),
        _ if code < 0x10000 => format!(r"'\u{code:04x}'"),
        _ => format!(r"'\U{code:08x}'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_category_l_and_nothing_else() {
        for c in ['a', 'Z', '_', 'é', 'λ', '世', 'ª'] {
            assert!(is_ident_start(c), "{c:?}");
        }
        for c in ['1', '٣', '²', '\u{301}', '😀', 'Ⅷ', '-', '\u{feff}'] {
            assert!(!is_ident_start(c), "{c:?}");
        }
    }

    #[test]
    fn characters_are_quoted_as_go_quotes_them() {
        let check = |c: char, expected: &str| assert_eq!(quote_rune(c), expected);
        check('@', "'@'");
        check('$', "'$'");
        check('"', "'\"'");
        check('\u{feff}', r"'\ufeff'");
        check('\u{a0}', r"'\u00a0'");
        check('\u{c}', r"'\f'");
        check('\u{1}', r"'\x01'");
        check('\u{301}', "'\u{301}'");
        check('😀', "'😀'");
        check('\u{fffd}', "'\u{fffd}'");
        check('\u{e0001}', r"'\U000e0001'");
    }
}

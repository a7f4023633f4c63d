//! Decides which characters are letters.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, HirKind};

/// The letters: general category L.
static LETTERS: LazyLock<Ranges> = LazyLock::new(|| Ranges::new(r"\p{L}"));

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
}

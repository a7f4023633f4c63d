//! Decides the order of keys: letters after other characters, numbers by value (`a2` before `a10`).

use super::super::Dialect;

/// Sorts entries by key in go-yaml's natural order.
///
/// The order is not always consistent, which the standard library's sort may answer with a panic;
/// this merge sort takes any order.
pub(super) fn sort_keys<T>(entries: &mut Vec<(&String, T)>, dialect: Dialect) {
    let mut sorted: Vec<Vec<(&String, T)>> = entries.drain(..).map(|entry| vec![entry]).collect();
    while sorted.len() > 1 {
        let mut merged = Vec::with_capacity(sorted.len().div_ceil(2));
        let mut runs = sorted.into_iter();
        while let Some(left) = runs.next() {
            merged.push(match runs.next() {
                Some(right) => merge(left, right, dialect),
                None => left,
            });
        }
        sorted = merged;
    }
    entries.extend(sorted.into_iter().flatten());
}

type Run<'a, T> = Vec<(&'a String, T)>;

fn merge<'a, T>(left: Run<'a, T>, right: Run<'a, T>, dialect: Dialect) -> Run<'a, T> {
    let mut out = Vec::with_capacity(left.len() + right.len());
    let mut left = left.into_iter().peekable();
    let mut right = right.into_iter().peekable();
    while let (Some((a, _)), Some((b, _))) = (left.peek(), right.peek()) {
        let next = if is_less(b, a, dialect) { right.next() } else { left.next() };
        out.extend(next);
    }
    out.extend(left);
    out.extend(right);
    out
}

/// Says whether one key comes before another.
fn is_less(a: &str, b: &str, dialect: Dialect) -> bool {
    if a.bytes().chain(b.bytes()).all(|c| c.is_ascii_alphabetic()) {
        return a < b;
    }
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let Some(at) = a.iter().zip(&b).position(|(a, b)| a != b) else { return a.len() < b.len() };
    let letters = (a[at].is_alphabetic(), b[at].is_alphabetic());
    match letters {
        (true, true) => return a[at] < b[at],
        (true, false) | (false, true) => {
            // After equal digits, version 3 puts a letter first: `1a` before `1-`.
            let after_digit = at > 0 && a[at - 1].is_ascii_digit();
            let reversed = dialect == Dialect::V4 && after_digit;
            return letters.0 == reversed;
        }
        (false, false) => {}
    }
    // Zeros are significant behind another digit.
    let zero = a[at] == '0' || b[at] == '0';
    let digits_before = a[..at].iter().rev().take_while(|c| c.is_ascii_digit());
    let start = i64::from(zero && digits_before.into_iter().any(|c| *c != '0'));
    let (a_number, a_end) = number(&a, at, start);
    let (b_number, b_end) = number(&b, at, start);
    if a_number != b_number {
        return a_number < b_number;
    }
    if a_end != b_end {
        return a_end < b_end;
    }
    a[at] < b[at]
}

/// Reads digits from a position on; overflow wraps around as in Go.
fn number(text: &[char], from: usize, start: i64) -> (i64, usize) {
    let mut number = start;
    let mut at = from;
    while let Some(digit) = text.get(at).and_then(|c| c.to_digit(10)) {
        number = number.wrapping_mul(10).wrapping_add(i64::from(digit));
        at += 1;
    }
    (number, at)
}

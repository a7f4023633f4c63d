//! Decides whether a glob pattern is well formed, as far as Go's `filepath.Match` would look.

/// Whether `filepath.Match` accepts the pattern for a name that it does not match: it then checks
/// only the part before the first `*`.
pub(super) fn is_well_formed(pattern: &str) -> bool {
    let mut rest = first_chunk(pattern).chars();
    while let Some(c) = rest.next() {
        let fine = match c {
            '[' => skip_class(&mut rest),
            '\\' => rest.next().is_some(),
            _ => true,
        };
        if !fine {
            return false;
        }
    }
    true
}

/// The part of a pattern before its first `*` that is not in brackets.
fn first_chunk(pattern: &str) -> &str {
    let mut in_class = false;
    let mut chars = pattern.char_indices();
    while let Some((i, c)) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            '[' => in_class = true,
            ']' => in_class = false,
            '*' if !in_class => return &pattern[..i],
            _ => {}
        }
    }
    pattern
}

/// Reads the rest of a class; false if it is malformed.
fn skip_class(rest: &mut std::str::Chars<'_>) -> bool {
    if rest.as_str().starts_with('^') {
        rest.next();
    }
    let mut ranges = 0;
    loop {
        if ranges > 0 && rest.as_str().starts_with(']') {
            rest.next();
            return true;
        }
        if !skip_class_char(rest) {
            return false;
        }
        if rest.as_str().starts_with('-') {
            rest.next();
            if !skip_class_char(rest) {
                return false;
            }
        }
        ranges += 1;
    }
}

/// Reads one possibly escaped character of a class, which may not be the last of the pattern.
fn skip_class_char(rest: &mut std::str::Chars<'_>) -> bool {
    let read = match rest.next() {
        None | Some('-' | ']') => false,
        Some('\\') => rest.next().is_some(),
        Some(_) => true,
    };
    read && !rest.as_str().is_empty()
}

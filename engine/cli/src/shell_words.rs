//! Splits and joins words as a POSIX shell does, without any expansion.

/// Joins words to one line, quoted where a shell needs it.
pub(crate) fn join(words: &[String]) -> String {
    words.iter().map(|it| quoted(it)).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    if word.is_empty() {
        return "''".to_owned();
    }
    if word.contains([' ', '\t', '\n']) {
        let parts = word.split('\'').map(|part| match part {
            "" => String::new(),
            part => format!("'{part}'"),
        });
        return parts.collect::<Vec<_>>().join("\\'");
    }
    let mut out = String::new();
    for (at, char) in word.char_indices() {
        if "\\'\"`${[|&;<>()*?!".contains(char) || (at == 0 && char == '~') {
            out.push('\\');
        }
        out.push(char);
    }
    out
}

/// The words of a line.
///
/// # Errors
/// If a quote or an escape is unterminated.
pub(crate) fn split(line: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(char) = chars.next() {
        match char {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\\' => match chars.next() {
                None => return Err("Unterminated backslash-escape"),
                Some('\n') => {}
                Some(escaped) => word.get_or_insert_default().push(escaped),
            },
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next() {
                        None => return Err("Unterminated single-quoted string"),
                        Some('\'') => break,
                        Some(char) => word.push(char),
                    }
                }
            }
            '"' => double_quoted(&mut chars, word.get_or_insert_default())?,
            char => word.get_or_insert_default().push(char),
        }
    }
    words.extend(word);
    Ok(words)
}

fn double_quoted(chars: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), &'static str> {
    let unterminated = "Unterminated double-quoted string";
    loop {
        match chars.next().ok_or(unterminated)? {
            '"' => return Ok(()),
            '\\' => match chars.next().ok_or(unterminated)? {
                '\n' => {}
                char if "$`\"\\".contains(char) => word.push(char),
                char => word.extend(['\\', char]),
            },
            char => word.push(char),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_quoted_only_where_needed() {
        let cases = [
            (&["a", "--b=c"][..], "a --b=c"),
            (&["x y", ""], "'x y' ''"),
            (&["it's", "it's here", "~x", "$HOME"], "it\\'s 'it'\\''s here' \\~x \\$HOME"),
        ];
        for (words, want) in cases {
            let words: Vec<String> = words.iter().map(|it| (*it).to_owned()).collect();
            assert_eq!(join(&words), want);
        }
    }

    #[test]
    fn unfinished_quotes_are_errors() {
        assert_eq!(split("a 'b"), Err("Unterminated single-quoted string"));
        assert_eq!(split("a \"b\\\""), Err("Unterminated double-quoted string"));
        assert_eq!(split("a\\"), Err("Unterminated backslash-escape"));
        assert_eq!(split("a \"b\\x$\" 'c'd"), Ok(vec!["a".into(), "b\\x$".into(), "cd".into()]));
    }

    proptest! {
        #[test]
        fn what_is_joined_can_be_split(words in prop::collection::vec("[ -~\n\té]{0,8}", 0..5)) {
            prop_assert_eq!(split(&join(&words)).unwrap(), words);
        }
    }
}

//! One line of comma-separated fields, as options of Docker are written.

/// Splits a line into its fields; `None` if quotes do not match.
pub(crate) fn fields(line: &str) -> Option<Vec<String>> {
    let mut fields = vec![String::new()];
    let mut rest = line.chars().peekable();
    let mut is_quoted = false;
    let mut is_start = true;
    while let Some(c) = rest.next() {
        let field = fields.last_mut().expect("there is always a field");
        match c {
            '"' if is_quoted && rest.next_if_eq(&'"').is_some() => field.push('"'),
            '"' if is_quoted => {
                is_quoted = false;
                if rest.peek().is_some_and(|&next| next != ',') {
                    return None;
                }
            }
            '"' if is_start => is_quoted = true,
            '"' => return None,
            ',' if !is_quoted => {
                fields.push(String::new());
                is_start = true;
                continue;
            }
            c => field.push(c),
        }
        is_start = false;
    }
    (!is_quoted).then_some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_keep_commas_together() {
        for (line, want) in [
            ("a,b", Some(vec!["a", "b"])),
            ("", Some(vec![""])),
            ("\"a,b\",c", Some(vec!["a,b", "c"])),
            ("\"say \"\"x\"\"\"", Some(vec!["say \"x\""])),
            ("a\"b", None),
            ("\"a", None),
            ("\"a\"b", None),
        ] {
            let found = fields(line);
            let want = want.map(|it| it.iter().map(|&it| it.to_owned()).collect());
            assert_eq!(found, want, "{line}");
        }
    }
}

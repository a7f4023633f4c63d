//! Finds template functions whose result depends on randomness, the clock or the network.

use super::Uncacheable;

/// Functions of Helm's templates that need not give the same answer twice.
///
/// Dates are among them even without `now`: they are written in the local time zone, and what is no date counts as
/// the current time. `env` and `expandenv` are not, because Helm takes them away.
const FUNCTIONS: &str = include_str!("impure.txt");

/// Objects to a text with a template action that calls one of these functions.
///
/// Any file may be a template, since charts can render files and values. Only what is between braces counts, and of
/// that neither comments, nor fields (`.Values.now`), nor variables (`$now`). Words in strings do count: they may be
/// templates themselves.
pub(super) fn check(text: &[u8]) -> Result<(), Uncacheable> {
    let mut rest = text;
    // Where no comment ends any more is remembered, so that the rest is not searched again and again.
    let mut has_comments = true;
    while let Some(start) = find(rest, *b"{{") {
        rest = &rest[start + 2..];
        if let Some(comment) = comment(rest).filter(|_| has_comments) {
            if let Some(end) = find(comment, *b"*/") {
                rest = &comment[end + 2..];
                continue;
            }
            has_comments = false;
        }
        // An action that does not end is cut off or no action, and read to the end to be safe.
        let end = find(rest, *b"}}").unwrap_or(rest.len());
        if words(&rest[..end]).any(is_impure) {
            return Err(Uncacheable("a template depends on chance or time"));
        }
        rest = &rest[end..];
    }
    Ok(())
}

/// The text after the start of a comment, if there is one.
fn comment(action: &[u8]) -> Option<&[u8]> {
    action.strip_prefix(b"-").unwrap_or(action).trim_ascii_start().strip_prefix(b"/*")
}

fn find(text: &[u8], what: [u8; 2]) -> Option<usize> {
    text.windows(2).position(|it| it == what)
}

/// The names that are neither fields nor variables.
fn words(action: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_word = |it: u8| it == b'_' || it.is_ascii_alphanumeric();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < action.len() {
            let length = action[at..].iter().take_while(|it| is_word(**it)).count();
            if length == 0 {
                at += 1;
                continue;
            }
            let start = at;
            at += length;
            if start == 0 || !matches!(action[start - 1], b'.' | b'$') {
                return Some(&action[start..at]);
            }
        }
        None
    })
}

fn is_impure(word: &[u8]) -> bool {
    FUNCTIONS.lines().any(|it| it.as_bytes() == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_chance_and_time_are_found_where_they_are_called() {
        for text in [
            "{{ now }}",
            "{{now}}",
            "{{- now | date \"2006\" -}}",
            "a: {{ .Values.x }}\nb: {{ randAlphaNum 5 | quote }}",
            "{{ $ca := genCA \"x\" 365 }}",
            "{{ tpl \"{{ uuidv4 }}\" . }}",
            "{{ (lookup \"v1\" \"Secret\" .Release.Namespace \"x\").data }}",
            "{{ printf \"%s\" (htpasswd \"a\" \"b\") }}",
            "{{/* fine */}}{{ shuffle \"abc\" }}",
            "{{ if .Values.x }}{{\n  randInt 1 2\n}}{{ end }}",
            "{{ now",
            "{{ /* not closed: now",
            "{{ date \"2006\" .Values.when }}",
        ] {
            assert!(check(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn words_that_call_nothing_are_no_reason() {
        for text in [
            "",
            "apply now",
            "{{ .Values.now }}",
            "{{ $now }}",
            "{{/* now is the time to lookup a date */}}",
            "{{- /* now */ -}}{{ .Values.a }}",
            "{{ nowhere }}",
            "{{ include \"x.randAlphaNum\" . }}",
            "{{ .Values.env | quote }}",
            "env: {{ toYaml .Values.env | nindent 4 }}",
            "}} now {{",
        ] {
            assert_eq!(check(text.as_bytes()), Ok(()), "{text}");
        }
    }
}

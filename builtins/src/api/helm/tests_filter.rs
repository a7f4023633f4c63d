//! Finds the test documents of a rendered chart, which are not deployed.

/// What Helm writes between documents.
const SEPARATOR: &str = "---\n";

/// The documents that do not come from a `tests` folder.
///
/// Documents are told apart by text alone, as Helm writes them: a separator inside of a string counts too.
pub(super) fn without_tests(text: &str) -> String {
    let kept: Vec<&str> = text.split(SEPARATOR).filter(|it| !is_test(it)).collect();
    kept.join(SEPARATOR)
}

fn is_test(document: &str) -> bool {
    document
        .split('\n')
        .any(|line| line.strip_prefix("# Source: ").is_some_and(|it| it.contains("/tests/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_from_tests_folders_are_left_out() {
        for (text, expected) in [
            ("", ""),
            ("kind: A\n", "kind: A\n"),
            ("---\n# Source: c/templates/a.yaml\na\n", "---\n# Source: c/templates/a.yaml\na\n"),
            (
                "---\n# Source: c/templates/a.yaml\na\n---\n# Source: c/templates/tests/t.yaml\nt\n---\n# Source: c/templates/b.yaml\nb\n",
                "---\n# Source: c/templates/a.yaml\na\n---\n# Source: c/templates/b.yaml\nb\n",
            ),
            ("---\n# Source: c/templates/tests/t.yaml\nt\n", ""),
            // Of a subchart, and not only at the start of the document.
            ("a\n---\nx: 1\n# Source: c/charts/d/templates/tests/t.yaml\n", "a\n"),
            // Neither a folder of another name, nor a comment that is indented.
            (
                "---\n# Source: c/templates/mytests/t.yaml\n",
                "---\n# Source: c/templates/mytests/t.yaml\n",
            ),
            (
                "---\n # Source: c/templates/tests/t.yaml\n",
                "---\n # Source: c/templates/tests/t.yaml\n",
            ),
            ("---\r\n# Source: c/tests/t\r\n", ""),
            // The separator also ends a line that says more.
            ("a: x---\n# Source: c/tests/t\n", "a: x"),
        ] {
            assert_eq!(without_tests(text), expected, "{text:?}");
        }
    }
}

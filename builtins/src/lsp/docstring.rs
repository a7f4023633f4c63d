//! Reads docstrings as people write them in Python: a text, and sections such as `Args:`.

use std::fmt::Write;

/// Sections that list parameters.
const OF_PARAMETERS: [&str; 3] = ["Args", "Arguments", "Parameters"];
/// Sections with code.
const OF_CODE: [&str; 2] = ["Example", "Examples"];
/// Sections with text.
const OF_TEXT: [&str; 5] = ["Returns", "Raises", "Yields", "Note", "Notes"];

/// A text without the indentation that all its lines have; the first line has none in any case.
pub(super) fn dedent(text: &str) -> String {
    let rest = text.lines().skip(1).filter(|it| !it.trim().is_empty());
    let margin = rest.map(indentation).min().unwrap_or_default();
    let mut lines = text.lines();
    let mut out = lines.next().unwrap_or_default().trim().to_owned();
    for line in lines {
        let _ = write!(out, "\n{}", line.get(margin..).unwrap_or_default().trim_end());
    }
    out.trim().to_owned()
}

/// A docstring as Markdown: its sections get headings and lists.
pub(crate) fn markdown(doc: &str) -> String {
    let mut out = String::new();
    for (title, body) in sections(doc) {
        let gap = if out.is_empty() { "" } else { "\n\n" };
        let text = body.join("\n");
        let text = text.trim_matches('\n');
        if title.is_empty() {
            let _ = write!(out, "{gap}{}", text.trim());
        } else if OF_PARAMETERS.contains(&title) {
            let items = items(&body).into_iter().map(|(name, text)| format!("- `{name}`: {text}"));
            let _ = write!(out, "{gap}{title}:\n\n{}", items.collect::<Vec<_>>().join("\n"));
        } else if OF_CODE.contains(&title) {
            let _ =
                write!(out, "{gap}{title}:\n\n```python\n{}\n```", dedent(&format!("\n{text}")));
        } else {
            let lines: Vec<&str> = body.iter().map(|it| it.trim()).collect();
            let _ = write!(out, "{gap}{title}: {}", lines.join(" ").trim());
        }
    }
    out
}

/// What a docstring says about a parameter.
pub(super) fn parameter(doc: &str, name: &str) -> String {
    let lists = sections(doc).into_iter().filter(|(title, _)| OF_PARAMETERS.contains(title));
    let items = lists.flat_map(|(_, body)| items(&body));
    let bare = |it: &str| it.trim().trim_start_matches('*').to_owned();
    let mut meant = items.filter(|(names, _)| names.split(',').any(|it| bare(it) == bare(name)));
    meant.next().map(|(_, text)| text).unwrap_or_default()
}

/// The parts of a docstring, each with its title; that of the text before all sections is empty.
fn sections(doc: &str) -> Vec<(&str, Vec<&str>)> {
    let mut found = vec![("", Vec::new())];
    for line in doc.lines() {
        let title = line.strip_suffix(':').filter(|it| {
            [&OF_PARAMETERS[..], &OF_CODE, &OF_TEXT].iter().any(|all| all.contains(it))
        });
        let goes_on = line.is_empty() || line.starts_with([' ', '\t']);
        match (title, found.last_mut()) {
            (Some(title), _) => found.push((title, Vec::new())),
            (None, Some((section, body))) if goes_on || section.is_empty() => body.push(line),
            (None, _) => found.push(("", vec![line])),
        }
    }
    found.retain(|(_, body)| body.iter().any(|it| !it.is_empty()));
    found
}

/// The items of a list, each `name: text`; lines that are indented further belong to the item above.
fn items(body: &[&str]) -> Vec<(String, String)> {
    let margin = body.iter().filter(|it| !it.is_empty()).map(|it| indentation(it)).min();
    let mut found: Vec<(String, String)> = Vec::new();
    for line in body.iter().filter(|it| !it.is_empty()) {
        let item = line.split_once(':').filter(|_| Some(indentation(line)) == margin);
        match (item, found.last_mut()) {
            (Some((name, text)), _) => found.push((name.trim().to_owned(), text.trim().to_owned())),
            (None, Some((_, text))) => {
                let _ = write!(text, " {}", line.trim());
            }
            (None, None) => {}
        }
    }
    found
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    const DOC: &str = "Builds it.\n\n    Twice.\n\n    Args:\n      ref: the name\n        of the image\n      a, b: as for x\n      **kwargs: the rest\n\n    Returns:\n      nothing\n    Example:\n      build('x')\n        .y\n    ";

    #[test]
    fn sections_become_lists_and_code() {
        expect![[r"
            Builds it.

            Twice.

            Args:

            - `ref`: the name of the image
            - `a, b`: as for x
            - `**kwargs`: the rest

            Returns: nothing

            Example:

            ```python
            build('x')
              .y
            ```"]]
        .assert_eq(&markdown(&dedent(DOC)));
    }

    #[test]
    fn parameters_are_found_by_name() {
        let doc = dedent(DOC);
        let of = |name: &str| parameter(&doc, name);
        assert_eq!(
            [of("ref"), of("b"), of("kwargs"), of("c")],
            ["the name of the image", "as for x", "the rest", ""]
        );
    }
}

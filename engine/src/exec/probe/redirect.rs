//! Where a redirect leads.

use engine_formats::golang::url::{Url, UrlError};

/// The URL that a reference stands for on the page of another URL.
///
/// # Errors
/// If the reference is no URL.
pub(super) fn resolve(base: &Url, reference: &str) -> Result<Url, UrlError> {
    let to = Url::parse(reference)?;
    if !to.scheme.is_empty() {
        return Ok(to);
    }
    let mut found = Url { scheme: base.scheme.clone(), ..to };
    if !found.host.is_empty() {
        return Ok(found);
    }
    found.host.clone_from(&base.host);
    if found.path.is_empty() {
        found.path.clone_from(&base.path);
        found.raw_path.clone_from(&base.raw_path);
        if found.raw_query.is_empty() && !found.force_query {
            found.raw_query.clone_from(&base.raw_query);
        }
    } else {
        found.raw_path.clear();
        found.path = without_dots(&base.path, &found.path);
    }
    Ok(found)
}

/// A path relative to the folder of another one, without `.` and `..`.
fn without_dots(base: &str, path: &str) -> String {
    let folder = base.rsplit_once('/').map_or("", |(folder, _)| folder);
    let whole = if path.starts_with('/') { path.to_owned() } else { format!("{folder}/{path}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/').skip(1) {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let ends_in_folder = whole.ends_with("/.") || whole.ends_with("/..");
    let slash = if ends_in_folder && !parts.is_empty() { "/" } else { "" };
    format!("/{}{slash}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_resolved_as_browsers_do() {
        for (reference, expected) in [
            ("https://b/c", "https://b/c"),
            ("//b/c", "http://b/c"),
            ("/c?d", "http://a:1/c?d"),
            ("c", "http://a:1/x/c"),
            ("../c/./d/..", "http://a:1/c/"),
            ("../../../c", "http://a:1/c"),
            ("?n", "http://a:1/x/y?n"),
            ("", "http://a:1/x/y?q"),
            ("/a%20b", "http://a:1/a%20b"),
        ] {
            let base = Url::parse("http://a:1/x/y?q").expect("it is a URL");
            let found = resolve(&base, reference).expect("it is a URL");
            assert_eq!(found.to_string(), expected, "{reference}");
        }
    }
}

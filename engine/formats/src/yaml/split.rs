//! Decides where one document ends and the next begins, by lines that start with `---`.

use std::borrow::Cow;

use super::error::Error;

/// Splits a text into its documents as the Kubernetes libraries do, before anything is parsed.
///
/// A separator ends a document even inside a block of text, and only a comment may follow it on
/// its line. Line ends are normalized to `\n`, and the last line gets one.
pub fn documents(text: &str) -> Documents<'_> {
    Documents { rest: text, failed: false }
}

/// Iterates over the documents of a text; see [`documents`].
#[derive(Clone, Debug)]
pub struct Documents<'a> {
    rest: &'a str,
    failed: bool,
}

impl<'a> Iterator for Documents<'a> {
    type Item = Result<Cow<'a, str>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let text = self.rest;
        let mut start = 0;
        let mut at = 0;
        while at < text.len() {
            let line_end = text[at..].find('\n').map_or(text.len(), |end| at + end + 1);
            let line = &text[at..line_end];
            if let Some(after) = line.strip_prefix("---") {
                let after = after.trim();
                if !after.is_empty() && !after.starts_with('#') {
                    self.failed = true;
                    return Some(Err(Error::Separator(after.to_owned())));
                }
                if at > start {
                    // The separator itself opens the next document only if this one had no lines.
                    self.rest = &text[line_end..];
                    return Some(Ok(normalized(&text[start..at])));
                }
                start = at;
            }
            at = line_end;
        }
        self.rest = "";
        (at > start).then(|| Ok(normalized(&text[start..])))
    }
}

fn normalized(document: &str) -> Cow<'_, str> {
    if !document.contains("\r\n") && document.ends_with('\n') {
        return Cow::Borrowed(document);
    }
    let mut owned = document.replace("\r\n", "\n");
    if !owned.ends_with('\n') {
        owned.push('\n');
    }
    Cow::Owned(owned)
}

//! Validates commits and refs of extension repositories before git sees them: anything else could be an option of git,
//! or a path.

use engine_formats::golang::quote::quote;
use serde::{Deserialize, Serialize};

/// The full name of a commit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Commit(String);

/// A branch, tag or commit, or nothing for the default branch.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Reference(String);

/// Why a text names no revision.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRevision {
    /// It is not the full name of a commit.
    #[error("invalid commit {}: must be 40 to 64 digits of 0-9 and a-f", quote(.0))]
    Commit(String),
    /// It is nothing that git would call a branch or a tag.
    #[error("invalid ref {}: {why}", quote(.name))]
    Reference {
        /// The text.
        name: String,
        /// What git does not allow.
        why: &'static str,
    },
}

impl Commit {
    /// The text, which git can take for nothing else.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Commit {
    type Error = InvalidRevision;

    fn try_from(text: String) -> Result<Self, InvalidRevision> {
        let is_digit = |it: u8| it.is_ascii_digit() || (b'a'..=b'f').contains(&it);
        if (40..=64).contains(&text.len()) && text.bytes().all(is_digit) {
            Ok(Self(text))
        } else {
            Err(InvalidRevision::Commit(text))
        }
    }
}

impl Reference {
    /// The text, which git can take for nothing else.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it names the default branch.
    pub fn is_default(&self) -> bool {
        self.0.is_empty()
    }
}

impl TryFrom<String> for Reference {
    type Error = InvalidRevision;

    fn try_from(name: String) -> Result<Self, InvalidRevision> {
        match wrong(&name) {
            Some(why) if !name.is_empty() => Err(InvalidRevision::Reference { name, why }),
            _ => Ok(Self(name)),
        }
    }
}

/// What the rules of `git check-ref-format --allow-onelevel` forbid, and a leading dash.
fn wrong(name: &str) -> Option<&'static str> {
    if name.starts_with('-') {
        return Some("begins with `-`");
    }
    if name == "@" {
        return Some("is a lone `@`");
    }
    if name.contains("..") {
        return Some("contains `..`");
    }
    if name.contains("@{") {
        return Some("contains `@{`");
    }
    if name.ends_with('.') {
        return Some("ends with `.`");
    }
    if name.chars().any(|it| it.is_ascii_control() || " ~^:?*[\\".contains(it)) {
        return Some("contains a space, a control character or one of `~^:?*[\\`");
    }
    name.split('/').find_map(|part| match part {
        "" => Some("begins or ends with `/`, or contains `//`"),
        part if part.starts_with('.') => Some("has a part that begins with `.`"),
        part if part.strip_suffix(".lock").is_some() => Some("has a part that ends with `.lock`"),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_commit_is_the_full_name_in_lower_case() {
        let of = |text: &str| Commit::try_from(text.to_owned()).is_ok();
        for good in ["0123456789abcdef0123456789abcdef01234567", &"e".repeat(64)] {
            assert!(of(good), "{good}");
        }
        let upper = "A".repeat(40);
        let dash = format!("-{}", "a".repeat(40));
        let line = format!("{}\n", "a".repeat(40));
        let (short, long) = ("a".repeat(39), "a".repeat(65));
        for bad in ["", "HEAD", "--upload-pack=x", &upper, &dash, &line, &short, &long] {
            assert!(!of(bad), "{bad:?}");
        }
    }

    #[test]
    fn refs_are_what_git_takes_for_one() {
        let git_allows = |name: &str| {
            let name = format!("refs/heads/{name}");
            let status = Command::new("git").args(["check-ref-format", &name]).status();
            status.expect("git runs").success()
        };
        for name in [
            "main",
            "v1.2",
            "release/2.0",
            "a@b",
            "@a",
            "héllo",
            "a-b",
            "a{b",
            "x.locked",
            "HEAD",
            "..",
            "a..b",
            "a.",
            ".a",
            "a/.b",
            "a.lock",
            "a.lock/b",
            "a~1",
            "a^",
            "a:b",
            "a?",
            "a*",
            "a[",
            "a\\b",
            "a b",
            "a\u{7f}",
            "a\tb",
            "a@{1}",
            "/a",
            "a/",
            "a//b",
            ".lock",
        ] {
            let ours = Reference::try_from(name.to_owned());
            assert_eq!(ours.is_ok(), git_allows(name), "{name:?}: {ours:?}");
        }
    }

    #[test]
    fn refs_that_git_would_take_for_something_else_are_refused() {
        for (name, want) in [
            ("--upload-pack=x", r#"invalid ref "--upload-pack=x": begins with `-`"#),
            ("-f", r#"invalid ref "-f": begins with `-`"#),
            ("@", r#"invalid ref "@": is a lone `@`"#),
            ("HEAD@{1}", r#"invalid ref "HEAD@{1}": contains `@{`"#),
        ] {
            let found = Reference::try_from(name.to_owned()).map_err(|it| it.to_string());
            assert_eq!(found, Err(want.to_owned()));
        }
        assert!(Reference::try_from(String::new()).is_ok_and(|it| it.is_default()));
    }
}

//! Decides what an image reference such as `gcr.io/foo/bar:v1` means, with Docker's rules.

use std::fmt;
use std::sync::LazyLock;

use regex::Regex;

const DEFAULT_DOMAIN: &str = "docker.io";
const LEGACY_DOMAIN: &str = "index.docker.io";
const OFFICIAL_PREFIX: &str = "library/";
const PATH_MAX: usize = 255;

const DOMAIN: &str = r"(?:(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])(?:\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))*|\[(?:[a-fA-F0-9:]+)\])(?::[0-9]+)?";
const PATH: &str =
    r"[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*)*";
const TAG: &str = r"[0-9A-Za-z_][0-9A-Za-z_.-]{0,127}";
const DIGEST: &str = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9A-Fa-f]{32,}";

static REFERENCE: LazyLock<Regex> =
    LazyLock::new(|| compile(&format!(r"\A((?:{DOMAIN}/)?{PATH})(?::({TAG}))?(?:@({DIGEST}))?\z")));
static NAME: LazyLock<Regex> = LazyLock::new(|| compile(&format!(r"\A(?:({DOMAIN})/)?({PATH})\z")));
static WHOLE_TAG: LazyLock<Regex> = LazyLock::new(|| compile(&format!(r"\A{TAG}\z")));

fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a constant")
}

/// Why a text is no image reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// The text does not follow the grammar.
    #[error("invalid reference format")]
    InvalidFormat,
    /// The path has upper case letters.
    #[error("invalid reference format: repository name ({0}) must be lowercase")]
    NotLowercase(String),
    /// Only the letters' case keeps the text from being a reference.
    #[error("repository name must be lowercase")]
    ContainsUppercase,
    /// The text looks like the identifier of an image.
    #[error("invalid repository name ({0}), cannot specify 64-byte hexadecimal strings")]
    Identifier(String),
    /// The path is too long.
    #[error("repository name must not be more than {PATH_MAX} characters")]
    NameTooLong,
    /// The text is a reference, but not its full form.
    #[error("repository name must be canonical")]
    NotCanonical,
    /// The text cannot be a tag.
    #[error("invalid tag format")]
    InvalidTag,
    /// The digest has characters that no digest has.
    #[error("invalid checksum digest format")]
    InvalidDigest,
    /// The digest does not have its algorithm's length.
    #[error("invalid checksum digest length")]
    InvalidDigestLength,
    /// The digest's algorithm is unknown.
    #[error("unsupported digest algorithm")]
    UnsupportedDigest,
}

/// The full form of an image's name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reference {
    /// The registry's host and port, `docker.io` by default.
    pub domain: String,
    /// The repository inside the registry.
    pub path: String,
    /// The tag, if one was given.
    pub tag: Option<String>,
    /// The digest, if one was given.
    pub digest: Option<String>,
}

impl Reference {
    /// Reads a reference as users write it; `foo` means `docker.io/library/foo`.
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        if is_identifier(text) {
            return Err(ReferenceError::Identifier(text.to_owned()));
        }
        let (domain, remainder) = split_domain(text);
        let repository = remainder.split(':').next().unwrap_or_default();
        if repository.to_lowercase() != repository {
            return Err(ReferenceError::NotLowercase(repository.to_owned()));
        }
        Self::parse_full(&format!("{domain}/{remainder}"))
    }

    /// Reads a reference that has to be in its full form already.
    pub fn parse_canonical(text: &str) -> Result<Self, ReferenceError> {
        let reference = Self::parse(text)?;
        if reference.to_string() == text {
            Ok(reference)
        } else {
            Err(ReferenceError::NotCanonical)
        }
    }

    fn parse_full(text: &str) -> Result<Self, ReferenceError> {
        let Some(parts) = REFERENCE.captures(text) else {
            return Err(if REFERENCE.is_match(&text.to_lowercase()) {
                ReferenceError::ContainsUppercase
            } else {
                ReferenceError::InvalidFormat
            });
        };
        let name = &parts[1];
        let (domain, path) = match NAME.captures(name) {
            Some(halves) => {
                (halves.get(1).map_or("", |m| m.as_str()).to_owned(), halves[2].to_owned())
            }
            None => (String::new(), name.to_owned()),
        };
        if path.len() > PATH_MAX {
            return Err(ReferenceError::NameTooLong);
        }
        let digest = parts.get(3).map(|m| m.as_str());
        digest.map_or(Ok(()), check_digest)?;
        Ok(Self {
            domain,
            path,
            tag: parts.get(2).map(|m| m.as_str().to_owned()),
            digest: digest.map(str::to_owned),
        })
    }

    /// The domain and path, without tag and digest.
    pub fn name(&self) -> String {
        join_name(&self.domain, &self.path)
    }

    /// The name as users write it, without tag and digest.
    pub fn familiar_name(&self) -> String {
        if self.domain != DEFAULT_DOMAIN {
            return self.name();
        }
        let official = self.path.strip_prefix(OFFICIAL_PREFIX).filter(|rest| !rest.contains('/'));
        official.unwrap_or(&self.path).to_owned()
    }

    /// The whole reference as users write it.
    pub fn familiar(&self) -> String {
        self.familiar_name() + &self.suffix()
    }

    /// The same reference without tag and digest.
    #[must_use]
    pub fn name_only(&self) -> Self {
        Self { tag: None, digest: None, ..self.clone() }
    }

    /// The same reference with another tag.
    pub fn with_tag(&self, tag: &str) -> Result<Self, ReferenceError> {
        if !WHOLE_TAG.is_match(tag) {
            return Err(ReferenceError::InvalidTag);
        }
        Ok(Self { tag: Some(tag.to_owned()), ..self.clone() })
    }

    fn suffix(&self) -> String {
        let tag = self.tag.as_ref().map(|tag| format!(":{tag}"));
        let digest = self.digest.as_ref().map(|digest| format!("@{digest}"));
        [tag, digest].into_iter().flatten().collect()
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name(), self.suffix())
    }
}

fn join_name(domain: &str, path: &str) -> String {
    if domain.is_empty() { path.to_owned() } else { format!("{domain}/{path}") }
}

fn is_identifier(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Splits off the domain, which the first element is only if it looks like one.
fn split_domain(name: &str) -> (&str, String) {
    let looks_like_domain = |first: &str| {
        first == "localhost" || first.contains(['.', ':']) || first.to_lowercase() != first
    };
    let (domain, remainder) = match name.split_once('/') {
        Some((LEGACY_DOMAIN, rest)) => (DEFAULT_DOMAIN, rest),
        Some((first, rest)) if looks_like_domain(first) => (first, rest),
        _ => (DEFAULT_DOMAIN, name),
    };
    if domain == DEFAULT_DOMAIN && !remainder.contains('/') {
        return (domain, format!("{OFFICIAL_PREFIX}{remainder}"));
    }
    (domain, remainder.to_owned())
}

fn check_digest(digest: &str) -> Result<(), ReferenceError> {
    let Some((algorithm, encoded)) = digest.split_once(':') else {
        return Err(ReferenceError::InvalidDigest);
    };
    let length = match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        other if other.bytes().any(|byte| byte.is_ascii_uppercase()) => {
            return Err(ReferenceError::InvalidDigest);
        }
        _ => return Err(ReferenceError::UnsupportedDigest),
    };
    if encoded.len() != length {
        return Err(ReferenceError::InvalidDigestLength);
    }
    if encoded.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Err(ReferenceError::InvalidDigest);
    }
    Ok(())
}

#[cfg(test)]
mod tests;

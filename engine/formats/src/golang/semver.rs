//! Decides whether a version satisfies a constraint, with the range syntax of blang/semver.

use std::cmp::Ordering;
use std::fmt;

use super::quote::quote;

/// A version or range that cannot be read, in the library's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SemverError(String);

fn error<T>(message: impl Into<String>) -> Result<T, SemverError> {
    Err(SemverError(message.into()))
}

/// A semantic version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// Counts incompatible changes.
    pub major: u64,
    /// Counts compatible additions.
    pub minor: u64,
    /// Counts fixes.
    pub patch: u64,
    pre: Vec<Identifier>,
    build: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Text(String),
}

impl Version {
    /// Reads a complete `Major.Minor.Patch[-pre][+build]` version.
    pub fn parse(text: &str) -> Result<Self, SemverError> {
        if text.is_empty() {
            return error("Version string empty");
        }
        let parts: Vec<&str> = text.splitn(3, '.').collect();
        let [major, minor, rest] = parts[..] else {
            return error("No Major.Minor.Patch elements found");
        };
        let major = number("Major", major)?;
        let minor = number("Minor", minor)?;
        let (rest, build) = cut(rest, '+');
        let (patch, pre) = cut(rest, '-');
        let patch = number("Patch", patch)?;
        let pre = split_dots(pre).map(pre_release).collect::<Result<_, _>>()?;
        let build = split_dots(build).map(build_data).collect::<Result<_, _>>()?;
        Ok(Self { major, minor, patch, pre, build })
    }

    /// Compares by precedence, which ignores build data.
    pub fn precedence(&self, other: &Self) -> Ordering {
        let numbers = |v: &Self| (v.major, v.minor, v.patch);
        numbers(self).cmp(&numbers(other)).then_with(|| {
            match (self.pre.is_empty(), other.pre.is_empty()) {
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                _ => self.pre.cmp(&other.pre),
            }
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        for (i, identifier) in self.pre.iter().enumerate() {
            f.write_str(if i == 0 { "-" } else { "." })?;
            match identifier {
                Identifier::Number(n) => write!(f, "{n}")?,
                Identifier::Text(text) => f.write_str(text)?,
            }
        }
        for (i, text) in self.build.iter().enumerate() {
            write!(f, "{}{text}", if i == 0 { "+" } else { "." })?;
        }
        Ok(())
    }
}

fn cut(text: &str, at: char) -> (&str, Option<&str>) {
    text.split_once(at).map_or((text, None), |(before, after)| (before, Some(after)))
}

fn split_dots(text: Option<&str>) -> impl Iterator<Item = &str> {
    text.into_iter().flat_map(|text| text.split('.'))
}

fn is_alphanumeric(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

fn is_digits(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_digit())
}

fn number(what: &str, text: &str) -> Result<u64, SemverError> {
    if !is_digits(text) {
        let what = what.to_lowercase();
        return error(format!("Invalid character(s) found in {what} number {}", quote(text)));
    }
    if text.len() > 1 && text.starts_with('0') {
        return error(format!("{what} number must not contain leading zeroes {}", quote(text)));
    }
    parse_uint(text)
}

fn parse_uint(text: &str) -> Result<u64, SemverError> {
    text.parse().or_else(|_| {
        let why = if text.is_empty() { "invalid syntax" } else { "value out of range" };
        error(format!("strconv.ParseUint: parsing {}: {why}", quote(text)))
    })
}

fn pre_release(text: &str) -> Result<Identifier, SemverError> {
    if text.is_empty() {
        return error("Prerelease is empty");
    }
    if is_digits(text) {
        if text.len() > 1 && text.starts_with('0') {
            return error(format!(
                "Numeric PreRelease version must not contain leading zeroes {}",
                quote(text)
            ));
        }
        return parse_uint(text).map(Identifier::Number);
    }
    if !is_alphanumeric(text) {
        return error(format!("Invalid character(s) found in prerelease {}", quote(text)));
    }
    Ok(Identifier::Text(text.to_owned()))
}

fn build_data(text: &str) -> Result<String, SemverError> {
    if text.is_empty() {
        return error("Build meta data is empty");
    }
    if !is_alphanumeric(text) {
        return error(format!("Invalid character(s) found in build meta data {}", quote(text)));
    }
    Ok(text.to_owned())
}

/// A set of versions such as `>=1.2.3 <2.0.0 || 3.x`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    /// One of these alternatives has to hold, each a list of bounds that all have to hold.
    alternatives: Vec<Vec<Bound>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Bound {
    comparator: Comparator,
    version: Version,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparator {
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

impl Range {
    /// Reads a range: comparators with versions, space for "and", `||` for "or", `x` wildcards.
    pub fn parse(text: &str) -> Result<Self, SemverError> {
        let words = split_words(text);
        let mut alternatives = Vec::new();
        for group in split_alternatives(&words)? {
            let mut expanded = Vec::new();
            for word in group {
                expand_wildcard(word, &mut expanded)?;
            }
            alternatives.push(expanded);
        }
        let alternatives = alternatives
            .into_iter()
            .map(|group| group.iter().map(|word| Bound::parse(word)).collect())
            .collect::<Result<_, _>>()?;
        Ok(Self { alternatives })
    }

    /// Whether a version lies in the range.
    pub fn contains(&self, version: &Version) -> bool {
        self.alternatives
            .iter()
            .any(|group| !group.is_empty() && group.iter().all(|bound| bound.admits(version)))
    }
}

impl Bound {
    fn parse(word: &str) -> Result<Self, SemverError> {
        let (operator, version) = split_comparator(word)?;
        let fail = |why: String| error(format!("Could not parse Range {}: {why}", quote(word)));
        let joined = format!("{operator}{version}");
        let Some(comparator) = Comparator::parse(operator) else {
            return fail(format!(
                "Could not parse comparator {} in {}",
                quote(operator),
                quote(&joined)
            ));
        };
        match Version::parse(version) {
            Ok(version) => Ok(Self { comparator, version }),
            Err(why) => fail(format!(
                "Could not parse version {} in {}: {why}",
                quote(version),
                quote(&joined)
            )),
        }
    }

    fn admits(&self, version: &Version) -> bool {
        let order = version.precedence(&self.version);
        match self.comparator {
            Comparator::Equal => order.is_eq(),
            Comparator::NotEqual => order.is_ne(),
            Comparator::Greater => order.is_gt(),
            Comparator::GreaterOrEqual => order.is_ge(),
            Comparator::Less => order.is_lt(),
            Comparator::LessOrEqual => order.is_le(),
        }
    }
}

impl Comparator {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "" | "=" | "==" => Self::Equal,
            "!" | "!=" => Self::NotEqual,
            ">" => Self::Greater,
            ">=" => Self::GreaterOrEqual,
            "<" => Self::Less,
            "<=" => Self::LessOrEqual,
            _ => return None,
        })
    }
}

/// Splits at spaces, except after a comparator. A single character between spaces is lost, as in
/// the reference.
fn split_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut start = 0;
    let mut last = 0;
    for (i, byte) in text.bytes().enumerate() {
        if byte != b' ' {
            last = byte;
        } else if !matches!(last, b'>' | b'<' | b'=') {
            if start + 1 < i {
                words.push(text[start..i].replace(' ', ""));
            }
            start = i + 1;
        }
    }
    if start + 1 < text.len() {
        words.push(text[start..].replace(' ', ""));
    }
    words
}

fn split_alternatives(words: &[String]) -> Result<Vec<&[String]>, SemverError> {
    if words.first().is_some_and(|word| word == "||") {
        return error("First element in range is '||'");
    }
    if words.last().is_none_or(|word| word == "||") {
        return error("Last element in range is '||'");
    }
    Ok(words.split(|word| word == "||").collect())
}

fn split_comparator(word: &str) -> Result<(&str, &str), SemverError> {
    match word.find(|c: char| c.is_ascii_digit()) {
        Some(at) => Ok((word[..at].trim(), &word[at..])),
        None => error(format!("Could not get version from string: {}", quote(word))),
    }
}

/// Replaces a bound with an `x` wildcard by the one or two bounds it stands for.
fn expand_wildcard(word: &str, out: &mut Vec<String>) -> Result<(), SemverError> {
    if !word.contains('x') {
        out.push(word.to_owned());
        return Ok(());
    }
    let (operator, version) = split_comparator(word)?;
    let flat = flatten_wildcard(version);
    let next = || next_version(version, &flat).unwrap_or_default();
    match operator {
        ">" => out.push(format!(">={}", next())),
        ">=" => out.push(format!(">={flat}")),
        "<" => out.push(format!("<{flat}")),
        "<=" => out.push(format!("<{}", next())),
        "" | "=" | "==" => out.extend([format!(">={flat}"), format!("<{}", next())]),
        "!" | "!=" => out.extend([format!("<{flat}"), format!(">={}", next())]),
        _ => out.push(flat),
    }
    Ok(())
}

fn flatten_wildcard(version: &str) -> String {
    let flat = version.replacen(".x.x", ".x", 1).replacen(".x", ".0", 1);
    if flat.matches('.').count() == 1 { flat + ".0" } else { flat }
}

/// The first version after those that a wildcard covers.
fn next_version(version: &str, flat: &str) -> Option<String> {
    let parts: Vec<&str> = version.split('.').collect();
    let index = match parts[..] {
        [_, "x"] => 0,
        [_, _, "x"] => 1,
        _ => return None,
    };
    let mut parts: Vec<String> = flat.split('.').map(str::to_owned).collect();
    let increased = parts[index].parse::<i64>().ok()?.checked_add(1)?;
    parts[index] = increased.to_string();
    Some(parts.join("."))
}

#[cfg(test)]
mod tests;

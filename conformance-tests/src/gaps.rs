//! The list of cases that are known to differ, each with its reason.
//!
//! The list cannot rot: a case that is on it has to differ, and one that is not has to be the same.

use std::collections::BTreeMap;

/// Labels of cases with the reason why they differ.
#[derive(Debug, Default)]
pub struct Gaps(BTreeMap<String, String>);

/// A line of the list that cannot be understood.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: `{text}` is not `area/name: reason`")]
pub struct GapError {
    line: usize,
    text: String,
}

impl Gaps {
    /// Reads `area/name: reason` lines; empty ones and those that start with `#` are skipped.
    pub fn parse(text: &str) -> Result<Self, GapError> {
        let mut gaps = BTreeMap::new();
        for (i, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let entry = line.split_once(": ").map(|(label, reason)| (label, reason.trim()));
            let Some((label, reason)) = entry.filter(|(_, reason)| !reason.is_empty()) else {
                return Err(GapError { line: i + 1, text: line.to_owned() });
            };
            gaps.insert(label.to_owned(), reason.to_owned());
        }
        Ok(Self(gaps))
    }

    /// Why a case is known to differ.
    pub fn reason(&self, label: &str) -> Option<&str> {
        self.0.get(label).map(String::as_str)
    }

    /// The labels of all listed cases.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_has_a_label_and_a_reason() {
        let gaps = Gaps::parse("# why\n\nhelm/defaults: helm 2 only\n").unwrap();
        assert_eq!(gaps.reason("helm/defaults"), Some("helm 2 only"));
        assert_eq!(gaps.reason("helm/other"), None);
        assert_eq!(gaps.labels().collect::<Vec<_>>(), ["helm/defaults"]);
    }

    #[test]
    fn a_gap_without_a_reason_is_refused() {
        let error = Gaps::parse("a/b: x\nhelm/defaults:\n").unwrap_err();
        assert_eq!(error.to_string(), "line 2: `helm/defaults:` is not `area/name: reason`");
    }
}

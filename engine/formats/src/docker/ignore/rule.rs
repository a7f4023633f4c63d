//! A set of ignore patterns that is matched often: nearly all patterns are plain globs, which are
//! compiled into one set and matched at once. What a glob cannot express exactly goes to the slower
//! matcher that defines the rules.

use std::path::{Path, PathBuf};

use engine_model::path::{to_path, to_text};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::{IgnoreError, PathMatcher};
use crate::golang::path;

/// Files that one definition leaves out.
#[derive(Debug)]
pub struct Rule(Kind);

#[derive(Debug)]
enum Kind {
    /// A file or directory with all that is in it.
    Below(PathBuf),
    /// Patterns of which none keeps what another one leaves out.
    Globs(GlobSet),
    /// Any other patterns.
    Patterns(PathMatcher),
}

impl Rule {
    /// Compiles patterns that are relative to `base`; without any, all of it is left out.
    pub fn new<S: AsRef<str>>(base: &str, patterns: &[S]) -> Result<Self, IgnoreError> {
        let base = path::clean(base);
        Ok(Self(if patterns.is_empty() {
            Kind::Below(to_path(&base).into_owned())
        } else if let Some(globs) = globs(&base, patterns) {
            Kind::Globs(globs)
        } else {
            Kind::Patterns(PathMatcher::new(&base, patterns)?)
        }))
    }

    /// Whether an absolute path is left out.
    pub fn matches(&self, path: &Path) -> bool {
        match &self.0 {
            Kind::Below(base) => path.starts_with(base),
            Kind::Globs(globs) => globs.is_match(&*to_text(path)),
            Kind::Patterns(matcher) => matcher.matches(&to_text(path)),
        }
    }

    /// Whether a directory and everything that could be in it is left out. In doubt it is not.
    pub fn matches_entire_dir(&self, dir: &Path) -> bool {
        match &self.0 {
            Kind::Below(_) | Kind::Globs(_) => self.matches(dir),
            Kind::Patterns(matcher) => matcher.matches_entire_dir(&to_text(dir)),
        }
    }
}

/// The patterns as globs, or `None` if one of them means something else as a glob.
fn globs<S: AsRef<str>>(base: &str, patterns: &[S]) -> Option<GlobSet> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let pattern = pattern.as_ref().trim();
        if pattern.is_empty() {
            continue;
        }
        let relative = path::clean(pattern);
        if relative.starts_with('!') {
            return None;
        }
        let absolute =
            if path::is_abs(&relative) { relative } else { path::join(&[base, &relative]) };
        if absolute == "/" || !is_plain_glob(&absolute) {
            return None;
        }
        let mut add = |glob: &str| -> Option<()> {
            set.add(GlobBuilder::new(glob).literal_separator(true).build().ok()?);
            Some(())
        };
        add(&absolute)?;
        if !absolute.ends_with("/**") {
            add(&format!("{absolute}/**"))?;
        }
    }
    set.build().ok()
}

/// Whether a pattern means the same to Docker and as a glob: Docker reads `?` as a character
/// rather than a byte, knows no alternatives, has its own classes, and gives `**` a meaning
/// beside other text.
fn is_plain_glob(pattern: &str) -> bool {
    let mut previous = "";
    pattern.split('/').all(|part| {
        let is_fine = if part == "**" { previous != "**" } else { !part.contains("**") };
        previous = part;
        is_fine && !part.contains(['\\', '[', ']', '{', '}', '?', '^', '\n'])
    })
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn paths_that_are_not_utf_8_match_below_their_own_base_only() {
        let path = |bytes: &'static [u8]| Path::new(OsStr::from_bytes(bytes));
        let base = to_text(path(b"/p\xff"));
        for patterns in [&[][..], &["*.log"], &["!keep", "*.log", "!*.txt"]] {
            let rule = Rule::new(&base, patterns).unwrap();
            assert!(rule.matches(path(b"/p\xff/\xfe.log")), "{patterns:?}");
            assert!(!rule.matches(path(b"/p\xfe/\xfe.log")), "{patterns:?}");
        }
    }

    fn pattern() -> impl Strategy<Value = String> {
        let part = prop_oneof![
            Just("**".to_owned()),
            Just("*".to_owned()),
            Just("..".to_owned()),
            "[ab.é]{1,2}",
            "[ab*]{1,3}",
            "[ab?*{}^+$(|)!#~\\[\\]\\\\-]{1,4}",
        ];
        (prop_oneof![Just(""), Just("/"), Just("!"), Just(" ")], prop::collection::vec(part, 1..4))
            .prop_map(|(mark, parts)| format!("{mark}{}", parts.join("/")))
    }

    fn file() -> impl Strategy<Value = String> {
        let name = prop_oneof!["[ab.é]{1,3}", "[ab.{}^+$(|)!#~-]{1,3}"];
        prop::collection::vec(name, 1..5).prop_map(|parts| format!("/{}", parts.join("/")))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn every_pattern_means_what_the_reference_matcher_says(
            base in prop_oneof![Just("/"), Just("/a"), Just("/a/b"), Just("/a[b")],
            patterns in prop::collection::vec(pattern(), 1..4),
            files in prop::collection::vec(file(), 1..20),
        ) {
            let ours = Rule::new(base, &patterns).ok();
            let reference = PathMatcher::new(base, &patterns).ok();
            prop_assert_eq!(ours.is_some(), reference.is_some());
            let (Some(ours), Some(reference)) = (ours, reference) else { return Ok(()) };
            for file in files {
                let file = path::clean(&file);
                prop_assert_eq!(ours.matches(Path::new(&file)), reference.matches(&file), "{}", file);
                prop_assert_eq!(
                    ours.matches_entire_dir(Path::new(&file)),
                    reference.matches_entire_dir(&file),
                    "directory {}", file
                );
            }
        }
    }
}

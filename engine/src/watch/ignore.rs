//! Decides which changes do not count: the target's own ignores and the files that editors leave
//! behind. The rules are those of Docker's ignore files as Tilt applies them.
//!
//! Nearly all patterns are plain globs, which are compiled into one set and matched at once. What
//! a glob cannot express exactly goes to the slower matcher that defines the rules.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    rc::Rc,
};

use builtins::{docker::ignore::PathMatcher, golang::path};
use engine_model::IgnoreDef;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Files of editors and tools that come and go beside the real ones.
const EPHEMERAL: [&str; 14] = [
    // JetBrains
    "**/*___jb_old___",
    "**/*___jb_tmp___",
    "**/.idea/**",
    // Emacs
    "**/.#*",
    "**/#*#",
    "**/flymake_*.*",
    // Vim
    "**/4913",
    "**/*~",
    "**/.*.swp",
    "**/.*.swx",
    "**/.*.swo",
    "**/.*.swn",
    // Kate
    "**/.*.kate-swp",
    // Go
    "**/*-go-tmp-umask",
];

/// Everything that one target ignores.
#[derive(Debug)]
pub(super) struct Ignores {
    rules: Vec<Rc<Rule>>,
}

#[derive(Debug)]
enum Rule {
    /// A file or directory with all that is in it.
    Below(PathBuf),
    /// Patterns of which none keeps what another one leaves out.
    Globs(GlobSet),
    /// Any other patterns.
    Patterns(PathMatcher),
}

impl Ignores {
    /// Whether a change of this path does not count.
    pub(super) fn matches(&self, path: &Path) -> bool {
        self.rules.iter().any(|rule| rule.matches(path))
    }

    /// Whether nothing in this directory can count. In doubt it does.
    pub(super) fn matches_entire_dir(&self, dir: &Path) -> bool {
        self.rules.iter().any(|rule| match &**rule {
            Rule::Below(_) | Rule::Globs(_) => rule.matches(dir),
            Rule::Patterns(matcher) => matcher.matches_entire_dir(&dir.to_string_lossy()),
        })
    }
}

impl Rule {
    /// A malformed definition is no rule, as in Tilt.
    fn new(def: &IgnoreDef) -> Option<Self> {
        let base = path::clean(&def.base_path);
        if def.patterns.is_empty() {
            return Some(Self::Below(PathBuf::from(base)));
        }
        let globs = globs(&base, &def.patterns).map(Self::Globs);
        globs.or_else(|| PathMatcher::new(&base, &def.patterns).ok().map(Self::Patterns))
    }

    fn matches(&self, path: &Path) -> bool {
        match self {
            Self::Below(base) => path.starts_with(base),
            Self::Globs(globs) => globs.is_match(path),
            Self::Patterns(matcher) => matcher.matches(&path.to_string_lossy()),
        }
    }
}

/// The patterns as globs, or `None` if one of them means something else as a glob.
fn globs(base: &str, patterns: &[String]) -> Option<GlobSet> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let pattern = pattern.trim();
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

/// Ignores that were compiled already; thousands of targets usually share a few of them.
#[derive(Debug)]
pub(super) struct IgnoreCache {
    ephemeral: Rc<Rule>,
    rules: HashMap<RuleKey, Option<Rc<Rule>>>,
    sets: HashMap<Vec<RuleKey>, Rc<Ignores>>,
}

type RuleKey = (String, Vec<String>);

impl IgnoreCache {
    pub(super) fn new() -> Self {
        let patterns = EPHEMERAL.map(str::to_owned).to_vec();
        let def = IgnoreDef { base_path: "/".to_owned(), patterns };
        let ephemeral = Rule::new(&def).expect("the built-in patterns are well formed");
        Self { ephemeral: Rc::new(ephemeral), rules: HashMap::new(), sets: HashMap::new() }
    }

    /// The compiled form of a target's ignores; equal ignores give the same one.
    pub(super) fn get(&mut self, defs: &[IgnoreDef]) -> Rc<Ignores> {
        let keys: Vec<RuleKey> =
            defs.iter().map(|def| (def.base_path.clone(), def.patterns.clone())).collect();
        if let Some(known) = self.sets.get(&keys) {
            return Rc::clone(known);
        }
        let mut rules = Vec::new();
        for (key, def) in keys.iter().zip(defs) {
            let rule = self.rules.entry(key.clone()).or_insert_with(|| Rule::new(def).map(Rc::new));
            rules.extend(rule.clone());
        }
        rules.push(Rc::clone(&self.ephemeral));
        let ignores = Rc::new(Ignores { rules });
        self.sets.insert(keys, Rc::clone(&ignores));
        ignores
    }

    /// Forgets what no target uses any more.
    pub(super) fn prune(&mut self) {
        self.sets.retain(|_, ignores| Rc::strong_count(ignores) > 1);
        self.rules.retain(|_, rule| rule.as_ref().is_some_and(|rule| Rc::strong_count(rule) > 1));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ignores(base_path: &str, patterns: &[&str]) -> Rc<Ignores> {
        let patterns = patterns.iter().map(|&it| it.to_owned()).collect();
        IgnoreCache::new().get(&[IgnoreDef { base_path: base_path.to_owned(), patterns }])
    }

    #[test]
    fn files_of_editors_never_count() {
        let ignores = ignores("/p", &["unrelated"]);
        for path in [
            "/p/.one.swp",
            "/p/.one.swx",
            "/p/one~",
            "/p/#one#",
            "/p/.#one",
            "/p/4913",
            "/p/one___jb_tmp___",
            "/p/one___jb_old___",
            "/p/.idea/x",
            "/p/.idea/x/y",
            "/p/flymake_a.b",
            "/p/.one.kate-swp",
            "/p/a-go-tmp-umask",
        ] {
            assert!(ignores.matches(Path::new(path)), "{path}");
        }
        for path in ["/p/.idea", "/p/one.swp", "/p/49130", "/p/#one", "/p/.swp", "/p/idea/x"] {
            assert!(!ignores.matches(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn a_base_without_patterns_is_ignored_as_a_whole() {
        let ignores = ignores("/p/.git", &[]);
        assert!(ignores.matches(Path::new("/p/.git")));
        assert!(ignores.matches_entire_dir(Path::new("/p/.git/objects")));
        assert!(!ignores.matches(Path::new("/p/.gitignore")));
    }

    #[test]
    fn a_malformed_pattern_makes_its_definition_void() {
        let ignores = ignores("/p", &["[", "b"]);
        assert!(!ignores.matches(Path::new("/p/b")));
    }

    #[test]
    fn a_directory_with_kept_files_is_entered() {
        let ignores = ignores("/p", &["build", "!build/keep"]);
        assert!(ignores.matches(Path::new("/p/build/x")));
        assert!(!ignores.matches(Path::new("/p/build/keep")));
        assert!(!ignores.matches_entire_dir(Path::new("/p/build")));
        assert!(ignores.matches_entire_dir(Path::new("/p/build/other")));
    }

    #[test]
    fn equal_ignores_are_compiled_once() {
        let mut cache = IgnoreCache::new();
        let def = IgnoreDef { base_path: "/p".into(), patterns: vec!["a".into()] };
        let first = cache.get(std::slice::from_ref(&def));
        assert!(Rc::ptr_eq(&first, &cache.get(&[def])));
        drop(first);
        cache.prune();
        assert!(cache.sets.is_empty() && cache.rules.is_empty());
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
            let def = IgnoreDef { base_path: base.to_owned(), patterns: patterns.clone() };
            let ours = Rule::new(&def);
            let reference = PathMatcher::new(base, &patterns).ok();
            prop_assert_eq!(ours.is_some(), reference.is_some());
            let (Some(ours), Some(reference)) = (ours, reference) else { return Ok(()) };
            let set = Ignores { rules: vec![Rc::new(ours)] };
            for file in files {
                let file = path::clean(&file);
                prop_assert_eq!(set.matches(Path::new(&file)), reference.matches(&file), "{}", file);
                prop_assert_eq!(
                    set.matches_entire_dir(Path::new(&file)),
                    reference.matches_entire_dir(&file),
                    "directory {}", file
                );
            }
        }
    }
}

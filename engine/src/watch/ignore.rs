//! Decides which changes do not count: the target's own ignores and the files that editors leave
//! behind. The rules are those of Docker's ignore files as Tilt applies them.

use std::{collections::HashMap, path::Path, rc::Rc};

use engine_formats::docker::ignore::Rule;
use engine_model::IgnoreDef;

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

impl Ignores {
    /// Whether a change of this path does not count.
    pub(super) fn matches(&self, path: &Path) -> bool {
        self.rules.iter().any(|rule| rule.matches(path))
    }

    /// Whether nothing in this directory can count. In doubt it does.
    pub(super) fn matches_entire_dir(&self, dir: &Path) -> bool {
        self.rules.iter().any(|rule| rule.matches_entire_dir(dir))
    }
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
        let ephemeral = Rule::new("/", &EPHEMERAL).expect("the built-in patterns are well formed");
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
            let rule = self.rules.entry(key.clone()).or_insert_with(|| compile(def));
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

/// A malformed definition is no rule, as in Tilt.
fn compile(def: &IgnoreDef) -> Option<Rc<Rule>> {
    Rule::new(&def.base_path, &def.patterns).ok().map(Rc::new)
}

#[cfg(test)]
mod tests {
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
}

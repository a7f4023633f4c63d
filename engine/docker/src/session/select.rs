//! Which files of a directory the engine asks for: those that instructions name, wherever links
//! among them lead, without those that it excludes.

use std::{collections::BTreeSet, fs, path::Path};

use engine_formats::{
    docker::ignore::{IgnoreError, PathMatcher},
    golang::path,
};
use engine_model::path::{to_path, to_text};
use percent_encoding::percent_decode_str;
use tonic::metadata::MetadataMap;

use crate::context::walk::{Select, Wanted};

/// Links that lead to links end somewhere, or are not followed any further.
const LINKS_MAX: usize = 255;

/// What the engine asks for, as it says so.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Wish {
    pub(crate) dir: String,
    pub(crate) include: Vec<String>,
    pub(crate) exclude: Vec<String>,
    pub(crate) follow: Vec<String>,
}

impl Wish {
    pub(crate) fn read(metadata: &MetadataMap) -> Self {
        Self {
            dir: values(metadata, "dir-name").into_iter().next().unwrap_or_default(),
            include: values(metadata, "include-patterns"),
            exclude: values(metadata, "exclude-patterns"),
            follow: values(metadata, "followpaths"),
        }
    }
}

fn values(metadata: &MetadataMap, key: &str) -> Vec<String> {
    let flag = metadata.get(format!("{key}-encoded"));
    let is_encoded = flag.is_some_and(|it| it.to_str().is_ok_and(|it| it == "1" || it == "true"));
    let text = |value: &tonic::metadata::MetadataValue<_>| {
        let text = String::from_utf8_lossy(value.as_bytes()).into_owned();
        if is_encoded { unescape(&text) } else { text }
    };
    metadata.get_all(key).iter().map(text).collect()
}

/// Decodes a value of a URL's query.
fn unescape(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}

/// A compiled wish.
#[derive(Debug)]
pub(crate) struct Selection {
    include: Option<Include>,
    exclude: Option<Exclude>,
}

#[derive(Debug)]
struct Include {
    matcher: PathMatcher,
    /// The patterns without wildcards at their end, if they have none elsewhere.
    prefixes: Option<Vec<String>>,
}

#[derive(Debug)]
struct Exclude {
    matcher: PathMatcher,
}

impl Selection {
    /// Compiles a wish for the directory `root`, where links are followed.
    pub(crate) fn new(wish: &Wish, root: Option<&Path>) -> Result<Self, IgnoreError> {
        let mut include = wish.include.clone();
        if !wish.follow.is_empty()
            && let Some(targets) = follow(root, &wish.follow)
        {
            include.extend(targets);
        }
        let exclude = (!wish.exclude.is_empty())
            .then(|| Ok(Exclude { matcher: PathMatcher::new("/", &wish.exclude)? }))
            .transpose()?;
        Ok(Self { include: Include::new(&include)?, exclude })
    }

    fn is_excluded(&self, path: &str) -> bool {
        self.exclude.as_ref().is_some_and(|it| it.matcher.matches(path))
    }
}

impl Include {
    fn new(patterns: &[String]) -> Result<Option<Self>, IgnoreError> {
        if patterns.is_empty() {
            return Ok(None);
        }
        let prefix = |pattern: &String| {
            let pattern = path::join(&["/", pattern]);
            let pattern = pattern.strip_suffix("/**").unwrap_or(&pattern);
            let pattern = pattern.strip_suffix("/*").unwrap_or(pattern);
            (!pattern.contains(['*', '[', ']', '?', '^', '\\'])).then(|| format!("{pattern}/"))
        };
        let prefixes = patterns.iter().map(prefix).collect();
        Ok(Some(Self { matcher: PathMatcher::new("/", patterns)?, prefixes }))
    }
}

/// A path as patterns see it.
fn rooted(path: &Path) -> String {
    format!("/{}", to_text(path))
}

impl Select for Selection {
    fn directory(&self, path: &Path) -> Wanted {
        if self.include.is_none() && self.exclude.is_none() {
            return Wanted::Yes;
        }
        let path = rooted(path);
        if let Some(exclude) = &self.exclude
            && exclude.matcher.matches(&path)
        {
            let is_final = exclude.matcher.matches_entire_dir(&path);
            return if is_final { Wanted::No } else { Wanted::Perhaps };
        }
        let Some(include) = &self.include else { return Wanted::Yes };
        if include.matcher.matches(&path) {
            return Wanted::Yes;
        }
        let below = format!("{path}/");
        match &include.prefixes {
            Some(prefixes) if !prefixes.iter().any(|it| it.starts_with(&below)) => Wanted::No,
            _ => Wanted::Perhaps,
        }
    }

    fn file(&self, path: &Path) -> bool {
        if self.include.is_none() && self.exclude.is_none() {
            return true;
        }
        let path = rooted(path);
        !self.is_excluded(&path)
            && self.include.as_ref().is_none_or(|include| include.matcher.matches(&path))
    }
}

/// Adds the targets of links among paths; `None` if the whole directory is meant.
fn follow(root: Option<&Path>, paths: &[String]) -> Option<Vec<String>> {
    let mut found = BTreeSet::new();
    for path in paths {
        resolve(root, path, &mut found, 0);
    }
    let mut kept: Vec<String> = Vec::new();
    for path in found {
        if path.is_empty() {
            return None;
        }
        if !kept.last().is_some_and(|last| path.starts_with(&format!("{last}/"))) {
            kept.push(path);
        }
    }
    Some(kept)
}

fn resolve(root: Option<&Path>, wanted: &str, found: &mut BTreeSet<String>, depth: usize) {
    // A path never leads out of the directory.
    let wanted = path::clean(&format!("/{wanted}"));
    let mut current = String::new();
    let mut rest = wanted.trim_start_matches('/');
    loop {
        let (name, after) = rest.split_once('/').unwrap_or((rest, ""));
        current = if current.is_empty() { name.to_owned() } else { format!("{current}/{name}") };
        let targets = links(root, &current);
        if (after.is_empty() || !targets.is_empty()) && found.contains(&current) {
            return;
        }
        if !targets.is_empty() {
            found.insert(current);
            if depth < LINKS_MAX {
                for target in targets {
                    resolve(root, &path::join(&[target.as_str(), after]), found, depth + 1);
                }
            }
            return;
        }
        if after.is_empty() {
            found.insert(current);
            return;
        }
        rest = after;
    }
}

/// Where a link leads, or all links that a pattern matches; nothing if there is none.
fn links(root: Option<&Path>, relative: &str) -> Vec<String> {
    let Some(root) = root else { return Vec::new() };
    let (dir, base) = relative.rsplit_once('/').unwrap_or(("", relative));
    if !base.contains(['*', '?', '[']) {
        return link(root, dir, base).into_iter().collect();
    }
    let Ok(pattern) = PathMatcher::new("/", &[base]) else { return Vec::new() };
    let Ok(entries) = fs::read_dir(root.join(to_path(dir))) else { return Vec::new() };
    let names = entries.filter_map(|it| Some(to_text(&it.ok()?.file_name()).into_owned()));
    names
        .filter(|name| pattern.matches(&format!("/{name}")))
        .filter_map(|name| link(root, dir, &name))
        .collect()
}

fn link(root: &Path, dir: &str, name: &str) -> Option<String> {
    let target = fs::read_link(root.join(to_path(dir)).join(to_path(name))).ok()?;
    let target = to_text(&target);
    Some(if path::is_abs(&target) {
        path::clean(&target)
    } else {
        path::join(&["/", dir, &target])
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn wish(include: &[&str], exclude: &[&str], follow: &[&str]) -> Wish {
        let owned = |it: &[&str]| it.iter().map(|&it| it.to_owned()).collect();
        Wish {
            dir: "context".into(),
            include: owned(include),
            exclude: owned(exclude),
            follow: owned(follow),
        }
    }

    fn wants(selection: &Selection, dir: &str) -> Wanted {
        selection.directory(Path::new(dir))
    }

    #[test]
    fn only_directories_that_may_hold_something_wanted_are_entered() {
        let selection = Selection::new(&wish(&["a/b", "c/*"], &[], &[]), None).unwrap();
        assert_eq!(wants(&selection, "a"), Wanted::Perhaps);
        assert_eq!(wants(&selection, "a/b"), Wanted::Yes);
        assert_eq!(wants(&selection, "c"), Wanted::Perhaps);
        assert_eq!(wants(&selection, "other"), Wanted::No);
        assert!(selection.file(Path::new("a/b/deep/file")));
        assert!(!selection.file(Path::new("a/c")));
        let anywhere = Selection::new(&wish(&["*/x"], &[], &[]), None).unwrap();
        assert_eq!(wants(&anywhere, "other"), Wanted::Perhaps);
    }

    #[test]
    fn exclusions_may_have_exceptions() {
        let selection = Selection::new(&wish(&[], &["out", "!out/keep"], &[]), None).unwrap();
        assert_eq!(wants(&selection, "out"), Wanted::Perhaps);
        assert!(!selection.file(Path::new("out/x")));
        assert!(selection.file(Path::new("out/keep")));
        assert_eq!(wants(&selection, "src"), Wanted::Yes);
    }

    #[test]
    fn links_are_followed_within_the_directory() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("real/sub")).unwrap();
        symlink("real", dir.path().join("alias")).unwrap();
        symlink("/real/sub", dir.path().join("absolute")).unwrap();
        symlink("../../etc", dir.path().join("real/out")).unwrap();
        symlink("loop-b", dir.path().join("loop-a")).unwrap();
        symlink("loop-a", dir.path().join("loop-b")).unwrap();
        for (paths, want) in [
            (vec!["plain"], Some(vec!["plain"])),
            (vec!["alias/file"], Some(vec!["alias", "real/file"])),
            (vec!["absolute"], Some(vec!["absolute", "real/sub"])),
            (vec!["real/out"], Some(vec!["etc", "real/out"])),
            (vec!["loop-a"], Some(vec!["loop-a", "loop-b"])),
            (vec!["al*"], Some(vec!["al*", "real"])),
            (vec!["real", "real/sub"], Some(vec!["real"])),
            (vec!["."], None),
            (vec!["../x"], Some(vec!["x"])),
        ] {
            let owned: Vec<String> = paths.iter().map(|&it| it.to_owned()).collect();
            let found = follow(Some(dir.path()), &owned);
            let want = want.map(|it| it.iter().map(|&it| it.to_owned()).collect::<Vec<_>>());
            assert_eq!(found, want, "{paths:?}");
        }
    }

    #[test]
    fn wishes_are_read_from_the_request() {
        let mut metadata = MetadataMap::new();
        metadata.insert("dir-name", "context".parse().unwrap());
        metadata.append("followpaths", "a%20b%2B".parse().unwrap());
        metadata.append("followpaths", "%C3%A9+c".parse().unwrap());
        metadata.insert("followpaths-encoded", "1".parse().unwrap());
        metadata.append("include-patterns", "x%20y".parse().unwrap());
        let found = Wish::read(&metadata);
        assert_eq!(found, wish(&["x%20y"], &[], &["a b+", "é c"]));
    }
}

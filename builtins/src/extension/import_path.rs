//! Which git repository a URL without its scheme names, by the rules that `go get` once had.

use std::sync::LazyLock;

use regex::Regex;

use crate::golang::quote::quote;

/// A repository, and the part of an import path that names it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RepoRoot {
    /// What git clones.
    pub url: String,
    /// The import path of the repository's top.
    pub root: String,
}

/// A hosting site, and how paths look there.
struct Site {
    prefix: &'static str,
    pattern: &'static LazyLock<Regex>,
    /// Whether names may not end in the name of a version control system.
    bare: bool,
}

macro_rules! pattern {
    ($name:ident, $text:literal) => {
        static $name: LazyLock<Regex> =
            LazyLock::new(|| Regex::new($text).expect("the pattern is valid"));
    };
}

pattern!(GITHUB, r"^(?P<root>github\.com/[A-Za-z0-9_.\-]+/[A-Za-z0-9_.\-]+)(/[\p{L}0-9_.\-]+)*$");
pattern!(GITLAB, r"^(?P<root>gitlab\.com/[A-Za-z0-9_.\-]+/[A-Za-z0-9_.\-]+(/[A-Za-z0-9_.\-]+)*)$");
pattern!(
    BITBUCKET,
    r"^(?P<root>bitbucket\.org/[A-Za-z0-9_.\-]+/[A-Za-z0-9_.\-]+)(/[A-Za-z0-9_.\-]+)*$"
);
pattern!(APACHE, r"^(?P<root>git\.apache\.org/[a-z0-9_.\-]+\.git)(/[A-Za-z0-9_.\-]+)*$");
pattern!(
    OPENSTACK,
    r"^(?P<root>git\.openstack\.org/[A-Za-z0-9_.\-]+/[A-Za-z0-9_.\-]+)(\.git)?(/[A-Za-z0-9_.\-]+)*$"
);
pattern!(
    ANY_SERVER,
    r"(?P<root>(?P<repo>([a-z0-9.\-]+\.)+[a-z0-9.\-]+(:[0-9]+)?(/~?[A-Za-z0-9_.\-]+)+?)\.(?P<vcs>bzr|fossil|git|hg|svn))(/~?[A-Za-z0-9_.\-]+)*$"
);

static SITES: [Site; 5] = [
    Site { prefix: "github.com/", pattern: &GITHUB, bare: true },
    Site { prefix: "gitlab.com/", pattern: &GITLAB, bare: true },
    Site { prefix: "bitbucket.org/", pattern: &BITBUCKET, bare: true },
    Site { prefix: "git.apache.org/", pattern: &APACHE, bare: false },
    Site { prefix: "git.openstack.org/", pattern: &OPENSTACK, bare: false },
];

const SYSTEMS: [&str; 5] = [".hg", ".git", ".svn", ".bzr", ".fossil"];

/// The schemes that other servers are asked with, in this order.
const SECURE_SCHEMES: [&str; 3] = ["https", "git+ssh", "ssh"];

impl RepoRoot {
    /// The repository of an import path; `answers` tells whether there is one behind a URL.
    pub(super) fn of(
        import_path: &str,
        mut answers: impl FnMut(&str) -> bool,
    ) -> Result<Self, String> {
        check(import_path).map_err(|why| {
            let quoted = quote(import_path);
            format!("{import_path}: invalid import path: malformed import path {quoted}: {why}")
        })?;
        if let Some(site) = SITES.iter().find(|it| import_path.starts_with(it.prefix)) {
            let Some(found) = site.pattern.captures(import_path) else {
                return Err(format!("invalid {} import path {}", site.prefix, quote(import_path)));
            };
            let root = &found["root"];
            if site.bare && SYSTEMS.iter().any(|it| root.ends_with(it)) {
                return Err(format!("invalid version control suffix in {} path", site.prefix));
            }
            return Ok(Self { url: format!("https://{root}"), root: root.to_owned() });
        }
        let Some(found) = ANY_SERVER.captures(import_path) else {
            return Err("dynamic lookup required to find mapping".to_owned());
        };
        if &found["vcs"] != "git" {
            return Err(format!("unknown version control system {}", quote(&found["vcs"])));
        }
        let repo = &found["repo"];
        let mut urls = SECURE_SCHEMES.iter().map(|scheme| format!("{scheme}://{repo}"));
        let url = urls.find(|url| answers(url)).unwrap_or_else(|| format!("git://{repo}"));
        Ok(Self { url, root: found["root"].to_owned() })
    }
}

/// What is wrong with the form of an import path.
fn check(path: &str) -> Result<(), String> {
    if path.is_empty() {
        return Err("empty string".to_owned());
    }
    if path.starts_with('-') {
        return Err("leading dash".to_owned());
    }
    if path.contains("//") {
        return Err("double slash".to_owned());
    }
    if path.ends_with('/') {
        return Err("trailing slash".to_owned());
    }
    path.split('/').try_for_each(check_element)
}

fn check_element(element: &str) -> Result<(), String> {
    if element.is_empty() {
        return Err("empty path element".to_owned());
    }
    if element.bytes().all(|it| it == b'.') {
        return Err(format!("invalid path element {}", quote(element)));
    }
    if element.starts_with('.') {
        return Err("leading dot in path element".to_owned());
    }
    if element.ends_with('.') {
        return Err("trailing dot in path element".to_owned());
    }
    let is_allowed = |it: char| {
        if it.is_ascii() {
            it.is_ascii_alphanumeric() || "+-._~".contains(it)
        } else {
            it.is_alphabetic()
        }
    };
    match element.chars().find(|it| !is_allowed(*it)) {
        Some(found) => Err(format!("invalid char {found:?}")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::RepoRoot;

    fn check(import_path: &str, answering: &str, expected: Result<(&str, &str), &str>) {
        let found = RepoRoot::of(import_path, |url| url == answering);
        let expected = expected
            .map(|(url, root)| RepoRoot { url: url.to_owned(), root: root.to_owned() })
            .map_err(str::to_owned);
        assert_eq!(found, expected, "{import_path}");
    }

    #[test]
    fn known_sites_name_the_repository_by_the_first_elements() {
        let top = Ok(("https://github.com/a/b", "github.com/a/b"));
        check("github.com/a/b", "", top);
        check("github.com/a/b/deep/down", "", top);
        let group = "gitlab.com/a/b/c";
        check(group, "", Ok(("https://gitlab.com/a/b/c", group)));
    }

    #[test]
    fn other_servers_need_a_suffix_and_are_asked_for_the_scheme() {
        let root = "git.example.com:8080/team/ext.git";
        let https = "https://git.example.com:8080/team/ext";
        check("git.example.com/a/b", "", Err("dynamic lookup required to find mapping"));
        check("localhost/a/b.git", "", Err("dynamic lookup required to find mapping"));
        check(
            "git.example.com/team/ext.git/sub",
            "https://git.example.com/team/ext",
            Ok(("https://git.example.com/team/ext", "git.example.com/team/ext.git")),
        );
        check(
            "git.example.com/ext.git",
            "",
            Ok(("git://git.example.com/ext", "git.example.com/ext.git")),
        );
        // A colon is no character of an import path, although servers may have ports.
        check(
            root,
            https,
            Err(&format!(
                "{root}: invalid import path: malformed import path \"{root}\": invalid char ':'"
            )),
        );
    }

    #[test]
    fn malformed_paths_are_explained() {
        check("github.com/a", "", Err("invalid github.com/ import path \"github.com/a\""));
        check("github.com/a/b.git", "", Err("invalid version control suffix in github.com/ path"));
        for (path, why) in [
            ("github.com/a/b/", "trailing slash"),
            ("github.com//b", "double slash"),
            ("-x/y", "leading dash"),
            ("", "empty string"),
            ("github.com/../b", "invalid path element \"..\""),
            ("github.com/.a/b", "leading dot in path element"),
            ("github.com/a./b", "trailing dot in path element"),
        ] {
            let text =
                format!("{path}: invalid import path: malformed import path \"{path}\": {why}");
            check(path, "", Err(&text));
        }
    }
}

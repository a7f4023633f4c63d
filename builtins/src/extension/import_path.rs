//! Maps a URL without scheme to a git repository, by the former rules of `go get`.

use std::sync::LazyLock;

use regex::Regex;

use super::error::{ImportPathError, Malformation};

/// A repository, and the part of an import path that names it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RepoRoot {
    /// The import path of the repository's top.
    pub root: String,
    /// Its address without a scheme.
    address: String,
    /// Whether every repository of its site can be had over https.
    is_known_site: bool,
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
    /// The repository of an import path.
    pub(super) fn of(import_path: &str) -> Result<Self, ImportPathError> {
        let path = || import_path.to_owned();
        check(import_path).map_err(|why| ImportPathError::Malformed { path: path(), why })?;
        if let Some(site) = SITES.iter().find(|it| import_path.starts_with(it.prefix)) {
            let Some(found) = site.pattern.captures(import_path) else {
                return Err(ImportPathError::Site { site: site.prefix, path: path() });
            };
            let root = &found["root"];
            if site.bare && SYSTEMS.iter().any(|it| root.ends_with(it)) {
                return Err(ImportPathError::Suffix(site.prefix));
            }
            let (root, address) = (root.to_owned(), root.to_owned());
            return Ok(Self { root, address, is_known_site: true });
        }
        let Some(found) = ANY_SERVER.captures(import_path) else {
            return Err(ImportPathError::Dynamic);
        };
        if &found["vcs"] != "git" {
            return Err(ImportPathError::System(found["vcs"].to_owned()));
        }
        let repo = &found["repo"];
        if repo.starts_with('-') {
            return Err(ImportPathError::Host(path()));
        }
        let (root, address) = (found["root"].to_owned(), repo.to_owned());
        Ok(Self { root, address, is_known_site: false })
    }

    /// What git clones; `answers` tells whether there is a repository behind a URL.
    pub(super) fn url(
        &self,
        mut answers: impl FnMut(&str) -> bool,
    ) -> Result<String, ImportPathError> {
        let address = &self.address;
        let mut urls = SECURE_SCHEMES.iter().map(|scheme| format!("{scheme}://{address}"));
        urls.find(|url| self.is_known_site || answers(url))
            .ok_or_else(|| ImportPathError::Unreachable(address.clone()))
    }
}

/// What is wrong with the form of an import path.
fn check(path: &str) -> Result<(), Malformation> {
    if path.is_empty() {
        return Err(Malformation::Rule("empty string"));
    }
    if path.starts_with('-') {
        return Err(Malformation::Rule("leading dash"));
    }
    if path.contains("//") {
        return Err(Malformation::Rule("double slash"));
    }
    if path.ends_with('/') {
        return Err(Malformation::Rule("trailing slash"));
    }
    path.split('/').try_for_each(check_element)
}

fn check_element(element: &str) -> Result<(), Malformation> {
    if element.is_empty() {
        return Err(Malformation::Rule("empty path element"));
    }
    if element.bytes().all(|it| it == b'.') {
        return Err(Malformation::Element(element.to_owned()));
    }
    if element.starts_with('.') {
        return Err(Malformation::Rule("leading dot in path element"));
    }
    if element.ends_with('.') {
        return Err(Malformation::Rule("trailing dot in path element"));
    }
    let is_allowed = |it: char| {
        if it.is_ascii() {
            it.is_ascii_alphanumeric() || "+-._~".contains(it)
        } else {
            it.is_alphabetic()
        }
    };
    match element.chars().find(|it| !is_allowed(*it)) {
        Some(found) => Err(Malformation::Char(found)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::RepoRoot;

    fn check(import_path: &str, answering: &str, expected: Result<(&str, &str), &str>) {
        let found = RepoRoot::of(import_path)
            .and_then(|it| it.url(|url| url == answering).map(|url| (url, it.root)))
            .map_err(|why| why.to_string());
        let expected =
            expected.map(|(url, root)| (url.to_owned(), root.to_owned())).map_err(str::to_owned);
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
            "ssh://git.example.com/ext",
            Ok(("ssh://git.example.com/ext", "git.example.com/ext.git")),
        );
        // Nobody can tell whether an answer over `git://` is true.
        let silence = Err("git.example.com/ext answers neither over https nor over ssh");
        check("git.example.com/ext.git", "git://git.example.com/ext", silence);
        check("git.example.com/ext.git", "", silence);
        // A host that git or ssh would take for an option.
        let option = "X-oproxy.example.com/ext.git";
        check(option, "", Err(&format!("invalid host in import path \"{option}\"")));
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

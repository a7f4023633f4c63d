//! Finds repositories and extensions that a file declares with string literals.

use super::{
    calls::{Argument, CallSite},
    document::Document,
};

/// Where a file says that an extension is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Declared {
    /// Under this path of the default repository.
    Default(String),
    /// In another repository.
    In {
        /// Where the repository is.
        url: String,
        /// The folder of all its extensions.
        subpath: String,
        /// The path of the extension below that.
        path: String,
    },
    /// Somewhere that only running the file tells.
    Open,
}

/// Where a file says that the extension `ext://NAME` is; nothing if it says nothing about it.
pub fn declared(document: &Document, name: &str) -> Option<Declared> {
    let (extensions, repos) =
        (calls(document, "v1alpha1.extension"), calls(document, "v1alpha1.extension_repo"));
    let object = name.replace(['/', '%'], "_");
    let owned = |it: &str| it.to_owned();
    let by_name = extensions
        .iter()
        .rfind(|it| it.text("name") == Some(object.as_str()))
        .map(|it| (it.text("repo_name").map(owned), it.text("repo_path").map(owned)));
    let by_host = || {
        let (host, rest) = name.split_once('/')?;
        let found = repos.iter().find(|it| it.text("load_host") == Some(host))?;
        Some((found.text("name").map(owned), Some(rest.to_owned())))
    };
    let (repo, path) = match by_name.or_else(by_host) {
        Some((Some(repo), Some(path))) => (repo, path),
        Some(_) => return Some(Declared::Open),
        None if extensions.iter().chain(&repos).any(Declaration::is_open) => {
            return Some(Declared::Open);
        }
        None => ("default".to_owned(), name.to_owned()),
    };
    match repos.iter().rfind(|it| it.text("name") == Some(repo.as_str())) {
        Some(found) => Some(match (found.text("url"), found.get("git_subpath")) {
            (Some(url), None) => Declared::In { url: url.to_owned(), subpath: String::new(), path },
            (Some(url), Some(subpath)) => match subpath.literal(document) {
                Some(subpath) => {
                    Declared::In { url: url.to_owned(), subpath: subpath.to_owned(), path }
                }
                None => Declared::Open,
            },
            (None, _) => Declared::Open,
        }),
        None if repo == "default" && path == name => None,
        None => Some(Declared::Default(path)),
    }
}

/// A call of a function of `v1alpha1`.
struct Declaration<'a>(&'a Document, &'a CallSite);

impl<'a> Declaration<'a> {
    fn get(&self, name: &str) -> Option<&'a Argument> {
        // The name of an object comes first.
        self.1.argument(self.0, name, (name == "name").then_some(0))
    }

    fn text(&self, name: &str) -> Option<&'a str> {
        self.get(name)?.literal(self.0)
    }

    /// Whether it is not known what the call names.
    fn is_open(&self) -> bool {
        ["name", "load_host"].iter().any(|it| self.get(it).is_some() && self.text(it).is_none())
    }
}

fn calls<'a>(document: &'a Document, function: &str) -> Vec<Declaration<'a>> {
    let is_meant = |it: &&CallSite| it.callee == function && it.end.is_some();
    document.calls.iter().filter(is_meant).map(|it| Declaration(document, it)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "
v1alpha1.extension_repo('team', url='file:///srv/ext', load_host='t')
v1alpha1.extension_repo(name='far', url='https://example.com/ext', git_subpath='lib')
v1alpha1.extension(name='tool', repo_name='team', repo_path='a/tool', args=['--x', 'y'])
v1alpha1.extension(
    name='hi',
    repo_name='default',
    repo_path='hello_world',
)
v1alpha1.extension(name='x_y', repo_name='far', repo_path='z')
";

    fn find(text: &str, name: &str) -> Option<Declared> {
        declared(&Document::new(text.to_owned()), name)
    }

    fn inside(url: &str, subpath: &str, path: &str) -> Option<Declared> {
        let [url, subpath, path] = [url, subpath, path].map(str::to_owned);
        Some(Declared::In { url, subpath, path })
    }

    #[test]
    fn extensions_are_where_the_file_says() {
        assert_eq!(find(FILE, "tool"), inside("file:///srv/ext", "", "a/tool"));
        assert_eq!(find(FILE, "t/b/c"), inside("file:///srv/ext", "", "b/c"));
        assert_eq!(find(FILE, "x/y"), inside("https://example.com/ext", "lib", "z"));
        assert_eq!(find(FILE, "hi"), Some(Declared::Default("hello_world".to_owned())));
        assert_eq!(find(FILE, "secret"), None);
        let other = "v1alpha1.extension_repo(name='default', url='file:///mine')\n";
        assert_eq!(find(other, "secret"), inside("file:///mine", "", "secret"));
    }

    #[test]
    fn what_is_computed_is_left_open() {
        let computed = "v1alpha1.extension_repo(name='default', url='file://' + os.getcwd())\n";
        assert_eq!(find(computed, "secret"), Some(Declared::Open));
        let named = "for name in names:\n    v1alpha1.extension(name=name, repo_name='x', repo_path=name)\n";
        assert_eq!(find(named, "a"), Some(Declared::Open));
        assert_eq!(find("v1alpha1.extension(", "a"), None);
    }
}

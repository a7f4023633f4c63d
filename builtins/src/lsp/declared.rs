//! Finds repositories and extensions that a file declares with string literals.

use super::{document::Document, tokens::TokenKind};

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
#[must_use]
pub fn declared(document: &Document, name: &str) -> Option<Declared> {
    let (extensions, repos) = (calls(document, "extension"), calls(document, "extension_repo"));
    let object = name.replace(['/', '%'], "_");
    let owned = |it: &str| it.to_owned();
    let by_name = extensions
        .iter()
        .rfind(|it| it.text("name") == Some(&object))
        .map(|it| (it.text("repo_name").map(owned), it.text("repo_path").map(owned)));
    let by_host = || {
        let (host, rest) = name.split_once('/')?;
        let found = repos.iter().find(|it| it.text("load_host") == Some(host))?;
        Some((found.text("name").map(owned), Some(rest.to_owned())))
    };
    let (repo, path) = match by_name.or_else(by_host) {
        Some((Some(repo), Some(path))) => (repo, path),
        Some(_) => return Some(Declared::Open),
        None if extensions.iter().chain(&repos).any(CallArguments::is_open) => {
            return Some(Declared::Open);
        }
        None => ("default".to_owned(), name.to_owned()),
    };
    match repos.iter().rfind(|it| it.text("name") == Some(&repo)) {
        Some(found) => Some(match (found.text("url"), found.get("git_subpath")) {
            (Some(_), Some(Argument::Other)) | (None, _) => Declared::Open,
            (Some(url), _) => {
                let subpath = found.text("git_subpath").unwrap_or_default();
                Declared::In { url: url.to_owned(), subpath: subpath.to_owned(), path }
            }
        }),
        None if repo == "default" && path == name => None,
        None => Some(Declared::Default(path)),
    }
}

/// An argument of a call.
#[derive(PartialEq, Eq)]
enum Argument {
    /// A plain text.
    Text(String),
    /// Something that has to be computed.
    Other,
}

/// The arguments of a call by name.
struct CallArguments(Vec<(String, Argument)>);

impl CallArguments {
    fn get(&self, name: &str) -> Option<&Argument> {
        self.0.iter().find(|it| it.0 == name).map(|it| &it.1)
    }

    fn text(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            Argument::Text(text) => Some(text),
            Argument::Other => None,
        }
    }

    /// Whether it is not known what the call names.
    fn is_open(&self) -> bool {
        [self.get("name"), self.get("load_host")].contains(&Some(&Argument::Other))
    }
}

/// The calls of a function of `v1alpha1`.
fn calls(document: &Document, function: &str) -> Vec<CallArguments> {
    let tokens: Vec<_> =
        document.tokens.iter().filter(|it| it.kind != TokenKind::Newline).collect();
    let is_word = |at: usize, word: &str| {
        tokens.get(at).is_some_and(|it| it.kind == TokenKind::Name && document.word(it) == word)
    };
    let is_sign = |at: usize, sign: u8| tokens.get(at).is_some_and(|it| it.is(sign));
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        let is_call = is_word(at, "v1alpha1") && is_sign(at + 1, b'.') && is_word(at + 2, function);
        if !is_call || !is_sign(at + 3, b'(') {
            continue;
        }
        let (mut args, mut depth, mut start) = (Vec::new(), 0_u32, at + 4);
        for end in at + 4..tokens.len() {
            let token = tokens[end];
            if [b'(', b'[', b'{'].iter().any(|it| token.is(*it)) {
                depth += 1;
            } else if depth == 0 && (token.is(b',') || token.is(b')')) {
                let is_named = end > start + 1 && is_sign(start + 1, b'=');
                let value = if is_named { start + 2 } else { start };
                let name = if is_named { document.word(tokens[start]) } else { "name" };
                let is_text = end == value + 1 && tokens[value].kind == TokenKind::Text;
                let argument = if is_text {
                    Argument::Text(document.content(tokens[value]).to_owned())
                } else {
                    Argument::Other
                };
                args.push((name.to_owned(), argument));
                start = end + 1;
                if token.is(b')') {
                    break;
                }
            } else if [b')', b']', b'}'].iter().any(|it| token.is(*it)) {
                depth = depth.saturating_sub(1);
            }
        }
        found.push(CallArguments(args));
    }
    found
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

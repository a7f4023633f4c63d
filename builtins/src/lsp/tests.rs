//! Requests of editors about files in all states. `$` marks the position.

use std::{collections::HashMap, path::Path, sync::Arc};

use super::*;

/// Files by name, all in one folder.
#[derive(Default)]
struct Folder(HashMap<&'static str, Arc<Document>>);

impl Folder {
    fn with(files: &[(&'static str, &str)]) -> Self {
        let read = |text: &str| Arc::new(Document::new(text.to_owned()));
        Self(files.iter().map(|(name, text)| (*name, read(text))).collect())
    }
}

impl Files for Folder {
    fn module(&self, _from: &Path, name: &str) -> Result<Module, NoModule> {
        let document = self.0.get(name).ok_or_else(|| NoModule(format!("no file {name}")))?;
        Ok(Module { path: format!("/{name}"), document: Arc::clone(document) })
    }

    fn list(&self, dir: &Path) -> Vec<String> {
        if dir == Path::new("/project/charts") {
            vec!["app/".to_owned(), "values.yaml".to_owned()]
        } else {
            Vec::new()
        }
    }
}

fn here() -> &'static Path {
    Path::new("/project/Tiltfile")
}

/// A document, and the place of its mark.
fn marked(text: &str) -> (Document, usize) {
    let offset = text.find('$').expect("the text has a mark");
    (Document::new(text.replacen('$', "", 1)), offset)
}

fn completions(text: &str) -> Vec<String> {
    let (document, offset) = marked(text);
    complete(&document, here(), &library(), offset).into_iter().map(|it| it.label).collect()
}

fn library() -> Folder {
    Folder::with(&[(
        "./lib.tilt",
        "def greet(name, loud=False):\n    \"\"\"Greets.\n\n    Politely.\n    \"\"\"\n    pass\n\n_hidden = 1\nanswer = 42\n",
    )])
}

#[test]
fn names_are_completed_from_everywhere() {
    assert_eq!(completions("docker_b$"), ["docker_build"]);
    assert_eq!(completions("my_var = 1\nmy_$"), ["my_var"]);
    assert_eq!(completions("def f(my_arg):\n    my_local = 1\n    my_$\n"), ["my_arg", "my_local"]);
    assert_eq!(completions("def f(my_arg):\n    pass\nmy_$\n"), [""; 0]);
    assert_eq!(completions("load('./lib.tilt', hello='greet')\nhel$"), ["hello", "helm"]);
    assert_eq!(completions("ret$"), ["return"]);
}

#[test]
fn members_are_completed_behind_a_dot() {
    assert_eq!(completions("os.path.j$"), ["join"]);
    assert_eq!(completions("x = os.g$"), ["getcwd", "getenv"]);
    assert!(completions("config.$").contains(&"define_string".to_owned()));
    assert!(!completions("os.$").iter().any(|it| it.contains('.')));
    assert_eq!(completions("'a'.starts$"), ["startswith"]);
    assert_eq!(completions("[1].app$"), ["append"]);
}

#[test]
fn parameters_are_completed_once() {
    let of = |text: &str| -> Vec<String> {
        completions(text).into_iter().filter(|it| it.ends_with('=')).collect()
    };
    assert_eq!(
        of("local_resource('a', serve_$)"),
        ["serve_cmd=", "serve_cmd_bat=", "serve_env=", "serve_dir="]
    );
    assert_eq!(of("local_resource('a', serve_cmd='x', serve_c$"), ["serve_cmd_bat="]);
    assert_eq!(of("sync($"), ["local_path=", "remote_path="]);
    assert_eq!(of("sync('a', $"), ["remote_path="]);
    assert_eq!(of("def f(aa, ab=1, *rest):\n    pass\nf(a$"), ["aa=", "ab="]);
    assert_eq!(of("load('./lib.tilt', 'greet')\ngreet('x', l$)"), ["loud="]);
    // Within brackets inside of a call, arguments have no names.
    assert_eq!(of("local_resource('a', deps=[$"), [""; 0]);
    assert_eq!(
        of("local_resource('a',\n    serve_cmd$\n\nk8s_yaml('x')\n"),
        ["serve_cmd=", "serve_cmd_bat="]
    );
}

#[test]
fn texts_are_completed_where_they_are_names() {
    assert_eq!(completions("load('ext://hello_w$"), ["ext://hello_world"]);
    assert_eq!(completions("load('./lib.tilt', '$'"), ["greet", "answer"]);
    assert_eq!(completions("helm('charts/$')"), ["app/", "values.yaml"]);
    assert_eq!(completions("helm('charts/v$"), ["values.yaml"]);
    assert_eq!(completions("x = 'charts/$'"), [""; 0]);
    let (document, offset) = marked("k8s_yaml('charts/va$')");
    let found = complete(&document, here(), &library(), offset);
    let range = found[0].replaces.expect("paths replace their last part");
    assert_eq!((range.start.character, range.end.character), (17, 19));
}

fn told(text: &str) -> String {
    let (document, offset) = marked(text);
    hover(&document, here(), &library(), offset).map(|it| it.markdown).unwrap_or_default()
}

#[test]
fn names_are_explained() {
    assert!(told("docker_bu$ild('a', '.')").contains("Builds an image from a Dockerfile"));
    assert!(told("os.path.jo$in('a')").contains("os.path.join(*parts: str) -> str"));
    assert!(
        told("docker_build('a', '.', live_up$date=[])")
            .contains("Steps that update running containers")
    );
    assert_eq!(
        told("def f(a, b=[1, 2]):\n    'Does it.'\nf$(1)"),
        "```python\ndef f(a, b=[1, 2])\n```\n\nDoes it.\n"
    );
    let loaded = told("load('./lib.tilt', 'greet')\ngre$et('x')");
    assert!(
        loaded.contains("def greet(name, loud=False)") && loaded.contains("Politely."),
        "{loaded}"
    );
    assert_eq!(told("nothing$"), "");
}

#[test]
fn the_parameter_that_is_written_is_marked() {
    let active = |text: &str| {
        let (document, offset) = marked(text);
        let help = signature_help(&document, here(), &library(), offset)?;
        Some(help.params.get(help.active?)?.0.clone())
    };
    assert_eq!(active("sync($").as_deref(), Some("local_path"));
    assert_eq!(active("sync('a', $").as_deref(), Some("remote_path"));
    assert_eq!(active("docker_build('a', '.', only=['x', $").as_deref(), Some("only"));
    assert_eq!(active("print(1, 2, $").as_deref(), Some("*args"));
    assert_eq!(active("def f(a, b=1):\n    pass\nf(1, $)").as_deref(), Some("b=1"));
    assert_eq!(active("docker_build('a', sync($").as_deref(), Some("local_path"));
    assert_eq!(active("x = 1$"), None);
    assert_eq!(active("k8s_yaml(\n    $").as_deref(), Some("yaml"));
}

#[test]
fn definitions_are_found_across_files() {
    let found = |text: &str| {
        let (document, offset) = marked(text);
        let it = definition(&document, here(), &library(), offset)?;
        Some((it.path, it.range.start.line, it.range.start.character))
    };
    let in_library = Some("/./lib.tilt".to_owned());
    assert_eq!(found("def f():\n    pass\nf$()"), Some((None, 0, 4)));
    assert_eq!(found("load('./lib.tilt', 'greet')\nx = gre$et"), Some((in_library.clone(), 0, 4)));
    assert_eq!(found("load('./lib.tilt', 'ans$wer')"), Some((in_library.clone(), 8, 0)));
    assert_eq!(found("load('./li$b.tilt', 'answer')"), Some((in_library.clone(), 0, 0)));
    assert_eq!(found("include('./li$b.tilt')"), Some((in_library, 0, 0)));
    assert_eq!(found("def f(x):\n    return $x"), Some((None, 0, 6)));
    assert_eq!(found("docker_bu$ild"), None);
}

#[test]
fn mistakes_are_found_where_they_are() {
    let mistakes = |text: &str| -> Vec<(u32, u32, String)> {
        let document = Document::new(text.to_owned());
        let found = diagnose(&document, here(), &library());
        found
            .into_iter()
            .map(|it| (it.range.start.line, it.range.start.character, it.message))
            .collect()
    };
    assert_eq!(mistakes("docker_build('a', '.')\n"), []);
    assert_eq!(mistakes("x = 1\ny = nope\n"), [(1, 4, "undefined: nope".to_owned())]);
    assert_eq!(mistakes("x = (\n")[0].0, 1);
    assert_eq!(
        mistakes("docker_build('a', '.', onyl=[])\n"),
        [(0, 23, "docker_build: unexpected keyword argument \"onyl\"".to_owned())]
    );
    assert_eq!(mistakes("load('./gone', 'x')\n"), [(0, 6, "no file ./gone".to_owned())]);
    assert_eq!(
        mistakes("load('./lib.tilt', 'greeet')\n"),
        [(0, 20, "./lib.tilt does not define \"greeet\"".to_owned())]
    );
    assert_eq!(mistakes("def docker_build(mine):\n    pass\ndocker_build(mine=1)\n"), []);
}

#[test]
fn the_outline_survives_what_is_not_closed() {
    let document = Document::new("docker_build('a',\n\ndef f(x\n\ny = 1\n\"\"\"open".to_owned());
    let names: Vec<&str> = document.outline().symbols.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["f", "x", "y"]);
}

#[test]
fn places_are_counted_in_utf16() {
    let document = Document::new("a = '😀é'\nb".to_owned());
    for (line, character, offset) in
        [(0, 0, 0), (0, 5, 5), (0, 7, 9), (0, 8, 11), (0, 99, 12), (1, 1, 14), (9, 0, 14)]
    {
        let at = TextPosition { line, character };
        assert_eq!(document.offset(at), offset);
    }
    assert_eq!(document.position(11), TextPosition { line: 0, character: 8 });
}

#[test]
fn no_prefix_of_a_file_is_too_much() {
    let text = "load('./lib.tilt', 'greet')\ndef f(a, *b):\n    \"\"\"x\"\"\"\n    return {'k': [a, (1,)]}\nk8s_yaml(f(1, 2)['k'], allow_duplicates=True)\n";
    for end in 0..=text.len() {
        let document = Document::new(text[..end].to_owned());
        for offset in [0, end / 2, end] {
            let (path, files) = (here(), &library());
            let _ = complete(&document, path, files, offset);
            let _ = hover(&document, path, files, offset);
            let _ = signature_help(&document, path, files, offset);
            let _ = definition(&document, path, files, offset);
        }
        let _ = diagnose(&document, here(), &library());
    }
}

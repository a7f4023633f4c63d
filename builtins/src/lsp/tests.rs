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

    fn exists(&self, path: &Path) -> bool {
        ["/project/.", "/project/k8s.yaml", "/project/charts"]
            .iter()
            .any(|it| path == Path::new(it))
    }

    fn read(&self, path: &Path) -> Option<String> {
        let text = match path.file_name()?.to_str()? {
            "k8s.yaml" => {
                "kind: Deployment\nmetadata: {name: shop}\n---\nkind: Service\nmetadata: {name: s}\n"
            }
            "compose.yaml" => "services: {db: {}, cache: {}}\n",
            _ => return None,
        };
        Some(text.to_owned())
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
fn resources_are_offered_where_a_name_is_wanted() {
    let file = "include('./lib.tilt')\nk8s_yaml('k8s.yaml')\ndocker_compose('compose.yaml')\nlocal_resource('a', 'x')\n";
    let of = |line: &str| completions(&format!("{file}{line}"));
    assert_eq!(of("local_resource('b', resource_deps=['$'])"), ["a", "b", "shop", "db", "cache"]);
    assert_eq!(of("k8s_resource('shop', resource_deps=['a', '$"), ["a", "shop", "db", "cache"]);
    assert_eq!(of("dc_resource('d$')"), ["d", "db"]);
    assert_eq!(of("local_resource('b', resource_deps=[$])")[..2], ["'a'", "'b'"]);
    assert_eq!(of("helm_resource('r', 'c', resource_deps=['a', $])")[..2], ["'a'", "'r'"]);
    assert_eq!(of("local_resource('b', deps=['$'])"), [""; 0]);
}

#[test]
fn fixed_values_are_offered_alone() {
    let modes = ["TRIGGER_MODE_AUTO", "TRIGGER_MODE_MANUAL"];
    assert_eq!(completions("local_resource('a', trigger_mode=$)"), modes);
    assert_eq!(completions("local_resource('a', trigger_mode=TRIGGER_MODE_M$)"), modes[1..]);
    assert_eq!(completions("local_resource('a', auto_init=$)"), ["True", "False"]);
    assert_eq!(
        completions("k8s_resource('a', pod_readiness='$')"),
        ["wait", "ignore", "succeeded"]
    );
    assert_eq!(
        completions("k8s_resource('a', pod_readiness=$)"),
        ["'wait'", "'ignore'", "'succeeded'"]
    );
    assert_eq!(completions("my_mode = 1\nlocal_resource('a', trigger_mode=my_$)"), ["my_mode"]);
    assert!(completions("local_resource('a', cmd=$)").len() > 20);
}

#[test]
fn methods_are_those_of_the_type_where_it_is_known() {
    let has = |text: &str, name: &str| completions(text).iter().any(|it| it == name);
    for (value, own, others) in [
        ("{}", "setdefault", "append"),
        ("{'a': [1]}", "items", "strip"),
        ("[x for x in y]", "append", "items"),
        ("'a'", "strip", "append"),
        ("listdir('.')", "append", "items"),
        ("os.path.join('a',\n 'b')", "strip", "append"),
    ] {
        let text = format!("x = {value}\nx.$");
        assert!(has(&text, own) && !has(&text, others), "{value}: {:?}", completions(&text));
    }
    // Where it is not known, everything is possible.
    for value in ["f()", "[1][0]", "{} or []", "'a'\nx = 1", "[]\nx = {}"] {
        let text = format!("x = {value}\nx.$");
        assert!(has(&text, "append") && has(&text, "items"), "{value}: {:?}", completions(&text));
    }
    assert!(has("y['a'].$", "append") && has("y['a'].$", "items"));
}

#[test]
fn docstrings_of_functions_are_lists() {
    let lib = "def f(a, b=1):\n    \"\"\"Does it.\n\n    Args:\n      a: the first\n      b: the second\n    \"\"\"\n    pass\n";
    expect_test::expect![[r"
        ```python
        def f(a, b=1)
        ```

        Does it.

        Args:

        - `a`: the first
        - `b`: the second
    "]]
    .assert_eq(&told(&format!("{lib}f$(1)")));
    let (document, offset) = marked(&format!("{lib}f(1, $"));
    let help = signature_help(&document, here(), &library(), offset).expect("it is a call");
    assert_eq!(help.params[1], ("b=1".to_owned(), "the second".to_owned()));
}

/// What is wrong with a text: the line, the column and the words.
fn mistakes(text: &str) -> String {
    let document = Document::new(text.to_owned());
    let found = diagnose(&document, here(), &library()).into_iter().map(|it| {
        let start = it.range.start;
        format!("{}:{} {}", start.line, start.character, it.message)
    });
    found.collect::<Vec<_>>().join("\n")
}

#[test]
fn mistakes_are_found_where_they_are() {
    let check = |text: &str, found: &str| assert_eq!(mistakes(text), found, "{text}");
    check("docker_build('a', '.')\n", "");
    check(
        "x = 1\ny = qqqq\nlocal_resorce('a')\n",
        "1:4 undefined: qqqq\n2:0 undefined: local_resorce (did you mean local_resource?)",
    );
    assert!(mistakes("x = (\n").starts_with("1:"));
    check(
        "docker_build('a', '.', platfrom='x')\n",
        "0:23 docker_build: unexpected keyword argument \"platfrom\" (did you mean platform?)",
    );
    check("load('./gone', 'x')\n", "0:6 no file ./gone");
    check(
        "load('./lib.tilt', 'greeet')\n",
        "0:20 ./lib.tilt does not define \"greeet\" (did you mean greet?)",
    );
    check("def docker_build(mine):\n    pass\ndocker_build(mine=1)\n", "");
}

#[test]
fn missing_arguments_are_found() {
    let check = |text: &str, found: &str| assert_eq!(mistakes(text), found, "{text}");
    check("docker_build('a')\n", "0:0 docker_build: missing argument for context");
    check("docker_build(context='.', ref='a')\n", "");
    check("custom_build()\n", "0:0 custom_build: missing argument for ref, command, deps");
    check(
        "docker_build(*x)\ndocker_build(**y)\nx = y = 1\n".split("\nx =").next().unwrap_or(""),
        "0:14 undefined: x\n1:15 undefined: y",
    );
    check("v1alpha1.cmd(args=[])\n", "0:9 v1alpha1.cmd: missing argument for name");
    check("def f(a, b, c=1):\n    pass\nf(1)\n", "2:0 function f: missing argument for b");
    check(
        "load('./lib.tilt', g='greet')\ng(lod=True)\n",
        "1:2 function greet: unexpected keyword argument \"lod\" (did you mean loud?)\n1:0 function greet: missing argument for name",
    );
    // Where a name has several meanings, or a call takes anything, nothing is known.
    check("if True:\n    def f(a):\n        pass\nelse:\n    def f():\n        pass\nf()\n", "");
    check("def f(*a, b):\n    pass\nf()\n", "");
    check("def g(sync):\n    sync()\n", "");
}

#[test]
fn files_that_must_exist_are_looked_for() {
    let check = |text: &str, found: &str| assert_eq!(mistakes(text), found, "{text}");
    check("k8s_yaml('k8s.yml')\n", "0:10 there is no file or directory \"k8s.yml\"");
    check("k8s_yaml(['k8s.yaml', 'b.yaml'])\n", "0:23 there is no file or directory \"b.yaml\"");
    check("docker_build('a', 'contxt')\n", "0:19 there is no file or directory \"contxt\"");
    check("read_file('a')\n", "0:11 there is no file or directory \"a\"");
    for fine in [
        "read_file('a', default='')\n",
        "k8s_yaml('x' + '.yaml')\n",
        "if os.path.exists('a'):\n    read_file('a')\n",
        "x = read_file('a') if os.path.exists('a') else ''\n",
        "def f():\n    read_file('a')\n",
        "local('make a')\nread_file('a')\n",
        "kustomize('https://example.com/x')\n",
        "watch_file('a')\n",
    ] {
        check(fine, "");
    }
}

#[test]
fn resources_that_are_declared_twice_are_found() {
    let check = |text: &str, found: &str| assert_eq!(mistakes(text), found, "{text}");
    check(
        "local_resource('a', 'x')\n\nlocal_resource(cmd='y', name='a')\n",
        "2:30 resource \"a\" is already declared on line 1",
    );
    check("if True:\n    local_resource('a', 'x')\nelse:\n    local_resource('a', 'y')\n", "");
    check("k8s_resource('a')\nk8s_resource('a')\n", "");
}

fn used(text: &str) -> String {
    let (document, offset) = marked(text);
    let places = references(&document, offset);
    let shown = places.iter().map(|it| format!("{}:{}", it.start.line, it.start.character));
    shown.collect::<Vec<_>>().join(" ")
}

#[test]
fn uses_of_a_name_are_found() {
    let text = "x = 1\ndef f(x, y=x):\n    return x.x + g(x=x)\nprint(x, f(x=2))\n";
    assert_eq!(used(&text.replacen("x =", "$x =", 1)), "0:0 3:6");
    assert_eq!(used(&text.replacen("f(x", "f($x", 1)), "1:6 1:11 2:11 2:21 3:11");
    assert_eq!(used("docker_build('a', '.')\ndocker_b$uild('b', '.')\n"), "0:0 1:0");
    assert_eq!(used("x.y$\n"), "");
}

#[test]
fn names_are_changed_only_where_nothing_breaks() {
    let check = |text: &str, new: &str, wanted: Result<usize, &str>| {
        let (document, offset) = marked(text);
        let found = rename(&document, offset, new).map(|it| it.len());
        assert_eq!(found.map_err(|it| it.to_string()), wanted.map_err(str::to_owned), "{text}");
    };
    check("x$ = 1\nprint(x)\n", "y", Ok(2));
    check("x$ = 1\n", "1y", Err("\"1y\" is not a name"));
    check("x$ = 1\n", "for", Err("\"for\" is not a name"));
    check("x$ = 1\ny = 2\n", "y", Err("y is already used in this file"));
    check(
        "x$ = 1\ny = [x for x in z]\n",
        "w",
        Err("x is also a variable of a comprehension or lambda"),
    );
    check("print$(1)\n", "y", Err("only names that this file defines can be renamed"));
    check("load('a', 'x')\nx$()\n", "y", Err("only names that this file defines can be renamed"));
}

/// Files of any length take time in proportion to it: ten times the calls must not take a hundred times as long. What
/// is counted is how often other files are asked for, not time.
#[test]
fn long_files_are_read_once() {
    use std::cell::Cell;

    struct Counting(Cell<usize>, Folder);
    impl Files for Counting {
        fn module(&self, from: &Path, name: &str) -> Result<Module, NoModule> {
            self.0.set(self.0.get() + 1);
            self.1.module(from, name)
        }
        fn list(&self, dir: &Path) -> Vec<String> {
            self.1.list(dir)
        }
        fn exists(&self, path: &Path) -> bool {
            self.1.exists(path)
        }
        fn read(&self, path: &Path) -> Option<String> {
            self.1.read(path)
        }
    }

    let calls: Vec<String> =
        (0..2_000).map(|it| format!("greet('{it}')\nlocal_resource('r{it}', 'x')")).collect();
    let calls = calls.join("\n");
    let document = Document::new(format!("load('./lib.tilt', 'greet')\n{calls}"));
    let files = Counting(Cell::new(0), library());
    assert_eq!(diagnose(&document, here(), &files), []);
    assert_eq!(files.0.get(), 1);
    assert_eq!(resources(&document).len(), 2_000);
}

#[test]
fn resources_know_the_function_that_declares_them() {
    let text = "local_resource('a', 'x')\ndef f():\n    def g():\n        local_resource('b', 'x')\n    local_resource('c', 'x')\nlocal_resource('d', 'x')\n";
    let document = Document::new(text.to_owned());
    let parent = |it: &Resource| it.parent.map_or("", |at| &document.outline().symbols[at].name);
    let found = resources(&document);
    let shown: Vec<String> = found.iter().map(|it| format!("{}:{}", it.name, parent(it))).collect();
    assert_eq!(shown, ["a:", "b:g", "c:f", "d:"]);
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
            let _ = references(&document, offset);
            let _ = rename(&document, offset, "new_name");
        }
        let _ = diagnose(&document, here(), &library());
        let _ = resources(&document);
    }
}

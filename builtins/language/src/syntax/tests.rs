//! Tests of the grammar as a whole, against verdicts recorded from starlark-go.

use proptest::prelude::*;

use super::*;

/// The names the verdicts were recorded with.
const BUILTINS: &str = "None True False abs any all bool bytes chr dict dir enumerate fail float \
    getattr hasattr hash int len list max min ord print range repr reversed set sorted str tuple \
    type zip docker_build k8s_yaml local_resource struct os __file__ __name__";

fn is_builtin(name: &str) -> bool {
    BUILTINS.split(' ').any(|known| known == name)
}

fn verdict(source: &str) -> String {
    check(source, &is_builtin).err().map_or(String::new(), |error| error.to_string())
}

/// One `[source, error]` per line; the error is empty for programs that are fine.
///
/// To record another, run the program with starlark-go under Tilt's file options and the names
/// above.
pub(crate) fn recorded_verdicts() -> Vec<(String, String)> {
    let lines = include_str!("tests/verdicts.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).expect("each line is a pair of strings")).collect()
}

#[test]
fn every_recorded_program_gets_the_verdict_of_starlark_go() {
    for (source, expected) in recorded_verdicts() {
        assert_eq!(verdict(&source), expected, "{source}");
    }
}

#[test]
fn names_are_suggested_from_the_file_and_from_builtins_already_used() {
    let check = |source: &str, expected: &str| assert_eq!(verdict(source), expected, "{source}");
    check("alpha = 1\nalpah", "2:1: undefined: alpah (did you mean alpha?)");
    check("prnt(1)", "1:1: undefined: prnt");
    check("def f():\n  print(1)\n  prnt(2)", "3:3: undefined: prnt (did you mean print?)");
    check("def f():\n  return laetr\nlater = 1", "2:10: undefined: laetr (did you mean later?)");
    check("load('x', 'thing')\nthign", "2:1: undefined: thign (did you mean thing?)");
}

#[test]
fn names_know_what_they_refer_to() {
    let source = "g = len\ndef f(p):\n  def inner(): return [p, g, c]\n  c = [q for q in p]\n\
                  load('m', 'l')\nl\nzip = zip\n";
    let checked = check(source, &is_builtin).expect("the program is fine");
    assert_eq!(checked.names.globals, ["g", "f", "zip"]);
    assert_eq!(checked.names.loaded, ["l"]);
    let mut scopes = Vec::new();
    for stmt in &checked.ast.body {
        if let ast::StmtKind::Assign { target, value, .. } = checked.ast.stmt(*stmt).kind {
            scopes.push((checked.names.scope(target), checked.names.scope(value)));
        }
    }
    let global_from_builtin = (Some(Scope::Global), Some(Scope::Builtin));
    assert_eq!(scopes, [global_from_builtin, global_from_builtin]);
}

#[test]
fn bytes_that_are_not_utf8_read_as_one_replacement_each() {
    assert_eq!(decode_source(b"x = 1"), "x = 1");
    assert_eq!(decode_source(b"# \xe2\x82 \xff"), "# \u{fffd}\u{fffd} \u{fffd}");
    let verdict = verdict(&decode_source(b"x = '\xff\xfe' + y"));
    assert_eq!(verdict, "1:12: undefined: y");
}

/// Runs on a stack as large as the evaluator's.
fn on_large_stack(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(256 << 20).spawn(test);
    thread.expect("threads can be started").join().expect("the test passes");
}

#[test]
fn bombs_are_refused_and_what_is_merely_large_is_not() {
    on_large_stack(|| {
        let nested = |n: usize| format!("x = {}1{}", "[".repeat(n), "]".repeat(n));
        assert_eq!(verdict(&nested(4_999)), "");
        assert_eq!(verdict(&nested(100_000)), "1:5005: nesting is deeper than 5000 levels");
        let sum = |n: usize| format!("x = 1{}", " + 1".repeat(n));
        assert_eq!(verdict(&sum(50_000)), "");
        let message = "more than 50000 operators in one expression";
        assert_eq!(verdict(&sum(100_000)), format!("1:200007: {message}"));
        let elifs = |n: usize| format!("if 1: pass\n{}", "elif 2: pass\n".repeat(n));
        assert_eq!(verdict(&elifs(10_000)), "");
        assert_eq!(verdict(&elifs(20_000)), "10002:1: more than 10000 elif branches");
        for (start, end) in [("-", "1"), ("not ", "1"), ("1 if 1 else ", "1"), ("lambda: ", "1")] {
            let verdict = verdict(&format!("x = {}{end}", start.repeat(100_000)));
            assert!(verdict.ends_with("nesting is deeper than 5000 levels"), "{start}: {verdict}");
        }
        let suffixes = format!("x = [1]{}", "[0]".repeat(100_000));
        assert!(verdict(&suffixes).ends_with("more than 10000 suffixes in one expression"));
        assert_eq!(verdict(&"x = 1\n".repeat(200_000)), "");
    });
}

proptest! {
    #[test]
    fn no_input_makes_the_checker_panic(source in "\\PC*") {
        let _ = check(&source, &is_builtin);
    }

    #[test]
    fn no_input_of_tokens_makes_the_checker_panic(tokens in soup()) {
        let _ = check(&tokens.concat(), &is_builtin);
    }
}

/// Texts made of what programs are made of.
pub(crate) fn soup() -> impl Strategy<Value = Vec<&'static str>> {
    let tokens = vec![
        "x",
        "y",
        "len",
        "1",
        "0",
        "00",
        "1.5",
        "'s'",
        "\"",
        "'''",
        "r'\\''",
        "b'b'",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        ";",
        "=",
        "==",
        "<",
        "+",
        "-",
        "*",
        "**",
        ".",
        "+=",
        "|=",
        " if ",
        " else ",
        " for ",
        " in ",
        " not ",
        " lambda ",
        "def f(x):",
        "while x:",
        "return ",
        "load('m', 'n')",
        "break",
        "pass",
        "\n",
        "\n  ",
        "\n\t",
        "\r\n",
        "\r",
        "\t",
        "\\\n",
        "#",
        "é",
        "assert",
        "\0",
        ".pop()",
        "[0]",
        "[1:]",
        "x = ",
        "if x:",
        "\u{feff}",
    ];
    prop::collection::vec(prop::sample::select(tokens), 0..40)
}

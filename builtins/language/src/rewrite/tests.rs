//! Tests of rewriting: what the text becomes, that the crate takes it, and that places survive.

use proptest::prelude::*;
use starlark::syntax::{AstModule, Dialect, DialectTypes};
use starlark_syntax::syntax::ast::{AstExpr, AstStmt, Expr};

use super::*;
use crate::syntax::Scope;

const DIALECT: Dialect = Dialect {
    enable_keyword_only_arguments: true,
    enable_top_level_stmt: true,
    enable_load_reexport: false,
    enable_types: DialectTypes::Disable,
    enable_f_strings: false,
    enable_positional_only_arguments: false,
    ..Dialect::Standard
};

/// Everything that is not bound counts as a builtin here.
fn prepared(source: &str) -> Prepared {
    prepare(source, &|_| true).unwrap_or_else(|error| panic!("{error}:\n{source}"))
}

fn parse(prepared: &Prepared) -> AstModule {
    AstModule::parse("Tiltfile", prepared.text.clone(), &DIALECT)
        .unwrap_or_else(|error| panic!("{error}:\n{}", prepared.text))
}

fn check(source: &str, expected: &str) {
    let prepared = prepared(source);
    assert_eq!(prepared.text, expected, "{source}");
    parse(&prepared);
}

#[test]
fn plain_files_are_left_alone() {
    for source in [
        "",
        "x = 1\n",
        "def f(a, *b, c=1, **d):\n    return a + -1\n",
        "load('m', 'a', b='c')\nif f(a, b=1):\n    x.y = 2; x.z += 3\n",
        "a, (b, c.d) = [i, not i] if k else {1: lambda: 2}\r\n# end",
    ] {
        check(source, source);
    }
}

#[test]
fn subscripts_become_calls() {
    check("a[0]", "__index__(a, 0)");
    check("a[1, 2]", "__index__(a, (1, 2))");
    check("a[0][b[1]]", "__index__(__index__(a, 0), __index__(b, 1))");
    check("x = f(a)[\n  0 # c\n]\n", "x = __index__(f(a), \n  0 # c\n)\n");
    check("a[1:]", "__slice__(a, 1, None, None)");
    check("a[:-1]", "__slice__(a, None, -1, None)");
    check("a[::2][b:c]", "__slice__(__slice__(a, None, None, 2), b, c, None)");
    check("x in[1][0]", "x in __index__([1], 0)");
}

#[test]
fn methods_of_builtin_types_become_calls() {
    check("a.pop()", "__m_pop__(a)");
    check("a.b.get('x', c.d)", "__m_get__(__attr__(a, \"b\"), 'x', __attr__(c, \"d\"))");
    check("','.join(x).upper()", "__m_upper__(__m_join__(',', x))");
    check("x.format(*a, **b)", "__m_format__(x, *__starargs__(a), **__kwargs__(b))");
    check(
        "(a\n  .strip(\n  )\n  .split('x',)[0])",
        "(__index__(__m_split__(__m_strip__(a\n  ), 'x',), 0))",
    );
    check("f = x.pop", "f = __attr__(x, \"pop\")");
    check("x.read().pop2()", "__attr__(__attr__(x, \"read\")(), \"pop2\")()");
    check("a + b.pop() * c[0]", "a + __m_pop__(b) * __index__(c, 0)");
    check("(x.pop)(1)", "(__attr__(x, \"pop\"))(1)");
}

#[test]
fn assignments_to_elements_become_calls_in_the_order_of_evaluation() {
    check("a[i] = v", "__setindex__(v, a, i)");
    check("a.b[i][j] = 1, 2", "__setindex__((1, 2), __index__(__attr__(a, \"b\"), i), j)");
    check("(a[1, 2]) = v", "__setindex__(v, a, (1, 2))");
    check("a[i] += f(b[0])", "__augindex__(a, i, \"+\", f(__index__(b, 0)))");
    check("a[i] //= 2", "__augindex__(a, i, \"//\", 2)");
    check("a[i], b[1, 2].c = v", "a[i], __index__(b, (1, 2)).c = v");
    check("for a[1, 2] in x: pass", "for a[(1, 2)] in __iter__(x): pass");
    check("if x: a[i] = v; b = 1", "if x: __setindex__(v, a, i); b = 1");
}

#[test]
fn augmented_assignments_to_names_are_spelled_out() {
    check("x += y", "x = __iadd__(x, y)");
    check("x |= 1, 2", "x = __ior__(x, (1, 2))");
    check("x -= 1 if y else 2", "x = x - (1 if y else 2)");
    check("(x) <<= 2; y = 1", "x = x << (2); y = 1");
    check("x.y += 1", "x.y += 1");
}

#[test]
fn unary_operators_become_calls_except_on_numbers() {
    check("-1", "-1");
    check("-x", "__neg__(x)");
    check("+x.y(1)", "__pos__(__attr__(x, \"y\")(1))");
    check("~-x", "__inv__(__neg__(x))");
    check("not-x", "not __neg__(x)");
    check("not x", "not x");
    check("-'a'", "__neg__('a')");
}

#[test]
fn while_becomes_an_endless_for() {
    check(
        "while y < 3:\n    x += 1\n",
        "for __while__ in __forever__:\n    if not (y < 3): break\n    x = __iadd__(x, 1)\n",
    );
    check("while a: b; c\nd", "for __while__ in __forever__:\n if not (a): break\n b; c\nd");
    check(
        "def f():\n  while (a and\n   b): # c\n\n     # d\n    return\n",
        "def f():\n  for __while__ in __forever__: # c\n\n     # d\n    if not ((a and\n   b)): break\n    return\n",
    );
    check(
        "if a:\n\twhile b[0]:\n\t\twhile c: break\n",
        "if a:\n        for __while__ in __forever__:\n               if not (__index__(b, 0)): break\n               for __while__ in __forever__:\n                if not (c): break\n                break\n",
    );
    check(
        "if 1:\n    while a:\n      # odd \\\n        b\n",
        "if 1:\n    for __while__ in __forever__:\n      # odd \\\n        if not (a): break\n        b\n",
    );
    check(
        "while a \\\n  :\n  \\\n  b\n",
        "for __while__ in __forever__:\n  \\\n  if not (a): break\n  b\n",
    );
}

#[test]
fn tuples_without_parentheses_get_them_where_the_crate_wants_them() {
    check("1, 2", "(1, 2)");
    check("for x in 1, 2: pass", "for x in __iter__((1, 2)): pass");
    check("x = 1, 2", "x = 1, 2");
    check("[x for x in y if lambda: x]", "[x for x in __iter__(y) if (lambda: x)]");
}

#[test]
fn blanks_and_literals_are_written_as_the_crate_reads_them() {
    check("x\t=\t1", "x = 1");
    check("x = 1\ry = 2\r", "x = 1\ny = 2\n");
    check("f(\t1, # \tc\n\t2)", "f( 1, # \tc\n        2)");
    check("x = '\t'", "x = '\t'");
    check("x = 00", "x = 0");
    check(r#"r"a\"b""#, r#""a\\\"b""#);
    check("'''a\rb\r\nc'''", "\"a\\nb\\nc\"");
    check("x = 1, b'\\377é'", "x = 1, __b__((b\"\\xff\\xc3\\xa9\"))");
    check("x = 1\0 garbage )", "x = 1");
}

#[test]
fn names_the_crate_cannot_read_are_mangled() {
    check("assert = 1", "__id_assert__ = 1");
    check("f(assert=é.assert)", "f(__id_assert__=__attr__(__id__xe9___, \"assert\"))");
    check("def é(assert): pass", "def __id__xe9___(__id_assert__): pass");
    check("load('m', 'assert')", "load('m', __id_assert__ = \"__id_assert__\")");
    check("load('m', x='assert')", "load('m', x=\"__id_assert__\")");
}

#[test]
fn builtins_used_before_the_file_binds_their_name_are_kept_apart() {
    check(
        "p = print\ndef print(x): p(x)\nprint(1)",
        "p = __builtin_print__\ndef print(x): p(x)\nprint(1)",
    );
    check("def f(): return len\nlen = 1", "def f(): return len\nlen = 1");
    let prepared = prepared("len(len)\nlen = zip\nzip, a = zip, 1\nload('m', 'str')\nstr");
    assert_eq!(prepared.info.early_builtins, ["len", "zip"]);
    assert_eq!(prepared.info.globals, ["len", "zip", "a"]);
    assert_eq!(prepared.info.loaded, ["str"]);
}

/// The place reported for the first expression of the crate's text that starts with `head`.
fn place(source: &str, head: &str) -> (u32, u32) {
    let prepared = prepared(source);
    let mut found = None;
    each_expr(&parse(&prepared), &mut |expr| {
        let (begin, end) = (expr.span.begin().get(), expr.span.end().get());
        let text = &prepared.text[begin as usize..end as usize];
        if found.is_none() && text.starts_with(head) {
            found = Some(prepared.position(begin, end));
        }
    });
    found.unwrap_or_else(|| panic!("no {head} in {}", prepared.text))
}

#[test]
fn errors_are_reported_where_starlark_go_reports_them() {
    assert_eq!(place("x = foo(1)", "foo(1)"), (1, 8));
    assert_eq!(place("x = (foo\n  .bar\n  (1))", "__attr__(foo, \"bar\")\n  (1)"), (3, 3));
    assert_eq!(place("x = (a +\n  b\n  + c)", "a +\n  b\n  + c"), (3, 3));
    assert_eq!(place("x = (a)[\n 0]", "__index__"), (1, 8));
    assert_eq!(place("x = (a\n  .b[0].pop(\n  1))", "__m_pop__"), (2, 12));
    assert_eq!(place("a[0]\\\n[1] = 3", "__setindex__"), (2, 1));
    assert_eq!(place("x = 'é' + -y", "__neg__"), (1, 11));
    assert_eq!(place("x = y.z", "__attr__"), (1, 6));
    assert_eq!(place("if 1:\n\tx -= y", "x - ("), (2, 4));
}

#[test]
fn loops_and_unpacking_have_places_of_their_own() {
    let prepared = prepared("for a, b in \\\n  c: pass\nx, y = z");
    let at = |text: &str| {
        let begin = prepared.text.find(text).expect("the text is there");
        (u32::try_from(begin).expect("small"), u32::try_from(begin + text.len()).expect("small"))
    };
    let place = |text: &str, kind: SiteKind| {
        let (begin, end) = at(text);
        prepared.position_of(begin, end, kind)
    };
    assert_eq!(place("__iter__(c)", SiteKind::Iterate), (1, 1));
    assert_eq!(place("a, b", SiteKind::Assign), (1, 1));
    assert_eq!(place("x, y", SiteKind::Assign), (3, 6));
    assert_eq!(place("z", SiteKind::Assign), (3, 8));
}

#[test]
fn calls_and_functions_are_described() {
    let source = "def f(a, b=1, *, c, d=2, **e):\n  return a\nx.pop(1, *y, **z)\nf(1, b=2)";
    let prepared = prepared(source);
    let begin = prepared.text.find("__m_pop__").expect("the call is there");
    let end = begin + "__m_pop__(x, 1, *__starargs__(y), **__kwargs__(z))".len();
    let offset = |value: usize| u32::try_from(value).expect("small");
    let call = prepared.info.call(offset(begin), offset(end)).expect("the call is known");
    assert_eq!(&source[call.callee.start as usize..call.callee.end as usize], "x.pop");
    assert_eq!((call.positional, call.star_args, call.star_star_args), (1, true, true));
    let f = prepared.info.defs.first().expect("the function is known");
    let kinds: Vec<_> = f.params.iter().map(|param| (param.name.as_str(), param.kind)).collect();
    assert_eq!(
        kinds,
        [
            ("a", ParamKind::Required),
            ("b", ParamKind::Optional),
            ("", ParamKind::BareStar),
            ("c", ParamKind::KeywordOnlyRequired),
            ("d", ParamKind::KeywordOnlyOptional),
            ("e", ParamKind::StarStarArgs),
        ]
    );
    let a = offset(prepared.text.find("a\n").expect("the name is there"));
    assert_eq!(prepared.info.scope_at(a), Some(Scope::Local));
}

/// The crate's spans and ours agree: each operation it can fail at is a known site.
fn check_sites(prepared: &Prepared) {
    each_expr(&parse(prepared), &mut |expr| {
        let (begin, end) = (expr.span.begin().get(), expr.span.end().get());
        let text = &prepared.text[begin as usize..end as usize];
        let kind = match &expr.node {
            Expr::Call(callee, _) => match &callee.node {
                Expr::Identifier(name) if name.node.ident.starts_with("__") => return,
                _ => SiteKind::Call,
            },
            Expr::Op(_, op, _) => match op.to_string().trim() {
                "and" | "or" => return,
                _ => SiteKind::Binary,
            },
            Expr::Dot(..) => SiteKind::Dot,
            Expr::Index(..) | Expr::Slice(..) => panic!("{text} is not rewritten"),
            _ => return,
        };
        let known = prepared.info.go_offset(begin, end, kind);
        assert!(known.is_some(), "{kind:?} of {text:?} in {}", prepared.text);
    });
}

fn each_expr(ast: &AstModule, visit: &mut dyn FnMut(&AstExpr)) {
    fn inner(expr: &AstExpr, visit: &mut dyn FnMut(&AstExpr)) {
        visit(expr);
        expr.node.visit_expr(|child| inner(child, visit));
    }
    let stmt: &AstStmt = ast.statement();
    stmt.visit_expr(|expr| inner(expr, visit));
}

#[test]
fn the_crate_takes_every_program_that_starlark_go_takes() {
    for (source, error) in crate::syntax::tests::recorded_verdicts() {
        if error.is_empty() {
            let prepared = prepared(&source);
            check_sites(&prepared);
        }
    }
}

proptest! {
    #[test]
    fn whatever_passes_the_checker_passes_the_crate(tokens in crate::syntax::tests::soup()) {
        if let Ok(prepared) = prepare(&tokens.concat(), &|_| true) {
            parse(&prepared);
            for out in 0..=prepared.text.len() {
                let source = prepared.map.to_source(u32::try_from(out).expect("small"));
                prop_assert!(source as usize <= prepared.map.source().len());
            }
        }
    }
}

//! Programs, and what the reference interpreter prints for them, traceback included.
//!
//! The files in `tests/` hold cases `program`, `>>>>>`, `output`, `=====`; a line `##### name`
//! begins a further file of a program. The outputs were recorded from the reference.

use std::{cell::RefCell, collections::HashMap, rc::Rc};

use starlark::values::Value;

use super::*;

struct TestEmbedder {
    files: HashMap<String, String>,
    loaded: RefCell<HashMap<String, Rc<Loaded>>>,
    output: Rc<RefCell<String>>,
}

impl Embedder for TestEmbedder {
    fn load(&self, interpreter: &Interpreter, path: &str) -> Result<Rc<Loaded>, EvalError> {
        if let Some(loaded) = self.loaded.borrow().get(path) {
            return Ok(Rc::clone(loaded));
        }
        let source = self.files.get(path).ok_or_else(|| EvalError::new("no such file"))?;
        let loaded = Rc::new(interpreter.exec(path, source, &[("__file__", path)])?);
        self.loaded.borrow_mut().insert(path.to_owned(), Rc::clone(&loaded));
        Ok(loaded)
    }

    fn print(&self, text: &str) {
        self.output.borrow_mut().push_str(text);
        self.output.borrow_mut().push('\n');
    }
}

fn run(program: &str) -> String {
    let mut files = HashMap::new();
    let mut parts = program.split("##### ");
    files.insert("Tiltfile".to_owned(), parts.next().unwrap_or_default().to_owned());
    for part in parts {
        let (name, text) = part.split_once('\n').unwrap_or((part, ""));
        files.insert(name.to_owned(), text.to_owned());
    }
    let output = Rc::new(RefCell::new(String::new()));
    let test_embedder =
        TestEmbedder { files, loaded: RefCell::default(), output: Rc::clone(&output) };
    let mut globals = globals();
    globals.function("include", |eval, args| {
        let path: &str = args.only(eval, "path")?;
        let embedder = embedder::<TestEmbedder>(eval)?;
        embedder.load(interpreter(eval)?, path).map_err(|error| {
            let message = error.message.clone();
            error.into_raised(message)
        })?;
        Ok(Value::new_none())
    });
    let interpreter = Interpreter::new(globals.build(), Box::new(test_embedder), Limits::default());
    let result = interpreter.embedder.load(&interpreter, "Tiltfile");
    if let Err(error) = result {
        output.borrow_mut().push_str(&error.to_string());
    }
    output.take()
}

/// Runs on a large stack, as every evaluation should.
fn run_apart(program: &str) -> String {
    on_large_stack(10_000, || run(program)).expect("a thread")
}

fn check_all(cases: &str) {
    let mut failures = Vec::new();
    let mut count = 0;
    for case in cases.split("\n=====\n").filter(|case| !case.trim().is_empty()) {
        let case = format!("{}\n", case.trim_end_matches('\n'));
        let (program, expected) = case.split_once(">>>>>\n").expect("a program and its output");
        let actual = run_apart(program);
        count += 1;
        if actual.trim_end_matches('\n') != expected.trim_end_matches('\n') {
            failures.push(format!("{program}--- expected\n{expected}--- actual\n{actual}"));
        }
    }
    let failed = failures.len();
    assert!(failures.is_empty(), "{failed} of {count} differ\n\n{}", failures.join("\n=======\n"));
}

#[test]
fn the_language_behaves_like_the_reference() {
    check_all(include_str!("tests/language.txt"));
}

#[test]
fn operators_builtins_and_errors_behave_like_the_reference() {
    check_all(include_str!("tests/more.txt"));
}

/// An embedder that loads nothing and may be told to stop.
struct Lonely {
    stop: bool,
}

impl Embedder for Lonely {
    fn load(&self, _: &Interpreter, path: &str) -> Result<Rc<Loaded>, EvalError> {
        Err(EvalError::new(format!("no {path}")))
    }

    fn print(&self, _: &str) {}

    fn is_canceled(&self) -> bool {
        self.stop
    }
}

fn lonely(stop: bool, add: impl FnOnce(&mut GlobalsBuilder)) -> Interpreter {
    let mut globals = globals();
    add(&mut globals);
    let limits = Limits { call_depth: 200, memory_bytes: None };
    Interpreter::new(globals.build(), Box::new(Lonely { stop }), limits)
}

#[test]
fn builtins_bind_arguments_and_carry_payloads() {
    let interpreter = lonely(false, |globals| {
        globals.module(
            "config",
            &[("parse", |eval, args| {
                let (mut name, mut size) = (String::new(), None::<i64>);
                args.unpack(eval, &mut [("name", &mut name), ("size??", &mut size)])?;
                Err(raise_with_payload(format!("{name} stops"), 42_u8))
            })],
        );
    });
    for (call, expected) in [
        ("config.parse()", "Error in config.parse: config.parse: missing argument for name"),
        (
            "config.parse(1)",
            "Error in config.parse: config.parse: for parameter name: got int, want string",
        ),
        (
            "config.parse('a', size='b')",
            "Error in config.parse: config.parse: for parameter \"size\": got string, want int",
        ),
        (
            "config.parse('a', 1, 2)",
            "Error in config.parse: config.parse: got 3 arguments, want at most 2",
        ),
        (
            "config.parse('a', name='b')",
            "Error in config.parse: config.parse: got multiple values for keyword argument \"name\"",
        ),
        (
            "config.parse(nam='b')",
            "Error in config.parse: config.parse: unexpected keyword argument \"nam\" (did you mean name?)",
        ),
        ("config.parse('a', size=None)", "Error in config.parse: a stops"),
        ("config.pars('a')", "Error: module has no .pars field or method (did you mean .parse?)"),
    ] {
        let error = interpreter.exec("T", call, &[]).expect_err(call);
        assert_eq!(error.to_string().lines().last(), Some(expected));
        assert_eq!(error.payload::<u8>().is_some(), expected.ends_with("stops"));
    }
}

#[test]
fn functions_can_be_called_after_their_file_has_run() {
    let interpreter = lonely(false, |_| ());
    let source = "_n = [1]\ndef f(x):\n    return x + len(_n)\ndef g():\n    _n.append(1)\n";
    let file = interpreter.exec("T", source, &[("__name__", "T")]).expect("a file");
    assert_eq!(file.names(), ["_n", "f", "g"]);
    let call_named = |name: &str, arguments: &[i32]| {
        let function = file.get(name).expect("a function");
        interpreter.with_evaluator(|eval| {
            let function = eval.heap().access_owned_frozen_value(&function);
            let arguments: Vec<_> = arguments.iter().map(|i| eval.heap().alloc(*i)).collect();
            Ok(repr(call(eval, function, &arguments, &[])?))
        })
    };
    assert_eq!(call_named("f", &[4]).expect("a value"), "5");
    let frozen = call_named("g", &[]).expect_err("the list is frozen").to_string();
    assert!(frozen.ends_with("Error in append: append: cannot append to frozen list"), "{frozen}");
    let missing = call_named("f", &[]).expect_err("an argument is missing").to_string();
    assert!(missing.ends_with("Error: function f missing 1 argument (x)"), "{missing}");
}

#[test]
fn endless_programs_can_be_stopped() {
    let error = lonely(true, |_| ()).exec("T", "while True: pass", &[]).expect_err("it stops");
    assert!(error.canceled, "{error}");
    let source = "def f(): f()\nf()";
    let error = lonely(false, |_| ()).exec("T", source, &[]).expect_err("it is too deep");
    assert!(error.to_string().contains("calls nest too deeply"), "{error}");
}

//! Every English phrase of the starlark crate that this package looks for in its messages, in one place. The crate has no
//! types for these errors, so an upgrade may change them: it is pinned exactly, and the tests below provoke each phrase.

/// An evaluation that was stopped from outside: the whole message.
pub(crate) const CANCELED: &str = "Evaluation cancelled";

/// Calls that nest too deeply: the whole message.
pub(crate) const CALL_STACK_OVERFLOW: &str = "Starlark call stack overflow";

/// The name of the frame between a builtin and the function that it calls back.
pub(crate) const CALLBACK_FRAME: &str = "None";

/// Begins: a name follows that two arguments have.
pub(crate) const REPEATED_ARGUMENT: &str = "Argument `";

/// Begins: what kind of parameter got no argument, then its name in back quotes.
pub(crate) const MISSING: &str = "Missing ";

/// Begins: a number and [`EXTRA_POSITIONAL`], or names in back quotes and [`EXTRA_NAMED`].
pub(crate) const FOUND: &str = "Found ";

/// Follows the number of positional arguments that fit no parameter.
pub(crate) const EXTRA_POSITIONAL: &str = " extra positional";

/// Follows the names of arguments that fit no parameter.
pub(crate) const EXTRA_NAMED: &str = " extra named ";

/// Begins: a list or dict is changed while a loop runs over it.
pub(crate) const MUTATES_WHILE_ITERATING: &str = "This operation mutates";

/// Begins: the name of a variable follows that has no value yet.
pub(crate) const UNASSIGNED_VARIABLE: &str = "Local variable `";

/// Begins: a type and an attribute follow that it does not have.
pub(crate) const NO_ATTRIBUTE: &str = "Object of type `";

/// Begins: how many values were unpacked.
pub(crate) const UNPACKED: &str = "Unpacked ";

/// Stands between the number of values and the number of targets.
pub(crate) const BUT_EXPECTED: &str = " values but expected ";

/// Begins: a key follows that a dict literal has twice.
pub(crate) const REPEATED_KEY: &str = "Dictionary key repeated for `";

/// Begins: a type follows, then [`NOT_HASHABLE`].
pub(crate) const VALUE_OF_TYPE: &str = "Value of type `";

/// Ends: values of the type cannot be keys.
pub(crate) const NOT_HASHABLE: &str = "not hashable";

/// Begins: a name follows that a loaded module does not define.
pub(crate) const NO_SYMBOL: &str = "Module has no symbol `";

/// Within: the loaded module keeps the name for itself.
pub(crate) const NOT_EXPORTED: &str = "is not exported";

/// Begins: an operation follows, and the type that does not have it.
pub(crate) const OPERATION: &str = "Operation `";

/// The operation of iterating.
pub(crate) const ITERATE: &str = "(iter)";

/// The operation of asking for a length.
pub(crate) const LENGTH: &str = "len()";

/// The operation of calling.
pub(crate) const CALL: &str = "call()";

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use starlark::{
        environment::{FrozenModule, GlobalsBuilder, Module},
        eval::{Evaluator, ReturnFileLoader},
        syntax::{AstModule, Dialect},
    };

    use super::*;
    use crate::{error::message_of, native::Helper};

    /// The error that the crate itself raises for a program.
    fn error_of(program: &str) -> starlark::Error {
        let dialect = Dialect {
            enable_top_level_stmt: true,
            enable_load_reexport: false,
            ..Dialect::Extended
        };
        let module = |name: &str, text: &str| {
            AstModule::parse(name, text.to_owned(), &dialect).expect("it parses")
        };
        let mut globals = GlobalsBuilder::standard();
        globals.set(
            "call_back",
            Helper::new("call_back", |eval, args| {
                let [function] = args.positional(eval.heap())?;
                eval.eval_function(function, &[], &[])
            }),
        );
        let globals = globals.build();
        let run = |name: &'static str, text: &str, loaded: &HashMap<&str, &FrozenModule>| {
            Module::with_temp_heap(|m| {
                let loader = ReturnFileLoader { modules: loaded };
                let mut eval = Evaluator::new(&m);
                eval.set_loader(&loader);
                eval.eval_module(module(name, text), &globals).expect("it runs");
                drop(eval);
                m.freeze().expect("it freezes")
            })
        };
        let base = run("base", "hidden = 1", &HashMap::new());
        let lib = run("lib", "load('base', 'hidden')", &HashMap::from([("base", &base)]));
        let modules = HashMap::from([("lib", &lib)]);
        let loader = ReturnFileLoader { modules: &modules };
        Module::with_temp_heap(|m| {
            let mut eval = Evaluator::new(&m);
            eval.set_loader(&loader);
            eval.set_max_callstack_size(20).expect("it is set once");
            if program == "stopped" {
                eval.set_check_cancelled(Box::new(|| true));
                let endless = "def f():\n  for i in range(1000000): pass\nf()";
                return eval.eval_module(module("main", endless), &globals).map(drop);
            }
            eval.eval_module(module("main", program), &globals).map(drop)
        })
        .expect_err("it fails")
    }

    fn check(program: &str, fits: impl Fn(&str) -> bool) {
        let message = message_of(&error_of(program));
        assert!(fits(&message), "{program}: {message}");
    }

    fn operation(name: &str) -> impl Fn(&str) -> bool {
        move |message| message.starts_with(&format!("{OPERATION}{name}` not supported"))
    }

    #[test]
    fn evaluations_that_are_stopped() {
        check("stopped", |it| it == CANCELED);
        check("def f(): f()\nf()", |it| it == CALL_STACK_OVERFLOW);
    }

    #[test]
    fn callbacks_have_a_frame_of_their_own() {
        let error = error_of("def f(): fail()\ncall_back(f)");
        let names: Vec<&str> =
            error.call_stack().frames.iter().map(|frame| frame.name.as_str()).collect();
        assert_eq!(names, ["call_back", CALLBACK_FRAME, "f", "fail"]);
    }

    #[test]
    fn arguments_that_do_not_fit() {
        let f = "def f(a = 1): pass\n";
        let repeated = format!("{REPEATED_ARGUMENT}a`");
        check(&format!("{f}f(a = 1, **{{'a': 2}})"), |it| it.starts_with(&repeated));
        check("def f(a): pass\nf()", |it| it.starts_with(MISSING) && it.contains("`a`"));
        check("def f(*, a): pass\nf()", |it| it.starts_with(MISSING) && it.contains("`a`"));
        let positional = format!("{FOUND}2{EXTRA_POSITIONAL}");
        check(&format!("{f}f(1, 2, 3)"), |it| it.starts_with(&positional));
        let named = format!("{FOUND}`b` `c`{EXTRA_NAMED}");
        check(&format!("{f}f(**{{'b': 1, 'c': 2}})"), |it| it.starts_with(&named));
    }

    #[test]
    fn values_that_are_used_wrongly() {
        let changing = "x = [1]\ndef f():\n  for i in x: x.append(i)\nf()";
        check(changing, |it| it.starts_with(MUTATES_WHILE_ITERATING));
        let unassigned = format!("{UNASSIGNED_VARIABLE}x`");
        check("def f():\n  if False: x = 1\n  return x\nf()", |it| it.starts_with(&unassigned));
        check("if False: x = 1\nx", |it| it.starts_with(&unassigned));
        let no_attribute = format!("{NO_ATTRIBUTE}list` has no attribute `x`");
        check("[].x", |it| it.starts_with(&no_attribute));
        let unpacked = format!("{UNPACKED}3{BUT_EXPECTED}2");
        check("a, b = [1, 2, 3]", |it| it == unpacked);
        let repeated = format!("{REPEATED_KEY}1`");
        check("x = 1\ny = {x: 2, 1: 3}", |it| it == repeated);
        let not_hashable = format!("{VALUE_OF_TYPE}list` is {NOT_HASHABLE}");
        check("x = {[]: 1}", |it| it == not_hashable);
    }

    #[test]
    fn names_that_a_module_does_not_give() {
        let no_symbol = format!("{NO_SYMBOL}x`");
        check("load('lib', 'x')", |it| it.starts_with(&no_symbol));
        check("load('lib', 'hidden')", |it| it.contains(NOT_EXPORTED));
    }

    #[test]
    fn operations_that_a_type_does_not_have() {
        check("a, b = 1", |it| operation(ITERATE)(it) || operation(LENGTH)(it));
        check("for i in 1: pass", operation(ITERATE));
        check("len(1)", operation(LENGTH));
        check("1()", operation(CALL));
        check("x = []\nx.y = 1", operation(".y="));
    }
}

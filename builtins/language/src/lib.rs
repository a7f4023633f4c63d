//! Tilt's Starlark on the Rust `starlark` crate: its grammar, its meaning and its words. Nothing here knows Tilt.
//!
//! This is the only package that names the crate. The crate parses and executes; everything in which its
//! language differs from the reference interpreter is decided here. A file goes through three hands:
//!
//! 1. [`rewrite`] checks it against the reference's grammar ([`syntax`]) and writes the constructs that the
//!    crate reads differently as calls of helpers, keeping track of positions.
//! 2. [`Interpreter::exec`] runs the result, with binary operators routed to helpers as well. The
//!    helpers and the functions of the language are in [`globals`].
//! 3. An error is put into the reference's words, with the reference's traceback: [`EvalError`].
//!
//! An API adds its builtins with [`BuiltinsExt`]; each is a [`NativeFn`] that binds its arguments
//! with [`Args::unpack`] and finds the state of the evaluation with [`embedder`]. Its types implement
//! [`ApiValue`].

#![allow(
    unsafe_code,
    reason = "the crate's derives expand to unsafe impls and its iteration methods are declared \
              unsafe; api_value.rs has the only unsafe impl of ours"
)]
#![allow(
    clippy::needless_pass_by_value,
    reason = "every builtin and method has the same signature, in which it owns its arguments"
)]

#[macro_use]
pub mod api_value;
pub mod args;
mod attrs;
mod bound_native;
mod call;
mod compare;
mod constructed_dict;
mod crate_words;
mod elems;
mod error;
mod exec;
mod format;
mod index;
mod loops;
mod memory;
mod methods;
mod native;
mod number;
mod ops;
mod range;
pub mod rewrite;
mod set;
pub mod source_map;
mod stack;
mod structs;
pub mod syntax;
mod translate;
mod universe;
mod value;

// What an API needs of the crate, and no more.
pub use api_value::{ApiMapping, ApiValue, own_go_type};
pub use args::{Args, FromArg, Mismatch};
pub use bound_native::{BoundNative, MethodFn};
pub use call::call;
pub use constructed_dict::ConstructedDict;
pub use error::{
    Complaint, EvalError, Frame, Mistake, NativeError, Site, message_of, payload_of, raise,
    raise_at, raise_with_payload,
};
pub use exec::{
    Embedder, Interpreter, Limits, Loaded, call_position, call_stack, definition, embedder,
    interpreter,
};
pub use methods::method_names;
pub use native::{BuiltinsExt, FrozenModuleValue, ModuleValue, Native, NativeFn, Outcome, native};
use native::{Helper, HelperFn, MethodCall};
pub use number::Int;
pub use stack::on_large_stack;
pub use starlark::{
    Error as RaisedError, Result as EvalResult,
    collections::StarlarkHasher as ValueHasher,
    environment::{Globals, GlobalsBuilder},
    eval::Evaluator,
    values::{
        FrozenValue, Heap, OwnedFrozenValue, Value, ValueLike,
        dict::{AllocDict, DictRef},
        float::StarlarkFloat,
        list::{AllocList, ListRef},
        tuple::{AllocTuple, TupleRef},
    },
};
pub use structs::{Struct, StructRef};
pub use universe::print_text;
pub use value::{
    callable_name, decode_utf8, elements, is_callable, n_params, repr, to_str, type_name,
};

/// What the macros of this package expand to.
#[doc(hidden)]
pub mod macro_refs {
    pub use allocative;
    pub use serde;
    pub use starlark;

    pub use super::api_value::{provide, provide_mapping};
}

/// Everything the language itself defines; an API adds its builtins.
pub fn globals() -> GlobalsBuilder {
    let mut globals = GlobalsBuilder::new();
    globals.set("None", starlark::values::none::NoneType);
    globals.set("True", true);
    globals.set("False", false);
    universe::register(&mut globals);
    for (name, helper) in helpers() {
        globals.set(name, Helper::new(name, helper));
    }
    for name in methods::all_names() {
        globals.set(&format!("__m_{name}__"), MethodCall::new(name));
    }
    globals.set("__forever__", range::Forever);
    globals
}

fn helpers() -> impl Iterator<Item = (&'static str, HelperFn)> {
    let binary = ops::BINARY.iter().map(|(_, name, helper)| (*name, *helper));
    let others = [ops::OTHERS, index::HELPERS, call::HELPERS, loops::HELPERS];
    binary.chain(others.into_iter().flatten().copied())
}

/// Whether only rewritten text uses the name.
fn is_helper(name: &str) -> bool {
    name.starts_with("__")
        && (name == "__forever__"
            || name.starts_with("__m_")
            || name.starts_with("__builtin_")
            || helpers().any(|(helper, _)| helper == name))
}

#[cfg(test)]
mod tests;

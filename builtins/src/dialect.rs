//! Decides how Tilt's Starlark runs on the Rust `starlark` crate.
//!
//! The crate parses and executes; everything in which its language differs from the reference
//! interpreter is decided here. A file goes through three hands:
//!
//! 1. [`rewrite`] checks it against the reference's grammar and writes the constructs that the
//!    crate reads differently as calls of helpers, keeping track of positions.
//! 2. [`Session::exec`] runs the result, with binary operators routed to helpers as well. The
//!    helpers and the functions of the language are in [`globals`].
//! 3. An error is put into the reference's words, with the reference's traceback: [`EvalError`].
//!
//! An API adds its builtins with [`BuiltinsExt`]; each is a [`NativeFn`] that binds its arguments
//! with [`Args::unpack`] and finds the state of the evaluation with [`host`].

#![allow(
    unsafe_code,
    reason = "the crate's derives expand to unsafe impls and its iteration methods are declared \
              unsafe; no unsafe block is written here"
)]
#![allow(
    clippy::needless_pass_by_value,
    reason = "every builtin and method has the same signature, in which it owns its arguments"
)]

use starlark::environment::GlobalsBuilder;

pub mod args;
pub(crate) mod attrs;
mod call;
mod compare;
mod elems;
pub(crate) mod error;
mod exec;
mod format;
pub(crate) mod index;
mod loops;
pub(crate) mod memory;
mod methods;
pub(crate) mod native;
pub(crate) mod number;
mod ops;
mod range;
pub mod rewrite;
mod set;
pub mod source_map;
mod stack;
pub(crate) mod structs;
mod translate;
mod universe;
pub(crate) mod value;

pub use args::Args;
pub use call::call;
pub use error::EvalError;
pub use error::Frame;
pub use error::NativeError;
pub use error::Site;
pub use error::message_of;
pub use error::payload_of;
pub use error::raise;
pub use error::raise_at;
pub use error::raise_with_payload;
pub use exec::Host;
pub use exec::Limits;
pub use exec::Loaded;
pub use exec::Session;
pub use exec::call_position;
pub use exec::call_stack;
pub use exec::definition;
pub use exec::host;
pub use exec::session;
pub use methods::method_names;
pub use native::BuiltinsExt;
pub use native::FrozenModuleValue;
pub use native::ModuleValue;
pub use native::Native;
pub use native::NativeFn;
pub use native::native;
pub use stack::on_large_stack;
pub use structs::Struct;
pub use structs::StructRef;
pub use universe::print_text;
pub use value::callable_name;
pub use value::is_callable;
pub use value::quote;
pub use value::repr;
pub use value::to_str;
pub use value::type_name;

use native::Helper;
use native::HelperFn;
use native::MethodCall;

/// Everything the language itself defines; an API adds its builtins.
#[must_use]
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

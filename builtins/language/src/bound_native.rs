//! Decides what a method of an API's value is: a Rust function bound to the text its receiver consists of.

use std::fmt;

use allocative::Allocative;
use starlark::{
    any::ProvidesStaticType,
    eval::{Arguments, Evaluator},
    starlark_simple_value,
    values::{NoSerialize, StarlarkPagablePanic, StarlarkValue, Value, ValueLike, starlark_value},
};

use super::args::Args;

/// The Rust side of a method.
pub type MethodFn =
    for<'v> fn(&mut Evaluator<'v, '_, '_>, &str, &Args<'v>) -> starlark::Result<Value<'v>>;

/// A method with its receiver.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub struct BoundNative {
    name: &'static str,
    /// The type of the receiver; without one it prints as a function.
    of: Option<&'static str>,
    receiver: String,
    #[allocative(skip)]
    function: MethodFn,
}

starlark_simple_value!(BoundNative);

impl BoundNative {
    /// A method of a receiver.
    pub fn new(name: &'static str, receiver: &str, function: MethodFn) -> Self {
        Self { name, of: None, receiver: receiver.to_owned(), function }
    }

    /// The same, which prints as a method of a type.
    #[must_use]
    pub fn of(self, type_name: &'static str) -> Self {
        Self { of: Some(type_name), ..self }
    }
}

impl fmt::Display for BoundNative {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.of {
            Some(receiver) => write!(f, "<built-in method {} of {receiver} value>", self.name),
            None => write!(f, "<built-in function {}>", self.name),
        }
    }
}

#[starlark_value(type = "builtin_function_or_method")]
impl<'v> StarlarkValue<'v> for BoundNative {
    fn invoke(
        &self,
        me: Value<'v>,
        args: &Arguments<'v, '_>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let name = me.downcast_ref::<Self>().map_or("", |it| it.name);
        let args = Args::new(name, args, eval.heap())?;
        (self.function)(eval, &self.receiver, &args)
    }
}

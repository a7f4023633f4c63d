//! Decides how the arguments of a builtin are bound to its parameters, and what is said when
//! they do not fit.
//!
//! ```text
//! fn local_resource<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
//!     let (mut name, mut deps) = (String::new(), None::<Value>);
//!     args.unpack(eval, &mut [("name", &mut name), ("deps?", &mut deps)])?;
//! ```

use std::borrow::Cow;

use engine_formats::golang::{
    quote::quote,
    spell::{nearest, similar},
};
use starlark::{
    eval::{Arguments, Evaluator},
    values::{
        Heap, StringValue, Value, ValueLike, dict::DictRef, float::StarlarkFloat, list::ListRef,
    },
};

use super::{
    crate_words::REPEATED_ARGUMENT,
    error::{Complaint, Mistake, Site, raise},
    number::Int,
    rewrite::unmangle,
    value,
    value::type_name,
};

/// The arguments of one call.
pub struct Args<'v> {
    /// The full name of the builtin, which error messages begin with.
    pub function: &'v str,
    /// Positional arguments, `*args` included.
    pub positional: Vec<Value<'v>>,
    /// Named arguments in call order, `**kwargs` included; a name may occur twice.
    pub named: Vec<(&'v str, Value<'v>)>,
}

/// Why an argument does not fit its parameter, such as `got int, want string`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Mismatch(pub String);

impl From<String> for Mismatch {
    fn from(message: String) -> Self {
        Self(message)
    }
}

impl From<Mismatch> for String {
    fn from(why: Mismatch) -> Self {
        why.0
    }
}

impl From<&str> for Mismatch {
    fn from(message: &str) -> Self {
        Self(message.to_owned())
    }
}

/// A type that an argument can be converted to.
pub trait FromArg<'v>: Sized {
    /// Converts the argument.
    fn from_arg(value: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch>;
}

/// A variable that receives an argument; it keeps its value if the argument is not given.
pub trait Param<'v> {
    /// Stores the argument.
    fn receive(
        &mut self,
        value: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> Result<(), Mismatch>;
}

impl<'v, T: FromArg<'v>> Param<'v> for T {
    fn receive(
        &mut self,
        value: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> Result<(), Mismatch> {
        *self = T::from_arg(value, eval)?;
        Ok(())
    }
}

/// A parameter with a conversion of its own.
pub struct With<F>(pub F);

impl<'v, F> Param<'v> for With<F>
where
    F: FnMut(Value<'v>, &mut Evaluator<'v, '_, '_>) -> Result<(), Mismatch>,
{
    fn receive(
        &mut self,
        value: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> Result<(), Mismatch> {
        (self.0)(value, eval)
    }
}

impl<'v> Args<'v> {
    pub(crate) fn new(
        function: &'v str,
        args: &Arguments<'v, '_>,
        heap: Heap<'v>,
    ) -> starlark::Result<Self> {
        let positional = args.positions(heap)?.collect();
        Ok(Self { function, positional, named: names(function, args, heap)? })
    }

    /// The arguments of a rewritten method call, whose first one is the receiver.
    pub(crate) fn with_receiver(
        function: &'static str,
        args: &Arguments<'v, '_>,
        heap: Heap<'v>,
    ) -> starlark::Result<(Value<'v>, Self)> {
        let mut values = args.positions(heap)?;
        let receiver = values.next().unwrap_or_default();
        let positional = values.collect();
        Ok((receiver, Self { function, positional, named: names(function, args, heap)? }))
    }

    /// Binds the arguments to parameters, written `name`, `name?` (optional) or `name??`
    /// (optional, and `None` counts as not given). After an optional one all are optional.
    pub fn unpack(
        &self,
        eval: &mut Evaluator<'v, '_, '_>,
        params: &mut [(&str, &mut dyn Param<'v>)],
    ) -> starlark::Result<()> {
        self.bind(eval, params).map_err(|why| self.complain(why))
    }

    fn bind(
        &self,
        eval: &mut Evaluator<'v, '_, '_>,
        params: &mut [(&str, &mut dyn Param<'v>)],
    ) -> Result<(), Complaint> {
        if self.positional.len() > params.len() {
            let (got, want) = (self.positional.len(), params.len());
            return Err(format!("got {got} arguments, want at most {want}").into());
        }
        let mut given = vec![false; params.len()];
        for (i, value) in self.positional.iter().enumerate() {
            given[i] = true;
            let (spec, param) = &mut params[i];
            let (name, skip_none) = param_name(spec);
            if !(skip_none && value.is_none()) {
                let result = param.receive(*value, eval);
                result.map_err(|why| format!("for parameter {name}: {}", why.0))?;
            }
        }
        for (name, value) in &self.named {
            let Some(i) = params.iter().position(|(spec, _)| param_name(spec).0 == *name) else {
                return Err(unexpected_keyword(name, params));
            };
            let name = quote(name);
            if std::mem::replace(&mut given[i], true) {
                return Err(format!("got multiple values for keyword argument {name}").into());
            }
            let (spec, param) = &mut params[i];
            if !(param_name(spec).1 && value.is_none()) {
                let result = param.receive(*value, eval);
                result.map_err(|why| format!("for parameter {name}: {}", why.0))?;
            }
        }
        let required = params.iter().take_while(|(spec, _)| !spec.ends_with('?'));
        match required.zip(&given).find(|(_, given)| !**given) {
            Some(((name, _), _)) => Err(format!("missing argument for {name}").into()),
            None => Ok(()),
        }
    }

    /// Binds positional arguments only, at least `min` of them.
    pub fn unpack_positional(
        &self,
        eval: &mut Evaluator<'v, '_, '_>,
        min: usize,
        params: &mut [&mut dyn Param<'v>],
    ) -> starlark::Result<()> {
        let function = self.function;
        if !self.named.is_empty() {
            let unexpected = Some(Mistake::UnexpectedKeyword);
            return Err(self.complain(Complaint::new("unexpected keyword arguments", unexpected)));
        }
        let (got, max) = (self.positional.len(), params.len());
        if got < min {
            let at_least = if min < max { "at least " } else { "" };
            return Err(raise(format!("{function}: got {got} arguments, want {at_least}{min}")));
        }
        if got > max {
            let at_most = if max > min { "at most " } else { "" };
            return Err(raise(format!("{function}: got {got} arguments, want {at_most}{max}")));
        }
        for (i, (value, param)) in self.positional.iter().zip(params).enumerate() {
            param
                .receive(*value, eval)
                .map_err(|why| raise(format!("{function}: for parameter {}: {}", i + 1, why.0)))?;
        }
        Ok(())
    }

    /// The only argument of a builtin that has one parameter, which must be given.
    pub fn only<T: FromArg<'v>>(
        &self,
        eval: &mut Evaluator<'v, '_, '_>,
        param: &str,
    ) -> starlark::Result<T> {
        let mut given = None::<T>;
        self.unpack(eval, &mut [(param, &mut given)])?;
        given.ok_or_else(|| self.error(format!("missing argument for {param}")))
    }

    /// The same without a name.
    pub fn only_positional<T: FromArg<'v>>(
        &self,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<T> {
        let mut given = None::<T>;
        self.unpack_positional(eval, 1, &mut [&mut given])?;
        given.ok_or_else(|| self.error("missing argument"))
    }

    /// An error of this builtin, prefixed with its name.
    pub fn error(&self, message: impl std::fmt::Display) -> starlark::Error {
        raise(format!("{}: {message}", self.function))
    }

    /// The same, of a mistake that may be known.
    pub(crate) fn complain(&self, why: Complaint) -> starlark::Error {
        let message = format!("{}: {}", self.function, why.message);
        Complaint::new(message, why.mistake).raise_at(Site::Builtin)
    }
}

/// The name as the user wrote it.
fn plain<'v>(name: StringValue<'v>, heap: Heap<'v>) -> &'v str {
    match unmangle(name.as_str()) {
        Cow::Borrowed(_) => name.as_str(),
        Cow::Owned(plain) => heap.alloc_str(&plain).as_str(),
    }
}

fn names<'v>(
    function: &str,
    args: &Arguments<'v, '_>,
    heap: Heap<'v>,
) -> starlark::Result<Vec<(&'v str, Value<'v>)>> {
    match args.names_map() {
        Ok(map) => Ok(map.into_iter().map(|(name, value)| (plain(name, heap), value)).collect()),
        Err(error) => {
            let message = super::error::message_of(&error);
            match message.strip_prefix(REPEATED_ARGUMENT).and_then(|rest| rest.split_once('`')) {
                Some((name, _)) => Err(raise(format!(
                    "{function}: got multiple values for keyword argument {}",
                    quote(name)
                ))),
                None => Err(error),
            }
        }
    }
}

fn param_name(spec: &str) -> (&str, bool) {
    match spec.strip_suffix("??") {
        Some(name) => (name, true),
        None => (spec.strip_suffix('?').unwrap_or(spec), false),
    }
}

fn unexpected_keyword(name: &str, params: &[(&str, &mut dyn Param<'_>)]) -> Complaint {
    let message = format!("unexpected keyword argument {}", quote(name));
    let names = || params.iter().map(|(spec, _)| param_name(spec).0);
    // The reference offers only the first half of the parameters as suggestions.
    let hint = nearest(name, names().take(params.len().div_ceil(2)));
    Complaint::with_hint(message, hint, Some(Mistake::UnexpectedKeyword))
        .meaning(similar(name, names()))
}

fn mismatch<T>(value: Value<'_>, want: &str) -> Result<T, Mismatch> {
    Err(Mismatch(format!("got {}, want {want}", type_name(value))))
}

impl<'v> FromArg<'v> for Value<'v> {
    fn from_arg(value: Value<'v>, _: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
        Ok(value)
    }
}

impl<'v, T: FromArg<'v>> FromArg<'v> for Option<T> {
    fn from_arg(value: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
        T::from_arg(value, eval).map(Some)
    }
}

impl<'v> FromArg<'v> for &'v str {
    fn from_arg(value: Value<'v>, _: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
        value.unpack_str().map_or_else(|| mismatch(value, "string"), Ok)
    }
}

impl<'v> FromArg<'v> for String {
    fn from_arg(value: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
        <&str>::from_arg(value, eval).map(str::to_owned)
    }
}

impl<'v> FromArg<'v> for bool {
    fn from_arg(value: Value<'v>, _: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
        value.unpack_bool().map_or_else(|| mismatch(value, "bool"), Ok)
    }
}

impl<'v> FromArg<'v> for f64 {
    fn from_arg(value: Value<'v>, _: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
        value.downcast_ref::<StarlarkFloat>().map_or_else(|| mismatch(value, "float"), |f| Ok(f.0))
    }
}

/// An integer within `$bits` bits.
macro_rules! int_from_arg {
    ($($int:ty, $signed:literal, $bits:literal;)*) => {$(
        impl<'v> FromArg<'v> for $int {
            fn from_arg(value: Value<'v>, _: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
                let Some(int) = Int::of(value) else { return mismatch(value, "int") };
                <$int>::try_from(int.big()).map_err(|_| {
                    let range = concat!($signed, " ", $bits, "-bit range");
                    Mismatch(format!("{int} out of range (want value in {range})"))
                })
            }
        }
    )*};
}

int_from_arg! {
    i8, "signed", 8; i16, "signed", 16; i32, "signed", 32; i64, "signed", 64;
    u8, "unsigned", 8; u16, "unsigned", 16; u32, "unsigned", 32; u64, "unsigned", 64;
}

/// An argument that must be a list.
#[derive(Clone, Copy)]
pub struct ListArg<'v>(pub &'v ListRef<'v>);

impl<'v> FromArg<'v> for ListArg<'v> {
    fn from_arg(value: Value<'v>, _: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
        ListRef::from_value(value).map_or_else(|| mismatch(value, "list"), |list| Ok(Self(list)))
    }
}

/// An argument that must be a dict.
#[derive(Clone, Copy)]
pub struct DictArg<'v>(pub Value<'v>);

impl<'v> FromArg<'v> for DictArg<'v> {
    fn from_arg(value: Value<'v>, _: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
        match DictRef::from_value(value) {
            Some(_) => Ok(Self(value)),
            None => mismatch(value, "dict"),
        }
    }
}

/// An argument that must be a function or a builtin.
#[derive(Clone, Copy)]
pub struct CallableArg<'v>(pub Value<'v>);

impl<'v> FromArg<'v> for CallableArg<'v> {
    fn from_arg(value: Value<'v>, _: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
        if value::is_callable(value) { Ok(Self(value)) } else { mismatch(value, "callable") }
    }
}

/// An argument that can be iterated, with its elements.
#[derive(Clone, Default)]
pub struct IterableArg<'v>(pub Vec<Value<'v>>);

impl<'v> FromArg<'v> for IterableArg<'v> {
    fn from_arg(value: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
        value::elements(value, eval.heap())
            .map_or_else(|| mismatch(value, "iterable"), |v| Ok(Self(v)))
    }
}

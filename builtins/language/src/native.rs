//! Decides what a builtin is as a value: how it is called, printed and told apart from functions
//! written in a Tiltfile.

use std::{fmt, time::Instant};

use allocative::Allocative;
use engine_formats::golang::quote::quote;
use starlark::{
    any::ProvidesStaticType,
    coerce::Coerce,
    collections::StarlarkHasher,
    environment::GlobalsBuilder,
    eval::{Arguments, Evaluator},
    starlark_complex_value, starlark_simple_value,
    values::{
        Freeze, FrozenValue, Heap, NoSerialize, StarlarkPagablePanic, StarlarkValue, Trace, Value,
        ValueLifetimeless, ValueLike, starlark_value,
    },
};

use super::{
    args::Args,
    attrs,
    error::{Site, raise_at},
    exec, memory, methods,
    value::{repr, type_name},
};

/// What a builtin or a method yields.
pub type Outcome<'v> = starlark::Result<Value<'v>>;

/// The Rust side of a builtin.
pub type NativeFn = for<'v> fn(&mut Evaluator<'v, '_, '_>, Args<'v>) -> Outcome<'v>;

/// A builtin function; [`native`] makes one.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub struct Native {
    name: String,
    /// Whether it belongs to the API, whose calls can be recorded, and not to the language.
    is_api: bool,
    #[allocative(skip)]
    function: NativeFn,
}

starlark_simple_value!(Native);

/// A builtin with the full name that its error messages begin with, such as `os.path.join`.
pub fn native(name: &str, function: NativeFn) -> Native {
    Native { name: name.to_owned(), is_api: true, function }
}

impl Native {
    /// The same builtin as a part of the language.
    pub(super) fn of_language(mut self) -> Self {
        self.is_api = false;
        self
    }

    /// The full name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for Native {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<built-in function {}>", self.name)
    }
}

#[starlark_value(type = "builtin_function_or_method")]
impl<'v> StarlarkValue<'v> for Native {
    fn invoke(
        &self,
        me: Value<'v>,
        args: &Arguments<'v, '_>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> Outcome<'v> {
        let name = me.downcast_ref::<Native>().map_or("", |native| native.name.as_str());
        let args = Args::new(name, args, eval.heap())?;
        let embedder = &exec::interpreter(eval)?.embedder;
        if !(self.is_api && embedder.records_calls()) {
            return memory::checked(Site::Builtin, (self.function)(eval, args));
        }
        let shown: Vec<String> = args.positional.iter().map(|it| repr(*it)).collect();
        let started = Instant::now();
        let result = (self.function)(eval, args);
        embedder.record_call(name, format!("({})", shown.join(", ")), started.elapsed());
        memory::checked(Site::Builtin, result)
    }

    fn write_hash(
        &self,
        hasher: &mut starlark::collections::StarlarkHasher,
    ) -> starlark::Result<()> {
        std::hash::Hash::hash(&self.name, hasher);
        Ok(())
    }
}

/// The Rust side of a part of the language, such as an operator.
pub(crate) type HelperFn =
    for<'v> fn(&mut Evaluator<'v, '_, '_>, &Arguments<'v, '_>) -> Outcome<'v>;

/// A function that only rewritten source calls; it leaves no trace in tracebacks.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(crate) struct Helper {
    name: &'static str,
    #[allocative(skip)]
    function: HelperFn,
}

starlark_simple_value!(Helper);

impl Helper {
    pub(crate) fn new(name: &'static str, function: HelperFn) -> Self {
        Self { name, function }
    }
}

impl fmt::Display for Helper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[starlark_value(type = "helper")]
impl<'v> StarlarkValue<'v> for Helper {
    fn invoke(
        &self,
        _me: Value<'v>,
        args: &Arguments<'v, '_>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> Outcome<'v> {
        memory::checked(Site::Operator, (self.function)(eval, args))
    }
}

/// What `receiver.name(...)` was rewritten to; finds the method of a built-in type, or calls
/// whatever the attribute of another value is.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(crate) struct MethodCall {
    /// `__m_NAME__`, as tracebacks see it.
    helper: String,
    name: &'static str,
    #[allocative(skip)]
    methods: methods::Candidates,
}

starlark_simple_value!(MethodCall);

impl MethodCall {
    pub(crate) fn new(name: &'static str) -> Self {
        Self { helper: format!("__m_{name}__"), name, methods: methods::Candidates::of(name) }
    }
}

impl fmt::Display for MethodCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.helper)
    }
}

#[starlark_value(type = "method_call")]
impl<'v> StarlarkValue<'v> for MethodCall {
    fn invoke(
        &self,
        _me: Value<'v>,
        args: &Arguments<'v, '_>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> Outcome<'v> {
        let (receiver, args) = Args::with_receiver(self.name, args, eval.heap())?;
        if let Some(method) = self.methods.find(receiver) {
            memory::checked(Site::Builtin, method(eval, receiver, args))
        } else {
            let callee = attrs::get_attr(receiver, self.name, eval.heap())?;
            super::call::call_args(eval, callee, &args)
        }
    }
}

/// A method of a built-in type taken from its receiver without calling it.
#[derive(
    Debug,
    Clone,
    Trace,
    Coerce,
    Freeze,
    ProvidesStaticType,
    NoSerialize,
    StarlarkPagablePanic,
    Allocative,
)]
#[repr(C)]
pub(crate) struct BoundMethodGen<V: ValueLifetimeless> {
    receiver: V,
    name: String,
}

starlark_complex_value!(pub(crate) BoundMethod);

impl<'v> BoundMethod<'v> {
    pub(crate) fn new(receiver: Value<'v>, name: &str) -> Self {
        Self { receiver, name: name.to_owned() }
    }

    /// The method's name, if the value is a bound method.
    pub(crate) fn of(value: Value<'v>) -> Option<&'v str> {
        Self::from_value(value).map(|method| method.name.as_str())
    }
}

impl<'v, V: ValueLike<'v>> fmt::Display for BoundMethodGen<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let receiver = type_name(self.receiver.to_value());
        write!(f, "<built-in method {} of {receiver} value>", self.name)
    }
}

#[starlark_value(type = "builtin_function_or_method")]
impl<'v, V: ValueLike<'v>> StarlarkValue<'v> for BoundMethodGen<V>
where
    Self: ProvidesStaticType<'v>,
{
    fn invoke(
        &self,
        me: Value<'v>,
        args: &Arguments<'v, '_>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> Outcome<'v> {
        let name = BoundMethod::of(me).unwrap_or_default();
        let receiver = self.receiver.to_value();
        let args = Args::new(name, args, eval.heap())?;
        match methods::find(receiver, name) {
            Some(method) => memory::checked(Site::Builtin, method(eval, receiver, args)),
            None => Err(attrs::no_such_attribute(receiver, name)),
        }
    }

    fn write_hash(
        &self,
        hasher: &mut starlark::collections::StarlarkHasher,
    ) -> starlark::Result<()> {
        std::hash::Hash::hash(&self.name, hasher);
        Ok(())
    }
}

/// A named collection of values, such as `os` or the result of `module(...)`.
#[derive(
    Debug,
    Clone,
    Trace,
    Coerce,
    Freeze,
    ProvidesStaticType,
    NoSerialize,
    StarlarkPagablePanic,
    Allocative,
)]
#[repr(C)]
pub struct ModuleValueGen<V: ValueLifetimeless> {
    name: String,
    builtin: bool,
    /// Sorted by name.
    members: Vec<(String, V)>,
}

starlark_complex_value!(pub ModuleValue);

impl<'v> ModuleValue<'v> {
    /// What `module(name, **members)` makes.
    pub fn user(name: &str, mut members: Vec<(String, Value<'v>)>) -> Self {
        members.sort_by(|a, b| a.0.cmp(&b.0));
        Self { name: name.to_owned(), builtin: false, members }
    }
}

impl FrozenModuleValue {
    /// A module of builtins, printed as `[module: name]`.
    pub fn builtin(name: &str, mut members: Vec<(String, FrozenValue)>) -> Self {
        members.sort_by(|a, b| a.0.cmp(&b.0));
        Self { name: name.to_owned(), builtin: true, members }
    }
}

impl<V: ValueLifetimeless> fmt::Display for ModuleValueGen<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.builtin {
            write!(f, "[module: {}]", self.name)
        } else {
            write!(f, "<module {}>", quote(&self.name))
        }
    }
}

#[starlark_value(type = "module")]
impl<'v, V: ValueLike<'v>> StarlarkValue<'v> for ModuleValueGen<V>
where
    Self: ProvidesStaticType<'v>,
{
    fn get_attr(&self, attribute: &str, _heap: Heap<'v>) -> Option<Value<'v>> {
        let i = self.members.binary_search_by(|(name, _)| name.as_str().cmp(attribute)).ok()?;
        Some(self.members[i].1.to_value())
    }

    fn dir_attr(&self) -> Vec<String> {
        self.members.iter().map(|(name, _)| name.clone()).collect()
    }

    fn write_hash(&self, _hasher: &mut StarlarkHasher) -> starlark::Result<()> {
        // The reference has two kinds of modules, with words of their own.
        let message = if self.builtin { "unhashable type: module" } else { "unhashable: module" };
        Err(raise_at(Site::Operator, message))
    }
}

/// Collects the builtins of an API into globals.
pub trait BuiltinsExt {
    /// Defines a global function.
    fn function(&mut self, name: &str, function: NativeFn);
    /// Defines a global module of functions, whose full names begin with the module's.
    fn module(&mut self, name: &str, functions: &[(&str, NativeFn)]);
    /// Allocates a function for use as a member of a module.
    fn member(&self, full_name: &str, function: NativeFn) -> FrozenValue;
}

impl BuiltinsExt for GlobalsBuilder {
    fn function(&mut self, name: &str, function: NativeFn) {
        self.set(name, native(name, function));
    }

    fn module(&mut self, name: &str, functions: &[(&str, NativeFn)]) {
        let members = functions
            .iter()
            .map(|(short, f)| ((*short).to_owned(), self.member(&format!("{name}.{short}"), *f)))
            .collect();
        self.set(name, FrozenModuleValue::builtin(name, members));
    }

    fn member(&self, full_name: &str, function: NativeFn) -> FrozenValue {
        self.alloc(native(full_name, function))
    }
}

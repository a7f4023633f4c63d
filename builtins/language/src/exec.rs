//! Decides how files run: one interpreter for a whole evaluation, one module per file, frozen when
//! the file has run.

use std::{
    any::Any,
    cell::RefCell,
    collections::{HashMap, HashSet},
    panic::AssertUnwindSafe,
    rc::Rc,
    sync::LazyLock,
    time::Duration,
};

use starlark::{
    any::ProvidesStaticType,
    environment::{FrozenModule, Globals, Module},
    eval::{Evaluator, FileLoader},
    syntax::{AstModule, Dialect, DialectTypes},
    values::{Heap, OwnedFrozenValue, Value, dict::AllocDict},
};

use super::{
    call::Spread,
    error::{EvalError, Frame, Site, raise},
    memory,
    native::Outcome,
    ops,
    rewrite::{DefInfo, Prepared, mangle, prepare},
    stack,
    translate::translate,
};

/// How much a file may use.
#[derive(Debug, Clone)]
pub struct Limits {
    /// How deep calls may nest.
    pub call_depth: usize,
    /// How much memory the process may hold, if that is limited.
    pub memory_bytes: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { call_depth: 100_000, memory_bytes: None }
    }
}

impl Limits {
    /// The limits that environment variables set, and defaults for this machine.
    pub fn from_env(env: impl Fn(&str) -> Option<String>) -> Self {
        let number = |name| env(name).and_then(|text| text.trim().parse::<u64>().ok());
        let call_depth = number(stack::VARIABLE).and_then(|depth| usize::try_from(depth).ok());
        let memory = match number(memory::VARIABLE) {
            Some(0) => None,
            Some(megabytes) => Some(megabytes.saturating_mul(1 << 20)),
            None => Some(memory::default_limit()),
        };
        let call_depth = call_depth.unwrap_or(Self::default().call_depth).max(1);
        Self { call_depth, memory_bytes: memory }
    }
}

/// What running files needs from outside. The implementation is also the place for the state of
/// an evaluation: builtins get it back with [`embedder`].
pub trait Embedder: Any {
    /// Runs the file that a `load` statement names, or finds the result of an earlier run.
    fn load(&self, interpreter: &Interpreter, path: &str) -> Result<Rc<Loaded>, EvalError>;
    /// Shows a line that a file prints.
    fn print(&self, text: &str);
    /// Whether evaluation should stop; asked often.
    fn is_canceled(&self) -> bool {
        false
    }
    /// Whether to tell how long each builtin of the API took.
    fn records_calls(&self) -> bool {
        false
    }
    /// A builtin of the API was called with these positional arguments.
    fn record_call(&self, _name: &str, _args: String, _took: Duration) {}
}

/// A file that has run.
#[derive(Debug)]
pub struct Loaded {
    module: FrozenModule,
    exports: Vec<String>,
}

impl Loaded {
    /// The names the file defines, private ones included, in order of definition.
    pub fn names(&self) -> &[String] {
        &self.exports
    }

    /// The value that a builtin left for later with `eval.module().set_extra_value`.
    pub fn extra_value(&self) -> Option<OwnedFrozenValue> {
        self.module.owned_extra_value()
    }

    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<OwnedFrozenValue> {
        self.module.get_any_visibility(&mangle(name)).ok().map(|(value, _)| value)
    }

    /// All names with their values, as a frozen dict.
    pub fn to_frozen_dict<'v>(&self, heap: Heap<'v>) -> Outcome<'v> {
        let frozen = Module::with_temp_heap(|module| {
            let value = |name: &String| {
                let value = self.get(name)?;
                Some((name.clone(), module.heap().access_owned_frozen_value(&value)))
            };
            let values: Vec<_> = self.exports.iter().filter_map(value).collect();
            module.set("exports", module.heap().alloc(AllocDict(values)));
            module.freeze()
        });
        let internal = |error: &dyn std::fmt::Debug| raise(format!("internal error: {error:?}"));
        let exports = frozen
            .map_err(|error| internal(&error))?
            .get("exports")
            .map_err(|error| internal(&error))?;
        Ok(heap.access_owned_frozen_value(&exports))
    }
}

/// One evaluation: the globals, the embedder, and what is known about every file that has run.
#[derive(ProvidesStaticType)]
pub struct Interpreter {
    globals: Globals,
    /// The names of the globals that a file can use.
    names: HashSet<String>,
    pub(super) embedder: Box<dyn Embedder>,
    limits: Limits,
    files: RefCell<HashMap<String, Rc<Prepared>>>,
    /// The module that the last `load` statement named, and its exports.
    last_load: RefCell<(String, Vec<String>)>,
    last_spread: RefCell<Spread>,
}

/// The interpreter in which a builtin runs.
pub fn interpreter<'a>(eval: &Evaluator<'_, 'a, '_>) -> starlark::Result<&'a Interpreter> {
    let extra = eval.extra.and_then(|extra| extra.downcast_ref::<Interpreter>());
    extra.ok_or_else(|| raise("internal error: no interpreter"))
}

/// The embedder of the evaluation in which a builtin runs.
pub fn embedder<'a, T: Embedder>(eval: &Evaluator<'_, 'a, '_>) -> starlark::Result<&'a T> {
    let embedder: &dyn Any = &*interpreter(eval)?.embedder;
    embedder.downcast_ref().ok_or_else(|| raise("internal error: another kind of embedder"))
}

/// Shows what a file prints.
pub(crate) fn print(eval: &Evaluator<'_, '_, '_>, text: &str) -> starlark::Result<()> {
    interpreter(eval)?.embedder.print(text);
    Ok(())
}

/// The place of the call that is running a builtin.
pub fn call_position(eval: &Evaluator<'_, '_, '_>) -> Option<Frame> {
    let interpreter = interpreter(eval).ok()?;
    let span = (0..eval.call_stack_count()).find_map(|n| eval.call_stack_nth_location(n))?;
    let (begin, end) = (span.span.begin().get(), span.span.end().get());
    let (line, col) = interpreter.file(span.filename())?.position(begin, end);
    let path = Some(span.filename().to_owned());
    Some(Frame { path, line, col, function: String::new() })
}

/// The place where a function of a Tiltfile is defined.
pub fn definition(eval: &Evaluator<'_, '_, '_>, function: Value<'_>) -> Option<Frame> {
    let name = super::value::callable_name(function);
    let path = call_position(eval).and_then(|it| it.path);
    interpreter(eval)
        .ok()?
        .find_def(&name, path.as_deref(), |it| it.source, |_| true)
        .map(|it| it.1)
}

/// The calls that led to the one that is running a builtin, outermost first.
pub fn call_stack(eval: &Evaluator<'_, '_, '_>) -> Vec<Frame> {
    let Ok(interpreter) = interpreter(eval) else { return Vec::new() };
    let mut error = raise("");
    error.set_call_stack(|| eval.call_stack());
    translate(interpreter, &error).frames
}

fn dialect() -> Dialect {
    Dialect {
        enable_keyword_only_arguments: true,
        enable_top_level_stmt: true,
        enable_load_reexport: false,
        enable_types: DialectTypes::Disable,
        enable_f_strings: false,
        enable_positional_only_arguments: false,
        ..Dialect::Standard
    }
}

/// The functions that binary operators are routed to.
static OPERATORS: LazyLock<HashMap<String, String>> = LazyLock::new(|| {
    ops::BINARY.iter().map(|(op, name, _)| ((*op).to_owned(), (*name).to_owned())).collect()
});

impl Interpreter {
    /// An interpreter with the given globals, which [`super::globals`] begins.
    pub fn new(globals: Globals, embedder: Box<dyn Embedder>, limits: Limits) -> Self {
        let names = globals.names().filter(|name| !super::is_helper(name.as_str()));
        let names = names.map(|name| name.as_str().to_owned()).collect();
        Self {
            globals,
            names,
            embedder,
            limits,
            files: RefCell::default(),
            last_load: RefCell::default(),
            last_spread: RefCell::default(),
        }
    }

    /// The embedder, if it is a `T`.
    pub fn embedder<T: Embedder>(&self) -> Option<&T> {
        (&*self.embedder as &dyn Any).downcast_ref()
    }

    /// Runs a file. `predeclared` are the string values that only this file sees, `__file__` and
    /// `__name__`.
    pub fn exec(
        &self,
        path: &str,
        source: &str,
        predeclared: &[(&str, &str)],
    ) -> Result<Loaded, EvalError> {
        let is_builtin = |name: &str| {
            predeclared.iter().any(|(given, _)| *given == name) || self.has_global(name)
        };
        let mut prepared = prepare(source, &is_builtin).map_err(|error| {
            let mut names: Vec<&str> = self.names.iter().map(String::as_str).collect();
            names.sort_unstable();
            EvalError::of_syntax(path, error.suggest_among(&names))
        })?;
        let text = std::mem::take(&mut prepared.text);
        let prepared = Rc::new(prepared);
        self.files.borrow_mut().insert(path.to_owned(), Rc::clone(&prepared));
        Self::guarded(|| {
            let internal = |error: &starlark::Error| {
                EvalError::new(format!("internal error: rewriting {path}: {error}"))
            };
            let mut ast = AstModule::parse(path, text, &dialect()).map_err(|e| internal(&e))?;
            ast.replace_binary_operators(&OPERATORS);
            Module::with_temp_heap(|module| {
                self.predeclare(&module, &prepared, predeclared);
                self.evaluate(&module, |eval| eval.eval_module(ast, &self.globals))?;
                let exports = prepared.info.globals.clone();
                match module.freeze() {
                    Ok(module) => {
                        let mut loaded = Loaded { module, exports };
                        let assigned: Vec<String> = loaded
                            .exports
                            .iter()
                            .filter(|n| loaded.get(n).is_some())
                            .cloned()
                            .collect();
                        loaded.exports = assigned;
                        Ok(loaded)
                    }
                    Err(error) => {
                        Err(EvalError::new(format!("internal error: freezing {path}: {error:?}")))
                    }
                }
            })
        })
    }

    /// Runs Rust code that needs an evaluator outside of any file, such as a callback that a
    /// file left behind.
    pub fn with_evaluator<R>(
        &self,
        run: impl for<'v> FnOnce(&mut Evaluator<'v, '_, '_>) -> starlark::Result<R>,
    ) -> Result<R, EvalError> {
        Self::guarded(|| Module::with_temp_heap(|module| self.evaluate(&module, run)))
    }

    fn evaluate<'v, R>(
        &self,
        module: &Module<'v>,
        run: impl FnOnce(&mut Evaluator<'v, '_, '_>) -> starlark::Result<R>,
    ) -> Result<R, EvalError> {
        let loader = Loader(self);
        let mut eval = Evaluator::new(module);
        eval.set_loader(&loader);
        eval.extra = Some(self);
        let calls = stack::calls_left(self.limits.call_depth);
        if calls == 0 {
            return Err(EvalError::new(self.too_deep()));
        }
        let limited = eval.set_max_callstack_size(calls);
        limited.map_err(|e| EvalError::new(format!("internal error: {e}")))?;
        memory::set_limit(self.limits.memory_bytes);
        eval.set_check_cancelled(Box::new(|| memory::is_exceeded() || self.embedder.is_canceled()));
        run(&mut eval).map_err(|error| translate(self, &error))
    }

    /// What is said about calls that nest too deeply.
    pub(crate) fn too_deep(&self) -> String {
        let (depth, variable) = (stack::depth(self.limits.call_depth), stack::VARIABLE);
        format!("calls nest too deeply: more than {depth}; {variable} sets the limit")
    }

    /// A defect of the interpreter must not take the program down.
    fn guarded<R>(run: impl FnOnce() -> Result<R, EvalError>) -> Result<R, EvalError> {
        std::panic::catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
            let what = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("unknown");
            Err(EvalError::new(format!("internal error: {what}")))
        })
    }

    fn predeclare(&self, module: &Module<'_>, file: &Prepared, given: &[(&str, &str)]) {
        let heap = module.heap();
        heap.add_reference(self.globals.heap());
        for (name, value) in given {
            if !file.info.globals.iter().chain(&file.info.loaded).any(|bound| bound == name) {
                module.set(name, heap.alloc(*value));
            }
        }
        for name in &file.info.early_builtins {
            let own = given.iter().find(|(given, _)| given == name);
            let value = match own {
                Some((_, value)) => Some(heap.alloc(*value)),
                None => self.global(name),
            };
            if let Some(value) = value {
                module.set(&format!("__builtin_{name}__"), value);
            }
        }
    }

    fn global<'v>(&self, name: &str) -> Option<Value<'v>> {
        self.globals.iter().find(|(global, _)| *global == name).map(|(_, value)| value.to_value())
    }

    fn has_global(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    pub(crate) fn file(&self, path: &str) -> Option<Rc<Prepared>> {
        self.files.borrow().get(path).cloned()
    }

    pub(crate) fn note_spread(&self, note: impl FnOnce(&mut Spread)) {
        note(&mut self.last_spread.borrow_mut());
    }

    pub(crate) fn last_spread(&self) -> Spread {
        self.last_spread.borrow().clone()
    }

    pub(crate) fn last_load(&self) -> (String, Vec<String>) {
        self.last_load.borrow().clone()
    }

    /// The definition of a function, in the given file if it is there, with one of its places as a frame.
    pub(crate) fn find_def(
        &self,
        name: &str,
        path: Option<&str>,
        place: fn(&DefInfo) -> u32,
        mut fits: impl FnMut(&DefInfo) -> bool,
    ) -> Option<(String, Frame, DefInfo)> {
        let files = self.files.borrow();
        let mut candidates: Vec<(&String, &Rc<Prepared>)> = files.iter().collect();
        candidates.sort_by_key(|(file, _)| (Some(file.as_str()) != path, *file));
        for (file, prepared) in candidates {
            let mut defs = prepared.info.defs.iter().filter(|def| def.name == name);
            if let Some(def) = defs.find(|def| fits(def)) {
                let (line, col) = prepared.map.line_col(place(def));
                let function = name.to_owned();
                let frame = Frame { path: Some(file.clone()), line, col, function };
                return Some((file.clone(), frame, def.clone()));
            }
        }
        None
    }
}

/// Hands `load` statements to the embedder.
struct Loader<'a>(&'a Interpreter);

impl FileLoader for Loader<'_> {
    fn load(&self, path: &str) -> starlark::Result<FrozenModule> {
        match self.0.embedder.load(self.0, path) {
            Ok(loaded) => {
                *self.0.last_load.borrow_mut() = (path.to_owned(), loaded.exports.clone());
                Ok(loaded.module.clone())
            }
            Err(error) => {
                let message = format!("cannot load {path}: {}", error.message);
                Err(error.raise_at(Site::Operator, message))
            }
        }
    }
}

//! Decides what a user reads when evaluation fails: the crate's errors are put into the words
//! and the traceback of the reference interpreter.

use std::borrow::Cow;

use engine_formats::golang::spell::nearest;
use starlark::{ErrorKind, codemap::FileSpan};

use super::{
    call,
    call::Given,
    crate_words as words,
    error::{Complaint, EvalError, Frame, Mistake, Site, message_of, native_error},
    exec::Interpreter,
    memory,
    rewrite::{CallInfo, DefInfo, Prepared, SiteKind, unmangle},
    value::unhashable_type,
};
use crate::syntax::Scope;

/// How many calls a traceback shows of either end.
const SHOWN_FRAMES: usize = 50;

/// Who a frame of the crate's call stack belongs to.
enum Owner<'a> {
    /// The crate's own bookkeeping.
    Nobody,
    /// A function that only rewritten text calls.
    Helper,
    /// A rewritten call of the method of that name.
    Method(&'a str),
    /// A builtin of that name.
    Builtin(&'a str),
    /// A function of a Tiltfile.
    Function(Cow<'a, str>),
}

fn owner(name: &str) -> Owner<'_> {
    if name == words::CALLBACK_FRAME {
        return Owner::Nobody;
    }
    if let Some(method) = name.strip_prefix("__m_").and_then(|rest| rest.strip_suffix("__")) {
        return Owner::Method(method);
    }
    if let Some(rest) = name.strip_prefix("<built-in function ") {
        return Owner::Builtin(rest.trim_end_matches('>'));
    }
    if let Some(rest) = name.strip_prefix("<built-in method ") {
        return Owner::Builtin(rest.split(' ').next().unwrap_or_default());
    }
    if super::is_helper(name) {
        return Owner::Helper;
    }
    Owner::Function(unmangle(name))
}

/// A traceback under construction.
struct Trace<'s> {
    interpreter: &'s Interpreter,
    done: Vec<Frame>,
    current: Frame,
    /// The builtin that is running, if it is the innermost.
    builtin: Option<String>,
    /// Where the innermost call or expression is.
    span: Option<FileSpan>,
    /// What the crate's words tell about the mistake.
    mistake: Option<Mistake>,
}

/// Puts an error into the reference's words.
pub(crate) fn translate(interpreter: &Interpreter, error: &starlark::Error) -> EvalError {
    let native = native_error(error);
    let mut trace = Trace {
        interpreter,
        done: Vec::new(),
        current: Frame { path: None, line: 0, col: 0, function: "<toplevel>".to_owned() },
        builtin: None,
        span: None,
        mistake: None,
    };
    let mut message = message_of(error);
    let mut frames = error.call_stack().frames.as_slice();
    if native.is_none() && operation(&message) == Some(words::CALL) {
        // What was called is no function and has no frame.
        frames = frames.split_last().map_or(frames, |(_, callers)| callers);
    }
    for frame in frames {
        trace.enter(&frame.name, frame.location.as_ref());
    }
    if trace.builtin.is_none()
        && let Some(span) = error.span()
    {
        trace.at(span);
    }
    let site = native.map_or(Site::Operator, super::error::NativeError::site);
    if let (Site::Attribute | Site::Call, Some(span)) = (site, trace.span.clone()) {
        trace.builtin = None;
        if site == Site::Attribute {
            trace.at_site(&span, SiteKind::Dot);
        }
    }
    if site == Site::Update {
        trace.at_current_site(SiteKind::Binary);
    }
    if let Some(callee) = native.and_then(|native| native.callee()) {
        let def = interpreter.find_def(callee, None, |it| it.entry, |_| true);
        trace.enter_callee(callee, def.as_ref());
    } else if let (ErrorKind::Function(_), None) = (error.kind(), &trace.builtin) {
        message = trace.binding_error(&message);
    } else if native.is_none() {
        message = trace.reword(&message);
    }
    trace.finish(message, error)
}

impl Trace<'_> {
    fn enter(&mut self, name: &str, location: Option<&FileSpan>) {
        if let Some(location) = location {
            self.at(location);
        }
        let owner = owner(name);
        let function = match &owner {
            Owner::Nobody | Owner::Helper => {
                if !matches!(owner, Owner::Nobody) {
                    self.builtin = None;
                }
                return;
            }
            Owner::Method(method) => {
                self.builtin = Some((*method).to_owned());
                return;
            }
            Owner::Builtin(name) => (*name).to_owned(),
            Owner::Function(name) => name.clone().into_owned(),
        };
        let is_builtin = matches!(owner, Owner::Builtin(_));
        self.builtin = is_builtin.then(|| function.clone());
        let next = Frame { path: None, line: 0, col: 0, function };
        self.done.push(std::mem::replace(&mut self.current, next));
        self.span = None;
    }

    /// The innermost frame is at that place.
    fn at(&mut self, span: &FileSpan) {
        let (line, col) = if let Some(file) = self.interpreter.file(span.filename()) {
            file.position(span.span.begin().get(), span.span.end().get())
        } else {
            let begin = span.resolve_span().begin;
            (
                u32::try_from(begin.line).unwrap_or(0) + 1,
                u32::try_from(begin.column).unwrap_or(0) + 1,
            )
        };
        self.span = Some(span.clone());
        self.current.path = Some(span.filename().to_owned());
        (self.current.line, self.current.col) = (line, col);
    }

    fn at_site(&mut self, span: &FileSpan, kind: SiteKind) {
        if let Some(file) = self.interpreter.file(span.filename()) {
            let (begin, end) = (span.span.begin().get(), span.span.end().get());
            (self.current.line, self.current.col) = file.position_of(begin, end, kind);
        }
    }

    /// Adds the frame of a function that was called but could not begin.
    fn enter_callee(&mut self, name: &str, def: Option<&(String, Frame, DefInfo)>) {
        let frame = match def {
            Some((_, frame, _)) => frame.clone(),
            None => Frame { path: None, line: 0, col: 0, function: name.to_owned() },
        };
        self.done.push(std::mem::replace(&mut self.current, frame));
        self.builtin = None;
    }

    /// The arguments did not fit the parameters of the innermost function, which the crate has
    /// already entered.
    fn binding_error(&mut self, crate_message: &str) -> String {
        let name = self.current.function.clone();
        let Some(caller) = self.done.pop() else { return crate_message.to_owned() };
        let call = self.call_of(&caller);
        let mut found = None;
        let def = self.interpreter.find_def(
            &name,
            caller.path.as_deref(),
            |it| it.entry,
            |def| {
                let Some(mut given) = call.clone() else { return true };
                given.complete(&self.interpreter.last_spread(), &def.params, crate_message);
                match given.mismatch(&name, &def.params) {
                    Some(complaint) => {
                        found = Some(complaint);
                        true
                    }
                    None => false,
                }
            },
        );
        let def = def.or_else(|| {
            self.interpreter.find_def(&name, caller.path.as_deref(), |it| it.entry, |_| true)
        });
        let complaint =
            found.or_else(|| call::describe(&name, crate_message, def.as_ref().map(|def| &def.2)));
        self.current = caller;
        self.enter_callee(&name, def.as_ref());
        self.mistake = complaint.as_ref().and_then(|it| it.mistake.clone());
        complaint.map_or_else(|| crate_message.to_owned(), |it| it.message)
    }

    /// The arguments written at the call the caller is at.
    fn call_of(&self, caller: &Frame) -> Option<Given> {
        let span =
            self.span.as_ref().filter(|span| Some(span.filename()) == caller.path.as_deref())?;
        let file = self.interpreter.file(span.filename())?;
        let call = file.info.call(span.span.begin().get(), span.span.end().get())?;
        Some(given(call, &file))
    }

    /// Words an error that the crate raised itself.
    fn reword(&mut self, message: &str) -> String {
        if message == words::CALL_STACK_OVERFLOW {
            return self.interpreter.too_deep();
        }
        if message == words::CANCELED {
            return memory::problem().unwrap_or_else(|| message.to_owned());
        }
        let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
        let first = quoted.first().copied().unwrap_or_default();
        if message.starts_with(words::UNASSIGNED_VARIABLE) {
            let name = unmangle(first);
            let scope = self.scope();
            self.mistake = Some(match scope {
                "global" => Mistake::UnassignedGlobal,
                _ => Mistake::UnassignedLocal,
            });
            return format!("{scope} variable {name} referenced before assignment");
        }
        if message.starts_with(words::NO_ATTRIBUTE) {
            let attribute = unmangle(quoted.get(1).copied().unwrap_or_default());
            return format!("{first} has no .{attribute} field or method");
        }
        if let Some(reworded) = self.reword_operation(message, &quoted) {
            return reworded;
        }
        if let Some((got, want)) = message
            .strip_prefix(words::UNPACKED)
            .and_then(|rest| rest.split_once(words::BUT_EXPECTED))
        {
            self.at_current_site(SiteKind::Assign);
            let many = if got.parse::<usize>().ok() > want.parse().ok() { "many" } else { "few" };
            return format!("too {many} values to unpack (got {got}, want {want})");
        }
        if let Some(key) = message.strip_prefix(words::REPEATED_KEY) {
            self.at_current_site(SiteKind::DictKey);
            return format!("duplicate key: {}", key.trim_end_matches('`'));
        }
        if message.starts_with(words::VALUE_OF_TYPE) && message.ends_with(words::NOT_HASHABLE) {
            self.at_current_site(SiteKind::DictKey);
            return unhashable_type(first);
        }
        if message.starts_with(words::NO_SYMBOL) || message.contains(words::NOT_EXPORTED) {
            return self.missing_export(&unmangle(first));
        }
        message.to_owned()
    }

    fn reword_operation(&mut self, message: &str, quoted: &[&str]) -> Option<String> {
        let typ = quoted.get(1)?;
        Some(match operation(message)? {
            // A helper checks what is iterated, so this is about unpacking.
            words::ITERATE | words::LENGTH => {
                self.at_current_site(SiteKind::Assign);
                format!("got {typ} in sequence assignment")
            }
            words::CALL => format!("invalid call of non-function ({typ})"),
            set_attr if set_attr.starts_with('.') && set_attr.ends_with('=') => {
                let attribute = set_attr.trim_start_matches('.').trim_end_matches('=');
                self.at_current_site(SiteKind::Dot);
                format!("can't assign to .{} field of {typ}", unmangle(attribute))
            }
            _ => return None,
        })
    }

    fn at_current_site(&mut self, kind: SiteKind) {
        if let Some(span) = self.span.clone() {
            self.at_site(&span, kind);
        }
    }

    fn scope(&self) -> &'static str {
        let scope = self.span.as_ref().and_then(|span| {
            self.interpreter.file(span.filename())?.info.scope_at(span.span.begin().get())
        });
        match scope {
            Some(Scope::Global) => "global",
            None if self.current.function == "<toplevel>" => "global",
            _ => "local",
        }
    }

    fn missing_export(&mut self, name: &str) -> String {
        let (module, exports) = self.interpreter.last_load();
        let message = format!("load: name {name} not found in module {module}");
        let hint = nearest(name, exports.iter().map(String::as_str));
        let Complaint { message, mistake } = Complaint::with_hint(message, hint, None);
        self.mistake = mistake;
        message
    }

    fn finish(mut self, message: String, error: &starlark::Error) -> EvalError {
        let is_known = |frame: &Frame| frame.path.is_some() || frame.function != "<toplevel>";
        let innermost_is_builtin =
            self.builtin.as_ref() == Some(&self.current.function) && self.current.path.is_none();
        if !innermost_is_builtin {
            self.done.push(self.current);
        }
        let mut frames = shortened(self.done.into_iter().filter(is_known).collect());
        let raised = native_error(error).and_then(|native| native.payload().cloned());
        let payload = raised.or_else(|| self.mistake.take().map(super::error::payload));
        let canceled = message == words::CANCELED;
        let inner = payload.as_deref().and_then(|payload| payload.downcast_ref::<EvalError>());
        if let Some(inner) = inner.filter(|inner| !inner.frames.is_empty()) {
            if innermost_is_builtin && let Some(builtin) = self.builtin {
                frames.push(Frame { path: None, line: 0, col: 0, function: builtin });
            }
            frames.extend(inner.frames.iter().cloned());
            // The payload is the innermost one, or a long chain of files would keep every traceback.
            return EvalError { frames, ..inner.clone() };
        }
        EvalError { frames, message, builtin: self.builtin, canceled, payload, syntax: None }
    }
}

/// The operation that a type does not have, if the message is about one.
fn operation(message: &str) -> Option<&str> {
    message.strip_prefix(words::OPERATION)?.split('`').next()
}

/// A traceback without the middle, if it is long.
fn shortened(mut frames: Vec<Frame>) -> Vec<Frame> {
    if let Some(hidden) = frames.len().checked_sub(2 * SHOWN_FRAMES).filter(|n| *n > 1) {
        let function = format!("<{hidden} more calls>");
        let gap = Frame { path: None, line: 0, col: 0, function };
        frames.splice(SHOWN_FRAMES..SHOWN_FRAMES + hidden, [gap]);
    }
    frames
}

fn given(call: &CallInfo, file: &Prepared) -> Given {
    let source = file.map.source();
    let text = |range: &std::ops::Range<u32>| {
        source.get(range.start as usize..range.end as usize).unwrap_or_default().to_owned()
    };
    Given {
        positional: call.positional as usize,
        named: call.named.iter().map(text).collect(),
        star_args: call.star_args,
        star_star_args: call.star_star_args,
    }
}

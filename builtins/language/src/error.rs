//! Decides how failures look: what a builtin raises, what it may carry along, and the traceback
//! a user reads, in the words and the shape of the reference interpreter.

use std::{any::Any, fmt, sync::Arc};

use starlark::ErrorKind;

use super::syntax::SyntaxError;

/// Where in the source an error raised by a native function belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Site {
    /// The call of a builtin; the last line of the traceback names it.
    Builtin,
    /// An operator, an index or another part of the language itself.
    Operator,
    /// The operator of an assignment such as `a[i] += v`.
    Update,
    /// The dot of an attribute access.
    Attribute,
    /// The opening parenthesis of a call that could not begin.
    Call,
}

/// A mistake that is known by more than its words, for whoever gives advice. Errors carry it as a payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mistake {
    /// A variable or function that does not exist, and the one that was probably meant.
    Undefined {
        /// The name that nothing has.
        name: String,
        /// The name that was probably meant.
        meant: Option<String>,
    },
    /// Another name that nothing has; this one exists.
    Misspelled(String),
    /// A keyword argument that the function does not have.
    UnexpectedKeyword,
    /// A backslash before a character that needs none.
    InvalidEscape,
    /// A variable of the file that has no value yet.
    UnassignedGlobal,
    /// A variable of a function that has no value yet.
    UnassignedLocal,
    /// A list of a file that has run would change.
    FrozenList,
    /// A dict of a file that has run would change.
    FrozenDict,
    /// A loop over a string.
    IteratedString,
}

/// What is wrong, in words, and the mistake if it is a known one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// The words.
    pub message: String,
    /// The mistake.
    pub mistake: Option<Mistake>,
}

impl Complaint {
    pub(crate) fn new(message: impl Into<String>, mistake: Option<Mistake>) -> Self {
        Self { message: message.into(), mistake }
    }

    /// Says which name was probably meant; if none is near, it may be another mistake.
    pub(crate) fn with_hint(message: String, hint: Option<&str>, other: Option<Mistake>) -> Self {
        match hint {
            Some(hint) => Self::new(
                format!("{message} (did you mean {hint}?)"),
                Some(Mistake::Misspelled(hint.to_owned())),
            ),
            None => Self::new(message, other),
        }
    }

    /// Knows which name was probably meant, where the words are not to say it.
    pub(crate) fn meaning(mut self, meant: Option<&str>) -> Self {
        self.mistake = meant.map(|it| Mistake::Misspelled(it.to_owned())).or(self.mistake);
        self
    }

    /// Raises it at a place of an expression.
    pub(crate) fn raise_at(self, site: Site) -> starlark::Error {
        self.raise(site, None)
    }

    /// Raises it as the error of a function whose parameters the arguments of a builtin did not fit.
    pub(crate) fn raise_in_callee(self, callee: String) -> starlark::Error {
        self.raise(Site::Builtin, Some(callee))
    }

    fn raise(self, site: Site, callee: Option<String>) -> starlark::Error {
        let payload = self.mistake.map(payload);
        NativeError { message: self.message, site, callee, payload }.into_error()
    }
}

impl From<String> for Complaint {
    fn from(message: String) -> Self {
        Self::new(message, None)
    }
}

/// What an error carries along.
pub(crate) fn payload<T: Any + Send + Sync>(value: T) -> Arc<dyn Any + Send + Sync> {
    Arc::new(value)
}

/// What a Rust builtin raises: a message, and possibly a typed value for whoever catches it.
pub struct NativeError {
    message: String,
    site: Site,
    /// The function written in a Tiltfile whose parameters the arguments did not fit.
    callee: Option<String>,
    payload: Option<Arc<dyn Any + Send + Sync>>,
}

impl fmt::Debug for NativeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NativeError").field("message", &self.message).finish_non_exhaustive()
    }
}

impl fmt::Display for NativeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for NativeError {}

/// An error of a builtin, with its full text (the builtin's own prefix included).
pub fn raise(message: impl Into<String>) -> starlark::Error {
    raise_at(Site::Builtin, message)
}

/// An error that belongs to a particular place of an expression.
pub fn raise_at(site: Site, message: impl Into<String>) -> starlark::Error {
    NativeError { message: message.into(), site, callee: None, payload: None }.into_error()
}

/// An error that carries a value, which [`EvalError::payload`] gives back to the caller of the
/// evaluation.
pub fn raise_with_payload<T: Any + Send + Sync>(
    message: impl Into<String>,
    carried: T,
) -> starlark::Error {
    let payload = Some(payload(carried));
    NativeError { message: message.into(), site: Site::Builtin, callee: None, payload }.into_error()
}

/// The native error inside, if a builtin of ours raised it.
pub(super) fn native_error(error: &starlark::Error) -> Option<&NativeError> {
    match error.kind() {
        ErrorKind::Native(e) | ErrorKind::Other(e) => e.downcast_ref(),
        _ => None,
    }
}

/// The typed value that an error raised during this evaluation carries, if any.
pub fn payload_of<T: Any>(error: &starlark::Error) -> Option<&T> {
    native_error(error)?.payload.as_deref()?.downcast_ref()
}

/// The bare message, without position and traceback.
pub fn message_of(error: &starlark::Error) -> String {
    error.without_diagnostic().to_string()
}

impl NativeError {
    fn into_error(self) -> starlark::Error {
        starlark::Error::new_native(self)
    }

    /// Where the error belongs.
    pub fn site(&self) -> Site {
        self.site
    }

    pub(crate) fn callee(&self) -> Option<&str> {
        self.callee.as_deref()
    }

    pub(crate) fn payload(&self) -> Option<&Arc<dyn Any + Send + Sync>> {
        self.payload.as_ref()
    }
}

/// One line of a traceback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The file, or `None` for a builtin that called back into Starlark.
    pub path: Option<String>,
    /// Line in that file, from 1.
    pub line: u32,
    /// Column in that line, from 1, counted in characters.
    pub col: u32,
    /// `<toplevel>`, `lambda`, or the name of the function.
    pub function: String,
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => {
                write!(f, "{path}:{}:{}: in {}", self.line, self.col, self.function)
            }
            None => write!(f, "<builtin>: in {}", self.function),
        }
    }
}

/// Why running a file or a function failed.
#[derive(Clone, Default)]
pub struct EvalError {
    /// The calls that led to the error, outermost first; empty if the file did not parse.
    pub frames: Vec<Frame>,
    /// What went wrong.
    pub message: String,
    /// The builtin that raised it.
    pub builtin: Option<String>,
    /// Where a file does not parse; [`Frame::function`] is empty.
    pub syntax: Option<Box<Frame>>,
    /// Whether the evaluation was stopped from outside.
    pub canceled: bool,
    pub(crate) payload: Option<Arc<dyn Any + Send + Sync>>,
}

impl EvalError {
    /// An error without a traceback, such as a syntax error that names its own position.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    /// A file that does not parse.
    pub(crate) fn of_syntax(path: &str, error: SyntaxError) -> Self {
        let SyntaxError { line, col, .. } = error;
        let function = String::new();
        Self {
            message: format!("{path}:{error}"),
            syntax: Some(Box::new(Frame { path: Some(path.to_owned()), line, col, function })),
            payload: error.mistake.map(payload),
            ..Self::default()
        }
    }

    /// The same error with a value for whoever catches it.
    #[must_use]
    pub fn with_payload<T: Any + Send + Sync>(self, carried: T) -> Self {
        Self { payload: Some(payload(carried)), ..self }
    }

    /// The value the error was raised with, here or in a file loaded from here, if it is a `T`.
    pub fn payload<T: Any>(&self) -> Option<&T> {
        let payload = self.payload.as_deref()?;
        match payload.downcast_ref::<EvalError>() {
            Some(inner) => inner.payload(),
            None => payload.downcast_ref(),
        }
    }

    /// The error of the innermost file, if files have loaded each other.
    pub fn root(&self) -> &Self {
        let inner = self.payload.as_deref().and_then(|it| it.downcast_ref::<Self>());
        inner.map_or(self, Self::root)
    }

    /// Raises this error again from a builtin that ran another file. If the other file failed
    /// while it ran, its own message and traceback are shown, otherwise the given message.
    pub fn into_raised(self, message: impl Into<String>) -> starlark::Error {
        self.raise_at(Site::Builtin, message.into())
    }

    pub(crate) fn raise_at(self, site: Site, message: String) -> starlark::Error {
        NativeError { message, site, callee: None, payload: Some(payload(self)) }.into_error()
    }
}

impl fmt::Debug for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EvalError")
            .field("frames", &self.frames)
            .field("message", &self.message)
            .field("builtin", &self.builtin)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.frames.is_empty() && self.builtin.is_none() {
            return f.write_str(&self.message);
        }
        if !self.frames.is_empty() {
            f.write_str("Traceback (most recent call last):\n")?;
        }
        for frame in &self.frames {
            writeln!(f, "  {frame}")?;
        }
        match &self.builtin {
            Some(name) => write!(f, "Error in {name}: {}", self.message),
            None => write!(f, "Error: {}", self.message),
        }
    }
}

impl std::error::Error for EvalError {}

//! Conversions of arguments that many builtins share, with their error messages.

use std::collections::BTreeMap;

use builtins_language::{
    DictRef, Evaluator, FromArg, Heap, ListRef, Mismatch, TupleRef, Value, ValueLike, elements,
    own_go_type, repr, type_name,
};
use engine_formats::{
    docker::reference::Reference,
    golang::{duration, label, quote::quote},
};
use engine_model::Cmd;

use super::{blob::Blob, git::GitRepo};
use crate::session::Session;

/// The name of a value's type in the reference implementation, which leaks into its messages.
pub fn go_type(value: Value<'_>) -> String {
    if let Some(name) = own_go_type(value) {
        return name;
    }
    let name = type_name(value);
    let mut rows = include_str!("go_types.txt").lines().filter_map(|it| it.split_once(' '));
    rows.find(|(own, _)| *own == name).map_or(name, |(_, go)| go).to_owned()
}

/// The text of a string or a blob.
pub fn as_text(value: Value<'_>) -> Option<&str> {
    value.unpack_str().or_else(|| Some(value.downcast_ref::<Blob>()?.text()))
}

/// The elements of a sequence: a list, tuple, dict (its keys), set or range, but never a string.
pub fn sequence<'v>(value: Value<'v>, heap: Heap<'v>) -> Option<Vec<Value<'v>>> {
    match type_name(value) {
        "list" | "tuple" | "dict" | "set" | "range" | "environ" | "string.elems"
        | "bytes.elems" => elements(value, heap),
        _ => None,
    }
}

/// One value or a sequence of values; none for `None`.
pub fn one_or_sequence<'v>(value: Value<'v>, heap: Heap<'v>) -> Vec<Value<'v>> {
    if value.is_none() {
        return Vec::new();
    }
    sequence(value, heap).unwrap_or_else(|| vec![value])
}

/// The elements of a list or tuple.
fn list_or_tuple(value: Value<'_>) -> Option<&[Value<'_>]> {
    ListRef::from_value(value)
        .map(ListRef::content)
        .or_else(|| Some(TupleRef::from_value(value)?.content()))
}

/// All elements as plain strings.
///
/// # Errors
/// Names the first element that is none.
pub fn plain_strings(values: &[Value<'_>]) -> Result<Vec<String>, Mismatch> {
    values
        .iter()
        .map(|it| match it.unpack_str() {
            Some(text) => Ok(text.to_owned()),
            None => Err(format!("'{}' is a {}, not a string", repr(*it), go_type(*it)).into()),
        })
        .collect()
}

/// An absolute path from a string or a git repository.
///
/// # Errors
/// If it is neither.
pub fn abs_path(value: Value<'_>, session: &Session) -> Result<String, Mismatch> {
    if let Some(repo) = value.downcast_ref::<GitRepo>() {
        return Ok(repo.path().to_owned());
    }
    match value.unpack_str() {
        Some(text) => Ok(session.abs(text)),
        None => Err(format!("expected path | string. Actual type: {}", go_type(value)).into()),
    }
}

/// A string or a blob.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strish(pub String);

impl<'v> FromArg<'v> for Strish {
    fn from_arg(value: Value<'v>, _: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
        match as_text(value) {
            Some(text) => Ok(Self(text.to_owned())),
            None => Err(format!(
                "Value should be convertible to string, but is type {}",
                type_name(value)
            )
            .into()),
        }
    }
}

/// A value of type `T` or `None`, which counts as not given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrNone<T>(pub Option<T>);

impl<'v> FromArg<'v> for OrNone<bool> {
    fn from_arg(value: Value<'v>, _: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
        match value.unpack_bool() {
            Some(it) => Ok(Self(Some(it))),
            None if value.is_none() => Ok(Self(None)),
            None => Err(format!("expected starlark.Bool or None, got {}", go_type(value)).into()),
        }
    }
}

impl<'v> FromArg<'v> for OrNone<String> {
    fn from_arg(value: Value<'v>, _: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
        match value.unpack_str() {
            Some(it) => Ok(Self(Some(it.to_owned()))),
            None if value.is_none() => Ok(Self(None)),
            None => Err(format!("expected starlark.String or None, got {}", go_type(value)).into()),
        }
    }
}

/// An absolute path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AbsPath(pub String);

impl<'v> FromArg<'v> for AbsPath {
    fn from_arg(value: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
        Ok(Self(abs_path(value, Session::of(eval))?))
    }
}

/// One path or several, made absolute; `None` for none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AbsPaths(pub Option<Vec<String>>);

impl<'v> FromArg<'v> for AbsPaths {
    fn from_arg(value: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
        let session = Session::of(eval);
        if as_text(value).is_some() {
            return Ok(Self(Some(vec![abs_path(value, session)?])));
        }
        if value.is_none() {
            return Ok(Self(None));
        }
        let Some(items) = list_or_tuple(value) else {
            let type_name = type_name(value);
            return Err(format!(
                "value should be a string or List or Tuple of strings, but is of type {type_name}"
            )
            .into());
        };
        let paths = items.iter().enumerate().map(|(index, it)| {
            abs_path(*it, session)
                .map_err(|why| format!("unpacking list item at index {index}: {why}"))
        });
        Ok(Self(Some(paths.collect::<Result<_, _>>()?)))
    }
}

/// The texts of a list or tuple, if all its elements have one.
fn texts(items: &[Value<'_>], container: &str) -> Result<Vec<String>, Mismatch> {
    items
        .iter()
        .map(|it| match as_text(*it) {
            Some(text) => Ok(text.to_owned()),
            None => Err(Mismatch(format!(
                "{container} should contain only strings, but element {} was of type {}",
                quote(&repr(*it)),
                type_name(*it)
            ))),
        })
        .collect()
}

/// A list or tuple of strings; `None` for an empty one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StrList(pub Vec<String>);

impl<'v> FromArg<'v> for StrList {
    fn from_arg(value: Value<'v>, _: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
        match list_or_tuple(value) {
            Some(items) => Ok(Self(texts(items, "value")?)),
            None if value.is_none() => Ok(Self::default()),
            None => {
                let type_name = type_name(value);
                Err(format!(
                    "value should be a List or Tuple of strings, but is of type {type_name}"
                )
                .into())
            }
        }
    }
}

/// A string, or a list or tuple of strings; `None` counts as not given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StrOrList(pub Option<Vec<String>>);

impl<'v> FromArg<'v> for StrOrList {
    fn from_arg(value: Value<'v>, _: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
        if let Some(text) = as_text(value) {
            return Ok(Self(Some(vec![text.to_owned()])));
        }
        match list_or_tuple(value) {
            Some(items) => Ok(Self(Some(texts(items, "list")?))),
            None if value.is_none() => Ok(Self(None)),
            None => {
                let type_name = type_name(value);
                Err(format!("value should be a string or List or Tuple of strings, but is of type {type_name}")
                    .into())
            }
        }
    }
}

/// The elements of any sequence.
#[derive(Clone, Default)]
pub struct Sequence<'v>(pub Vec<Value<'v>>);

impl<'v> FromArg<'v> for Sequence<'v> {
    fn from_arg(value: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
        match sequence(value, eval.heap()) {
            Some(items) => Ok(Self(items)),
            None => Err(format!("got {}, want starlark.Sequence", type_name(value)).into()),
        }
    }
}

/// Any sequence of plain strings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StrSequence(pub Vec<String>);

impl<'v> FromArg<'v> for StrSequence {
    fn from_arg(value: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
        match sequence(value, eval.heap()) {
            Some(items) => Ok(Self(plain_strings(&items)?)),
            None => {
                Err(format!("'{}' is a {}, not a sequence", repr(value), go_type(value)).into())
            }
        }
    }
}

/// A dict of strings; `None` for an empty one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StrDict(pub BTreeMap<String, String>);

impl<'v> FromArg<'v> for StrDict {
    fn from_arg(value: Value<'v>, _: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
        if value.is_none() {
            return Ok(Self::default());
        }
        let Some(dict) = DictRef::from_value(value) else {
            return Err(format!("expected dict, got {}", go_type(value)).into());
        };
        let text = |it: Value<'v>, what: &str| match as_text(it) {
            Some(text) => Ok(text.to_owned()),
            None => {
                Err(Mismatch(format!("{what} is not a string: {} ({})", go_type(it), repr(it))))
            }
        };
        dict.iter()
            .map(|(key, value)| Ok((text(key, "key")?, text(value, "value")?)))
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

/// A name that can be a path segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Name(pub String);

impl<'v> FromArg<'v> for Name {
    fn from_arg(value: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
        let Strish(name) = Strish::from_arg(value, eval)?;
        label::check_name(&name).map_err(|why| why.to_string())?;
        Ok(Self(name))
    }
}

/// Labels of a resource, each its own value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(pub BTreeMap<String, String>);

impl<'v> FromArg<'v> for Labels {
    fn from_arg(value: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
        let items = match list_or_tuple(value) {
            Some(items) => items.to_vec(),
            None if value.is_none() => Vec::new(),
            None if value.unpack_str().is_some() => vec![value],
            None => {
                let type_name = type_name(value);
                return Err(format!(
                    "value should be a label or List or Tuple of labels, but is of type {type_name}"
                )
                .into());
            }
        };
        let mut labels = BTreeMap::new();
        for item in items {
            let Strish(text) = Strish::from_arg(item, eval)?;
            label::check_label(&text).map_err(|why| why.to_string())?;
            labels.insert(text.clone(), text);
        }
        Ok(Self(labels))
    }
}

/// References of images.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageRefs(pub Vec<Reference>);

impl<'v> FromArg<'v> for ImageRefs {
    fn from_arg(value: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
        let StrList(names) = StrList::from_arg(value, eval)?;
        let parse = |it: &String| {
            Reference::parse(it)
                .map_err(|why| Mismatch(format!("must be a valid image reference: {why}")))
        };
        names.iter().map(parse).collect::<Result<_, _>>().map(Self)
    }
}

/// A duration in Go's syntax, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Duration(pub i64);

impl<'v> FromArg<'v> for Duration {
    fn from_arg(value: Value<'v>, _: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
        let Some(text) = value.unpack_str() else {
            return Err(format!("Expected string. Got: {}", type_name(value)).into());
        };
        let parsed = duration::Duration::parse(text).map_err(|why| why.to_string())?;
        Ok(Self(parsed.0))
    }
}

/// A command: a string for the shell, or a sequence of strings. No value means no command.
///
/// # Errors
/// If it is neither, or its directory or environment are wrong.
pub fn command<'v>(
    command: Option<Value<'v>>,
    dir: Option<Value<'v>>,
    env: &StrDict,
    eval: &Evaluator<'v, '_, '_>,
) -> Result<Cmd, Mismatch> {
    let session = Session::of(eval);
    let dir = match dir.filter(|it| !it.is_none()) {
        None => session.dir(),
        Some(value) => abs_path(value, session)
            .map_err(|why| format!("a command directory must be empty or a string: {why}"))?,
    };
    let env = env_pairs(env)?;
    let Some(command) = command else { return Ok(Cmd::default()) };
    let argv = if let Some(script) = command.unpack_str() {
        shell(script)
    } else if let Some(items) = sequence(command, eval.heap()) {
        let argv = plain_strings(&items)
            .map_err(|why| format!("a command must be a string or a list of strings: {why}"))?;
        (!argv.is_empty()).then_some(argv)
    } else {
        let found = go_type(command);
        return Err(format!("a command must be a string or list of strings. found {found}").into());
    };
    Ok(Cmd { argv, dir, env, echo_off: false })
}

/// The shell call for a script; nothing for an empty one.
pub fn shell(script: &str) -> Option<Vec<String>> {
    (!script.is_empty()).then(|| vec!["sh".to_owned(), "-c".to_owned(), script.trim().to_owned()])
}

fn env_pairs(env: &StrDict) -> Result<Option<Vec<String>>, Mismatch> {
    if let Some(value) = env.0.get("") {
        return Err(format!("environment has empty key for value {}", quote(value)).into());
    }
    let mut pairs: Vec<String> =
        env.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
    pairs.sort();
    Ok((!pairs.is_empty()).then_some(pairs))
}

//! The modules `os`, `os.path`, `sys` and `shlex`.

use builtins_language::{
    AllocList, Args, BuiltinsExt, EvalResult, Evaluator, FrozenModuleValue, FrozenValue,
    GlobalsBuilder, NativeFn, Outcome, Value, raise, repr,
};
use engine_formats::golang::path;

use super::{coerce::Strish, environ::Environ};
use crate::session::{Session, link_info};

const OS: &[(&str, NativeFn)] =
    &[("getcwd", getcwd), ("getenv", getenv), ("putenv", putenv), ("unsetenv", unsetenv)];

const OS_PATH: &[(&str, NativeFn)] = &[
    ("abspath", abspath),
    ("basename", basename),
    ("dirname", dirname),
    ("exists", exists),
    ("join", join),
    ("realpath", realpath),
    ("relpath", relpath),
];

pub(super) fn register(builder: &mut GlobalsBuilder, session: &Session) {
    let functions = |builder: &GlobalsBuilder, module: &str, functions: &[(&str, NativeFn)]| {
        functions
            .iter()
            .map(|(name, function)| {
                ((*name).to_owned(), builder.member(&format!("{module}.{name}"), *function))
            })
            .collect::<Vec<(String, FrozenValue)>>()
    };
    let paths = FrozenModuleValue::builtin("os.path", functions(builder, "os.path", OS_PATH));
    let mut members = functions(builder, "os", OS);
    members.push(("path".to_owned(), builder.alloc(paths)));
    members.push(("environ".to_owned(), builder.alloc(Environ::new(session.host.clone()))));
    members.push(("name".to_owned(), builder.alloc("posix")));
    builder.set("os", FrozenModuleValue::builtin("os", members));

    let argv = builder.alloc(AllocList(session.request.argv.iter().map(String::as_str)));
    let executable = match &session.request.executable {
        Some(path) => builder.alloc(path.as_str()),
        None => FrozenValue::new_none(),
    };
    let members = vec![("argv".to_owned(), argv), ("executable".to_owned(), executable)];
    builder.set("sys", FrozenModuleValue::builtin("sys", members));
    builder.module("shlex", &[("quote", shell_quote)]);
}

/// The directory of the file that is being executed.
fn getcwd<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    args.unpack(eval, &mut [])?;
    Ok(eval.heap().alloc(Session::of(eval).dir()))
}

/// An environment variable.
fn getenv<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let (mut key, mut default) = (Strish::default(), Value::new_none());
    args.unpack(eval, &mut [("key", &mut key), ("default?", &mut default)])?;
    let value = Session::of(eval).host.env(&key.0);
    Ok(value.map_or(default, |it| eval.heap().alloc(it)))
}

/// Sets an environment variable.
fn putenv<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let (mut key, mut value) = (Strish::default(), Strish::default());
    args.unpack(eval, &mut [("key", &mut key), ("value", &mut value)])?;
    Session::of(eval).host.set_env(&key.0, Some(&value.0));
    Ok(Value::new_none())
}

/// Removes an environment variable.
fn unsetenv<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let key: Strish = args.only(eval, "key")?;
    Session::of(eval).host.set_env(&key.0, None);
    Ok(Value::new_none())
}

/// The only argument of a function of paths.
fn path_argument<'v>(eval: &mut Evaluator<'v, '_, '_>, args: &Args<'v>) -> EvalResult<String> {
    let path: String = args.only(eval, "path")?;
    Ok(path)
}

/// An absolute path.
fn abspath<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let given = path_argument(eval, &args)?;
    Ok(eval.heap().alloc(Session::of(eval).abs(&given)))
}

/// The last element of a path.
fn basename<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let given = path_argument(eval, &args)?;
    Ok(eval.heap().alloc(path::base(&given)))
}

/// All but the last element of a path.
fn dirname<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let given = path_argument(eval, &args)?;
    Ok(eval.heap().alloc(path::dir(&given)))
}

/// Whether a path leads to something.
fn exists<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let given = path_argument(eval, &args)?;
    let session = Session::of(eval);
    Ok(Value::new_bool(session.host.stat(&session.abs(&given)).is_ok()))
}

/// Joins the elements of a path and cleans the result.
fn join<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let mut parts = Vec::new();
    for (index, part) in args.positional.iter().enumerate() {
        let Some(text) = part.unpack_str() else {
            let shown = repr(*part);
            return Err(raise(format!(
                "os.path.join() only accepts strings. Argument #{index}: {shown}"
            )));
        };
        parts.push(text);
    }
    Ok(eval.heap().alloc(path::join(&parts)))
}

/// An absolute path without links.
fn realpath<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let given = path_argument(eval, &args)?;
    let session = Session::of(eval);
    let resolved =
        path::eval_symlinks(&session.abs(&given), |it| link_info(session.host.as_ref(), it))
            .map_err(|why| raise(why.to_string()))?;
    Ok(eval.heap().alloc(resolved))
}

/// A path relative to another.
fn relpath<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let (mut target, mut base) = (String::new(), Session::of(eval).dir());
    args.unpack(eval, &mut [("targpath", &mut target), ("basepath?", &mut base)])?;
    let relative = path::rel(&base, &target).map_err(|why| raise(why.to_string()))?;
    Ok(eval.heap().alloc(relative))
}

/// A word that a shell takes as it is.
fn shell_quote<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let name: String = args.only(eval, "name")?;
    let is_plain = |it: char| it.is_ascii_alphanumeric() || it == '_' || "@%+=:,./-".contains(it);
    let quoted = if name.is_empty() {
        "''".to_owned()
    } else if name.chars().all(is_plain) {
        name
    } else {
        format!("'{}'", name.replace('\'', r#"'"'"'"#))
    };
    Ok(eval.heap().alloc(quoted))
}

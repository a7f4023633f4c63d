//! The `config` module: settings of the Tiltfile, and which resources are enabled.

use builtins_language::{
    AllocDict, Args, BuiltinsExt, Evaluator, FrozenModuleValue, GlobalsBuilder, NativeFn, Outcome,
    Value, raise,
};
use engine_formats::golang::path;

use super::coerce::{Sequence, plain_strings};
use crate::{
    declarations::config::{Selection, Setting, SettingKind},
    diagnostic::raise_advised,
    session::{Session, Watch},
};

mod args;
mod file;
mod object;

/// The settings file of the user, next to the Tiltfile.
const FILE_NAME: &str = "tilt_config.json";

const FUNCTIONS: &[(&str, NativeFn)] = &[
    ("clear_enabled_resources", clear_enabled_resources),
    ("define_bool", define_bool),
    ("define_object", define_object),
    ("define_string", define_string),
    ("define_string_list", define_string_list),
    ("parse", parse),
    ("set_enabled_resources", set_enabled_resources),
];

/// Adds the module, which knows what this evaluation is of.
pub(super) fn register(builder: &mut GlobalsBuilder, session: &Session) {
    let main_path = session.main_path.as_str();
    let values = [
        ("main_dir", path::dir(main_path)),
        ("main_path", main_path.to_owned()),
        ("tilt_subcommand", session.request.subcommand.clone()),
    ];
    let values = values.map(|(name, text)| (name.to_owned(), builder.alloc(text.as_str())));
    let function = |(name, function): &(&str, NativeFn)| {
        ((*name).to_owned(), builder.member(&format!("config.{name}"), *function))
    };
    let members = FUNCTIONS.iter().map(function).chain(values).collect();
    builder.set("config", FrozenModuleValue::builtin("config", members));
}

/// `config.define_string(name, args=False, usage="")`.
fn define_string<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    define(SettingKind::String, eval, &args)
}

/// `config.define_string_list(name, args=False, usage="")`.
fn define_string_list<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    define(SettingKind::StringList, eval, &args)
}

/// `config.define_bool(name, args=False, usage="")`.
fn define_bool<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    define(SettingKind::Bool, eval, &args)
}

/// `config.define_object(name, args=False, usage="")`.
fn define_object<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    define(SettingKind::Object, eval, &args)
}

fn define<'v>(kind: SettingKind, eval: &mut Evaluator<'v, '_, '_>, args: &Args<'v>) -> Outcome<'v> {
    let (mut name, mut is_positional, mut usage) = (String::new(), false, String::new());
    args.unpack(
        eval,
        &mut [("name", &mut name), ("args?", &mut is_positional), ("usage?", &mut usage)],
    )?;
    if name.is_empty() {
        return Err(raise("'name' is required"));
    }
    let config = &mut Session::of(eval).declarations.borrow_mut().config;
    if config.parsed_from.is_some() {
        let function = args.function;
        return Err(raise(format!("{function} cannot be called after config.parse is called")));
    }
    if config.settings.contains_key(&name) {
        return Err(raise(format!("{name} defined multiple times")));
    }
    if is_positional {
        if let Some(other) = &config.positional {
            let message = format!("both {name} and {other} are defined as positional args");
            return Err(raise(message));
        }
        config.positional = Some(name.clone());
    }
    config.settings.insert(name, Setting { kind, usage });
    Ok(Value::new_none())
}

/// `config.parse()`: the user's settings; the command line takes precedence over the file.
fn parse<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    args.unpack(eval, &mut [])?;
    let session = Session::of(eval);
    let dir = session.dir();
    let config = {
        let config = &mut session.declarations.borrow_mut().config;
        if let Some(earlier) = config.parsed_from.as_ref().filter(|it| **it != dir) {
            return Err(raise(format!(
                "{} can only be called from one Tiltfile working directory per run. \
                 It was called from {earlier} and {dir}",
                args.function
            )));
        }
        config.parsed_from = Some(dir.clone());
        config.clone()
    };
    let path = path::join(&[dir.as_str(), FILE_NAME]);
    session.watch(Watch::FileOnly, &path).map_err(|why| raise(why.to_string()))?;
    let mut settings =
        file::read(&path, &config, &*session.host).map_err(|why| raise(why.to_string()))?;
    let outcome = args::parse(&session.request.args, &config);
    if !outcome.help.is_empty() {
        session.info(&outcome.help);
    }
    settings.extend(outcome.settings.map_err(|why| raise_advised(why.to_string(), why.advice()))?);
    let heap = eval.heap();
    let entries =
        settings.iter().map(|(name, given)| (heap.alloc(name.as_str()), given.alloc(heap)));
    Ok(heap.alloc(AllocDict(entries.collect::<Vec<_>>())))
}

/// `config.set_enabled_resources(resources)`: an empty list is as good as no call.
fn set_enabled_resources<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let resources: Sequence = args.only(eval, "resources")?;
    let names = plain_strings(&resources.0)
        .map_err(|why| raise(format!("resources must be a list of string: {why}")))?;
    let selection = if names.is_empty() { Selection::Unsaid } else { Selection::Only(names) };
    Session::of(eval).declarations.borrow_mut().config.selection = selection;
    Ok(Value::new_none())
}

/// `config.clear_enabled_resources()`.
fn clear_enabled_resources<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    args.unpack(eval, &mut [])?;
    Session::of(eval).declarations.borrow_mut().config.selection = Selection::Nothing;
    Ok(Value::new_none())
}

#[cfg(test)]
mod tests;

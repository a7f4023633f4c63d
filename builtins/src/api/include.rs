//! `include` and `load_dynamic`: execute other files, at most once each.

use builtins_language::{Args, BuiltinsExt, Evaluator, GlobalsBuilder, Outcome, Value};

use super::coerce::Strish;
use crate::loader;

pub(super) fn register(builder: &mut GlobalsBuilder) {
    builder.function("include", include);
    builder.function("load_dynamic", load_dynamic);
}

/// Executes a file for what it declares.
fn include<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let path: String = args.only(eval, "path")?;
    loader::load(eval, args.function, &path)?;
    Ok(Value::new_none())
}

/// Executes a file and returns its globals as a frozen dict.
fn load_dynamic<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let path: Strish = args.only(eval, "path")?;
    let file = loader::load(eval, args.function, &path.0)?;
    file.to_frozen_dict(eval.heap())
}

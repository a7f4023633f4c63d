//! `warn`, `fail`, `exit`.

use builtins_language::{
    Args, BuiltinsExt, Evaluator, GlobalsBuilder, Outcome, Value, raise, raise_with_payload, repr,
};

use crate::session::Session;

/// What `exit` raises: the whole evaluation stops, successfully.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exit;

pub(super) fn register(builder: &mut GlobalsBuilder) {
    builder.function("warn", warn);
    builder.function("fail", fail);
    builder.function("exit", exit);
}

/// Logs a warning.
fn warn<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let message: String = args.only(eval, "msg")?;
    Session::of(eval).warn(&message);
    Ok(Value::new_none())
}

/// Stops the evaluation with an error.
fn fail<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let message: String = args.only(eval, "msg")?;
    Err(raise(message))
}

/// Stops the evaluation; what was declared so far counts.
fn exit<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let mut code = Value::new_none();
    args.unpack(eval, &mut [("code?", &mut code)])?;
    if !code.is_none() {
        Session::of(eval).info(&repr(code));
    }
    Err(raise_with_payload("exit", Exit))
}

//! Trigger modes as values, and the effective mode of a resource.

use std::fmt;

use builtins_language::{
    ApiValue, Args, BuiltinsExt, EvalResult, Evaluator, FromArg, GlobalsBuilder, Mismatch, Outcome,
    Value, ValueHasher, ValueLike, api_value, raise, type_name,
};
use engine_model::TriggerMode;

use crate::session::Session;

pub(super) fn register(builder: &mut GlobalsBuilder) {
    builder.set("TRIGGER_MODE_AUTO", TriggerModeArg { manual: false });
    builder.set("TRIGGER_MODE_MANUAL", TriggerModeArg { manual: true });
    builder.function("trigger_mode", trigger_mode);
}

/// One of the two constants that Tiltfiles pass as a trigger mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TriggerModeArg {
    /// Whether changes wait for a trigger.
    pub manual: bool,
}

api_value!(TriggerModeArg);

impl fmt::Display for TriggerModeArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.manual { "TRIGGER_MODE_MANUAL" } else { "TRIGGER_MODE_AUTO" })
    }
}

impl ApiValue for TriggerModeArg {
    const TYPE: &'static str = "TriggerMode";

    fn is_equal(&self, other: &Self) -> bool {
        self == other
    }

    fn write_hash(&self, hasher: &mut ValueHasher) -> EvalResult<()> {
        std::hash::Hash::hash(self, hasher);
        Ok(())
    }
}

impl<'v> FromArg<'v> for TriggerModeArg {
    fn from_arg(value: Value<'v>, _: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
        match value.downcast_ref::<Self>() {
            Some(mode) => Ok(*mode),
            None => Err(format!("got {}, want TriggerMode", type_name(value)).into()),
        }
    }
}

/// The mode of a resource: its own one, else the one for all, else automatic.
pub(crate) fn resolve(
    own: Option<TriggerModeArg>,
    global: Option<TriggerModeArg>,
    auto_init: bool,
) -> TriggerMode {
    match (own.or(global).unwrap_or_default().manual, auto_init) {
        (false, true) => TriggerMode::Auto,
        (true, true) => TriggerMode::ManualWithAutoInit,
        (true, false) => TriggerMode::Manual,
        (false, false) => TriggerMode::AutoWithManualInit,
    }
}

/// `trigger_mode(trigger_mode)`: the mode of all resources that say nothing else.
fn trigger_mode<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let mode: TriggerModeArg = args.only(eval, "trigger_mode")?;
    let session = Session::of(eval);
    let position = session.call_position(eval);
    let mut declarations = session.declarations.borrow_mut();
    if let Some((_, earlier)) = &declarations.settings.trigger_mode {
        let function = args.function;
        return Err(raise(format!(
            "{function} can only be called once. It was already called at {earlier}"
        )));
    }
    declarations.settings.trigger_mode = Some((mode, position));
    Ok(Value::new_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_of_a_resource_wins_over_the_mode_for_all() {
        const AUTO: Option<TriggerModeArg> = Some(TriggerModeArg { manual: false });
        const MANUAL: Option<TriggerModeArg> = Some(TriggerModeArg { manual: true });
        for (own, global, auto_init, expected) in [
            (None, None, true, TriggerMode::Auto),
            (None, None, false, TriggerMode::AutoWithManualInit),
            (None, MANUAL, true, TriggerMode::ManualWithAutoInit),
            (None, MANUAL, false, TriggerMode::Manual),
            (AUTO, MANUAL, true, TriggerMode::Auto),
            (MANUAL, AUTO, false, TriggerMode::Manual),
        ] {
            assert_eq!(resolve(own, global, auto_init), expected);
        }
    }
}

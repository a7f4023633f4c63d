//! Decides what trigger modes are as values, and which one a resource ends up with.

#![expect(unsafe_code, reason = "the starlark crate derives unsafe impls for its values")]

use std::fmt;

use allocative::Allocative;
use engine_model::TriggerMode;
use starlark::{
    any::ProvidesStaticType,
    collections::StarlarkHasher,
    environment::GlobalsBuilder,
    eval::Evaluator,
    starlark_simple_value,
    values::{NoSerialize, StarlarkPagablePanic, StarlarkValue, Value, ValueLike, starlark_value},
};

use crate::{
    dialect::{
        BuiltinsExt,
        args::{Args, FromArg, Mismatch},
        raise, type_name,
    },
    session::Session,
};

pub(super) fn register(builder: &mut GlobalsBuilder) {
    builder.set("TRIGGER_MODE_AUTO", TriggerModeArg { manual: false });
    builder.set("TRIGGER_MODE_MANUAL", TriggerModeArg { manual: true });
    builder.function("trigger_mode", trigger_mode);
}

/// One of the two constants that Tiltfiles pass as a trigger mode.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    ProvidesStaticType,
    NoSerialize,
    StarlarkPagablePanic,
    Allocative,
)]
pub struct TriggerModeArg {
    /// Whether changes wait for somebody who triggers the update.
    pub manual: bool,
}

starlark_simple_value!(TriggerModeArg);

impl fmt::Display for TriggerModeArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.manual { "TRIGGER_MODE_MANUAL" } else { "TRIGGER_MODE_AUTO" })
    }
}

#[starlark_value(type = "TriggerMode")]
impl<'v> StarlarkValue<'v> for TriggerModeArg {
    fn equals(&self, other: Value<'v>) -> starlark::Result<bool> {
        Ok(other.downcast_ref::<Self>() == Some(self))
    }

    fn write_hash(&self, hasher: &mut StarlarkHasher) -> starlark::Result<()> {
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
#[must_use]
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
fn trigger_mode<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    args: Args<'v>,
) -> starlark::Result<Value<'v>> {
    let mut mode = TriggerModeArg::default();
    args.unpack(eval, &mut [("trigger_mode", &mut mode)])?;
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

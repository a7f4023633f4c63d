//! Further settings: secrets in logs, analytics, telemetry, features, teams.

use builtins_language::{Args, BuiltinsExt, Evaluator, GlobalsBuilder, Outcome, Value, raise};
use engine_formats::golang::quote::command_line;
use engine_model::Nanoseconds;

use crate::{
    api::coerce::{self, Duration, StrDict},
    declarations::settings::{FeatureError, SNAPSHOTS},
    session::Session,
};

pub(super) fn register(builder: &mut GlobalsBuilder) {
    builder.function("secret_settings", secret_settings);
    builder.function("analytics_settings", analytics_settings);
    builder.function("experimental_analytics_report", experimental_analytics_report);
    builder.function("experimental_telemetry_cmd", experimental_telemetry_cmd);
    builder.function("experimental_metrics_settings", experimental_metrics_settings);
    builder.function("enable_feature", enable_feature);
    builder.function("disable_feature", disable_feature);
    builder.function("disable_snapshots", disable_snapshots);
    builder.function("set_team", set_team);
}

/// `secret_settings(disable_scrub)`.
fn secret_settings<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let disable_scrub: bool = args.only(eval, "disable_scrub")?;
    Session::of(eval).declarations.borrow_mut().settings.scrub_secrets = !disable_scrub;
    Ok(Value::new_none())
}

/// `analytics_settings(enable)`.
fn analytics_settings<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let enable: bool = args.only(eval, "enable")?;
    Session::of(eval).declarations.borrow_mut().settings.analytics = if enable { 2 } else { 1 };
    Ok(Value::new_none())
}

/// `experimental_analytics_report(tags)`: nothing is reported.
fn experimental_analytics_report<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    args: Args<'v>,
) -> Outcome<'v> {
    let _: StrDict = args.only(eval, "tags")?;
    Ok(Value::new_none())
}

/// `experimental_telemetry_cmd(cmd, cmd_bat, period, dir)`.
fn experimental_telemetry_cmd<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let [mut cmd, mut cmd_bat, mut dir] = [None::<Value<'v>>; 3];
    let mut period = Duration(0);
    args.unpack(
        eval,
        &mut [
            ("cmd", &mut cmd),
            ("cmd_bat?", &mut cmd_bat),
            ("period?", &mut period),
            ("dir?", &mut dir),
        ],
    )?;
    let cmd = coerce::command(cmd, dir, &StrDict::default(), eval).map_err(raise)?;
    if cmd.is_empty() {
        return Err(raise("cmd cannot be empty"));
    }
    let session = Session::of(eval);
    let settings = &mut session.declarations.borrow_mut().settings.telemetry;
    if let Some(argv) = &settings.cmd.argv {
        let (function, earlier) = (args.function, command_line(argv));
        return Err(raise(format!("{function} called multiple times; already set to {earlier}")));
    }
    settings.cmd = cmd;
    settings.workdir = session.dir();
    if period.0 != 0 {
        settings.period = Nanoseconds(period.0);
    }
    Ok(Value::new_none())
}

/// `experimental_metrics_settings(...)`: accepts anything and does nothing.
fn experimental_metrics_settings<'v>(eval: &mut Evaluator<'v, '_, '_>, _: Args<'v>) -> Outcome<'v> {
    Session::of(eval).warn("experimental_metrics_settings() is deprecated");
    Ok(Value::new_none())
}

/// `enable_feature(msg)`.
fn enable_feature<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let flag: String = args.only(eval, "msg")?;
    set_feature(eval, &flag, true)
}

/// `disable_feature(msg)`.
fn disable_feature<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let flag: String = args.only(eval, "msg")?;
    set_feature(eval, &flag, false)
}

/// `disable_snapshots()`.
fn disable_snapshots<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    args.unpack(eval, &mut [])?;
    set_feature(eval, SNAPSHOTS, false)
}

fn set_feature<'v>(eval: &Evaluator<'v, '_, '_>, flag: &str, enabled: bool) -> Outcome<'v> {
    let session = Session::of(eval);
    let outcome = session.declarations.borrow_mut().settings.features.set(flag, enabled);
    match outcome {
        Ok(()) => {}
        Err(why @ FeatureError::Obsolete(_)) => session.warn(&why.to_string()),
        Err(why @ FeatureError::Unknown(_)) => return Err(raise(why.to_string())),
    }
    Ok(Value::new_none())
}

/// `set_team(team_id)`.
fn set_team<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let team_id: String = args.only(eval, "team_id")?;
    if team_id.is_empty() {
        return Err(raise("team_id cannot be empty"));
    }
    let settings = &mut Session::of(eval).declarations.borrow_mut().settings;
    if !settings.team_id.is_empty() {
        let earlier = &settings.team_id;
        let message = format!("team_id set multiple times (to '{earlier}' and '{team_id}')");
        return Err(raise(message));
    }
    settings.team_id = team_id;
    Ok(Value::new_none())
}

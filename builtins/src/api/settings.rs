//! Settings of the engine that a Tiltfile can change: updates, `ci`, pruning, versions, watching.

use builtins_language::{
    Args, BuiltinsExt, Evaluator, GlobalsBuilder, Mismatch, Outcome, Value, raise, repr, type_name,
};
use engine_formats::golang::{
    quote::quote,
    semver::{Range, SemverError, Version},
};
use engine_model::{GoDuration, IgnorePatterns, Nanoseconds};

use super::{
    arguments::{Arguments as _, arguments},
    coerce::{Duration, StrOrList, go_type},
};
use crate::{COMPATIBLE_VERSION, session::Session};

mod product;

pub(super) fn register(builder: &mut GlobalsBuilder) {
    builder.function("update_settings", update_settings);
    builder.function("ci_settings", ci_settings);
    builder.function("docker_prune_settings", docker_prune_settings);
    builder.function("version_settings", version_settings);
    builder.function("watch_settings", watch_settings);
    product::register(builder);
}

/// An integer that may be left out or `None`.
fn optional_int(value: Option<Value<'_>>) -> Result<Option<i32>, Mismatch> {
    let Some(value) = value.filter(|it| !it.is_none()) else { return Ok(None) };
    match value.unpack_i32() {
        Some(int) => Ok(Some(int)),
        None if type_name(value) == "int" => Err(format!("{} out of range", repr(value)).into()),
        None => Err(format!("got {}, want int", go_type(value)).into()),
    }
}

arguments! {
    struct UpdateArgs<'v> {
        max_parallel: Option<Value<'v>> = "max_parallel_updates?",
        upsert_timeout: Option<Value<'v>> = "k8s_upsert_timeout_secs?",
        suppressed: StrOrList = "suppress_unused_image_warnings?",
        server_side_apply: String = "k8s_server_side_apply?",
    }
}

/// `update_settings(...)`: calls add up.
fn update_settings<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let UpdateArgs { max_parallel, upsert_timeout, suppressed, server_side_apply } =
        UpdateArgs::unpack(eval, &args)?;
    let int = |name: &str, value| {
        optional_int(value)
            .map_err(|why| raise(format!("update_settings: for parameter \"{name}\": {why}")))
    };
    let max_parallel = int("max_parallel_updates", max_parallel)?;
    if let Some(given) = max_parallel.filter(|it| *it < 1) {
        return Err(raise(format!("max number of parallel updates must be >= 1(got: {given})")));
    }
    let upsert_timeout = int("k8s_upsert_timeout_secs", upsert_timeout)?;
    if let Some(given) = upsert_timeout.filter(|it| *it < 1) {
        return Err(raise(format!("minimum k8s upsert timeout is 1s; got {given}s")));
    }
    let server_side_apply = match server_side_apply.as_str() {
        "" => None,
        "true" => Some("true"),
        "false" => Some("false"),
        "auto" => Some("auto"),
        other => {
            return Err(raise(format!(
                "update_settings: k8s_server_side_apply must be \"true\", \"false\", or \"auto\"; got {}",
                quote(other)
            )));
        }
    };
    let settings = &mut Session::of(eval).declarations.borrow_mut().settings.update;
    if let Some(given) = max_parallel {
        settings.max_parallel_updates = i64::from(given);
    }
    if let Some(given) = upsert_timeout {
        settings.k8s_upsert_timeout = GoDuration::from_secs(i64::from(given));
    }
    if let Some(given) = server_side_apply {
        settings.k8s_server_side_apply = given;
    }
    if let Some(more) = suppressed.0.filter(|it| !it.is_empty()) {
        settings.suppress_unused_image_warnings.get_or_insert_default().extend(more);
    }
    Ok(Value::new_none())
}

/// `ci_settings(...)`: what is given replaces what was given before.
fn ci_settings<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    // The reference takes a nanosecond less than nothing for "not given".
    let [mut grace_period, mut timeout, mut readiness_timeout] = [Duration(-1); 3];
    args.unpack(
        eval,
        &mut [
            ("k8s_grace_period?", &mut grace_period),
            ("timeout?", &mut timeout),
            ("readiness_timeout?", &mut readiness_timeout),
        ],
    )?;
    let settings = &mut Session::of(eval).declarations.borrow_mut().settings.ci;
    if grace_period.0 != -1 {
        settings.k8s_grace_period = Some(GoDuration(grace_period.0));
    }
    if timeout.0 != -1 {
        settings.timeout = GoDuration(timeout.0);
    }
    if readiness_timeout.0 != -1 {
        settings.readiness_timeout = GoDuration(readiness_timeout.0);
    }
    Ok(Value::new_none())
}

arguments! {
    struct PruneArgs<'v> {
        disable: bool = "disable?",
        max_age_mins: i64 = "max_age_mins?",
        num_builds: i64 = "num_builds?",
        interval_hrs: i64 = "interval_hrs?",
        keep_recent: Option<Value<'v>> = "keep_recent?",
    }
}

/// `docker_prune_settings(...)`.
fn docker_prune_settings<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    const MINUTE: i64 = 60_000_000_000;
    let PruneArgs { disable, max_age_mins, num_builds, interval_hrs, keep_recent } =
        PruneArgs::unpack(eval, &args)?;
    if num_builds != 0 && interval_hrs != 0 {
        return Err(raise(
            "can't specify both 'prune every X builds' and 'prune every Y hours'; please pass \
             only one of `num_builds` and `interval_hrs`",
        ));
    }
    let keep_recent = keep_recent
        .map(|value| match value.unpack_i32() {
            Some(int) => Ok(i64::from(int)),
            None if type_name(value) == "int" => Err(format!("{} out of range", repr(value))),
            None => Err(format!("got {}, want int", type_name(value))),
        })
        .transpose()
        .map_err(raise)?;
    let settings = &mut Session::of(eval).declarations.borrow_mut().settings.docker_prune;
    settings.enabled = !disable;
    settings.num_builds = num_builds;
    if max_age_mins != 0 {
        settings.max_age = Nanoseconds(max_age_mins.wrapping_mul(MINUTE));
    }
    if interval_hrs != 0 {
        settings.interval = Nanoseconds(interval_hrs.wrapping_mul(60 * MINUTE));
    }
    if let Some(given) = keep_recent {
        settings.keep_recent = given;
    }
    Ok(Value::new_none())
}

/// `version_settings(check_updates=True, constraint="")`.
fn version_settings<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let session = Session::of(eval);
    let mut check_updates = session.declarations.borrow().settings.version.check_updates;
    let mut constraint = String::new();
    let unpacked = args.unpack(
        eval,
        &mut [("check_updates?", &mut check_updates), ("constraint?", &mut constraint)],
    );
    // An unmet constraint is reported even if another argument is wrong.
    if !constraint.is_empty() {
        check_version(&constraint).map_err(|why| raise(why.to_string()))?;
    }
    unpacked?;
    session.declarations.borrow_mut().settings.version.check_updates = check_updates;
    Ok(Value::new_none())
}

/// Why a version constraint is not met.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum ConstraintError {
    #[error("error parsing version constraint: {0}")]
    Syntax(#[from] SemverError),
    #[error(
        "you are running Tilt version {COMPATIBLE_VERSION}, which doesn't match the version \
         constraint specified in your Tiltfile: '{0}'"
    )]
    Unmet(String),
}

fn check_version(constraint: &str) -> Result<(), ConstraintError> {
    let range = Range::parse(constraint)?;
    match Version::parse(COMPATIBLE_VERSION) {
        Ok(version) if range.contains(&version) => Ok(()),
        _ => Err(ConstraintError::Unmet(constraint.to_owned())),
    }
}

/// `watch_settings(ignore=[])`: each call adds patterns relative to its directory.
fn watch_settings<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let mut ignore = StrOrList::default();
    args.unpack(eval, &mut [("ignore?", &mut ignore)])?;
    if let Some(patterns) = ignore.0.filter(|it| !it.is_empty()) {
        let session = Session::of(eval);
        let ignores = IgnorePatterns {
            local_path: session.dir(),
            source: "watch_settings()".to_owned(),
            patterns: Some(patterns),
        };
        let settings = &mut session.declarations.borrow_mut().settings.watch;
        settings.ignores.get_or_insert_default().push(ignores);
    }
    Ok(Value::new_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_constraints_are_checked_against_the_compatible_version() {
        for (constraint, expected) in [
            (">=0.13.2", None),
            (">0.0.1 <99.0.0", None),
            (
                ">=99.0.0",
                Some(
                    "you are running Tilt version 0.37.6, which doesn't match the version constraint specified in \
                     your Tiltfile: '>=99.0.0'",
                ),
            ),
        ] {
            let found = check_version(constraint).err().map(|why| why.to_string());
            assert_eq!(found.as_deref(), expected);
        }
        let error = check_version("^1.0.0").unwrap_err().to_string();
        assert!(error.starts_with("error parsing version constraint: "), "{error}");
    }
}

//! Live-update steps, and the validation of a list of them.

use std::fmt;

use builtins_language::{
    ApiValue, Args, BuiltinsExt, EvalResult, Evaluator, GlobalsBuilder, Outcome, RaisedError,
    Value, ValueHasher, ValueLike, api_value, raise, repr, type_name,
};
use engine_formats::golang::{
    path,
    quote::{command_line, quote},
};
use engine_model::{LiveUpdateExec, LiveUpdateSpec, LiveUpdateSync, Present};

use super::coerce::{AbsPaths, StrDict, command, one_or_sequence};
use crate::{
    declarations::images::UnusedStep,
    diagnostic::{Advice, raise_advised},
    session::Session,
};

pub(super) fn register(builder: &mut GlobalsBuilder) {
    builder.function("initial_sync", initial_sync);
    builder.function("fall_back_on", fall_back_on);
    builder.function("sync", sync);
    builder.function("run", run);
    builder.function("restart_container", restart_container);
}

/// What a step does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Step {
    InitialSync,
    FallBackOn { paths: Vec<String> },
    Sync { local: String, remote: String },
    Run { argv: Option<Vec<String>>, triggers: Vec<String>, echo_off: bool },
    RestartContainer,
}

impl Step {
    fn type_name(&self) -> &'static str {
        match self {
            Self::InitialSync => "live_update_initial_sync_step",
            Self::FallBackOn { .. } => "live_update_fall_back_on_step",
            Self::Sync { .. } => "live_update_sync_step",
            Self::Run { .. } => "live_update_run_step",
            Self::RestartContainer => "live_update_restart_container_step",
        }
    }

    fn is_true(&self) -> bool {
        match self {
            Self::InitialSync | Self::RestartContainer => true,
            Self::FallBackOn { paths } => !paths.is_empty(),
            Self::Sync { local, remote } => !local.is_empty() || !remote.is_empty(),
            Self::Run { argv, .. } => argv.is_some(),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InitialSync => f.write_str("initial_sync step"),
            Self::FallBackOn { paths } => write!(f, "fall_back_on step: [{}]'", paths.join(" ")),
            Self::Sync { local, remote } => write!(f, "sync step: '{local}'->'{remote}'"),
            Self::Run { argv, triggers, .. } => {
                let command = command_line(argv.as_deref().unwrap_or_default());
                write!(f, "run step: {}", quote(&command))?;
                if !triggers.is_empty() {
                    write!(f, " (triggers: {})", triggers.join("; "))?;
                }
                Ok(())
            }
            Self::RestartContainer => f.write_str("restart_container step"),
        }
    }
}

/// A step value of one of five types, which differ only in name.
macro_rules! step_values {
    ($($value:ident, $type_name:literal;)*) => {
        $(
            #[derive(Debug)]
            struct $value {
                step: Step,
                /// The place that made it.
                position: String,
            }

            api_value!($value);

            impl fmt::Display for $value {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    self.step.fmt(f)
                }
            }

            impl ApiValue for $value {
                const TYPE: &'static str = $type_name;

                fn is_true(&self) -> bool {
                    self.step.is_true()
                }

                fn is_equal(&self, other: &Self) -> bool {
                    self.step == other.step && self.position == other.position
                }

                fn write_hash(&self, hasher: &mut ValueHasher) -> EvalResult<()> {
                    std::hash::Hash::hash(&self.step, hasher);
                    Ok(())
                }
            }
        )*

        /// The step and its position, if the value is a step.
        fn step_of(value: Value<'_>) -> Option<(&Step, &str)> {
            $(
                if let Some(it) = value.downcast_ref::<$value>() {
                    return Some((&it.step, &it.position));
                }
            )*
            None
        }
    };
}

step_values! {
    InitialSyncValue, "live_update_initial_sync_step";
    FallBackOnValue, "live_update_fall_back_on_step";
    SyncValue, "live_update_sync_step";
    RunValue, "live_update_run_step";
    RestartContainerValue, "live_update_restart_container_step";
}

/// Remembers a step until something uses it, and makes a value of it.
fn record<'v>(eval: &mut Evaluator<'v, '_, '_>, step: Step) -> Value<'v> {
    let session = Session::of(eval);
    let position = session.call_position(eval).to_string();
    let unused = UnusedStep { text: step.to_string(), type_name: step.type_name() };
    session.declarations.borrow_mut().images.unused_steps.insert(position.clone(), unused);
    let heap = eval.heap();
    match step {
        Step::InitialSync => heap.alloc(InitialSyncValue { step, position }),
        Step::FallBackOn { .. } => heap.alloc(FallBackOnValue { step, position }),
        Step::Sync { .. } => heap.alloc(SyncValue { step, position }),
        Step::Run { .. } => heap.alloc(RunValue { step, position }),
        Step::RestartContainer => heap.alloc(RestartContainerValue { step, position }),
    }
}

/// Copies all files when a container starts.
fn initial_sync<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    args.unpack(eval, &mut [])?;
    Ok(record(eval, Step::InitialSync))
}

/// Changes of these files cause a full build.
fn fall_back_on<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let paths: AbsPaths = args.only(eval, "paths")?;
    Ok(record(eval, Step::FallBackOn { paths: paths.0.unwrap_or_default() }))
}

/// Copies changed files into the container.
fn sync<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let (mut local, mut remote) = (String::new(), String::new());
    args.unpack(eval, &mut [("local_path", &mut local), ("remote_path", &mut remote)])?;
    let local = Session::of(eval).abs(&local);
    Ok(record(eval, Step::Sync { local, remote }))
}

/// Runs a command in the container.
fn run<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let (mut cmd, mut trigger, mut echo_off) = (None::<Value>, None::<Value>, false);
    args.unpack(
        eval,
        &mut [("cmd", &mut cmd), ("trigger?", &mut trigger), ("echo_off?", &mut echo_off)],
    )?;
    let argv = command(cmd, None, &StrDict::default(), eval).map_err(raise)?.argv;
    let mut triggers = Vec::new();
    for item in trigger.map(|it| one_or_sequence(it, eval.heap())).unwrap_or_default() {
        let Some(text) = item.unpack_str() else {
            let command = command_line(argv.as_deref().unwrap_or_default());
            let (value, type_name) = (repr(item), type_name(item));
            return Err(raise(format!(
                "run cmd '{command}' triggers contained value '{value}' of type '{type_name}'. \
                 it may only contain strings"
            )));
        };
        triggers.push(text.to_owned());
    }
    Ok(record(eval, Step::Run { argv, triggers, echo_off }))
}

/// Restarts the container.
fn restart_container<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    args.unpack(eval, &mut [])?;
    Ok(record(eval, Step::RestartContainer))
}

/// Why a list of steps means nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum StepsError {
    #[error(
        "'steps' must be a list of live update steps - got value '{value}' of type '{type_name}'"
    )]
    NoStep { value: String, type_name: &'static str },
    #[error("initial_sync must appear at most once, at the start of the list")]
    LateInitialSync,
    #[error("fall_back_on steps must appear at the start of the list")]
    LateFallBack,
    #[error("all sync steps must precede all run steps")]
    LateSync,
    #[error("restart container is only valid as the last step")]
    EarlyRestart,
    #[error(transparent)]
    Unreachable(#[from] path::RelError),
    /// What the API says about the finished spec.
    #[error("{0}")]
    Spec(String),
}

impl StepsError {
    /// Raises it from a builtin with a parameter for steps.
    pub(super) fn raise(&self) -> RaisedError {
        let advice = matches!(self, Self::LateFallBack).then_some(Advice::OrderSteps);
        raise_advised(format!("live_update: {self}"), advice)
    }
}

/// What a list of steps means; nothing for no steps.
///
/// # Errors
/// If something is no step, or the order is wrong.
pub(super) fn from_steps<'v>(
    eval: &Evaluator<'v, '_, '_>,
    steps: Option<Value<'v>>,
) -> Result<Option<LiveUpdateSpec>, StepsError> {
    let session = Session::of(eval);
    let steps = steps.map(|it| one_or_sequence(it, eval.heap())).unwrap_or_default();
    if steps.is_empty() {
        return Ok(None);
    }
    let mut reader = StepReader::new(session.dir());
    for value in steps {
        let Some((step, position)) = step_of(value) else {
            let type_name = type_name(value);
            return Err(StepsError::NoStep { value: repr(value), type_name });
        };
        reader.read(step)?;
        session.declarations.borrow_mut().images.unused_steps.remove(position);
    }
    validate(&reader.spec)?;
    Ok(Some(reader.spec))
}

/// Reads steps in order: initial sync, fallbacks, syncs, runs, restart.
struct StepReader {
    spec: LiveUpdateSpec,
    initial_sync_is_late: bool,
    fallback_is_late: bool,
    sync_is_late: bool,
    run_is_late: bool,
}

impl StepReader {
    fn new(base_path: String) -> Self {
        Self {
            spec: LiveUpdateSpec { base_path, ..LiveUpdateSpec::default() },
            initial_sync_is_late: false,
            fallback_is_late: false,
            sync_is_late: false,
            run_is_late: false,
        }
    }

    fn read(&mut self, step: &Step) -> Result<(), StepsError> {
        match step {
            Step::InitialSync => {
                if self.initial_sync_is_late {
                    return Err(StepsError::LateInitialSync);
                }
                self.spec.initial_sync = Some(Present {});
            }
            Step::FallBackOn { paths } => {
                if self.fallback_is_late {
                    return Err(StepsError::LateFallBack);
                }
                for path in paths {
                    let relative = self.relative(path)?;
                    self.spec.stop_paths.push(relative);
                }
            }
            Step::Sync { local, remote } => {
                self.check_not_restarted()?;
                if self.sync_is_late {
                    return Err(StepsError::LateSync);
                }
                self.fallback_is_late = true;
                let local_path = self.relative(local)?;
                self.spec.syncs.push(LiveUpdateSync { local_path, container_path: remote.clone() });
            }
            Step::Run { argv, triggers, echo_off } => {
                self.check_not_restarted()?;
                self.fallback_is_late = true;
                self.sync_is_late = true;
                self.spec.execs.push(LiveUpdateExec {
                    args: argv.clone(),
                    trigger_paths: (!triggers.is_empty()).then(|| triggers.clone()),
                    echo_off: *echo_off,
                });
            }
            Step::RestartContainer => {
                self.fallback_is_late = true;
                self.sync_is_late = true;
                self.run_is_late = true;
                self.spec.restart = Some("always");
            }
        }
        self.initial_sync_is_late = true;
        Ok(())
    }

    fn check_not_restarted(&self) -> Result<(), StepsError> {
        if self.run_is_late {
            return Err(StepsError::EarlyRestart);
        }
        Ok(())
    }

    fn relative(&self, local: &str) -> Result<String, StepsError> {
        if !path::is_abs(local) {
            return Ok(local.to_owned());
        }
        Ok(path::rel(&self.spec.base_path, local)?)
    }
}

fn validate(spec: &LiveUpdateSpec) -> Result<(), StepsError> {
    let mut problems = Vec::new();
    if spec.syncs.is_empty() && spec.execs.is_empty() {
        problems.push(
            "spec.syncs: Invalid value: null: must contain at least 1 sync or 1 exec to run on live update"
                .to_owned(),
        );
    }
    for (index, sync) in spec.syncs.iter().enumerate() {
        if !sync.container_path.starts_with('/') {
            let path = quote(&sync.container_path);
            problems.push(format!(
                "spec.syncs[{index}]: Invalid value: {path}: sync destination is not absolute"
            ));
        }
    }
    match problems.as_slice() {
        [] => Ok(()),
        [one] => Err(StepsError::Spec(one.clone())),
        several => Err(StepsError::Spec(format!("[{}]", several.join(", ")))),
    }
}

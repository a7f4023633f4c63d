//! `workload_to_resource_function`: a function of the Tiltfile that names resources.

use std::fmt;

use builtins_language::{
    ApiValue, Args, EvalError, EvalResult, Evaluator, FromArg, Heap, Interpreter, Mismatch,
    Outcome, Value, ValueHasher, api_value, call, callable_name, definition, n_params, raise,
    type_name,
};
use engine_formats::kubernetes::Object;

use super::super::coerce::go_type;
use crate::{
    assemble, declarations::kubernetes::WorkloadFunction, diagnostic::Place, session::Session,
};

/// Tilt's name for the type of the function's argument.
const GO_TYPE: &str = "tiltfile.k8sObjectID";

/// A function written in a Tiltfile.
struct FunctionArg<'v>(Value<'v>);

impl<'v> FromArg<'v> for FunctionArg<'v> {
    fn from_arg(value: Value<'v>, _: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
        match type_name(value) {
            "function" => Ok(Self(value)),
            other => Err(format!("got {other}, want function").into()),
        }
    }
}

/// Lets a function name the resources of workloads.
pub(super) fn workload_to_resource_function<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    args: Args<'v>,
) -> Outcome<'v> {
    let mut function = FunctionArg(Value::new_none());
    args.unpack(eval, &mut [("func", &mut function)])?;
    let function = function.0;
    let name = callable_name(function);
    let n_params = n_params(function);
    if n_params != 1 {
        return Err(raise(format!(
            "workload_to_resource_function arg must take 1 argument. {name} takes {n_params}"
        )));
    }
    let session = Session::of(eval);
    let file = session.current_file();
    let position = definition(eval, function).map_or_else(
        || session.call_position(eval),
        |frame| Place { file: frame.path.unwrap_or_default(), line: frame.line, column: frame.col },
    );
    // The module keeps the function alive until the names are asked for.
    eval.module().set_extra_value(function);
    let function = WorkloadFunction { name, position, file };
    session.declarations.borrow_mut().kubernetes.workload_function = Some(function);
    Ok(Value::new_none())
}

/// The argument of the function.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ObjectId {
    name: String,
    kind: String,
    namespace: String,
    group: String,
}

api_value!(ObjectId);

impl ObjectId {
    fn of(object: &Object) -> Self {
        Self {
            name: object.name().to_owned(),
            kind: object.kind().to_owned(),
            namespace: object.namespace().to_owned(),
            group: object.group().to_owned(),
        }
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, kind, namespace, group } = self;
        f.write_str(&format!("{name}:{kind}:{namespace}:{group}").to_lowercase())
    }
}

impl ApiValue for ObjectId {
    const TYPE: &'static str = "K8sObjectID";

    fn attr<'v>(&self, name: &str, heap: Heap<'v>) -> Option<Value<'v>> {
        let text = match name {
            "name" => &self.name,
            "kind" => &self.kind,
            "namespace" => &self.namespace,
            "group" => &self.group,
            _ => return None,
        };
        Some(heap.alloc(text.as_str()))
    }

    fn attr_names(&self) -> Vec<String> {
        ["name", "kind", "namespace", "group"].map(str::to_owned).to_vec()
    }

    fn attribute_owner(&self) -> Option<&'static str> {
        Some(GO_TYPE)
    }

    fn go_type(&self) -> Option<String> {
        Some(GO_TYPE.to_owned())
    }

    fn write_hash(&self, hasher: &mut ValueHasher) -> EvalResult<()> {
        std::hash::Hash::hash(self, hasher);
        Ok(())
    }
}

/// The function of the Tiltfile at this position gives no names.
#[derive(Debug, thiserror::Error)]
#[error("{position}: error applying workload_to_resource_function: {why}")]
pub(crate) struct WorkloadNamesError {
    position: Place,
    why: NameError,
}

impl WorkloadNamesError {
    /// The error of the function itself, if it failed.
    pub(crate) fn error(&self) -> Option<&EvalError> {
        match &self.why {
            NameError::Failed { error, .. } => Some(error),
            _ => None,
        }
    }
}

/// Why a workload has no name.
#[derive(Debug, thiserror::Error)]
enum NameError {
    #[error("internal error: its file is gone")]
    NoFile,
    #[error("internal error: the function is gone")]
    NoFunction,
    #[error(
        "error determining resource name for '{workload}': {function}: invalid return value. \
         wanted: string. got: {found}"
    )]
    NoString { workload: String, function: String, found: String },
    #[error("error determining resource name for '{workload}': {}", .error.message)]
    Failed { workload: String, error: Box<EvalError> },
    #[error("both '{workload}' and '{other}' mapped to resource name '{name}'")]
    Taken { workload: String, other: String, name: String },
}

/// Asks the function of the Tiltfile, if there is one, for the names of all workloads.
///
/// # Errors
/// If it fails, or gives two workloads one name.
pub(crate) fn ask_for_names(
    session: &Session,
    interpreter: &Interpreter,
) -> Result<(), WorkloadNamesError> {
    let (function, workloads) = {
        let declarations = session.declarations.borrow();
        let Some(function) = declarations.kubernetes.workload_function.clone() else {
            return Ok(());
        };
        let Ok(workloads) = assemble::kubernetes::workloads(&declarations) else {
            // Assembly reports why workloads cannot be told apart.
            return Ok(());
        };
        (function, workloads.iter().map(|it| ObjectId::of(it)).collect::<Vec<_>>())
    };
    let names = names(session, interpreter, &function, &workloads)
        .map_err(|why| WorkloadNamesError { position: function.position.clone(), why })?;
    session.declarations.borrow_mut().kubernetes.workload_names = Some(names);
    Ok(())
}

fn names(
    session: &Session,
    interpreter: &Interpreter,
    function: &WorkloadFunction,
    workloads: &[ObjectId],
) -> Result<Vec<String>, NameError> {
    let loaded = session.loader.get(&function.file).ok_or(NameError::NoFile)?;
    let callee = loaded.extra_value().ok_or(NameError::NoFunction)?;
    let mut names: Vec<String> = Vec::new();
    for workload in workloads {
        let answer = interpreter.with_evaluator(|eval| {
            let heap = eval.heap();
            let callee = heap.access_owned_frozen_value(&callee);
            let answer = call(eval, callee, &[heap.alloc(workload.clone())], &[])?;
            Ok(answer.unpack_str().map(str::to_owned).ok_or_else(|| go_type(answer)))
        });
        let workload_text = || workload.to_string();
        let name = match answer {
            Ok(Ok(name)) => name,
            Ok(Err(found)) => {
                let function = function.name.clone();
                return Err(NameError::NoString { workload: workload_text(), function, found });
            }
            Err(error) => {
                return Err(NameError::Failed { workload: workload_text(), error: error.into() });
            }
        };
        if let Some(other) = names.iter().position(|it| *it == name) {
            let (workload, other) = (workload_text(), workloads[other].to_string());
            return Err(NameError::Taken { workload, other, name });
        }
        names.push(name);
    }
    Ok(names)
}

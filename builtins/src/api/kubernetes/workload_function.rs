//! `workload_to_resource_function`: a function of the Tiltfile that names resources.

use std::fmt;

use allocative::Allocative;
use starlark::{
    any::ProvidesStaticType,
    collections::StarlarkHasher,
    eval::{Evaluator, ParametersSpec},
    starlark_simple_value,
    values::{Heap, NoSerialize, StarlarkPagablePanic, StarlarkValue, Value, starlark_value},
};

use super::super::coerce::go_type;
use crate::{
    assemble,
    declarations::kubernetes::WorkloadFunction,
    diagnostic::Position,
    dialect::{
        self,
        args::{Args, FromArg, Mismatch},
        raise,
        value::{callable_name, type_name},
    },
    kubernetes::Object,
    session::Session,
};

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
) -> starlark::Result<Value<'v>> {
    let mut function = FunctionArg(Value::new_none());
    args.unpack(eval, &mut [("func", &mut function)])?;
    let function = function.0;
    let name = callable_name(function);
    let n_params = function.parameters_spec().map_or(0, ParametersSpec::len);
    if n_params != 1 {
        return Err(raise(format!(
            "workload_to_resource_function arg must take 1 argument. {name} takes {n_params}"
        )));
    }
    let session = Session::of(eval);
    let file = session.current_file();
    let position = dialect::definition(eval, function).map_or_else(
        || session.call_position(eval),
        |frame| Position {
            path: frame.path.unwrap_or_default(),
            line: frame.line,
            column: frame.col,
        },
    );
    // The module keeps the function alive until the names are asked for.
    eval.module().set_extra_value(function);
    let function = WorkloadFunction { name, position, file };
    session.declarations.borrow_mut().kubernetes.workload_function = Some(function);
    Ok(Value::new_none())
}

/// What the function is asked about.
#[derive(
    Clone,
    Debug,
    PartialEq,
    Eq,
    Hash,
    ProvidesStaticType,
    NoSerialize,
    StarlarkPagablePanic,
    Allocative,
)]
struct ObjectId {
    name: String,
    kind: String,
    namespace: String,
    group: String,
}

starlark_simple_value!(ObjectId);

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

#[starlark_value(type = "K8sObjectID")]
impl<'v> StarlarkValue<'v> for ObjectId {
    fn get_attr(&self, attribute: &str, heap: Heap<'v>) -> Option<Value<'v>> {
        let text = match attribute {
            "name" => &self.name,
            "kind" => &self.kind,
            "namespace" => &self.namespace,
            "group" => &self.group,
            _ => return None,
        };
        Some(heap.alloc(text.as_str()))
    }

    fn dir_attr(&self) -> Vec<String> {
        ["name", "kind", "namespace", "group"].map(str::to_owned).to_vec()
    }

    fn write_hash(&self, hasher: &mut StarlarkHasher) -> starlark::Result<()> {
        std::hash::Hash::hash(self, hasher);
        Ok(())
    }
}

/// Asks the function of the Tiltfile, if there is one, for the names of all workloads.
///
/// # Errors
/// If it fails, or gives two workloads one name.
pub(crate) fn ask_for_names(session: &Session, dialect: &dialect::Session) -> Result<(), String> {
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
    let names = names(session, dialect, &function, &workloads).map_err(|why| {
        format!("{}: error applying workload_to_resource_function: {why}", function.position)
    })?;
    session.declarations.borrow_mut().kubernetes.workload_names = Some(names);
    Ok(())
}

fn names(
    session: &Session,
    dialect: &dialect::Session,
    function: &WorkloadFunction,
    workloads: &[ObjectId],
) -> Result<Vec<String>, String> {
    let loaded = session.loader.get(&function.file).ok_or("internal error: its file is gone")?;
    let callee =
        loaded.module().owned_extra_value().ok_or("internal error: the function is gone")?;
    let mut names: Vec<String> = Vec::new();
    for workload in workloads {
        let answer = dialect.with_evaluator(|eval| {
            let heap = eval.heap();
            let callee = heap.access_owned_frozen_value(&callee);
            let answer = dialect::call(eval, callee, &[heap.alloc(workload.clone())], &[])?;
            Ok(answer.unpack_str().map(str::to_owned).ok_or_else(|| go_type(answer)))
        });
        let fail = |why: String| format!("error determining resource name for '{workload}': {why}");
        let name = match answer {
            Ok(Ok(name)) => name,
            Ok(Err(found)) => {
                let callee = &function.name;
                return Err(fail(format!(
                    "{callee}: invalid return value. wanted: string. got: {found}"
                )));
            }
            Err(error) => return Err(fail(error.message)),
        };
        if let Some(other) = names.iter().position(|it| *it == name) {
            let other = &workloads[other];
            return Err(format!(
                "both '{workload}' and '{other}' mapped to resource name '{name}'"
            ));
        }
        names.push(name);
    }
    Ok(names)
}

//! Kubernetes objects: `k8s_yaml`, `filter_yaml`, and options of the resources they form.

use builtins_language::{
    AllocTuple, Args, BuiltinsExt, EvalResult, Evaluator, GlobalsBuilder, Outcome, Value,
    ValueLike, decode_utf8, raise,
};
use engine_formats::kubernetes::{self, Object, selector::ObjectSelector};

use super::{
    blob::Blob,
    coerce::{StrDict, abs_path, one_or_sequence},
};
use crate::{
    diagnostic::{Advice, raise_advised},
    session::Session,
};
use engine_model::ObjectSelectorSpec;

mod custom_deploy;
mod kind;
mod port_forward;
mod resource;
mod workload_function;

pub(crate) use workload_function::ask_for_names;

pub(super) fn register(builder: &mut GlobalsBuilder) {
    builder.function("k8s_yaml", k8s_yaml);
    builder.function("filter_yaml", filter_yaml);
    builder.function("k8s_resource", resource::k8s_resource);
    builder.function("port_forward", port_forward::port_forward);
    builder.function("k8s_kind", kind::k8s_kind);
    builder.function("k8s_image_json_path", kind::k8s_image_json_path);
    builder.function("k8s_custom_deploy", custom_deploy::k8s_custom_deploy);
    builder.function(
        "workload_to_resource_function",
        workload_function::workload_to_resource_function,
    );
}

/// Declares the objects of a YAML file or blob.
fn k8s_yaml<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let (mut yaml, mut allow_duplicates) = (Value::new_none(), false);
    args.unpack(eval, &mut [("yaml", &mut yaml), ("allow_duplicates?", &mut allow_duplicates)])?;
    let session = Session::of(eval);
    let values = one_or_sequence(yaml, eval.heap());
    let objects = objects_of(session, &values)?;
    let starts_with_path =
        values.first().and_then(|it| it.unpack_str()).is_some_and(|it| !it.is_empty());
    if objects.is_empty() && !starts_with_path {
        return Err(raise("Empty YAML passed to k8s_yaml"));
    }
    let traceback = session.traceback(eval, args.function);
    session
        .declarations
        .borrow_mut()
        .kubernetes
        .add_objects(objects, &traceback, allow_duplicates)
        .map_err(|why| raise_advised(why.to_string(), Some(Advice::DropDuplicate)))?;
    Ok(Value::new_none())
}

/// The objects of blobs and files.
fn objects_of(session: &Session, values: &[Value<'_>]) -> EvalResult<Vec<Object>> {
    let mut objects = Vec::new();
    for value in values {
        if let Some(blob) = value.downcast_ref::<Blob>() {
            let found = kubernetes::parse(blob.text()).map_err(|why| {
                raise(format!("Error reading yaml from {}: {why}", blob.source()))
            })?;
            objects.extend(found);
            continue;
        }
        let path = abs_path(*value, session).map_err(raise)?;
        let bytes = session
            .read_watched(&path)
            .map_err(|why| raise(format!("error reading yaml file: {why}")))?;
        let found = kubernetes::parse(&decode_utf8(&bytes)).map_err(|why| {
            let why = why.to_string();
            if why.contains("json parse error: ") {
                raise(format!("{path} is not a valid YAML file: {why}"))
            } else {
                raise(why)
            }
        })?;
        objects.extend(found);
    }
    Ok(objects)
}

/// Splits objects into those that match and the rest.
fn filter_yaml<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let (mut yaml, mut labels, mut spec) =
        (Value::new_none(), StrDict::default(), ObjectSelectorSpec::default());
    args.unpack(
        eval,
        &mut [
            ("yaml", &mut yaml),
            ("labels?", &mut labels),
            ("name?", &mut spec.name_regexp),
            ("namespace?", &mut spec.namespace_regexp),
            ("kind?", &mut spec.kind_regexp),
            ("api_version?", &mut spec.api_version_regexp),
        ],
    )?;
    let session = Session::of(eval);
    let objects = objects_of(session, &one_or_sequence(yaml, eval.heap()))?;
    let selector = ObjectSelector::partial(&spec).map_err(|why| raise(why.to_string()))?;
    let (matching, mut rest): (Vec<Object>, Vec<Object>) =
        objects.into_iter().partition(|it| selector.matches(it));
    let wanted = || labels.0.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let (matching, unlabeled): (Vec<Object>, Vec<Object>) =
        matching.into_iter().partition(|it| it.has_labels(wanted()));
    rest.extend(unlabeled);

    let source = yaml.downcast_ref::<Blob>().map_or("filter_yaml", Blob::source);
    let blob = |objects: &[Object]| -> Outcome<'v> {
        let text = kubernetes::to_yaml(objects).map_err(|why| raise(why.to_string()))?;
        Ok(eval.heap().alloc(Blob::new(text, source)))
    };
    Ok(eval.heap().alloc(AllocTuple([blob(&matching)?, blob(&rest)?])))
}

//! The `v1alpha1` module: objects of the API, and the nested specs they are made of.
//!
//! Every function works off a table, which it finds by the name it was called with.

use serde_json::{Map, Value as Json};
use starlark::{
    environment::GlobalsBuilder,
    eval::Evaluator,
    values::{Value, dict::AllocDict},
};

use self::{
    table::{Body, OBJECTS, Object, Place, SPECS, Spec},
    unpack::{ObjectParam, StrMap},
    value::SpecValue,
};
use crate::{
    dialect::{
        BuiltinsExt, FrozenModuleValue, NativeFn,
        args::{Args, Param},
        raise,
    },
    session::Session,
};

mod table;
mod unpack;
mod validate;
mod value;

const MODULE: &str = "v1alpha1";

pub(super) fn register(builder: &mut GlobalsBuilder) {
    let objects = OBJECTS.iter().map(|it| (it.function, declare_object as NativeFn));
    let specs = SPECS.iter().map(|it| (it.function, make_spec as NativeFn));
    let members = objects.chain(specs).map(|(name, function)| {
        (name.to_owned(), builder.member(&format!("{MODULE}.{name}"), function))
    });
    let members = members.collect();
    builder.set(MODULE, FrozenModuleValue::builtin(MODULE, members));
}

/// What is wrong with the spec of an object, in the words of the API; kinds that Tiltfiles cannot declare have no rules
/// here.
#[must_use]
pub fn problems(plural: &str, spec: &Map<String, Json>) -> Vec<String> {
    let object = OBJECTS.iter().find(|it| it.kind.plural == plural);
    object.map_or_else(Vec::new, |it| (it.validate)(spec))
}

/// The function's name without the module's.
fn short_name(function: &str) -> &str {
    function.rsplit_once('.').map_or(function, |(_, name)| name)
}

/// `v1alpha1.NAME(...)` for a nested spec: a frozen dict that is known to fit.
fn make_spec<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> starlark::Result<Value<'v>> {
    let spec = Spec::named(short_name(args.function)).expect("it is registered for specs");
    let fields: Vec<_> = spec.fields.iter().filter(|it| it.place != Place::DictOnly).collect();
    let names: Vec<String> = fields.iter().map(|it| format!("{}?", it.name)).collect();
    let mut values = vec![None::<Value<'v>>; fields.len()];
    let mut params: Vec<(&str, &mut dyn Param<'v>)> = names
        .iter()
        .zip(&mut values)
        .map(|(name, value)| (name.as_str(), value as &mut dyn Param<'v>))
        .collect();
    args.unpack(eval, &mut params)?;
    let heap = eval.heap();
    let given = fields.iter().zip(values).filter_map(|(field, value)| Some((field.name, value?)));
    let dict = heap.alloc(AllocDict(given.collect::<Vec<_>>()));
    let json = unpack::spec(spec, dict, eval).map_err(|why| raise(why.0))?;
    Ok(heap.alloc(SpecValue::new(spec, dict, &json)))
}

/// `v1alpha1.NAME(name, labels, annotations, ...)`: registers an object.
fn declare_object<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    args: Args<'v>,
) -> starlark::Result<Value<'v>> {
    let object = Object::named(short_name(args.function)).expect("it is registered for objects");
    let mut name = String::new();
    let [mut labels, mut annotations] = [const { StrMap(Json::Null) }; 2];
    let names: Vec<String> = object.fields.iter().map(|it| format!("{}?", it.name)).collect();
    let mut fields: Vec<ObjectParam> = object.fields.iter().map(ObjectParam::new).collect();
    let mut params: Vec<(&str, &mut dyn Param<'v>)> =
        vec![("name", &mut name), ("labels?", &mut labels), ("annotations?", &mut annotations)];
    for (name, field) in names.iter().zip(&mut fields) {
        params.push((name.as_str(), field));
    }
    args.unpack(eval, &mut params)?;

    let session = Session::of(eval);
    let given = fields.into_iter().map(|it| it.json).collect();
    let body = unpack::emit(object.fields, given, session);
    let errors = (object.validate)(&body);
    if let Some(message) = validate::aggregate(errors) {
        return Err(raise(message));
    }
    let json = assemble(object, metadata(&name, labels.0, annotations.0), body);
    let mut declarations = session.declarations.borrow_mut();
    declarations
        .objects
        .register(object.kind, &name, json)
        .map_err(|why| raise(why.to_string()))?;
    Ok(Value::new_none())
}

fn metadata(name: &str, labels: Json, annotations: Json) -> Json {
    let mut metadata = Map::new();
    if !name.is_empty() {
        metadata.insert("name".to_owned(), name.into());
    }
    for (key, map) in [("labels", labels), ("annotations", annotations)] {
        if map.as_object().is_some_and(|it| !it.is_empty()) {
            metadata.insert(key.to_owned(), map);
        }
    }
    Json::Object(metadata)
}

fn assemble(object: &Object, metadata: Json, body: Map<String, Json>) -> Json {
    let mut json = Map::new();
    json.insert("metadata".to_owned(), metadata);
    match object.body {
        Body::Inline => json.extend(body),
        Body::Spec { zero_status } => {
            let status: Map<String, Json> =
                zero_status.iter().map(|it| ((*it).to_owned(), Json::Null)).collect();
            json.insert("spec".to_owned(), Json::Object(body));
            json.insert("status".to_owned(), Json::Object(status));
        }
    }
    Json::Object(json)
}

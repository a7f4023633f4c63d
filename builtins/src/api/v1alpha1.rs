//! The `v1alpha1` module: API objects and their nested specs.
//!
//! Each function is driven by a table, which it finds by the name it was called with.

use builtins_language::{
    AllocDict, Args, BuiltinsExt, ConstructedDict, Evaluator, FrozenModuleValue, GlobalsBuilder,
    NativeFn, Outcome, Value, args::Param, raise,
};
use engine_formats::v1alpha1::aggregate;
use serde_json::{Map, Value as Json};

use self::{
    table::{Body, OBJECTS, Object, Place, SPECS, Spec},
    unpack::{ObjectParam, StrMap},
};
use crate::session::Session;

mod table;
mod unpack;

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

/// The function's name without the module's.
fn short_name(function: &str) -> &str {
    function.rsplit_once('.').map_or(function, |(_, name)| name)
}

/// `v1alpha1.NAME(...)` for a nested spec: a frozen dict that is known to fit.
fn make_spec<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let spec = Spec::named(short_name(args.function));
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
    let go_type = go_type(spec.function);
    Ok(heap.alloc(ConstructedDict::new(dict, spec.function, go_type, json.to_string())))
}

/// The type of what a function makes: `*v1alpha1.HTTPGetAction` for `http_get_action`.
fn go_type(function: &str) -> String {
    let mut name = String::from("*v1alpha1.");
    for word in function.split('_') {
        match word {
            "http" | "tcp" | "ui" => name.push_str(&word.to_ascii_uppercase()),
            _ => {
                let (first, rest) = word.split_at(word.len().min(1));
                name.push_str(&first.to_ascii_uppercase());
                name.push_str(rest);
            }
        }
    }
    name
}

/// `v1alpha1.NAME(name, labels, annotations, ...)`: registers an object.
fn declare_object<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let object = Object::named(short_name(args.function));
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
    let body = unpack::emit(&object.fields, given, session);
    let errors = (object.validate)(&body);
    if let Some(message) = aggregate(errors) {
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

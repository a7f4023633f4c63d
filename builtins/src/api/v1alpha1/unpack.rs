//! Converts arguments to the fields of API types.

use builtins_language::{
    ConstructedDict, DictRef, Evaluator, FromArg, ListRef, Mismatch, Value, args::Param, repr,
    type_name,
};
use engine_model::GoDuration;
use serde_json::{Map, Value as Json};

use super::table::{Empty, Field, FieldKind, Place, Spec};
use crate::{
    api::coerce::{AbsPaths, Duration, StrDict, StrList, abs_path},
    session::Session,
};

/// The JSON of a spec, from what its constructor made or from a plain dict.
pub(super) fn spec<'v>(
    spec: &'static Spec,
    value: Value<'v>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> Result<Json, Mismatch> {
    if let Some(json) = ConstructedDict::payload_of(value, spec.function) {
        return Ok(serde_json::from_str(json).expect("it was printed from JSON"));
    }
    let Some(dict) = DictRef::from_value(value) else {
        return Err(format!("expected dict, actual: {}", type_name(value)).into());
    };
    let mut given = vec![None; spec.fields.len()];
    for (key, value) in dict.iter() {
        let Some(key) = key.unpack_str() else {
            return Err(format!("key must be string. Got: {}", type_name(key)).into());
        };
        let known = |it: &Field| it.name == key && it.place != Place::ArgumentOnly;
        let Some(index) = spec.fields.iter().position(known) else {
            return Err(format!("Unexpected attribute name: {key}").into());
        };
        given[index] = Some(nested_field(&spec.fields[index], value, eval)?);
    }
    Ok(Json::Object(emit(&spec.fields, given, Session::of(eval))))
}

/// A list of specs; nothing but a list will do.
fn list<'v>(
    item: &'static Spec,
    value: Value<'v>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> Result<Json, Mismatch> {
    let Some(items) = ListRef::from_value(value) else {
        return Err(format!("expected list, actual: {}", type_name(value)).into());
    };
    let convert = |(index, value): (usize, Value<'v>)| {
        spec(item, value, eval).map_err(|why| Mismatch(format!("at index {index}: {}", why.0)))
    };
    items.iter().enumerate().map(convert).collect::<Result<_, _>>().map(Json::Array)
}

/// The value of a key of a dict; texts and numbers are refused in other words than arguments.
fn nested_field<'v>(
    field: &Field,
    value: Value<'v>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> Result<Json, Mismatch> {
    let type_name = type_name(value);
    match field.kind {
        FieldKind::Str | FieldKind::OptionalStr => match value.unpack_str() {
            Some(text) => Ok(text.into()),
            None => Err(format!("Expected string, actual: {type_name}").into()),
        },
        FieldKind::Int => match value.unpack_i32() {
            Some(int) => Ok(int.into()),
            None if type_name == "int" => {
                Err(format!("Expected int, got: {} out of range", repr(value)).into())
            }
            None => Err(format!("Expected int, got: got {type_name}, want int").into()),
        },
        FieldKind::Bool => match value.unpack_bool() {
            Some(it) => Ok(it.into()),
            None => Err(format!("Expected bool, got: {type_name}").into()),
        },
        _ => compound(field.kind, value, eval)
            .map_err(|why| Mismatch(format!("unpacking {}: {}", field.name, why.0))),
    }
}

/// The value of an argument, or one that is refused in the same words everywhere.
fn compound<'v>(
    kind: FieldKind,
    value: Value<'v>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> Result<Json, Mismatch> {
    Ok(match kind {
        FieldKind::Str | FieldKind::OptionalStr => String::from_arg(value, eval)?.into(),
        FieldKind::Int => i32::from_arg(value, eval)?.into(),
        FieldKind::Bool => bool::from_arg(value, eval)?.into(),
        FieldKind::Path => abs_path(value, Session::of(eval))?.into(),
        FieldKind::Paths => AbsPaths::from_arg(value, eval)?.0.map_or(Json::Null, Json::from),
        FieldKind::StrList => str_list(StrList::from_arg(value, eval)?),
        FieldKind::StrMap => StrMap::from_arg(value, eval)?.0,
        FieldKind::Duration => GoDuration(Duration::from_arg(value, eval)?.0).to_string().into(),
        FieldKind::Spec(nested) => spec(Spec::named(nested), value, eval)?,
        FieldKind::List(item) => list(Spec::named(item), value, eval)?,
        FieldKind::Nothing => return Err("nothing can be given here".into()),
    })
}

/// An argument of an object's function.
pub(super) struct ObjectParam {
    field: &'static Field,
    /// What it became, if it was given.
    pub(super) json: Option<Json>,
}

impl ObjectParam {
    /// A field that was not given yet.
    pub(super) fn new(field: &'static Field) -> Self {
        Self { field, json: None }
    }
}

impl<'v> Param<'v> for ObjectParam {
    fn receive(
        &mut self,
        value: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> Result<(), Mismatch> {
        self.json = Some(compound(self.field.kind, value, eval)?);
        Ok(())
    }
}

/// A dict of texts as JSON.
pub(super) struct StrMap(pub(super) Json);

impl<'v> FromArg<'v> for StrMap {
    fn from_arg(value: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> Result<Self, Mismatch> {
        let StrDict(map) = StrDict::from_arg(value, eval)?;
        Ok(Self(map.into_iter().map(|(key, value)| (key, Json::from(value))).collect()))
    }
}

/// An empty list of texts counts as none.
fn str_list(list: StrList) -> Json {
    if list.0.is_empty() { Json::Null } else { list.0.into() }
}

/// The fields as the API prints them, in its order.
pub(super) fn emit(
    fields: &'static [Field],
    given: Vec<Option<Json>>,
    session: &Session,
) -> Map<String, Json> {
    let mut map = Map::new();
    for (field, given) in fields.iter().zip(given) {
        let json = match (given, field.empty) {
            (None, Empty::Omitted) => continue,
            (None, Empty::Shown) => zero(field.kind, session),
            (None, Empty::WorkingDir) => session.dir().into(),
            (Some(json), Empty::Omitted) if is_empty(field.kind, &json) => continue,
            (Some(json), _) => json,
        };
        map.insert(field.json.clone(), json);
    }
    map
}

fn is_empty(kind: FieldKind, json: &Json) -> bool {
    match (kind, json) {
        (FieldKind::Spec(_) | FieldKind::OptionalStr, _) => false,
        (_, Json::Null) => true,
        (_, Json::Bool(it)) => !it,
        (_, Json::Number(number)) => number.as_i64() == Some(0),
        (_, Json::String(text)) => text.is_empty(),
        (_, Json::Array(items)) => items.is_empty(),
        (_, Json::Object(entries)) => entries.is_empty(),
    }
}

fn zero(kind: FieldKind, session: &Session) -> Json {
    match kind {
        FieldKind::Str | FieldKind::OptionalStr | FieldKind::Path => "".into(),
        FieldKind::Int => 0.into(),
        FieldKind::Bool => false.into(),
        FieldKind::Duration => "0s".into(),
        FieldKind::StrMap
        | FieldKind::Paths
        | FieldKind::StrList
        | FieldKind::List(_)
        | FieldKind::Nothing => Json::Null,
        FieldKind::Spec(function) => {
            let spec = Spec::named(function);
            Json::Object(emit(&spec.fields, vec![None; spec.fields.len()], session))
        }
    }
}

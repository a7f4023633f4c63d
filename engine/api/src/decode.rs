//! Decodes what clients send: which fields exist, which values they take, and how the result is printed.
//!
//! The messages are those of Kubernetes' decoder, which people and scripts know.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::schema::{Field, Presence, Ty, Type};

/// Decodes a structure; unknown fields are collected, not refused.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    /// Paths of fields that do not exist.
    pub(crate) unknown: Vec<String>,
}

/// A place in an object: with indices for people, without them as Kubernetes prints it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    exact: String,
    plain: String,
}

impl Place {
    /// A field of this place.
    pub(crate) fn field(&self, name: &str) -> Self {
        let join = |parent: &str| {
            if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") }
        };
        Self { exact: join(&self.exact), plain: join(&self.plain) }
    }

    fn item(&self, index: usize) -> Self {
        Self { exact: format!("{}[{index}]", self.exact), plain: self.plain.clone() }
    }

    /// The place as people read it.
    pub(crate) fn exact(&self) -> &str {
        &self.exact
    }
}

impl Decoder {
    /// The structure with its fields in order; empty ones are omitted or filled in, as they are printed.
    ///
    /// # Errors
    /// If a value does not fit.
    pub(crate) fn structure(
        &mut self,
        ty: &'static Type,
        value: &Value,
        place: &Place,
    ) -> Result<Map<String, Value>, Misfit> {
        let Value::Object(given) = value else {
            return Err(Misfit::new(value, "Go value", &format!("v1alpha1.{}", ty.name)));
        };
        for key in given.keys() {
            if ty.field(key).is_none() {
                self.unknown.push(place.field(key).exact);
            }
        }
        let mut map = Map::new();
        for field in ty.fields {
            let value = match given.get(field.name) {
                None | Some(Value::Null) => None,
                Some(value) => self.field(ty, field, value, &place.field(field.name))?,
            };
            if let Some(value) = value.or_else(|| field.missing()) {
                map.insert(field.name.to_owned(), value);
            }
        }
        Ok(map)
    }

    /// The value of a field; nothing if it is empty and not printed then.
    fn field(
        &mut self,
        owner: &Type,
        field: &Field,
        value: &Value,
        place: &Place,
    ) -> Result<Option<Value>, Misfit> {
        let wrong = |value: &Value, wanted: &str| {
            Err(Misfit::new(
                value,
                &format!("Go struct field {}.{}", owner.name, place.plain),
                wanted,
            ))
        };
        let decoded = match field.ty {
            Ty::Any => return Ok(None),
            Ty::Time | Ty::TimePtr => time(text(value)?, false)?,
            Ty::MicroTime | Ty::MicroTimePtr => time(text(value)?, true)?,
            Ty::Duration | Ty::DurationPtr => match value.as_str() {
                Some(text) => duration(text)?,
                None => return wrong(value, "string"),
            },
            Ty::Struct(nested) | Ty::Ptr(nested) if value.is_object() => {
                Value::Object(self.structure(nested, value, place)?)
            }
            Ty::Struct(nested) | Ty::Ptr(nested) => {
                return wrong(value, &format!("v1alpha1.{}", nested.name));
            }
            Ty::List(nested) => match value.as_array() {
                None => return wrong(value, &format!("[]v1alpha1.{}", nested.name)),
                Some(items) => self.list(owner, nested, items, place)?,
            },
            plain => match fit(plain, value) {
                Ok(decoded) => decoded,
                Err((value, wanted)) => return wrong(value, wanted),
            },
        };
        Ok((field.presence != Presence::Optional || !is_empty(field.ty, &decoded))
            .then_some(decoded))
    }

    fn list(
        &mut self,
        owner: &Type,
        item: &'static Type,
        items: &[Value],
        place: &Place,
    ) -> Result<Value, Misfit> {
        let mut list = Vec::with_capacity(items.len());
        for (index, value) in items.iter().enumerate() {
            if !value.is_object() {
                let into = format!("Go struct field {}.{}", owner.name, place.plain);
                return Err(Misfit::new(value, &into, &format!("v1alpha1.{}", item.name)));
            }
            list.push(Value::Object(self.structure(item, value, &place.item(index))?));
        }
        Ok(Value::Array(list))
    }
}

/// A value that is kept as it is; otherwise what does not fit, and the Go type that is wanted.
fn fit(ty: Ty, value: &Value) -> Result<Value, (&Value, &'static str)> {
    let is_int32 = |value: &Value| value.as_i64().is_some_and(|it| i32::try_from(it).is_ok());
    let whole = |fits: bool, wanted| if fits { Ok(value.clone()) } else { Err((value, wanted)) };
    let each = |fits: fn(&Value) -> bool, list, item| match value.as_array() {
        None => Err((value, list)),
        Some(items) => match items.iter().find(|it| !fits(it)) {
            Some(misfit) => Err((misfit, item)),
            None => Ok(value.clone()),
        },
    };
    match ty {
        Ty::Bool => whole(value.is_boolean(), "bool"),
        Ty::Int32 => whole(is_int32(value), "int32"),
        Ty::Int64 => whole(value.is_i64(), "int64"),
        Ty::Strings => each(Value::is_string, "[]string", "string"),
        Ty::Ints => each(Value::is_i64, "[]int32", "int32"),
        Ty::Map => match value.as_object().map(texts) {
            None => Err((value, "map[string]string")),
            Some(result) => result.map_err(|misfit| (misfit, "string")),
        },
        _ => whole(value.is_string(), "string"),
    }
}

/// Texts by text, sorted; the value that is no text otherwise.
pub(crate) fn texts(map: &Map<String, Value>) -> Result<Value, &Value> {
    let mut entries: Vec<(&String, &Value)> = map.iter().collect();
    entries.sort_by_key(|(key, _)| *key);
    let mut sorted = Map::new();
    for (key, value) in entries {
        match value {
            Value::String(_) => sorted.insert(key.clone(), value.clone()),
            // Go reads null as the empty text.
            Value::Null => sorted.insert(key.clone(), json!("")),
            other => return Err(other),
        };
    }
    Ok(Value::Object(sorted))
}

/// Whether Go would leave the value out.
fn is_empty(ty: Ty, value: &Value) -> bool {
    match (ty, value) {
        (Ty::StrPtr | Ty::Struct(_) | Ty::Ptr(_) | Ty::Duration | Ty::DurationPtr, _) => false,
        (_, Value::String(text)) => text.is_empty(),
        (_, Value::Bool(it)) => !it,
        (_, Value::Number(number)) => number.as_i64() == Some(0),
        (_, Value::Array(items)) => items.is_empty(),
        (_, Value::Object(map)) => map.is_empty(),
        (_, Value::Null) => true,
    }
}

/// A value that does not fit, in the words of the two decoders of Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Misfit {
    /// What is said when JSON is read.
    pub(crate) json: String,
    /// What is said when a patch is applied.
    pub(crate) converted: String,
}

impl Misfit {
    /// A value that does not fit the expected Go type.
    pub(crate) fn new(value: &Value, into: &str, wanted: &str) -> Self {
        let (json, kind, full) = match value {
            Value::Null => ("null", "invalid", "nil"),
            Value::Bool(_) => ("bool", "bool", "bool"),
            Value::Number(number) if number.is_f64() => ("number", "float64", "float64"),
            Value::Number(_) => ("number", "int64", "int64"),
            Value::String(_) => ("string", "string", "string"),
            Value::Array(_) => ("array", "slice", "[]interface {}"),
            Value::Object(_) => ("object", "map", "map[string]interface {}"),
        };
        let number = match value {
            Value::Number(number) if wanted.starts_with("int") => format!(" {number}"),
            _ => String::new(),
        };
        let converted = if wanted.starts_with("[]") {
            format!("cannot restore slice from {kind}")
        } else if wanted.starts_with("map[") {
            format!("cannot restore map from {kind}")
        } else if wanted.starts_with("v1alpha1.") {
            format!("cannot restore struct from: {kind}")
        } else {
            format!("cannot convert {full} to {wanted}")
        };
        Self {
            json: format!("json: cannot unmarshal {json}{number} into {into} of type {wanted}"),
            converted,
        }
    }

    /// A value of the right type that is invalid.
    pub(crate) fn text(text: String) -> Self {
        Self { converted: text.clone(), json: text }
    }
}

fn text(value: &Value) -> Result<&str, Misfit> {
    value.as_str().ok_or_else(|| Misfit::new(value, "Go value", "string"))
}

/// A time in UTC, to the second or with exactly six decimals; the empty text is no time.
fn time(text: &str, micro: bool) -> Result<Value, Misfit> {
    if text.is_empty() && !micro {
        return Ok(Value::Null);
    }
    let layout =
        if micro { "2006-01-02T15:04:05.000000Z07:00" } else { "2006-01-02T15:04:05Z07:00" };
    let refused = |rest: &str, wanted: &str| {
        Misfit::text(format!(
            r#"parsing time "{text}" as "{layout}": cannot parse "{rest}" as "{wanted}""#
        ))
    };
    let Ok(time) = text.parse::<Timestamp>() else {
        return Err(refused(text, "2006"));
    };
    if !micro {
        return Ok(time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into());
    }
    let rest = text.get(19..).unwrap_or_default();
    let decimals =
        rest.strip_prefix('.').map_or(0, |it| it.bytes().take_while(u8::is_ascii_digit).count());
    if decimals != 6 {
        return Err(refused(rest, ".000000"));
    }
    Ok(time.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string().into())
}

fn duration(text: &str) -> Result<Value, Misfit> {
    let parsed = engine_formats::golang::duration::Duration::parse(text)
        .map_err(|error| Misfit::text(error.to_string()))?;
    Ok(engine_model::GoDuration(parsed.0).to_string().into())
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;
    use crate::{Kind, KindSchema};

    fn check(name: &str, given: &Value, expected: &Expect) {
        let mut decoder = Decoder::default();
        let ty = Type::named(name).expect("the table has the type");
        let place = Place::default().field("spec");
        let shown = match decoder.structure(ty, given, &place) {
            Ok(map) => format!("{} unknown: {:?}", Value::Object(map), decoder.unknown),
            Err(misfit) => misfit.json,
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn fields_are_ordered_and_empty_ones_left_out_or_filled_in() {
        check(
            "CmdSpec",
            &json!({"dir": "", "startOn": {"uiButtons": ["b"]}, "args": ["x"], "env": [], "readinessProbe": {}}),
            &expect![[
                r#"{"args":["x"],"readinessProbe":{},"startOn":{"startAfter":null,"uiButtons":["b"]}} unknown: []"#
            ]],
        );
    }

    #[test]
    fn unknown_fields_are_named_with_their_place() {
        check(
            "FileWatchSpec",
            &json!({"watchedPaths": ["a"], "bogus": 1, "ignores": [{"basePath": "x"}, {"basePath": "y", "z": 1}]}),
            &expect![[
                r#"{"watchedPaths":["a"],"ignores":[{"basePath":"x"},{"basePath":"y"}]} unknown: ["spec.bogus", "spec.ignores[1].z"]"#
            ]],
        );
    }

    #[test]
    fn what_does_not_fit_is_refused_in_the_words_of_kubernetes() {
        for (given, expected) in [
            (
                json!({"watchedPaths": "a"}),
                expect![
                    "json: cannot unmarshal string into Go struct field FileWatchSpec.spec.watchedPaths of type []string"
                ],
            ),
            (
                json!({"watchedPaths": ["a", 4]}),
                expect![
                    "json: cannot unmarshal number into Go struct field FileWatchSpec.spec.watchedPaths of type string"
                ],
            ),
            (
                json!({"watchedPaths": [], "ignores": [{"basePath": 3}]}),
                expect![
                    "json: cannot unmarshal number into Go struct field IgnoreDef.spec.ignores.basePath of type string"
                ],
            ),
            (
                json!([]),
                expect![
                    "json: cannot unmarshal array into Go value of type v1alpha1.FileWatchSpec"
                ],
            ),
        ] {
            check("FileWatchSpec", &given, &expected);
        }
    }

    #[test]
    fn times_need_their_decimals() {
        for (given, expected) in [
            (
                "2020-01-01T00:00:00Z",
                expect![[
                    r#"parsing time "2020-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000""#
                ]],
            ),
            (
                "x",
                expect![[
                    r#"parsing time "x" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "x" as "2006""#
                ]],
            ),
            (
                "2020-01-01T01:00:00.123456+01:00",
                expect![[
                    r#"{"monitorStartTime":null,"lastEventTime":"2020-01-01T00:00:00.123456Z"} unknown: []"#
                ]],
            ),
        ] {
            check("FileWatchStatus", &json!({ "lastEventTime": given }), &expected);
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-z0-9:.TZ-]{0,24}".prop_map(Value::from),
        ];
        let names: Vec<&str> = [
            "args",
            "spec",
            "on",
            "off",
            "inputs",
            "text",
            "location",
            "timeout",
            "pods",
            "startTime",
        ]
        .to_vec();
        leaf.prop_recursive(4, 32, 4, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((prop::sample::select(names.clone()), inner), 0..4).prop_map(
                    |entries| entries.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()
                ),
            ]
        })
    }

    proptest! {
        /// Whatever is accepted once is printed in a form that stays as it is.
        #[test]
        fn reading_twice_changes_nothing(value in any_json()) {
            for kind in Kind::ALL {
                for ty in [kind.spec(), kind.status()].into_iter().flatten() {
                    let place = Place::default();
                    if let Ok(first) = Decoder::default().structure(ty, &value, &place) {
                        let first = Value::Object(first);
                        let second = Decoder::default().structure(ty, &first, &place).map(Value::Object);
                        prop_assert_eq!(second, Ok(first));
                    }
                }
            }
        }
    }
}

//! Decodes and encodes structured data: JSON and YAML.

use builtins_language::{
    AllocDict, AllocList, Args, BuiltinsExt, DictRef, EvalResult, Evaluator, GlobalsBuilder, Heap,
    Int, ListRef, Outcome, RaisedError, StarlarkFloat, Value, ValueLike, args::ListArg,
    decode_utf8, raise, repr,
};
use engine_formats::{golang::json, yaml};
use serde_json::{Map, Number, Value as Json};

use super::{
    blob::Blob,
    coerce::{AbsPath, Strish, go_type},
};
use crate::session::Session;

/// How deep data may nest before we refuse it; deeper data would exhaust the stack.
const MAX_DEPTH: usize = 10_000;

pub(super) fn register(builder: &mut GlobalsBuilder) {
    builder.function("read_json", read_json);
    builder.function("decode_json", decode_json);
    builder.function("encode_json", encode_json);
    builder.function("read_yaml", read_yaml);
    builder.function("read_yaml_stream", read_yaml_stream);
    builder.function("decode_yaml", decode_yaml);
    builder.function("decode_yaml_stream", decode_yaml_stream);
    builder.function("encode_yaml", encode_yaml);
    builder.function("encode_yaml_stream", encode_yaml_stream);
}

/// `text`, or `text from SOURCE` if there is a source.
fn with_source(text: &str, source: &str) -> String {
    if source.is_empty() { text.to_owned() } else { format!("{text} from {source}") }
}

/// The data of a JSON file.
fn read_json<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let (mut file, mut default) = (AbsPath::default(), None::<Value>);
    args.unpack(eval, &mut [("paths", &mut file), ("default?", &mut default)])?;
    match (Session::of(eval).read_watched(&file.0), default) {
        (Ok(bytes), _) => json_value(&decode_utf8(&bytes), &file.0, eval.heap()),
        (Err(why), Some(default)) if why.is_not_found() => Ok(default),
        (Err(why), _) => Err(raise(why.to_string())),
    }
}

/// The data of a JSON text.
fn decode_json<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let text: Strish = args.only(eval, "json")?;
    json_value(&text.0, "", eval.heap())
}

fn json_value<'v>(text: &str, source: &str, heap: Heap<'v>) -> Outcome<'v> {
    let fail =
        |what: &str, why: json::JsonError| raise(format!("{}: {why}", with_source(what, source)));
    let decoded = json::decode_single(text).map_err(|why| fail("error parsing JSON", why))?;
    let data =
        decoded.into_tilt_value().map_err(|why| fail("error converting JSON to Starlark", why))?;
    Ok(from_json(&data, heap))
}

/// Data as a value.
pub(super) fn from_json<'v>(data: &Json, heap: Heap<'v>) -> Value<'v> {
    match data {
        Json::Null => Value::new_none(),
        Json::Bool(it) => Value::new_bool(*it),
        Json::String(it) => heap.alloc(it.as_str()),
        Json::Number(it) => match it.as_i64() {
            Some(int) => heap.alloc(int),
            None => heap.alloc(StarlarkFloat(it.as_f64().unwrap_or(f64::NAN))),
        },
        Json::Array(items) => heap.alloc(AllocList(items.iter().map(|it| from_json(it, heap)))),
        Json::Object(fields) => heap.alloc(AllocDict(
            fields.iter().map(|(name, it)| (heap.alloc(name.as_str()), from_json(it, heap))),
        )),
    }
}

/// A value as data.
///
/// # Errors
/// If it contains something that data cannot hold.
fn to_json(value: Value<'_>) -> Result<Json, ConvertError> {
    convert(value, 0)
}

/// Why a value is no data.
#[derive(Debug, thiserror::Error)]
enum ConvertError {
    #[error("nesting is deeper than {MAX_DEPTH} levels")]
    TooDeep,
    #[error("unable to convert from starlark value, unsupported type {0}")]
    Type(String),
    #[error("only string keys are supported in maps. found key '{key}' of type {found}")]
    Key { key: String, found: &'static str },
    /// A number that no format can hold.
    #[error("json: unsupported value: {}", not_finite(*.0))]
    NotFinite(f64),
}

impl ConvertError {
    /// Raises it from the encoder of a format. The reference notices numbers that cannot be written only when it
    /// serializes.
    fn raise(&self, format: Format) -> RaisedError {
        raise(match (self, format) {
            (Self::NotFinite(_), Format::Json) => {
                format!("error serializing object to json: {self}")
            }
            (Self::NotFinite(_), Format::Yaml) => {
                format!("error serializing object to yaml: error marshaling into JSON: {self}")
            }
            _ => format!("error converting object from starlark: {self}"),
        })
    }
}

/// What data is written as.
#[derive(Clone, Copy)]
enum Format {
    Json,
    Yaml,
}

fn convert(value: Value<'_>, depth: usize) -> Result<Json, ConvertError> {
    if depth > MAX_DEPTH {
        return Err(ConvertError::TooDeep);
    }
    if value.is_none() {
        return Ok(Json::Null);
    }
    if let Some(it) = value.unpack_bool() {
        return Ok(Json::Bool(it));
    }
    if let Some(it) = value.unpack_str() {
        return Ok(Json::String(it.to_owned()));
    }
    if let Some(it) = Int::of(value) {
        return Ok(Json::Number(it.wrapping_i64().into()));
    }
    if let Some(it) = value.downcast_ref::<StarlarkFloat>() {
        return Number::from_f64(it.0).map(Json::Number).ok_or(ConvertError::NotFinite(it.0));
    }
    if let Some(list) = ListRef::from_value(value) {
        return list
            .iter()
            .map(|it| convert(it, depth + 1))
            .collect::<Result<_, _>>()
            .map(Json::Array);
    }
    let Some(dict) = DictRef::from_value(value) else {
        return Err(ConvertError::Type(go_type(value)));
    };
    let mut fields = Map::new();
    for (key, item) in dict.iter() {
        let Json::String(name) = convert(key, depth + 1)? else {
            let found = if Int::of(key).is_some() { "int64" } else { go_kind(key) };
            return Err(ConvertError::Key { key: repr(key), found });
        };
        fields.insert(name, convert(item, depth + 1)?);
    }
    Ok(Json::Object(fields))
}

/// What the reference calls a converted key that is no string.
fn go_kind(key: Value<'_>) -> &'static str {
    if key.unpack_bool().is_some() {
        "bool"
    } else if key.is_none() {
        "<nil>"
    } else {
        "float64"
    }
}

/// The reference's name for a number that is none.
fn not_finite(value: f64) -> &'static str {
    if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "+Inf"
    } else {
        "-Inf"
    }
}

/// Data as JSON text.
fn encode_json<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let obj: Value = args.only(eval, "obj")?;
    let data = to_json(obj).map_err(|why| why.raise(Format::Json))?;
    let text = json::Encoder { indent: Some("  "), escape_html: true }.encode(&data);
    Ok(eval.heap().alloc(format!("{text}\n")))
}

/// The documents of a YAML stream, without empty ones.
fn yaml_values<'v>(text: &str, source: &str, heap: Heap<'v>) -> EvalResult<Vec<Value<'v>>> {
    let documents = yaml::decode_stream(text).map_err(|why| {
        let what = match why {
            yaml::Error::Separator(_) => "error reading YAML stream",
            _ => "error parsing YAML",
        };
        raise(format!("{}: {}", with_source(what, source), why.while_unmarshaling()))
    })?;
    Ok(documents.iter().filter(|it| !it.is_null()).map(|it| from_json(it, heap)).collect())
}

/// The only document of a stream.
fn single<'v>(documents: &[Value<'v>]) -> Outcome<'v> {
    match documents {
        [] => Ok(Value::new_none()),
        [one] => Ok(*one),
        _ => Err(raise(
            "expected a yaml document but found a yaml stream (documents separated by `---`). \
             use decode_yaml_stream instead to decode a yaml stream",
        )),
    }
}

/// The documents of a file, or the default if it does not exist.
fn read_documents<'v>(
    eval: &Evaluator<'v, '_, '_>,
    given: &str,
    default: Option<Vec<Value<'v>>>,
) -> EvalResult<Vec<Value<'v>>> {
    let session = Session::of(eval);
    match (session.read_watched(&session.abs(given)), default) {
        (Ok(bytes), _) => yaml_values(&decode_utf8(&bytes), given, eval.heap()),
        (Err(why), Some(default)) if why.is_not_found() => Ok(default),
        (Err(why), _) => Err(raise(why.to_string())),
    }
}

/// The data of a YAML file with one document.
fn read_yaml<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let (mut file, mut default) = (String::new(), None::<Value>);
    args.unpack(eval, &mut [("paths", &mut file), ("default?", &mut default)])?;
    single(&read_documents(eval, &file, default.map(|it| vec![it]))?)
}

/// The documents of a YAML file.
fn read_yaml_stream<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let (mut file, mut default) = (String::new(), None::<ListArg>);
    args.unpack(eval, &mut [("paths", &mut file), ("default?", &mut default)])?;
    let documents = read_documents(eval, &file, default.map(|it| it.0.content().to_vec()))?;
    Ok(eval.heap().alloc(AllocList(documents)))
}

/// The data of a YAML text with one document.
fn decode_yaml<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let text: Strish = args.only(eval, "yaml")?;
    single(&yaml_values(&text.0, "", eval.heap())?)
}

/// The documents of a YAML text.
fn decode_yaml_stream<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let text: Strish = args.only(eval, "yaml")?;
    let documents = yaml_values(&text.0, "", eval.heap())?;
    Ok(eval.heap().alloc(AllocList(documents)))
}

fn yaml_text(value: Value<'_>) -> EvalResult<String> {
    let data = to_json(value).map_err(|why| why.raise(Format::Yaml))?;
    yaml::emit_v2(&data).map_err(|why| raise(format!("error serializing object to yaml: {why}")))
}

/// Data as YAML text.
fn encode_yaml<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let obj: Value = args.only(eval, "obj")?;
    Ok(eval.heap().alloc(Blob::new(yaml_text(obj)?, "encode_yaml")))
}

/// A list of data as a YAML stream.
fn encode_yaml_stream<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    let objs: Option<ListArg> = args.only(eval, "objs")?;
    let items = objs.map(|it| it.0.content().to_vec()).unwrap_or_default();
    let documents = items.into_iter().map(yaml_text).collect::<EvalResult<Vec<_>>>()?;
    Ok(eval.heap().alloc(Blob::new(documents.join("---\n"), "encode_yaml_stream")))
}

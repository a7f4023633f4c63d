//! Parses an object sent by a client: its kind, its parts, and what is wrong with them.

use serde_json::{Map, Value, json};

use super::{
    GROUP_VERSION, Kind, KindSchema, VERSION,
    client::Validation,
    decode::{Decoder, Misfit, Place, texts},
    error::{ApiError, FieldError},
    managed::Applied,
    object::keyed,
    patch::Patch,
    schema::Type,
    store::{BUTTON_HASH, button_hash},
    validate,
};

/// An object of a client, decoded and normalized.
pub(super) struct Incoming {
    pub(super) metadata: Map<String, Value>,
    pub(super) body: String,
    pub(super) status: String,
    pub(super) problems: Vec<FieldError>,
    /// Fields that do not exist.
    pub(super) unknown: Vec<String>,
    /// What the client should know.
    pub(super) warnings: Vec<String>,
    /// What the client says about who manages which field.
    pub(super) managed: Option<Value>,
    /// Set if this is the result of applying something.
    pub(super) applied: Option<Applied>,
}

/// The parts of an object as they were given.
#[derive(Default)]
struct Fields {
    metadata: Option<Map<String, Value>>,
    spec: Option<Map<String, Value>>,
    status: Option<Map<String, Value>>,
    data: Value,
}

/// Why an object could not be decoded.
pub(super) enum ReadError {
    /// A value does not fit, or a field does not exist.
    Decoding { given: String, kind: Kind, why: Misfit },
    /// It is something else.
    Other(ApiError),
}

impl ReadError {
    pub(super) fn into_refusal(self) -> ApiError {
        match self {
            Self::Decoding { given, kind, why } => ApiError::bad_request(format!(
                "{given} cannot be handled as a {}: {}",
                kind.name(),
                why.json
            )),
            Self::Other(error) => error,
        }
    }

    /// What is wrong with the result of a patch.
    pub(super) fn why_patch(&self, patch: &Patch) -> String {
        match (self, patch) {
            (Self::Decoding { why, .. }, Patch::Strategic(_)) => why.converted.clone(),
            (Self::Decoding { why, .. }, _) => why.json.clone(),
            (Self::Other(error), _) => error.message.clone(),
        }
    }
}

impl Incoming {
    /// The object in a body.
    pub(super) fn read(
        kind: Kind,
        body: &Value,
        validation: Validation,
    ) -> Result<Self, ReadError> {
        Self::read_text(kind, body, &[], validation)
    }

    /// The object in a body in which some fields were given more than once.
    pub(super) fn read_text(
        kind: Kind,
        body: &Value,
        duplicates: &[String],
        validation: Validation,
    ) -> Result<Self, ReadError> {
        let given = |key: &str, default: &str| {
            body[key].as_str().filter(|it| !it.is_empty()).unwrap_or(default).to_owned()
        };
        let (kind_given, version) =
            (given("kind", kind.name()), given("apiVersion", GROUP_VERSION));
        let refused = |why: Misfit| {
            let version = version.rsplit('/').next().unwrap_or(VERSION);
            ReadError::Decoding {
                given: format!("{kind_given} in version \"{version}\""),
                kind,
                why,
            }
        };
        if let Some(why) = other_kind(kind, &kind_given, &version) {
            return Err(refused(Misfit::text(why)));
        }
        let Value::Object(object) = body else {
            return Err(ReadError::Other(ApiError::bad_request(format!(
                "the object provided is unrecognized (must be of type {})",
                kind.name()
            ))));
        };
        let mut incoming = Self::fields(kind, object).map_err(refused)?;
        let mut problems: Vec<String> =
            duplicates.iter().map(|it| format!("duplicate field \"{it}\"")).collect();
        problems.extend(incoming.unknown.iter().map(|it| format!("unknown field \"{it}\"")));
        match validation {
            Validation::Strict if !problems.is_empty() => {
                let why = format!("strict decoding error: {}", problems.join(", "));
                return Err(refused(Misfit::text(why)));
            }
            Validation::Warn => {
                problems.sort();
                incoming.warnings = problems;
            }
            _ => {}
        }
        incoming.managed = object
            .get("metadata")
            .and_then(|it| it.get("managedFields"))
            .filter(|it| !it.is_null())
            .cloned();
        Ok(incoming)
    }

    /// Reads the parts of an object, in the order in which they were given.
    fn fields(kind: Kind, object: &Map<String, Value>) -> Result<Self, Misfit> {
        let mut decoder = Decoder::default();
        let mut parts = Fields::default();
        for (key, value) in object {
            let (ty, part) = match key.as_str() {
                "kind" | "apiVersion" => continue,
                "data" if !kind.has_status() => {
                    parts.data = data(kind, value)?;
                    continue;
                }
                "metadata" => (Type::named("ObjectMeta"), &mut parts.metadata),
                "spec" => (kind.spec(), &mut parts.spec),
                "status" => (kind.status(), &mut parts.status),
                _ => (None, &mut parts.metadata),
            };
            let place = Place::default().field(key);
            match (ty, value) {
                (None, _) => decoder.unknown.push(place.exact().to_owned()),
                (Some(_), Value::Null) => {}
                (Some(ty), Value::Object(_)) => {
                    *part = Some(decoder.structure(ty, value, &place)?);
                }
                (Some(ty), _) => {
                    let into = format!("Go struct field {}.{key}", kind.name());
                    return Err(Misfit::new(value, &into, &format!("v1alpha1.{}", ty.name)));
                }
            }
        }
        Ok(Self::assemble(kind, parts, decoder.unknown))
    }

    fn assemble(kind: Kind, parts: Fields, unknown: Vec<String>) -> Self {
        let Fields { metadata, spec, status, data } = parts;
        let mut metadata = metadata.unwrap_or_default();
        let mut problems = validate::metadata(&metadata);
        let body = match kind.spec() {
            Some(ty) => {
                let mut spec = spec.unwrap_or_else(|| match ty.zero() {
                    Value::Object(zero) => zero,
                    _ => Map::new(),
                });
                validate::fill_in(kind, &mut spec);
                problems.extend(validate::spec(kind, &spec));
                keyed("spec", &spec)
            }
            None if data.as_object().is_some_and(Map::is_empty) => String::new(),
            None => keyed("data", &data),
        };
        if kind == Kind::UiButton {
            let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
            annotations[BUTTON_HASH] = button_hash(&body).into();
            if let Some(map) = annotations.as_object() {
                *annotations = texts(map).unwrap_or_default();
            }
        }
        let status = match (status, kind.status()) {
            (Some(status), _) => keyed("status", &status),
            (None, Some(ty)) => keyed("status", &ty.zero()),
            (None, None) => String::new(),
        };
        Self {
            metadata,
            body,
            status,
            problems,
            unknown,
            warnings: Vec::new(),
            managed: None,
            applied: None,
        }
    }

    pub(super) fn text(&self, key: &str) -> &str {
        self.metadata.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// Refuses an object without a name.
    pub(super) fn require_name(&self, name: &str) -> Result<(), ApiError> {
        if self.text("name").is_empty() {
            return Err(ApiError::bad_request(format!(
                "the name of the object ({name} based on URL) was undeterminable: name must be provided"
            )));
        }
        self.check_name(name)
    }

    /// Refuses an object whose name differs from the requested one.
    pub(super) fn check_name(&self, name: &str) -> Result<(), ApiError> {
        let own = self.text("name");
        if own.is_empty() || own == name {
            return Ok(());
        }
        Err(ApiError::bad_request(format!(
            "the name of the object ({own}) does not match the name on the URL ({name})"
        )))
    }
}

/// Why an object is not of the kind that is wanted.
fn other_kind(kind: Kind, given: &str, version: &str) -> Option<String> {
    if version != GROUP_VERSION || Kind::of_kind(given).is_none() {
        Some(format!("no kind \"{given}\" is registered for version \"{version}\""))
    } else if given != kind.name() {
        let wanted = kind.name();
        Some(format!("converting ({VERSION}.{given}) to ({VERSION}.{wanted}): unknown conversion"))
    } else {
        None
    }
}

/// The texts of a config map.
fn data(kind: Kind, value: &Value) -> Result<Value, Misfit> {
    let misfit = |value: &Value, wanted: &str| {
        Misfit::new(value, &format!("Go struct field {}.data", kind.name()), wanted)
    };
    match value {
        Value::Null => Ok(Value::Null),
        Value::Object(map) => texts(map).map_err(|value| misfit(value, "string")),
        _ => Err(misfit(value, "map[string]string")),
    }
}

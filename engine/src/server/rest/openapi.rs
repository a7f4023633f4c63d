//! The `OpenAPI` documents of the kinds, written from the table of their fields.

use axum::{
    body::Body,
    http::{StatusCode, header, request::Parts},
    response::Response,
};
use engine_api::{
    GROUP, GROUP_VERSION, Kind, KindSchema, VERSION,
    schema::{Field, Presence, Ty, Type},
};
use serde_json::{Map, Value, json};

use super::answer;

mod protobuf;

/// The media types that can be patched with.
const PATCHES: [&str; 4] = [
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];

/// The media type of version 2 in protobuf.
const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// Version 2.
pub(super) fn v2(parts: &Parts) -> Response {
    let accept = parts.headers.get(header::ACCEPT).and_then(|it| it.to_str().ok()).unwrap_or("*/*");
    let dialect = Dialect { definitions: "#/definitions/" };
    let document = json!({
        "swagger": "2.0",
        "info": {"title": GROUP, "version": VERSION},
        "paths": paths(&|kind| json!({"parameters": parameters_v2(), "consumes": PATCHES, "schema": dialect.reference(kind.name())})),
        "definitions": dialect.schemas(),
    });
    if accept.contains("protobuf") {
        let body = Body::from(protobuf::encode(&document));
        return answer::with_type(StatusCode::OK, body, PROTOBUF);
    }
    answer::json(&document)
}

/// The documents of version 3 that there are.
pub(super) fn v3_index() -> Value {
    let path = format!("apis/{GROUP_VERSION}");
    // The documents change with the program only.
    let hash = env!("CARGO_PKG_VERSION");
    json!({"paths": {&path: {"serverRelativeURL": format!("/openapi/v3/{path}?hash={hash}")}}})
}

/// Version 3.
pub(super) fn v3() -> Value {
    let dialect = Dialect { definitions: "#/components/schemas/" };
    json!({
        "openapi": "3.0.0",
        "info": {"title": GROUP, "version": VERSION},
        "paths": paths(&|_| {
            let content: Map<String, Value> =
                PATCHES.iter().map(|it| ((*it).to_owned(), json!({"schema": {"type": "object"}}))).collect();
            json!({"parameters": parameters_v3(), "requestBody": {"content": content}})
        }),
        "components": {"schemas": dialect.schemas()},
    })
}

const PARAMETERS: [(&str, &str); 3] = [
    ("dryRun", "All: check everything, but store nothing."),
    ("fieldManager", "Name to record as the manager of the changed fields."),
    ("fieldValidation", "How to treat unknown fields: Ignore, Warn or Strict."),
];

fn parameters_v2() -> Value {
    PARAMETERS.iter().map(|(name, doc)| json!({"name": name, "in": "query", "type": "string", "description": doc})).collect()
}

fn parameters_v3() -> Value {
    PARAMETERS
        .iter()
        .map(|(name, doc)| json!({"name": name, "in": "query", "schema": {"type": "string"}, "description": doc}))
        .collect()
}

/// The operations of each kind; `patch` tells what those that write have besides their names.
fn paths(patch: &dyn Fn(Kind) -> Value) -> Value {
    let mut paths = Map::new();
    for kind in Kind::ALL {
        let operation = |action: &str, extra: Value| {
            let mut operation = json!({
                "operationId": format!("{action}{}", kind.name()),
                "x-kubernetes-action": action,
                "x-kubernetes-group-version-kind": {"group": GROUP, "version": VERSION, "kind": kind.name()},
                "responses": {"200": {"description": "OK"}},
            });
            if let (Some(operation), Value::Object(extra)) = (operation.as_object_mut(), extra) {
                operation.extend(extra);
            }
            operation
        };
        let written = |action: &str| operation(action, patch(kind));
        let collection = format!("/apis/{GROUP_VERSION}/{}", kind.plural());
        paths.insert(
            collection.clone(),
            json!({
                "get": operation("list", json!({})),
                "post": written("post"),
                "delete": operation("deletecollection", json!({})),
            }),
        );
        paths.insert(
            format!("{collection}/{{name}}"),
            json!({
                "get": operation("get", json!({})),
                "put": written("put"),
                "patch": written("patch"),
                "delete": operation("delete", json!({})),
            }),
        );
    }
    Value::Object(paths)
}

struct Dialect {
    definitions: &'static str,
}

impl Dialect {
    fn reference(&self, name: &str) -> Value {
        json!({"$ref": format!("{}{}", self.definitions, full_name(name))})
    }

    /// All types: kinds, lists of them, and what they consist of.
    fn schemas(&self) -> Value {
        let mut schemas = Map::new();
        for ty in ["ObjectMeta", "ListMeta"].into_iter().filter_map(Type::named) {
            self.add(ty, &mut schemas);
        }
        for kind in Kind::ALL {
            for ty in [kind.spec(), kind.status()].into_iter().flatten() {
                self.add(ty, &mut schemas);
            }
            schemas.insert(full_name(kind.name()), self.kind(kind));
            schemas.insert(full_name(&format!("{}List", kind.name())), self.list(kind));
        }
        Value::Object(schemas)
    }

    fn kind(&self, kind: Kind) -> Value {
        let mut properties = json!({
            "apiVersion": {"type": "string", "description": "The version of the API."},
            "kind": {"type": "string", "description": "The kind of the object."},
            "metadata": self.described("Metadata of the object.", "ObjectMeta"),
        });
        match (kind.spec(), kind.status()) {
            (Some(spec), Some(status)) => {
                properties["spec"] = self.described(spec.doc, spec.name);
                properties["status"] = self.described(status.doc, status.name);
            }
            _ => properties["data"] = map_of_texts("Values by key."),
        }
        json!({
            "type": "object",
            "description": kind.doc(),
            "properties": properties,
            "x-kubernetes-group-version-kind": [{"group": GROUP, "version": VERSION, "kind": kind.name()}],
        })
    }

    fn list(&self, kind: Kind) -> Value {
        let name = format!("{}List", kind.name());
        json!({
            "type": "object",
            "description": format!("A list: {}", kind.doc()),
            "required": ["items"],
            "properties": {
                "apiVersion": {"type": "string", "description": "The version of the API."},
                "kind": {"type": "string", "description": "The kind of the list."},
                "metadata": self.described("Metadata of the list.", "ListMeta"),
                "items": {"type": "array", "description": "The objects.", "items": self.reference(kind.name())},
            },
            "x-kubernetes-group-version-kind": [{"group": GROUP, "version": VERSION, "kind": name}],
        })
    }

    fn add(&self, ty: &'static Type, schemas: &mut Map<String, Value>) {
        if schemas.contains_key(&full_name(ty.name)) {
            return;
        }
        let properties: Map<String, Value> =
            ty.fields.iter().map(|it| (it.name.to_owned(), self.field(it))).collect();
        let required: Vec<&str> = ty
            .fields
            .iter()
            .filter(|it| it.presence == Presence::Required)
            .map(|it| it.name)
            .collect();
        let mut schema = json!({"type": "object", "description": ty.doc, "properties": properties});
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        schemas.insert(full_name(ty.name), schema);
        for nested in ty.fields.iter().filter_map(Field::nested) {
            self.add(nested, schemas);
        }
    }

    fn field(&self, field: &Field) -> Value {
        let doc = field.doc;
        match field.ty {
            Ty::Str | Ty::StrPtr | Ty::Duration | Ty::DurationPtr => {
                json!({"type": "string", "description": doc})
            }
            Ty::Time | Ty::TimePtr | Ty::MicroTime | Ty::MicroTimePtr => {
                json!({"type": "string", "format": "date-time", "description": doc})
            }
            Ty::Bool => json!({"type": "boolean", "description": doc}),
            Ty::Int32 => json!({"type": "integer", "format": "int32", "description": doc}),
            Ty::Int64 => json!({"type": "integer", "format": "int64", "description": doc}),
            Ty::Strings => {
                json!({"type": "array", "items": {"type": "string"}, "description": doc})
            }
            Ty::Ints => {
                json!({"type": "array", "items": {"type": "integer", "format": "int32"}, "description": doc})
            }
            Ty::Map => map_of_texts(doc),
            Ty::Any => json!({"type": "object", "description": doc}),
            Ty::Struct(nested) | Ty::Ptr(nested) => self.described(doc, nested.name),
            Ty::List(nested) => {
                json!({"type": "array", "items": self.reference(nested.name), "description": doc})
            }
        }
    }

    /// A reference that has a description of its own, where the dialect allows for one.
    fn described(&self, doc: &str, name: &str) -> Value {
        if self.definitions.starts_with("#/definitions") {
            let mut reference = self.reference(name);
            reference["description"] = doc.into();
            reference
        } else {
            json!({"description": doc, "allOf": [self.reference(name)]})
        }
    }
}

fn map_of_texts(doc: &str) -> Value {
    json!({"type": "object", "additionalProperties": {"type": "string"}, "description": doc})
}

/// The name of a type, unique among all APIs.
fn full_name(name: &str) -> String {
    format!("dev.tilt.{VERSION}.{name}")
}

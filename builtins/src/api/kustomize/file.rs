//! Reads the file of an overlay as go-yaml v2 decodes it into a Go struct: type mismatches are errors, unknown fields
//! are ignored.

use builtins_language::decode_utf8;
use engine_formats::yaml::{
    self, Error,
    node::{Kind, NodeId, Stream},
    tag_v2,
};

use super::schema::{FieldShape, KUSTOMIZATION, Type};

/// The fields of an overlay that name files, and those that say what it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Kustomization {
    pub(super) kind: String,
    pub(super) api_version: String,
    pub(super) bases: Vec<String>,
    pub(super) components: Vec<String>,
    pub(super) resources: Vec<String>,
    pub(super) crds: Vec<String>,
    pub(super) patches_strategic_merge: Vec<String>,
    /// The paths of patches; empty where a patch is inline.
    pub(super) patches: Vec<String>,
    /// The paths of JSON patches; empty where a patch is inline.
    pub(super) patches_json6902: Vec<String>,
    /// The files of all config maps, with their keys where they have one.
    pub(super) config_map_files: Vec<String>,
}

/// Reads the first document of a text.
pub(super) fn read(text: &[u8]) -> Result<Kustomization, Error> {
    let (data, failure, problems) = yaml::with_tree_v2(text, |stream| {
        let mut reader =
            KustomizationReader { stream, open: Vec::new(), failure: None, problems: Vec::new() };
        let data = stream.documents.first().map(|root| reader.read(*root, KUSTOMIZATION));
        (data.unwrap_or_default(), reader.failure, reader.problems)
    })?;
    if let Some(failure) = failure {
        return Err(Error::Yaml(failure));
    }
    if !problems.is_empty() {
        return Err(Error::Yaml(format!("unmarshal errors:\n  {}", problems.join("\n  "))));
    }
    let paths =
        |field: &str| data.get(field).items().iter().map(|it| it.get("path").text()).collect();
    Ok(Kustomization {
        kind: data.get("kind").text(),
        api_version: data.get("apiVersion").text(),
        bases: data.get("bases").texts(),
        components: data.get("components").texts(),
        resources: data.get("resources").texts(),
        crds: data.get("crds").texts(),
        patches_strategic_merge: data.get("patchesStrategicMerge").texts(),
        patches: paths("patches"),
        patches_json6902: paths("patchesJson6902"),
        config_map_files: data
            .get("configMapGenerator")
            .items()
            .iter()
            .flat_map(|it| it.get("files").texts())
            .collect(),
    })
}

/// What was read of a node.
#[derive(Clone, Debug, Default)]
enum Data {
    #[default]
    Empty,
    Text(String),
    List(Vec<Data>),
    Fields(Vec<(&'static str, Data)>),
}

impl Data {
    fn get(&self, name: &str) -> &Self {
        match self {
            Self::Fields(fields) => {
                fields.iter().rfind(|it| it.0 == name).map_or(&Self::Empty, |it| &it.1)
            }
            _ => &Self::Empty,
        }
    }

    fn items(&self) -> &[Self] {
        if let Self::List(items) = self { items } else { &[] }
    }

    fn text(&self) -> String {
        if let Self::Text(text) = self { text.clone() } else { String::new() }
    }

    fn texts(&self) -> Vec<String> {
        self.items().iter().map(Self::text).collect()
    }
}

/// Walks a document along its type, which bounds the depth.
struct KustomizationReader<'s, 't> {
    stream: &'s Stream<'t>,
    /// The anchors that are being read through aliases.
    open: Vec<NodeId>,
    /// Why reading stopped.
    failure: Option<String>,
    /// What does not fit its type.
    problems: Vec<String>,
}

impl KustomizationReader<'_, '_> {
    fn read(&mut self, id: NodeId, ty: Type) -> Data {
        let stream = self.stream;
        match (&stream[id].kind, ty.shape()) {
            (_, FieldShape::Any) => Data::Empty,
            (Kind::Alias { name, target }, _) => {
                if self.open.contains(target) {
                    self.failure
                        .get_or_insert_with(|| format!("anchor '{name}' value contains itself"));
                    return Data::Empty;
                }
                self.open.push(*target);
                let data = self.read(*target, ty);
                self.open.pop();
                data
            }
            (Kind::Sequence { items, .. }, FieldShape::List(item)) => {
                Data::List(items.iter().map(|it| self.read(*it, item)).collect())
            }
            (Kind::Mapping { entries, .. }, FieldShape::Map(value)) => {
                for (key, entry) in entries {
                    if stream[*key].is_merge_key() {
                        self.read_merged(*entry, ty);
                    } else {
                        self.read(*entry, value);
                    }
                }
                Data::Empty
            }
            (Kind::Mapping { entries, .. }, FieldShape::Struct(_)) => {
                let mut fields = Vec::new();
                self.read_fields(entries, ty, &mut fields);
                Data::Fields(fields)
            }
            (Kind::Scalar { value, .. }, shape) => self.read_scalar(id, value, shape, ty),
            (Kind::Sequence { .. }, _) => self.refuse(id, "!!seq", ty),
            (Kind::Mapping { .. }, _) => self.refuse(id, "!!map", ty),
        }
    }

    fn read_fields(
        &mut self,
        entries: &[(NodeId, NodeId)],
        ty: Type,
        fields: &mut Vec<(&'static str, Data)>,
    ) {
        let FieldShape::Struct(known) = ty.shape() else { return };
        for (key, value) in entries {
            let key = &self.stream[*key];
            if key.is_merge_key() {
                if let Data::Fields(merged) = self.read_merged(*value, ty) {
                    fields.extend(merged);
                }
            } else if let Some((name, ty)) = known.find(key.text()) {
                let data = self.read(*value, ty);
                fields.push((name, data));
            }
        }
    }

    /// Reads one mapping, or several of which the first counts most.
    fn read_merged(&mut self, id: NodeId, ty: Type) -> Data {
        let stream = self.stream;
        let mappings = match &stream[id].kind {
            Kind::Sequence { items, .. } => items.as_slice(),
            _ => &[id],
        };
        let mut fields = Vec::new();
        for mapping in mappings.iter().rev() {
            if !matches!(stream[stream.resolve_alias(*mapping)].kind, Kind::Mapping { .. }) {
                let why = "map merge requires map or sequence of maps as the value";
                self.failure.get_or_insert_with(|| why.to_owned());
            } else if let Data::Fields(merged) = self.read(*mapping, ty) {
                fields.extend(merged);
            }
        }
        Data::Fields(fields)
    }

    fn read_scalar(&mut self, id: NodeId, value: &str, shape: FieldShape, ty: Type) -> Data {
        let tag = tag_v2(&self.stream[id]).into_owned();
        match shape {
            _ if tag == "!!null" => Data::Empty,
            FieldShape::Text => Data::Text(value.to_owned()),
            FieldShape::Bool if tag == "!!bool" => Data::Empty,
            FieldShape::Int if tag == "!!int" || tag == "!!float" => Data::Empty,
            _ => self.refuse(id, &tag, ty),
        }
    }

    fn refuse(&mut self, id: NodeId, tag: &str, ty: Type) -> Data {
        let node = &self.stream[id];
        let value = match &node.kind {
            Kind::Scalar { value, .. } if value.len() > 10 => {
                format!(" `{}...`", decode_utf8(&value.as_bytes()[..7]))
            }
            Kind::Scalar { value, .. } => format!(" `{value}`"),
            _ => String::new(),
        };
        self.problems
            .push(format!("line {}: cannot unmarshal {tag}{value} into {}", node.line, ty.0));
        Data::Empty
    }
}

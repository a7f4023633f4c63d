//! The fields of an overlay's file and their types, under their Go names, which errors mention.

/// A type of the Go library.
#[derive(Debug)]
pub(super) struct Type {
    /// Its name in messages.
    pub(super) name: &'static str,
    /// What it holds.
    pub(super) shape: FieldShape,
}

/// What a type holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum FieldShape {
    /// Anything at all.
    Any,
    /// Text, which any scalar is.
    Text,
    /// A boolean.
    Bool,
    /// A number.
    Int,
    /// A list.
    List(&'static Type),
    /// A dictionary with any keys.
    Map(&'static Type),
    /// A dictionary with known keys.
    Struct(FieldTypes),
}

type FieldTypes = &'static [(&'static str, &'static Type)];

const fn text(name: &'static str) -> Type {
    Type { name, shape: FieldShape::Text }
}

const fn list(name: &'static str, item: &'static Type) -> Type {
    Type { name, shape: FieldShape::List(item) }
}

const fn map(name: &'static str, value: &'static Type) -> Type {
    Type { name, shape: FieldShape::Map(value) }
}

const fn structure(name: &'static str, fields: FieldTypes) -> Type {
    Type { name, shape: FieldShape::Struct(fields) }
}

static ANY: Type = Type { name: "interface {}", shape: FieldShape::Any };
static BOOL: Type = Type { name: "bool", shape: FieldShape::Bool };
static INT: Type = Type { name: "int", shape: FieldShape::Int };
static INT64: Type = Type { name: "int64", shape: FieldShape::Int };
static STRING: Type = text("string");
static STRINGS: Type = list("[]string", &STRING);
static STRING_MAP: Type = map("map[string]string", &STRING);
static ANY_MAP: Type = map("map[string]interface {}", &ANY);
static PATCH_OPTIONS: Type =
    structure("types.PatchArgs", &[("allowNameChange", &BOOL), ("allowKindChange", &BOOL)]);

static SELECTOR: Type = structure(
    "types.Selector",
    &[
        ("group", &STRING),
        ("version", &STRING),
        ("kind", &STRING),
        ("name", &STRING),
        ("namespace", &STRING),
        ("annotationSelector", &STRING),
        ("labelSelector", &STRING),
    ],
);
static SELECTORS: Type = list("[]*types.Selector", &SELECTOR);
static META: Type = structure(
    "types.ObjectMeta",
    &[
        ("name", &STRING),
        ("namespace", &STRING),
        ("labels", &STRING_MAP),
        ("annotations", &STRING_MAP),
    ],
);
static FIELD_SPEC: Type = structure(
    "types.FieldSpec",
    &[
        ("group", &STRING),
        ("version", &STRING),
        ("kind", &STRING),
        ("path", &STRING),
        ("create", &BOOL),
    ],
);
static FIELD_SPECS: Type = list("[]types.FieldSpec", &FIELD_SPEC);
static LABEL: Type = structure(
    "types.Label",
    &[
        ("pairs", &STRING_MAP),
        ("includeSelectors", &BOOL),
        ("includeTemplates", &BOOL),
        ("fields", &FIELD_SPECS),
    ],
);
static LABELS: Type = list("[]types.Label", &LABEL);
static MERGE_PATCH: Type = text("types.PatchStrategicMerge");
static MERGE_PATCHES: Type = list("[]types.PatchStrategicMerge", &MERGE_PATCH);
static PATCH: Type = structure(
    "types.Patch",
    &[("path", &STRING), ("patch", &STRING), ("target", &SELECTOR), ("options", &PATCH_OPTIONS)],
);
static PATCHES: Type = list("[]types.Patch", &PATCH);
static IMAGE: Type = structure(
    "types.Image",
    &[
        ("name", &STRING),
        ("newName", &STRING),
        ("tagSuffix", &STRING),
        ("newTag", &STRING),
        ("digest", &STRING),
    ],
);
static IMAGES: Type = list("[]types.Image", &IMAGE);
static FIELD_OPTIONS: Type = structure(
    "types.FieldOptions",
    &[("delimiter", &STRING), ("index", &INT), ("encoding", &STRING), ("create", &BOOL)],
);
static SOURCE: Type = structure(
    "types.SourceSelector",
    &[
        ("group", &STRING),
        ("version", &STRING),
        ("kind", &STRING),
        ("name", &STRING),
        ("namespace", &STRING),
        ("fieldPath", &STRING),
        ("options", &FIELD_OPTIONS),
    ],
);
static TARGET: Type = structure(
    "types.TargetSelector",
    &[
        ("select", &SELECTOR),
        ("reject", &SELECTORS),
        ("fieldPaths", &STRINGS),
        ("options", &FIELD_OPTIONS),
    ],
);
static TARGETS: Type = list("[]*types.TargetSelector", &TARGET);
static REPLACEMENT: Type = structure(
    "types.ReplacementField",
    &[("source", &SOURCE), ("targets", &TARGETS), ("sourceValue", &STRING), ("path", &STRING)],
);
static REPLACEMENTS: Type = list("[]types.ReplacementField", &REPLACEMENT);
static REPLICA: Type = structure("types.Replica", &[("name", &STRING), ("count", &INT64)]);
static REPLICAS: Type = list("[]types.Replica", &REPLICA);
static OBJECT_REF: Type = structure(
    "types.Target",
    &[
        ("apiVersion", &STRING),
        ("group", &STRING),
        ("version", &STRING),
        ("kind", &STRING),
        ("name", &STRING),
        ("namespace", &STRING),
    ],
);
static FIELD_REF: Type = structure("types.FieldSelector", &[("fieldPath", &STRING)]);
static VAR: Type =
    structure("types.Var", &[("name", &STRING), ("objref", &OBJECT_REF), ("fieldref", &FIELD_REF)]);
static VARS: Type = list("[]types.Var", &VAR);
static LEGACY_SORT: Type =
    structure("types.LegacySortOptions", &[("orderFirst", &STRINGS), ("orderLast", &STRINGS)]);
static SORT_ORDER: Type = text("types.SortOrder");
static SORT_OPTIONS: Type =
    structure("types.SortOptions", &[("order", &SORT_ORDER), ("legacySortOptions", &LEGACY_SORT)]);
static GENERATOR_OPTIONS: Type = structure(
    "types.GeneratorOptions",
    &[
        ("labels", &STRING_MAP),
        ("annotations", &STRING_MAP),
        ("disableNameSuffixHash", &BOOL),
        ("immutable", &BOOL),
    ],
);
static CONFIG_MAP: Type = structure(
    "types.ConfigMapArgs",
    &[
        ("namespace", &STRING),
        ("name", &STRING),
        ("behavior", &STRING),
        ("literals", &STRINGS),
        ("files", &STRINGS),
        ("envs", &STRINGS),
        ("env", &STRING),
        ("options", &GENERATOR_OPTIONS),
    ],
);
static CONFIG_MAPS: Type = list("[]types.ConfigMapArgs", &CONFIG_MAP);
static SECRET: Type = structure(
    "types.SecretArgs",
    &[
        ("namespace", &STRING),
        ("name", &STRING),
        ("behavior", &STRING),
        ("literals", &STRINGS),
        ("files", &STRINGS),
        ("envs", &STRINGS),
        ("env", &STRING),
        ("options", &GENERATOR_OPTIONS),
        ("type", &STRING),
    ],
);
static SECRETS: Type = list("[]types.SecretArgs", &SECRET);
static HELM_GLOBALS: Type =
    structure("types.HelmGlobals", &[("chartHome", &STRING), ("configHome", &STRING)]);
static HELM_CHART: Type = structure(
    "types.HelmChart",
    &[
        ("name", &STRING),
        ("version", &STRING),
        ("repo", &STRING),
        ("releaseName", &STRING),
        ("namespace", &STRING),
        ("additionalValuesFiles", &STRINGS),
        ("valuesFile", &STRING),
        ("valuesInline", &ANY_MAP),
        ("valuesMerge", &STRING),
        ("includeCRDs", &BOOL),
        ("skipHooks", &BOOL),
        ("apiVersions", &STRINGS),
        ("kubeVersion", &STRING),
        ("nameTemplate", &STRING),
        ("skipTests", &BOOL),
        ("debug", &BOOL),
        ("devel", &BOOL),
    ],
);
static HELM_CHARTS: Type = list("[]types.HelmChart", &HELM_CHART);
static OLD_HELM_CHART: Type = structure(
    "types.HelmChartArgs",
    &[
        ("chartName", &STRING),
        ("chartVersion", &STRING),
        ("chartRepoUrl", &STRING),
        ("chartHome", &STRING),
        ("chartRepoName", &STRING),
        ("helmBin", &STRING),
        ("helmHome", &STRING),
        ("values", &STRING),
        ("valuesLocal", &ANY_MAP),
        ("valuesMerge", &STRING),
        ("releaseName", &STRING),
        ("releaseNamespace", &STRING),
        ("extraArgs", &STRINGS),
    ],
);
static OLD_HELM_CHARTS: Type = list("[]types.HelmChartArgs", &OLD_HELM_CHART);

/// The file of an overlay.
pub(super) static KUSTOMIZATION: Type = structure(
    "types.Kustomization",
    &[
        ("kind", &STRING),
        ("apiVersion", &STRING),
        ("metadata", &META),
        ("openapi", &STRING_MAP),
        ("namePrefix", &STRING),
        ("nameSuffix", &STRING),
        ("namespace", &STRING),
        ("commonLabels", &STRING_MAP),
        ("labels", &LABELS),
        ("commonAnnotations", &STRING_MAP),
        ("patchesStrategicMerge", &MERGE_PATCHES),
        ("patchesJson6902", &PATCHES),
        ("patches", &PATCHES),
        ("images", &IMAGES),
        ("imageTags", &IMAGES),
        ("replacements", &REPLACEMENTS),
        ("replicas", &REPLICAS),
        ("vars", &VARS),
        ("sortOptions", &SORT_OPTIONS),
        ("resources", &STRINGS),
        ("components", &STRINGS),
        ("crds", &STRINGS),
        ("bases", &STRINGS),
        ("configMapGenerator", &CONFIG_MAPS),
        ("secretGenerator", &SECRETS),
        ("helmGlobals", &HELM_GLOBALS),
        ("helmCharts", &HELM_CHARTS),
        ("helmChartInflationGenerator", &OLD_HELM_CHARTS),
        ("generatorOptions", &GENERATOR_OPTIONS),
        ("configurations", &STRINGS),
        ("generators", &STRINGS),
        ("transformers", &STRINGS),
        ("validators", &STRINGS),
        ("buildMetadata", &STRINGS),
    ],
);

//! The API types that Tiltfiles can construct: their fields, and how empty fields are printed.

use engine_formats::v1alpha1;
use serde_json::{Map, Value as Json};

use crate::objects::{self, ObjectType};

/// What a field holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum FieldKind {
    /// A text.
    Str,
    /// A text that is printed even if it is empty, once it is given.
    OptionalStr,
    /// An integer of 32 bits.
    Int,
    /// Yes or no.
    Bool,
    /// A path, made absolute.
    Path,
    /// One path or several, made absolute.
    Paths,
    /// A list of texts.
    StrList,
    /// A dict of texts.
    StrMap,
    /// A span of time.
    Duration,
    /// Nothing that a Tiltfile could give.
    Nothing,
    /// A nested spec.
    Spec(&'static Spec),
    /// A list of nested specs.
    List(&'static Spec),
}

/// How a field is printed that was not given or is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Empty {
    /// Not at all.
    Omitted,
    /// As the empty value of its kind.
    Shown,
    /// As the directory of the file being executed.
    WorkingDir,
}

/// Where a field can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// As an argument and as a key.
    Everywhere,
    /// As an argument, which is always refused: the reference lists it but does not know it.
    ArgumentOnly,
    /// As a key of a plain dict.
    DictOnly,
}

/// A field of a spec or an object.
#[derive(Debug)]
pub(super) struct Field {
    /// The name in Tiltfiles.
    pub(super) name: &'static str,
    /// The name in the API.
    pub(super) json: &'static str,
    /// What it holds.
    pub(super) kind: FieldKind,
    /// How it is printed when empty.
    pub(super) empty: Empty,
    /// Where it can be given.
    pub(super) place: Place,
}

/// A nested spec.
#[derive(Debug)]
pub(super) struct Spec {
    /// The function that makes it.
    pub(super) function: &'static str,
    /// Its fields, in the order of the API.
    pub(super) fields: &'static [Field],
}

/// Where an object keeps its fields.
#[derive(Clone, Copy, Debug)]
pub(super) enum Body {
    /// Beside the metadata.
    Inline,
    /// In its spec; the status of a new object has these fields, all null.
    Spec {
        /// The fields of an empty status.
        zero_status: &'static [&'static str],
    },
}

/// An object.
#[derive(Debug)]
pub(super) struct Object {
    /// The function that declares it.
    pub(super) function: &'static str,
    /// Its type.
    pub(super) kind: ObjectType,
    /// Its fields, in the order of the API, which is the order of the arguments.
    pub(super) fields: &'static [Field],
    /// Where it keeps them.
    pub(super) body: Body,
    /// What is wrong with the fields.
    pub(super) validate: fn(&Map<String, Json>) -> Vec<String>,
}

impl Spec {
    /// The spec that this function makes.
    pub(super) fn named(function: &str) -> Option<&'static Self> {
        SPECS.iter().copied().find(|it| it.function == function)
    }
}

impl Object {
    /// The object that this function declares.
    pub(super) fn named(function: &str) -> Option<&'static Self> {
        OBJECTS.iter().find(|it| it.function == function)
    }
}

/// A field that is left out when empty.
const fn omit(name: &'static str, json: &'static str, kind: FieldKind) -> Field {
    Field { name, json, kind, empty: Empty::Omitted, place: Place::Everywhere }
}

/// A field that is always printed.
const fn show(name: &'static str, json: &'static str, kind: FieldKind) -> Field {
    Field { empty: Empty::Shown, ..omit(name, json, kind) }
}

/// A field that is refused wherever it is given.
const fn refused(name: &'static str) -> Field {
    Field { place: Place::ArgumentOnly, ..omit(name, "", FieldKind::Nothing) }
}

const fn spec(function: &'static str, fields: &'static [Field]) -> Spec {
    Spec { function, fields }
}

use FieldKind::{
    Bool, Duration, Int, List, Nothing, OptionalStr, Path, Paths, Spec as Nested, Str, StrList,
    StrMap,
};

static CONFIG_MAP_DISABLE_SOURCE: Spec =
    spec("config_map_disable_source", &[show("name", "name", Str), show("key", "key", Str)]);
static DISABLE_SOURCE: Spec = spec(
    "disable_source",
    &[
        omit("config_map", "configMap", Nested(&CONFIG_MAP_DISABLE_SOURCE)),
        omit("every_config_map", "everyConfigMap", List(&CONFIG_MAP_DISABLE_SOURCE)),
    ],
);
static EXEC_ACTION: Spec = spec("exec_action", &[omit("command", "command", StrList)]);
static FORWARD: Spec = spec(
    "forward",
    &[
        omit("local_port", "localPort", Int),
        show("container_port", "containerPort", Int),
        show("host", "host", Str),
        omit("name", "name", Str),
        omit("path", "path", Str),
    ],
);
static HTTP_HEADER: Spec =
    spec("http_header", &[show("name", "name", Str), show("value", "value", Str)]);
static HTTP_GET_ACTION: Spec = spec(
    "http_get_action",
    &[
        omit("path", "path", Str),
        show("port", "port", Int),
        omit("host", "host", Str),
        omit("scheme", "scheme", Str),
        omit("http_headers", "httpHeaders", List(&HTTP_HEADER)),
    ],
);
static TCP_SOCKET_ACTION: Spec =
    spec("tcp_socket_action", &[show("port", "port", Int), omit("host", "host", Str)]);
static HANDLER: Spec = spec(
    "handler",
    &[
        omit("exec", "exec", Nested(&EXEC_ACTION)),
        omit("http_get", "httpGet", Nested(&HTTP_GET_ACTION)),
        omit("tcp_socket", "tcpSocket", Nested(&TCP_SOCKET_ACTION)),
    ],
);
static IGNORE_DEF: Spec = spec(
    "ignore_def",
    &[show("base_path", "basePath", Path), omit("patterns", "patterns", StrList)],
);
static KUBERNETES_APPLY_CMD: Spec = spec(
    "kubernetes_apply_cmd",
    &[show("args", "args", StrList), show("dir", "dir", Path), show("env", "env", StrList)],
);
static LABEL_SELECTOR_REQUIREMENT: Spec = spec(
    "label_selector_requirement",
    &[
        show("key", "key", Str),
        show("operator", "operator", Str),
        omit("values", "values", StrList),
    ],
);
static LABEL_SELECTOR: Spec = spec(
    "label_selector",
    &[
        omit("match_labels", "matchLabels", StrMap),
        omit("match_expressions", "matchExpressions", List(&LABEL_SELECTOR_REQUIREMENT)),
    ],
);
static KUBERNETES_DISCOVERY_TEMPLATE_SPEC: Spec = spec(
    "kubernetes_discovery_template_spec",
    &[omit("extra_selectors", "extraSelectors", List(&LABEL_SELECTOR))],
);
static OBJECT_SELECTOR: Spec = spec(
    "object_selector",
    &[
        omit("api_version_regexp", "apiVersionRegexp", Str),
        omit("kind_regexp", "kindRegexp", Str),
        omit("name_regexp", "nameRegexp", Str),
        omit("namespace_regexp", "namespaceRegexp", Str),
    ],
);
static KUBERNETES_IMAGE_OBJECT_DESCRIPTOR: Spec = spec(
    "kubernetes_image_object_descriptor",
    &[show("repo_field", "repoField", Str), show("tag_field", "tagField", Str)],
);
static KUBERNETES_IMAGE_LOCATOR: Spec = spec(
    "kubernetes_image_locator",
    &[
        show("object_selector", "objectSelector", Nested(&OBJECT_SELECTOR)),
        show("path", "path", Str),
        omit("object", "object", Nested(&KUBERNETES_IMAGE_OBJECT_DESCRIPTOR)),
    ],
);
static KUBERNETES_WATCH_REF: Spec = spec(
    "kubernetes_watch_ref",
    &[omit("uid", "uid", Str), show("namespace", "namespace", Str), omit("name", "name", Str)],
);
static POD_LOG_STREAM_TEMPLATE_SPEC: Spec = spec(
    "pod_log_stream_template_spec",
    &[
        refused("since_time"),
        omit("only_containers", "onlyContainers", StrList),
        omit("ignore_containers", "ignoreContainers", StrList),
    ],
);
static PORT_FORWARD_TEMPLATE_SPEC: Spec =
    spec("port_forward_template_spec", &[show("forwards", "forwards", List(&FORWARD))]);
static PROBE: Spec = spec(
    "probe",
    &[
        refused("handler"),
        Field { place: Place::DictOnly, ..omit("exec", "exec", Nested(&EXEC_ACTION)) },
        Field { place: Place::DictOnly, ..omit("http_get", "httpGet", Nested(&HTTP_GET_ACTION)) },
        Field {
            place: Place::DictOnly,
            ..omit("tcp_socket", "tcpSocket", Nested(&TCP_SOCKET_ACTION))
        },
        omit("initial_delay_seconds", "initialDelaySeconds", Int),
        omit("timeout_seconds", "timeoutSeconds", Int),
        omit("period_seconds", "periodSeconds", Int),
        omit("success_threshold", "successThreshold", Int),
        omit("failure_threshold", "failureThreshold", Int),
    ],
);
static RESTART_ON_SPEC: Spec = spec(
    "restart_on_spec",
    &[omit("file_watches", "fileWatches", StrList), omit("ui_buttons", "uiButtons", StrList)],
);
static START_ON_SPEC: Spec = spec(
    "start_on_spec",
    &[
        Field { place: Place::ArgumentOnly, ..show("start_after", "startAfter", Nothing) },
        show("ui_buttons", "uiButtons", StrList),
    ],
);
static UI_BOOL_INPUT_SPEC: Spec = spec(
    "ui_bool_input_spec",
    &[
        omit("default_value", "defaultValue", Bool),
        omit("true_string", "trueString", OptionalStr),
        omit("false_string", "falseString", OptionalStr),
    ],
);
static UI_CHOICE_INPUT_SPEC: Spec =
    spec("ui_choice_input_spec", &[show("choices", "choices", StrList)]);
static UI_COMPONENT_LOCATION: Spec = spec(
    "ui_component_location",
    &[show("component_id", "componentID", Str), show("component_type", "componentType", Str)],
);
static UI_HIDDEN_INPUT_SPEC: Spec = spec("ui_hidden_input_spec", &[show("value", "value", Str)]);
static UI_TEXT_INPUT_SPEC: Spec = spec(
    "ui_text_input_spec",
    &[omit("default_value", "defaultValue", Str), omit("placeholder", "placeholder", Str)],
);
static UI_INPUT_SPEC: Spec = spec(
    "ui_input_spec",
    &[
        show("name", "name", Str),
        show("label", "label", Str),
        omit("text", "text", Nested(&UI_TEXT_INPUT_SPEC)),
        omit("bool", "bool", Nested(&UI_BOOL_INPUT_SPEC)),
        omit("hidden", "hidden", Nested(&UI_HIDDEN_INPUT_SPEC)),
        omit("choice", "choice", Nested(&UI_CHOICE_INPUT_SPEC)),
    ],
);

/// All nested specs.
pub(super) static SPECS: &[&Spec] = &[
    &CONFIG_MAP_DISABLE_SOURCE,
    &DISABLE_SOURCE,
    &EXEC_ACTION,
    &FORWARD,
    &HTTP_GET_ACTION,
    &HTTP_HEADER,
    &HANDLER,
    &IGNORE_DEF,
    &KUBERNETES_APPLY_CMD,
    &KUBERNETES_DISCOVERY_TEMPLATE_SPEC,
    &KUBERNETES_IMAGE_LOCATOR,
    &KUBERNETES_IMAGE_OBJECT_DESCRIPTOR,
    &KUBERNETES_WATCH_REF,
    &LABEL_SELECTOR,
    &LABEL_SELECTOR_REQUIREMENT,
    &OBJECT_SELECTOR,
    &POD_LOG_STREAM_TEMPLATE_SPEC,
    &PORT_FORWARD_TEMPLATE_SPEC,
    &PROBE,
    &RESTART_ON_SPEC,
    &START_ON_SPEC,
    &TCP_SOCKET_ACTION,
    &UI_BOOL_INPUT_SPEC,
    &UI_CHOICE_INPUT_SPEC,
    &UI_COMPONENT_LOCATION,
    &UI_HIDDEN_INPUT_SPEC,
    &UI_INPUT_SPEC,
    &UI_TEXT_INPUT_SPEC,
];

/// All objects.
pub(super) static OBJECTS: &[Object] = &[
    Object {
        function: "cmd",
        kind: objects::CMD,
        fields: &[
            omit("args", "args", StrList),
            Field { empty: Empty::WorkingDir, ..omit("dir", "dir", Path) },
            omit("env", "env", StrList),
            omit("readiness_probe", "readinessProbe", Nested(&PROBE)),
            omit("restart_on", "restartOn", Nested(&RESTART_ON_SPEC)),
            omit("start_on", "startOn", Nested(&START_ON_SPEC)),
            omit("disable_source", "disableSource", Nested(&DISABLE_SOURCE)),
        ],
        body: Body::Spec { zero_status: &[] },
        validate: |_| Vec::new(),
    },
    Object {
        function: "config_map",
        kind: objects::CONFIG_MAP,
        fields: &[omit("data", "data", StrMap)],
        body: Body::Inline,
        validate: |_| Vec::new(),
    },
    Object {
        function: "extension",
        kind: objects::EXTENSION,
        fields: &[
            show("repo_name", "repoName", Str),
            show("repo_path", "repoPath", Str),
            omit("args", "args", StrList),
        ],
        body: Body::Spec { zero_status: &[] },
        validate: |_| Vec::new(),
    },
    Object {
        function: "extension_repo",
        kind: objects::EXTENSION_REPO,
        fields: &[
            show("url", "url", Str),
            omit("ref", "ref", Str),
            omit("load_host", "loadHost", Str),
            omit("git_subpath", "gitSubpath", Str),
        ],
        body: Body::Spec { zero_status: &["lastFetchedAt"] },
        validate: v1alpha1::extension_repo,
    },
    Object {
        function: "file_watch",
        kind: objects::FILE_WATCH,
        fields: &[
            show("watched_paths", "watchedPaths", Paths),
            omit("ignores", "ignores", List(&IGNORE_DEF)),
            omit("disable_source", "disableSource", Nested(&DISABLE_SOURCE)),
        ],
        body: Body::Spec { zero_status: &["monitorStartTime", "lastEventTime"] },
        validate: v1alpha1::file_watch,
    },
    Object {
        function: "kubernetes_apply",
        kind: objects::KUBERNETES_APPLY,
        fields: &[
            omit("yaml", "yaml", Str),
            omit("image_maps", "imageMaps", StrList),
            omit("image_locators", "imageLocators", List(&KUBERNETES_IMAGE_LOCATOR)),
            show("timeout", "timeout", Duration),
            omit(
                "kubernetes_discovery_template_spec",
                "kubernetesDiscoveryTemplateSpec",
                Nested(&KUBERNETES_DISCOVERY_TEMPLATE_SPEC),
            ),
            omit(
                "port_forward_template_spec",
                "portForwardTemplateSpec",
                Nested(&PORT_FORWARD_TEMPLATE_SPEC),
            ),
            omit(
                "pod_log_stream_template_spec",
                "podLogStreamTemplateSpec",
                Nested(&POD_LOG_STREAM_TEMPLATE_SPEC),
            ),
            omit("discovery_strategy", "discoveryStrategy", Str),
            omit("disable_source", "disableSource", Nested(&DISABLE_SOURCE)),
            omit("apply_cmd", "applyCmd", Nested(&KUBERNETES_APPLY_CMD)),
            omit("restart_on", "restartOn", Nested(&RESTART_ON_SPEC)),
            omit("delete_cmd", "deleteCmd", Nested(&KUBERNETES_APPLY_CMD)),
            show("cluster", "cluster", Str),
            omit("server_side_apply", "serverSideApply", Bool),
        ],
        body: Body::Spec { zero_status: &["lastApplyTime", "lastApplyStartTime"] },
        validate: v1alpha1::kubernetes_apply,
    },
    Object {
        function: "kubernetes_discovery",
        kind: objects::KUBERNETES_DISCOVERY,
        fields: &[
            show("watches", "watches", List(&KUBERNETES_WATCH_REF)),
            omit("extra_selectors", "extraSelectors", List(&LABEL_SELECTOR)),
            omit(
                "port_forward_template_spec",
                "portForwardTemplateSpec",
                Nested(&PORT_FORWARD_TEMPLATE_SPEC),
            ),
            omit(
                "pod_log_stream_template_spec",
                "podLogStreamTemplateSpec",
                Nested(&POD_LOG_STREAM_TEMPLATE_SPEC),
            ),
            show("cluster", "cluster", Str),
        ],
        body: Body::Spec { zero_status: &["monitorStartTime", "pods"] },
        validate: v1alpha1::kubernetes_discovery,
    },
    Object {
        function: "ui_button",
        kind: objects::UI_BUTTON,
        fields: &[
            show("location", "location", Nested(&UI_COMPONENT_LOCATION)),
            show("text", "text", Str),
            omit("icon_name", "iconName", Str),
            omit("icon_svg", "iconSVG", Str),
            omit("disabled", "disabled", Bool),
            omit("requires_confirmation", "requiresConfirmation", Bool),
            omit("inputs", "inputs", List(&UI_INPUT_SPEC)),
        ],
        body: Body::Spec { zero_status: &["lastClickedAt"] },
        validate: v1alpha1::ui_button,
    },
];

//! How the parts of built-in objects merge: which lists are keyed, and by what.
//!
//! This is what the API server's own schema says (`x-kubernetes-list-map-keys`, else
//! `x-kubernetes-patch-merge-key`). A list that is not named here is one value: it is written as a
//! whole, as are all lists of custom resources.

use serde_json::Value;

/// How a value merges.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// A map whose fields merge one by one, or a plain value.
    Plain(&'static Fields),
    /// A map of names that others may add to: only our own go when it is not wanted any more.
    Open,
    /// A map that is a union: when it is written, fields that are not wanted go.
    Union,
    /// A list of maps, each known by some of its fields.
    Keyed {
        /// The fields that tell the items apart.
        keys: &'static [&'static str],
        /// How one item merges.
        item: &'static Item,
    },
    /// A list of plain values whose order does not matter.
    Set,
}

/// The fields of a map that merge in a way of their own.
pub(super) type Fields = [(&'static str, Shape)];

/// How an item of a list merges.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) shape: Shape,
}

/// Nothing special.
pub(super) const PLAIN: Shape = Shape::Plain(&[]);

const PLAIN_ITEM: Item = Item { shape: PLAIN };
const UNION_ITEM: Item = Item { shape: Shape::Union };

const fn keyed(keys: &'static [&'static str]) -> Shape {
    Shape::Keyed { keys, item: &PLAIN_ITEM }
}

const META: Shape = Shape::Plain(&[
    ("annotations", Shape::Open),
    ("finalizers", Shape::Set),
    ("labels", Shape::Open),
    ("ownerReferences", keyed(&["uid"])),
]);

const CONTAINER: Item = Item {
    shape: Shape::Plain(&[
        ("env", keyed(&["name"])),
        ("ports", keyed(&["containerPort", "protocol"])),
        ("volumeDevices", keyed(&["devicePath"])),
        ("volumeMounts", keyed(&["mountPath"])),
    ]),
};

const CONTAINERS: Shape = Shape::Keyed { keys: &["name"], item: &CONTAINER };

const POD_SPEC: Shape = Shape::Plain(&[
    ("containers", CONTAINERS),
    ("ephemeralContainers", CONTAINERS),
    ("hostAliases", keyed(&["ip"])),
    ("imagePullSecrets", keyed(&["name"])),
    ("initContainers", CONTAINERS),
    ("resourceClaims", Shape::Keyed { keys: &["name"], item: &UNION_ITEM }),
    ("schedulingGates", keyed(&["name"])),
    ("topologySpreadConstraints", keyed(&["topologyKey", "whenUnsatisfiable"])),
    ("volumes", Shape::Keyed { keys: &["name"], item: &UNION_ITEM }),
]);

const POD_TEMPLATE: Shape = Shape::Plain(&[("metadata", META), ("spec", POD_SPEC)]);
const WORKLOAD_SPEC: Shape =
    Shape::Plain(&[("strategy", Shape::Union), ("template", POD_TEMPLATE)]);
const WORKLOAD: Shape = Shape::Plain(&[("metadata", META), ("spec", WORKLOAD_SPEC)]);
const SERVICE_SPEC: Shape = Shape::Plain(&[("ports", keyed(&["port", "protocol"]))]);
const SERVICE: Shape = Shape::Plain(&[("metadata", META), ("spec", SERVICE_SPEC)]);
const SERVICE_ACCOUNT: Shape = Shape::Plain(&[("metadata", META), ("secrets", keyed(&["name"]))]);
const POLICY_SPEC: Shape =
    Shape::Plain(&[("matchConditions", keyed(&["name"])), ("variables", keyed(&["name"]))]);

const WEBHOOK: Item = Item { shape: Shape::Plain(&[("matchConditions", keyed(&["name"]))]) };

/// How an object of a kind merges.
pub(super) fn of_kind(group: &str, kind: &str) -> Shape {
    match (group, kind) {
        (
            "" | "apps" | "batch",
            "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "Job",
        )
        | ("", "ReplicationController") => WORKLOAD,
        ("batch", "CronJob") => Shape::Plain(&[
            ("metadata", META),
            ("spec", Shape::Plain(&[("jobTemplate", WORKLOAD)])),
        ]),
        ("", "Pod") => POD_TEMPLATE,
        ("", "PodTemplate") => Shape::Plain(&[("metadata", META), ("template", POD_TEMPLATE)]),
        ("", "ConfigMap" | "Secret") => Shape::Plain(&[("metadata", META), ("data", Shape::Open)]),
        ("", "Service") => SERVICE,
        ("", "ServiceAccount") => SERVICE_ACCOUNT,
        (
            "admissionregistration.k8s.io",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
        ) => Shape::Plain(&[
            ("metadata", META),
            ("webhooks", Shape::Keyed { keys: &["name"], item: &WEBHOOK }),
        ]),
        (
            "admissionregistration.k8s.io",
            "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy",
        ) => Shape::Plain(&[("metadata", META), ("spec", POLICY_SPEC)]),
        _ => Shape::Plain(&[("metadata", META)]),
    }
}

impl Shape {
    /// How a field of a map merges.
    pub(super) fn field(self, name: &str) -> Self {
        match self {
            Self::Plain(fields) => {
                fields.iter().find(|(field, _)| *field == name).map_or(PLAIN, |(_, shape)| *shape)
            }
            _ => PLAIN,
        }
    }
}

/// What tells an item of a keyed list from the others; nothing if it has no key.
pub(super) fn key_of(item: &Value, keys: &[&str]) -> Option<Vec<Value>> {
    let item = item.as_object()?;
    let one = |key: &&str| match (item.get(*key), *key) {
        (Some(value), _) => Some(value.clone()),
        (None, "protocol") => Some(Value::from("TCP")),
        (None, _) => None,
    };
    keys.iter().map(one).collect()
}

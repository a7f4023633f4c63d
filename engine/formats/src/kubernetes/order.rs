//! Decides in which order objects are applied.

use super::object::Object;

/// The kinds that others need first; all other kinds come after them.
const FIRST: [&str; 22] = [
    "Namespace",
    "ResourceQuota",
    "StorageClass",
    "CustomResourceDefinition",
    "MutatingWebhookConfiguration",
    "ServiceAccount",
    "PodSecurityPolicy",
    "Role",
    "ClusterRole",
    "RoleBinding",
    "ClusterRoleBinding",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "ConfigMap",
    "Secret",
    "Service",
    "LimitRange",
    "PriorityClass",
    "Deployment",
    "StatefulSet",
    "CronJob",
    "PodDisruptionBudget",
];

/// The place of a kind in the order of applying.
pub fn kind_rank(kind: &str) -> usize {
    FIRST.iter().position(|first| *first == kind).unwrap_or(FIRST.len())
}

/// Sorts objects for applying; objects of one kind keep their order.
pub fn sort_for_apply<T: std::borrow::Borrow<Object>>(objects: &mut [T]) {
    objects.sort_by_key(|object| kind_rank(object.borrow().kind()));
}

//! In which order kinds of Kubernetes objects are applied.

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
#[must_use]
pub fn kind_rank(kind: &str) -> usize {
    FIRST.iter().position(|first| *first == kind).unwrap_or(FIRST.len())
}

//! Speaks to Kubernetes: which cluster is meant, what is written to it, and what is seen there.

mod apply;
mod audit;
mod backoff;
mod cluster;
mod connection;
mod delete;
mod ephemeral;
mod error;
mod events;
mod exec;
mod forward;
mod identity;
mod list;
mod logs;
mod mapping;
mod object;
mod pods;
mod proxy;
mod request;
mod services;
mod stream;
mod tracker;
mod wait;

pub use engine_model::pod::{
    ContainerState, Interest, ObjectKey, Pod, PodCondition, PodContainer, PodOwner,
};

pub use apply::{Applied, ApplyOptions, Drift, Failure, Kept};
pub use audit::{Sink, Verb, Write, WriteOutcome};
pub use cluster::{Cluster, ServerVersion};
pub use delete::{DeleteOptions, DeleteOrder};
pub use ephemeral::EphemeralContainer;
pub use error::{KubernetesError, Refusal};
pub use exec::{ContainerPlace, ExecSession, ExecStatus};
pub use forward::{Forward, ForwardReport, ForwardStatus, Forwarder, PodPorts};
pub use identity::Identity;
pub use logs::{ContainerLog, read_log};
pub use object::uid;
pub use tracker::{Report, Seen, Tracker};

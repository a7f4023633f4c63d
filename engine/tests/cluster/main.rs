//! `engine` on a real Kubernetes cluster: the one that `KUBECONFIG` names, which `scripts/cluster.sh` can start.

mod deletion;
mod deploy;
mod examples;
mod ground;
mod images;
#[path = "../support/instance.rs"]
mod instance;
mod jobs;
mod live_update;
mod outage;
mod safety;

//! `engine` on a real Kubernetes cluster: the one that `KUBECONFIG` names, which `scripts/cluster.sh` can start.

#[path = "../support/control.rs"]
mod control;
mod deletion;
mod deploy;
mod examples;
mod faults;
mod ground;
mod helm;
mod images;
#[path = "../support/instance.rs"]
mod instance;
mod jobs;
mod live_update;
mod outage;
mod safety;
mod way;
mod webhook;

//! `engine` on a real Kubernetes cluster: the one that `KUBECONFIG` names, which `scripts/cluster.sh` can start.

mod deletion;
mod deploy;
mod examples;
mod faults;
mod ground;
mod helm;
mod images;
mod jobs;
mod live_update;
mod outage;
mod reasons;
mod safety;
mod way;
mod webhook;

//! Everything against a real cluster: the test ground's, which `scripts/cluster.sh` brings up.

mod applying;
mod connecting;
#[path = "../../../tests/engine/support/control.rs"]
mod control;
mod deleting;
mod drift;
mod escalating;
mod made_again;
mod pinning;
mod reading;
mod refusals;
mod server_side;
mod support;

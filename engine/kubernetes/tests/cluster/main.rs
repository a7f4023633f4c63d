//! Everything against a real cluster: the test ground's, which `scripts/cluster.sh` brings up.
#![expect(clippy::unwrap_used, reason = "what the tests share is test code too")]

mod applying;
mod connecting;
#[path = "../../../tests/support/control.rs"]
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

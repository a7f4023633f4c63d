//! Everything against a real Docker engine: the test ground, which `scripts/ground.sh` brings up.
#![expect(clippy::unwrap_used, reason = "what the tests share is test code too")]

mod building;
mod connecting;
mod containers;
mod importing;
mod proxy;
mod registry;
mod support;
mod syncing;

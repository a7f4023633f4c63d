//! Everything against a real Docker engine: the test ground, which `scripts/ground.sh` brings up.

mod building;
mod connecting;
mod containers;
mod importing;
mod proxy;
mod registry;
mod support;
mod syncing;

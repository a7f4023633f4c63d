//! `engine` on a real Docker: the one that `DOCKER_HOST` names, which `scripts/ground.sh` can start.

mod compose;
mod ground;
mod images;
#[path = "../support/instance.rs"]
mod instance;
mod live_update;
mod outage;

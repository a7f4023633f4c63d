//! `engine` on a real Docker: the one that `DOCKER_HOST` names, which `scripts/ground.sh` can start.

mod builders;
mod compose;
mod compose_options;
mod examples;
mod faults;
mod ground;
mod images;
mod live_update;
mod outage;
mod patching;
mod private;
mod prune;
mod reasons;
mod settling;

//! Scripts of events, and what the world does about them.

#![expect(clippy::wildcard_enum_match_arm, reason = "a script names the few variants it is about")]

mod changes;
mod ci;
mod dependencies;
mod images;
mod live;
mod live_failures;
mod loops;
mod many;
mod picking;
mod reload;
mod script;
mod services;
mod serving;
mod switches;
mod triggers;
mod workload_script;
mod workloads;

use script::{check, check_in};

//! Scripts of events, and what the scheduler does about them.

#![expect(clippy::wildcard_enum_match_arm, reason = "a script names the few variants it is about")]

mod changes;
mod ci;
mod dependencies;
mod live;
mod loops;
mod picking;
mod reload;
mod script;
mod serving;
mod switches;
mod triggers;

use script::check;

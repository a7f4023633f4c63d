//! Runs cases recorded from Tilt and says whether an engine gives the same results.
//!
//! A [`Case`] is a folder. A [`Runner`] evaluates a fresh copy of it in a [`Sandbox`] and returns a
//! normalized [`Outcome`], which [`compare::check`] holds against what was recorded. Nothing here knows
//! how an engine works: it sees an exit code, one JSON value and the lines of the log.

mod case;
pub mod compare;
mod extensions;
mod gaps;
mod in_process;
mod outcome;
mod record;
mod runner;
mod sandbox;
mod scrub;
mod suite;
mod tools;

pub use case::{Case, Expected, Filter, find_cases};
pub use gaps::{GapError, Gaps};
pub use outcome::Outcome;
pub use record::record;
pub use runner::{RunError, Runner, Verbosity, engine_binary};
pub use sandbox::Sandbox;
pub use suite::{default_jobs, for_each_case};
pub use tools::{search_path, tools_dir};

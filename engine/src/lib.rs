//! The impure shell around evaluation and scheduling: command line, processes, files, servers, and what people see.

pub mod audit;
pub mod cli;
mod clock;
mod cluster_pin;
pub mod deploy;
mod drivers;
pub mod exec;
pub mod guard;
mod leftovers;
pub mod logs;
pub mod lsp;
pub mod panics;
pub mod platform;
pub mod prompt;
mod report;
pub mod runtime;
pub mod server;
mod state_file;
mod tasks;
mod tracing_log;
pub mod usage;
pub mod watch;

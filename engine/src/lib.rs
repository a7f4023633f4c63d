//! The impure shell around evaluation and scheduling: command line, processes, files, servers, and what people see.

pub mod api;
pub mod audit;
pub mod cli;
pub mod deploy;
pub mod dev_dir;
pub mod exec;
pub mod guard;
pub mod logs;
pub mod lsp;
pub mod platform;
pub mod prompt;
pub mod runtime;
pub mod server;
pub mod usage;
pub mod watch;

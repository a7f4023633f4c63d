//! The commands that talk to a running instance or work on text, and what all commands share.
//!
//! Nothing here evaluates or deploys: those commands, and the definition of the command line, are in the `engine`
//! package.

pub mod api_resources;
pub mod apply;
pub mod args;
pub mod browser;
pub mod client;
pub mod command_line;
pub mod completion;
pub mod connect;
pub mod create;
pub mod delete;
pub mod describe;
mod dry_run;
pub mod dump;
pub mod edit;
mod editor;
pub mod enable;
pub mod explain;
mod failure;
pub mod get;
pub mod instances;
mod jsonpath;
pub mod logs;
pub mod manifests;
mod merge;
pub mod names;
pub mod open;
mod output;
pub mod output_file;
pub mod patch;
mod printer;
mod program;
mod resource_type;
mod selection;
pub mod shell;
mod shell_words;
pub mod small;
pub mod snapshot;
pub mod status;
pub mod stop;
pub mod tree_view;
pub mod trigger;
pub mod usage;
mod validation;
pub mod values;
pub mod wait;
mod when;
pub mod why;

pub use failure::{Failure, Status, Unreachable};
pub use printer::Printer;
pub use program::{display_name, has_colors, is_dumb, is_tilt, log_style, program, set_program};

/// Exit code for problems outside the Tiltfile.
pub const FAILURE: u8 = 1;

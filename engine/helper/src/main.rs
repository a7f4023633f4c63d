//! The program that the engine puts into containers: it puts files in place, and restarts processes.
//!
//! It needs nothing from the container: no shell, no `tar`, no library, no root.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
mod command_line;
#[cfg(target_os = "linux")]
mod dir;
#[cfg(target_os = "linux")]
mod place;
#[cfg(target_os = "linux")]
mod remove;
#[cfg(target_os = "linux")]
mod serve;
#[cfg(target_os = "linux")]
mod supervise;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod walk;
#[cfg(target_os = "linux")]
mod watched_file;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    command_line::run(std::env::args_os().collect())
}

/// Containers run Linux; elsewhere the program is built only so that all of the workspace can be.
#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    ExitCode::from(2)
}

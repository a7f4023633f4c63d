//! The `engine` program: parse, run, exit code.

use std::process::ExitCode;

use engine::{cli, guard};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    guard::run_if_asked(std::env::args_os()).unwrap_or_else(|| cli::run(std::env::args_os()))
}

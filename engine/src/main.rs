//! The `engine` program: parse, run, exit code.

use std::process::ExitCode;

use engine::cli;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::run(std::env::args_os())
}

//! The process that stands between the engine and a command.
//!
//! Every command runs below a guard: this program once more, started by a hidden name. A guard and
//! the engine share one socket, which is the guard's standard input. Orders and reports go over it,
//! and its end tells the guard that the engine has died, however that happened. So a guard knows in
//! every case when its command has to go, and, as the adopter of orphans, what belongs to it.

use std::{ffi::OsString, process::ExitCode};

use crate::platform::Form;

mod client;
mod control;
mod family;
mod keeper;
mod wire;

pub use client::use_program;
pub(crate) use client::{Outputs, Spawned, spawn};
pub(crate) use wire::{Job, Order, Report};

/// The name guards go by; `pkill -f engine` must not hit them together with the engine.
const NAME: &std::ffi::CStr = c"cmd-guard";

/// Which processes a command may leave behind when its main process ends by itself.
///
/// The rest of its process group is killed in any case, except after a [`Lifetime::Call`]; when it
/// is stopped, or the engine ends, nothing remains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// An update: what has left its process group lives on, without a guard.
    Task,
    /// A server: what has left its process group lives on until the server is stopped.
    Server,
    /// A readiness probe: nothing.
    Probe,
    /// `local()` of a Tiltfile: everything lives on, once the caller is done.
    Call,
}

/// Acts as a guard if this program was started as one; the first thing that `main` does.
pub fn run_if_asked(args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut args = args.into_iter();
    if args.next()?.as_encoded_bytes() != NAME.to_bytes() {
        return None;
    }
    let form = Form::parse(args.next()?.to_str()?)?;
    Some(match keeper::run(form) {
        Ok(()) => ExitCode::SUCCESS,
        // The engine takes a guard that ends without a report for killed.
        Err(_) => ExitCode::FAILURE,
    })
}

//! The process that stands between the engine and a command.
//!
//! Every command runs below a guard. A guard and the engine share one socket, which is the guard's
//! standard input. Orders and reports go over it, and its end tells the guard that the engine has
//! died, however that happened. So a guard knows in every case when its command has to go, and, as
//! the adopter of orphans, what belongs to it.
//!
//! Guards are copies of the launcher: this program once more, started by a hidden name when the
//! first command is. It adopts what a guard leaves that is killed. A guard whose command has left
//! nothing can guard another one.

use std::{ffi::OsString, process::ExitCode};

use crate::platform::Form;

mod client;
mod control;
mod family;
mod keeper;
mod launcher;
mod wire;

pub(crate) use client::{Outputs, keep, start};
pub use client::{prepare, use_program};
pub(crate) use wire::{GuardJob, GuardOrder, GuardReport};

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

/// Acts as the launcher, and then as a guard, if this program was started as one; the first thing
/// that `main` does.
pub fn run_if_asked(args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut args = args.into_iter();
    if args.next()?.as_encoded_bytes() != NAME.to_bytes() {
        return None;
    }
    let form = Form::parse(args.next()?.to_str()?)?;
    let work = launcher::run(form).and_then(|guard| match guard {
        Some(tie) => keeper::run(form, tie),
        None => Ok(()),
    });
    Some(match work {
        Ok(()) => ExitCode::SUCCESS,
        // The launcher takes a guard that fails for killed, and the engine a launcher that does.
        Err(_) => ExitCode::FAILURE,
    })
}

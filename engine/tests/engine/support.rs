//! Engines that tests start: each in a folder of its own, on a port that it takes itself, with nothing from outside.

pub(crate) mod control;
mod instance;
mod process;
mod project;
mod surfaces;

use std::{
    net::TcpListener,
    sync::atomic::{AtomicU16, Ordering},
};

pub(crate) use instance::{Instance, engine, exchange};
pub(crate) use process::{TIMEOUT, until};
pub(crate) use project::Project;
pub(crate) use surfaces::{Surfaces, with_files};

/// The ports below those that the system gives to whoever asks for a free one.
const NAMED: std::ops::Range<u16> = 20_000..32_000;

/// A free port for what has to have a number in advance, such as a port forward. Nobody gets it by chance.
pub(crate) fn named_port() -> u16 {
    static N_ASKED: AtomicU16 = AtomicU16::new(0);
    let n_ports = NAMED.end - NAMED.start;
    let first = u16::try_from(std::process::id() % u32::from(n_ports)).expect("it is below");
    let ports = (0..n_ports).map(|_| {
        NAMED.start + (first + N_ASKED.fetch_add(1, Ordering::Relaxed) % n_ports) % n_ports
    });
    let mut free = ports.filter(|it| TcpListener::bind(("127.0.0.1", *it)).is_ok());
    free.next().expect("one of them is free")
}

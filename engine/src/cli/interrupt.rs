//! Ctrl-C: the evaluation stops at once, and nothing is left behind.
//!
//! Most work notices by itself that it should stop. What does not, such as the parsing of a huge
//! file, is not waited for.

use std::{
    io::{self, Read},
    os::unix::net::UnixStream,
    process::ExitCode,
    sync::Arc,
    thread,
    time::Duration,
};

use builtins::host::OsHost;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::{INTERRUPTED, Printer};

/// How long work may take to notice that it should stop.
const GRACE: Duration = Duration::from_millis(300);

/// From now on, signals that ask this program to end stop what the host is used for.
///
/// # Errors
/// If the system does not allow it.
pub(super) fn handle(host: &Arc<OsHost>, printer: Printer) -> io::Result<()> {
    let (mut signaled, sender) = UnixStream::pair()?;
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::low_level::pipe::register(signal, sender.try_clone()?)?;
    }
    let host = Arc::clone(host);
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        if signaled.read_exact(&mut [0]).is_err() {
            return;
        }
        host.cancel();
        thread::sleep(GRACE);
        finish(&host, printer);
        #[expect(clippy::exit, reason = "other threads are not waited for")]
        std::process::exit(INTERRUPTED.into());
    })?;
    Ok(())
}

/// Leaves nothing behind, and says so.
pub(super) fn finish(host: &OsHost, printer: Printer) -> ExitCode {
    host.clean_up();
    printer.err("Error: interrupted\n");
    ExitCode::from(INTERRUPTED)
}

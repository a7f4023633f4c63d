//! Ctrl-C: cancels the evaluation at once and cleans up.
//!
//! Most work can be canceled. The command does not wait for work that cannot, such as the parsing of a huge file.

use std::{
    io::{self, Read},
    ops::Deref,
    os::unix::net::UnixStream,
    process::ExitCode,
    sync::Arc,
    thread,
    time::Duration,
};

use builtins::host::{Host, Level, OsHost};
use engine_cli::{Failure, Printer};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::INTERRUPTED;
use crate::{exec::Guarded, leftovers};

/// How long to wait for work to stop after a cancellation.
const GRACE: Duration = Duration::from_millis(300);

/// The host for the single evaluation of a command. It cleans up however the command ends.
pub(super) struct OwnHost(Arc<OsHost>);

impl OwnHost {
    /// Cleans up after earlier runs, and cancels the evaluation on a signal.
    ///
    /// # Errors
    /// If the system does not allow it.
    pub(super) fn new(
        log: impl Fn(Level, &str) + Send + Sync + 'static,
        printer: Printer,
    ) -> Result<Self, Failure> {
        leftovers::clear();
        let host = OsHost::from_process(Box::new(log)).with_launcher(Box::new(Guarded));
        let host = Self(Arc::new(host));
        handle(&host.0, printer)
            .map_err(|error| Failure::Command(format!("cannot handle signals: {error}")))?;
        Ok(host)
    }

    /// A shared handle for the evaluation, which may outlive the command.
    pub(super) fn shared(&self) -> Arc<dyn Host> {
        Arc::clone(&self.0) as Arc<dyn Host>
    }
}

impl Deref for OwnHost {
    type Target = OsHost;

    fn deref(&self) -> &OsHost {
        &self.0
    }
}

impl Drop for OwnHost {
    fn drop(&mut self) {
        self.0.clean_up();
    }
}

fn handle(host: &Arc<OsHost>, printer: Printer) -> io::Result<()> {
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

/// Cleans up after a cancellation, and reports it.
pub(super) fn finish(host: &OsHost, printer: Printer) -> ExitCode {
    host.clean_up();
    printer.err("Error: interrupted\n");
    ExitCode::from(INTERRUPTED)
}

//! Waits for any key on the terminal.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read},
};

use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};

/// A terminal in raw mode; dropping it restores the previous mode.
#[derive(Debug)]
pub(super) struct AnyKey {
    tty: File,
    before: Termios,
}

impl AnyKey {
    /// Opens the controlling terminal of this process.
    pub(super) fn new() -> io::Result<Self> {
        let tty = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
        let before = tcgetattr(&tty)?;
        let mut unbuffered = before.clone();
        // Signals stay on, so that Ctrl-C is one.
        unbuffered.local_flags.remove(LocalFlags::ICANON | LocalFlags::ECHO);
        tcsetattr(&tty, SetArg::TCSANOW, &unbuffered)?;
        Ok(Self { tty, before })
    }

    /// Waits for a key; also returns if the terminal is gone.
    pub(super) async fn pressed(&mut self) {
        let Ok(mut tty) = self.tty.try_clone() else { return };
        // The runtime does not wait for the thread when something else ends the command.
        let _ = tokio::task::spawn_blocking(move || tty.read(&mut [0])).await;
    }
}

impl Drop for AnyKey {
    fn drop(&mut self) {
        // Nothing can be done about a terminal that is gone.
        let _ = tcsetattr(&self.tty, SetArg::TCSANOW, &self.before);
    }
}

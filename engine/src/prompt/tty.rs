//! Keys from the terminal, as they are pressed and without echo. However the prompt ends, the terminal is restored.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read},
    os::{fd::AsFd, unix::net::UnixStream},
    panic,
    sync::{Mutex, Once, PoisonError},
    thread::{self, JoinHandle},
};

use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::termios::{LocalFlags, SetArg, SpecialCharacterIndices, Termios, tcgetattr, tcsetattr},
};
use tokio::sync::mpsc;

use super::Key;

/// Keys that wait to be answered; who presses more of them has to press them again.
const MAX_WAITING: usize = 16;

/// How the terminal was, while it is otherwise.
static BEFORE: Mutex<Option<(File, Termios)>> = Mutex::new(None);

/// Leaves the terminal as it was before the prompt, if there is one. For ends that drop nothing.
pub fn restore() {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some((tty, termios)) = before {
        // Nothing can be done about a terminal that is gone.
        let _ = tcsetattr(&tty, SetArg::TCSANOW, &termios);
    }
}

/// Reads keys in a thread, until it is dropped.
#[derive(Debug)]
pub(super) struct KeyReader {
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl KeyReader {
    /// Takes over the terminal that controls this process.
    pub(super) fn read() -> io::Result<(Self, mpsc::Receiver<Key>)> {
        let tty = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
        take_over(&tty)?;
        let start = || {
            let (sender, keys) = mpsc::channel(MAX_WAITING);
            let (stop, stopped) = UnixStream::pair()?;
            let thread = thread::Builder::new()
                .name("keys".to_owned())
                .spawn(move || forward(tty, &stopped, &sender))?;
            Ok((Self { stop: Some(stop), thread: Some(thread) }, keys))
        };
        start().inspect_err(|_| restore())
    }
}

impl Drop for KeyReader {
    fn drop(&mut self) {
        // The thread sees that the other end is closed.
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        restore();
    }
}

fn take_over(tty: &File) -> io::Result<()> {
    static HOOK: Once = Once::new();
    let before = tcgetattr(tty)?;
    let mut unbuffered = before.clone();
    // Signals stay on, so that Ctrl-C is one.
    unbuffered.local_flags.remove(LocalFlags::ICANON | LocalFlags::ECHO);
    unbuffered.control_chars[SpecialCharacterIndices::VMIN as usize] = 1;
    unbuffered.control_chars[SpecialCharacterIndices::VTIME as usize] = 0;
    let saved = (tty.try_clone()?, before);
    *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(saved);
    HOOK.call_once(|| {
        let next = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            restore();
            next(info);
        }));
    });
    tcsetattr(tty, SetArg::TCSANOW, &unbuffered).inspect_err(|_| restore())?;
    Ok(())
}

fn forward(mut tty: File, stopped: &UnixStream, keys: &mpsc::Sender<Key>) {
    let mut bytes = [0; 64];
    loop {
        let mut ready = [
            PollFd::new(tty.as_fd(), PollFlags::POLLIN),
            PollFd::new(stopped.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut ready, PollTimeout::NONE) {
            Err(nix::errno::Errno::EINTR) => continue,
            Err(_) => return,
            Ok(_) => {}
        }
        if ready[1].any().unwrap_or(true) {
            return;
        }
        match tty.read(&mut bytes) {
            Ok(0) => return,
            Ok(count) => send(&bytes[..count], keys),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// Sends what pressed keys stand for. Keys that send many bytes, such as arrows, stand for nothing.
pub(super) fn send(bytes: &[u8], keys: &mpsc::Sender<Key>) {
    if bytes.first() == Some(&0x1b) {
        return;
    }
    for key in bytes.iter().filter_map(|&it| Key::from_byte(it)) {
        let _ = keys.try_send(key);
    }
}

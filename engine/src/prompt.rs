//! The prompt of `up` on a terminal: a menu, keys, and one line that says how things are.

use std::{
    future::pending,
    io::{self, IsTerminal, Write},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use engine_cli::browser;
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
};

use crate::{
    logs::{Checkpoint, Filter, LogStore, TerminalStream},
    server::PageAddress,
};

mod render;
mod tty;

pub use render::{Menu, Status};
pub use tty::restore;

use tty::KeyReader;

/// Something that somebody asks for by a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// Open the web page.
    OpenBrowser,
    /// Show the log instead of the prompt.
    Stream,
    /// Show the full-screen view instead of the prompt.
    Legacy,
}

impl Key {
    /// What a key stands for; most stand for nothing.
    #[must_use]
    pub fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            b' ' => Some(Self::OpenBrowser),
            b's' => Some(Self::Stream),
            b't' | b'h' => Some(Self::Legacy),
            _ => None,
        }
    }
}

/// A prompt; when it is dropped, the terminal is as before.
pub struct Prompt<W: Write> {
    keys: mpsc::Receiver<Key>,
    /// Reads the keys; owned so that the terminal is restored with it.
    _reader: Option<KeyReader>,
    status: Option<watch::Receiver<Status>>,
    /// Whether the line with the status can be painted over.
    is_live: bool,
    out: W,
}

impl Prompt<io::Stdout> {
    /// Shows the menu on the terminal and reads keys from it.
    ///
    /// # Errors
    /// If there is no terminal.
    pub fn open(menu: &Menu, status: Option<watch::Receiver<Status>>) -> io::Result<Self> {
        let (reader, keys) = KeyReader::read()?;
        let is_live = io::stdout().is_terminal() && !is_dumb();
        let mut prompt = Self { keys, _reader: Some(reader), status, is_live, out: io::stdout() };
        let is_colored = is_live && std::env::var_os("NO_COLOR").is_none_or(|it| it.is_empty());
        prompt.show(menu, is_colored);
        Ok(prompt)
    }
}

fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|it| it.is_empty() || it == "dumb")
}

impl<W: Write> Prompt<W> {
    fn show(&mut self, menu: &Menu, is_colored: bool) {
        self.print(&menu.render(is_colored));
        self.paint();
    }

    /// The next key that stands for something; nothing if no more keys can be read.
    pub async fn next(&mut self) -> Option<Key> {
        loop {
            let changed = async {
                let changed = match &mut self.status {
                    Some(status) => status.changed().await.is_ok(),
                    None => false,
                };
                if !changed {
                    // Nothing changes anymore.
                    pending().await
                }
            };
            tokio::select! {
                key = self.keys.recv() => return key,
                () = changed => self.paint(),
            }
        }
    }

    /// Prints a line above the status.
    pub fn say(&mut self, line: &str) {
        self.clear();
        self.print(&format!("{line}\n"));
        self.paint();
    }

    fn paint(&mut self) {
        let Some(status) = self.status.as_mut().filter(|_| self.is_live) else { return };
        let line = status.borrow_and_update().render();
        self.print(&format!("\r\x1b[K{line}"));
    }

    fn clear(&mut self) {
        if self.is_live && self.status.is_some() {
            self.print("\r\x1b[K");
        }
    }

    fn print(&mut self, text: &str) {
        // A terminal that is gone needs no text.
        let _ = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
    }
}

impl<W: Write> Drop for Prompt<W> {
    fn drop(&mut self) {
        self.clear();
    }
}

/// A prompt beside a running engine, which becomes a stream of the log when somebody asks for it.
#[derive(Debug)]
pub struct Running {
    task: JoinHandle<()>,
    stream: Arc<Mutex<Option<TerminalStream>>>,
}

impl Running {
    /// Shows the prompt and answers keys.
    ///
    /// # Errors
    /// If there is no terminal.
    pub fn start(
        logs: &LogStore,
        filter: Filter,
        menu: &Menu,
        status: Option<watch::Receiver<Status>>,
    ) -> io::Result<Self> {
        let prompt = Prompt::open(menu, status)?;
        let stream = Arc::new(Mutex::new(None));
        let page = menu.page.clone();
        let task = tokio::spawn(answer(prompt, page, logs.clone(), filter, Arc::clone(&stream)));
        Ok(Self { task, stream })
    }

    /// Leaves the terminal as it was; a stream prints the rest first, if that takes no longer than this.
    pub async fn finish(self, patience: Duration) {
        self.task.abort();
        // Only a prompt that is dropped has restored the terminal.
        let _ = self.task.await;
        let stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner).take();
        let _ = stream.map(|it| it.finish(patience));
    }
}

async fn answer(
    mut prompt: Prompt<io::Stdout>,
    page: Option<PageAddress>,
    logs: LogStore,
    filter: Filter,
    stream: Arc<Mutex<Option<TerminalStream>>>,
) {
    while let Some(key) = prompt.next().await {
        match (key, &page) {
            (Key::OpenBrowser, Some(page)) => {
                prompt.say(&format!("Opening browser: {}", page.url()));
                prompt.say(&elsewhere(page));
                if let Err(error) = browser::open(&page.to_open()) {
                    prompt.say(&format!("Error: {error}"));
                }
            }
            (Key::OpenBrowser, None) => {}
            (Key::Legacy, _) => {
                prompt.say("There is no legacy terminal mode; (s) streams logs.");
            }
            (Key::Stream, _) => {
                drop(prompt);
                let started = TerminalStream::start(&logs, Checkpoint(0), filter, io::stdout());
                *stream.lock().unwrap_or_else(PoisonError::into_inner) = started.ok();
                return;
            }
        }
    }
}

/// A new link for whoever is not recognized. It is for the terminal, and never for the log, which others may read.
#[must_use]
pub fn elsewhere(page: &PageAddress) -> String {
    format!("For any other browser, once: {}", page.link())
}

#[cfg(test)]
mod tests;

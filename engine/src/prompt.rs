//! The prompt of `up` on a terminal: a menu, keys, and below it how everything is doing, live.

use std::{
    future::pending,
    io::{self, IsTerminal, Write},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use engine_cli::{browser, has_colors, is_dumb, is_tilt, log_style, program};
use tokio::{
    sync::{mpsc, watch},
    task::{self, JoinHandle},
};

use crate::{
    logs::{Checkpoint, Filter, LogStore, TerminalStream},
    runtime::ReasonTable,
    server::PageAddress,
};

mod render;
mod screen;
mod tty;

pub use render::Menu;
pub use tty::restore;

use screen::Screen;
use tty::KeyReader;

/// How long a stream may take to print what was logged before it was hidden.
const LAST_LINES: Duration = Duration::from_millis(500);

/// Something that somebody asks for by a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// Open the web page.
    OpenBrowser,
    /// Show the log, or hide it again.
    Stream,
    /// Show the full-screen view of Tilt, which only its own menu offers.
    Legacy,
    /// Show what keys there are.
    Help,
}

impl Key {
    /// What a key stands for; most stand for nothing.
    pub fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            b' ' => Some(Self::OpenBrowser),
            b's' => Some(Self::Stream),
            b't' | b'h' => Some(Self::Legacy),
            b'?' => Some(Self::Help),
            _ => None,
        }
    }
}

/// A prompt; when it is dropped, the terminal is as before.
pub struct Prompt<W: Write> {
    keys: mpsc::Receiver<Key>,
    /// Reads the keys; owned so that the terminal is restored with it.
    _reader: Option<KeyReader>,
    reasons: watch::Receiver<ReasonTable>,
    is_colored: bool,
    screen: Screen<W>,
}

impl Prompt<io::Stdout> {
    /// Shows the menu on the terminal and reads keys from it.
    ///
    /// # Errors
    /// If there is no terminal.
    pub fn open(menu: &Menu, reasons: watch::Receiver<ReasonTable>) -> io::Result<Self> {
        let (reader, keys) = KeyReader::read()?;
        let is_live = io::stdout().is_terminal() && !is_dumb();
        let is_colored = has_colors();
        let screen = Screen::new(io::stdout(), is_live);
        let mut prompt = Self { keys, _reader: Some(reader), reasons, is_colored, screen };
        prompt.print(&menu.render(is_colored, is_tilt()));
        prompt.paint();
        Ok(prompt)
    }
}

impl<W: Write> Prompt<W> {
    /// The next key that stands for something; nothing if no more keys can be read.
    pub async fn next(&mut self) -> Option<Key> {
        loop {
            let changed = async {
                if self.reasons.changed().await.is_err() {
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

    /// Prints a line above the block.
    pub fn say(&mut self, line: &str) {
        self.print(&format!("{line}\n"));
    }

    fn paint(&mut self) {
        let block = render::block(&self.reasons.borrow_and_update(), program(), self.is_colored);
        self.screen.set_block(block);
    }

    fn print(&mut self, text: &str) {
        // A terminal that is gone needs no text.
        let _ = self.screen.write_all(text.as_bytes());
    }
}

/// A prompt beside a running engine, which shows the log as well while somebody wants that.
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
        reasons: watch::Receiver<ReasonTable>,
    ) -> io::Result<Self> {
        let prompt = Prompt::open(menu, reasons)?;
        let stream = Arc::new(Mutex::new(None));
        let page = menu.page.clone();
        let log = (logs.clone(), menu.seen);
        let task = tokio::spawn(answer(prompt, page, log, filter, Arc::clone(&stream)));
        Ok(Self { task, stream })
    }

    /// Leaves the terminal as it was; a stream prints the rest first, if that takes no longer than this.
    pub async fn finish(self, patience: Duration) {
        let stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner).take();
        let _ = stream.map(|it| it.finish(patience));
        self.task.abort();
        // Only a prompt that is dropped has restored the terminal.
        let _ = self.task.await;
    }
}

async fn answer(
    mut prompt: Prompt<io::Stdout>,
    page: Option<PageAddress>,
    (logs, mut shown_until): (LogStore, Checkpoint),
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
            (Key::Legacy, _) if is_tilt() => {
                prompt.say("There is no legacy terminal mode; (s) streams logs.");
            }
            (Key::OpenBrowser | Key::Legacy, _) => {}
            (Key::Help, _) => prompt.print(&render::help(program())),
            (Key::Stream, _) => {
                let shown = stream.lock().unwrap_or_else(PoisonError::into_inner).take();
                if let Some(shown) = shown {
                    let finished = task::spawn_blocking(move || shown.finish(LAST_LINES)).await;
                    shown_until = finished.ok().flatten().unwrap_or(shown_until);
                    prompt.say("Log hidden; press s to show it again.");
                } else {
                    let out = prompt.screen.clone();
                    let started =
                        TerminalStream::start(&logs, shown_until, filter.clone(), log_style(), out);
                    *stream.lock().unwrap_or_else(PoisonError::into_inner) = started.ok();
                }
            }
        }
    }
}

/// A new link for whoever is not recognized. It is for the terminal, and never for the log, which others may read.
pub fn elsewhere(page: &PageAddress) -> String {
    format!("One-time link for any other browser: {}", page.link())
}

#[cfg(test)]
mod tests;

//! The terminal of the prompt: lines that stay, and below them a block that is painted over when it changes.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Where lines and the block are written; clones write to the same terminal.
#[derive(Debug)]
pub(super) struct Screen<W: Write>(Arc<Mutex<Painter<W>>>);

#[derive(Debug)]
struct Painter<W: Write> {
    out: W,
    /// Whether text can be painted over.
    is_live: bool,
    block: Vec<String>,
    /// How many lines of the block are on the terminal.
    n_painted: usize,
}

impl<W: Write> Clone for Screen<W> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<W: Write> Screen<W> {
    /// A terminal that shows no block yet; without `is_live` it never does.
    pub(super) fn new(out: W, is_live: bool) -> Self {
        Self(Arc::new(Mutex::new(Painter { out, is_live, block: Vec::new(), n_painted: 0 })))
    }

    fn lock(&self) -> MutexGuard<'_, Painter<W>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows this block from now on. A terminal that is gone needs no text.
    pub(super) fn set_block(&self, block: Vec<String>) {
        let mut painter = self.lock();
        if painter.block != block {
            painter.block = block;
            let _ = painter.print(b"");
        }
    }
}

/// Whole lines above the block.
impl<W: Write> Write for Screen<W> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.lock().print(text).map(|()| text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.lock().out.flush()
    }
}

impl<W: Write> Painter<W> {
    fn print(&mut self, text: &[u8]) -> io::Result<()> {
        let mut all = self.wipe().into_bytes();
        all.extend_from_slice(text);
        // A line that is not finished goes on with the next text.
        if self.is_live && text.last().is_none_or(|it| *it == b'\n') {
            let width =
                terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0));
            let lines: Vec<String> = self.block.iter().map(|it| cut(it, width)).collect();
            all.extend_from_slice(lines.join("\n").as_bytes());
            self.n_painted = lines.len();
        }
        self.out.write_all(&all)?;
        self.out.flush()
    }

    /// What removes the block from the terminal.
    fn wipe(&mut self) -> String {
        match std::mem::take(&mut self.n_painted) {
            0 => String::new(),
            1 => "\r\x1b[J".to_owned(),
            n => format!("\r\x1b[{}A\x1b[J", n - 1),
        }
    }
}

impl<W: Write> Drop for Painter<W> {
    fn drop(&mut self) {
        let wipe = self.wipe();
        let _ = self.out.write_all(wipe.as_bytes()).and_then(|()| self.out.flush());
    }
}

/// A line that fits, colors aside: one that wraps could not be painted over.
fn cut(line: &str, width: usize) -> String {
    let plain = line.split('\x1b').enumerate().map(|(nth, it)| match it.split_once('m') {
        Some((_, rest)) if nth > 0 => rest.width(),
        _ => it.width(),
    });
    if plain.sum::<usize>() < width {
        return line.to_owned();
    }
    let (mut out, mut used, mut is_escape) = (String::new(), 0, false);
    for char in line.chars() {
        let is_color = is_escape || char == '\x1b';
        is_escape = is_color && char != 'm';
        if is_color {
            out.push(char);
            continue;
        }
        used += char.width().unwrap_or(0);
        if used + 2 > width {
            out.push('…');
            break;
        }
        out.push(char);
    }
    if line.contains('\x1b') {
        out.push_str("\x1b[0m");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_to_the_width_without_their_colors() {
        for (line, width, expected) in [
            ("short", 80, "short"),
            ("0123456789", 11, "0123456789"),
            ("0123456789", 10, "01234567…"),
            ("\x1b[31mred\x1b[0m", 4, "\x1b[31mred\x1b[0m"),
            ("\x1b[31m0123456789\x1b[0m", 6, "\x1b[31m0123…\x1b[0m"),
            ("日本語日本語", 8, "日本語…"),
        ] {
            assert_eq!(cut(line, width), expected);
        }
    }

    #[test]
    fn the_block_stays_below_what_is_printed() {
        let mut out = Vec::new();
        let mut screen = Screen::new(&mut out, true);
        screen.set_block(vec!["one".to_owned(), "two".to_owned()]);
        screen.set_block(vec!["one".to_owned(), "two".to_owned()]);
        screen.write_all(b"line\n").unwrap();
        screen.write_all(b"begun").unwrap();
        screen.write_all(b", ended\n").unwrap();
        screen.set_block(vec!["done".to_owned()]);
        drop(screen);
        let expected = "one\ntwo\r\x1b[1A\x1b[Jline\none\ntwo\r\x1b[1A\x1b[Jbegun, ended\none\ntwo\
                        \r\x1b[1A\x1b[Jdone\r\x1b[J";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn a_terminal_that_cannot_paint_over_shows_lines_only() {
        let mut out = Vec::new();
        let mut screen = Screen::new(&mut out, false);
        screen.set_block(vec!["one".to_owned()]);
        screen.write_all(b"line\n").unwrap();
        drop(screen);
        assert_eq!(out, b"line\n");
    }
}

//! What a command prints, on its way to the log: in chunks as they come, as text.

use std::{
    cell::RefCell,
    io::{self, PipeReader},
    os::fd::OwnedFd,
};

use nix::unistd;
use tokio::net::unix::pipe::Receiver;

/// How much is read at once.
const CHUNK: usize = 64 * 1024;

/// How much is read at most before an end is announced; a pipe holds less, and what a command has
/// left behind may print without end.
const REST: usize = 16 * CHUNK;

thread_local! {
    /// Commands are many and mostly silent, so those of a thread share what they read into.
    static BUFFER: RefCell<Box<[u8]>> = RefCell::new(vec![0; CHUNK].into_boxed_slice());
}

/// What became of an attempt to read.
enum Attempt {
    /// Nothing was there to read.
    Nothing,
    /// Nobody can print any more.
    End,
    /// So many bytes.
    Bytes(usize),
}

/// The reading end of a command's outputs.
#[derive(Debug)]
pub(super) struct OutputReader {
    pipe: Receiver,
    text: Text,
    is_closed: bool,
}

impl OutputReader {
    pub(super) fn new(pipe: PipeReader) -> io::Result<Self> {
        let pipe = Receiver::from_owned_fd(OwnedFd::from(pipe))?;
        Ok(Self { pipe, text: Text::default(), is_closed: false })
    }

    /// Whether nobody can print any more.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Waits until there is something to read, or nobody can print any more.
    pub(super) async fn readable(&self) {
        if self.pipe.readable().await.is_err() {
            // The runtime is ending, so nothing can be waited for.
            std::future::pending().await
        }
    }

    /// Passes on one chunk, if there is one.
    pub(super) fn forward(&mut self, write: impl FnMut(&str)) {
        self.attempt(write, Receiver::try_read);
    }

    /// Passes on all that has been printed so far.
    pub(super) fn drain(&mut self, mut write: impl FnMut(&str)) {
        let mut n_read = 0;
        while !self.is_closed && n_read < REST {
            // The pipe is asked directly: the reactor may not have heard of the last bytes.
            match self.attempt(&mut write, |pipe, buffer| Ok(unistd::read(pipe, buffer)?)) {
                Attempt::Bytes(n_bytes) => n_read += n_bytes,
                Attempt::Nothing | Attempt::End => break,
            }
        }
        self.text.finish(write);
    }

    fn attempt(
        &mut self,
        write: impl FnMut(&str),
        read: impl FnOnce(&Receiver, &mut [u8]) -> io::Result<usize>,
    ) -> Attempt {
        BUFFER.with_borrow_mut(|buffer| {
            match self.text.pass(buffer, |it| read(&self.pipe, it), write) {
                Ok(n_bytes) if n_bytes > 0 => Attempt::Bytes(n_bytes),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Attempt::Nothing,
                Ok(_) | Err(_) => {
                    self.is_closed = true;
                    Attempt::End
                }
            }
        })
    }
}

/// Bytes on their way to become text.
#[derive(Debug, Default)]
pub(crate) struct Text {
    /// The bytes of a character that is not complete.
    pending: Vec<u8>,
}

impl Text {
    /// Reads into a buffer, and writes all characters that are complete.
    fn pass(
        &mut self,
        buffer: &mut [u8],
        read: impl FnOnce(&mut [u8]) -> io::Result<usize>,
        write: impl FnMut(&str),
    ) -> io::Result<usize> {
        let n_pending = self.pending.len();
        buffer[..n_pending].copy_from_slice(&self.pending);
        let n_bytes = read(&mut buffer[n_pending..])?;
        if n_bytes == 0 {
            self.finish(write);
            return Ok(0);
        }
        self.write_complete(&buffer[..n_pending + n_bytes], write);
        Ok(n_bytes)
    }

    /// Takes in more bytes, and writes all characters that are complete.
    pub(crate) fn take(&mut self, bytes: &[u8], write: impl FnMut(&str)) {
        if self.pending.is_empty() {
            return self.write_complete(bytes, write);
        }
        let all = [std::mem::take(&mut self.pending).as_slice(), bytes].concat();
        self.write_complete(&all, write);
    }

    fn write_complete(&mut self, bytes: &[u8], mut write: impl FnMut(&str)) {
        let (complete, rest) = bytes.split_at(bytes.len() - n_incomplete(bytes));
        self.pending.clear();
        self.pending.extend(rest);
        if !complete.is_empty() {
            write(&String::from_utf8_lossy(complete));
        }
    }

    /// Writes what will not be completed any more.
    fn finish(&mut self, mut write: impl FnMut(&str)) {
        if !self.pending.is_empty() {
            write(&String::from_utf8_lossy(&self.pending));
            self.pending.clear();
        }
    }
}

/// How many bytes at the end may be the beginning of a character.
fn n_incomplete(bytes: &[u8]) -> usize {
    for (i, byte) in bytes.iter().rev().take(3).enumerate() {
        let needed = match byte {
            0x80..=0xbf => continue,
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => 0,
        };
        return if needed > i + 1 { i + 1 } else { 0 };
    }
    0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn chunk_borders_do_not_show_in_the_text(
            parts in prop::collection::vec(
                prop_oneof![
                    "[aßx€\u{1f600}]{0,3}".prop_map(String::into_bytes),
                    prop::collection::vec(any::<u8>(), 0..3),
                ],
                0..8,
            ),
            size in 1_usize..6,
        ) {
            let bytes = parts.concat();
            let (mut text, mut written) = (Text::default(), String::new());
            for chunk in bytes.chunks(size).chain([&[][..]]) {
                let read = |buffer: &mut [u8]| {
                    buffer[..chunk.len()].copy_from_slice(chunk);
                    Ok(chunk.len())
                };
                text.pass(&mut [0; 16], read, |it| written.push_str(it)).expect("it cannot fail");
            }
            prop_assert_eq!(written, String::from_utf8_lossy(&bytes));
        }
    }

    #[test]
    fn a_complete_character_is_not_held_back() {
        for text in ["", "a", "ß", "€", "\u{1f600}"] {
            assert_eq!(n_incomplete(text.as_bytes()), 0, "{text}");
        }
        assert_eq!(n_incomplete(&"\u{1f600}".as_bytes()[..3]), 3);
        assert_eq!(n_incomplete(b"\xff\x80\x80\x80\x80"), 0);
    }
}

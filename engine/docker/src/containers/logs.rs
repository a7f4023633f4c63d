//! What a container has written and writes, with the times at which it did.

use bytes::{Buf, Bytes, BytesMut};
use futures_util::{StreamExt, future::ready, stream};
use http_body_util::BodyExt;
use hyper::{HeaderMap, Method, body::Incoming};
use jiff::Timestamp;

use super::{Answers, Container, Output};
use crate::{
    client::{self, Docker},
    error::{DockerError, TransportError},
};

/// So much is held of a line that has no end, before a part of it is told.
const PIECE_MAX: usize = 64 * 1024;

/// What is in front of each piece: where it was written, and how long it is.
const HEADER: usize = 8;
const STDERR: u8 = 2;

/// Something that a container wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    /// When; unknown in the middle of a line.
    pub at: Option<Timestamp>,
    /// What.
    pub output: Output,
}

impl Docker {
    /// Follows what a container writes, beginning with `since` if given.
    pub async fn logs(
        &self,
        container: &Container,
        since: Option<Timestamp>,
    ) -> Result<Answers<Logged>, DockerError> {
        // Docker is asked for whole seconds only, and what is too old is left out here.
        let seconds = since.map_or(0, Timestamp::as_second).max(0).to_string();
        let yes = || "true".to_owned();
        let query = [
            ("follow", yes()),
            ("stdout", yes()),
            ("stderr", yes()),
            ("timestamps", yes()),
            ("since", seconds),
        ];
        let path = format!("/containers/{}/logs", container.id);
        let answer =
            self.ask(Method::GET, &path, &query, HeaderMap::new(), client::empty()).await?;
        let pieces = Pieces::new(container.has_tty);
        let read = Some((answer.into_body(), pieces, self.host().to_owned()));
        let outputs = stream::unfold(read, |read| async {
            let (mut body, mut pieces, host) = read?;
            match next(&mut body, &mut pieces).await {
                Ok(Some(output)) => Some((Ok(output), Some((body, pieces, host)))),
                Ok(None) => None,
                Err(error) => Some((Err(error.at(&host)), None)),
            }
        });
        let is_wanted = move |it: &Result<Logged, DockerError>| {
            let at = it.as_ref().ok().and_then(|it| it.at);
            ready(!(at.is_some() && at < since))
        };
        Ok(Box::pin(outputs.map(|it| it.map(dated)).filter(is_wanted)))
    }
}

async fn next(body: &mut Incoming, pieces: &mut Pieces) -> Result<Option<Output>, TransportError> {
    loop {
        if let Some(output) = pieces.next() {
            return Ok(Some(output));
        }
        match body.frame().await {
            None => return Ok(pieces.end()),
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    pieces.buffer.extend_from_slice(&data);
                }
            }
            Some(Err(error)) => return Err(TransportError::new(false, &error)),
        }
    }
}

/// Finds in a stream what was written: lines of a terminal, or pieces with a header.
#[derive(Debug)]
struct Pieces {
    has_tty: bool,
    buffer: BytesMut,
    is_stderr: bool,
    /// How much of a piece is still to come.
    n_left: usize,
}

impl Pieces {
    fn new(has_tty: bool) -> Self {
        Self { has_tty, buffer: BytesMut::new(), is_stderr: false, n_left: 0 }
    }

    /// The next piece, once it is complete or too long to be held.
    fn next(&mut self) -> Option<Output> {
        if self.has_tty {
            let end = self.buffer.iter().take(PIECE_MAX).position(|it| *it == b'\n');
            let n = end.map(|it| it + 1).or((self.buffer.len() >= PIECE_MAX).then_some(PIECE_MAX));
            return n.map(|n| self.take(n));
        }
        while self.n_left == 0 {
            let (header, _) = self.buffer.split_first_chunk::<HEADER>()?;
            let [stream, _, _, _, length @ ..] = *header;
            self.is_stderr = stream == STDERR;
            self.n_left = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
            self.buffer.advance(HEADER);
        }
        let n = self.n_left.min(PIECE_MAX);
        (self.buffer.len() >= n).then(|| self.take(n))
    }

    /// What is left when nothing more comes.
    fn end(&mut self) -> Option<Output> {
        let is_header = !self.has_tty && self.n_left == 0;
        (!self.buffer.is_empty() && !is_header).then(|| self.take(self.buffer.len()))
    }

    fn take(&mut self, n: usize) -> Output {
        self.n_left = self.n_left.saturating_sub(n);
        let bytes: Bytes = self.buffer.split_to(n).freeze();
        Output { is_stderr: self.is_stderr, bytes }
    }
}

/// Takes the time from the beginning of a line.
fn dated(mut output: Output) -> Logged {
    let time = output.bytes.iter().position(|it| *it == b' ').and_then(|end| {
        let time = std::str::from_utf8(&output.bytes[..end]).ok()?;
        Some((end, time.parse::<Timestamp>().ok()?))
    });
    let at = time.map(|(end, at)| {
        output.bytes = output.bytes.slice(end + 1..);
        at
    });
    Logged { at, output }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found in a stream that comes in pieces of some length, and how much was held at most.
    fn found(has_tty: bool, stream: &[u8], length: usize) -> (Vec<(bool, Vec<u8>)>, usize) {
        let (mut pieces, mut found, mut n_held) = (Pieces::new(has_tty), Vec::new(), 0);
        for piece in stream.chunks(length) {
            pieces.buffer.extend_from_slice(piece);
            while let Some(it) = pieces.next() {
                found.push((it.is_stderr, it.bytes.to_vec()));
            }
            n_held = n_held.max(pieces.buffer.len());
        }
        found.extend(pieces.end().map(|it| (it.is_stderr, it.bytes.to_vec())));
        (found, n_held)
    }

    #[test]
    fn what_was_written_is_found_however_the_stream_is_cut() {
        let framed = b"\x01\0\0\0\0\0\0\x02a\n\x02\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\x03err\x01\0";
        for length in 1..framed.len() {
            let expected = vec![(false, b"a\n".to_vec()), (true, b"err".to_vec())];
            assert_eq!(found(false, framed, length).0, expected, "{length}");
            let expected = vec![(false, b"\x01b\n".to_vec()), (false, b"rest".to_vec())];
            assert_eq!(found(true, b"\x01b\nrest", length).0, expected, "{length}");
        }
    }

    #[test]
    fn a_line_without_an_end_is_told_in_parts() {
        let long = vec![b'x'; 10 * PIECE_MAX];
        let length = u32::try_from(long.len()).expect("it is short enough").to_be_bytes();
        let framed = [&[1, 0, 0, 0], &length[..], &long].concat();
        for (has_tty, stream) in [(true, &long), (false, &framed)] {
            let (found, n_held) = found(has_tty, stream, 1_000);
            let bytes: Vec<u8> = found.into_iter().flat_map(|it| it.1).collect();
            assert_eq!(bytes, long, "{has_tty}");
            assert!(n_held <= PIECE_MAX, "{n_held} bytes were held");
        }
    }

    #[test]
    fn lines_begin_with_their_time_unless_they_are_the_rest_of_one() {
        for (line, at, text) in [
            ("2026-01-02T03:04:05.000000006Z a b\n", Some(6), "a b\n"),
            ("2026-01-02T03:04:05.000000006Z \n", Some(6), "\n"),
            ("rest of it\n", None, "rest of it\n"),
            ("rest\n", None, "rest\n"),
        ] {
            let logged = dated(Output { is_stderr: false, bytes: line.into() });
            assert_eq!(logged.at.map(Timestamp::subsec_nanosecond), at, "{line}");
            assert_eq!(logged.output.bytes, text, "{line}");
        }
    }
}

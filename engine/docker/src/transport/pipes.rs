//! A program that talks to the engine for us, as a connection. If it ends without a word, the
//! error is what it complained about.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, Join, ReadBuf},
    process::{Child, ChildStderr, ChildStdin, ChildStdout},
};

/// The longest complaint that is kept, in bytes.
const COMPLAINT_MAX: usize = 4096;

pub(super) struct Pipes {
    io: Join<ChildStdout, ChildStdin>,
    /// Read only if there is no other answer.
    complaints: Option<ChildStderr>,
    complaint: Vec<u8>,
    /// Killed when dropped.
    _child: Child,
}

impl Pipes {
    pub(super) fn new(
        io: Join<ChildStdout, ChildStdin>,
        complaints: Option<ChildStderr>,
        child: Child,
    ) -> Self {
        Self { io, complaints, complaint: Vec::new(), _child: child }
    }

    /// Collects what the program said before it ended.
    fn poll_complaint(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(stderr) = &mut self.complaints else { return Poll::Ready(Ok(())) };
        loop {
            let mut bytes = [0; 512];
            let mut buf = ReadBuf::new(&mut bytes);
            ready!(Pin::new(&mut *stderr).poll_read(cx, &mut buf))?;
            if buf.filled().is_empty() || self.complaint.len() > COMPLAINT_MAX {
                break;
            }
            self.complaint.extend_from_slice(buf.filled());
        }
        self.complaints = None;
        let text = String::from_utf8_lossy(&self.complaint);
        Poll::Ready(match text.trim() {
            "" => Ok(()),
            text => Err(io::Error::new(io::ErrorKind::NotConnected, text.to_owned())),
        })
    }
}

impl AsyncRead for Pipes {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.io).poll_read(cx, buf))?;
        if buf.filled().len() > before || buf.remaining() == 0 {
            self.complaints = None;
            return Poll::Ready(Ok(()));
        }
        self.poll_complaint(cx)
    }
}

impl AsyncWrite for Pipes {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

//! Passes open files from one process to another.

use std::{
    io::{self, IoSlice, IoSliceMut, Write},
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
        unix::net::UnixStream,
    },
};

use nix::{
    cmsg_space,
    errno::Errno,
    fcntl::{FcntlArg, FdFlag, fcntl},
    sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, UnixAddr, recvmsg, sendmsg},
};

/// How many are passed at once, at most.
const MAX: usize = 2;

/// Sends bytes, and with them copies of some open files.
///
/// # Errors
/// If nobody is there to get them.
pub(crate) fn send(mut to: &UnixStream, bytes: &[u8], files: &[BorrowedFd<'_>]) -> io::Result<()> {
    let files: Vec<RawFd> = files.iter().map(AsRawFd::as_raw_fd).collect();
    let message = [IoSlice::new(bytes)];
    let rights = [ControlMessage::ScmRights(&files)];
    let n_sent = loop {
        match sendmsg(to.as_raw_fd(), &message, &rights, MsgFlags::empty(), None::<&UnixAddr>) {
            Err(Errno::EINTR) => {}
            sent => break sent?,
        }
    };
    to.write_all(&bytes[n_sent..])
}

/// Reads bytes, and the open files that were sent with them; no bytes if the sender has gone. The
/// files are closed when this process becomes another program.
///
/// # Errors
/// If the system refuses.
pub(crate) fn receive(from: impl AsFd, buffer: &mut [u8]) -> nix::Result<(usize, Vec<OwnedFd>)> {
    let mut space = cmsg_space!([RawFd; MAX]);
    let mut message = [IoSliceMut::new(buffer)];
    let socket = from.as_fd().as_raw_fd();
    let received = recvmsg::<UnixAddr>(socket, &mut message, Some(&mut space), MsgFlags::empty())?;
    let mut files = Vec::new();
    for control in received.cmsgs()? {
        if let ControlMessageOwned::ScmRights(raw) = control {
            files.extend(raw.into_iter().map(own));
        }
    }
    for file in &files {
        fcntl(file, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    }
    Ok((received.bytes, files))
}

#[expect(unsafe_code, reason = "the system hands out numbers, which nobody owns yet")]
fn own(file: RawFd) -> OwnedFd {
    // SAFETY: the system has just opened it for this process, and nobody else knows its number.
    unsafe { OwnedFd::from_raw_fd(file) }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn files_arrive_in_order_and_the_end_of_the_sender_is_told() {
        let (ours, theirs) = UnixStream::pair().expect("sockets");
        let pipes = [(); MAX].map(|()| io::pipe().expect("a pipe"));
        let files = pipes.each_ref().map(|(_, writer)| writer.as_fd());
        send(&ours, b"text", &files).expect("somebody is there");
        let mut buffer = [0; 16];
        let (n_bytes, files) = receive(&theirs, &mut buffer).expect("it was sent");
        assert_eq!(&buffer[..n_bytes], b"text");
        for (i, file) in files.into_iter().enumerate() {
            let text = i.to_string();
            io::PipeWriter::from(file).write_all(text.as_bytes()).expect("it is open");
        }
        for (i, (mut reader, writer)) in pipes.into_iter().enumerate() {
            drop(writer);
            let mut text = String::new();
            reader.read_to_string(&mut text).expect("it is text");
            assert_eq!(text, i.to_string());
        }
        drop(ours);
        assert_eq!(receive(&theirs, &mut buffer).expect("it is the end").0, 0);
    }
}

//! Commands of a batch: their output goes to the other side while they run.

use std::{
    ffi::OsStr,
    io::{self, Read, Write},
    os::unix::{ffi::OsStrExt, process::ExitStatusExt},
    path::Path,
    process::{Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use engine_helper::{
    protocol::{Message, Reply, RunEnd},
    restart::restart_file,
};

use crate::{dir, place};

/// Output that a command leaves behind is waited for this long. Somebody in the background may hold the
/// pipe open for as long as it lives.
const LAST_OUTPUT: Duration = Duration::from_millis(200);

/// The stream to the other side.
#[derive(Clone)]
pub(crate) struct Output(Arc<Mutex<Box<dyn Write + Send>>>);

impl Output {
    pub(crate) fn new(stream: impl Write + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(Box::new(stream))))
    }

    /// Sends a message at once.
    pub(crate) fn send(&self, reply: &Reply) -> io::Result<()> {
        let mut bytes = Vec::new();
        reply.encode(&mut bytes);
        let mut stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stream.write_all(&bytes)?;
        stream.flush()
    }
}

/// Asks for a restart, and runs nothing.
pub(crate) fn run_none(argv: &[Vec<u8>], output: &Output) -> io::Result<RunEnd> {
    match restart_file(argv) {
        Some(file) => match write_date(file) {
            Ok(()) => Ok(RunEnd::Exited(0)),
            Err(error) => fail(file, &error, output),
        },
        None => {
            let program = argv.first().map(|it| String::from_utf8_lossy(it)).unwrap_or_default();
            let error = io::Error::other("commands run only as the container's own user");
            fail(&program, &error, output)
        }
    }
}

/// Runs a command to its end.
pub(crate) fn run(argv: &[Vec<u8>], output: &Output) -> io::Result<RunEnd> {
    if let Some(file) = restart_file(argv) {
        match write_date(file) {
            Ok(()) => return Ok(RunEnd::Exited(0)),
            // A shell of root would follow what somebody has planted.
            Err(error) if dir::own_uid() == 0 => return fail(file, &error, output),
            // Somebody else's shell says why.
            Err(_) => {}
        }
    }
    let Some((program, args)) = argv.split_first() else { return Ok(RunEnd::NotStarted) };
    let (reader, writer) = io::pipe()?;
    let mut command = Command::new(OsStr::from_bytes(program));
    command.args(args.iter().map(|it| OsStr::from_bytes(it)));
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let spawned = command.spawn();
    // It holds the ends of the pipe that are the command's.
    drop(command);
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) => {
            let program = String::from_utf8_lossy(program);
            output.send(&Reply::Output(format!("{program}: {error}\n").into_bytes()))?;
            return Ok(RunEnd::NotStarted);
        }
    };
    let is_read = forward(reader, output.clone());
    let status = child.wait()?;
    // An error means that the thread is done, which is what is waited for.
    let _ = is_read.recv_timeout(LAST_OUTPUT);
    Ok(end(status))
}

fn fail(what: &str, error: &io::Error, output: &Output) -> io::Result<RunEnd> {
    output.send(&Reply::Output(format!("{what}: {error}\n").into_bytes()))?;
    Ok(RunEnd::Exited(1))
}

fn write_date(file: &str) -> io::Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let date = format!("{}.{:09}\n", now.as_secs(), now.subsec_nanos());
    place::write_over(Path::new(file), date.as_bytes())
}

/// Sends what is read on a thread of its own, until nobody can write any more. Nothing is ever received
/// from the channel: it closes with the thread.
fn forward(mut reader: impl Read + Send + 'static, output: Output) -> mpsc::Receiver<()> {
    let (guard, is_read) = mpsc::sync_channel::<()>(0);
    thread::spawn(move || {
        let _guard = guard;
        let mut buffer = vec![0; 8 * 1024];
        while let Ok(n) = reader.read(&mut buffer) {
            // Who reads no more output still lets the command go on.
            if n == 0 || output.send(&Reply::Output(buffer[..n].to_vec())).is_err() {
                break;
            }
        }
    });
    is_read
}

fn end(status: ExitStatus) -> RunEnd {
    match (status.code(), status.signal()) {
        (Some(code), _) => RunEnd::Exited(code),
        (None, Some(signal)) => RunEnd::Signaled(signal),
        (None, None) => RunEnd::NotStarted,
    }
}

//! The other side of a helper.

use std::{
    fs,
    io::{Read, Write},
    os::unix::{
        ffi::OsStrExt, fs::MetadataExt, fs::PermissionsExt, fs::chown, process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    sync::LazyLock,
    thread::{self, JoinHandle},
};

use engine_helper::{
    carried,
    protocol::{Decoder, Message, Reply, Request, Timestamp, VERSION},
};
use tempfile::TempDir;

static PROGRAM: LazyLock<(TempDir, PathBuf)> = LazyLock::new(|| {
    let dir = folder();
    let path = dir.path().join("engine-helper");
    let architecture = std::env::consts::ARCH;
    let helper = carried::helper_for(architecture);
    let bytes = helper.unwrap_or_else(|| panic!("{}", carried::how_to_build(architecture)));
    fs::write(&path, bytes).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    (dir, path)
});

/// The program, as it is carried.
pub(crate) fn program() -> &'static Path {
    &PROGRAM.1
}

/// A folder that everybody may look into.
pub(crate) fn folder() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    dir
}

/// The user of a container that has one of its own.
pub(crate) const NOBODY: u32 = 65_534;

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Somebody without rights, if the tests themselves have all.
pub(crate) fn unprivileged(command: &mut Command) -> &mut Command {
    if is_root() { command.uid(NOBODY).gid(NOBODY) } else { command }
}

/// Makes a path belong to whom [`unprivileged`] commands run as.
pub(crate) fn give_away(path: &Path) {
    if is_root() {
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
}

/// Whether the tests have all rights, as some have to.
#[expect(clippy::print_stderr, reason = "who runs the tests is told which did not run")]
pub(crate) fn has_root() -> bool {
    if !is_root() {
        eprintln!("skipped: needs root");
    }
    is_root()
}

/// A helper that serves.
pub(crate) struct Helper {
    child: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
    decoder: Decoder,
}

impl Helper {
    pub(crate) fn start() -> Self {
        Self::start_with(&mut Command::new(program()))
    }

    pub(crate) fn start_with(command: &mut Command) -> Self {
        Self::start_as(command, &[])
    }

    /// With flags for the way in which it serves.
    pub(crate) fn start_as(command: &mut Command, flags: &[&str]) -> Self {
        let mut helper = Self::spawn(command, flags);
        helper.send(&[Request::Hello(VERSION)]);
        assert_eq!(helper.receive(), Some(Reply::Hello(VERSION)));
        helper
    }

    /// Without a greeting.
    pub(crate) fn start_silently(command: &mut Command) -> Self {
        Self::spawn(command, &[])
    }

    fn spawn(command: &mut Command, flags: &[&str]) -> Self {
        command.arg("serve").args(flags).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let output = child.stdout.take().unwrap();
        Self { child, input, output, decoder: Decoder::default() }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn send(&mut self, requests: &[Request]) {
        let mut bytes = Vec::new();
        for request in requests {
            request.encode(&mut bytes);
        }
        self.send_raw(&bytes);
    }

    pub(crate) fn send_raw(&mut self, bytes: &[u8]) {
        // Who has given up does not listen any more.
        let _ = self.input.as_mut().unwrap().write_all(bytes);
    }

    /// Sends on a thread, as a batch and its answers may be larger than pipes.
    pub(crate) fn send_all(&mut self, requests: Vec<Request>) -> JoinHandle<ChildStdin> {
        let mut input = self.input.take().unwrap();
        thread::spawn(move || {
            let mut bytes = Vec::new();
            for request in requests {
                request.encode(&mut bytes);
                if bytes.len() > 1 << 16 {
                    input.write_all(&bytes).unwrap();
                    bytes.clear();
                }
            }
            input.write_all(&bytes).unwrap();
            input
        })
    }

    /// The next answer, or nothing at the end of the stream.
    pub(crate) fn receive(&mut self) -> Option<Reply> {
        loop {
            if let Some(reply) = self.decoder.decode().unwrap() {
                return Some(reply);
            }
            let mut buffer = [0; 4096];
            match self.output.read(&mut buffer).unwrap() {
                0 => return None,
                n => self.decoder.push(&buffer[..n]),
            }
        }
    }

    /// All answers up to the end of the batch; output of commands is joined.
    pub(crate) fn replies(&mut self) -> Vec<Reply> {
        let mut replies: Vec<Reply> = Vec::new();
        loop {
            match self.receive().expect("the batch is answered") {
                Reply::Output(more) => match replies.last_mut() {
                    Some(Reply::Output(output)) => output.extend(more),
                    _ => replies.push(Reply::Output(more)),
                },
                done @ Reply::Done { .. } => {
                    replies.push(done);
                    return replies;
                }
                reply => replies.push(reply),
            }
        }
    }

    /// Sends a batch below a root, and waits for its answers.
    pub(crate) fn batch(&mut self, root: &Path, requests: Vec<Request>) -> Vec<Reply> {
        let mut all = vec![Request::Root(root.as_os_str().as_bytes().to_vec())];
        all.extend(requests);
        all.push(Request::Commit);
        self.send(&all);
        self.replies()
    }

    /// Closes the stream, and waits for the end.
    pub(crate) fn end(mut self) -> ExitStatus {
        drop(self.input.take());
        self.child.wait().unwrap()
    }
}

/// The requests for a whole file.
pub(crate) fn file(path: &str, mode: u32, content: &str) -> Vec<Request> {
    let modified = Timestamp { seconds: 1_000_000_000, nanos: 123_456_789 };
    vec![
        Request::File { path: path.into(), mode, modified },
        Request::Data(content.into()),
        Request::EndOfFile,
    ]
}

pub(crate) fn run(argv: &[&str]) -> Request {
    Request::Run(argv.iter().map(|it| it.as_bytes().to_vec()).collect())
}

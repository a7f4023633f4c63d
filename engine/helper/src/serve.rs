//! Batches of entries and commands from a stream, one after the other, until the stream ends.

mod commands;

use std::{
    collections::HashSet,
    ffi::OsStr,
    io::{self, Read, Write},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use engine_helper::protocol::{
    CHUNK, Decoder, ProtocolError, Reply, Request, RunEnd, Timestamp, VERSION,
};

use crate::{
    place::{self, NewFile},
    remove,
    walk::{Problem, Rights, Root, Spot},
};
use commands::Output;

/// What the helper is not to do, although it could.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Manner {
    /// It runs nothing, as it may do more than whoever the commands are meant for.
    pub(crate) files_only: bool,
    /// It refuses what would not belong to whom it should, as somebody else is asked then who can do that.
    pub(crate) keeps_owners: bool,
}

/// Longer than what is said of any path that there can be.
const MESSAGE_MAX: usize = 8 * 1024;

/// Serves until the other side closes the stream.
pub(crate) fn serve(
    mut input: impl Read,
    output: impl Write + Send + 'static,
    manner: Manner,
) -> io::Result<()> {
    let mut decoder = Decoder::default();
    let mut session = Session::new(Output::new(output), manner);
    let mut buffer = vec![0; CHUNK];
    loop {
        let n = match input.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(n) => n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        decoder.push(&buffer[..n]);
        while let Some(request) = next(&mut decoder, &session)? {
            session.handle(request)?;
        }
    }
}

fn next(decoder: &mut Decoder, session: &Session) -> io::Result<Option<Request>> {
    decoder.decode().map_err(|error| session.give_up(error))
}

/// What is known between two requests.
struct Session {
    output: Output,
    manner: Manner,
    rights: Rights,
    is_greeted: bool,
    root: Option<Root>,
    batch: Batch,
    /// Where files were put.
    ours: HashSet<PathBuf>,
}

/// What happened in the current batch.
#[derive(Default)]
struct Batch {
    n_entries: u32,
    n_placed: u32,
    n_runs: u32,
    /// Whether a command has failed, or an entry is not in place: then no more commands run.
    is_spoiled: bool,
    file: Option<OpenFile>,
}

/// A file that data is sent for.
struct OpenFile {
    /// `None` if it could not be created or written: then its data is skipped.
    file: Option<NewFile>,
    path: PathBuf,
    mode: u32,
    modified: Timestamp,
}

impl Session {
    fn new(output: Output, manner: Manner) -> Self {
        Self {
            output,
            manner,
            rights: Rights::own(manner.keeps_owners),
            is_greeted: false,
            root: None,
            batch: Batch::default(),
            ours: HashSet::new(),
        }
    }

    /// Tells the other side that it cannot be understood.
    fn give_up(&self, error: ProtocolError) -> io::Error {
        let _ = self.output.send(&Reply::Broken(error.to_string()));
        io::Error::new(io::ErrorKind::InvalidData, error)
    }

    fn handle(&mut self, request: Request) -> io::Result<()> {
        let is_data = matches!(request, Request::Data(_) | Request::EndOfFile | Request::AbortFile);
        let is_greeting = matches!(request, Request::Hello(_));
        if is_data != self.batch.file.is_some() || is_greeting == self.is_greeted {
            return Err(self.give_up(ProtocolError::Malformed));
        }
        match request {
            Request::Hello(version) => return self.greet(version),
            Request::Root(path) => {
                self.root = Some(Root::new(Path::new(OsStr::from_bytes(&path)), self.rights));
            }
            Request::Data(data) => self.write(&data)?,
            Request::EndOfFile => self.finish_file()?,
            Request::AbortFile => {
                let path = self.batch.file.take().map(|it| it.path).unwrap_or_default();
                let error = io::Error::other("it could not be read to its end");
                self.placed(Err(Problem::at(&path, error)))?;
            }
            Request::Run(argv) => self.run(&argv)?,
            Request::Commit => {
                let batch = std::mem::take(&mut self.batch);
                self.output.send(&Reply::Done { placed: batch.n_placed })?;
            }
            Request::File { path, mode, modified } => self.begin_file(&path, mode, modified)?,
            Request::Directory { path, mode } => {
                let spot = self.spot(&path);
                self.placed(spot.and_then(|it| place::directory(&it, mode)))?;
            }
            Request::Link { path, target } => {
                let target = Path::new(OsStr::from_bytes(&target));
                // A root that becomes a link would lead all entries after it elsewhere.
                let result = if path.is_empty() {
                    Err(Problem::BadPath(target.to_owned()))
                } else {
                    self.at(&path, |it| place::link(it, target))
                };
                self.placed(result)?;
            }
            Request::Keep { path, mode, size, was, modified } => {
                match self.at(&path, |it| place::keep(it, mode, size, was, modified)) {
                    Ok(true) => self.placed(Ok(()))?,
                    Ok(false) => self.missing()?,
                    Err(problem) => self.placed(Err(problem))?,
                }
            }
            Request::Delete(path) => {
                let result = self.delete(&path);
                self.placed(result)?;
            }
        }
        Ok(())
    }

    fn greet(&mut self, version: u32) -> io::Result<()> {
        self.output.send(&Reply::Hello(VERSION))?;
        if version != VERSION {
            return Err(io::Error::other(format!("the engine speaks version {version}")));
        }
        self.is_greeted = true;
        Ok(())
    }

    /// The place of an entry, whose directory exists from now on.
    fn spot(&mut self, path: &[u8]) -> Result<Spot, Problem> {
        self.root.as_mut().ok_or(Problem::NoRoot)?.locate(path)
    }

    /// Does something at the place of an entry.
    fn at<T>(
        &mut self,
        path: &[u8],
        act: impl FnOnce(&Spot) -> io::Result<T>,
    ) -> Result<T, Problem> {
        let spot = self.spot(path)?;
        act(&spot).map_err(|error| Problem::at(&spot.path, error))
    }

    fn delete(&mut self, path: &[u8]) -> Result<(), Problem> {
        let found = self.root.as_mut().ok_or(Problem::NoRoot)?.find(path)?;
        let Some(Spot { node, name, path, .. }) = found else { return Ok(()) };
        remove::remove(&node.dir, &name).map_err(|error| Problem::at(&path, error))
    }

    fn begin_file(&mut self, path: &[u8], mode: u32, modified: Timestamp) -> io::Result<()> {
        let (file, path) = match self.spot(path) {
            Ok(spot) => {
                let path = spot.path.clone();
                (Some(NewFile::new(spot)), path)
            }
            Err(problem) => {
                self.refuse(&problem)?;
                (None, PathBuf::new())
            }
        };
        self.batch.file = Some(OpenFile { file, path, mode, modified });
        Ok(())
    }

    fn write(&mut self, data: &[u8]) -> io::Result<()> {
        let Some(open) = &mut self.batch.file else { return Ok(()) };
        let Some(file) = &mut open.file else { return Ok(()) };
        if let Err(error) = file.write(data) {
            open.file = None;
            let problem = Problem::at(&open.path, error);
            self.refuse(&problem)?;
        }
        Ok(())
    }

    fn finish_file(&mut self) -> io::Result<()> {
        let Some(OpenFile { file, path, mode, modified }) = self.batch.file.take() else {
            return Ok(());
        };
        match file {
            Some(file) => {
                let is_ours = self.ours.contains(&path);
                let result = file.finish(mode, Some(modified), is_ours);
                if result.is_ok() && !is_ours {
                    self.ours.insert(path.clone());
                }
                self.placed(result.map_err(|error| Problem::at(&path, error)))
            }
            None => {
                self.batch.n_entries += 1;
                Ok(())
            }
        }
    }

    /// An entry has been dealt with.
    fn placed(&mut self, result: Result<(), Problem>) -> io::Result<()> {
        match result {
            Ok(()) => self.batch.n_placed += 1,
            Err(problem) => self.refuse(&problem)?,
        }
        self.batch.n_entries += 1;
        Ok(())
    }

    fn missing(&mut self) -> io::Result<()> {
        self.batch.is_spoiled = true;
        self.output.send(&Reply::Missing { entry: self.batch.n_entries })?;
        self.batch.n_entries += 1;
        Ok(())
    }

    fn refuse(&mut self, problem: &Problem) -> io::Result<()> {
        self.batch.is_spoiled = true;
        let (entry, refusal) = (self.batch.n_entries, problem.refusal());
        // A path may be as long as a request, which an answer may not.
        let message = problem.to_string().chars().take(MESSAGE_MAX).collect();
        self.output.send(&Reply::Refused { entry, refusal, message })
    }

    fn run(&mut self, argv: &[Vec<u8>]) -> io::Result<()> {
        if self.batch.is_spoiled {
            return Ok(());
        }
        let run = self.batch.n_runs;
        self.output.send(&Reply::Begins { run })?;
        let end = if self.manner.files_only {
            commands::run_none(argv, &self.output)?
        } else {
            commands::run(argv, &self.output)?
        };
        self.batch.is_spoiled = end != RunEnd::Exited(0);
        self.batch.n_runs += 1;
        self.output.send(&Reply::Ran { run, end })
    }
}

//! What the helper is asked to do by its arguments.

use std::{
    ffi::OsString,
    io::{self, Write},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
    process::ExitCode,
};

use engine_helper::restart::WRAPPER;

use crate::{
    place,
    serve::{self, Manner},
    supervise::{self, OnExit, Options},
};

const USAGE: &str = "\
usage: engine-helper serve [--root=DIRECTORY] [--files-only] [--keep-owners]
       engine-helper put [--mode=755] FILE < CONTENT
       engine-helper touch FILE
       engine-helper run [--watch-file=FILE] [--on-exit=stop|wait] [--] PROGRAM [ARGUMENT...]
";

/// Something that can be asked for.
#[derive(Debug, PartialEq, Eq)]
enum Command {
    Serve(Serve),
    Put { file: PathBuf, mode: u32 },
    Touch(PathBuf),
    Run(Options),
}

/// How files are to be brought into a container.
#[derive(Debug, Default, PartialEq, Eq)]
struct Serve {
    /// Below this directory, which is the file system of another container.
    root: Option<PathBuf>,
    manner: Manner,
}

/// Does what the arguments say; the first is the name of the program.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    let Some(command) = parse(args) else {
        let _ = io::stderr().write_all(USAGE.as_bytes());
        return ExitCode::from(2);
    };
    let result = match command {
        Command::Serve(Serve { root, manner }) => enter(root.as_deref())
            .and_then(|()| serve::serve(io::stdin().lock(), io::stdout(), manner)),
        Command::Put { file, mode } => place::put(&file, mode, &mut io::stdin().lock()),
        Command::Touch(file) => place::touch(&file),
        Command::Run(options) => return supervise::supervise(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "engine-helper: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Makes a directory the root of everything from now on, as the file system of another container is one.
fn enter(root: Option<&Path>) -> io::Result<()> {
    let Some(root) = root else { return Ok(()) };
    std::os::unix::fs::chroot(root)?;
    std::env::set_current_dir("/")
}

fn parse(args: Vec<OsString>) -> Option<Command> {
    let mut args = args.into_iter();
    let name = PathBuf::from(args.next()?);
    // Under this name it has the flags that `restart_process` writes, or serves the container that it is in.
    if name.file_name().is_some_and(|it| it == WRAPPER) {
        let args: Vec<OsString> = args.collect();
        return if args == ["--serve"] {
            Some(Command::Serve(Serve::default()))
        } else {
            parse_run(args)
        };
    }
    match args.next()?.to_str()? {
        "serve" => parse_serve(&args.collect::<Vec<_>>()),
        "put" => parse_put(args.collect()),
        "touch" => match <[OsString; 1]>::try_from(args.collect::<Vec<_>>()) {
            Ok([file]) => Some(Command::Touch(file.into())),
            Err(_) => None,
        },
        "run" => parse_run(args.collect()),
        _ => None,
    }
}

fn parse_serve(args: &[OsString]) -> Option<Command> {
    let mut serve = Serve::default();
    for arg in args {
        if arg == "--files-only" {
            serve.manner.files_only = true;
        } else if arg == "--keep-owners" {
            serve.manner.keeps_owners = true;
        } else {
            serve.root = Some(value_of(arg, &["--root"])?.into());
            // What belongs to another container is not run by whoever looks into it.
            serve.manner.files_only = true;
        }
    }
    Some(Command::Serve(serve))
}

fn parse_put(args: Vec<OsString>) -> Option<Command> {
    let mut mode = 0o755;
    let mut file = None;
    for arg in args {
        match value_of(&arg, &["--mode"]) {
            Some(value) => mode = u32::from_str_radix(value.to_str()?, 8).ok()?,
            None if file.is_none() => file = Some(PathBuf::from(arg)),
            None => return None,
        }
    }
    Some(Command::Put { file: file?, mode })
}

fn parse_run(args: Vec<OsString>) -> Option<Command> {
    let mut options = Options {
        watch_file: None,
        on_exit: OnExit::Stop,
        program: OsString::new(),
        args: Vec::new(),
    };
    let mut args = args.into_iter();
    let program = loop {
        let arg = args.next()?;
        if let Some(file) = value_of(&arg, &["--watch-file", "--watch_file"]) {
            options.watch_file = Some(file.into());
        } else if let Some(policy) = value_of(&arg, &["--on-exit"]) {
            options.on_exit = match policy.to_str()? {
                "stop" => OnExit::Stop,
                "wait" => OnExit::Wait,
                _ => return None,
            };
        } else if let Some(flags) = value_of(&arg, &["--entr_flags"]) {
            let stops = flags.as_bytes().contains(&b'z');
            options.on_exit = if stops { OnExit::Stop } else { OnExit::Wait };
        } else if arg == "--" {
            break args.next()?;
        } else if value_of(&arg, &["--entr_path"]).is_none() {
            break arg;
        }
    };
    options.program = program;
    options.args = args.collect();
    Some(Command::Run(options))
}

/// The value of a flag that is written as `--flag=value`.
fn value_of(arg: &OsString, flags: &[&str]) -> Option<OsString> {
    flags.iter().find_map(|flag| {
        let value = arg.as_bytes().strip_prefix(flag.as_bytes())?.strip_prefix(b"=")?;
        Some(OsString::from_vec(value.to_vec()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_text(text: &str) -> Option<Command> {
        parse(text.split(' ').map(Into::into).collect())
    }

    fn options(watch_file: Option<&str>, on_exit: OnExit, command: &[&str]) -> Command {
        Command::Run(Options {
            watch_file: watch_file.map(Into::into),
            on_exit,
            program: command[0].into(),
            args: command[1..].iter().map(Into::into).collect(),
        })
    }

    #[test]
    fn arguments_say_what_to_do() {
        let put = Command::Put { file: "/x".into(), mode: 0o640 };
        let serve = |root: Option<&str>, files_only, keeps_owners| {
            let manner = Manner { files_only, keeps_owners };
            Some(Command::Serve(Serve { root: root.map(Into::into), manner }))
        };
        assert_eq!(parse_text("h serve"), serve(None, false, false));
        assert_eq!(parse_text("h serve --files-only"), serve(None, true, false));
        assert_eq!(parse_text("h serve --keep-owners"), serve(None, false, true));
        let below = serve(Some("/proc/1/root"), true, false);
        assert_eq!(parse_text("h serve --root=/proc/1/root"), below, "nothing runs there");
        assert_eq!(parse_text("h put --mode=640 /x"), Some(put));
        assert_eq!(
            parse_text("h run --watch-file=/w --on-exit=wait -- a --watch-file=b"),
            Some(options(Some("/w"), OnExit::Wait, &["a", "--watch-file=b"]))
        );
        assert_eq!(parse_text("h run a b"), Some(options(None, OnExit::Stop, &["a", "b"])));
        for wrong in
            ["h", "h what", "h serve x", "h put", "h put a b", "h run", "h run --", "h touch"]
        {
            assert_eq!(parse_text(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_flags_of_restart_process_are_understood() {
        assert_eq!(
            parse_text("/tilt-restart-wrapper --watch_file=/w --entr_flags=-r sh -c x"),
            Some(options(Some("/w"), OnExit::Wait, &["sh", "-c", "x"]))
        );
        assert_eq!(
            parse_text("/tilt-restart-wrapper --watch_file=/w --entr_flags=-rz a"),
            Some(options(Some("/w"), OnExit::Stop, &["a"]))
        );
        assert_eq!(
            parse_text("/tilt-restart-wrapper --watch_file=/w --entr_path=/entr a"),
            Some(options(Some("/w"), OnExit::Stop, &["a"]))
        );
        let serve = Some(Command::Serve(Serve::default()));
        assert_eq!(parse_text("/tilt-restart-wrapper --serve"), serve);
    }
}

//! Offers to create a first Tiltfile if there is none.

use std::{
    io::{self, BufRead, IsTerminal, Read},
    net::Shutdown,
    os::unix::net::UnixStream,
    path::Path,
    thread,
};

use engine_cli::{Failure, Printer, display_name, is_tilt, output_file, program};
use signal_hook::{consts::SIGINT, low_level};

/// A Tiltfile that works as is and explains the next steps.
const STARTER: &str = "\
# Everything here runs with `{program} up`, which also applies changes of this file while it runs.

# A step that runs again whenever one of its inputs changes.
local_resource('hello', cmd='echo hello from the Tiltfile', deps=['Tiltfile'])

# A server that restarts after each change:
# local_resource('web', serve_cmd='python3 -m http.server 8000', deps=['index.html'],
#                links=['http://localhost:8000'])

# An image, and what runs it in a cluster:
# docker_build('my-image', '.')
# k8s_yaml('deployment.yaml')
";

/// How to continue without a Tiltfile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StarterChoice {
    /// Go on, with or without a new Tiltfile.
    Start,
    /// Stop here.
    Leave,
}

/// Offers to write a Tiltfile if there is none and stdin is a terminal.
pub(super) fn offer(path: &Path, shown: &str, printer: Printer) -> Result<StarterChoice, Failure> {
    if path.is_dir() {
        let message = format!("{} is a directory, not a Tiltfile", path.display());
        return Err(Failure::Command(message));
    }
    if path.exists() || !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Ok(StarterChoice::Start);
    }
    printer.out(&if is_tilt() || shown != "Tiltfile" {
        format!("\nNo Tiltfile exists at {shown}\n\n")
    } else {
        "\nThere is no Tiltfile in this folder.\n\n".to_owned()
    });
    leaving_on_interrupt(|| ask(path, shown, &mut io::stdin().lock(), printer))
        .map_err(|error| Failure::Command(error.to_string()))?
}

/// Ctrl-C is an answer too while a question is open: to leave, which is no failure.
fn leaving_on_interrupt<T>(ask: impl FnOnce() -> T) -> io::Result<T> {
    let (mut signaled, sender) = UnixStream::pair()?;
    let end = signaled.try_clone()?;
    let registered = low_level::pipe::register(SIGINT, sender)?;
    let waiting = thread::Builder::new().name("interrupt".to_owned()).spawn(move || {
        if signaled.read_exact(&mut [0]).is_ok() {
            #[expect(clippy::exit, reason = "the thread that reads the answer cannot be woken")]
            std::process::exit(0);
        }
    })?;
    let answer = ask();
    low_level::unregister(registered);
    end.shutdown(Shutdown::Both)?;
    // It only reads, and has nothing more to read.
    let _ = waiting.join();
    Ok(answer)
}

fn ask(
    path: &Path,
    shown: &str,
    answers: &mut impl BufRead,
    printer: Printer,
) -> Result<StarterChoice, Failure> {
    loop {
        printer.out("Create a starter Tiltfile? (y/n) ");
        let mut line = String::new();
        if answers.read_line(&mut line).unwrap_or(0) == 0 {
            return Ok(StarterChoice::Leave);
        }
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => {
                output_file::write(path, STARTER.replace("{program}", program()).as_bytes())
                    .map_err(|error| Failure::Command(format!("cannot write {shown}: {error}")))?;
                printer.out(&format!("Tiltfile generated at {shown}\n"));
                return Ok(StarterChoice::Start);
            }
            "n" | "no" => {
                printer.out(&format!("Starting {}...\n", display_name()));
                return Ok(StarterChoice::Start);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_writes_a_tiltfile() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("Tiltfile");
        for (typed, answer, is_written) in [
            ("", StarterChoice::Leave, false),
            ("what\nn\n", StarterChoice::Start, false),
            ("Y\n", StarterChoice::Start, true),
        ] {
            let found = ask(&path, "Tiltfile", &mut typed.as_bytes(), Printer).unwrap();
            assert_eq!((found, path.exists()), (answer, is_written), "{typed:?}");
        }
    }

    #[test]
    fn a_folder_is_no_tiltfile() {
        let dir = tempfile::tempdir().unwrap();
        assert!(offer(dir.path(), "dir", Printer).is_err());
    }

    #[test]
    fn asking_ends_without_a_signal() {
        assert_eq!(leaving_on_interrupt(|| 3).unwrap(), 3);
    }
}

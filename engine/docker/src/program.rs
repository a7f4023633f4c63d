//! Runs a program to its end. Whoever stops waiting ends it, with all that it has started.

use std::{
    io,
    process::{ExitStatus, Stdio},
};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    process::{Child, Command},
};

/// How a program ended, and what it printed.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a program with this input.
pub(crate) async fn run(mut command: Command, input: &str) -> io::Result<Ended> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A helper that is a script may wait for another program, which is to end with it.
    command.process_group(0);
    let mut group = Group(command.spawn()?);
    let stdin = group.0.stdin.take();
    let (stdout, stderr) = (group.0.stdout.take(), group.0.stderr.take());
    let write = async {
        if let Some(mut stdin) = stdin {
            // Who does not listen has words of its own for that.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
    };
    let ((), stdout, stderr) = tokio::join!(write, read(stdout), read(stderr));
    Ok(Ended { status: group.0.wait().await?, stdout: stdout?, stderr: stderr? })
}

async fn read(output: Option<impl AsyncRead + Unpin>) -> io::Result<String> {
    let mut bytes = Vec::new();
    if let Some(mut output) = output {
        output.read_to_end(&mut bytes).await?;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A program that leads a process group.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        // It has no id any more once it was waited for: what it left behind then was meant to stay.
        if let Some(id) = self.0.id().and_then(|it| i32::try_from(it).ok()) {
            // It may have ended just now.
            let _ = killpg(Pid::from_raw(id), Signal::SIGKILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, time::Duration};

    use super::*;

    #[tokio::test]
    async fn a_program_gets_its_input_and_tells_how_it_ended() {
        let mut command = Command::new("sh");
        command.args(["-c", "cat; echo complaint >&2; exit 3"]);
        let ended = run(command, "said").await.unwrap();
        assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("said", "complaint\n"));
        assert_eq!(ended.status.code(), Some(3));
    }

    #[tokio::test]
    async fn who_stops_waiting_ends_all_that_was_started() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("pid");
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 1000 & echo $! > \"$0\"; wait"]).arg(&file);
        let pid = async {
            loop {
                let text = fs::read_to_string(&file).unwrap_or_default();
                if let Some(pid) = text.strip_suffix('\n') {
                    return pid.to_owned();
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let pid = tokio::select! {
            ended = run(command, "") => panic!("{ended:?}"),
            pid = pid => pid,
        };
        let is_alive = || {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            !stat.is_empty() && !stat.contains(") Z ")
        };
        let gone = async {
            while is_alive() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_mins(1), gone).await.expect("it still sleeps");
    }
}

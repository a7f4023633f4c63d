//! Probes that are commands: ready when they succeed.

use crate::{
    exec::attended::{Attended, Launch},
    guard::{GuardReport, Lifetime},
};

use super::{Answer, Verdict};

/// How much of what a probe prints is kept.
const MAX_OUTPUT: usize = 64 * 1024;

/// Runs a command to its end, in the engine's own directory and environment. All of it is killed
/// when this is dropped.
pub(super) async fn attempt(argv: &[String]) -> Answer {
    let path = std::env::var("PATH").unwrap_or_default();
    let launch = Launch { argv, dir: None, env: None, path: &path, lifetime: Lifetime::Probe };
    let Attended { mut guard, mut output, .. } = Attended::launch(launch).await.ok()?;
    let mut text = String::new();
    let mut keep = |chunk: &str| {
        if text.len() < MAX_OUTPUT {
            text.push_str(chunk);
        }
    };
    let exit_code = loop {
        tokio::select! {
            () = output.readable(), if !output.is_closed() => output.forward(&mut keep),
            report = guard.report() => match report {
                Some(GuardReport::Exited(code)) => break Some(code),
                Some(GuardReport::Signaled { .. }) => break None,
                Some(report) => if let Some(mishap) = report.mishap() {
                    return Some((Verdict::Failure, mishap));
                },
                None => return None,
            },
        }
    };
    output.drain(keep);
    let verdict = if exit_code == Some(0) { Verdict::Success } else { Verdict::Failure };
    Some((verdict, text))
}

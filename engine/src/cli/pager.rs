//! Shows a long text in the pager of the user, as `man` does.

use std::{
    env,
    io::{self, IsTerminal, Write},
    process::{Command, Stdio},
    sync::{Arc, atomic::AtomicBool},
};

use engine_cli::Printer;
use signal_hook::consts::SIGINT;

/// The exit code of a shell that has not found the program.
const NOT_FOUND: i32 = 127;

/// Shows a text, in a pager if somebody sits in front of a terminal.
pub(super) fn show(text: &str, printer: Printer) {
    let line = env::var("PAGER").unwrap_or_else(|_| "less".to_owned());
    let is_wanted = io::stdout().is_terminal() && !line.trim().is_empty();
    if !is_wanted || !is_shown(text, &line) {
        printer.out(text);
    }
}

/// Gives a text to a pager; false if there is none.
fn is_shown(text: &str, line: &str) -> bool {
    let mut command = Command::new("sh");
    command.args(["-c", line]).stdin(Stdio::piped());
    if env::var_os("LESS").is_none() {
        // Colors are shown, and what fits the screen needs no key to leave.
        command.env("LESS", "FRX");
    }
    // Ctrl-C is for the pager, which must not outlive us.
    let _ = signal_hook::flag::register(SIGINT, Arc::new(AtomicBool::new(false)));
    let Ok(mut pager) = command.spawn() else { return false };
    if let Some(mut input) = pager.stdin.take() {
        // Whoever has read enough leaves before the end.
        let _ = input.write_all(text.as_bytes());
    }
    pager.wait().is_ok_and(|it| it.code() != Some(NOT_FOUND))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pager_gets_the_text() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("shown");
        assert!(is_shown("a text\n", &format!("cat > '{}'", file.display())));
        assert_eq!(std::fs::read_to_string(file).unwrap(), "a text\n");
        // Too much for a pipe, and nobody reads it.
        assert!(is_shown(&"x".repeat(1 << 20), "true"));
        assert!(!is_shown("a text\n", "no-such-pager 2>/dev/null"));
    }
}

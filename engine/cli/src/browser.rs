//! Opens pages in the user's browser.

use std::{io, process::Stdio};

/// What opens pages, best first.
#[cfg(target_os = "macos")]
const BROWSERS: &[&str] = &["open"];
/// What opens pages, best first.
#[cfg(not(target_os = "macos"))]
const BROWSERS: &[&str] = &["xdg-open", "x-www-browser", "www-browser"];

/// Opens a page in the browser of the user.
///
/// # Errors
/// If nothing that opens pages can be started.
pub fn open(url: &str) -> io::Result<()> {
    for program in BROWSERS {
        let mut command = tokio::process::Command::new(program);
        command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        match command.spawn() {
            // The runtime waits for it, and it may outlive us.
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    let programs = BROWSERS.join(",");
    Err(io::Error::other(format!("exec: \"{programs}\": executable file not found in $PATH")))
}

//! `--dry-run`: none, on the client, or on the server.

use clap::Args;

use super::failure::Failure;

/// The flag.
#[derive(Debug, Clone, Args)]
pub(crate) struct DryRunFlags {
    /// Only show what would change: none, server or client
    #[arg(long, value_name = "WHERE", num_args = 0..=1, require_equals = true, default_value = "none",
        default_missing_value = "client")]
    dry_run: String,
}

/// Where a change ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DryRun {
    /// Nowhere, it is made.
    None,
    /// Before it is sent.
    Client,
    /// Before it is stored.
    Server,
}

impl DryRunFlags {
    /// Reads the flag.
    pub(crate) fn read(&self) -> Result<DryRun, Failure> {
        match self.dry_run.as_str() {
            "none" | "false" => Ok(DryRun::None),
            "client" | "true" => Ok(DryRun::Client),
            "server" => Ok(DryRun::Server),
            other => Err(Failure::Kubectl(format!(
                "Invalid dry-run value ({other}). Must be \"none\", \"server\", or \"client\"."
            ))),
        }
    }
}

impl DryRun {
    /// What happened, with a note if it did not really.
    pub(crate) fn annotate(self, operation: &str) -> String {
        match self {
            Self::None => operation.to_owned(),
            Self::Client => format!("{operation} (dry run)"),
            Self::Server => format!("{operation} (server dry run)"),
        }
    }

    /// The parameter of a request.
    pub(crate) fn query(self) -> &'static [(&'static str, &'static str)] {
        if self == Self::Server { &[("dryRun", "All")] } else { &[] }
    }
}

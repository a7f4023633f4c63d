//! `--validate`: how to treat fields that a kind does not have.

use clap::Args;

use super::failure::Failure;

/// The flag.
#[derive(Debug, Clone, Args)]
pub(crate) struct ValidateFlags {
    /// How to treat unknown fields: strict (or true), warn, ignore (or false)
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_value = "strict",
        default_missing_value = "strict")]
    validate: String,
}

impl ValidateFlags {
    /// The value of the parameter that asks the server for it.
    pub(crate) fn read(&self) -> Result<&'static str, Failure> {
        match self.validate.as_str() {
            "strict" | "true" => Ok("Strict"),
            "warn" => Ok("Warn"),
            "ignore" | "false" => Ok("Ignore"),
            other => Err(Failure::Kubectl(format!(
                "invalid - validate option {other:?}; must be one of: strict (or true), warn, ignore (or false)"
            ))),
        }
    }
}

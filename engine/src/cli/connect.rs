//! Where the running instance is: flags, then environment, then Tilt's defaults.

use std::env;

use builtins::golang::quote::quote;
use clap::Args;

use super::values;

/// The web port of an instance that was not told otherwise.
const DEFAULT_PORT: u16 = 10350;

/// The flags that name an instance.
#[derive(Debug, Clone, Args)]
pub(super) struct ConnectFlags {
    /// Port of the instance, if it was started with --port; instead of `TILT_PORT`
    #[arg(long, value_name = "PORT", default_value_t = default_port(), value_parser = values::port)]
    pub(super) port: u16,
    /// Host of the instance, if it was started with --host; instead of `TILT_HOST`
    #[arg(long, value_name = "HOST", default_value_t = default_host())]
    pub(super) host: String,
}

impl ConnectFlags {
    /// Host and port, as messages show them.
    pub(super) fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// The name under which the API server of the instance is registered.
    pub(super) fn api_server_name(&self) -> String {
        match self.port {
            DEFAULT_PORT => "tilt-default".to_owned(),
            port => format!("tilt-{port}"),
        }
    }
}

/// A port in the environment that is no number stops every command.
///
/// # Errors
/// What is wrong with it.
pub(super) fn check_environment() -> Result<(), String> {
    let text = env::var("TILT_PORT").unwrap_or_default();
    if text.is_empty() || text.parse::<i64>().is_ok() {
        return Ok(());
    }
    Err(format!("parsing env TILT_PORT: strconv.Atoi: parsing {}: invalid syntax", quote(&text)))
}

/// The port of the environment.
pub(super) fn default_port() -> u16 {
    env::var("TILT_PORT").ok().and_then(|it| it.parse().ok()).unwrap_or(DEFAULT_PORT)
}

/// The host of the environment.
pub(super) fn default_host() -> String {
    env::var("TILT_HOST").ok().filter(|it| !it.is_empty()).unwrap_or_else(|| "localhost".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_port_has_a_name_of_its_own() {
        let name = |port| ConnectFlags { port, host: "localhost".to_owned() }.api_server_name();
        assert_eq!(name(10350), "tilt-default");
        assert_eq!(name(10351), "tilt-10351");
        assert_eq!(name(0), "tilt-0");
    }
}

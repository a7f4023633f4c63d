//! Small commands of Tilt, including those that have no effect here.

use std::{env, fs, process::Command as Process};

use clap::{Args, Subcommand};
use engine_files::{dev_dir, private};
use engine_formats::golang::quote::quote;

use super::{Printer, connect::ConnectFlags, failure::Failure};

/// Show analytics settings (nothing is collected).
#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub struct AnalyticsFlags {
    #[command(subcommand)]
    command: Option<AnalyticsCommand>,
}

#[derive(Debug, Subcommand)]
enum AnalyticsCommand {
    /// Save a choice for Tilt: opt-in or opt-out
    Opt(OptFlags),
}

#[derive(Debug, Args)]
struct OptFlags {
    /// The choice
    #[arg(value_name = "CHOICE")]
    words: Vec<String>,
}

/// Runs `analytics`.
pub fn analytics(flags: &AnalyticsFlags, printer: Printer) -> Result<(), Failure> {
    let failed = |it: std::io::Error| Failure::Command(it.to_string());
    let folder = dev_dir::path().map_err(failed)?.join("analytics/user");
    let file = folder.join("choice.txt");
    let Some(AnalyticsCommand::Opt(flags)) = &flags.command else {
        let choice = fs::read_to_string(&file).unwrap_or_default();
        let choice = Some(choice.trim()).filter(|it| !it.is_empty()).unwrap_or("default");
        printer.out(&format!(
            "analytics status : {choice}\nNo data is collected. If TILT_ANALYTICS_URL is set, usage events go there.\n"
        ));
        return Ok(());
    };
    let choice = match flags.words.first().map(|it| it.to_lowercase()).as_deref() {
        Some(choice @ ("opt-in" | "opt-out")) => choice.to_owned(),
        Some("in") => "opt-in".to_owned(),
        Some("out") => "opt-out".to_owned(),
        other => {
            let message = match other {
                Some(other) => format!("unknown analytics opt: {}", quote(other)),
                None => "no choice given; pass it as first arg: <tool> analytics opt <choice>"
                    .to_owned(),
            };
            printer.out(&format!("choice can be one of {{opt-in, opt-out}}\n{message}\n"));
            return Err(Failure::Command(message));
        }
    };
    let written = private::create_dir(&folder)
        .and_then(|()| private::write(&file, format!("{choice}\n").as_bytes()));
    written.map_err(|it| failed(dev_dir::explained("write", &file, &it)))?;
    let (word, file) = (flags.words.first().map_or("", String::as_str), file.display());
    printer.err(&format!(
        "wrote user collection strategy {} to file {file}\nNo data is collected. If TILT_ANALYTICS_URL is set, usage events go there.\n",
        quote(word)
    ));
    Ok(())
}

/// Run docker with the settings that builds use.
#[derive(Debug, Args)]
pub struct DockerFlags {
    /// Arguments of docker, after --
    #[arg(value_name = "ARGS")]
    args: Vec<String>,
}

/// Runs `docker`.
pub fn docker(flags: &DockerFlags, printer: Printer) -> Result<(), Failure> {
    let buildkit = env::var("DOCKER_BUILDKIT").unwrap_or_else(|_| "1".to_owned());
    let mut variables = vec![("DOCKER_BUILDKIT".to_owned(), buildkit)];
    for name in ["DOCKER_TLS_VERIFY", "DOCKER_HOST", "DOCKER_CERT_PATH", "DOCKER_API_VERSION"] {
        if let Some(value) = env::var(name).ok().filter(|it| !it.is_empty()) {
            variables.push((name.to_owned(), value));
        }
    }
    let shown: Vec<String> =
        variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
    printer.err(&format!(
        "Running Docker command as:\n{} docker {}\n---\n",
        shown.join(" "),
        flags.args.join(" ")
    ));
    let status = Process::new("docker").args(&flags.args).envs(variables).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::Command(exit_text(status.code()))),
        Err(error) => Err(Failure::Command(format!("exec: \"docker\": {error}"))),
    }
}

fn exit_text(code: Option<i32>) -> String {
    match code {
        Some(code) => format!("exit status {code}"),
        None => "signal: killed".to_owned(),
    }
}

/// Flags of a command that is not available.
#[derive(Debug, Args)]
pub struct IgnoredFlags {
    #[arg(long)]
    teardown: bool,
    #[arg(long)]
    no_cluster: bool,
    #[arg(short, long, value_name = "URL")]
    repo: Option<String>,
    #[arg(short, long, value_name = "PATH")]
    file: Option<String>,
    #[arg(long)]
    legacy: bool,
    #[arg(long, value_name = "DIR")]
    tmpdir: Option<String>,
    #[command(flatten)]
    connect: ConnectFlags,
    #[arg(long, value_name = "MODE")]
    web_mode: Option<String>,
    #[arg(long, value_name = "PORT")]
    webdev_port: Option<String>,
    #[arg(value_name = "ARGS")]
    args: Vec<String>,
}

/// The error of a command that is deliberately not supported.
pub fn not_available(name: &str, instead: &str) -> Result<(), Failure> {
    Err(Failure::Command(format!("there is no {name} command; {instead}")))
}

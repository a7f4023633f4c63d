//! `doctor`: prints diagnostics of this machine for bug reports.

use std::{
    env,
    io::{self, Read},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use clap::Args;
use engine_cli::{Printer, display_name, instances::Instance, is_tilt};
use serde_json::{Map, Value};

use super::own_version;
use crate::drivers::kubernetes::KubeconfigPlaces;

/// The time limit for all probes together.
const BUDGET: Duration = Duration::from_secs(5);
/// How often to poll whether a program has exited.
const POLL: Duration = Duration::from_millis(10);

/// Print diagnostics for bug reports.
///
/// Shows the versions and settings of this program, Docker and Kubernetes. Nothing is sent anywhere.
#[derive(Debug, Args)]
pub(super) struct DoctorFlags {
    /// Kubernetes context (default: the current one of your kubeconfig)
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A line of the report: a name, and a value or an error.
type Field = (&'static str, Result<String, ProbeError>);

/// Why a program gives no answer.
#[derive(Debug, thiserror::Error)]
enum ProbeError {
    #[error("{program}: {source}")]
    Start { program: String, source: io::Error },
    #[error(transparent)]
    Wait(#[from] io::Error),
    #[error("{0}")]
    NoKubeconfig(KubeconfigPlaces),
    #[error("{0} did not answer in time")]
    Timeout(String),
    /// The last line that the program wrote to stderr.
    #[error("{}", if .0.is_empty() { "it failed" } else { .0 })]
    Failed(String),
}

pub(super) fn run(flags: &DoctorFlags, printer: Printer) {
    let deadline = Instant::now() + BUDGET;
    let version = own_version();
    let system = format!("{}-{}", env::consts::OS, go_arch());
    let sections = [("Docker", docker(deadline)), ("Kubernetes", kubernetes(flags, deadline))];
    if flags.json {
        let mut report = Map::new();
        report.insert(display_name().to_owned(), version.into());
        report.insert("System".to_owned(), system.into());
        for (title, fields) in sections {
            let fields: Map<String, Value> = fields
                .into_iter()
                .map(|(name, value)| {
                    (name.to_owned(), value.unwrap_or_else(|it| format!("Error: {it}")).into())
                })
                .collect();
            report.insert(title.to_owned(), fields.into());
        }
        let encoder =
            engine_formats::golang::json::Encoder { indent: Some("  "), escape_html: true };
        printer.out(&format!("{}\n", encoder.encode(&report.into())));
        return;
    }
    let name = display_name();
    let mut text = format!("{name}: {version}\nSystem: {system}\n");
    for (title, fields) in sections {
        text.push_str(&section(title, fields));
    }
    if !is_tilt() {
        text.push_str(&instances());
    }
    text.push_str(
        "---\nPlease send the info above when filing bug reports. No data is collected.\n",
    );
    printer.out(&text);
}

/// A part of the report. What has no first field has no others either, and Tilt lists them nevertheless.
fn section(title: &str, fields: Vec<Field>) -> String {
    if let (Some((_, Err(error))), false) = (fields.first(), is_tilt()) {
        let error = error.to_string();
        return format!("---\n{title}: {}\n", error.trim_start_matches("error: "));
    }
    let mut text = format!("---\n{title}\n");
    for (name, value) in fields {
        match value {
            Ok(value) => text.push_str(&format!("- {name}: {value}\n")),
            Err(error) => text.push_str(&format!("- {name}: Error: {error}\n")),
        }
    }
    text
}

/// What else matters for an engine.
fn instances() -> String {
    let extensions = builtins::extension::standard_library().count();
    let running: Vec<String> = Instance::all().iter().map(Instance::place).collect();
    let running = if running.is_empty() { "none".to_owned() } else { running.join(", ") };
    format!("---\nExtensions: {extensions} bundled\nRunning: {running}\n")
}

fn go_arch() -> &'static str {
    match env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn docker(deadline: Instant) -> Vec<Field> {
    let host = env::var("DOCKER_HOST").ok().filter(|it| !it.is_empty());
    let host = host.unwrap_or_else(|| "unix:///var/run/docker.sock".to_owned());
    let server = |format: &str| output("docker", &["version", "--format", format], deadline);
    let builder = match env::var("DOCKER_BUILDKIT").as_deref() {
        Ok("0") => "1",
        _ => "2",
    };
    let mut fields: Vec<Field> = vec![
        ("Host", Ok(host)),
        ("Server Version", server("{{.Server.Version}}")),
        ("API Version", server("{{.Server.APIVersion}}")),
        ("Builder", Ok(builder.to_owned())),
    ];
    // Many have no Compose, which is no problem worth a line.
    if let Ok(version) = output("docker", &["compose", "version", "--short"], deadline) {
        fields.push(("Compose Version", Ok(format!("v{}", version.trim_start_matches('v')))));
    }
    fields
}

fn kubernetes(flags: &DoctorFlags, deadline: Instant) -> Vec<Field> {
    let variable = |name: &str| env::var(name).ok();
    let home = variable("HOME").unwrap_or_default();
    let places = KubeconfigPlaces::new(variable("KUBECONFIG").as_deref(), &home);
    if !places.has_any() && !is_tilt() && !flags.json {
        // kubectl would answer each question with an error of its own.
        return vec![("Context", Err(ProbeError::NoKubeconfig(places)))];
    }
    let context = flags.context.as_ref().map(|it| format!("--context={it}"));
    let with = |args: &[&str]| {
        let mut all: Vec<&str> = args.to_vec();
        all.extend(context.as_deref());
        output("kubectl", &all, deadline)
    };
    let view =
        |path: &str| with(&["config", "view", "--minify", "-o", &format!("jsonpath={path}")]);
    let name = match &flags.context {
        Some(name) => Ok(name.clone()),
        None => with(&["config", "current-context"]),
    };
    let namespace = view("{.contexts[0].context.namespace}")
        .map(|it| if it.is_empty() { "default".to_owned() } else { it });
    let version = with(&["version", "-o", "json"]).map(|text| {
        let value: Value = serde_json::from_str(&text).unwrap_or_default();
        value["serverVersion"]["gitVersion"].as_str().unwrap_or("unknown").to_owned()
    });
    let runtime = with(&[
        "get",
        "nodes",
        "-o",
        "jsonpath={.items[0].status.nodeInfo.containerRuntimeVersion}",
    ]);
    let runtime = runtime.map(|it| it.split(':').next().unwrap_or_default().to_owned());
    vec![
        ("Context", name),
        ("Cluster Name", view("{.clusters[0].name}")),
        ("Namespace", namespace),
        ("Container Runtime", Ok(runtime.unwrap_or_else(|_| "read-failure".to_owned()))),
        ("Version", version),
    ]
}

/// The stdout of a program.
fn output(program: &str, args: &[&str], deadline: Instant) -> Result<String, ProbeError> {
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|source| ProbeError::Start { program: program.to_owned(), source })?;
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if Instant::now() >= deadline => {
                // It is asked no more; that it may have ended by itself is fine.
                let _ = child.kill();
                let _ = child.wait();
                return Err(ProbeError::Timeout(program.to_owned()));
            }
            None => thread::sleep(POLL),
        }
    };
    let read = |stream: Option<&mut dyn Read>| {
        let mut text = String::new();
        if let Some(stream) = stream {
            // What cannot be read is not shown.
            let _ = stream.read_to_string(&mut text);
        }
        text.trim().to_owned()
    };
    let text = read(child.stdout.as_mut().map(|it| it as &mut dyn Read));
    if status.success() {
        return Ok(text);
    }
    let error = read(child.stderr.as_mut().map(|it| it as &mut dyn Read));
    Err(ProbeError::Failed(error.lines().last().unwrap_or_default().to_owned()))
}

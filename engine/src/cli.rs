//! Defines the command line and dispatches to the commands.

use std::{ffi::OsString, process::ExitCode};

use clap::{
    ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand,
    error::{ContextKind, ContextValue},
};
use engine_cli::{
    FAILURE, Failure, Printer, api_resources, apply, args,
    command_line::{self, COMPLETE, COMPLETE_NO_DESC, Line, LineError, UsageError},
    completion, connect, create, delete, describe, edit, enable, explain, get, is_tilt, logs, open,
    patch, program, set_program, shell, small, status, stop, tree_view, trigger, usage, values,
    wait, why,
};

mod audit;
mod ci;
mod detach;
mod docker_prune;
mod docs;
mod doctor;
mod down;
mod dump;
mod evaluated;
mod ext;
mod ext_helper;
mod graph;
mod interrupt;
mod json;
mod log_file;
mod lsp;
mod pager;
mod plan;
mod snapshot;
mod start;
mod starter;
mod summary;
mod tiltfile_result;
mod up;
mod updog;

pub(crate) use ext_helper::forget_old_releases;

pub use start::end_when;

/// Exit code for problems in the Tiltfile.
const TILTFILE_FAILURE: u8 = 5;
/// Exit code of an engine that ended because of a mistake of its own (`EX_SOFTWARE` of sysexits.h).
const DEFECT: u8 = 70;
/// Exit code after Ctrl-C.
const INTERRUPTED: u8 = 130;

/// When this program was built, as far as the build says so.
const BUILT: &str = match option_env!("ENGINE_BUILD_DATE") {
    Some(date) => date,
    None => "2026-11-16",
};

/// Run your project from its Tiltfile: build, deploy and serve it while you edit.
#[derive(Debug, Parser)]
#[command(
    name = "engine",
    version = "",
    disable_version_flag = true,
    subcommand_required = true,
    disable_help_subcommand = true,
    args_override_self = true
)]
struct Cli {
    #[command(flatten)]
    global: Global,
    /// Print the version
    #[arg(long, action = ArgAction::Version)]
    version: Option<bool>,
    #[command(subcommand)]
    command: Command,
}

/// Flags of every command.
#[derive(Debug, Clone, Args)]
struct Global {
    /// Show verbose log lines
    #[arg(short, long, global = true)]
    verbose: bool,
    /// Show debug log lines
    #[arg(short, long, global = true)]
    debug: bool,
    /// Accepted for compatibility; has no effect
    #[arg(hide = true, long, global = true, value_name = "LEVEL", value_parser = values::int)]
    klog: Option<i64>,
}

#[derive(Debug, Subcommand)]
enum Command {
    // What runs an environment.
    Ci(ci::CiFlags),
    Down(down::DownFlags),
    Plan(plan::PlanFlags),
    Up(up::UpFlags),

    // What asks or changes a running one.
    /// List the object types of the API
    ApiResources(api_resources::ApiResourcesFlags),
    /// Create or update objects from files
    Apply(apply::ApplyFlags),
    Args(args::ArgsFlags),
    Audit(audit::AuditFlags),
    /// Create objects from files or flags
    Create(create::CreateFlags),
    /// Delete objects
    Delete(delete::DeleteFlags),
    /// Show the details of objects
    Describe(describe::DescribeFlags),
    /// Disable resources
    Disable(enable::DisableFlags),
    /// Print internals of a running instance, or reference files
    #[command(subcommand_required = true, disable_help_subcommand = true)]
    Dump {
        #[command(subcommand)]
        command: dump::DumpCommand,
    },
    /// Edit objects in your editor
    Edit(edit::EditFlags),
    /// Enable resources
    Enable(enable::EnableFlags),
    /// Describe an object type and its fields
    Explain(explain::ExplainFlags),
    Get(get::GetFlags),
    Graph(graph::GraphFlags),
    /// Print the logs of a running instance
    Logs(logs::LogsFlags),
    Open(open::OpenFlags),
    /// Change fields of an object
    Patch(patch::PatchFlags),
    /// Save or view a snapshot of the web page
    #[command(subcommand_required = true, disable_help_subcommand = true)]
    Snapshot {
        #[command(subcommand)]
        command: snapshot::SnapshotCommand,
    },
    #[command(alias = "ps")]
    Status(status::StatusFlags),
    Stop(stop::StopFlags),
    Trigger(trigger::TriggerFlags),
    Wait(wait::WaitFlags),
    Why(why::WhyFlags),

    // Everything else.
    /// Experimental commands
    #[command(subcommand_required = true, disable_help_subcommand = true)]
    Alpha {
        #[command(subcommand)]
        command: AlphaCommand,
    },
    /// Show analytics settings (nothing is collected)
    Analytics(small::AnalyticsFlags),
    /// Print completion candidates with descriptions
    #[command(name = COMPLETE, hide = true)]
    Complete(completion::CompleteFlags),
    /// Print completion candidates
    #[command(name = COMPLETE_NO_DESC, hide = true)]
    CompleteNoDesc(completion::CompleteFlags),
    /// Generate a shell completion script
    #[command(subcommand_required = true, disable_help_subcommand = true)]
    Completion {
        #[command(subcommand)]
        shell: completion::Shell,
    },
    /// Not available
    #[command(hide = true)]
    Demo(small::IgnoredFlags),
    /// Run docker with the settings that builds use
    Docker(small::DockerFlags),
    DockerPrune(docker_prune::DockerPruneFlags),
    Docs(docs::DocsFlags),
    /// Print diagnostics for bug reports
    Doctor(doctor::DoctorFlags),
    /// List, lock or vendor the extensions of a Tiltfile
    #[command(subcommand_required = true, disable_help_subcommand = true)]
    Ext {
        #[command(subcommand)]
        command: ext::ExtCommand,
    },
    /// Run part of a bundled extension
    #[command(name = "ext-helper", hide = true)]
    ExtHelper(ext_helper::ExtHelperFlags),
    /// Show help for a command
    Help,
    /// Run the Tiltfile language server for editors
    #[command(subcommand_required = true, disable_help_subcommand = true)]
    Lsp {
        #[command(subcommand)]
        command: lsp::LspCommand,
    },
    /// Check that the program works
    VerifyInstall,
    /// Print the version
    Version(VersionFlags),
}

#[derive(Debug, Args)]
struct VersionFlags {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum AlphaCommand {
    /// List the object types of the API
    ApiResources(api_resources::ApiResourcesFlags),
    Get(get::GetFlags),
    Shell(shell::ShellFlags),
    TiltfileResult(tiltfile_result::TiltfileResultFlags),
    /// Show the dependency tree of all resources
    TreeView(tree_view::TreeViewFlags),
    /// Run only the API server, with objects from files
    Updog(updog::UpdogFlags),
}

/// Runs the command that the arguments name.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let printer = Printer;
    if let Err(error) = connect::check_environment() {
        printer.out(&format!("{error}\n"));
        return ExitCode::from(FAILURE);
    }
    let mut args = args.into_iter();
    set_program(args.next());
    let args: Vec<String> = args.map(|it| engine_model::path::to_text(&it).into_owned()).collect();
    let mut root = Cli::command();
    root.build();
    match command_line::read(&root, &args).and_then(|line| parse(&root, line)) {
        Ok(Parsed::Command(cli)) => dispatch(cli.command, &root, &cli.global, printer),
        Ok(Parsed::Help(path)) => {
            printer.out(&help(&root, &path));
            ExitCode::SUCCESS
        }
        Ok(Parsed::UnknownTopic(words)) => {
            printer.err(&format!(
                "Unknown help topic [`{}`]\n{}\n",
                words.join(" "),
                usage::text(&root, program(), usage::width())
            ));
            ExitCode::SUCCESS
        }
        Ok(Parsed::Version) => version(false, printer),
        Err(error) => report_usage(&root, &error, printer),
    }
}

fn dispatch(command: Command, root: &clap::Command, global: &Global, printer: Printer) -> ExitCode {
    let result = match command {
        Command::ApiResources(flags)
        | Command::Alpha { command: AlphaCommand::ApiResources(flags) } => {
            api_resources::run(&flags, printer)
        }
        Command::Apply(flags) => apply::run(&flags, printer),
        Command::Args(flags) => args::run(&flags, printer),
        Command::Audit(flags) => audit::run(&flags, printer),
        Command::Create(flags) => create::run(&flags, printer),
        Command::Delete(flags) => delete::run(&flags, printer),
        Command::Describe(flags) => describe::run(&flags, printer),
        Command::Disable(flags) => enable::disable(&flags, printer),
        Command::Dump { command } => dump::run(&command, root, printer),
        Command::Edit(flags) => edit::run(&flags, printer),
        Command::Enable(flags) => enable::enable(&flags, printer),
        Command::Explain(flags) => explain::run(&flags, printer),
        Command::Get(flags) => get::run(&flags, "get", printer),
        Command::Alpha { command: AlphaCommand::Get(flags) } => {
            get::run(&flags, "alpha get", printer)
        }
        Command::Graph(flags) => graph::run(&flags, printer),
        Command::Plan(flags) => plan::run(&flags, printer),
        Command::Logs(flags) => logs::run(&flags, printer),
        Command::Open(flags) => open::run(&flags, printer),
        Command::Why(flags) => why::run(&flags, printer),
        Command::Ci(flags) => return finished(ci::run(&flags, global, printer), printer),
        Command::Down(flags) => return finished(down::run(&flags, global, printer), printer),
        Command::Up(flags) => return finished(up::run(&flags, global, printer), printer),
        Command::Patch(flags) => patch::run(&flags, printer),
        Command::Snapshot { command } => snapshot::run(&command, printer),
        Command::Status(flags) => return finished(status::run(&flags, printer), printer),
        Command::Stop(flags) => stop::run(&flags, printer),
        Command::Trigger(flags) => trigger::run(&flags, printer),
        Command::Wait(flags) => wait::run(&flags, printer),
        Command::Alpha { command: AlphaCommand::TiltfileResult(flags) } => {
            return tiltfile_result::run(&flags, global, printer);
        }
        Command::Alpha { command: AlphaCommand::Shell(flags) } => shell::run(&flags, printer),
        Command::Alpha { command: AlphaCommand::Updog(flags) } => {
            return finished(updog::run(&flags, global, printer), printer);
        }
        Command::Alpha { command: AlphaCommand::TreeView(flags) } => {
            tree_view::run(&flags, printer)
        }
        Command::Analytics(flags) => small::analytics(&flags, printer),
        Command::Complete(flags) => {
            done(|| completion::complete(&flags, true, root, builtins::docs::names, printer))
        }
        Command::CompleteNoDesc(flags) => {
            done(|| completion::complete(&flags, false, root, builtins::docs::names, printer))
        }
        Command::Completion { shell } => done(|| completion::script(&shell, printer)),
        Command::Demo(_) => small::not_available("demo", "see examples/ in the repository"),
        Command::Docker(flags) => small::docker(&flags, printer),
        Command::DockerPrune(flags) => docker_prune::run(&flags, global, printer),
        Command::Lsp { command } => lsp::run(&command),
        Command::Ext { command } => ext::run(&command, printer),
        Command::ExtHelper(flags) => return finished(ext_helper::run(&flags, printer), printer),
        Command::Docs(flags) => docs::run(&flags, printer),
        Command::Doctor(flags) => done(|| doctor::run(&flags, printer)),
        Command::Version(flags) => return version(flags.json, printer),
        Command::VerifyInstall => done(|| verify_install(printer)),
        Command::Help => Ok(()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(printer),
    }
}

/// The exit code of a command that has its own.
fn finished(result: Result<ExitCode, Failure>, printer: Printer) -> ExitCode {
    result.unwrap_or_else(|failure| failure.report(printer))
}

/// For commands that cannot fail.
fn done(work: impl FnOnce()) -> Result<(), Failure> {
    work();
    Ok(())
}

/// That it gets here is all there is to verify. Tilt says nothing.
fn verify_install(printer: Printer) {
    if !is_tilt() {
        printer.out(&format!("{} {} runs.\n", program(), env!("CARGO_PKG_VERSION")));
    }
}

fn version(json: bool, printer: Printer) -> ExitCode {
    if json {
        printer.json(&serde_json::json!({
            "version": env!("CARGO_PKG_VERSION"),
            "compatibleWith": format!("v{}", builtins::COMPATIBLE_VERSION),
            "built": BUILT,
        }));
        return ExitCode::SUCCESS;
    }
    printer.out(&format!("{}\n", version_text()));
    ExitCode::SUCCESS
}

/// The name and the version of this program; Tilt does not say its name.
fn version_text() -> String {
    if is_tilt() { own_version() } else { format!("{} {}", program(), own_version()) }
}

/// The version of this program, and of the Tilt that it is compatible with.
fn own_version() -> String {
    if is_tilt() {
        return tilt_version();
    }
    let (version, tilt) = (env!("CARGO_PKG_VERSION"), builtins::COMPATIBLE_VERSION);
    format!("{version} (compatible with Tilt v{tilt})")
}

/// The version as Tilt words it.
fn tilt_version() -> String {
    format!("v{}, built {BUILT}", builtins::COMPATIBLE_VERSION)
}

/// What is to be done.
enum Parsed {
    Command(Box<Cli>),
    Help(Vec<String>),
    UnknownTopic(Vec<String>),
    Version,
}

fn parse(root: &clap::Command, line: Line) -> Result<Parsed, UsageError> {
    let words = match line {
        Line::Run(words) => words,
        Line::Help(path) => return Ok(Parsed::Help(path)),
        Line::UnknownTopic(words) => return Ok(Parsed::UnknownTopic(words)),
        Line::Version => return Ok(Parsed::Version),
    };
    let matches = root.clone().try_get_matches_from(&words);
    matches
        .and_then(|it| Cli::from_arg_matches(&it))
        .map(|it| Parsed::Command(Box::new(it)))
        .map_err(|error| {
            let path: Vec<String> =
                words.iter().skip(1).take_while(|it| !it.starts_with('-')).cloned().collect();
            UsageError { error: value_error(command(root, &path), &error), path }
        })
}

/// The words for a value that a flag does not take.
fn value_error(command: &clap::Command, error: &clap::Error) -> LineError {
    let text = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    let flag = text(ContextKind::InvalidArg);
    let name = flag.trim_start_matches("--").split([' ', '=', '[']).next().unwrap_or_default();
    let cause = std::error::Error::source(error).map(ToString::to_string);
    let valid = match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(all)) => either(all),
        _ => String::new(),
    };
    match (command.get_arguments().find(|it| it.get_long() == Some(name)), cause) {
        (Some(arg), Some(cause)) => {
            LineError::invalid_value(arg, text(ContextKind::InvalidValue), cause)
        }
        (Some(arg), None) if !valid.is_empty() => {
            LineError::invalid_value(arg, text(ContextKind::InvalidValue), valid)
        }
        _ => LineError::Clap(error.kind()),
    }
}

/// Values as people list them: `text, dot or json`.
fn either(values: &[String]) -> String {
    match values {
        [] => String::new(),
        [value] => value.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// The deepest command that the names lead to.
fn command<'a>(root: &'a clap::Command, path: &[String]) -> &'a clap::Command {
    path.iter().fold(root, |command, name| command.find_subcommand(name).unwrap_or(command))
}

fn help(root: &clap::Command, path: &[String]) -> String {
    usage::help(command(root, path), &full_name(path), usage::width())
}

/// The words that name a command, with the program's.
fn full_name(path: &[String]) -> String {
    [&[program().to_owned()], path].concat().join(" ")
}

/// Tilt's errors go to both streams, as scripts look for them in either.
fn report_usage(root: &clap::Command, error: &UsageError, printer: Printer) -> ExitCode {
    if !is_tilt() {
        return Failure::Command(command_line::own_words(root, error, program())).report(printer);
    }
    if matches!(error.error, LineError::UnknownCommand { .. }) {
        let program = program();
        printer.err(&format!("Error: {error}\nRun '{program} --help' for usage.\n"));
    } else {
        let (command, path) = (command(root, &error.path), full_name(&error.path));
        let usage = usage::text(command, &path, usage::width());
        printer.err(&format!("Error: {error}\n{usage}\n"));
    }
    printer.out(&format!("{error}\n"));
    ExitCode::from(FAILURE)
}

#[cfg(test)]
mod tests;

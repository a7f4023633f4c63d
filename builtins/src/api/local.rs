//! `local`: runs a command during evaluation; other builtins run tools through it.

use builtins_language::{
    Args, BuiltinsExt, Evaluator, GlobalsBuilder, Outcome, Value, decode_utf8, raise,
};
use engine_formats::golang::quote::{command_line, quote};
use engine_model::Cmd;

use super::{
    arguments::{Arguments as _, arguments},
    blob::Blob,
    coerce::{StrDict, Strish, command},
    kube_context,
};
use crate::{
    host::{self, Level, Output, RunError},
    session::Session,
};

const PREFIX: &str = " → ";

pub(super) fn register(builder: &mut GlobalsBuilder) {
    builder.function("local", local);
}

arguments! {
    struct LocalArgs<'v> {
        command: Option<Value<'v>> = "command",
        quiet: bool = "quiet?",
        command_bat: Option<Value<'v>> = "command_bat?",
        echo_off: bool = "echo_off?",
        env: StrDict = "env?",
        dir: Option<Value<'v>> = "dir?",
        stdin: Option<Strish> = "stdin?",
    }
}

/// Runs a command and returns what it prints.
fn local<'v>(eval: &mut Evaluator<'v, '_, '_>, args: Args<'v>) -> Outcome<'v> {
    kube_context::check_allowed_for(eval, args.function)?;
    let given = LocalArgs::unpack(eval, &args)?;
    let cmd = command(given.command, given.dir, &given.env, eval).map_err(raise)?;
    let options = RunOptions {
        log_output: !given.quiet,
        announce: (!given.echo_off).then_some("local:"),
        stdin: given.stdin.map(|it| it.0.into_bytes()),
    };
    let text = run(Session::of(eval), &cmd, &options).map_err(|why| raise(why.to_string()))?;
    let source = format!("local: {}", command_line(cmd.argv.as_deref().unwrap_or_default()));
    Ok(eval.heap().alloc(Blob::new(text, source)))
}

/// What is logged of a command.
#[derive(Clone, Debug, Default)]
pub(super) struct RunOptions {
    /// Whether its output is.
    pub(super) log_output: bool,
    /// The word before the command line, if that is.
    pub(super) announce: Option<&'static str>,
    /// What the command reads.
    pub(super) stdin: Option<Vec<u8>>,
}

/// A command that failed.
#[derive(Debug, thiserror::Error)]
#[error("command {} failed.\nerror: {problem}{}", quote(.command), shown(.printed.as_ref()))]
pub(super) struct CommandFailed {
    command: String,
    problem: CommandProblem,
    /// What it printed to either stream, unless that was logged.
    printed: Option<(String, String)>,
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
enum CommandProblem {
    #[error("empty cmd")]
    Empty,
    #[error("exit status {0}")]
    Exit(i32),
    #[error(transparent)]
    Run(RunError),
}

fn shown(printed: Option<&(String, String)>) -> String {
    printed.map_or_else(String::new, |(stdout, stderr)| {
        format!("\nstdout:\n{stdout}\nstderr:\n{stderr}\n")
    })
}

/// Runs a command to its end and returns its standard output.
///
/// # Errors
/// If it cannot be started or fails; the message has its output unless that was logged.
pub(super) fn run(
    session: &Session,
    cmd: &Cmd,
    options: &RunOptions,
) -> Result<String, CommandFailed> {
    let argv = cmd.argv.clone().unwrap_or_default();
    let shown = command_line(&argv);
    if let Some(word) = options.announce {
        session.info(&format!("{word} {shown}"));
    }
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let mut log = options.log_output.then(|| LineLog::new(session));
    let result = if argv.is_empty() {
        Err(CommandProblem::Empty)
    } else {
        let command = host::Command {
            argv,
            dir: cmd.dir.clone(),
            env: environment(session, cmd),
            stdin: options.stdin.clone(),
        };
        session
            .host
            .run(&command, &mut |which, bytes| {
                match which {
                    Output::Stdout => stdout.extend_from_slice(bytes),
                    Output::Stderr => stderr.extend_from_slice(bytes),
                }
                if let Some(log) = &mut log {
                    log.write(bytes);
                }
            })
            .map_err(CommandProblem::Run)
    };
    if let Some(log) = log {
        log.finish();
    }
    let problem = match result {
        Ok(0) => None,
        Ok(code) => Some(CommandProblem::Exit(code)),
        Err(why) => Some(why),
    };
    if let Some(problem) = problem {
        let printed = (!options.log_output).then(|| (decode_utf8(&stdout), decode_utf8(&stderr)));
        return Err(CommandFailed { command: shown, problem, printed });
    }
    if options.announce.is_some() && options.log_output && stdout.is_empty() && stderr.is_empty() {
        session.info(&format!("{PREFIX}[no output]"));
    }
    Ok(decode_utf8(&stdout))
}

/// The environment of children: ours, what tells them about this engine, then their own.
fn environment(session: &Session, cmd: &Cmd) -> Vec<(String, String)> {
    let mut env: std::collections::BTreeMap<String, String> =
        session.host.env_vars().into_iter().collect();
    if let Some(kubeconfig) = kube_context::pinned_kubeconfig(session) {
        env.insert("KUBECONFIG".to_owned(), kubeconfig);
    }
    let defaults = [
        ("GIT_TERMINAL_PROMPT", "0".to_owned()),
        ("TILT_HOST", session.request.web_host.clone()),
        ("TILT_PORT", session.request.web_port.to_string()),
        ("TILT_DISABLE_ANALYTICS", "1".to_owned()),
    ];
    for (name, value) in defaults {
        env.entry(name.to_owned()).or_insert(value);
    }
    for pair in cmd.env.iter().flatten() {
        if let Some((name, value)) = pair.split_once('=') {
            env.insert(name.to_owned(), value.to_owned());
        }
    }
    env.into_iter().collect()
}

/// Logs whole lines behind a prefix.
struct LineLog<'a> {
    session: &'a Session,
    pending: Vec<u8>,
}

impl<'a> LineLog<'a> {
    fn new(session: &'a Session) -> Self {
        Self { session, pending: Vec::new() }
    }

    fn write(&mut self, bytes: &[u8]) {
        let Some(end) = bytes.iter().rposition(|it| *it == b'\n') else {
            self.pending.extend_from_slice(bytes);
            return;
        };
        let (ended, rest) = bytes.split_at(end + 1);
        self.pending.extend_from_slice(ended);
        let lines = std::mem::replace(&mut self.pending, rest.to_vec());
        self.log(&lines);
    }

    fn finish(mut self) {
        let rest = std::mem::take(&mut self.pending);
        if !rest.is_empty() {
            self.log(&rest);
        }
    }

    /// Each line behind the prefix; a last line without an end has none in the log either.
    fn log(&self, lines: &[u8]) {
        let mut text = String::new();
        for line in decode_utf8(lines).split_inclusive('\n') {
            text.push_str(PREFIX);
            text.push_str(line);
        }
        self.session.host.log(Level::Info, &text);
    }
}

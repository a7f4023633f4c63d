//! Reads a command line by the rules of Tilt's parser, whatever the definition of the commands is.
//!
//! clap defines the commands and turns the words into values. Which words are flags, which values
//! they take and what an error says follows cobra and pflag instead, because scripts rely on it:
//! flags and words mix freely, `--flag=false` switches off, `-f=x` drops the sign, and a group
//! without an action shows its help. The result is a command line that clap cannot misread.

use builtins::golang::{pflag::parse_bool, quote::quote};
use clap::{Arg, ArgAction, Command};

mod suggest;

/// The name in messages, which scripts search for.
pub(super) const PROGRAM: &str = "tilt";

/// The command that shells ask for candidates, with what they mean.
pub(super) const COMPLETE: &str = "__complete";

/// The command that shells ask for candidates alone.
pub(super) const COMPLETE_NO_DESC: &str = "__completeNoDesc";

/// Commands that refuse every word, although they define none.
const NO_WORDS: &[&str] = &[
    "analytics",
    "completion bash",
    "completion fish",
    "completion powershell",
    "completion zsh",
    "dump api-docs",
    "dump cli-docs",
    "dump engine",
    "dump logstore",
    "dump webview",
];

/// Commands whose first word ends the flags.
const WORDS_END_FLAGS: &[&str] = &["create cmd", "ext-helper"];

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A command, in the form that clap reads.
    Run(Vec<String>),
    /// The help of a command.
    Help(Vec<String>),
    /// The help of all commands, as nothing is known about these words.
    UnknownTopic(Vec<String>),
    /// The version.
    Version,
}

/// A command line that makes no sense.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(super) struct UsageError {
    /// What is wrong.
    pub(super) message: String,
    /// The names of the command.
    pub(super) path: Vec<String>,
    /// Whether there is no such command, so that no usage can be shown.
    pub(super) is_unknown_command: bool,
}

/// Reads the words after the program's name; `root` must have been built.
pub(super) fn read(root: &Command, args: &[String]) -> Result<Line, UsageError> {
    if args.first().is_some_and(|it| it == "--version") {
        return Ok(Line::Version);
    }
    if let [first, words @ ..] = args
        && [COMPLETE, COMPLETE_NO_DESC].contains(&first.as_str())
    {
        // A line that is still being typed is data, not flags.
        let head = [PROGRAM, first, "--"].map(str::to_owned);
        return Ok(Line::Run([&head, words].concat()));
    }
    let args = &spelled_out(root, args);
    let mut found = find(root, args);
    if found.path.first().is_some_and(|it| it == "help") {
        let flags = Flags::new(&found).read(&found.rest);
        flags.map_err(|message| UsageError {
            message,
            path: found.path.clone(),
            is_unknown_command: false,
        })?;
        let topic = find(root, &found.rest);
        let known = !topic.path.is_empty() || topic.rest.iter().all(|it| it.starts_with('-'));
        return Ok(if known { Line::Help(topic.path) } else { Line::UnknownTopic(topic.rest) });
    }
    if found.path.is_empty()
        && let Some(word) = words_of(root, &found.rest).first()
    {
        let message = format!(
            "unknown command {} for \"{PROGRAM}\"{}",
            quote(word),
            suggest::text(root, word)
        );
        return Err(UsageError { message, path: Vec::new(), is_unknown_command: true });
    }
    let rest = std::mem::take(&mut found.rest);
    Flags::new(&found).read(&rest).and_then(|line| finish(&found, line)).map_err(|message| {
        UsageError { message, path: found.path.clone(), is_unknown_command: false }
    })
}

/// The words with `-d` before the command as the global flag that it always is there: after the
/// command, it may be a flag of the command.
fn spelled_out(root: &Command, args: &[String]) -> Vec<String> {
    let end = first_word(root, args).unwrap_or(0);
    let mut words = Vec::with_capacity(args.len());
    for (at, word) in args.iter().enumerate() {
        match word.strip_prefix('-') {
            Some(group) if at < end && group.chars().all(|it| it == 'd' || it == 'v') => {
                words.extend(group.chars().map(|it| match it {
                    'd' => "--debug".to_owned(),
                    _ => "--verbose".to_owned(),
                }));
            }
            _ => words.push(word.clone()),
        }
    }
    words
}

/// A command and the words that are left for it.
struct Found<'a> {
    command: &'a Command,
    path: Vec<String>,
    rest: Vec<String>,
}

impl Found<'_> {
    fn name(&self) -> String {
        self.path.join(" ")
    }
}

/// The deepest command that the words name, wherever flags stand between them.
fn find<'a>(root: &'a Command, args: &[String]) -> Found<'a> {
    let mut found = Found { command: root, path: Vec::new(), rest: args.to_vec() };
    while let Some(at) = first_word(found.command, &found.rest) {
        let Some(next) = found.command.find_subcommand(&found.rest[at]) else { break };
        found.rest.remove(at);
        found.path.push(next.get_name().to_owned());
        found.command = next;
    }
    found
}

fn first_word(command: &Command, args: &[String]) -> Option<usize> {
    let mut at = 0;
    while at < args.len() {
        let word = args[at].as_str();
        if word == "--" {
            return None;
        }
        if takes_next(command, word) {
            at += 2;
            continue;
        }
        if !word.is_empty() && !word.starts_with('-') {
            return Some(at);
        }
        at += 1;
    }
    None
}

fn words_of<'a>(command: &Command, args: &'a [String]) -> Vec<&'a str> {
    let mut words = Vec::new();
    let mut rest = args;
    while let Some(at) = first_word(command, rest) {
        words.push(rest[at].as_str());
        rest = &rest[at + 1..];
    }
    words
}

/// Whether a word is a flag that takes the next word; unknown flags do.
fn takes_next(command: &Command, word: &str) -> bool {
    if word.contains('=') || !word.starts_with('-') || word == "-" {
        return false;
    }
    let flag = match word.strip_prefix("--") {
        Some(name) => long(command, name),
        None if word.chars().count() == 2 => word.chars().nth(1).and_then(|it| short(command, it)),
        None => return false,
    };
    flag.is_none_or(needs_value)
}

fn long<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    command.get_arguments().find(|it| {
        it.get_long() == Some(name)
            || it.get_all_aliases().is_some_and(|aliases| aliases.contains(&name))
    })
}

fn short(command: &Command, name: char) -> Option<&Arg> {
    command.get_arguments().find(|it| it.get_short() == Some(name))
}

fn needs_value(arg: &Arg) -> bool {
    arg.get_action().takes_values() && arg.get_num_args().is_none_or(|it| it.min_values() > 0)
}

/// What the flags and words of one command are.
struct Flags<'a> {
    found: &'a Found<'a>,
    /// `--name=value` in the order given; switches appear only at the end.
    values: Vec<String>,
    switches: Vec<(&'a Arg, bool)>,
    words: Vec<String>,
    /// How many words stood before `--`.
    dash: Option<usize>,
}

impl<'a> Flags<'a> {
    fn new(found: &'a Found<'a>) -> Self {
        Self { found, values: Vec::new(), switches: Vec::new(), words: Vec::new(), dash: None }
    }

    fn read(mut self, args: &[String]) -> Result<Self, String> {
        let words_end_flags = WORDS_END_FLAGS.contains(&self.found.name().as_str());
        let mut rest = args.iter();
        while let Some(word) = rest.next() {
            if word == "--" {
                self.dash = Some(self.words.len());
                self.words.extend(rest.cloned());
                break;
            }
            if let Some(name) = word.strip_prefix("--") {
                self.long(word, name, &mut rest)?;
            } else if word.len() > 1 && word.starts_with('-') {
                self.shorts(&word[1..], &mut rest)?;
            } else {
                self.words.push(word.clone());
                if words_end_flags {
                    self.words.extend(rest.cloned());
                    break;
                }
            }
        }
        Ok(self)
    }

    fn long(
        &mut self,
        word: &str,
        name: &str,
        rest: &mut std::slice::Iter<'_, String>,
    ) -> Result<(), String> {
        if name.starts_with(['-', '=']) {
            return Err(format!("bad flag syntax: {word}"));
        }
        let (name, given) = match name.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (name, None),
        };
        let arg =
            long(self.found.command, name).ok_or_else(|| format!("unknown flag: --{name}"))?;
        let value = match given {
            Some(value) => Some(value),
            None if !needs_value(arg) => None,
            None => match rest.next() {
                Some(value) => Some(value.clone()),
                None => return Err(format!("flag needs an argument: --{name}")),
            },
        };
        self.set(arg, value)
    }

    fn shorts(
        &mut self,
        group: &str,
        rest: &mut std::slice::Iter<'_, String>,
    ) -> Result<(), String> {
        let mut group = group;
        while let Some(name) = group.chars().next() {
            let after = &group[name.len_utf8()..];
            let arg = short(self.found.command, name)
                .ok_or_else(|| format!("unknown shorthand flag: '{name}' in -{group}"))?;
            let (value, next) = match after.strip_prefix('=').filter(|it| !it.is_empty()) {
                Some(value) => (Some(value.to_owned()), ""),
                None if !needs_value(arg) => (None, after),
                None if !after.is_empty() => (Some(after.to_owned()), ""),
                None => match rest.next() {
                    Some(value) => (Some(value.clone()), ""),
                    None => return Err(format!("flag needs an argument: '{name}' in -{group}")),
                },
            };
            self.set(arg, value)?;
            group = next;
        }
        Ok(())
    }

    fn set(&mut self, arg: &'a Arg, value: Option<String>) -> Result<(), String> {
        if arg.get_action().takes_values() {
            let name = arg.get_long().unwrap_or_default();
            self.values.push(match value {
                Some(value) => format!("--{name}={value}"),
                None => format!("--{name}"),
            });
            return Ok(());
        }
        let is_on = match value {
            Some(text) => parse_bool(&text).map_err(|cause| invalid_value(arg, &text, &cause))?,
            None => true,
        };
        self.switches.retain(|(other, _)| other.get_id() != arg.get_id());
        self.switches.push((arg, is_on));
        Ok(())
    }

    fn asks_for(&self, action: impl Fn(&ArgAction) -> bool) -> bool {
        self.switches.iter().any(|(arg, is_on)| *is_on && action(arg.get_action()))
    }
}

/// The text of a value that a flag cannot take.
pub(super) fn invalid_value(arg: &Arg, value: &str, cause: &str) -> String {
    let long = arg.get_long().unwrap_or_default();
    let name = match arg.get_short() {
        Some(short) => format!("-{short}, --{long}"),
        None => format!("--{long}"),
    };
    format!("invalid argument {} for {} flag: {cause}", quote(value), quote(&name))
}

fn finish(found: &Found<'_>, flags: Flags<'_>) -> Result<Line, String> {
    let is_help =
        |it: &ArgAction| matches!(it, ArgAction::Help | ArgAction::HelpLong | ArgAction::HelpShort);
    if flags.asks_for(is_help) {
        return Ok(Line::Help(found.path.clone()));
    }
    if flags.asks_for(|it| matches!(it, ArgAction::Version)) {
        return Ok(Line::Version);
    }
    if found.command.is_subcommand_required_set() {
        return Ok(Line::Help(found.path.clone()));
    }
    check_words(found, &flags.words)?;
    Ok(Line::Run(for_clap(found, flags)))
}

fn check_words(found: &Found<'_>, words: &[String]) -> Result<(), String> {
    let received = words.len();
    let (mut least, mut most) = (0, 0_usize);
    for arg in found.command.get_positionals() {
        let range = arg.get_num_args().unwrap_or_default();
        if arg.is_required_set() {
            least += range.min_values();
        }
        most = most.saturating_add(range.max_values());
    }
    let name = found.name();
    if NO_WORDS.contains(&name.as_str())
        && let Some(word) = words.first()
    {
        return Err(format!("unknown command {} for \"{PROGRAM} {name}\"", quote(word)));
    }
    if most == 0 {
        return Ok(());
    }
    if least == most && received != least {
        return Err(format!("accepts {least} arg(s), received {received}"));
    }
    if received < least {
        return Err(format!("requires at least {least} arg(s), only received {received}"));
    }
    if received > most {
        return Err(format!("accepts at most {most} arg(s), received {received}"));
    }
    Ok(())
}

fn for_clap(found: &Found<'_>, flags: Flags<'_>) -> Vec<String> {
    let mut line = vec![PROGRAM.to_owned()];
    line.extend(found.path.iter().cloned());
    line.extend(flags.values);
    for (arg, is_on) in &flags.switches {
        if *is_on {
            line.push(format!("--{}", arg.get_long().unwrap_or_default()));
        }
    }
    if found.command.get_positionals().next().is_none() {
        return line;
    }
    let mut words = flags.words;
    if let (true, Some(dash)) = (found.command.get_positionals().any(Arg::is_last_set), flags.dash)
    {
        let after = words.split_off(dash);
        line.extend(words);
        words = after;
        line.push("--".to_owned());
    } else if !found.command.get_positionals().any(Arg::is_last_set) {
        line.push("--".to_owned());
    }
    line.extend(words);
    line
}

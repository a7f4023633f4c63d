//! Parses a command line by the rules of Tilt's parser.
//!
//! clap defines the commands and converts the values. Which words are flags, which values they take and how errors
//! are worded follows cobra and pflag instead, because scripts rely on it: flags and words mix freely, `--flag=false`
//! switches off, `-f=x` drops the sign, and a group without an action prints its help. The result is a command line
//! that clap cannot misread.

use clap::{Arg, ArgAction, Command};
use engine_formats::golang::{
    pflag::{FlagError, parse_bool},
    quote::quote,
};

use super::{is_tilt, program};

mod own_words;
mod suggest;

pub use own_words::own_words;

/// The hidden command that prints completion candidates with descriptions.
pub const COMPLETE: &str = "__complete";

/// The hidden command that prints completion candidates only.
pub const COMPLETE_NO_DESC: &str = "__completeNoDesc";

/// Commands that refuse all words.
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
    "dump tasks",
    "dump webview",
];

/// Commands whose first word ends the flags.
const WORDS_END_FLAGS: &[&str] = &["create cmd", "ext-helper"];

/// A parsed command line.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A command, in the form that clap reads.
    Run(Vec<String>),
    /// The help of a command.
    Help(Vec<String>),
    /// The help of all commands, because there is no such topic.
    UnknownTopic(Vec<String>),
    /// The version.
    Version,
}

/// An invalid command line, and the command that it names.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct UsageError {
    /// What is wrong.
    #[source]
    pub error: LineError,
    /// The names of the command.
    pub path: Vec<String>,
}

/// What is wrong with a command line, in the words of cobra and pflag.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// There is no such command, so that no usage can be shown.
    #[error("unknown command {} for \"{}\"{suggestions}", quote(.word), program())]
    UnknownCommand {
        /// The name.
        word: String,
        /// Commands with similar names, as text.
        suggestions: String,
    },
    /// A flag is unknown, malformed or lacks its value.
    #[error(transparent)]
    Flag(#[from] FlagError),
    /// No flag of the command has this letter.
    #[error("unknown shorthand flag: '{0}' in -{1}")]
    UnknownShorthand(char, String),
    /// The last flag of a group needs a value.
    #[error("flag needs an argument: '{0}' in -{1}")]
    MissingValue(char, String),
    /// A flag does not take this value.
    #[error("invalid argument {} for {} flag: {cause}", quote(.value), quote(.flag))]
    InvalidValue {
        /// The flag with its dashes.
        flag: String,
        /// The value.
        value: String,
        /// Why the flag refuses it.
        cause: String,
    },
    /// clap refuses a line that the rules above accept.
    #[error("{0}")]
    Clap(clap::error::ErrorKind),
    /// The command takes no words.
    #[error("unknown command {} for \"{} {command}\"", quote(.word), program())]
    UnexpectedWord {
        /// The word.
        word: String,
        /// The names of the command.
        command: String,
    },
    /// The command takes an exact number of words.
    #[error("accepts {0} arg(s), received {1}")]
    WrongCount(usize, usize),
    /// The command needs more words.
    #[error("requires at least {0} arg(s), only received {1}")]
    TooFew(usize, usize),
    /// The command takes fewer words.
    #[error("accepts at most {0} arg(s), received {1}")]
    TooMany(usize, usize),
}

impl LineError {
    /// The error of a flag that does not take a value.
    pub fn invalid_value(arg: &Arg, value: String, cause: String) -> Self {
        let long = arg.get_long().unwrap_or_default();
        let flag = match arg.get_short() {
            Some(short) => format!("-{short}, --{long}"),
            None => format!("--{long}"),
        };
        Self::InvalidValue { flag, value, cause }
    }
}

/// Reads the words after the program's name; `root` must have been built.
pub fn read(root: &Command, args: &[String]) -> Result<Line, UsageError> {
    if args.first().is_some_and(|it| it == "--version") {
        return Ok(Line::Version);
    }
    if let [first, words @ ..] = args
        && [COMPLETE, COMPLETE_NO_DESC].contains(&first.as_str())
    {
        // A line that is still being typed is data, not flags.
        let head = [program(), first, "--"].map(str::to_owned);
        return Ok(Line::Run([&head, words].concat()));
    }
    let mut found = find(root, args);
    if found.path.first().is_some_and(|it| it == "help") {
        let flags = Flags::new(&found).read(&found.rest);
        flags.map_err(|error| UsageError { error, path: found.path.clone() })?;
        let topic = find(root, &found.rest);
        let known = !topic.path.is_empty() || topic.rest.iter().all(|it| it.starts_with('-'));
        return Ok(if known { Line::Help(topic.path) } else { Line::UnknownTopic(topic.rest) });
    }
    if found.path.is_empty()
        && let Some(word) = words_of(root, &found.rest).first()
    {
        let suggestions = suggest::text(root, word);
        let error = LineError::UnknownCommand { word: (*word).to_owned(), suggestions };
        return Err(UsageError { error, path: Vec::new() });
    }
    let rest = std::mem::take(&mut found.rest);
    let line = Flags::new(&found).read(&rest).and_then(|line| finish(&found, line));
    line.map_err(|error| UsageError { error, path: found.path.clone() })
}

/// A command and its remaining arguments.
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

/// Finds the deepest command that the words name, regardless of flags between them.
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

/// The parsed flags and words of one command.
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

    fn read(mut self, args: &[String]) -> Result<Self, LineError> {
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
    ) -> Result<(), LineError> {
        if name.starts_with(['-', '=']) {
            return Err(FlagError::BadSyntax(word.to_owned()).into());
        }
        let (name, given) = match name.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (name, None),
        };
        let unknown = || FlagError::UnknownFlag(name.to_owned());
        let arg = long(self.found.command, name).ok_or_else(unknown)?;
        let value = match given {
            Some(value) => Some(value),
            None if !needs_value(arg) => None,
            None => match rest.next() {
                Some(value) => Some(value.clone()),
                None => return Err(FlagError::ValueRequired(name.to_owned()).into()),
            },
        };
        self.set(arg, value)
    }

    fn shorts(
        &mut self,
        group: &str,
        rest: &mut std::slice::Iter<'_, String>,
    ) -> Result<(), LineError> {
        let mut group = group;
        while let Some(name) = group.chars().next() {
            let after = &group[name.len_utf8()..];
            let arg = short(self.found.command, name)
                .ok_or_else(|| LineError::UnknownShorthand(name, group.to_owned()))?;
            let (value, next) = match after.strip_prefix('=').filter(|it| !it.is_empty()) {
                Some(value) => (Some(value.to_owned()), ""),
                None if !needs_value(arg) => (None, after),
                None if !after.is_empty() => (Some(after.to_owned()), ""),
                None => match rest.next() {
                    Some(value) => (Some(value.clone()), ""),
                    None => return Err(LineError::MissingValue(name, group.to_owned())),
                },
            };
            self.set(arg, value)?;
            group = next;
        }
        Ok(())
    }

    fn set(&mut self, arg: &'a Arg, value: Option<String>) -> Result<(), LineError> {
        if arg.get_action().takes_values() {
            let name = arg.get_long().unwrap_or_default();
            self.values.push(match value {
                Some(value) => format!("--{name}={value}"),
                None => format!("--{name}"),
            });
            return Ok(());
        }
        let is_on = match value {
            Some(text) => parse_bool(&text)
                .map_err(|cause| LineError::invalid_value(arg, text.clone(), cause))?,
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

fn finish(found: &Found<'_>, flags: Flags<'_>) -> Result<Line, LineError> {
    let is_help =
        |it: &ArgAction| matches!(it, ArgAction::Help | ArgAction::HelpLong | ArgAction::HelpShort);
    if flags.asks_for(is_help) {
        return Ok(Line::Help(found.path.clone()));
    }
    if flags.asks_for(|it| matches!(it, ArgAction::Version)) {
        return Ok(Line::Version);
    }
    if found.command.is_subcommand_required_set() {
        return match flags.words.first().filter(|_| !found.path.is_empty() && !is_tilt()) {
            Some(word) => {
                let (word, suggestions) = (word.clone(), String::new());
                Err(LineError::UnknownCommand { word, suggestions })
            }
            None => Ok(Line::Help(found.path.clone())),
        };
    }
    check_words(found, &flags.words)?;
    Ok(Line::Run(for_clap(found, flags)))
}

fn check_words(found: &Found<'_>, words: &[String]) -> Result<(), LineError> {
    let received = words.len();
    let (mut least, mut most) = (0, 0_usize);
    for arg in found.command.get_positionals() {
        let range = arg.get_num_args().unwrap_or_default();
        if arg.is_required_set() {
            least += range.min_values();
        }
        most = most.saturating_add(range.max_values());
    }
    let command = found.name();
    if NO_WORDS.contains(&command.as_str())
        && let Some(word) = words.first()
    {
        return Err(LineError::UnexpectedWord { word: word.clone(), command });
    }
    if most == 0 {
        return Ok(());
    }
    if least == most && received != least {
        return Err(LineError::WrongCount(least, received));
    }
    if received < least {
        return Err(LineError::TooFew(least, received));
    }
    if received > most {
        return Err(LineError::TooMany(most, received));
    }
    Ok(())
}

fn for_clap(found: &Found<'_>, flags: Flags<'_>) -> Vec<String> {
    let mut line = vec![program().to_owned()];
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

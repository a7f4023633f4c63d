//! Formats help and the usage after an error, in the layout of cobra, which people know and scripts parse.

use std::{any::TypeId, fmt::Write as _, iter::repeat_n};

use clap::{Arg, ArgAction, Command};
use engine_formats::golang::{duration::Duration, quote::quote};
use unicode_width::UnicodeWidthStr;

use super::{connect::ListenPort, values::GoDuration};

/// The minimum width of the names in a list of commands.
const NAME_WIDTH: usize = 11;

/// Lines are not longer than this, even on wider terminals and in files.
pub const MAX_WIDTH: usize = 100;

/// A column of text is not narrower than this, even on narrow terminals.
const MIN_ROOM: usize = 24;

/// Examples of all commands: a line with the words of a command, then indented lines, where `{}` is the program.
const EXAMPLES: &str = include_str!("usage/examples.txt");

/// How wide lines may be on this terminal.
pub fn width() -> usize {
    let terminal = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    terminal.filter(|it| *it > 0).unwrap_or(MAX_WIDTH).min(MAX_WIDTH)
}

/// The help of a command: its description and usage.
pub fn help(command: &Command, path: &str, width: usize) -> String {
    let about = command.get_long_about().or_else(|| command.get_about());
    let about = about.map(ToString::to_string).unwrap_or_default();
    let lines: Vec<String> = about.trim_end().lines().map(|it| wrapped(it, 0, width)).collect();
    format!("{}\n\n{}", lines.join("\n"), text(command, path, width))
}

/// The examples of a command; the first word of the path is the program.
pub fn examples(path: &str) -> Option<String> {
    let (program, command) = path.split_once(' ')?;
    let mut lines = EXAMPLES.lines().skip_while(|it| *it != command).skip(1);
    let lines: Vec<&str> =
        lines.by_ref().take_while(|it| it.is_empty() || it.starts_with(' ')).collect();
    let text = lines.join("\n").trim_end().replace("{}", program);
    (!text.is_empty()).then_some(text)
}

/// Breaks a text that begins at a column into lines; all but the first are indented to there.
fn wrapped(text: &str, column: usize, width: usize) -> String {
    let room = width.saturating_sub(column).max(MIN_ROOM);
    let (mut out, mut used) = (String::new(), 0);
    for word in text.split(' ') {
        let width = word.width();
        if used > 0 && used + 1 + width > room {
            out.push('\n');
            out.extend(repeat_n(' ', column));
            used = 0;
        } else if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += width;
    }
    out
}

/// The usage of a command: its line, its commands, its flags and examples.
pub fn text(command: &Command, path: &str, width: usize) -> String {
    let mut out = String::from("Usage:\n");
    let commands: Vec<&Command> = sorted_commands(command);
    if !command.is_subcommand_required_set() {
        out.push_str(&format!("  {}\n", line(command, path)));
    }
    if !commands.is_empty() {
        out.push_str(&format!("  {path} [command]\n"));
    }
    let aliases: Vec<&str> = command.get_all_aliases().collect();
    if !aliases.is_empty() {
        let names = [&[command.get_name()], aliases.as_slice()].concat().join(", ");
        out.push_str(&format!("\nAliases:\n  {names}\n"));
    }
    if let Some(examples) = examples(path) {
        out.push_str(&format!("\nExamples:\n{examples}\n"));
    }
    push_commands(&mut out, &commands, width);
    let is_root = !path.contains(' ');
    let (global, own): (Vec<&Arg>, Vec<&Arg>) = command
        .get_arguments()
        .filter(|it| it.get_long().is_some() && !it.is_hide_set())
        .partition(|it| it.is_global_set() && !is_root);
    push_flags(&mut out, ("Flags", path), own, width);
    push_flags(&mut out, ("Global Flags", path), global, width);
    if !commands.is_empty() {
        let _ = write!(
            out,
            "\nUse \"{path} [command] --help\" for more information about a command.\n"
        );
    }
    out
}

/// The line to type.
fn line(command: &Command, path: &str) -> String {
    if let Some(line) = command.get_overridden_usage() {
        return line.to_string().replacen("{}", path, 1);
    }
    let words = command.get_positionals().filter(|it| !it.is_hide_set()).map(word);
    format!("{path}{} [flags]", words.collect::<String>())
}

/// What stands for one or more words after the command.
fn word(arg: &Arg) -> String {
    let names = arg.get_value_names().unwrap_or_default();
    let name = names.first().map_or("ARG", clap::builder::Str::as_str);
    let is_list = matches!(arg.get_action(), ArgAction::Append);
    match (arg.is_required_set(), is_list) {
        _ if arg.is_last_set() => format!(" [-- {name}...]"),
        // A name with several words says itself which of them are needed.
        _ if name.contains(' ') => format!(" {}", name.replace(']', "...]")),
        (true, true) => format!(" {name}..."),
        (true, false) => format!(" {name}"),
        (false, true) => format!(" [{name}...]"),
        (false, false) => format!(" [{name}]"),
    }
}

fn sorted_commands(command: &Command) -> Vec<&Command> {
    let mut commands: Vec<&Command> =
        command.get_subcommands().filter(|it| !it.is_hide_set()).collect();
    commands.sort_by_key(|it| it.get_name());
    commands
}

fn push_commands(out: &mut String, commands: &[&Command], width: usize) {
    let longest = commands.iter().map(|it| it.get_name().len()).max();
    let Some(names) = longest.map(|it| it.max(NAME_WIDTH)) else { return };
    out.push_str("\nAvailable Commands:\n");
    for command in commands {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let about = wrapped(&about, names + 3, width);
        let _ = writeln!(out, "  {:names$} {about}", command.get_name());
    }
}

fn push_flags(out: &mut String, (title, path): (&str, &str), mut flags: Vec<&Arg>, width: usize) {
    if flags.is_empty() {
        return;
    }
    flags.sort_by_key(|it| it.get_long());
    let names: Vec<String> = flags.iter().map(|it| names(it)).collect();
    let column = names.iter().map(|it| it.chars().count()).max().unwrap_or(0) + 3;
    let _ = write!(out, "\n{title}:\n");
    for (flag, names) in flags.iter().zip(&names) {
        let about = format!("{}{}", about(flag, path), default(flag));
        let line = format!("{names:column$}{}", wrapped(&about, column, width));
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

/// `-f, --file string`.
fn names(flag: &Arg) -> String {
    let long = flag.get_long().unwrap_or_default();
    let short = flag.get_short().map_or("    ".to_owned(), |it| format!("-{it}, "));
    match type_name(flag) {
        "" => format!("  {short}--{long}"),
        name => format!("  {short}--{long} {name}"),
    }
}

fn about(flag: &Arg, path: &str) -> String {
    match flag.get_action() {
        ArgAction::Help | ArgAction::HelpLong | ArgAction::HelpShort => {
            format!("help for {}", path.rsplit(' ').next().unwrap_or(path))
        }
        _ => flag.get_help().map(ToString::to_string).unwrap_or_default(),
    }
}

/// Which values a flag takes, in words; nothing if its type does not say that.
pub(crate) fn valid_values(flag: &Arg) -> &'static str {
    match type_name(flag) {
        "" => "true or false",
        "int" if flag.get_value_parser().type_id() == TypeId::of::<ListenPort>() => {
            "auto or a whole number"
        }
        "int" => "a whole number",
        "duration" => "a duration such as 30s or 5m",
        _ => "",
    }
}

/// What Go calls the type of a value; nothing for switches.
fn type_name(flag: &Arg) -> &'static str {
    if !flag.get_action().takes_values() {
        return "";
    }
    let value = flag.get_value_parser().type_id();
    if value == TypeId::of::<bool>() {
        ""
    } else if [TypeId::of::<i64>(), TypeId::of::<usize>(), TypeId::of::<ListenPort>()]
        .iter()
        .any(|it| value == *it)
    {
        "int"
    } else if value == TypeId::of::<GoDuration>() {
        "duration"
    } else if !matches!(flag.get_action(), ArgAction::Append) {
        "string"
    } else if flag.get_value_delimiter().is_some() {
        "strings"
    } else {
        "stringArray"
    }
}

fn default(flag: &Arg) -> String {
    let values = flag.get_default_values();
    let text = values.first().map(|it| it.to_string_lossy()).unwrap_or_default();
    let text = match type_name(flag) {
        // Switches have a default of their own, which nobody gave.
        _ if !flag.get_action().takes_values() => return String::new(),
        "int" if text == "0" => return String::new(),
        "duration" => match Duration::parse(&text) {
            Ok(Duration(0)) => return String::new(),
            Ok(duration) => duration.to_string(),
            Err(_) => text.to_string(),
        },
        "string" if !text.is_empty() => quote(&text),
        _ => text.to_string(),
    };
    if text.is_empty() || text == "false" {
        return String::new();
    }
    format!(" (default {text})")
}

//! What is wrong with a command line, in words of our own: what is valid, what was meant, and where more is said.
//!
//! Through a link named `tilt`, the words are cobra's instead.

use clap::{Arg, Command};
use engine_formats::golang::{pflag::FlagError, quote::quote};

use super::{LineError, UsageError, long};
use crate::{names::did_you_mean, usage};

/// The error in one line; `program` is the name of the program.
pub fn own_words(root: &Command, error: &UsageError, program: &str) -> String {
    let command = error.path.iter().fold(root, |it, name| it.find_subcommand(name).unwrap_or(it));
    let full = [program].into_iter().chain(error.path.iter().map(String::as_str));
    let full = full.collect::<Vec<_>>().join(" ");
    let commands = || command.get_subcommands().filter(|it| !it.is_hide_set());
    match &error.error {
        LineError::UnknownCommand { word, .. } => {
            let names =
                commands().flat_map(|it| [it.get_name()].into_iter().chain(it.get_all_aliases()));
            let (meant, word) = (did_you_mean(word, names), quote(word));
            format!("unknown command {word}{meant} (`{full} --help` lists all)")
        }
        LineError::Flag(FlagError::UnknownFlag(name)) => {
            let flags = command.get_arguments().filter(|it| !it.is_hide_set());
            let names = flags.filter_map(Arg::get_long);
            let meant = did_you_mean(name, names).replace("mean ", "mean --");
            format!("unknown flag --{name}{meant} (`{full} --help` lists all)")
        }
        LineError::InvalidValue { flag, value, cause } => {
            let name = flag.rsplit(' ').next().unwrap_or_default();
            let arg = long(command, name.trim_start_matches('-'));
            let valid = arg.map_or("", usage::valid_values);
            let valid = if valid.is_empty() { cause } else { valid };
            format!("invalid value {} for {name}: {valid}", quote(value))
        }
        error => format!("{error} (`{full} --help` says more)"),
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::{command_line, logs, stop, trigger};

    #[derive(Parser)]
    enum Root {
        Logs(logs::LogsFlags),
        #[command(alias = "end")]
        Stop(stop::StopFlags),
        Trigger(trigger::TriggerFlags),
        #[command(subcommand, subcommand_required = true)]
        Snapshot(Snapshot),
    }

    #[derive(clap::Subcommand)]
    enum Snapshot {
        Create,
    }

    fn said(words: &[&str]) -> String {
        let mut root = Root::command();
        root.build();
        let args: Vec<String> = words.iter().map(|it| (*it).to_owned()).collect();
        let error = command_line::read(&root, &args).expect_err("it is wrong");
        own_words(&root, &error, "engine")
    }

    #[test]
    fn errors_name_what_was_meant_and_what_is_valid() {
        let cases: &[(&[&str], &str)] = &[
            (
                &["tirgger"],
                r#"unknown command "tirgger"; did you mean trigger? (`engine --help` lists all)"#,
            ),
            (&["xyz"], r#"unknown command "xyz" (`engine --help` lists all)"#),
            (
                &["snapshot", "craete", "x"],
                r#"unknown command "craete"; did you mean create? (`engine snapshot --help` lists all)"#,
            ),
            (
                &["logs", "--folow"],
                "unknown flag --folow; did you mean --follow? (`engine logs --help` lists all)",
            ),
            (&["stop", "--json=maybe"], r#"invalid value "maybe" for --json: true or false"#),
            (&["trigger"], "accepts 1 arg(s), received 0 (`engine trigger --help` says more)"),
        ];
        for (words, want) in cases {
            assert_eq!(said(words), *want, "{words:?}");
        }
    }
}

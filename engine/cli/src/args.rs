//! `args`: changes the Tiltfile arguments of a running instance.

use clap::Args;
use engine_api::Kind;
use engine_formats::golang::quote::quote;
use serde_json::{Value, json};

use super::{
    Printer, client::ApiClient, connect::ConnectFlags, display_name, editor, failure::Failure,
    program, shell_words,
};

/// The object that holds the arguments.
const MAIN_TILTFILE: &str = "(Tiltfile)";

/// Change the Tiltfile arguments of a running instance.
///
/// Without arguments, your editor (`$TILT_EDITOR` or `$EDITOR`) opens with the current ones.
#[derive(Debug, Args)]
pub struct ArgsFlags {
    /// Resources, and arguments of the Tiltfile after --
    #[arg(value_name = "ARGS")]
    args: Vec<String>,
    /// Clear all arguments
    #[arg(long)]
    clear: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectFlags,
}

/// Runs the command.
pub fn run(flags: &ArgsFlags, printer: Printer) -> Result<(), Failure> {
    let client = ApiClient::new(&flags.connect)?;
    let kind = Kind::Tiltfile;
    let mut tiltfile = client.get(kind, MAIN_TILTFILE).map_err(Failure::native)?;
    let current = strings(&tiltfile["spec"]["args"]);
    let args = if flags.clear {
        if !flags.args.is_empty() {
            return Err(error("--clear cannot be specified with other values"));
        }
        Vec::new()
    } else if flags.args.is_empty() {
        edited(&current)?
    } else {
        flags.args.clone()
    };
    let is_changed = args != current;
    if is_changed {
        tiltfile["spec"]["args"] = json!(args);
        client.update(kind, &tiltfile).map_err(Failure::native)?;
    }
    if flags.json {
        printer.json(&json!({"args": args, "changed": is_changed}));
        return Ok(());
    }
    if !is_changed {
        let name = display_name();
        printer.err(&format!("{name} is already running with those args -- no action taken\n"));
        return Ok(());
    }
    let (name, address, list) = (display_name(), flags.connect.address(), args.join(" "));
    printer.err(&format!("Changed config args for {name} running at {address} to [{list}]\n"));
    Ok(())
}

fn error(text: &str) -> Failure {
    Failure::Command(text.to_owned())
}

fn strings(value: &Value) -> Vec<String> {
    let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn edited(current: &[String]) -> Result<Vec<String>, Failure> {
    let (name, args) = (display_name(), shell_words::join(current));
    let text = format!("# edit args for the running {name} here\n{args}\n");
    let edited = editor::edit(&["TILT_EDITOR", "EDITOR"], &text, "").map_err(Failure::command)?;
    edited.remove();
    read(&edited.text).map_err(Failure::command)
}

#[derive(Debug, thiserror::Error)]
enum ArgsError {
    #[error(
        "must have exactly one non-comment line, found zero. If you want to clear the args, use \
         `{} args --clear`",
        program()
    )]
    NoLine,
    #[error("cannot have multiple non-comment lines")]
    SeveralLines,
    #[error("error parsing {}: {cause}", quote(.text))]
    Syntax { text: String, cause: &'static str },
}

/// Parses an edited text: one line that is not a comment holds the arguments.
fn read(text: &str) -> Result<Vec<String>, ArgsError> {
    let mut lines = text.lines().map(str::trim).filter(|it| !it.is_empty() && !it.starts_with('#'));
    let line = lines.next().ok_or(ArgsError::NoLine)?;
    if lines.next().is_some() {
        return Err(ArgsError::SeveralLines);
    }
    shell_words::split(line).map_err(|cause| ArgsError::Syntax { text: text.to_owned(), cause })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edited_text_has_one_line_of_arguments() {
        let cases = [
            ("# x\n a 'b c' \n\n", Ok(vec!["a".to_owned(), "b c".to_owned()])),
            (
                "# x\n\n",
                Err("must have exactly one non-comment line, found zero. If you want to clear the args, \
                     use `engine args --clear`"
                    .to_owned()),
            ),
            ("a\nb\n", Err("cannot have multiple non-comment lines".to_owned())),
            ("a 'b", Err("error parsing \"a 'b\": Unterminated single-quoted string".to_owned())),
        ];
        for (text, want) in cases {
            assert_eq!(read(text).map_err(|it| it.to_string()), want, "{text:?}");
        }
    }
}

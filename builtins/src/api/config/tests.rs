//! Arguments, `tilt_config.json` and their errors, as data.

use super::{
    args::{self, Given},
    file,
};
use crate::declarations::config::{Config, Setting, SettingKind};

/// Settings written `name` (string), `name*` (list), `name?` (bool) or `name{}` (object); the one in parentheses takes
/// the positional arguments.
fn config(definitions: &str) -> Config {
    let mut config = Config::default();
    for definition in definitions.split_whitespace() {
        let inner = definition.trim_matches(['(', ')']);
        let name = inner.trim_end_matches(['*', '?', '{', '}']);
        let kind = match &inner[name.len()..] {
            "*" => SettingKind::StringList,
            "?" => SettingKind::Bool,
            "{}" => SettingKind::Object,
            _ => SettingKind::String,
        };
        if inner != definition {
            config.positional = Some(name.to_owned());
        }
        config.settings.insert(name.to_owned(), Setting { kind, usage: String::new() });
    }
    config
}

fn show<E: std::fmt::Display>(
    settings: Result<std::collections::BTreeMap<String, Given>, E>,
) -> String {
    match settings {
        Ok(settings) => {
            let show = |(name, given): (&String, &Given)| match given {
                Given::String(it) => format!("{name}={it:?}"),
                Given::List(it) => format!("{name}={it:?}"),
                Given::Bool(it) => format!("{name}={it}"),
                Given::Object(it) => format!("{name}={it}"),
            };
            settings.iter().map(show).collect::<Vec<_>>().join(" ")
        }
        Err(why) => why.to_string(),
    }
}

fn check_args(definitions: &str, args: &[&str], expected: &str) {
    let args: Vec<String> = args.iter().map(|it| (*it).to_owned()).collect();
    assert_eq!(show(args::parse(&args, &config(definitions)).settings), expected, "{args:?}");
}

fn check_file(definitions: &str, text: &str, expected: &str) {
    assert_eq!(show(file::settings(text, "F", &config(definitions))), expected, "{text}");
}

#[test]
fn flags_and_positional_arguments_become_settings() {
    check_args("s l* b?", &[], "");
    check_args(
        "s l* b?",
        &["--s", "x", "--l=1", "--l", "2,3", "--b"],
        r#"b=true l=["1", "2,3"] s="x""#,
    );
    check_args("(rest*) s", &["a", "--s=x", "b", "--", "--c"], r#"rest=["a", "b", "--c"] s="x""#);
    check_args("(on?)", &["false"], "on=false");
    check_args("o{}", &[r#"--o={"b":1,"a":[null]}"#], r#"o={"b":1,"a":[null]}"#);
}

#[test]
fn wrong_arguments_are_refused_with_the_table_of_flags() {
    check_args(
        "s",
        &["--s=a", "--s=b"],
        "invalid Tiltfile config args: invalid argument \"b\" for \"--s\" flag: string settings can only be specified \
         once. multiple values found (last value: b)\nUsage:\n      --s string   \n",
    );
    check_args(
        "o{}",
        &["--o=1", "--o=2"],
        "invalid Tiltfile config args: invalid argument \"2\" for \"--o\" flag: object settings can only be specified \
         once. multiple values found (last value: 1.0)\nUsage:\n      --o object    (default None)\n",
    );
    check_args("", &["--x"], "invalid Tiltfile config args: unknown flag: --x");
    check_args(
        "(t)",
        &["one", "two"],
        "invalid Tiltfile config args: invalid positional args (t): string settings can only be specified once. \
         multiple values found (last value: two)",
    );
    check_args(
        "b?",
        &["--b", "false"],
        "invalid Tiltfile config args: positional CLI args (\"false\") were specified, but none were expected.\n\
         See https://docs.tilt.dev/tiltfile_config.html#positional-arguments for examples.",
    );
}

#[test]
fn help_prints_the_flags() {
    let outcome = args::parse(&["--help".to_owned()], &config("s"));
    assert_eq!(outcome.help, "Usage of :\n      --s string   \n");
    assert_eq!(
        show(outcome.settings),
        "invalid Tiltfile config args: pflag: help requested\nUsage:\n      --s string   \n"
    );
}

#[test]
fn the_file_gives_settings_of_their_kind() {
    check_file(
        "s l* b? o{}",
        r#"{"s": "x", "l": ["y"], "b": true, "o": 1}"#,
        r#"b=true l=["y"] o=1 s="x""#,
    );
    check_file("s l* b? o{}", r#"{"s": null, "l": null, "b": null}"#, r#"b=false l=[] s="""#);
    check_file("s", r#"{"s": "x"} and more"#, r#"s="x""#);
    check_file("s", "null", "");
    for (text, expected) in [
        ("", "error parsing json from F: EOF"),
        (
            "[1]",
            "error parsing json from F: ReadMapCB: expect { or n, but found [, error found in #1 \
             byte of ...|[1]|..., bigger context ...|[1]|...",
        ),
        (r#"{"t": 1}"#, "F specified unknown setting name 't'"),
        (r#"{"s": 1}"#, "F specified invalid value for setting s: expected string, found float64"),
        (
            r#"{"s": {}}"#,
            "F specified invalid value for setting s: expected string, found map[string]interface {}",
        ),
        (r#"{"l": "x"}"#, "F specified invalid value for setting l: expected array"),
        (r#"{"l": [null]}"#, "F specified invalid value for setting l: expected string, got <nil>"),
        (r#"{"b": "x"}"#, "F specified invalid value for setting b: expected bool, found string"),
    ] {
        check_file("s l* b?", text, expected);
    }
}

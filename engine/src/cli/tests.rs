//! Whole command lines: how they are parsed and what errors say, without running anything.

use clap::CommandFactory;
use expect_test::expect;
use proptest::prelude::*;

use super::*;

fn root() -> clap::Command {
    let mut root = Cli::command();
    root.build();
    root
}

fn understood(words: &[&str]) -> Result<String, String> {
    let root = root();
    let args: Vec<String> = words.iter().map(|it| (*it).to_owned()).collect();
    let parsed = command_line::read(&root, &args).and_then(|line| parse(&root, line));
    match parsed {
        Ok(Parsed::Command(cli)) => Ok(format!("{:?}", cli.command)),
        Ok(Parsed::Help(path)) => Ok(format!("help {}", path.join(" "))),
        Ok(Parsed::UnknownTopic(words)) => Ok(format!("unknown topic {}", words.join(" "))),
        Ok(Parsed::Version) => Ok("version".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn errors_are_worded_as_in_tilt() {
    let cases: &[(&[&str], &str)] = &[
        (&["trigger"], "accepts 1 arg(s), received 0"),
        (&["trigger", "a", "b"], "accepts 1 arg(s), received 2"),
        (&["get", "--bogus"], "unknown flag: --bogus"),
        (&["get", "-x"], "unknown shorthand flag: 'x' in -x"),
        (&["get", "-wx"], "unknown shorthand flag: 'x' in -x"),
        (&["get", "--port"], "flag needs an argument: --port"),
        (&["get", "-l"], "flag needs an argument: 'l' in -l"),
        (&["get", "--=x"], "bad flag syntax: --=x"),
        (
            &["trigger", "--port", "1x", "a"],
            "invalid argument \"1x\" for \"--port\" flag: strconv.ParseInt: parsing \"1x\": invalid syntax",
        ),
        (
            &["--klog", "x", "version"],
            "invalid argument \"x\" for \"--klog\" flag: strconv.ParseInt: parsing \"x\": invalid syntax",
        ),
        (
            &["get", "--watch=maybe"],
            "invalid argument \"maybe\" for \"-w, --watch\" flag: strconv.ParseBool: parsing \"maybe\": invalid syntax",
        ),
        (
            &["triger"],
            "unknown command \"triger\" for \"engine\"\n\nDid you mean this?\n\ttrigger\n",
        ),
        (&["--bogus"], "unknown flag: --bogus"),
        (&["-V"], "unknown shorthand flag: 'V' in -V"),
        (&["help", "get", "--bogus"], "unknown flag: --bogus"),
        (
            &["up", "--web-mode", "x"],
            "invalid argument \"x\" for \"--web-mode\" flag: Unrecognized web mode: x. Allowed values: \
             [default local prod embedded precompiled]",
        ),
    ];
    for (words, want) in cases {
        assert_eq!(understood(words).unwrap_err(), *want, "{words:?}");
    }
}

#[test]
fn groups_and_questions_get_help() {
    let cases: &[(&[&str], &str)] = &[
        (&[], "help "),
        (&["-h"], "help "),
        (&["help"], "help "),
        (&["help", "get", "x"], "help get"),
        (&["help", "bogus"], "unknown topic bogus"),
        (&["get", "--help", "x"], "help get"),
        (&["alpha"], "help alpha"),
        (&["--version", "x"], "version"),
    ];
    for (words, want) in cases {
        assert_eq!(understood(words).as_deref(), Ok(*want), "{words:?}");
    }
}

#[test]
fn flags_and_words_mix_freely() {
    let lines: &[&[&str]] = &[
        &["get", "cmd", "x", "--watch", "-o", "name"],
        &["get", "-oname", "--watch=true", "cmd", "x"],
        &["get", "-w", "-o=name", "--", "cmd", "x"],
        &["get", "cmd", "--watch-only", "--watch-only=false", "-wo", "name", "--", "x"],
        &["get", "cmd", "-w=false", "x", "-w", "--output=name"],
    ];
    let want = understood(lines[0]).unwrap();
    for line in lines {
        assert_eq!(understood(line).unwrap(), want, "{line:?}");
    }
}

#[test]
fn the_short_form_of_debug_never_detaches() {
    let check = |words: &[&str], detach: bool, debug: bool| {
        let root = root();
        let args: Vec<String> = words.iter().map(|it| (*it).to_owned()).collect();
        let parsed = command_line::read(&root, &args).and_then(|line| parse(&root, line));
        let Ok(Parsed::Command(cli)) = parsed else { panic!("{words:?} is no command") };
        let shown = format!("{:?}", cli.command);
        assert_eq!(shown.contains("detach: true"), detach, "{words:?}");
        assert_eq!(cli.global.debug, debug, "{words:?}");
    };
    check(&["up", "-d"], false, true);
    check(&["up", "-vd", "web"], false, true);
    check(&["-d", "up"], false, true);
    check(&["up", "--debug"], false, true);
    check(&["up", "--detach"], true, false);
    check(&["-vd", "up", "--detach"], true, true);
    check(&["up", "-d", "--detach", "--detach=false"], false, true);
    check(&["ci", "-d"], false, true);
    check(&["get", "session", "-d"], false, true);
    check(&["up", "--", "-d"], false, false);
}

#[test]
fn help_is_laid_out_as_people_know_it() {
    let root = root();
    let text = usage::help(command(&root, &["trigger".to_owned()]), "foo trigger", 60);
    expect![[r#"
        Update a resource now.

        A manual resource with pending changes applies those; any
        other resource is rebuilt completely. The command returns at
        once, unless --wait is given.

        Usage:
          foo trigger RESOURCE [flags]

        Examples:
          # Update a resource
          foo trigger web

          # Wait until it has ended, and print its log
          foo trigger e2e --wait --timeout 5m

        Flags:
          -h, --help               help for trigger
              --host string        Host of the instance. Overrides
                                   `TILT_HOST` (default "localhost")
              --json               Print the result as JSON instead
                                   of the log
              --port int           Port of the instance. Overrides
                                   `TILT_PORT` (default 10350)
              --timeout duration   How long --wait waits, such as
                                   5m; 0 waits forever
              --wait               Wait for the update and print its
                                   log; exit code 1 if it failed
              --with-deps          First update its dependencies
                                   that have not succeeded yet

        Global Flags:
          -d, --debug     Show debug log lines
          -v, --verbose   Show verbose log lines
    "#]]
    .assert_eq(&text);
    let text = usage::text(command(&root, &["logs".to_owned()]), "foo logs", 100);
    let source =
        "--source string   Only lines from this source: all, build or runtime (default \"all\")\n";
    assert!(text.contains(source), "{text}");
    let text = usage::text(&root, "foo", 100);
    assert!(text.starts_with("Usage:\n  foo [command]\n\nAvailable Commands:\n  alpha "), "{text}");
    assert!(
        text.ends_with("Use \"foo [command] --help\" for more information about a command.\n"),
        "{text}"
    );
    assert!(!text.contains("__complete"), "{text}");
}

/// The words of every command that people see, groups included.
fn visible_commands() -> Vec<String> {
    fn add(command: &clap::Command, path: &str, all: &mut Vec<String>) {
        for inner in command.get_subcommands().filter(|it| !it.is_hide_set()) {
            let path = format!("{path} {}", inner.get_name());
            add(inner, &path, all);
            all.push(path);
        }
    }
    let mut all = vec!["foo".to_owned()];
    add(&root(), "foo", &mut all);
    all
}

fn command_of<'a>(root: &'a clap::Command, path: &str) -> &'a clap::Command {
    let words: Vec<String> = path.split(' ').skip(1).map(str::to_owned).collect();
    command(root, &words)
}

#[test]
fn every_command_has_examples_that_it_understands() {
    let root = root();
    for path in visible_commands() {
        let command = command_of(&root, &path);
        if command.is_subcommand_required_set() || path == "foo help" {
            continue;
        }
        let examples = usage::examples(&path).unwrap_or_else(|| panic!("{path} has no examples"));
        let lines = examples.lines().filter(|it| !it.trim_start().starts_with('#'));
        let mut own = lines.filter_map(|it| Some(it.split_once("foo ")?.1)).peekable();
        assert!(own.peek().is_some(), "{path}: {examples}");
        for line in own {
            let line = line.split([')', '|', '>']).next().unwrap().trim();
            let words: Vec<&str> = line.split_whitespace().collect();
            assert!(format!("foo {line} ").starts_with(&format!("{path} ")), "{line}");
            let understood = understood(&words);
            assert!(understood.is_ok(), "{line}: {understood:?}");
        }
    }
}

#[test]
fn help_is_as_wide_as_the_terminal() {
    let root = root();
    for path in visible_commands() {
        let text = usage::help(command_of(&root, &path), &path, 80);
        let text = text.split("\nExamples:").next().unwrap();
        // A name is not broken.
        let too_long = text.lines().find(|it| it.chars().count() > 80);
        assert!(too_long.is_none_or(|it| it.starts_with("  foo")), "{too_long:?}");
    }
}

#[test]
fn flags_without_an_effect_are_not_offered() {
    let root = root();
    for path in visible_commands() {
        let text = usage::help(command_of(&root, &path), &path, 100);
        assert!(!text.contains("compatibility"), "{text}");
    }
    assert!(understood(&["up", "--klog", "1", "--legacy", "--webdev-port=1"]).is_ok());
}

#[test]
fn every_command_says_what_it_is_for() {
    fn check(command: &clap::Command) {
        for inner in command.get_subcommands() {
            assert!(inner.get_about().is_some(), "{}", inner.get_name());
            check(inner);
        }
    }
    check(&root());
}

#[test]
fn every_command_of_tilt_is_known() {
    let lines: &[&[&str]] = &[
        &["dump", "openapi"],
        &["dump", "api-docs", "--dir", "x"],
        &["dump", "image-deploy-ref", "web"],
        &["docker-prune", "-f", "x"],
        &["alpha", "shell", "web", "-c", "main"],
        &["alpha", "updog", "-f", "a.yaml,b.yaml", "--port", "0"],
        &["snapshot", "view", "-", "--no-open", "--port=1", "--host", "h"],
        &["lsp", "start", "--address", ":1", "--debug", "--verbose"],
        &["demo", "--teardown", "--no-cluster", "-r", "url", "-f", "x", "--legacy", "--port", "1"],
        &["verify-install"],
        &["version", "--json"],
    ];
    for line in lines {
        assert!(understood(line).is_ok(), "{line:?}: {:?}", understood(line));
    }
    assert_eq!(understood(&["lsp"]).as_deref(), Ok("help lsp"));
}

#[test]
fn a_line_that_is_being_typed_is_not_read_as_flags() {
    let got = understood(&["__complete", "disable", "-l", "--bogus", ""]).unwrap();
    assert!(got.contains(r#"["disable", "-l", "--bogus", ""]"#), "{got}");
}

#[test]
fn the_definition_of_the_commands_is_sound() {
    Cli::command().debug_assert();
}

proptest! {
    #[test]
    fn no_command_line_makes_the_parser_panic(
        words in prop::collection::vec(
            prop_oneof![
                "[ -~é]{0,12}",
                prop::sample::select(vec![
                    "alpha", "tiltfile-result", "version", "--", "-f", "-b", "--json", "-v", "get", "trigger",
                    "--dur-threshold", "1h", "--klog=x", "--help", "-h", "=", "-", "-wo", "--watch=", "create",
                ]).prop_map(str::to_owned),
            ],
            0..8,
        )
    ) {
        let root = root();
        if let Err(error) = command_line::read(&root, &words).and_then(|line| parse(&root, line)) {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}

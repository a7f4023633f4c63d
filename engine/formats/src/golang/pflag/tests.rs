//! How arguments are understood, compared with the original library.

use expect_test::expect;

use super::*;

fn flag(name: &str, usage: &str, type_name: &str, default_text: &str) -> Flag {
    Flag {
        name: name.to_owned(),
        usage: usage.to_owned(),
        type_name: type_name.to_owned(),
        default_text: default_text.to_owned(),
        value_without_argument: (type_name == "bool").then(|| "true".to_owned()),
    }
}

fn flags() -> FlagSet {
    let mut flags = FlagSet::new();
    flags.add(flag("s", "a string", "string", ""));
    flags.add(flag("b", "", "bool", "false"));
    flags.add(flag("l", &"long words that go on ".repeat(6), "list[string]", ""));
    flags.add(flag("o", "an `obj` here\nand more", "object", "None"));
    flags
}

/// The expectations were recorded from spf13/pflag: what was set, and positionals or the error.
#[test]
fn arguments_are_understood_like_the_library_does() {
    let cases = [
        (&[][..], "", ""),
        (&["a", "b"], "", "a,b"),
        (&["--s", "v"], "s=v", ""),
        (&["--s=v"], "s=v", ""),
        (&["--s"], "", "flag needs an argument: --s"),
        (&["--s="], "s=", ""),
        (&["--b"], "b=true", ""),
        (&["--b=false"], "b=false", ""),
        (&["--b", "false"], "b=true", "false"),
        (&["-s"], "", "unknown shorthand flag: 's' in -s"),
        (&["-h"], "", "pflag: help requested"),
        (&["--help"], "", "pflag: help requested"),
        (&["--help=x"], "", "pflag: help requested"),
        (&["--", "--s"], "", "--s"),
        (&["a", "--s", "x", "b", "--", "-c"], "s=x", "a,b,-c"),
        (&["--unknown"], "", "unknown flag: --unknown"),
        (&["--unknown=x"], "", "unknown flag: --unknown"),
        (&["--=x"], "", "bad flag syntax: --=x"),
        (&["---x"], "", "bad flag syntax: ---x"),
        (&["-"], "", "-"),
        (&["-é"], "", "unknown shorthand flag: '\u{c3}' in -\u{e9}"),
        (&["-xyz"], "", "unknown shorthand flag: 'x' in -xyz"),
        (&["--s=bad"], "", r#"invalid argument "bad" for "--s" flag: refused"#),
        (&["--l", "1", "--l", "2"], "l=1,l=2", ""),
        (&["--b=zzz"], "b=zzz", ""),
        (&["-test.v"], "", ""),
        (&[""], "", ""),
        (&["--o", "{}"], "o={}", ""),
        (&["--s", "--b"], "s=--b", ""),
        (&["-'"], "", r"unknown shorthand flag: '\'' in -'"),
        (&["--s", r#"bad"q"#], "", r#"invalid argument "bad\"q" for "--s" flag: refused"#),
    ];
    for (args, expected_sets, expected) in cases {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let mut sets = Vec::new();
        let parsed = flags().parse(&args, |name, value| {
            if value.starts_with("bad") {
                return Err("refused".to_owned());
            }
            sets.push(format!("{name}={value}"));
            Ok(())
        });
        let found = parsed.map_or_else(|error| error.to_string(), |found| found.join(","));
        assert_eq!(
            (sets.join(",").as_str(), found.as_str()),
            (expected_sets, expected),
            "{args:?}"
        );
    }
}

#[test]
fn the_usage_table_is_aligned_and_wrapped() {
    expect![[r"
        Usage:
              --b                
              --l list[string]   long words that go on long words that go on long
                                 words that go on long words that go on long words
                                 that go on long words that go on 
              --o obj            an obj here
                                 and more (default None)
              --s string         a string
    "]]
    .assert_eq(&format!("Usage:\n{}", flags().usages(80)));
    let mut wide = FlagSet::new();
    wide.add(flag("s", "a string", "string", ""));
    wide.add(flag(
        "a-very-long-name-for-a-flag-that-pushes-the-text-far-right",
        "explained in a few words that have to be wrapped at column eighty",
        "string",
        "d\"q",
    ));
    expect![[r#"
        Usage:
              --a-very-long-name-for-a-flag-that-pushes-the-text-far-right string   
                        explained in a few words that have to be wrapped at column
                        eighty (default "d\"q")
              --s string                                                            
                        a string
    "#]]
    .assert_eq(&format!("Usage:\n{}", wide.usages(80)));
    expect![[r"
        Usage of :
              --b                
              --l list[string]   long words that go on long words that go on long words that go on long words that go on long words that go on long words that go on 
              --o obj            an obj here
                                 and more (default None)
              --s string         a string
    "]].assert_eq(&flags().help_text());
    assert_eq!(FlagSet::new().usages(80), "");
}

#[test]
fn booleans_have_several_spellings() {
    assert_eq!((parse_bool("T"), parse_bool("0")), (Ok(true), Ok(false)));
    let error = r#"strconv.ParseBool: parsing "yes": invalid syntax"#;
    assert_eq!(parse_bool("yes"), Err(error.to_owned()));
}

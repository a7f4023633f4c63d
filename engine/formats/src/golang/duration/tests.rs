//! How durations are read, compared with Go.

use super::*;

fn check(text: &str, expected: &str) {
    let found = match Duration::parse(text) {
        Ok(duration) => format!("{} {duration}", duration.0),
        Err(error) => error.to_string(),
    };
    assert_eq!(found, expected, "{text}");
}

/// The expectations were recorded from Go's `time` package.
#[test]
fn durations_are_read_and_shown_like_go_does() {
    let cases = [
        ("1h", "3600000000000 1h0m0s"),
        ("1h30m", "5400000000000 1h30m0s"),
        ("5s", "5000000000 5s"),
        ("100ms", "100000000 100ms"),
        ("1.5h", "5400000000000 1h30m0s"),
        (".5s", "500000000 500ms"),
        ("1.s", "1000000000 1s"),
        ("-1m", "-60000000000 -1m0s"),
        ("+2s", "2000000000 2s"),
        ("0", "0 0s"),
        ("", r#"time: invalid duration """#),
        ("1", r#"time: missing unit in duration "1""#),
        ("1x", r#"time: unknown unit "x" in duration "1x""#),
        ("s", r#"time: invalid duration "s""#),
        (".", r#"time: invalid duration ".""#),
        ("1us", "1000 1µs"),
        ("1µs", "1000 1µs"),
        ("1μs", "1000 1µs"),
        ("9223372036854775807ns", "9223372036854775807 2562047h47m16.854775807s"),
        ("9223372036854775808ns", r#"time: invalid duration "9223372036854775808ns""#),
        ("-9223372036854775808ns", "-9223372036854775808 -2562047h47m16.854775808s"),
        ("2562047h47m16.854775807s", "9223372036854775807 2562047h47m16.854775807s"),
        ("1e3s", r#"time: unknown unit "e" in duration "1e3s""#),
        ("1 s", r#"time: unknown unit " s" in duration "1 s""#),
        ("0.000000001s", "1 1ns"),
        ("0.1234567891234567890123s", "123456789 123.456789ms"),
        ("1d", r#"time: unknown unit "d" in duration "1d""#),
        ("3.7h2.1m", "13446000000000 3h44m6s"),
        ("256s047h47m165854", r#"time: missing unit in duration "256s047h47m165854""#),
        (" 1s", r#"time: invalid duration " 1s""#),
        ("3.hh21m", r#"time: unknown unit "hh" in duration "3.hh21m""#),
        (" +", r#"time: invalid duration " +""#),
        ("n1", r#"time: invalid duration "n1""#),
        ("h1s", r#"time: invalid duration "h1s""#),
        ("h", r#"time: invalid duration "h""#),
        (" 0s", r#"time: invalid duration " 0s""#),
        (".m5s", r#"time: invalid duration ".m5s""#),
        ("ss", r#"time: invalid duration "ss""#),
        (".5hs", r#"time: unknown unit "hs" in duration ".5hs""#),
        ("12234567890123s", r#"time: invalid duration "12234567890123s""#),
        ("5", r#"time: missing unit in duration "5""#),
        ("1hh0m", r#"time: unknown unit "hh" in duration "1hh0m""#),
        (" ", r#"time: invalid duration " ""#),
        ("2-12m", r#"time: unknown unit "-" in duration "2-12m""#),
        ("+", r#"time: invalid duration "+""#),
        (
            "2562047h 47m16.254775807s",
            r#"time: unknown unit "h " in duration "2562047h 47m16.254775807s""#,
        ),
        ("µ00m", r#"time: invalid duration "\xc2\xb500m""#),
        ("0.00000.5h", r#"time: missing unit in duration "0.00000.5h""#),
        ("1µ3h", r#"time: unknown unit "\xc2\xb5" in duration "1\xc2\xb53h""#),
        ("1x5", r#"time: unknown unit "x" in duration "1x5""#),
        ("0.000+00001s", r#"time: unknown unit "+" in duration "0.000+00001s""#),
        ("1e", r#"time: unknown unit "e" in duration "1e""#),
        ("1μsm", r#"time: unknown unit "\xce\xbcsm" in duration "1\xce\xbcsm""#),
        ("1msh", r#"time: unknown unit "msh" in duration "1msh""#),
        ("u-1m", r#"time: invalid duration "u-1m""#),
        ("1\"", r#"time: unknown unit "\"" in duration "1\"""#),
    ];
    for (text, expected) in cases {
        check(text, expected);
    }
}

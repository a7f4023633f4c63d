//! Which files patterns leave out, compared with Tilt.

use super::*;

const FILES: [&str; 16] = [
    "a",
    "a/b",
    "a/b/c.go",
    "b.txt",
    "x/b.txt",
    "x/y/b.txt",
    "node_modules",
    "x/node_modules/y",
    ".git/x",
    "a b",
    "a[1]",
    "é.go",
    "foo.bar",
    "a.go",
    "A/b",
    "/abs/x",
];

/// The expectations were recorded from Tilt: for every file whether it is left out (`x`), and if
/// so whether all below it is as well (`X`).
#[test]
fn patterns_match_like_docker_does() {
    let cases = [
        ("[a", "syntax error in pattern"),
        ("a[", "syntax error in pattern"),
        (r"a\", "syntax error in pattern"),
    ];
    for (text, expected) in cases {
        let matcher = read_patterns(text).and_then(|found| PathMatcher::new("/root/dir", &found));
        let found = match matcher {
            Ok(matcher) => FILES.iter().map(|file| mark(&matcher, file)).collect(),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected, "{text:?}");
    }
}

fn mark(matcher: &PathMatcher, file: &str) -> char {
    let everything = matcher.matches_entire_dir(&path::abs("/root/dir", file));
    match (matcher.matches(file), everything) {
        (true, true) => 'X',
        (true, false) => 'x',
        (false, _) => '.',
    }
}

#[test]
fn ignore_files_are_cleaned() {
    for (text, expected) in [
        ("", &[][..]),
        ("\u{feff}a\n", &["a"]),
        ("# c\n #d\n", &["#d"]),
        (" a/ \r\n./b//c\n", &["a", "b/c"]),
        ("/a\n/\n//b", &["a", "/", "b"]),
        ("! a/../b \n!", &["!b", "!"]),
    ] {
        assert_eq!(read_patterns(text).unwrap(), expected, "{text:?}");
    }
    let long = "a".repeat(LINE_MAX);
    assert_eq!(read_patterns(&long), Err(IgnoreError::LineTooLong));
    assert!(read_patterns(&long[1..]).is_ok());
}

#[test]
fn malformed_patterns_are_refused() {
    for pattern in ["[", "a[", "*[", "a\\", "[a-]"] {
        let error = PathMatcher::new("/r", &[pattern]).unwrap_err();
        assert_eq!(error.to_string(), "syntax error in pattern", "{pattern}");
    }
}

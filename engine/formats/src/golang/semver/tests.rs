//! Which versions ranges admit, compared with the original library.

use super::*;

/// The expectations, one answer per version, were recorded from blang/semver.
const CASES: &[(&str, &str)] = &[
    (">=0.13.2", "yyyy"),
    ("<0.17.0", "nnnn"),
    (">1.0.0 <2.0.0 || >3.0.0", "nnnn"),
    ("0.37.x", "ynnn"),
    ("1.x", "nynn"),
    ("1.x.x", "nynn"),
    ("x", "Last element in range is '||'"),
    (">=0.23.x", "yyyy"),
    ("!1.0.0", "ynyy"),
    ("!=1.x", "nnnn"),
    ("<=0.37.x", "ynny"),
    (">0.37.x", "nyyn"),
    ("^1.2.3", r#"Could not parse Range "^1.2.3": Could not parse comparator "^" in "^1.2.3""#),
    ("~1.2.3", r#"Could not parse Range "~1.2.3": Could not parse comparator "~" in "~1.2.3""#),
    ("v1.2.3", r#"Could not parse Range "v1.2.3": Could not parse comparator "v" in "v1.2.3""#),
    (
        ">1",
        r#"Could not parse Range ">1": Could not parse version "1" in ">1": No Major.Minor.Patch elements found"#,
    ),
    (
        "=1.0",
        r#"Could not parse Range "=1.0": Could not parse version "1.0" in "=1.0": No Major.Minor.Patch elements found"#,
    ),
    ("1.0.0-a", "nnnn"),
    (
        "1.0.0-01",
        r#"Could not parse Range "1.0.0-01": Could not parse version "1.0.0-01" in "1.0.0-01": Numeric PreRelease version must not contain leading zeroes "01""#,
    ),
    ("1.0.0+b", "nynn"),
    (
        "01.2.3",
        r#"Could not parse Range "01.2.3": Could not parse version "01.2.3" in "01.2.3": Major number must not contain leading zeroes "01""#,
    ),
    ("|| 1.0.0", "First element in range is '||'"),
    ("1.0.0 ||", "Last element in range is '||'"),
    ("> = 1.0.0", "nyyn"),
    (">= 1.0.0", "nyyn"),
    (
        "1.2.3.4",
        r#"Could not parse Range "1.2.3.4": Could not parse version "1.2.3.4" in "1.2.3.4": Invalid character(s) found in patch number "3.4""#,
    ),
    (
        "99999999999999999999.0.0",
        r#"Could not parse Range "99999999999999999999.0.0": Could not parse version "99999999999999999999.0.0" in "99999999999999999999.0.0": strconv.ParseUint: parsing "99999999999999999999": value out of range"#,
    ),
    (
        "1.2.3-",
        r#"Could not parse Range "1.2.3-": Could not parse version "1.2.3-" in "1.2.3-": Prerelease is empty"#,
    ),
    (
        "1.2.3+",
        r#"Could not parse Range "1.2.3+": Could not parse version "1.2.3+" in "1.2.3+": Build meta data is empty"#,
    ),
    (
        "1.2.3-a_b",
        r#"Could not parse Range "1.2.3-a_b": Could not parse version "1.2.3-a_b" in "1.2.3-a_b": Invalid character(s) found in prerelease "a_b""#,
    ),
    ("a", "Last element in range is '||'"),
    ("a.b.x", r#"Could not get version from string: "a.b.x""#),
    ("==1.0.0", "nynn"),
    (
        "1.237. ",
        r#"Could not parse Range "1.237.": Could not parse version "1.237." in "1.237.": strconv.ParseUint: parsing "": invalid syntax"#,
    ),
    (
        "1.0v.01.0.0-a",
        r#"Could not parse Range "1.0v.01.0.0-a": Could not parse version "1.0v.01.0.0-a" in "1.0v.01.0.0-a": Invalid character(s) found in minor number "0v""#,
    ),
    ("<=0!.>3.x", r#"Could not get version from string: "<""#),
    (">= ", r#"Could not get version from string: ">=""#),
    ("v.2.3", r#"Could not parse Range "v.2.3": Could not parse comparator "v." in "v.2.3""#),
    (
        "1.23-",
        r#"Could not parse Range "1.23-": Could not parse version "1.23-" in "1.23-": No Major.Minor.Patch elements found"#,
    ),
    (
        ">=>01.13.2",
        r#"Could not parse Range ">=>01.13.2": Could not parse comparator ">=>" in ">=>01.13.2""#,
    ),
    (" 1", "Last element in range is '||'"),
    ("a..x", r#"Could not get version from string: "a..x""#),
    (
        ">3",
        r#"Could not parse Range ">3": Could not parse version "3" in ">3": No Major.Minor.Patch elements found"#,
    ),
    (
        "1.2.3=",
        r#"Could not parse Range "1.2.3=": Could not parse version "1.2.3=" in "1.2.3=": Invalid character(s) found in patch number "3=""#,
    ),
    (
        ">1.0.0 <2.0.0 || .0.0-01",
        r#"Could not parse Range ".0.0-01": Could not parse comparator "." in ".0.0-01""#,
    ),
    (
        "v1.2.3x",
        r#"Could not parse Range "1.2.3x": Could not parse version "1.2.3x" in "1.2.3x": Invalid character(s) found in patch number "3x""#,
    ),
    (">v <.0.0", r#"Could not get version from string: ">v""#),
    (
        "==1<.01..0",
        r#"Could not parse Range "==1<.01..0": Could not parse version "1<.01..0" in "==1<.01..0": Invalid character(s) found in major number "1<""#,
    ),
    (
        ">=0.13.!",
        r#"Could not parse Range ">=0.13.!": Could not parse version "0.13.!" in ">=0.13.!": Invalid character(s) found in patch number "!""#,
    ),
    (
        "01 2.320",
        r#"Could not parse Range "01": Could not parse version "01" in "01": No Major.Minor.Patch elements found"#,
    ),
    ("|| 1.0.-0", "First element in range is '||'"),
    (
        "1.0.0+!",
        r#"Could not parse Range "1.0.0+!": Could not parse version "1.0.0+!" in "1.0.0+!": Invalid character(s) found in build meta data "!""#,
    ),
    (
        "21.|",
        r#"Could not parse Range "21.|": Could not parse version "21.|" in "21.|": No Major.Minor.Patch elements found"#,
    ),
    (">  .a", r#"Could not get version from string: ">.a""#),
    ("^1>213", r#"Could not parse Range "^1>213": Could not parse comparator "^" in "^1>213""#),
    (
        "37v.x",
        r#"Could not parse Range ">=37v.0.0": Could not parse version "37v.0.0" in ">=37v.0.0": Invalid character(s) found in major number "37v""#,
    ),
    (
        "0.b.|x",
        r#"Could not parse Range ">=0.b.|x": Could not parse version "0.b.|x" in ">=0.b.|x": Invalid character(s) found in minor number "b""#,
    ),
    (
        "!=1>. x",
        r#"Could not parse Range "!=1>.": Could not parse version "1>." in "!=1>.": No Major.Minor.Patch elements found"#,
    ),
    (
        "~.2x3",
        r#"Could not parse Range "2x3": Could not parse version "2x3" in "2x3": No Major.Minor.Patch elements found"#,
    ),
    ("v1.13", r#"Could not parse Range "v1.13": Could not parse comparator "v" in "v1.13""#),
    (">>", r#"Could not get version from string: ">>""#),
    (".x", r#"Could not get version from string: ".x""#),
    (
        "1102.3-ab",
        r#"Could not parse Range "1102.3-ab": Could not parse version "1102.3-ab" in "1102.3-ab": No Major.Minor.Patch elements found"#,
    ),
    (
        "1.0>0- 2.0.0",
        r#"Could not parse Range "1.0>0-": Could not parse version "1.0>0-" in "1.0>0-": No Major.Minor.Patch elements found"#,
    ),
    (
        "1..0",
        r#"Could not parse Range "1..0": Could not parse version "1..0" in "1..0": strconv.ParseUint: parsing "": invalid syntax"#,
    ),
    (">1.0.0 <2.0.0 >| >3.0.0", r#"Could not get version from string: ">|""#),
    (">=- 1.0.0.", r#"Could not get version from string: ">=-""#),
    (
        "12>-a_b",
        r#"Could not parse Range "12>-a_b": Could not parse version "12>-a_b" in "12>-a_b": No Major.Minor.Patch elements found"#,
    ),
    (
        "!1.2=",
        r#"Could not parse Range "!1.2=": Could not parse version "1.2=" in "!1.2=": No Major.Minor.Patch elements found"#,
    ),
    (".0.0 ||", "Last element in range is '||'"),
    (
        ">1.0.0 <2.0.a",
        r#"Could not parse Range "<2.0.a": Could not parse version "2.0.a" in "<2.0.a": Invalid character(s) found in patch number "a""#,
    ),
    (
        "a.x0b.x",
        r#"Could not parse Range "0b.0.0": Could not parse version "0b.0.0" in "0b.0.0": Invalid character(s) found in major number "0b""#,
    ),
    (
        "99999999999999999999.0<v0",
        r#"Could not parse Range "99999999999999999999.0<v0": Could not parse version "99999999999999999999.0<v0" in "99999999999999999999.0<v0": No Major.Minor.Patch elements found"#,
    ),
];

#[test]
fn ranges_are_understood_like_the_library_does() {
    let versions = ["0.37.6", "1.0.0", "2.5.3-alpha.1", "0.23.0"];
    for &(text, expected) in CASES {
        let found = match Range::parse(text) {
            Ok(range) => versions
                .iter()
                .map(|version| range.contains(&Version::parse(version).unwrap()))
                .map(|inside| if inside { 'y' } else { 'n' })
                .collect(),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn an_empty_alternative_admits_nothing() {
    let range = Range::parse("1.0.0 || || 2.0.0").unwrap();
    assert!(range.contains(&Version::parse("2.0.0").unwrap()));
    assert!(!range.contains(&Version::parse("3.0.0").unwrap()));
}

#[test]
fn versions_are_shown_as_they_were_read() {
    for text in ["1.2.3", "1.2.3-alpha.1", "1.2.3+b.1", "1.2.3-a.0+x-y"] {
        assert_eq!(Version::parse(text).unwrap().to_string(), text);
    }
}

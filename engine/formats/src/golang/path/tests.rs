//! How paths are handled, compared with Go.

use std::collections::HashMap;

use super::*;

/// The expectations were recorded from Go: clean, base and dir of the first path, both joined, and
/// the way from the first to the second.
#[test]
fn paths_are_handled_like_go_does() {
    let cases = [
        ("", "/", ". . . / ERR Rel: can't make / relative to "),
        (".", "/a/b/../../..", ". . . .. ERR Rel: can't make /a/b/../../.. relative to ."),
        ("..", "a./", ".. .. . ../a. ERR Rel: can't make a./ relative to .."),
        ("/", "a", "/ / / /a ERR Rel: can't make a relative to /"),
        (
            "a/b",
            "//../a/b/../../..",
            "a/b b a . ERR Rel: can't make //../a/b/../../.. relative to a/b",
        ),
        ("/a/b/", "a/b/./", "/a/b b /a/b /a/b/a/b ERR Rel: can't make a/b/./ relative to /a/b/"),
        ("a/../b", "a/b.b", "b b . b/a/b.b ../a/b.b"),
        ("../a", "/a.", "../a a .. ../a/a. ERR Rel: can't make /a. relative to ../a"),
        ("/../a", "/", "/a a / /a .."),
        (
            "a//b/./c",
            "/a//./",
            "a/b/c c a/b a/b/c/a ERR Rel: can't make /a//./ relative to a//b/./c",
        ),
        (
            "/a/b/../../..",
            "a//bb.c",
            "/ .. / /a/bb.c ERR Rel: can't make a//bb.c relative to /a/b/../../..",
        ),
        ("a/..", "/b./a/", ". .. a b./a ERR Rel: can't make /b./a/ relative to a/.."),
        ("./a", "a..", "a a . a/a.. ../a.."),
        ("//a", "///a", "/a a / /a/a ."),
        ("a/b/..", "b", "a .. a/b a/b ../b"),
        ("ab", "/", "ab ab . ab ERR Rel: can't make / relative to ab"),
        ("/a", "b", "/a a / /a/b ERR Rel: can't make b relative to /a"),
        ("a./", "/a/b/", "a. a. a. a./a/b ERR Rel: can't make /a/b/ relative to a./"),
        ("/a//", "/b/..", "/a a /a /a .."),
        (
            "./a./b/../..///a",
            "/aba/..",
            "a a . a ERR Rel: can't make /aba/.. relative to ./a./b/../..///a",
        ),
        ("a//", "/.b", "a a a a/.b ERR Rel: can't make /.b relative to a//"),
        ("", "./a", ". . . a a"),
        ("a/./a", "a/.a./b", "a/a a a a/a/a/.a./b ../.a./b"),
        ("/..a/", "a", "/..a ..a /..a /..a/a ERR Rel: can't make a relative to /..a/"),
        ("a", "abb/..", "a a . a .."),
        ("b/a", "a//b", "b/a a b b/a/a/b ../../a/b"),
        ("a", "", "a a . a .."),
        ("/.b./a", "/", "/.b./a a /.b. /.b./a ../.."),
        ("a.", "a/b/../b", "a. a. . a./a/b ../a/b"),
        ("a/./..", "", ". .. a . ."),
        ("/a/..", "a/../b", "/ .. /a /b ERR Rel: can't make a/../b relative to /a/.."),
        (
            "//../a/b/../../..",
            "../../a",
            "/ .. / /a ERR Rel: can't make ../../a relative to //../a/b/../../..",
        ),
        (
            "/a/b/././../..",
            "a/.b/c",
            "/ .. /a /a/.b/c ERR Rel: can't make a/.b/c relative to /a/b/././../..",
        ),
        ("a", "./.", "a a . a .."),
        ("a/..b", "/ab/", "a/..b ..b a a/..b/ab ERR Rel: can't make /ab/ relative to a/..b"),
        ("b/./ba", "././a", "b/ba ba b b/ba/a ../../a"),
        ("aa", "/a/b/b../../..", "aa aa . aa/a ERR Rel: can't make /a/b/b../../.. relative to aa"),
        ("a.", "././.", "a. a. . a. .."),
        ("a/b/./", "/ba/b/", "a/b . a/b a/b/ba/b ERR Rel: can't make /ba/b/ relative to a/b/./"),
        ("a///./b", "//ba", "a/b b a a/b/ba ERR Rel: can't make //ba relative to a///./b"),
        ("///a", "/baa/b/", "/a a / /a/baa/b ../baa/b"),
        ("/b", "//a", "/b b / /b/a ../a"),
        ("b", "/bb//a", "b b . b/bb/a ERR Rel: can't make /bb//a relative to b"),
        ("/.a", "/..a/a", "/.a .a / /.a/..a/a ../..a/a"),
        ("a/.", "/./a", "a . a a/a ERR Rel: can't make /./a relative to a/."),
        ("a/b.b", "/", "a/b.b b.b a a/b.b ERR Rel: can't make / relative to a/b.b"),
        ("..", "/a/b/../../..", ".. .. . ../.. ERR Rel: can't make /a/b/../../.. relative to .."),
        ("", "a./", ". . . a. a."),
        ("/.////./c", "a", "/c c / /c/a ERR Rel: can't make a relative to /.////./c"),
        (
            ".",
            "//../a/b/../../..",
            ". . . ../.. ERR Rel: can't make //../a/b/../../.. relative to .",
        ),
        ("b../b", "a/b/./", "b../b b b.. b../b/a/b ../../a/b"),
        ("./", "a/b.b", ". . . a/b.b a/b.b"),
        ("/a.", "/a.", "/a. a. / /a./a. ."),
        ("/a//.a.b/../..", "/", "/ .. /a / ."),
        ("..a", "/a//./", "..a ..a . ..a/a ERR Rel: can't make /a//./ relative to ..a"),
        ("//../a", "a//bb.c", "/a a / /a/a/bb.c ERR Rel: can't make a//bb.c relative to //../a"),
        ("///b/", "/b./a/", "/b b /b /b/b./a ../b./a"),
        ("aa.", "a..", "aa. aa. . aa./a.. ../a.."),
        ("/aa/b/", "///a", "/aa/b b /aa/b /aa/b/a ../../a"),
        ("/", "b", "/ / / /b ERR Rel: can't make b relative to /"),
    ];
    for (first, second, expected) in cases {
        let way = rel(first, second).unwrap_or_else(|error| format!("ERR {error}"));
        let joined = join(&[first, second]);
        let found = format!("{} {} {} {joined} {way}", clean(first), base(first), dir(first));
        assert_eq!(found, expected, "{first:?} {second:?}");
    }
}

#[test]
fn joining_nothing_gives_nothing() {
    assert_eq!(join::<&str>(&[]), "");
    assert_eq!(join(&["", ""]), "");
    assert_eq!(join(&["a", "/b", "../c"]), "a/c");
    assert_eq!((abs("/cwd", "../a"), abs("/cwd", "/x/./y")), ("/a".to_owned(), "/x/y".to_owned()));
}

#[test]
fn children_are_found_by_whole_elements() {
    for (dir, file, expected) in [
        ("/a", "/a", Some(".")),
        ("/a", "/a/b/c", Some("b/c")),
        ("/a/", "/a/./b", Some("b")),
        ("/a", "/ab", None),
        ("/a/b", "/a", None),
        ("/", "/a", Some("a")),
        ("", "/a", None),
    ] {
        assert_eq!(child(dir, file).as_deref(), expected, "{dir} {file}");
    }
    assert!(is_child_of_one(&["/x", "/a"], "/a/b"));
}

#[test]
fn links_are_followed_to_their_end() {
    let world = HashMap::from([
        ("/d", Link::Directory),
        ("/d/f", Link::Other),
        ("/l", Link::Symlink("d".to_owned())),
        ("/abs", Link::Symlink("/d/f".to_owned())),
        ("/up", Link::Symlink("d/../l/f".to_owned())),
        ("/loop", Link::Symlink("loop".to_owned())),
        ("/gone", Link::Symlink("nowhere".to_owned())),
        ("rel", Link::Symlink("../x".to_owned())),
        ("../x", Link::Other),
    ]);
    let look = |path: &str| world.get(path).cloned().ok_or(io::ErrorKind::NotFound.into());
    for (path, expected) in [
        ("/", "/"),
        ("/d", "/d"),
        ("/l/f", "/d/f"),
        ("/l/../l/./f", "/d/f"),
        ("/abs", "/d/f"),
        ("/up", "/d/f"),
        ("/loop", "EvalSymlinks: too many links"),
        ("/gone", "lstat /nowhere: no such file or directory"),
        ("/d/x/y", "lstat /d/x: no such file or directory"),
        ("/d/f/y", "not a directory"),
        ("rel", "../x"),
        ("", "."),
    ] {
        let found = eval_symlinks(path, look).unwrap_or_else(|error| error.to_string());
        assert_eq!(found, expected, "{path}");
    }
}

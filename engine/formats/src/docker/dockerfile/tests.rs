//! Which images Dockerfiles name, compared with what Tilt finds.

use super::*;

fn check(text: &str, build_args: &[&str], expected: &str) {
    let found = match find_images(text, build_args) {
        Ok(images) => images.iter().map(Reference::familiar).collect::<Vec<_>>().join(";"),
        Err(error) => error.to_string(),
    };
    assert_eq!(found, expected, "{text:?} {build_args:?}");
}

/// The expectations were recorded from Tilt.
const CASES: &[(&str, &[&str], &str)] = &[
    ("FROM a", &[], "a"),
    ("from a AS b\nFROM b", &[], "a;b"),
    ("ARG X=1\nFROM a:$X", &[], "a:1"),
    ("ARG X=1\nFROM a:$X", &["X=arg", "Y"], "a:arg"),
    ("ARG X=1\nFROM a:$X", &["X"], ""),
    ("ARG X=1\nFROM a:${X}", &[], "a:1"),
    ("ARG X=1\nFROM a:${X}", &["X=arg", "Y"], "a:arg"),
    ("ARG X=1\nFROM a:${X}", &["X"], ""),
    ("FROM a:${X:-y}", &[], "a:y"),
    ("FROM a:${X:-y}", &["X=arg", "Y"], "a:arg"),
    ("FROM a:${X:+y}", &[], ""),
    ("FROM a:${X:+y}", &["X=arg", "Y"], "a:y"),
    ("ARG X\nFROM a:${X:-y}", &[], "a:y"),
    ("ARG X\nFROM a:${X:-y}", &["X=arg", "Y"], "a:arg"),
    ("ARG X=\nFROM a:${X-y}", &[], ""),
    ("ARG X=\nFROM a:${X-y}", &["X=arg", "Y"], "a:arg"),
    ("ARG X=abc\nFROM a:${X#a}", &[], "a:bc"),
    ("ARG X=abc\nFROM a:${X#a}", &["X=arg", "Y"], "a:rg"),
    ("ARG X=abc\nFROM a:${X#a}", &["X"], ""),
    ("ARG X=abcabc\nFROM a:${X%%b*}", &[], "a:a"),
    ("ARG X=abcabc\nFROM a:${X%%b*}", &["X=arg", "Y"], "a:arg"),
    ("ARG X=abcabc\nFROM a:${X%%b*}", &["X"], ""),
    ("ARG X=abcabc\nFROM a:${X%b*}", &[], "a:abca"),
    ("ARG X=abcabc\nFROM a:${X%b*}", &["X=arg", "Y"], "a:arg"),
    ("ARG X=abcabc\nFROM a:${X%b*}", &["X"], ""),
    ("ARG X=abcabc\nFROM a:${X##*b}", &[], "a:c"),
    ("ARG X=abcabc\nFROM a:${X##*b}", &["X=arg", "Y"], "a:arg"),
    ("ARG X=abcabc\nFROM a:${X##*b}", &["X"], ""),
    ("ARG X=a.b.c\nFROM x:${X//./-}", &[], "x:a-b-c"),
    ("ARG X=a.b.c\nFROM x:${X//./-}", &["X=arg", "Y"], "x:arg"),
    ("ARG X=a.b.c\nFROM x:${X//./-}", &["X"], ""),
    ("ARG X=a.b.c\nFROM x:${X/./-}", &[], "x:a-b.c"),
    ("ARG X=a.b.c\nFROM x:${X/./-}", &["X=arg", "Y"], "x:arg"),
    ("ARG X=a.b.c\nFROM x:${X/./-}", &["X"], ""),
    ("FROM --platform=linux/amd64 a", &[], "a"),
    ("FROM --platform=$B a AS x", &[], "a"),
    ("FROM --foo a", &[], "a"),
    ("FROM \\\n a", &[], "a"),
    ("FROM a \\\n AS \\\n b", &[], "a"),
    ("# escape=`\nFROM a `\n AS b", &[], "a"),
    ("# syntax=x\n# escape=\\\nFROM a", &[], "a"),
    (
        "# escape=x\nFROM a",
        &[],
        r"dockerfile.ParseAST: invalid escape token 'x' does not match ` or \",
    ),
    (
        "# escape=`\n# escape=`\nFROM a",
        &[],
        "dockerfile.ParseAST: only one escape parser directive can be used",
    ),
    ("", &[], "dockerfile.ParseAST: file with no instructions"),
    ("# c\n", &[], "dockerfile.ParseAST: file with no instructions"),
    ("RUN <<EOF\nx\nEOF\nFROM a", &[], "a"),
    ("RUN <<-EOF\n\tx\n\tEOF\nFROM a", &[], "a"),
    ("RUN <<EOF\nx", &[], "dockerfile.ParseAST: unterminated heredoc"),
    ("RUN <<'E F'\nx\nE F\nFROM q", &[], "q"),
    ("COPY --from=b x y", &[], "b"),
    ("FROM a\nCOPY --from=b x y", &[], "a;b"),
    ("FROM a\nCOPY --from=b --chown=c x y", &[], "a;b"),
    ("FROM a\nCOPY --from=b x", &[], "a"),
    ("FROM a\nCOPY --from=b --from=c x y", &[], "a"),
    ("FROM a\nCOPY --frm=b x y", &[], "a"),
    ("FROM a\nCOPY --from=b [\"x\", \"y\"]", &[], "a;b"),
    ("FROM a\nADD --from=b x y", &[], "a"),
    (
        "FROM a\nRUN [1]",
        &[],
        "dockerfile.ParseAST: when using JSON array syntax, arrays must be comprised of strings only",
    ),
    (
        "FROM a\nRUN [\"a\", 1]",
        &[],
        "dockerfile.ParseAST: when using JSON array syntax, arrays must be comprised of strings only",
    ),
    ("FROM a\nRUN [\"a\"", &[], "a"),
    ("FROM a\nENV x", &[], "dockerfile.ParseAST: ENV must have two arguments"),
    ("FROM a\nENV x y z", &[], "a"),
    (
        "FROM a\nENV a=1 b",
        &[],
        r#"dockerfile.ParseAST: Syntax error - can't find = in "b". Must be of the form: name=value"#,
    ),
    ("FROM a\nLABEL x", &[], "dockerfile.ParseAST: LABEL must have two arguments"),
    ("FROM a\nLABEL a=\"b c\" d='e f'", &[], "a"),
    ("FROM a\nONBUILD ENV x", &[], "dockerfile.ParseAST: ENV must have two arguments"),
    ("FROM a\nONBUILD FROM b", &[], "a"),
    ("FROM a\nONBUILD RUN <<EOF\nx\nEOF\nFROM b", &[], "a;b"),
    ("FROM a b", &[], "a"),
    ("FROM a as 1b", &[], "a"),
    ("FROM a as b c", &[], "a"),
    ("FROM", &[], ""),
    ("FROM ", &[], ""),
    ("FROM A", &[], ""),
    ("FROM $X", &[], ""),
    ("FROM $X", &["X=arg", "Y"], "arg"),
    ("FROM ${", &[], ""),
    ("FROM ${X", &[], ""),
    ("FROM ${X:?err}", &[], ""),
    ("FROM ${X:?err}", &["X=arg", "Y"], "arg"),
    ("FROM ${X?}", &[], ""),
    ("FROM ${X?}", &["X=arg", "Y"], "arg"),
    (r#"FROM "a""#, &[], "a"),
    ("FROM 'a'", &[], "a"),
    ("FROM a$", &[], ""),
    ("FROM a:$1", &[], ""),
    ("ARG A=1 B=$A\nFROM a:$B", &[], "a:1"),
    ("ARG A=1\nARG B=$A\nFROM a:$B", &[], ""),
    ("ARG A=1\nARG A=2\nFROM a:$A", &[], "a:1"),
    ("FROM a\nARG Z=q\nFROM $Z", &[], "a;q"),
    ("ARG A=\"x y\"\nFROM a:$A", &[], ""),
    ("ARG A='$X'\nFROM a:$A", &[], ""),
    ("ARG =x\nFROM a", &[], "a"),
    ("FROMM a\nFROM b", &[], "b"),
    (
        "HEALTHCHECK CMD [1]\nFROM a",
        &[],
        "dockerfile.ParseAST: when using JSON array syntax, arrays must be comprised of strings only",
    ),
    ("HEALTHCHECK NONE\nFROM a", &[], "a"),
    ("FROM a\n\n\n# c\nRUN x \\\n# c\n\n y\nFROM c", &[], "a;c"),
    ("\u{feff}FROM a", &[], "a"),
    ("FROM a\r\nFROM b\r\n", &[], "a;b"),
    ("  FROM a", &[], "a"),
    (r"FROM a\", &[], "a"),
    ("FROM a\\\\\nFROM b", &[], "b"),
    ("\\\nFROM a", &[], "a"),
    ("FROM scratch", &[], "scratch"),
    (
        "FROM a@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        &[],
        "a@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    ),
    ("FROM ${R:-gcr.io}/x:${T:-${U:-1}}", &[], "gcr.io/x:1"),
    ("FROM a\nCOPY --from=b <<EOF /x\nhi\nEOF\nFROM c", &[], "a;b;c"),
    ("FROM a\nCOPY --from=b x <<EOF\nhi\nEOF\nFROM c", &[], "a;c"),
    ("ARG X=\u{e9}\nFROM a:${X}", &[], ""),
    ("ARG X=\u{e9}\nFROM a:${X}", &["X=arg", "Y"], "a:arg"),
    (
        "FROM a\nVOLUME [1]",
        &[],
        "dockerfile.ParseAST: when using JSON array syntax, arrays must be comprised of strings only",
    ),
    (
        "FROM a\nSHELL [\"a\", {}]",
        &[],
        "dockerfile.ParseAST: when using JSON array syntax, arrays must be comprised of strings only",
    ),
    ("FROM a\nRUN echo <<", &[], "a"),
    ("FROM a\nRUN echo \"<<EOF\nFROM b", &[], "a;b"),
    ("FROM a\nRUN cat <<A <<B\na\nA\nb\nB\nFROM z", &[], "a;z"),
    ("FROX $X", &[], ""),
    ("  FR\nM` a", &[], ""),
    ("FROM a\nRU' echo< <<", &[], "a"),
    ("FROM a\nRRUN echo \"<$EOF\nFROM b", &[], "a;b"),
];

#[test]
fn images_are_found_where_tilt_finds_them() {
    for (text, build_args, expected) in CASES {
        check(text, build_args, expected);
    }
}

#[test]
fn long_lines_are_refused() {
    let error = "dockerfile.ParseAST: dockerfile line greater than max allowed size of 65535";
    check(&format!("FROM a\nRUN {}\nFROM b", "x".repeat(65_532)), &[], error);
    check(&format!("FROM a\nRUN {}\nFROM b", "x".repeat(65_531)), &[], "a;b");
}

#[test]
fn deep_nesting_does_no_harm() {
    check(&format!("FROM {}x{}", "${A:-".repeat(5_000), "}".repeat(5_000)), &[], "");
    check(&format!("FROM a\nONBUILD{}", " \\\nONBUILD".repeat(50_000)), &[], "a");
}

#[test]
fn built_images_are_put_in() {
    let replace = |text: &str, selector: &str, args: &[&str]| {
        let mut dockerfile = Dockerfile::parse(text).unwrap();
        let selector = RefSelector::new(Reference::parse(selector).unwrap());
        let built = Reference::parse("gcr.io/built:tilt-1").unwrap();
        let replaced = dockerfile.replace_image(&selector, &built, args);
        (replaced, dockerfile.to_string())
    };
    for (text, selector, expected) in [
        ("FROM base AS x\nRUN  a\n", "base", "FROM gcr.io/built:tilt-1 AS x\nRUN  a\n"),
        (
            "# syntax=docker/dockerfile:1\n\n# why\nARG T=base\nfrom --platform=linux/amd64 $T\n",
            "base",
            "# syntax = docker/dockerfile:1\n\n\nARG T=base\nFROM --platform=linux/amd64 gcr.io/built:tilt-1\n",
        ),
        (
            "FROM a\nCOPY --from=base --link [\"x y\", \"z\"]\nRUN <<EOF\nhi\nEOF\n",
            "base",
            "FROM a\nCOPY --from=gcr.io/built:tilt-1 --link [\"x y\", \"z\"]\nRUN <<EOF\nhi\nEOF\n",
        ),
    ] {
        assert_eq!(replace(text, selector, &[]), (true, expected.to_owned()));
    }
    assert!(!replace("FROM a", "base", &[]).0);
    assert!(replace("ARG T\nFROM $T", "base", &["T=base"]).0);
}

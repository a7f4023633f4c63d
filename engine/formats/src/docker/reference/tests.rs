//! How references are read, compared with what Docker makes of them.

use super::*;

fn check(text: &str, expected: &str) {
    let found = match Reference::parse(text) {
        Ok(reference) => format!("{reference} {}", reference.familiar()),
        Err(error) => error.to_string(),
    };
    assert_eq!(found, expected, "{text}");
}

/// The expectations were recorded from Docker's own implementation.
const CASES: &[(&str, &str)] = &[
    ("foo", "docker.io/library/foo foo"),
    ("foo:v1", "docker.io/library/foo:v1 foo:v1"),
    ("gcr.io/foo/bar:v1", "gcr.io/foo/bar:v1 gcr.io/foo/bar:v1"),
    ("localhost/x", "localhost/x localhost/x"),
    ("localhost:5000/x", "localhost:5000/x localhost:5000/x"),
    ("UPPER", "invalid reference format: repository name (library/UPPER) must be lowercase"),
    ("Foo/bar", "Foo/bar Foo/bar"),
    ("index.docker.io/a", "docker.io/library/a a"),
    ("docker.io/library/x", "docker.io/library/x x"),
    ("docker.io/library/a/b", "docker.io/library/a/b library/a/b"),
    (
        "foo@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "docker.io/library/foo@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef foo@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    ),
    (
        "foo:t@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "docker.io/library/foo:t@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef foo:t@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    ),
    ("a__b", "docker.io/library/a__b a__b"),
    ("a---b", "docker.io/library/a---b a---b"),
    ("a..b", "invalid reference format"),
    ("[::1]:5000/x", "[::1]:5000/x [::1]:5000/x"),
    ("a b", "invalid reference format"),
    ("", "invalid reference format"),
    (
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "invalid repository name (0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef), cannot specify 64-byte hexadecimal strings",
    ),
    ("x:5000", "docker.io/library/x:5000 x:5000"),
    ("x/y:5000/z", "invalid reference format"),
    (
        "foo@sha512:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "invalid checksum digest length",
    ),
    ("foo@md5:0123456789abcdef0123456789abcdef", "unsupported digest algorithm"),
    (
        "foo@SHA256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "invalid reference format: repository name (library/foo@SHA256) must be lowercase",
    ),
    (
        "foo@sha256:0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF",
        "invalid checksum digest format",
    ),
    ("é/b", "invalid reference format"),
    (
        "foo:xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "invalid reference format",
    ),
    (
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "repository name must not be more than 255 characters",
    ),
    ("library/x", "docker.io/library/x x"),
    ("a.b/library/c", "a.b/library/c a.b/library/c"),
    ("registry-1.docker.io/foo", "registry-1.docker.io/foo registry-1.docker.io/foo"),
    ("a.b/libary/ c", "invalid reference format"),
    ("index.doker.io/", "invalid reference format"),
    ("foo@sha512:0123456789abcdef0123456789abcdef012345", "invalid checksum digest length"),
    (
        "foo@sha256:0123456789ABCDEF0_123456789ABCDEF123456789ABCDEF0123456789ABCDEF",
        "invalid reference format",
    ),
    (
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "repository name must not be more than 255 characters",
    ),
    ("foo:v1é/b", "invalid reference format"),
    ("library/[x", "invalid reference format"),
    ("lZclhooo", "invalid reference format: repository name (library/lZclhooo) must be lowercase"),
    (
        "x/y:5000/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "invalid reference format",
    ),
    ("localéhost:000/", "invalid reference format"),
    ("Foobéar", "invalid reference format: repository name (library/Foobéar) must be lowercase"),
    (
        "foo@SHA256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde0",
        "invalid reference format: repository name (library/foo@SHA256) must be lowercase",
    ),
    (
        "registry-1.do9abcd@ef0123456789abcdef0123456789abcdef0123456789abcdef",
        "invalid reference format",
    ),
    ("/def0123456789abcdef", "invalid reference format"),
    (
        "aaaaaaaaaaaa/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaha256:0123456789abcdef0123456789abcdef01234io/a",
        "invalid reference format",
    ),
    (
        "foo:t@sha256:0123456789abcdef0123456789abcdef012345689a/cdef0123456789abcdef",
        "invalid reference format",
    ),
    (
        "foo@sha2563456789abcdef012345678abcdef0123456789abcdef0123456789abcdef",
        "invalid reference format",
    ),
    ("fker.io:/library:/x", "invalid reference format"),
    (
        "foo@S-A256:0123456789abcdef0123456789abcdef0123456789abcde:f012345678 9abcdef",
        "invalid reference format: repository name (library/foo@S-A256) must be lowercase",
    ),
    ("xé5000", "invalid reference format"),
    ("[::-]:0.00/x", "invalid reference format"),
    ("a @", "invalid reference format"),
    ("ocker.io/l[bary/a/b", "invalid reference format"),
    ("a]", "invalid reference format"),
    ("a --b_", "invalid reference format"),
    ("_registry-1.docker.io/foo", "invalid reference format"),
    ("x/y:5000]z", "invalid reference format"),
    ("[:::50_0/x", "invalid reference format"),
    (
        "foo@SHA256:0123456789abcdef0123456789abce0123456789abcdef0123456789abcdef",
        "invalid reference format: repository name (library/foo@SHA256) must be lowercase",
    ),
    (
        "foo:t@sha256:0123456789ab.defxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx:1]:5000/x",
        "invalid reference format",
    ),
    (
        "U ABCDEF0123456789ABCDEF",
        "invalid reference format: repository name (library/U ABCDEF0123456789ABCDEF) must be lowercase",
    ),
    (
        "foo@SHA256:0123456789abcdef0123456789abcdef0123456789abcdef0123]56789abcdef",
        "invalid reference format: repository name (library/foo@SHA256) must be lowercase",
    ),
    ("ockeé.io/library/x", "invalid reference format"),
    ("loc[lhost/x", "invalid reference format"),
    (
        "foo:xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_xxxxxxxxxxxxx]xxxxxxxxxxxxxxxxx",
        "invalid reference format",
    ),
    ("localhost/[x", "invalid reference format"),
    ("[::1]:/0:0a/x", "invalid reference format"),
    (
        "aaaaaaaaaaa@aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/b",
        "invalid reference format",
    ),
    ("UP_aR", "invalid reference format: repository name (library/UP_aR) must be lowercase"),
    (
        "foo@sha256:0123456789abc-ef01é3456789abcdef0123456789abcdef023456789abcdef",
        "invalid reference format",
    ),
    (
        "foo@sha512:0123456789abcdef0123456789abcdef0123456789abcdef01234é6789abcdef",
        "invalid reference format",
    ),
    (".b", "invalid reference format"),
    (
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "repository name must not be more than 255 characters",
    ),
    (
        "foo@SHA256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdeé",
        "invalid reference format: repository name (library/foo@SHA256) must be lowercase",
    ),
];

#[test]
fn references_are_normalized_like_docker_does() {
    for (text, expected) in CASES {
        check(text, expected);
    }
}

#[test]
fn a_canonical_reference_is_written_in_full() {
    for (text, expected) in [
        ("gcr.io/foo", "ok"),
        ("docker.io/library/foo", "ok"),
        ("foo", "repository name must be canonical"),
        ("docker.io/foo", "repository name must be canonical"),
        ("A.b/C", "invalid reference format: repository name (C) must be lowercase"),
    ] {
        let found =
            Reference::parse_canonical(text).map_or_else(|e| e.to_string(), |_| "ok".to_owned());
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn tags_can_be_exchanged() {
    let reference = Reference::parse("gcr.io/foo:v1").unwrap();
    assert_eq!(reference.with_tag("v2").unwrap().to_string(), "gcr.io/foo:v2");
    assert_eq!(reference.name_only().to_string(), "gcr.io/foo");
    assert_eq!(reference.with_tag("a b"), Err(ReferenceError::InvalidTag));
}

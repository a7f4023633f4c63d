//! How extensions and their repositories are found, run and removed.

use expect_test::expect;

use super::check;

#[test]
fn an_extension_of_a_folder_runs() {
    check(&expect![[r#"
        > repo r file:///ext
          find folder of r: /ext
        > extension e r hello args=x
          publish Extension e
        > status extension e
          Some(Err("extension repo not loaded: r"))
        > fetched r /ext
          find e: /ext/hello/Tiltfile
          publish ExtensionRepo r
        > status repo r
          Some(Ok(Fetched { path: "/ext", at: Some(Time(0)) }))
        > missing e /ext/hello/Tiltfile
          Error [(Tiltfile)] extension e: no extension tiltfile found at /ext/hello/Tiltfile
          publish Extension e
        > status extension e
          Some(Err("no extension tiltfile found at /ext/hello/Tiltfile"))
        > repo r file:///ext
          find folder of r: /ext
        > fetched r /ext
          find e: /ext/hello/Tiltfile
          publish ExtensionRepo r
        > missing e /ext/hello/Tiltfile
          publish Extension e
        > found e /elsewhere/Tiltfile
        > found e /ext/hello/Tiltfile
          put Tiltfile e: /ext/hello/Tiltfile ["x"]
          publish Extension e
        > status extension e
          Some(Ok("/ext/hello/Tiltfile"))
        > tiltfile e /ext/hello/Tiltfile extension
          declare e: /ext/hello/Tiltfile
          load e: Initial Build []
        > remove extension e
          remove Tiltfile e
        > remove tiltfile e
          cancel load
          forget e
    "#]]);
}

#[test]
fn a_folder_must_be_absolute_and_has_no_versions() {
    check(&expect![[r#"
        > repo r file://ext
          Error [(Tiltfile)] extensionrepo r: file paths must be absolute. Url: file://ext
          publish ExtensionRepo r
        > repo r file://ext
          publish ExtensionRepo r
        > repo r file:///ext v1
          Error [(Tiltfile)] extensionrepo r: spec.ref not supported on file:// repos
          publish ExtensionRepo r
        > repo r file:///ext
          find folder of r: /ext
        > unfetched r loading: not a directory
          Error [(Tiltfile)] extensionrepo r: loading: not a directory
          publish ExtensionRepo r
        > status repo r
          Some(Err("loading: not a directory"))
    "#]]);
}

#[test]
fn a_git_repository_is_fetched_if_an_extension_waits_for_it() {
    check(&expect![[r#"
        > repo r https://example.com/r v1
        > extension e r hello loaded
        > repo r https://example.com/r v1
        > extension f r ../../etc
          publish Extension f
        > repo r https://example.com/r v1
          fetch r: https://example.com/r v1
        > unfetched r no such host
          Error [(Tiltfile)] extensionrepo r: no such host
          publish ExtensionRepo r, Extension f
        > unfetched r no such host
          publish ExtensionRepo r, Extension f
        > fetched r /cache/r
          Error [(Tiltfile)] extension f: invalid repo path: ../../etc
          find e: /cache/r/hello/Tiltfile
          publish ExtensionRepo r, Extension f
        > status extension e
          None
        > status extension f
          Some(Err("invalid repo path: ../../etc"))
        > found e /cache/r/hello/Tiltfile
          publish Extension e
    "#]]);
}

#[test]
fn what_a_tiltfile_loaded_from_need_not_be_fetched() {
    check(&expect![[r#"
        > repo r https://example.com/r sub=exts
        > extension e r hello
          publish Extension e
        > loaded https://example.com/r /cache/r
          find e: /cache/r/exts/hello/Tiltfile
          publish ExtensionRepo r
        > loaded https://example.com/r /cache/r
        > loaded https://example.com/other /cache/o
    "#]]);
}

#[test]
fn an_extension_goes_with_its_repository() {
    check(&expect![[r#"
        > repo r file:///ext
          find folder of r: /ext
        > extension e r hello
          publish Extension e
        > fetched r /ext
          find e: /ext/hello/Tiltfile
          publish ExtensionRepo r
        > found e /ext/hello/Tiltfile
          put Tiltfile e: /ext/hello/Tiltfile []
          publish Extension e
        > tiltfile e /ext/hello/Tiltfile extension
          declare e: /ext/hello/Tiltfile
          load e: Initial Build []
        > remove repo r
          remove Tiltfile e
          publish Extension e
        > status extension e
          Some(Err("extension repo not found: r"))
    "#]]);
}

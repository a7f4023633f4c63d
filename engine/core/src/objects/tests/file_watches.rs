//! Which files are watched, and what their changes lead to.

use expect_test::expect;

use super::{check, script};
use crate::{live_update::Found, objects::WatchedFiles};

#[test]
fn files_of_what_takes_part_are_watched() {
    check(&expect![[r#"
        > load a b/k8s,image
        > targets local:a k8s:b local:ghost image:shared image:other configs:(Tiltfile)
          watch [local:a k8s:b image:shared configs:(Tiltfile)]
        > map b-disable isDisabled=false
        > map b-disable isDisabled=true
          Info [b] Resource "b" disabled. To enable/disable it, use the Tilt Web UI.
          watch [local:a configs:(Tiltfile)]
        > status watch k8s:b
          not watched
        > map b-disable isDisabled=false
          Info [b] Resource "b" enabled. To enable/disable it, use the Tilt Web UI.
          watch [local:a k8s:b image:shared configs:(Tiltfile)]
        > targets
          watch []
    "#]]);
}

#[test]
fn of_a_load_that_failed_only_the_files_of_the_tiltfile_count() {
    check(&expect![[r#"
        > load a b
        > targets local:a configs:(Tiltfile)
          watch [local:a configs:(Tiltfile)]
        > failed-targets local:b configs:(Tiltfile)
        > failed-targets local:b
          watch [local:a]
    "#]]);
}

#[test]
fn objects_of_clients_are_watched_unless_they_are_switched_off() {
    check(&expect![[r#"
        > watch w off=m
          watch [w]
          publish FileWatch w
        > started w
          publish FileWatch w
        > status watch w
          Pending since 0: NoConfigMap { map: "m" }
          started Some(0), last None, listed [], 0 unlisted, error ""
        > map m off=true
          watch []
          publish FileWatch w
        > status watch w
          Disabled since 0: Says { map: "m", key: "off", is_disabled: true }
          not watched
        > changed w /src/a
        > map m off=false
          watch [w]
          publish FileWatch w
        > status watch w
          Enabled since 0: Says { map: "m", key: "off", is_disabled: false }
          started None, last None, listed [], 0 unlisted, error ""
        > watch local:a target
          publish FileWatch local:a
        > status watch local:a
          Enabled since 0: Unspecified
          not watched
        > remove watch w
          watch []
    "#]]);
}

#[test]
fn what_goes_wrong_is_shown_until_it_is_right_again() {
    check(&expect![[r#"
        > load a
        > targets local:a
          watch [local:a]
        > failed local:a too many files
          Warn [a] too many files
          publish FileWatch local:a
        > status watch local:a
          started None, last None, listed [], 0 unlisted, error "too many files"
        > recovered local:a
          publish FileWatch local:a
        > status watch local:a
          started None, last None, listed [], 0 unlisted, error ""
        > failed local:a again
          Warn [a] again
          publish FileWatch local:a
        > started local:a
          publish FileWatch local:a
        > status watch local:a
          started Some(0), last None, listed [], 0 unlisted, error ""
        > failed local:ghost nobody cares
    "#]]);
}

#[test]
fn changes_reach_resources_images_and_tiltfiles() {
    check(&expect![[r#"
        > load a b/image
        > tiltfile (Tiltfile) /Tiltfile files=configs:(Tiltfile) files=w
          declare (Tiltfile): /Tiltfile
        > targets local:a image:shared configs:(Tiltfile)
          watch [local:a image:shared configs:(Tiltfile)]
        > watch w
          watch [local:a image:shared configs:(Tiltfile) w]
          publish FileWatch w
        > +1
        > changed local:a /a
          publish FileWatch local:a
        > changed image:shared /b
          inputs of shared changed
          publish FileWatch image:shared
        > changed configs:(Tiltfile) /Tiltfile
          load (Tiltfile): Changed Files [/Tiltfile]
          publish FileWatch configs:(Tiltfile)
        > load a b/image
        > +1
        > changed w /w
          load (Tiltfile): Changed Files [/w]
          publish FileWatch w
    "#]]);
}

#[test]
fn a_tiltfile_that_changes_what_it_reads_pauses_more_and_more() {
    let rounds = "> +1\n> own configs:(Tiltfile) /x\n> load\n".repeat(10);
    let head = "> load\n> tiltfile (Tiltfile) /Tiltfile files=configs:(Tiltfile)\n> targets configs:(Tiltfile)\n";
    let tail = "> +1\n> own configs:(Tiltfile) /a /b /c /d /e /f\n> +999\n> +1\n> load\n> +1\n\
                > own configs:(Tiltfile) /x\n> +1999\n> +1\n> load\n> +1\n> changed configs:(Tiltfile) /y\n";
    let out = script::run(&format!("{head}{rounds}{tail}"));
    let from = out.find("/a /b").expect("it is there");
    expect![[r#"
        /a /b /c /d /e /f
          Warn [(Tiltfile)] Each run of the Tiltfile changes a file that it reads, which triggers the next run: /a, /b, /c, /d, /e, .... From now on, there are pauses between them.
          publish FileWatch configs:(Tiltfile)
        > +999
        > +1
          load (Tiltfile): Changed Files [/a /b /c /d /e /f]
        > load
        > +1
        > own configs:(Tiltfile) /x
          publish FileWatch configs:(Tiltfile)
        > +1999
        > +1
          load (Tiltfile): Changed Files [/x]
        > load
        > +1
        > changed configs:(Tiltfile) /y
          load (Tiltfile): Changed Files [/y]
          publish FileWatch configs:(Tiltfile)
    "#]].assert_eq(&out[from..]);
}

#[test]
fn only_so_many_batches_and_files_are_remembered() {
    let mut watched = WatchedFiles::default();
    let file = |it: usize| (format!("/w/{it}").as_str().into(), Found::PRESENT);
    let files = |n: usize| (0..n).map(file).collect::<Vec<_>>();
    for n in 0..30 {
        watched.saw(crate::Time(n), &files(1));
    }
    assert_eq!((watched.events.len(), watched.n_unlisted()), (20, 0));
    watched.saw(crate::Time(30), &files(990));
    let listed: Vec<usize> = watched.events.iter().map(|it| it.files.len()).collect();
    assert_eq!(listed.iter().sum::<usize>(), 1_000);
    assert_eq!(listed[..10], [0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!((watched.n_unlisted(), watched.last_event), (9, Some(crate::Time(30))));
    watched.saw(crate::Time(31), &files(1_001));
    assert_eq!(watched.events.back().map(|it| (it.files.len(), it.n_unlisted)), Some((1_000, 1)));
}

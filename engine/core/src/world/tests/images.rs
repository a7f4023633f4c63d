//! Builds of images, and when Docker is pruned.

use expect_test::expect;

use super::check;

#[test]
fn a_build_goes_on_until_it_ends_well() {
    check(&expect![[r#"
        > load a/compose,image
          update a: Initial Build
        > builds a
          deployed as None
        > building a
        > builds a
          shared since 0: None
          deployed as None
        > +5
        > image-built a
        > ok a
        > builds a
          shared since 5000: Some((5000, Ok("shared:1")))
          deployed as Some("shared:deployed")
    "#]]);
}

#[test]
fn a_build_that_fails_says_why_and_the_image_stays_what_it_was() {
    check(&expect![[r#"
        > load a/compose,image
          update a: Initial Build
        > image-built a
        > ok a
        > trigger a
          update a: CLI Trigger, full rebuild
        > building a
        > image-failed a
        > fail a
          a | build:2 Error: Build Failed: boom
        > builds a
          shared since 0: Some((0, Err("no space left")))
          deployed as Some("shared:deployed")
    "#]]);
}

#[test]
fn builds_of_an_update_that_failed_or_was_canceled_are_over() {
    check(&expect![[r#"
        > load a/compose,image
          update a: Initial Build
        > building a
        > stop a
          cancel a
        > +5
        > fail a
          a | build:1 Error: Build Failed: boom
        > builds a
          shared since 0: Some((5000, Err("boom")))
          deployed as None
        > trigger a
          update a: CLI Trigger, full rebuild
        > building a
        > ok a
        > builds a
          shared since 5000: None
          deployed as None
    "#]]);
}

#[test]
fn images_that_no_resource_has_any_more_are_forgotten() {
    check(&expect![[r#"
        > load a/compose,image b/compose,image
          update a: Initial Build
          b waits: building-component [shared]
        > image-built a
        > ok a
          update b: Initial Build
        > ok b
        > edit x
          load (Tiltfile): changed x
        > load b/compose,image
          a is gone
        > builds b
          deployed as Some("shared:deployed")
        > edit x
          load (Tiltfile): changed x
        > load b/compose
          update b: changed x (Config Changed)
        > builds b
          deployed as None
    "#]]);
}

#[test]
fn docker_is_pruned_after_the_first_update_and_when_nothing_runs() {
    check(&expect![[r#"
        > load a/compose,image b/parallel
          update b: Initial Build
          update a: Initial Build
        > prune-every 2
        > ok a
        > ok b
          prune images of 2
        > trigger b
          update b: CLI Trigger, full rebuild
        > ok b
        > trigger b
          update b: CLI Trigger, full rebuild
        > ok b
        > pruned
          prune images of 2
        > trigger b
          update b: CLI Trigger, full rebuild
        > ok b
    "#]]);
}

#[test]
fn nothing_is_pruned_where_no_image_is_built() {
    check(&expect![[r#"
        > load a/compose
          update a: Initial Build
        > prune-every 1
        > ok a
    "#]]);
}

//! No change is lost, none is done twice.

use expect_test::expect;

use super::check;

#[test]
fn a_failed_update_is_not_tried_again() {
    check(&expect![[r#"
        > load a
          update a: Initial Build
        > fail a
          a | build:1 Error: Build Failed: boom
        > status
          a: update error, runtime not_applicable, up to date: UpdateError, ready: UpdateError
        > change a x
          update a: changed x
        > ok a
        > status
          a: update ok, runtime not_applicable, up to date: yes, ready: yes
    "#]]);
}

#[test]
fn a_change_during_an_update_causes_one_more() {
    check(&expect![[r#"
        > load a
          update a: Initial Build
        > change a x
        > change a x y
        > status
          a: update in_progress, runtime not_applicable, up to date: Unknown, ready: Unknown, pending changes
        > ok a
          update a: changed x y
        > status
          a: update in_progress, runtime not_applicable, up to date: Unknown, ready: Unknown, pending changes
        > ok a
    "#]]);
}

#[test]
fn a_change_seen_before_the_update_that_lists_it_is_known_to_it() {
    check(&expect![[r#"
        > load a
          update a: Initial Build
        > ok a
        > +10
        > change a x
          update a: changed x
        > +5
        > late 7 a x
        > late 7 a y
        > ok a
          update a: changed y
    "#]]);
}

#[test]
fn a_clock_that_was_set_back_loses_no_change() {
    check(&expect![[r#"
        > load a
          update a: Initial Build
        > ok a
        > +10
        > change a x
          update a: changed x
        > -1000
        > change a x
        > ok a
          update a: changed x
    "#]]);
}

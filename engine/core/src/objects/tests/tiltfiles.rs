//! When Tiltfile objects run, stop and go.

use expect_test::expect;

use super::check;

#[test]
fn a_tiltfile_object_runs_a_tiltfile() {
    check(&expect![[r#"
        > load
        > tiltfile t /t/Tiltfile args=x
          declare t: /t/Tiltfile
          load t: Initial Build []
        > load b
        > tiltfile t /elsewhere/Tiltfile args=x
          declare t: /elsewhere/Tiltfile
        > tiltfile t /elsewhere/Tiltfile args=y
          declare t: /elsewhere/Tiltfile
          load t: Tilt Args []
        > load b
        > remove tiltfile t
          removed b
          forget t
        > remove tiltfile ghost
    "#]]);
}

#[test]
fn clicks_start_and_stop_tiltfiles() {
    check(&expect![[r#"
        > load
        > tiltfile t /t/Tiltfile restart=go stop=halt
          declare t: /t/Tiltfile
          load t: Initial Build []
        > load
        > +1
        > click go at=1000
          load t: Unknown Trigger []
        > click halt at=1001
          cancel load
    "#]]);
}

//! When Cmd objects run, restart and stop.

use expect_test::expect;

use super::check;

#[test]
fn a_command_runs_when_it_is_made_and_when_it_is_changed() {
    check(&expect![[r#"
        > cmd c serve of=a
          run c #1: serve [a Cmd-c]
          publish Cmd c
        > status cmd c
          Enabled since 0: Unspecified
          Some(Starting)
        > run c
          publish Cmd c
        > ready c
          publish Cmd c
        > status cmd c
          Enabled since 0: Unspecified
          Some(Running { pid: 7, since: Time(0), is_ready: true, probe_error: "" })
        > cmd c serve of=a
        > cmd c serve again of=a
          stop c #1
        > status cmd c
          Enabled since 0: Unspecified
          Some(Running { pid: 7, since: Time(0), is_ready: true, probe_error: "" })
        > exit c
          run c #2: serve again [a Cmd-c]
          publish Cmd c
        > status cmd c
          Enabled since 0: Unspecified
          Some(Starting)
        > run c
          publish Cmd c
        > unready c
          publish Cmd c
        > exit c
          publish Cmd c
        > status cmd c
          Enabled since 0: Unspecified
          Ended 0, was ready: false
    "#]]);
}

#[test]
fn an_ended_run_remembers_that_it_was_ready() {
    check(&expect![[r#"
        > cmd c serve
          run c #1: serve [ Cmd-c]
          publish Cmd c
        > run c
          publish Cmd c
        > ready c
          publish Cmd c
        > exit c
          publish Cmd c
        > status cmd c
          Enabled since 0: Unspecified
          Ended 0, was ready: true
    "#]]);
}

#[test]
fn the_commands_of_resources_are_run_by_these() {
    check(&expect![[r#"
        > cmd a:update make by=update off=m
          publish Cmd a:update
        > status cmd a:update
          Pending since 0: NoConfigMap { map: "m" }
          Some(New)
        > cmd a-serve-1 serve by=server
          publish Cmd a-serve-1
        > map m off=true
          publish Cmd a:update
        > status cmd a:update
          Disabled since 0: Says { map: "m", key: "off", is_disabled: true }
          Some(New)
    "#]]);
}

#[test]
fn a_command_restarts_on_files_and_on_clicks_with_what_was_typed() {
    check(&expect![[r#"
        > watch w path=/src
          watch [w]
          publish FileWatch w
        > button b x
        > cmd c serve files=w restart=b
          run c #1: serve [ Cmd-c]
          publish Cmd c
        > run c
          publish Cmd c
        > +10
        > changed w /src/a
          stop c #1
          publish FileWatch w
        > exit c
          run c #2: serve [ Cmd-c]
          publish Cmd c
        > click b x=1 at=20000
          stop c #2
        > exit c
          run c #3: serve x=1 [ Cmd-c]
          publish Cmd c
        > click b x=1 at=20000
        > click b x=2 at=30000
          stop c #3
    "#]]);
}

#[test]
fn a_command_that_waits_for_a_click_runs_with_the_first_that_counts() {
    check(&expect![[r#"
        > cmd c serve start=b after=5500000
          publish Cmd c
        > status cmd c
          Enabled since 0: Unspecified
          Some(AwaitsClick)
        > click b x=1 at=4999999
          publish Cmd c
        > click b x=2 at=5000001
          run c #1: serve x=2 [ Cmd-c]
          publish Cmd c
        > status cmd c
          Enabled since 0: Unspecified
          Some(Starting)
        > run c
          publish Cmd c
        > cmd c serve again start=b after=5500000
          stop c #1
          publish Cmd c
        > status cmd c
          Enabled since 0: Unspecified
          Some(AwaitsClick)
        > exit c
          publish Cmd c
        > status cmd c
          Enabled since 0: Unspecified
          Some(AwaitsClick)
        > click b x=3 at=6000000
          run c #2: serve again x=3 [ Cmd-c]
          publish Cmd c
    "#]]);
}

#[test]
fn a_command_that_is_switched_off_ends_and_later_runs_anew() {
    check(&expect![[r#"
        > map m off=true
        > cmd c serve off=m
          publish Cmd c
        > status cmd c
          Disabled since 0: Says { map: "m", key: "off", is_disabled: true }
          Some(New)
        > map m off=false
          run c #1: serve [ Cmd-c]
          publish Cmd c
        > run c
          publish Cmd c
        > map m off=true
          stop c #1
          publish Cmd c
        > map m off=false
          stop c #1
          publish Cmd c
        > exit c
          run c #2: serve [ Cmd-c]
          publish Cmd c
        > run c
          publish Cmd c
        > map m off=true
          stop c #2
          publish Cmd c
        > exit c
          publish Cmd c
        > status cmd c
          Disabled since 0: Says { map: "m", key: "off", is_disabled: true }
          Ended 0, was ready: false
    "#]]);
}

#[test]
fn a_command_that_is_made_anew_waits_for_the_old_process() {
    check(&expect![[r#"
        > cmd c serve
          run c #1: serve [ Cmd-c]
          publish Cmd c
        > run c
          publish Cmd c
        > remove cmd c
          stop c #1
        > status cmd c
          None
        > cmd c serve
          stop c #1
          publish Cmd c
        > status cmd c
          Enabled since 0: Unspecified
          Some(New)
        > exit c
          run c #2: serve [ Cmd-c]
          publish Cmd c
        > remove cmd c
          stop c #2
        > exit c
          publish Cmd c
        > remove cmd c
    "#]]);
}

//! Whole Tiltfiles, for behavior that only a complete evaluation shows.

use std::sync::{Arc, Mutex};

use expect_test::expect;

use super::evaluate;
use crate::{diagnostic::Failure, host::OsHost, session::Request};

const WEB: &str = "
k8s_yaml(blob('''
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}
'''))
";

/// What a Tiltfile prints, and how it ends.
fn outcome(text: &str) -> String {
    let (log, failure) = evaluated(text);
    log + failure.map(|it| it.text).as_deref().unwrap_or_default()
}

/// What a Tiltfile prints, and why it fails, if it does.
fn evaluated(text: &str) -> (String, Option<Failure>) {
    let dir = tempfile::tempdir().expect("there is room for a file");
    let path = dir.path().join("Tiltfile");
    std::fs::write(&path, text).expect("the folder is ours");
    let log = Arc::<Mutex<String>>::default();
    let sink = Arc::clone(&log);
    let show = move |_, text: &str| sink.lock().expect("no test panics here").push_str(text);
    let host = OsHost::new([("HOME".to_owned(), "/nonexistent".to_owned())], Box::new(show));
    let request = Request::new(&path.to_string_lossy(), "alpha tiltfile-result");
    let failure = evaluate(&request, Arc::new(host)).failure;
    let log = log.lock().expect("no test panics here").clone();
    (log, failure)
}

#[test]
fn an_attribute_that_an_object_id_lacks_is_missed_in_the_words_of_tilt() {
    let named = |body: &str| {
        outcome(&format!("{WEB}def f(id): {body}\nworkload_to_resource_function(f)\n"))
    };
    let words = "'web:deployment:default:apps': tiltfile.k8sObjectID has no attribute 'nam'";
    let found = named("return id.nam");
    assert!(found.ends_with(words), "{found}");
    let found = named("return getattr(id, 'nam')");
    assert!(found.ends_with("getattr: tiltfile.k8sObjectID has no attribute 'nam'"), "{found}");
    let found = named("return id");
    assert!(found.ends_with("wanted: string. got: tiltfile.k8sObjectID"), "{found}");
    let found = named("fail('%s %s' % (hasattr(id, 'nam'), getattr(id, 'nam', 'none')))");
    assert!(found.ends_with("False none"), "{found}");
}

#[test]
fn names_of_workloads_fail_where_their_function_is_defined() {
    for body in ["return id.nam", "x = id.name\n    return id.nam", "return 1 // 0", "pass"] {
        let define = format!("def f(id):\n    {body}\nworkload_to_resource_function(f)\n");
        let found = outcome(&format!("{WEB}{define}"));
        assert!(found.contains("/Tiltfile:8:1: error applying"), "{body}: {found}");
    }
}

#[test]
fn methods_of_values_print_their_receiver_and_functions_of_modules_do_not() {
    for (value, printed) in [
        ("os.environ.get", "<built-in method get of environ value>"),
        ("os.environ.update", "<built-in method update of environ value>"),
        ("os.getcwd", "<built-in function os.getcwd>"),
        ("'x'.upper", "<built-in method upper of string value>"),
    ] {
        let found = outcome(&format!("fail(str({value}) + ' ' + type({value}))"));
        let want = format!("{printed} builtin_function_or_method");
        assert!(found.ends_with(&want), "{value}: {found}");
    }
}

#[test]
fn misspelled_names_come_with_what_was_probably_meant() {
    for (text, meant) in [
        ("local_resorce('a', cmd='true')", Some("local_resource")),
        ("x = true", Some("True")),
        ("settings = 1\nprint(setings)", Some("settings")),
        ("def f():\n    local_value = 1\n    return locl_value\nf()", Some("local_value")),
        ("local_resource('a', resource_dep=[])", Some("resource_deps")),
        ("def f(name): pass\nf(nam=1)", Some("name")),
        ("os.getcwdd()", Some(".getcwd")),
        ("struct(port=1).prt", Some(".port")),
        (
            "local_resource('server', 'true')\nconfig.set_enabled_resources(['servre'])",
            Some("server"),
        ),
        ("nothing_like_it()", None),
        ("local_resource('a', nothing_like_it=1)", None),
        ("fail('undefined: x (did you mean y?)')", None),
    ] {
        let (_, failure) = evaluated(text);
        let failure = failure.expect(text);
        assert_eq!(failure.problems[0].gist.meant.as_deref(), meant, "{text}: {}", failure.text);
        if let Some(meant) = meant {
            let (end, help) =
                (format!(" (did you mean {meant}?)"), format!("did you mean `{meant}`?"));
            let report = failure.report();
            assert!(report.headline.ends_with(&end), "{text}: {}", report.headline);
            assert_eq!(report.headline.matches("did you mean").count(), 1, "{text}");
            assert_eq!(report.help.as_deref(), Some(help.as_str()), "{text}");
        }
    }
}

/// What people who see no terminal are told of a failure, without the words of Tilt.
fn reported(text: &str) -> String {
    let (_, failure) = evaluated(text);
    let failure = failure.expect(text);
    let report = failure.report();
    let title = failure.problems[0].gist.title.as_deref().unwrap_or_default();
    let mut told = format!("{title}: {}\n", report.headline);
    for line in report.more {
        told += &format!("more: {line}\n");
    }
    if let (Some(excerpt), Some(at)) = (report.excerpt, report.place) {
        told += &format!(
            "{at}, {} wide, in {}: {:?}\n",
            excerpt.width, excerpt.first_line, excerpt.lines
        );
    }
    for caller in report.stack {
        told += &format!("from {} {:?}\n", caller.function, caller.place.map(|it| it.to_string()));
    }
    told.replace(&failure.dir, "DIR") + &format!("{}: {:?}\n", report.code, report.help)
}

#[test]
fn a_failure_is_data_with_its_place_the_lines_around_it_and_its_callers() {
    let build = "def build(name):\n    docker_build(name, '.', contxt='x')\n\nbuild('app')\n";
    expect![[r#"
        undefined name: Tiltfile:3:1: undefined: local_resorce (did you mean local_resource?)
        DIR/Tiltfile:3:1, 13 wide, in 1: ["a = 1", "", "local_resorce('a', cmd='true')", "b = 4", "c = 5"]
        tiltfile::syntax: Some("did you mean `local_resource`?")
    "#]]
    .assert_eq(&reported("a = 1\n\nlocal_resorce('a', cmd='true')\nb = 4\nc = 5\nd = 6\n"));
    expect![[r#"
        error in docker_build: Tiltfile:2:17: docker_build: unexpected keyword argument "contxt" (did you mean context?)
        DIR/Tiltfile:2:17, 1 wide, in 1: ["def build(name):", "    docker_build(name, '.', contxt='x')", "", "build('app')"]
        from <toplevel> Some("DIR/Tiltfile:4:6")
        tiltfile::evaluation: Some("did you mean `context`?")
    "#]]
    .assert_eq(&reported(build));
    expect![[r#"
        evaluation failed: Tiltfile:1:3: unknown binary op: int + string
        DIR/Tiltfile:1:3, 1 wide, in 1: ["1 + 'a'"]
        tiltfile::evaluation: None
    "#]]
    .assert_eq(&reported("1 + 'a'"));
    expect![[r#"
        syntax error: Tiltfile:2:1: got end of file, want primary expression
        DIR/Tiltfile:2:1, 1 wide, in 1: ["x = (", ""]
        tiltfile::syntax: None
    "#]]
    .assert_eq(&reported("x = (\n"));
    expect![[r#"
        error in fail: Tiltfile:1:5: fail: one
        more: two
        DIR/Tiltfile:1:5, 1 wide, in 1: ["fail('one\\ntwo')"]
        tiltfile::evaluation: None
    "#]]
    .assert_eq(&reported("fail('one\\ntwo')"));
}

#[test]
fn common_problems_come_with_a_way_out_and_a_place() {
    let steps = "custom_build('i', 'c', [], live_update=[sync('.', '/a'), fall_back_on('x')])";
    for (text, place, help) in [
        (
            "x = '\\q'",
            "1:5",
            Some("write the backslash twice, or put an `r` in front of the string"),
        ),
        ("name = 1\nprint(nam)", "2:7", Some("did you mean `name`?")),
        ("docker_build(contxt='.')", "1:13", Some("did you mean `context`?")),
        ("'x'.uper()", "1:4", Some("did you mean `.upper`?")),
        (
            "blob(zzz=1)",
            "1:5",
            Some("see the parameters of this function in the Tiltfile API reference"),
        ),
        (
            "def f(a): pass\nf(1, zzz=1)",
            "1:1",
            Some("see the parameters of this function in the Tiltfile API reference"),
        ),
        (
            "def f():\n    print(x)\nf()\nx = 1",
            "2:11",
            Some("move the statement that assigns it above this line"),
        ),
        (
            "def f():\n    print(x)\n    x = 1\nf()",
            "2:11",
            Some("a function that assigns a name owns it: pass the value in, or return it"),
        ),
        (
            "for c in 'x': pass",
            "1:1",
            Some("use `.elems()` to go through its characters, or put it into a list"),
        ),
        (
            steps,
            "1:13",
            Some("order the steps: initial_sync, fall_back_on, sync, run, restart_container"),
        ),
        ("fail('global variable (did you mean this?)')", "1:5", None),
    ] {
        let (_, failure) = evaluated(text);
        let problem = failure.expect(text).problems.remove(0);
        assert_eq!(problem.help.as_deref(), help, "{text}: {}", problem.message);
        let found = problem.location.map(|it| format!("{}:{}", it.line, it.column));
        assert_eq!(found.as_deref(), Some(place), "{text}: {}", problem.message);
    }
}

//! How the log looks on a terminal.

use engine_api::log::{JsonLines, Style};
use expect_test::{Expect, expect};

use super::*;

/// Batches of writes, and what a terminal shows of them; `⏎` ends each batch.
fn check(filter: Filter, batches: &[&[(&str, &str, Level, &str)]], expected: &Expect) {
    let store = in_memory(1 << 20);
    let mut formatter = Formatter::new(!filter.is_one_resource(), Style::Plain);
    let mut lines = Lines::new(filter);
    let mut reader = store.reader(Checkpoint(0));
    let mut out = String::new();
    for batch in batches {
        for (resource, span, level, text) in *batch {
            let writer = store.writer(resource, span);
            match text.strip_prefix("init ") {
                Some(text) => writer.build_event(text),
                None => writer.write(*level, text),
            }
        }
        let segments = reader.try_next().unwrap_or_default().segments;
        formatter.write(&lines.next(&segments), &mut out);
        out.push('⏎');
    }
    formatter.finish(&mut out);
    expected.assert_eq(&out);
}

use Level::{Error, Info, Warn};

#[test]
fn lines_say_which_resource_they_are_from() {
    check(
        Filter::default(),
        &[&[
            ("", "", Info, "Tilt started on http://localhost:10350/\n"),
            ("(Tiltfile)", "tiltfile:(Tiltfile):1", Info, "init Initial Build"),
            ("(Tiltfile)", "tiltfile:(Tiltfile):1", Info, "Loading Tiltfile at: /x/Tiltfile\n"),
            ("web", "build:1", Info, "init Initial Build"),
            ("web", "cmd:web:update", Info, "one\n\nthree\n"),
            ("exactly-13-ch", "build:2", Info, "fits\n"),
            ("a-very-long-resource-name", "build:3", Info, "is cut\n"),
            ("größengrößengrößen", "build:4", Info, "is cut between letters\n"),
        ]],
        &expect![[r#"
            Tilt started on http://localhost:10350/

            Initial Build
            Loading Tiltfile at: /x/Tiltfile
                      web │ 
                      web │ Initial Build
                      web │ one
                      web │ 
                      web │ three
            exactly-13-ch │ fits
            a-very-long-… │ is cut
            größengrö… │ is cut between letters
            ⏎"#]],
    );
}

#[test]
fn only_the_first_line_of_a_warning_is_marked() {
    check(
        Filter::default(),
        &[&[
            ("a", "build:1", Warn, "first\nsecond\n"),
            ("a", "build:1", Warn, "another\n"),
            ("a", "build:1", Error, "Build Failed: x\n"),
        ]],
        &expect![[r#"
                        a │ WARNING: first
                        a │ second
                        a │ WARNING: another
                        a │ ERROR: Build Failed: x
            ⏎"#]],
    );
}

#[test]
fn pieces_that_come_together_make_up_one_line() {
    check(
        Filter::default(),
        &[&[
            ("a", "cmd:a", Info, "comp"),
            ("b", "cmd:b", Info, "other\n"),
            ("a", "cmd:a", Info, "iling"),
            ("a", "cmd:a", Info, "...\n"),
        ]],
        &expect![[r#"
                        a │ compiling...
                        b │ other
            ⏎"#]],
    );
}

#[test]
fn a_line_goes_on_until_another_span_or_level_interrupts_it() {
    check(
        Filter::default(),
        &[
            &[("a", "cmd:a", Info, "comp")],
            &[("a", "cmd:a", Info, "iling")],
            &[("b", "cmd:b", Info, "other\n"), ("a", "cmd:a", Info, "...\n")],
            &[("a", "cmd:a", Info, "half")],
            &[("a", "cmd:a", Error, "failed\n")],
            &[("a", "cmd:a", Info, "no end")],
        ],
        &expect![[r#"
                        a │ comp⏎iling⏎
                        b │ other
                        a │ ...
            ⏎            a │ half⏎
                        a │ ERROR: failed
            ⏎            a │ no end⏎
        "#]],
    );
}

#[test]
fn a_single_resource_needs_no_prefix_and_others_do_not_interrupt_it() {
    check(
        Filter { resources: vec!["a".to_owned()], ..Filter::default() },
        &[
            &[("a", "build:1", Info, "init Initial Build"), ("a", "cmd:a", Info, "comp")],
            &[("b", "cmd:b", Info, "other\n")],
            &[("a", "cmd:a", Info, "iling\n")],
        ],
        &expect![[r#"

            Initial Build
            comp⏎⏎iling
            ⏎"#]],
    );
}

#[test]
fn build_events_pass_filters_of_source_and_level() {
    let writes: &[(&str, &str, Level, &str)] = &[
        ("a", "build:1", Info, "init Initial Build"),
        ("a", "build:1", Info, "STEP 1\n"),
        ("a", "cmd:a:update", Info, "output\n"),
        ("a", "build:1", Error, "Build Failed: x\n"),
        ("", "", Warn, "global\n"),
    ];
    let all = Filter::default();
    check(
        Filter { source: Source::Build, ..all.clone() },
        &[writes],
        &expect![[r#"
                        a │ 
                        a │ Initial Build
                        a │ STEP 1
                        a │ ERROR: Build Failed: x
            ⏎"#]],
    );
    check(
        Filter { source: Source::Runtime, ..all.clone() },
        &[writes],
        &expect![[r#"
                        a │ 
                        a │ Initial Build
                        a │ output
            WARNING: global
            ⏎"#]],
    );
    check(
        Filter { level: Filter::level_from_flag("error"), ..all.clone() },
        &[writes],
        &expect![[r#"
                        a │ 
                        a │ Initial Build
                        a │ ERROR: Build Failed: x
            ⏎"#]],
    );
    check(
        Filter { level: Filter::level_from_flag("warning"), resources: vec![String::new()], ..all },
        &[writes],
        &expect![[r#"
            WARNING: global
            ⏎"#]],
    );
}

#[test]
fn progress_is_shown_less_and_less_often() {
    let store = in_memory(1 << 20);
    let layer = |must_print| Fields {
        progress_id: Some("layer".into()),
        progress_must_print: must_print,
        ..Fields::default()
    };
    let writer = store.writer("a", "build:1");
    for second in [0, 1, 5, 6, 7, 16, 17, 36, 38, 39] {
        let step = writer.with_fields(layer(second == 38));
        step.write_at(at(second), Level::Info, &format!("{second} s\n"));
    }
    writer.with_fields(Fields { progress_id: Some("other".into()), ..Fields::default() }).info("x");
    let mut out = String::new();
    let batch = store.reader(Checkpoint(0)).try_next().unwrap();
    let lines = Lines::new(Filter::default()).next(&batch.segments);
    Formatter::new(false, Style::Plain).write(&lines, &mut out);
    // 5 s have not passed at 5, 10 s not at 16, 20 s not at 36.
    assert_eq!(out.split_whitespace().collect::<Vec<_>>().join(" "), "0 s 6 s 17 s 38 s x");
}

#[test]
fn names_errors_and_warnings_have_colors_on_a_terminal() {
    let store = in_memory(1 << 20);
    for (resource, level) in [("api", Level::Error), ("web", Level::Warn), ("web", Level::Info)] {
        store.writer(resource, "").write(level, "text\n");
    }
    store.writer("a-very-long-name", "").write(Level::Info, "text\n");
    let mut out = String::new();
    let batch = store.reader(Checkpoint(0)).try_next().unwrap();
    let lines = Lines::new(Filter::default()).next(&batch.segments);
    Formatter::new(true, Style::Colored).write(&lines, &mut out);
    expect![[r#"
                  ^[33mapi^[0m │ ^[31mERROR: ^[0mtext
                  ^[92mweb^[0m │ ^[33mWARNING: ^[0mtext
                  ^[92mweb^[0m │ text
        ^[93ma-very-long-…^[0m │ text
    "#]]
    .assert_eq(&out.replace('\x1b', "^"));
}

#[test]
fn json_has_all_that_is_known_of_a_line() {
    let store = in_memory(1 << 20);
    let build = store.writer("a", "build:1");
    let fields = Fields { build_event: Some(BuildEvent::Init), ..Fields::default() };
    build.with_fields(fields).write_at(at(1), Level::Info, "Initial Build\n");
    store.writer("a", "cmd:a").write_at(at(2), Level::Warn, "ha");
    store.writer("a", "cmd:a").write_at(at(3), Level::Warn, "lf");
    let mut reader = store.reader(Checkpoint(0));
    let mut lines = Lines::new(Filter::default());
    let mut json = JsonLines::default();
    let mut out = String::new();
    json.write(lines.next(&reader.try_next().unwrap().segments), &mut out);
    store.writer("a", "cmd:a").write_at(at(4), Level::Warn, " done\n");
    json.write(lines.next(&reader.try_next().unwrap().segments), &mut out);
    store.writer("", "").write_at(at(5), Level::Info, "no \"end\"");
    json.write(lines.next(&reader.try_next().unwrap().segments), &mut out);
    json.finish(&mut out);
    expect![[r#"
        {"time":"2026-08-01T10:20:31Z","resource":"a","level":"info","message":"","spanID":"build:1","progressID":"","buildEvent":"init","source":"build"}
        {"time":"2026-08-01T10:20:31Z","resource":"a","level":"info","message":"Initial Build","spanID":"build:1","progressID":"","buildEvent":"init","source":"build"}
        {"time":"2026-08-01T10:20:32Z","resource":"a","level":"warn","message":"half done","spanID":"cmd:a","progressID":"","buildEvent":"","source":"runtime"}
        {"time":"2026-08-01T10:20:35Z","resource":"","level":"info","message":"no \"end\"","spanID":"","progressID":"","buildEvent":"","source":"runtime"}
    "#]]
    .assert_eq(&out);
}

/// What a terminal has shown.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_terminal_shows_everything_and_ends_its_last_line() {
    let store = in_memory(1 << 20);
    store.writer("", "").info("before");
    let out = Shared::default();
    let terminal =
        TerminalStream::start(&store, Checkpoint(0), Filter::default(), Style::Plain, out.clone())
            .unwrap();
    let writer = store.writer("a", "cmd:a");
    for number in 0..1000 {
        writer.info(&number.to_string());
    }
    writer.write(Level::Info, "end");
    assert!(terminal.finish(Duration::from_mins(1)).is_some());
    let text = String::from_utf8(out.0.lock().unwrap().clone()).unwrap();
    let numbers = (0..1000).map(|it| it.to_string()).chain(["end".to_owned()]);
    let expected = numbers.map(|it| format!("            a │ {it}"));
    assert!(text.ends_with("end\n"));
    assert!(text.lines().eq(["before".to_owned()].into_iter().chain(expected)));
}

#[test]
fn a_note_is_shown_below_what_it_is_about_on_terminals_only() {
    let store = in_memory(1 << 20);
    let writer = store.writer("a", "cmd:a");
    writer.info("before");
    writer.write_noted(Level::Error, "wrong\n", "\n  × more\n");
    writer.info("after");
    let show = |filter: Filter| {
        let out = Shared::default();
        let terminal =
            TerminalStream::start(&store, Checkpoint(0), filter, Style::Plain, out.clone())
                .unwrap();
        assert!(terminal.finish(Duration::from_mins(1)).is_some());
        let text = out.0.lock().unwrap().clone();
        String::from_utf8(text).unwrap()
    };
    let all =
        "            a │ before\n            a │ ERROR: wrong\n\n  × more\n            a │ after\n";
    assert_eq!(show(Filter::default()), all);
    assert_eq!(show(Filter::new(&["b".to_owned()], "", "all")), "");
    let segments = store.reader(Checkpoint(0)).try_next().unwrap().segments;
    let texts: Vec<&str> = segments.iter().map(|it| &*it.text).collect();
    assert_eq!(texts, ["before\n", "wrong\n", "after\n"]);
}

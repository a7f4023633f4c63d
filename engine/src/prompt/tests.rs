//! The prompt without a terminal.

use engine_view::reason::{Reason, State};
use expect_test::{Expect, expect};

use super::*;

fn menu() -> Menu {
    Menu {
        banner: "engine 0.1.0 (compatible with Tilt v0.37.6) on http://localhost:10350/\n"
            .to_owned(),
        seen: Checkpoint::default(),
        notes: String::new(),
        page: Some(PageAddress::new("localhost", "127.0.0.1:10350".parse().unwrap())),
    }
}

#[test]
fn the_menu_says_which_keys_there_are() {
    expect![[r#"
        engine 0.1.0 (compatible with Tilt v0.37.6) on http://localhost:10350/

        (space) to open the browser
        (s) to stream logs (--stream=true)
        (?) to show help
        (ctrl-c) to exit

    "#]]
    .assert_eq(&menu().render(false, false));
}

#[test]
fn the_menu_shows_what_was_logged_at_first() {
    let menu = Menu {
        banner: "Tilt started (without browser UI)\nv0.37.6, built 2026-07-29\n".to_owned(),
        notes: "beware".to_owned(),
        page: None,
        ..menu()
    };
    expect![[r#"
        Tilt started (without browser UI)
        v0.37.6, built 2026-07-29

        beware

        (s) to stream logs (--stream=true)
        (t) to open legacy terminal mode (--legacy=true)
        (ctrl-c) to exit

    "#]]
    .assert_eq(&menu.render(false, true));
    assert!(
        menu.render(true, true).starts_with("\x1b[32mTilt started (without browser UI)\x1b[0m\n")
    );
}

fn table(reasons: &[(&str, State, &str)]) -> ReasonTable {
    reasons.iter().map(|(name, state, headline)| Reason::new(name, *state, *headline)).collect()
}

#[test]
fn the_block_shows_counts_and_reasons_with_failures_first() {
    let check = |reasons: &[(&str, State, &str)], expected: Expect| {
        expected.assert_eq(&format!(
            "{}\n",
            render::block(&table(reasons), "engine", false).join("\n")
        ));
    };
    assert!(render::block(&table(&[]), "engine", false).is_empty());
    check(
        &[("a", State::Ok, "ready"), ("b", State::Disabled, "disabled")],
        expect![[r#"
        1 ok
    "#]],
    );
    let mut many = vec![
        ("web", State::Waiting, "about to update"),
        ("api", State::Failed, "exit status 1"),
        ("ok", State::Ok, "ready"),
    ];
    check(
        &many,
        expect![[r#"
        1 ok · 1 pending · 1 error
        ✖ api  exit status 1
        … web  about to update
    "#]],
    );
    many.extend([
        ("c1", State::Failed, "x"),
        ("c2", State::Failed, "y"),
        ("c3", State::Failed, "z"),
    ]);
    many.push(("service-d", State::NotReady, "server is starting"));
    check(
        &many,
        expect![[r#"
        1 ok · 2 pending · 4 errors
        ✖ api  exit status 1
        ✖ c1   x
        ✖ c2   y
        ✖ c3   z
        … web  about to update
        and 1 more: engine status
    "#]],
    );
}

#[tokio::test]
async fn keys_are_answered_and_the_block_is_painted_over() {
    let (sender, keys) = mpsc::channel(16);
    let (publish, reasons) = watch::channel(table(&[("a", State::Updating, "updating")]));
    let mut out = Vec::new();
    let screen = Screen::new(&mut out, true);
    let mut prompt = Prompt { keys, _reader: None, reasons, is_colored: false, screen };
    prompt.paint();
    tty::send(b"x \x03", &sender);
    assert_eq!(prompt.next().await, Some(Key::OpenBrowser));
    prompt.say("Opening browser: http://localhost/");
    publish.send(table(&[("a", State::Ok, "ready")])).unwrap();
    // Whichever is seen first, the reasons or the key, the other one is seen too.
    tty::send(b"\x1b[s", &sender);
    tty::send(b"s", &sender);
    assert_eq!(prompt.next().await, Some(Key::Stream));
    tty::send(b"?", &sender);
    assert_eq!(prompt.next().await, Some(Key::Help));
    drop(sender);
    assert_eq!(prompt.next().await, None);
    drop(prompt);
    let text = String::from_utf8(out).unwrap();
    assert!(text.starts_with(
        "1 pending\n… a  updating\r\x1b[1A\x1b[JOpening browser: http://localhost/\n1 pending\n… a  updating"
    ));
    // The block has one line if the reasons were seen before the keys ended, else two.
    assert!(text.ends_with("\x1b[J"), "{text:?}");
}

//! The prompt without a terminal.

use expect_test::expect;

use super::*;

fn menu() -> Menu {
    Menu {
        greeting: "Tilt started on http://localhost:10350/".to_owned(),
        version: "v0.37.6, built 2026-07-29".to_owned(),
        notes: String::new(),
        page: Some(PageAddress::new("localhost", "127.0.0.1:10350".parse().unwrap())),
    }
}

#[test]
fn the_menu_says_which_keys_there_are() {
    expect![[r#"
        Tilt started on http://localhost:10350/
        v0.37.6, built 2026-07-29

        (space) to open the browser
        (s) to stream logs (--stream=true)
        (t) to open legacy terminal mode (--legacy=true)
        (ctrl-c) to exit
    "#]]
    .assert_eq(&menu().render(false));
}

#[test]
fn the_menu_shows_what_was_logged_at_first() {
    let menu = Menu {
        greeting: "Tilt started (without browser UI)".to_owned(),
        notes: "Tilt started (without browser UI)\nv0.37.6, built 2026-07-29\nbeware\n\n"
            .to_owned(),
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
    .assert_eq(&menu.render(false));
    assert!(menu.render(true).starts_with("\x1b[32mTilt started (without browser UI)\x1b[0m\n"));
}

#[test]
fn the_status_leaves_out_what_there_is_not() {
    let cases = [
        (Status::default(), ""),
        (Status { ok: 3, ..Status::default() }, "3 ok"),
        (Status { ok: 3, pending: 1, error: 2 }, "3 ok · 1 pending · 2 error"),
    ];
    for (status, expected) in cases {
        assert_eq!(status.render(), expected);
    }
}

#[tokio::test]
async fn keys_are_answered_and_the_status_is_painted_over() {
    let (sender, keys) = mpsc::channel(16);
    let (status, receiver) = watch::channel(Status { pending: 1, ..Status::default() });
    let mut out = Vec::new();
    let mut prompt =
        Prompt { keys, _reader: None, status: Some(receiver), is_live: true, out: &mut out };
    prompt.paint();
    tty::send(b"x \x03", &sender);
    assert_eq!(prompt.next().await, Some(Key::OpenBrowser));
    prompt.say("Opening browser: http://localhost/");
    status.send(Status { ok: 1, ..Status::default() }).unwrap();
    // Whichever is seen first, the status or the key, the other one is seen too.
    tty::send(b"\x1b[s", &sender);
    tty::send(b"s", &sender);
    assert_eq!(prompt.next().await, Some(Key::Stream));
    drop(sender);
    assert_eq!(prompt.next().await, None);
    drop(prompt);
    let text = String::from_utf8(out).unwrap();
    assert!(text.starts_with(
        "\r\x1b[K1 pending\r\x1b[KOpening browser: http://localhost/\n\r\x1b[K1 pending"
    ));
    assert!(text.ends_with("\r\x1b[K"));
}

#[tokio::test]
async fn without_a_status_there_is_only_text() {
    let (sender, keys) = mpsc::channel(1);
    let mut out = Vec::new();
    let mut prompt = Prompt { keys, _reader: None, status: None, is_live: true, out: &mut out };
    prompt.say("one");
    drop(sender);
    assert_eq!(prompt.next().await, None);
    drop(prompt);
    assert_eq!(out, b"one\n");
}

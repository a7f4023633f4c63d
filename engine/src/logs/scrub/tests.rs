//! Secrets in, texts in, texts out; and that it does not matter how a text is cut into pieces.

use proptest::prelude::*;

use super::*;

const PASSWORD: &str = "[redacted secret creds:password]";

/// Secrets as a load has them.
pub(in crate::logs) fn secrets(values: &[(&str, &str)]) -> BTreeMap<String, Secret> {
    let secret = |key: &str, value: &str| Secret {
        name: "creds".to_owned(),
        key: key.to_owned(),
        value: BASE64_STANDARD.encode(value),
        value_encoded: BASE64_STANDARD.encode(BASE64_STANDARD.encode(value)),
        replacement: BASE64_STANDARD.encode(format!("[redacted secret creds:{key}]")),
    };
    values.iter().map(|(key, value)| ((*value).to_owned(), secret(key, value))).collect()
}

fn scrubber(values: &[(&str, &str)]) -> Scrubber {
    Scrubber::default().extended(&secrets(values)).expect("there are secrets")
}

/// What comes out if a text comes in pieces, and nothing is held back at its end.
fn in_pieces(scrubber: &Scrubber, pieces: &[&str]) -> String {
    let mut out = String::new();
    let mut held = String::new();
    for piece in pieces {
        held.push_str(piece);
        let (clean, cut) = scrubber.scrub_finished(&held);
        out.push_str(&clean);
        held.drain(..cut);
    }
    out + &scrubber.scrub(&held)
}

/// `*` stands for what the value is replaced by. Each text is also cut at every place, and into single characters.
fn check(value: &str, cases: &[(&str, &str)]) {
    let scrubber = scrubber(&[("password", value)]);
    for (text, expected) in cases {
        let expected = expected.replace('*', PASSWORD);
        assert_eq!(scrubber.scrub(text), expected, "{text:?} with {value:?}");
        assert_eq!(scrubber.scrub(&expected), expected, "again");
        for (at, _) in text.char_indices() {
            let (one, other) = text.split_at(at);
            assert_eq!(in_pieces(&scrubber, &[one, other]), expected, "{one:?} {other:?}");
        }
        let singles: Vec<&str> = text.split_inclusive(|_| true).collect();
        assert_eq!(in_pieces(&scrubber, &singles), expected, "{singles:?}");
    }
}

#[test]
fn a_value_is_replaced_wherever_it_is() {
    check(
        "hunter22",
        &[
            ("value is hunter22.", "value is *."),
            ("hunter22hunter22", "**"),
            ("hunhunter22", "hun*"),
            ("nothing hunter2\n2", "nothing hunter2\n2"),
            ("hunter22\r\nhunter22\n", "*\r\n*\n"),
            ("", ""),
        ],
    );
    check("größe1", &[("größe1größe", "*größe"), ("die Größe1, größe1", "die Größe1, *")]);
}

#[test]
fn white_space_at_the_end_of_a_value_does_not_matter() {
    for value in ["hunter22\n", "hunter22 \t\r\n\n"] {
        check(
            value,
            &[
                ("password=hunter22\nnext\n", "password=*\nnext\n"),
                ("password=hunter22;", "password=*;"),
                ("hunter22\n\n", "*\n\n"),
                ("aHVudGVyMjI= aHVudGVyMjI", "* *"),
            ],
        );
    }
    check("hunter22\n", &[("aHVudGVyMjIK", "*")]);
    // As Tilt does, only that the line break stays.
    check("abcd\n", &[("abcd\nabcd abcde", "*\nabcd abcde")]);
}

#[test]
fn base64_is_recognized_wherever_it_begins() {
    check(
        "hunter22",
        &[
            ("aHVudGVyMjI=", "*"),
            ("aHVudGVyMjI", "*"),
            // a:hunter22, ab:hunter22, abc:hunter22, and with :x after it.
            ("Basic YTpodW50ZXIyMg==", "Basic YTp*"),
            ("Basic YWI6aHVudGVyMjI=", "Basic YWI6*"),
            ("Basic YWJjOmh1bnRlcjIy", "Basic YWJjOm*"),
            ("YTpodW50ZXIyMjp4", "YTp*jp4"),
            ("YWI6aHVudGVyMjI6eA==", "YWI6*6eA=="),
            ("YWJjOmh1bnRlcjIyOng=", "YWJjOm*Ong="),
        ],
    );
    // Bytes that the two alphabets write differently.
    check(
        "~~?~~?~~?",
        &[("fn4/fn4/fn4/", "*"), ("fn4_fn4_fn4_", "*"), ("Pn4_fn4_fn4_", "Pn4_fn4_fn4_")],
    );
}

#[test]
fn base64_in_lines_is_recognized() {
    let value = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ!?0123456789";
    let encoded = BASE64_STANDARD.encode(value);
    for width in [76, 64] {
        let (first, second) = encoded.split_at(width);
        check(value, &[(&format!("{first}\n{second}\n"), "*\n*\n")]);
    }
}

#[test]
fn values_that_are_no_text_are_recognized_in_base64() {
    let value = [0xff, 0xfe, 0, 1, 2, 3, 0xfb];
    let mut secret = secrets(&[("password", "")]).remove("").expect("it is there");
    secret.value = BASE64_STANDARD.encode(value);
    let scrubber = Scrubber::default().extended(&BTreeMap::from([(String::new(), secret)]));
    let scrubber = scrubber.expect("there is a secret");
    assert_eq!(scrubber.scrub("//4AAQID+w=="), PASSWORD);
    assert_eq!(scrubber.scrub("__4AAQID-w"), PASSWORD);
}

#[test]
fn escapes_of_json_are_recognized() {
    check(
        "p\"<ß\\\nq&\u{1f600}",
        &[
            (r#"{"a":"p\"<ß\\\nq&😀"}"#, r#"{"a":"*"}"#),
            (r#"{"a":"p\"\u003cß\\\nq\u0026😀"}"#, r#"{"a":"*"}"#),
            (r#"{"a":"p\"<\u00df\\\nq&\ud83d\ude00"}"#, r#"{"a":"*"}"#),
        ],
    );
}

#[test]
fn escapes_of_urls_are_recognized() {
    check(
        "p/s s!@ß+",
        &[
            ("http://u:p%2Fs%20s%21%40%C3%9F%2B@host", "http://u:*@host"),
            ("http://u:p%2fs%20s%21%40%c3%9f%2b@host", "http://u:*@host"),
            ("?q=p%2Fs+s%21%40%C3%9F%2B&", "?q=*&"),
            ("?q=p%2Fs%20s!%40%C3%9F%2B&", "?q=*&"),
            ("/p/s%20s%21%40%C3%9F%2B", "/*"),
            ("http://u:p%2Fs%20s%21%40%C3%9F+@host", "http://u:*@host"),
            ("/p%2Fs%20s%21@%C3%9F+", "/*"),
        ],
    );
}

const KEY: &str = "-----BEGIN PRIVATE KEY-----
MIIEvQIBADANBgkqhkiG9w0BAQEFAASC
aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
BKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj
MzEfYyjiWA4R
-----END PRIVATE KEY-----
";

#[test]
fn lines_of_a_value_are_recognized() {
    let whole = KEY.replace('\n', "\r\n");
    check(
        KEY,
        &[
            (KEY, "*\n*\n*\n*\n*\n*\n"),
            (&whole, "*\r\n*\r\n*\r\n*\r\n*\r\n*\r\n"),
            ("  MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\r\n", "  *\r\n"),
            ("key: BKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\nnext", "key: *\nnext"),
            // What is in other files as well, or short, is not secret by itself.
            ("-----BEGIN PRIVATE KEY-----\nother\n", "-----BEGIN PRIVATE KEY-----\nother\n"),
            ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"),
            ("MzEfYyjiWA4R\n", "MzEfYyjiWA4R\n"),
        ],
    );
    check(
        "#!/usr/bin/env bash\n----------------\n    export TOKEN=abcdef\n\techo \"$TOKEN\"\n",
        &[
            ("#!/usr/bin/env bash\n----------------\n", "#!/usr/bin/env bash\n----------------\n"),
            ("+ export TOKEN=abcdef\n", "+ *\n"),
        ],
    );
    check("line1\nline2", &[("cat: line1\nline2\n", "cat: *\n*\n"), ("line1\nx", "line1\nx")]);
    check("line1\r\nline2", &[("line1\nline2", "*\n*")]);
}

#[test]
fn short_values_stay_and_known_ones_change_nothing() {
    assert!(Scrubber::default().extended(&secrets(&[("short", "abcd")])).is_none());
    let known = scrubber(&[("password", "hunter22")]);
    assert!(known.extended(&secrets(&[("password", "hunter22")])).is_none());
    let more = known.extended(&secrets(&[("other", "topsecret")])).expect("there is one more");
    assert_eq!(
        more.scrub("hunter22 topsecret"),
        format!("{PASSWORD} [redacted secret creds:other]")
    );
}

#[test]
fn of_overlapping_secrets_the_first_and_then_the_longest_wins() {
    let scrubber = scrubber(&[("a", "secret"), ("b", "secret-long"), ("c", "long-winded")]);
    let cases = [
        ("secret-long", "[redacted secret creds:b]"),
        ("secret-lon", "[redacted secret creds:a]-lon"),
        ("secret-long-winded", "[redacted secret creds:b]-winded"),
        ("long-winded", "[redacted secret creds:c]"),
    ];
    for (text, expected) in cases {
        assert_eq!(scrubber.scrub(text), expected);
        assert_eq!(scrubber.scrub(expected), expected, "what is redacted stays as it is");
        let singles: Vec<&str> = text.split_inclusive(|_| true).collect();
        assert_eq!(in_pieces(&scrubber, &singles), expected);
    }
}

#[test]
fn what_the_engine_itself_says_stays_as_it_is() {
    for value in ["Running", "ning cmd", "Initial", "Build", "redacted", "secret"] {
        let scrubber = scrubber(&[("password", value)]);
        for own in ["Running cmd: ", "Initial Build", "Build Failed: ", " exited with exit code "] {
            assert_eq!(scrubber.scrub(own), own, "{value}");
            let text = format!("{own}{value}");
            assert_eq!(scrubber.scrub(&text), format!("{own}{PASSWORD}"), "{value}");
        }
        assert_eq!(scrubber.scrub(&format!("it is {value}!")), format!("it is {PASSWORD}!"));
    }
}

#[test]
fn only_what_may_become_a_secret_is_held_back() {
    let scrubber = scrubber(&[("password", "hunter22"), ("ä", "größe1"), ("pem", "line1\nline2")]);
    let cases = [
        ("value hunt", 4),
        ("value hunter2", 7),
        ("value hunter22", 0),
        ("hunter of !", 0),
        ("hunt\n", 0),
        ("die grö", 4),
        ("hhhh", 1),
        ("line1\n", 6),
        ("line1\nl", 7),
        ("", 0),
    ];
    for (text, expected) in cases {
        assert_eq!(text.len() - scrubber.scrub_finished(text).1, expected, "{text}");
    }
    assert_eq!(Scrubber::default().scrub_finished("hunt").1, 4);
}

#[test]
fn many_and_large_secrets_take_bounded_room() {
    let lines: Vec<String> = (0..4000).map(|it| format!("line {it} of a large value")).collect();
    let large = lines.join("\n");
    let values: Vec<String> = (0..1000).map(|it| format!("pass word/{it:04}")).collect();
    let mut all: Vec<(&str, &str)> = values.iter().map(|it| ("password", it.as_str())).collect();
    all.push(("large", &large));
    let known = secrets(&all);
    let decoded = known.keys().map(|value| (value.clone().into_bytes(), String::new()));
    let bytes: usize = forms::of(&decoded.collect()).keys().map(String::len).sum();
    assert!(bytes < (512 << 10) + 3 * large.len() + 50 * values.len(), "{bytes}");
    let scrubber = Scrubber::default().extended(&known).expect("there are secrets");
    // The short ones come first.
    assert_eq!(scrubber.scrub("pass%20word%2F0999"), PASSWORD);
    assert_eq!(scrubber.scrub(&large).lines().next(), Some("[redacted secret creds:large]"));
}

proptest! {
    #[test]
    fn chunk_borders_do_not_show_in_the_text(
        values in prop::collection::vec("[ab\n]{5,7}|[ab]{5,9}", 1..4),
        text in "[ab\n]{0,40}",
        cuts in prop::collection::vec(0_usize..40, 0..6),
    ) {
        let named: Vec<(&str, &str)> = values.iter().map(|it| (it.as_str(), it.as_str())).collect();
        let scrubber = Scrubber::default().extended(&secrets(&named)).expect("there are secrets");
        let mut cuts: Vec<usize> = cuts.into_iter().map(|it| it.min(text.len())).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&str> = cuts.windows(2).map(|it| &text[it[0]..it[1]]).collect();
        let whole = scrubber.scrub(&text);
        prop_assert_eq!(&in_pieces(&scrubber, &pieces), &whole);
        let breaks = |it: &str| it.matches('\n').count();
        let in_names = whole.matches("creds:").count();
        // Keys have line breaks here, too; text has none more and none less.
        prop_assert!(in_names > 0 || breaks(&whole) == breaks(&text));
    }
}

//! How URLs are split, compared with Go.

use super::*;

fn check(text: &str, expected: &str) {
    let found = match Url::parse(text) {
        Ok(url) => {
            let parts = serde_json::to_value(&url).unwrap();
            let given: serde_json::Map<_, _> = parts
                .as_object()
                .unwrap()
                .iter()
                .filter(|(_, value)| !value.is_null() && **value != "" && **value != false)
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
            format!("{} {url}", serde_json::Value::from(given))
        }
        Err(error) => error.reason,
    };
    assert_eq!(found, expected, "{text}");
}

/// The expectations were recorded from Go's `net/url`; parts that are empty are left out.
const CASES: &[(&str, &str)] = &[
    (
        "http://foo.com/a?b#c",
        r#"{"Scheme":"http","Host":"foo.com","Path":"/a","Fragment":"c","RawQuery":"b"} http://foo.com/a?b#c"#,
    ),
    (
        "https://u:p@h:80/x",
        r#"{"Scheme":"https","User":{},"Host":"h:80","Path":"/x"} https://u:p@h:80/x"#,
    ),
    ("localhost:8080", r#"{"Scheme":"localhost","Opaque":"8080"} localhost:8080"#),
    ("127.0.0.1:8080", "first path segment in URL cannot contain colon"),
    ("foo.com", r#"{"Path":"foo.com"} foo.com"#),
    ("//h/p", r#"{"Host":"h","Path":"/p"} //h/p"#),
    ("///p", r#"{"Path":"///p"} ///p"#),
    ("mailto:a@b", r#"{"Scheme":"mailto","Opaque":"a@b"} mailto:a@b"#),
    ("http:/x", r#"{"Scheme":"http","Path":"/x","OmitHost":true} http:/x"#),
    ("http:x", r#"{"Scheme":"http","Opaque":"x"} http:x"#),
    ("*", r#"{"Path":"*"} *"#),
    ("?", r#"{"ForceQuery":true} ?"#),
    ("#", "{} "),
    ("a?", r#"{"Path":"a","ForceQuery":true} a?"#),
    ("a?b?c", r#"{"Path":"a","RawQuery":"b?c"} a?b?c"#),
    ("http://[::1]:80/", r#"{"Scheme":"http","Host":"[::1]:80","Path":"/"} http://[::1]:80/"#),
    (
        "http://[fe80::1%25en0]/",
        r#"{"Scheme":"http","Host":"[fe80::1%en0]","Path":"/"} http://[fe80::1%25en0]/"#,
    ),
    ("http://[1.2.3.4]/", "invalid IP-literal"),
    (
        "http://[::ffff:1.2.3.4]/",
        r#"{"Scheme":"http","Host":"[::ffff:1.2.3.4]","Path":"/"} http://[::ffff:1.2.3.4]/"#,
    ),
    ("http://a:b:c/", r#"invalid port ":b:c" after host"#),
    ("foo://a:b:80/", r#"{"Scheme":"foo","Host":"a:b:80","Path":"/"} foo://a:b:80/"#),
    ("http://%41/", r#"invalid URL escape "%41""#),
    ("http://a%20b/", r#"invalid URL escape "%20""#),
    ("/a%2fb", r#"{"Path":"/a/b","RawPath":"/a%2fb"} /a%2fb"#),
    ("/a b", r#"{"Path":"/a b","RawPath":"/a b"} /a%20b"#),
    ("/a%zz", r#"invalid URL escape "%zz""#),
    ("a:b/c", r#"{"Scheme":"a","Opaque":"b/c"} a:b/c"#),
    ("./a:b", r#"{"Path":"./a:b"} ./a:b"#),
    ("http://h:/", r#"{"Scheme":"http","Host":"h:","Path":"/"} http://h:/"#),
    ("http://h:x/", r#"invalid port ":x" after host"#),
    ("http://user@/", r#"{"Scheme":"http","User":{},"Path":"/"} http://user@/"#),
    ("http://a b/", r#"invalid character " " in host name"#),
    ("http://a<b>/", r#"{"Scheme":"http","Host":"a<b>","Path":"/"} http://a<b>/"#),
    (
        "http://é/é?é#é",
        r#"{"Scheme":"http","Host":"é","Path":"/é","Fragment":"é","RawQuery":"é","RawPath":"/é","RawFragment":"é"} http://%C3%A9/%C3%A9?é#%C3%A9"#,
    ),
    ("http://h/p;a=b,c", r#"{"Scheme":"http","Host":"h","Path":"/p;a=b,c"} http://h/p;a=b,c"#),
    (":foo", "missing protocol scheme"),
    ("1a:b", "first path segment in URL cannot contain colon"),
    ("HTTP://X", r#"{"Scheme":"http","Host":"X"} http://X"#),
    ("http://@x", r#"{"Scheme":"http","User":{},"Host":"x"} http://@x"#),
    ("http://a@b@c/", r#"{"Scheme":"http","User":{},"Host":"c","Path":"/"} http://a%40b@c/"#),
    ("/[a]", r#"{"Path":"/[a]","RawPath":"/[a]"} /[a]"#),
    ("#a b!()*'", r#"{"Fragment":"a b!()*'","RawFragment":"a b!()*'"} #a%20b!()*%27"#),
    ("/!*'()", r#"{"Path":"/!*'()","RawPath":"/!*'()"} /!*'()"#),
    ("http://h?x=%zz", r#"{"Scheme":"http","Host":"h","RawQuery":"x=%zz"} http://h?x=%zz"#),
    ("http://[", "missing ']' in host"),
    ("http://]", r#"{"Scheme":"http","Host":"]"} http://]"#),
    (
        "http://[1:2:3:4:5:6:7:8:9]/",
        r#"invalid host: ParseAddr("1:2:3:4:5:6:7:8:9"): trailing garbage after address (at "9")"#,
    ),
    (
        "http://[1::2::3]/",
        r#"invalid host: ParseAddr("1::2::3"): multiple :: in address (at ":3")"#,
    ),
    (
        "http://[12345::]/",
        r#"invalid host: ParseAddr("12345::"): each group must have 4 or less digits (at "12345::")"#,
    ),
    (
        "http://[1:2:3:4:5:6:1.2.3.4]/",
        r#"{"Scheme":"http","Host":"[1:2:3:4:5:6:1.2.3.4]","Path":"/"} http://[1:2:3:4:5:6:1.2.3.4]/"#,
    ),
    ("http://[::1.2.3]/", r#"invalid host: ParseAddr("::1.2.3"): IPv4 address too short"#),
    (
        "http://[:]/",
        r#"invalid host: ParseAddr(":"): each colon-separated field must have at least one digit (at ":")"#,
    ),
    (
        "http://[g::]/",
        r#"invalid host: ParseAddr("g::"): each colon-separated field must have at least one digit (at "g::")"#,
    ),
    ("http://[1]/", r#"invalid host: ParseAddr("1"): unable to parse IP"#),
    ("http://x[::1]/", "invalid IP-literal"),
    (
        "ht.p://[12345::]::]/",
        r#"invalid host: ParseAddr("12345::]::"): each group must have 4 or less digits (at "12345::]::")"#,
    ),
    ("#a%@p:x", r#"invalid URL escape "%@p""#),
    ("/a%[a", r#"invalid URL escape "%[a""#),
    ("http://[::ffff:1.2 3.4]/", r#"invalid character " " in host name"#),
    ("%h/%]f", r#"invalid URL escape "%h/""#),
    ("http:/%/a:0b/", r#"invalid URL escape "%/a""#),
    ("é1a:", "first path segment in URL cannot contain colon"),
    ("http://[1:2:3:4 :5:6:7:8:9]/", r#"invalid character " " in host name"#),
    ("h ttp:x", "first path segment in URL cannot contain colon"),
    ("]#%f", r#"invalid URL escape "%f""#),
    (" ttp://[::1:80/", "first path segment in URL cannot contain colon"),
    ("lho@st:8080", "first path segment in URL cannot contain colon"),
    ("2http://a@b@c/", "first path segment in URL cannot contain colon"),
    ("/%f", r#"invalid URL escape "%f""#),
    ("/%F", r#"invalid URL escape "%F""#),
    ("http%://a@b<@c/", "first path segment in URL cannot contain colon"),
    (r#"ht%p/"[::1]:80/"#, r#"invalid URL escape "%p/""#),
    ("http://[fe80::1%2 e@b", "net/url: invalid userinfo"),
    ("http://[1:2:.?.3.4]/", "missing ']' in host"),
    ("5loalhost:8080", "first path segment in URL cannot contain colon"),
    ("ttp://a<@>/", "net/url: invalid userinfo"),
    ("%?", r#"invalid URL escape "%""#),
    (":?#", "missing protocol scheme"),
    ("#%f:2::3]/", r#"invalid URL escape "%f:""#),
    ("zttp://a b/", r#"invalid character " " in host name"#),
    ("http5://x[::1]/", "invalid IP-literal"),
    (r#"http"//a%b>/"#, r#"invalid URL escape "%b>""#),
    ("080calhost:8080#", "first path segment in URL cannot contain colon"),
    ("ht<tp://1::1]:80/", "first path segment in URL cannot contain colon"),
    ("http://[1", "missing ']' in host"),
    ("/a%zzb/c", r#"invalid URL escape "%zz""#),
    ("//[1::2::3]/", r#"invalid host: ParseAddr("1::2::3"): multiple :: in address (at ":3")"#),
    (":b80/", "missing protocol scheme"),
    ("/%F<", r#"invalid URL escape "%F<""#),
    ("%tt]:0/", "first path segment in URL cannot contain colon"),
    ("127.0.0.1:808//a:b:80/", "first path segment in URL cannot contain colon"),
    ("htt2p://[1]/", r#"invalid host: ParseAddr("1"): unable to parse IP"#),
    (":b", "missing protocol scheme"),
    ("127.0.0.[1:", "first path segment in URL cannot contain colon"),
    (r#"éttp://[f"80::1%25en0]/"#, "first path segment in URL cannot contain colon"),
    ("1:fa?", "first path segment in URL cannot contain colon"),
    ("http://[fe80::1#%25en 0]/", "missing ']' in host"),
    ("http://a b", r#"invalid character " " in host name"#),
    ("htp://a:b:c/", r#"invalid port ":c" after host"#),
    (
        "//[g::]/",
        r#"invalid host: ParseAddr("g::"): each colon-separated field must have at least one digit (at "g::")"#,
    ),
];

#[test]
fn urls_are_split_like_go_does() {
    for (text, expected) in CASES {
        check(text, expected);
    }
}

#[test]
fn errors_show_the_text_up_to_the_problem() {
    for (text, expected) in [
        (
            "127.0.0.1:80#x",
            r#"parse "127.0.0.1:80": first path segment in URL cannot contain colon"#,
        ),
        ("a#%zz", r#"parse "a#%zz": invalid URL escape "%zz""#),
        ("/%e", r#"parse "/%e": invalid URL escape "%e""#),
    ] {
        assert_eq!(Url::parse(text).unwrap_err().to_string(), expected);
    }
}

#[test]
fn a_scheme_can_be_added_to_a_parsed_url() {
    let url = Url { scheme: "http".to_owned(), ..Url::parse("foo.com/a").unwrap() };
    assert_eq!(url.to_string(), "http://foo.com/a");
    assert_eq!(url.host, "");
}

//! Percent-encoding in paths and queries.

use std::collections::HashMap;

/// A segment of a path without its encoding; what is no encoding stays.
pub(crate) fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digits = text
            .get(at + 1..at + 3)
            .filter(|it| bytes[at] == b'%' && it.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match digits.and_then(|it| u8::from_str_radix(it, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The values of a query; the last one of each name counts.
pub(crate) fn decode_query(query: &str) -> HashMap<String, String> {
    let pairs = query.split('&').filter(|it| !it.is_empty());
    let decode_part = |text: &str| decode(&text.replace('+', " "));
    pairs
        .map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode_part(key), decode_part(value))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_decoded_and_everything_else_stays() {
        for (text, expected) in [
            ("web:update", "web:update"),
            ("%28Tiltfile%29", "(Tiltfile)"),
            ("a%2Fb", "a/b"),
            ("100%", "100%"),
            ("%zz%4", "%zz%4"),
            ("%C3%A4ä", "ää"),
            ("%+1", "%+1"),
        ] {
            assert_eq!(decode(text), expected, "{text}");
        }
        let query = decode_query("labelSelector=a%3Db%2Cc&watch=true&x=a+b&watch=1&flag");
        assert_eq!(query["labelSelector"], "a=b,c");
        assert_eq!(query["watch"], "1");
        assert_eq!(query["x"], "a b");
        assert_eq!(query["flag"], "");
    }
}
